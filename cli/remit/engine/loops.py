"""The guard against a model that goes round in circles: same calls, same results, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from remit.base.calls import Call
from remit.base.model_json import decode_json

MAX_CIRCLE = 4
HISTORY = 2 * MAX_CIRCLE
"""Two rounds of a circle may pass; the first call of the third is refused."""

MAX_REPEATS = 3
"""Turns of nothing but refused repetitions, after which the run ends: the model does not find out by itself."""


class Round(NamedTuple):
    """A finished call: marks of what was called and of what came of it."""

    call: int
    result: object


def call_mark(call: Call) -> int:
    """The same for calls of one tool with the same arguments, however they are spelled."""
    try:
        arguments = msgspec.json.encode(decode_json(call.arguments or "{}"), order="sorted").decode()
    except (msgspec.DecodeError, UnicodeEncodeError):
        arguments = call.arguments
    return hash((call.tool, arguments))


class Rounds:
    """The calls of one turn, judged one by one, none of them having a result yet. history: of the turns before."""

    def __init__(self, history: Sequence[Round]) -> None:
        self._past = list(history)

    def circle(self, call: Call) -> int:
        """As `circle`. A call that would go round again counts as having done so for those after it."""
        length = circle(self._past, call)
        self._past.append(self._past[-length] if length else Round(call_mark(call), object()))
        return length


def circle(history: Sequence[Round], call: Call) -> int:
    """How many calls long the circle is that this call would begin anew, 0 when it is none.

    A circle is a circle only if its results were the same as well: asking again for what changes is work."""
    mark, past = call_mark(call), list(history)
    for length in range(1, MAX_CIRCLE + 1):
        last = past[-length:]
        if len(past) >= 2 * length and last[0].call == mark and past[-2 * length : -length] == last:
            return length
    return 0

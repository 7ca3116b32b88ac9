"""What a script came to, as JSON or as text.

Both are bounded while they are made: a value of few parts that hold one another many times over is
small in the interpreter and endless on paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from remit.base.limits import KIB
from remit.base.text import clip, scrub

MAX_VALUE_BYTES = 256 * KIB
MAX_VALUE_DEPTH = 64


class _NotPlainError(Exception):
    """The value has no JSON of bounded size."""


def valued(value: Any) -> dict[str, Any]:
    """Fields of base.ports.Evaluated: the value as JSON, else as text, of at most MAX_VALUE_BYTES."""
    try:
        return {"outcome": "ok", "value": _plain(value, MAX_VALUE_DEPTH, [MAX_VALUE_BYTES])}
    except _NotPlainError:
        return {"outcome": "ok", "value_repr": _shown(value)}


def _plain(value: Any, depth: int, room: list[int]) -> Any:
    """room: bytes left, counted down."""
    if value is None or isinstance(value, bool):
        room[0] -= 5
    elif isinstance(value, int) and type(value) is int:
        room[0] -= 1 + value.bit_length() // 3
        if value.bit_length() > 64:
            raise _NotPlainError
    elif isinstance(value, float) and math.isfinite(value):
        room[0] -= 8
    elif type(value) is str:
        room[0] -= 3 + len(value.encode("utf-8", "replace"))
    elif type(value) in (list, tuple) and depth and room[0] > 0:
        room[0] -= 2
        return [_plain(each, depth - 1, room) for each in value]
    elif type(value) is dict and depth and room[0] > 0:
        if not all(type(key) is str for key in value):
            raise _NotPlainError
        room[0] -= 2
        return {_plain(key, depth, room): _plain(each, depth - 1, room) for key, each in value.items()}
    else:
        raise _NotPlainError
    if room[0] < 0:
        raise _NotPlainError
    return value


def _shown(value: Any) -> str:
    kept: list[str] = []
    room = MAX_VALUE_BYTES
    for piece in _pieces(value, MAX_VALUE_DEPTH):
        kept.append(piece)
        room -= len(piece.encode("utf-8", "replace"))
        if room < 0:
            break
    return clip(scrub("".join(kept)), MAX_VALUE_BYTES)[0]


_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}


def _pieces(value: Any, depth: int) -> Iterator[str]:
    """The value's repr, piece by piece."""
    brackets = _BRACKETS.get(type(value))
    attributes = getattr(value, "attributes", None)
    if brackets is not None and depth:
        yield brackets[0]
        for index, item in enumerate(value):
            yield ", " if index else ""
            yield from _pieces(item, depth - 1)
            if type(value) is dict:
                yield ": "
                yield from _pieces(value[item], depth - 1)
        yield ",)" if type(value) is tuple and len(value) == 1 else brackets[1]
    elif isinstance(attributes, dict) and depth:
        # An instance of a class of the script.
        yield f"{value.name}("
        for index, (name, item) in enumerate(attributes.items()):
            yield f"{', ' if index else ''}{name}="
            yield from _pieces(item, depth - 1)
        yield ")"
    elif brackets is not None or isinstance(attributes, dict):
        yield "..."
    elif isinstance(value, int) and value.bit_length() > 10_000:
        yield f"<an integer of {value.bit_length()} bits>"
    elif isinstance(value, str | bytes):
        # One over the limit, so that the cut is told.
        yield repr(value[: MAX_VALUE_BYTES + 1])
    else:
        yield repr(value)

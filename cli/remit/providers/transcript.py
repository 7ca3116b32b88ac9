"""The transcript as JSON, encoded once: it grows at its end, so what was encoded for one turn serves the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import msgspec

from remit.base.messages import CallBlock, Message, ResultBlock, ToolSpec
from remit.base.model_json import decode_json
from remit.base.text import scrub

to_json = msgspec.json.Encoder().encode

Encode = Callable[[Message, "Transcript"], bytes]


class Transcript:
    """encode: the JSON of one message, which may be several entries with commas between them, or b"".

    tools_by_call: the tool of each call seen so far, by call id. answers: how many the model gave."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._messages: list[Message] = []
        self._pieces: list[bytes] = []
        self._tools: tuple[ToolSpec, ...] = ()
        self._tools_json = b""
        self.tools_by_call: dict[str, str] = {}
        self.answers = 0

    @property
    def previous(self) -> Message | None:
        """The message before the one that is being encoded."""
        return self._messages[-2] if len(self._messages) > 1 else None

    def json(self, messages: Sequence[Message], head: bytes = b"", first: bytes = b"", tail: bytes = b"") -> bytes:
        """The messages as a JSON array, with `head` before and `tail` behind it; `first`: JSON of an entry
        before all others, or b"". Made in one go: a transcript is large, and each copy of it is felt.

        Messages are immutable, so the same object is the same JSON."""
        same = list(map(is_, self._messages, messages))
        shared = len(same) if all(same) else same.index(False)
        if shared < len(self._messages):
            self._forget_from(shared)
        for message in messages[shared:]:
            self._take_in(message)
        entries = [piece for piece in (first, *self._pieces) if piece] or [b""]
        entries[0] = head + b"[" + entries[0]
        entries[-1] += b"]" + tail
        return b",".join(entries)

    def tools_json(self, tools: tuple[ToolSpec, ...], shape: Callable[[ToolSpec], Any]) -> bytes:
        """The tools as a JSON array, each as `shape` makes it."""
        if tools is not self._tools or not self._tools_json:
            self._tools, self._tools_json = tools, to_json([shape(spec) for spec in tools])
        return self._tools_json

    def _take_in(self, message: Message) -> None:
        self._messages.append(message)
        self.answers += message.role == "assistant"
        self.tools_by_call.update((call.id, call.tool) for call in message.calls())
        self._pieces.append(self._encode(message, self))

    def _forget_from(self, index: int) -> None:
        del self._messages[index:], self._pieces[index:]
        self.tools_by_call = {call.id: call.tool for message in self._messages for call in message.calls()}
        self.answers = sum(message.role == "assistant" for message in self._messages)


def sound_arguments(call: CallBlock) -> str:
    """Arguments that every server can read again. Several parse them and refuse the whole request over
    one malformed call, this turn and every later one; so what is no JSON object goes back inside one."""
    if not call.arguments.strip():
        return "{}"
    try:
        decode_json(call.arguments, dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return to_json({"malformed_arguments": scrub(call.arguments)}).decode()
    return call.arguments


def results_of(message: Message) -> list[ResultBlock]:
    return [block for block in message.content if isinstance(block, ResultBlock)]

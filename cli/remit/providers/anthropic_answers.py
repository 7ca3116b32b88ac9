"""Answers of the Messages API: its events, or the one message of a server that does not stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from remit.base.errors import ProviderFault
from remit.base.messages import Part, StopPart, StopReason, Usage, UsagePart
from remit.base.text import scrub_tree
from remit.providers.assembly import Assembly, Kind, OpenBlock
from remit.providers.decoding import END_SECONDS, broken_off, cut_off
from remit.providers.failures import from_stream
from remit.providers.figures import count_in
from remit.providers.reading import EventReader
from remit.providers.sse import SseEvent
from remit.providers.transcript import to_json


class _Delta(msgspec.Struct):
    """A piece of a block, or what is new of the message. Its fields say which."""

    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None
    stop_details: Any = None


class _Message(msgspec.Struct):
    usage: Any = None


class _Event(msgspec.Struct):
    """Any event. content, stop_reason, stop_details: of a whole message."""

    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: _Message | None = None
    usage: Any = None
    error: Any = None
    content: list[dict[str, Any]] | None = None
    stop_reason: str | None = None
    stop_details: Any = None


class _Named(msgspec.Struct):
    type: str
    delta: Any = None


_events = EventReader(_Event, "the Messages API")
_names = EventReader(_Named, "the Messages API")

_KNOWN = frozenset(
    {
        "content_block_delta",
        "content_block_start",
        "content_block_stop",
        "message",
        "message_delta",
        "message_start",
        "message_stop",
        "error",
    }
)
_KNOWN_DELTAS = frozenset({"text_delta", "input_json_delta", "thinking_delta", "signature_delta"})

_KINDS: dict[Any, Kind] = {
    "text": "text",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "call",
}

_STOPS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "end_turn",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
"""Every reason of an answer that has ended. One of `pause_turn` has not: the server would go on with a tool of
its own, and none is asked for."""

_FIGURES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class MessagesDecoder:
    """One answer. turn: from 1, for the ids of calls that come without. taken: ids of the transcript."""

    def __init__(self, turn: int = 1, taken: Iterable[str] = ()) -> None:
        self.finished = False
        self.end_seconds: float | None = None
        self._assembly = Assembly(turn, taken)
        self._kinds: dict[int, Kind] = {}
        self._blocks: dict[int, OpenBlock] = {}
        self._inputs: dict[int, Any] = {}
        self._tokens: dict[str, int] = {}
        self._usage: Usage | None = None
        self._stop_reason = ""

    def feed(self, event: SseEvent) -> list[Part]:
        if not event.data.strip():
            return []
        found = _read(event.data)
        kind = found.type
        if kind == "content_block_delta":
            if found.delta is not None:
                self._grow(found.index, found.delta)
        elif kind == "content_block_start":
            self._start(found.index, found.content_block or {})
        elif kind == "content_block_stop":
            self._stop(found.index)
        elif found.error is not None:
            raise from_stream(found.error)
        elif kind == "message_start":
            self._count(found.message.usage if found.message else None)
        elif kind == "message_delta":
            delta = found.delta or _Delta()
            self._count(found.usage)
            self._conclude(delta.stop_reason, delta.stop_details)
        elif kind == "message_stop":
            self.finished = True
        elif kind == "message":
            self._take_whole(found)
        return self._with_usage(self._assembly.take())

    def end(self) -> list[Part]:
        if not self._stop_reason and (self._assembly.blocks or not self.finished):
            raise cut_off("no stop reason came")
        stop = _STOPS.get(self._stop_reason or "end_turn")
        if stop is None:
            raise broken_off(self._stop_reason)
        for index in sorted(self._kinds):
            self._stop(index)
        if stop == "end_turn" and self._assembly.has_calls():
            stop = "tool_use"
        return [*self._assembly.take(), StopPart(stop)]

    # -- blocks ------------------------------------------------------------------------------------

    def _start(self, index: int, block: dict[str, Any]) -> None:
        """Texts and thoughts begin with their first piece, so that none is empty; blocks of other kinds,
        and what follows of them, are passed over."""
        self._stop(index)
        kind = _KINDS.get(block.get("type"))
        if kind is None:
            return
        self._kinds[index] = kind
        if kind == "call":
            tool, wire_id = _text_of(block, "name"), _text_of(block, "id")
            self._blocks[index] = self._assembly.start("call", tool=tool, wire_id=wire_id)
            self._inputs[index] = block.get("input")
        elif block["type"] == "redacted_thinking":
            self._open(index, kind).opaque = _text_of(block, "data")
        elif piece := _text_of(block, kind):
            self._assembly.grow(self._open(index, kind), piece)
        if signature := _text_of(block, "signature"):
            self._open(index, kind).signature = signature

    def _grow(self, index: int, delta: _Delta) -> None:
        kind = self._kinds.get(index)
        if kind is None:
            return
        piece = delta.text if kind == "text" else delta.partial_json if kind == "call" else delta.thinking
        if piece:
            self._assembly.grow(self._open(index, kind), piece)
        elif delta.signature and kind == "thinking":
            self._open(index, kind).signature = delta.signature

    def _open(self, index: int, kind: Kind) -> OpenBlock:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = self._assembly.start(kind)
        return block

    def _stop(self, index: int) -> None:
        self._kinds.pop(index, None)
        block = self._blocks.pop(index, None)
        if block is None:
            return
        given = self._inputs.pop(index, None)
        if block.kind == "call" and not block.pieces:
            # No piece is an empty input, or one that came whole with the start.
            self._assembly.grow(block, to_json(scrub_tree(given or {})).decode())
        self._assembly.close(block)

    # -- the message -------------------------------------------------------------------------------

    def _take_whole(self, message: _Event) -> None:
        for index, block in enumerate(message.content or ()):
            self._start(index, block)
            self._stop(index)
        self._count(message.usage)
        self._conclude(message.stop_reason, message.stop_details)
        self.finished = True

    def _conclude(self, reason: str | None, details: Any) -> None:
        if not reason:
            return
        self._stop_reason = reason
        self.end_seconds = END_SECONDS
        explanation = _text_of(details, "explanation") if isinstance(details, dict) else ""
        if reason == "refusal" and explanation:
            block = self._assembly.start("text")
            self._assembly.grow(block, explanation)
            self._assembly.close(block)

    def _count(self, told: Any) -> None:
        """Figures are totals so far: the last one of each counts."""
        self._tokens |= {name: count for name in _FIGURES if (count := count_in(told, name)) is not None}

    def _with_usage(self, parts: list[Part]) -> list[Part]:
        """These parts, and behind them the usage where it is news. What was asked has to be told for that:
        an answer alone is the smaller part of what is paid for."""
        if "input_tokens" in self._tokens:
            usage = Usage(*(self._tokens.get(name, 0) for name in _FIGURES))
            if usage != self._usage:
                self._usage = usage
                parts.append(UsagePart(usage))
        return parts


def _read(data: bytes) -> _Event:
    """One event; one of an unknown kind is read as an event of nothing, whatever it holds."""
    try:
        event: _Event = _events.read(data)
    except ProviderFault:
        named = _names.read(data)
        delta = named.delta.get("type") if isinstance(named.delta, dict) else None
        if named.type in _KNOWN and (named.type != "content_block_delta" or delta in _KNOWN_DELTAS):
            raise
        return _Event(named.type)
    if not event.type and event.error is None:
        _names.read(data)
    return event


def _text_of(block: dict[str, Any], key: str) -> str:
    value = block.get(key)
    return value if isinstance(value, str) else ""

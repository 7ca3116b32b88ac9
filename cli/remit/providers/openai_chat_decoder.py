"""Answers of Chat Completions, as the many servers that speak it word them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remit.base.messages import Part, StopPart, StopReason, Usage, UsagePart
from remit.base.text import scrub
from remit.providers.assembly import Assembly, Kind, OpenBlock
from remit.providers.decoding import END_SECONDS, broken_off, cut_off
from remit.providers.failures import from_stream
from remit.providers.figures import count_in
from remit.providers.openai_chat_reasoning import Kept, merge_details
from remit.providers.reading import EventReader
from remit.providers.sse import SseEvent
from remit.providers.transcript import to_json


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Piece(msgspec.Struct):
    """A delta, or the whole message of a server that does not stream."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Piece | None = None
    message: _Piece | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    x_groq: Any = None
    error: Any = None


_PROTOCOL = "Chat Completions"
_chunks = EventReader(_Chunk, _PROTOCOL)
_anything = EventReader(Any, _PROTOCOL)

_STOPS: dict[str, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "end_turn",
    "function_call": "end_turn",
    "tool_use": "end_turn",
    "end_turn": "end_turn",
    "eos": "end_turn",
    "eos_token": "end_turn",
    "stop_sequence": "end_turn",
    "complete": "end_turn",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "content_filter": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
}
"""Every word of a server for an answer that it ended itself, in lower case. All others, such as `abort`, `error`
and `network_error`, are told of answers that broke off."""


class ChatDecoder:
    """One answer. turn: from 1, for the ids of calls that come without. taken: ids of the transcript."""

    def __init__(self, turn: int = 1, taken: Iterable[str] = ()) -> None:
        self.finished = False
        self.end_seconds: float | None = None
        self._assembly = Assembly(turn, taken)
        self._calls_by_index: dict[int, OpenBlock] = {}
        self._calls_by_wire_id: dict[str, OpenBlock] = {}
        self._last_call: OpenBlock | None = None
        self._details: list[dict[str, Any]] = []
        self._usage: Usage | None = None
        self._finish_reason = ""
        self._refused = False

    def feed(self, event: SseEvent) -> list[Part]:
        data = event.data.strip()
        if data == b"[DONE]":
            self.finished = True
        if not data or self.finished:
            return []
        chunk = _chunks.read(data)
        if event.name == "error" or chunk.error is not None:
            raise from_stream(chunk.error if chunk.error is not None else _anything.read(data))
        for choice in chunk.choices or ():
            if not choice.index:
                self._take(choice)
        parts = self._assembly.take()
        usage = _usage_in(chunk)
        if usage is not None:
            if usage != self._usage:
                self._usage = usage
                parts.append(UsagePart(usage))
            # What all of the answer took is told last.
            self.finished = bool(self._finish_reason) and not chunk.choices
        return parts

    def end(self) -> list[Part]:
        if not self._finish_reason and (self._assembly.blocks or not self.finished):
            raise cut_off("no finish reason came")
        stop = self._stop_reason()
        self._keep_details()
        self._assembly.close_all()
        return [*self._assembly.take(), StopPart(stop)]

    def _stop_reason(self) -> StopReason:
        """Raises AttemptFailed for an answer that broke off."""
        stop = _STOPS.get((self._finish_reason or "stop").lower())
        if stop is None:
            raise broken_off(self._finish_reason)
        if self._refused:
            return "refusal"
        # Several servers end an answer that calls tools with a plain "stop".
        return "tool_use" if stop == "end_turn" and self._assembly.has_calls() else stop

    def _take(self, choice: _Choice) -> None:
        piece = choice.delta or choice.message
        if choice.finish_reason:
            self._finish_reason = choice.finish_reason
            self.end_seconds = END_SECONDS
        if piece is None:
            return
        if piece.reasoning_details:
            self._take_details(piece.reasoning_details, whole=choice.delta is None)
        if thought := _text_of(piece.reasoning_content):
            self._grow("thinking", thought, "reasoning_content")
        elif thought := _text_of(piece.reasoning):
            self._grow("thinking", thought, "reasoning")
        if piece.content:
            for kind, text in _contents(piece.content):
                self._grow(kind, text, "content")
        if refusal := _text_of(piece.refusal):
            self._refused = True
            self._grow("text", refusal)
        for call in piece.tool_calls or ():
            self._grow_call(call)

    def _grow(self, kind: Kind, text: str, form: str = "") -> None:
        """form: under which name it came, if it is a thought."""
        blocks = self._assembly.blocks
        block = blocks[-1] if blocks and blocks[-1].kind == kind else self._start(kind)
        if kind == "thinking" and not block.opaque:
            block.opaque = Kept(form).json()
        self._assembly.grow(block, text)

    def _take_details(self, details: Any, whole: bool) -> None:
        pieces = [piece for piece in details if isinstance(piece, dict)] if isinstance(details, list) else []
        self._details = [*self._details, *pieces] if whole else merge_details(self._details, pieces)

    def _keep_details(self) -> None:
        """Details belong to the answer as a whole, and some come after the calls they are about: they are
        kept with the first thought, or as one of their own."""
        if not self._details:
            return
        thoughts = (block for block in self._assembly.blocks if block.kind == "thinking" and not block.closed)
        block = next(thoughts, None) or self._start("thinking")
        block.opaque = Kept("reasoning_details", self._details).json()

    def _grow_call(self, call: _CallPiece) -> None:
        function = call.function or _Function()
        arguments = function.arguments
        text = arguments if isinstance(arguments, str) else "" if arguments is None else to_json(arguments).decode()
        block = self._continued(call, function.name or "", text)
        if block is None:
            block = self._last_call = self._start("call")
            if call.index is not None:
                self._calls_by_index[call.index] = block
        if call.id and not block.wire_id:
            self._assembly.identify(block, call.id)
            self._calls_by_wire_id[call.id] = block
        if function.name and function.name != block.tool:
            block.tool += scrub(function.name)
        self._assembly.grow(block, text)

    def _continued(self, call: _CallPiece, name: str, arguments: str) -> OpenBlock | None:
        """The open call that this piece goes on with, or None when it starts one.

        Servers leave out the index, or the id, or give every call the index 0, or send a fresh id with
        every piece. A piece that starts a call always names its tool."""
        if call.index is not None:
            block = self._calls_by_index.get(call.index)
        else:
            block = self._calls_by_wire_id.get(call.id or "", self._last_call)
        if block is None or not name or not block.tool:
            return block
        if call.id and block.wire_id and call.id != block.wire_id:
            return None
        return None if block.pieces and arguments and _is_object("".join(block.pieces)) else block

    def _start(self, kind: Kind) -> OpenBlock:
        blocks = self._assembly.blocks
        # A thought whose details may still come is not finished yet.
        if blocks and blocks[-1].kind != "call" and not (blocks[-1].kind == "thinking" and self._details):
            self._assembly.close(blocks[-1])
        return self._assembly.start(kind)


def _usage_in(chunk: _Chunk) -> Usage | None:
    """The usage that a chunk tells, None where it does not tell both sides of it."""
    told = chunk.usage or (chunk.x_groq.get("usage") if isinstance(chunk.x_groq, dict) else None)
    if not isinstance(told, dict):
        return None
    prompt, output, total = (count_in(told, f"{name}_tokens") for name in ("prompt", "completion", "total"))
    if prompt is None or (output is None and total is None):
        return None
    details = told.get("prompt_tokens_details")
    read = count_in(details, "cached_tokens") or count_in(told, "prompt_cache_hit_tokens") or 0
    written = count_in(details, "cache_write_tokens") or 0
    # Some servers count reasoning in the total alone.
    return Usage(max(0, prompt - read - written), max(output or 0, (total or 0) - prompt), read, written)


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _contents(content: Any) -> Iterator[tuple[Kind, str]]:
    """Content is a text, or a list of typed parts with texts in them."""
    if isinstance(content, str):
        yield "text", content
        return
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        kind: Kind = "thinking" if part.get("type") == "thinking" else "text"
        inner = part.get(kind)
        texts = [inner] if isinstance(inner, str) else [text for _, text in _contents(inner)]
        yield from ((kind, text) for text in texts if text)


def _is_object(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True

"""Answers of the Responses API: items one after the other, each told in pieces and then whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from remit.base.messages import Part, StopPart, StopReason, Usage, UsagePart
from remit.base.text import scrub, scrub_tree
from remit.providers.assembly import Assembly, Kind, OpenBlock
from remit.providers.failures import from_stream
from remit.providers.reading import EventReader
from remit.providers.sse import SseEvent
from remit.providers.transcript import to_json
from remit.providers.wire import cut_off


class _Event(msgspec.Struct, gc=False):
    """What most events are read as. Types that are not known may hold anything under these names."""

    type: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: Any = None
    item: Any = None


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None

    def usage(self) -> Usage:
        details = self.input_tokens_details or _InputDetails()
        read, written = max(0, details.cached_tokens or 0), max(0, details.cache_write_tokens or 0)
        fresh = max(0, (self.input_tokens or 0) - read - written)
        return Usage(fresh, max(0, self.output_tokens or 0), read, written)


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    status: str | None = None
    output: list[Any] | None = None
    usage: _Tokens | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


class _End(msgspec.Struct):
    response: _Response


class _Failure(msgspec.Struct):
    """An error as the API sends it, flat, or as other servers do, in an object of its own."""

    error: Any = None
    code: Any = None
    message: Any = None


class _Content(msgspec.Struct):
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    """An output item that is done."""

    type: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    phase: str | None = None
    content: list[_Content] | None = None
    summary: list[_Content] | None = None
    encrypted_content: str | None = None


_PROTOCOL = "Responses"
_events = EventReader(_Event, _PROTOCOL)
_ends = EventReader(_End, _PROTOCOL)
_responses = EventReader(_Response, _PROTOCOL)
_failures = EventReader(_Failure, _PROTOCOL)
_items = EventReader(_Item, _PROTOCOL)

_ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
_DELTAS: dict[str | None, Kind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.function_call_arguments.delta": "call",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
}

# Every other reason to be incomplete is a limit too.
_INCOMPLETE: dict[str | None, StopReason] = {"content_filter": "refusal"}

_BETWEEN_SUMMARIES = "\n\n"


class ResponsesDecoder:
    """One answer. turn: from 1, for the ids of calls that come without. taken: ids of the transcript."""

    def __init__(self, turn: int = 1, taken: Iterable[str] = ()) -> None:
        self.finished = False
        self._assembly = Assembly(turn, taken)
        # By the place of an item in the answer and, of a message, of the content in it.
        self._blocks: dict[tuple[int | None, int | None], OpenBlock] = {}
        self._places: dict[int | None, tuple[int | None, int | None]] = {}
        self._done: set[int | None] = set()
        self._usage: Usage | None = None
        self._refused = False
        self._status = ""
        self._stop: StopReason | None = None

    def feed(self, event: SseEvent) -> list[Part]:
        data = event.data.strip()
        if self.finished or not data or data == b"[DONE]":
            return []
        told = _events.read(data)
        kind = _DELTAS.get(told.type)
        if kind is not None:
            self._grow(kind, told)
        elif told.type == "response.output_item.added":
            self._begin(told.output_index, told.item)
        elif told.type == "response.output_item.done":
            self._finish(told.output_index, told.item)
        elif told.type in _ENDS:
            self._end(_ends.read(data).response, _ENDS[told.type])
        elif told.type == "error" or event.name == "error":
            failure = _failures.read(data)
            raise from_stream(failure.error or {"code": failure.code, "message": failure.message})
        elif told.type is None:
            response = _responses.read(data)
            self._end(response, response.status or "")
        return self._assembly.take()

    def end(self) -> list[Part]:
        if not self.finished:
            raise cut_off(f"the response is {self._status}" if self._status else "no end of the response came")
        self._assembly.close_all()
        parts = self._assembly.take()
        if self._usage is not None:
            parts.append(UsagePart(self._usage))
        parts.append(StopPart(self._stop_reason()))
        return parts

    def _stop_reason(self) -> StopReason:
        if self._refused:
            return "refusal"
        return self._stop or ("tool_use" if self._assembly.has_calls() else "end_turn")

    def _end(self, response: _Response, status: str) -> None:
        if response.error is not None or status == "failed":
            raise from_stream(response.error or {"message": "the response failed"})
        if response.usage is not None:
            self._usage = response.usage.usage()
        if not self._done:
            for place, item in enumerate(response.output or ()):
                self._finish(place, item)
        if status == "incomplete":
            details = response.incomplete_details or _Incomplete()
            self._stop = _INCOMPLETE.get(details.reason, "max_tokens")
        # A server that does not stream may also answer with a response that has only begun.
        self._status = status
        self.finished = status in ("completed", "incomplete")

    # -- blocks ------------------------------------------------------------------------------------

    def _begin(self, place: int | None, item: Any) -> None:
        """A call is told at once; what else begins may turn out to hold nothing."""
        if isinstance(item, dict) and item.get("type") == "function_call":
            self._call(place, _items.convert(item))

    def _grow(self, kind: Kind, told: _Event) -> None:
        if not isinstance(told.delta, str) or not told.delta:
            return
        if told.type == "response.refusal.delta":
            self._refused = True
        if kind == "thinking":
            self._think(told)
            return
        within = (told.content_index or 0) if kind == "text" else None
        block = self._blocks.get((told.output_index, within)) or self._start(kind, told.output_index, within)
        if not block.closed:
            self._assembly.grow(block, told.delta)

    def _think(self, told: _Event) -> None:
        """Summaries of one item are paragraphs of one block."""
        block = self._blocks.get((told.output_index, None))
        place = (told.summary_index, told.content_index)
        if block is None:
            block = self._start("thinking", told.output_index, None)
        elif block.closed:
            return
        elif self._places.get(told.output_index) != place:
            self._assembly.grow(block, _BETWEEN_SUMMARIES)
        self._places[told.output_index] = place
        self._assembly.grow(block, told.delta)

    def _start(self, kind: Kind, place: int | None, within: int | None) -> OpenBlock:
        block = self._assembly.start(kind)
        self._blocks[place, within] = block
        return block

    def _call(self, place: int | None, item: _Item) -> OpenBlock:
        block = self._blocks.get((place, None)) or self._start("call", place, None)
        if item.call_id and not block.wire_id:
            self._assembly.identify(block, item.call_id)
        block.tool = block.tool or scrub(item.name or "")
        return block

    def _finish(self, place: int | None, raw: Any) -> None:
        """An item that is done: it holds all of what its deltas brought, and what must go back."""
        if not isinstance(raw, dict) or place in self._done:
            return
        self._done.add(place)
        finish = {
            "message": self._finish_message,
            "function_call": self._finish_call,
            "reasoning": self._finish_thought,
        }
        kind = raw.get("type")
        if isinstance(kind, str) and kind in finish:
            finish[kind](place, _items.convert(raw), raw)

    def _finish_message(self, place: int | None, item: _Item, _: Any) -> None:
        opaque = to_json({"phase": item.phase}).decode() if item.phase else ""
        for within, content in enumerate(item.content or ()):
            self._refused = self._refused or bool(content.refusal)
            block = self._complete("text", place, within, content.text or content.refusal or "")
            if block is not None:
                block.opaque = opaque
                self._assembly.close(block)

    def _finish_call(self, place: int | None, item: _Item, _: Any) -> None:
        block = self._call(place, item)
        self._complete("call", place, None, item.arguments or "")
        self._assembly.close(block)

    def _finish_thought(self, place: int | None, item: _Item, raw: Any) -> None:
        texts = [part.text for part in (*(item.summary or ()), *(item.content or ())) if part.text]
        block = self._complete("thinking", place, None, _BETWEEN_SUMMARIES.join(texts))
        # The server keeps nothing: a reasoning item that has nothing but its id cannot be found again.
        if item.encrypted_content or item.content:
            block = block or self._start("thinking", place, None)
            kept = {key: value for key, value in raw.items() if key != "status"}
            block.opaque = to_json(scrub_tree(kept)).decode()
        if block is not None:
            self._assembly.close(block)

    def _complete(self, kind: Kind, place: int | None, within: int | None, whole: str) -> OpenBlock | None:
        """The block of which `whole` is all, with what its deltas did not bring; None for one of nothing."""
        block = self._blocks.get((place, within))
        if block is None and whole:
            block = self._start(kind, place, within)
        if block is not None:
            came = block.text()
            if len(whole) > len(came) and whole.startswith(came):
                self._assembly.grow(block, whole[len(came) :])
        return block

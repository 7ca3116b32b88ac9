"""Answers of the Responses API: items one after the other, each told in pieces and then whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from remit.base.messages import Part, StopPart, StopReason, Usage, UsagePart
from remit.base.text import scrub, scrub_tree
from remit.providers.assembly import Assembly, Kind, OpenBlock
from remit.providers.decoding import broken_off, cut_off
from remit.providers.failures import from_stream
from remit.providers.figures import count_in
from remit.providers.reading import EventReader
from remit.providers.sse import SseEvent
from remit.providers.transcript import to_json


class _Event(msgspec.Struct, gc=False):
    """What most events are read as. Types that are not known may hold anything under these names."""

    type: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: Any = None
    item: Any = None
    response: Any = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    status: str | None = None
    output: list[Any] | None = None
    usage: Any = None
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

_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed", "cancelled")}
"""The status that an event tells, should the response in it tell none."""

_BEGUN = frozenset({"", "queued", "in_progress"})
"""The status of a response that goes on."""

_DELTAS: dict[str | None, Kind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.function_call_arguments.delta": "call",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
}

_INCOMPLETE: dict[str | None, StopReason] = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
"""Every reason for which a response may be incomplete and have ended all the same."""

_BETWEEN_SUMMARIES = "\n\n"


class ResponsesDecoder:
    """One answer. turn: from 1, for the ids of calls that come without. taken: ids of the transcript."""

    def __init__(self, turn: int = 1, taken: Iterable[str] = ()) -> None:
        self.finished = False
        self.end_seconds: float | None = None
        self._assembly = Assembly(turn, taken)
        # By the place of an item in the answer and, of a message, of the content in it.
        self._blocks: dict[tuple[int | None, int | None], OpenBlock] = {}
        self._places: dict[int | None, tuple[int | None, int | None]] = {}
        self._done: set[int | None] = set()
        self._usage: list[UsagePart] = []
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
            self._end(response, "")
        elif told.response is not None:
            self._count(told.response.get("usage") if isinstance(told.response, dict) else None)
        parts: list[Part] = [*self._assembly.take(), *self._usage]
        self._usage.clear()
        return parts

    def end(self) -> list[Part]:
        if self._status in _BEGUN:
            raise cut_off(f"the response is {self._status}" if self._status else "no end of the response came")
        if self._stop is None:
            raise broken_off(self._status)
        self._assembly.close_all()
        return [*self._assembly.take(), StopPart(self._stop_reason(self._stop))]

    def _stop_reason(self, stop: StopReason) -> StopReason:
        if self._refused:
            return "refusal"
        return "tool_use" if stop == "end_turn" and self._assembly.has_calls() else stop

    def _count(self, told: Any) -> None:
        """Usage counts where both sides of it are told."""
        asked, output = count_in(told, "input_tokens"), count_in(told, "output_tokens")
        if asked is None or output is None:
            return
        details = told.get("input_tokens_details")
        read, written = count_in(details, "cached_tokens") or 0, count_in(details, "cache_write_tokens") or 0
        self._usage.append(UsagePart(Usage(max(0, asked - read - written), output, read, written)))

    def _end(self, response: _Response, status: str) -> None:
        """status: the one that the event stands for."""
        status = response.status or status
        if response.error is not None or status == "failed":
            raise from_stream(response.error or {"message": "the response failed"})
        self._count(response.usage)
        if not self._done:
            for place, item in enumerate(response.output or ()):
                self._finish(place, item)
        if status == "completed":
            self._stop = "end_turn"
        elif status == "incomplete":
            details = response.incomplete_details or _Incomplete()
            self._stop = _INCOMPLETE.get(details.reason)
            status = f"incomplete: {details.reason}" if details.reason else status
        # A server that does not stream may also answer with a response that has only begun.
        self._status = status
        self.finished = status not in _BEGUN

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

"""Gemini generateContent."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from remit.base.messages import Part, Request, StopPart, StopReason, Usage, UsagePart
from remit.base.text import scrub, scrub_tree
from remit.providers.assembly import Assembly, Kind, OpenBlock
from remit.providers.decoding import END_SECONDS, cut_off
from remit.providers.failures import AttemptFailed, from_stream
from remit.providers.failures import quote as quote_message
from remit.providers.figures import count_in
from remit.providers.gemini_body import NO_THOUGHT, GeminiBody, KeptCall
from remit.providers.opening import Opening
from remit.providers.reading import EventReader
from remit.providers.sse import SseEvent
from remit.providers.transcript import to_json
from remit.providers.wire import open_wire

_VERSION = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?/?$")
_COLLECTIONS = frozenset({"models", "tunedModels"})


def open_provider(opening: Opening) -> Gemini:
    """Raises PreflightFault."""
    return Gemini(opening)


class Gemini:
    """A model behind generateContent; its base URL goes up to the version, or up to and with it."""

    def __init__(self, opening: Opening) -> None:
        self.name = opening.model.provider
        self.model = opening.model.name
        self.key_source = opening.credential.source
        self._wire = open_wire(opening, auth_header="x-goog-api-key")
        self._version = "" if _VERSION.search(urlsplit(opening.base_url).path) else "/v1beta"
        self._body = GeminiBody(opening.model)

    def stream(self, request: Request) -> AsyncIterator[Part]:
        body = self._body.json(request)
        path = f"{self._version}/{_resource(request.model)}:streamGenerateContent?alt=sse"
        transcript = self._body.transcript
        return self._wire.ask(path, body, lambda: GeminiDecoder(1 + transcript.answers, transcript.tools_by_call))

    async def close(self) -> None:
        await self._wire.close()


def _resource(model: str) -> str:
    collection, _, name = model.partition("/")
    if collection in _COLLECTIONS and name:
        return f"{collection}/{quote(name, safe='')}"
    return f"models/{quote(model, safe='')}"


# -- answers -----------------------------------------------------------------------------------------


class _Call(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    args: dict[str, Any] | None = None


class _Piece(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Call | None = None


class _Content(msgspec.Struct):
    parts: list[_Piece] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    index: int | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: Any = None
    prompt_feedback: _Feedback | None = None
    error: Any = None


# A server that does not know `alt=sse` sends all chunks as one JSON array.
_chunks = EventReader(_Chunk | list[_Chunk], "Gemini generateContent")

USAGE_EVERY = 32
"""Chunks from one reading of the usage to the next, before the last: an answer that is cut loses no more."""

UNSURE_END_SECONDS = 5 * END_SECONDS
"""How long the end may still take where every chunk had a finish reason so far: more of the answer may follow."""

_UNSPECIFIED = frozenset({"FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"})
_STOPS: dict[str, StopReason] = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "CONTINUATION": "max_tokens"}
_REFUSALS = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "ESCALATION",
        "PUP_LIMITED_DISABLED",
        "MODEL_ARMOR",
    }
)
_CALLED_WRONGLY = frozenset({"UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})


class GeminiDecoder:
    """One answer. turn: from 1, for the ids of calls that come without. taken: ids of the transcript.

    An answer that the API broke off (MALFORMED_FUNCTION_CALL, OTHER and the like) is no answer: with a text
    it counts as cut, because that may be the rest of a call; without one it is empty, and what the API
    tells about it is shown as a thought. An unexpected call is a call: the answer to it says what exists."""

    def __init__(self, turn: int = 1, taken: Iterable[str] = ()) -> None:
        # Some servers give every chunk a finish reason, so that only the end of the stream is the end.
        self.finished = False
        self.end_seconds: float | None = None
        self._assembly = Assembly(turn, taken)
        self._open: OpenBlock | None = None
        self._runs: list[tuple[int, str]] = []
        self._run_start = 0
        self._usage: list[UsagePart] = []
        self._told_usage: Usage | None = None
        self._counted = 0
        self._unfinished = False
        self._finish_reason = ""
        self._finish_message = ""
        self._blocked = ""

    def feed(self, event: SseEvent) -> list[Part]:
        data = event.data.strip()
        if not data or data == b"[DONE]":
            return []
        read = _chunks.read(data)
        for chunk in read if isinstance(read, list) else (read,):
            if chunk.error is not None:
                raise from_stream(chunk.error)
            self._take(chunk)
        parts = self._assembly.take()
        if self._usage:
            parts += self._usage
            self._usage.clear()
        return parts

    def end(self) -> list[Part]:
        if not (self._finish_reason or self._blocked):
            raise cut_off("no finish reason came")
        self._close_open()
        stop = self._stop_reason()
        return [*self._assembly.take(), StopPart(stop)]

    # -- why it stopped ----------------------------------------------------------------------------

    def _stop_reason(self) -> StopReason:
        reason, calls, text = self._finish_reason, self._assembly.has_calls(), self._has_text()
        if self._blocked or reason in _REFUSALS:
            if not text:
                self._add("text", self._refusal())
            return "refusal"
        if calls and (reason == "STOP" or reason in _CALLED_WRONGLY):
            return "tool_use"
        if reason in _STOPS:
            return _STOPS[reason]
        if calls or text:
            raise AttemptFailed("overloaded", f"the model's answer cannot be used: {self._told()}")
        self._add("thinking", f"[the API gave no answer: {self._told()}]")
        return "end_turn"

    def _refusal(self) -> str:
        return f"[the API blocked the prompt: {self._blocked}]" if self._blocked else f"[stopped: {self._told()}]"

    def _told(self) -> str:
        message = quote_message(self._finish_message)
        return f"{self._finish_reason}: {message}" if message else self._finish_reason

    def _has_text(self) -> bool:
        return any(block.kind == "text" and block.text().strip() for block in self._assembly.blocks)

    # -- what it holds -----------------------------------------------------------------------------

    def _take(self, chunk: _Chunk) -> None:
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason and feedback.block_reason not in _UNSPECIFIED:
            told = (feedback.block_reason, quote_message(feedback.block_reason_message or ""))
            self._blocked = ": ".join(filter(None, told))
        for candidate in chunk.candidates or ():
            if not candidate.index:
                self._take_candidate(candidate)
        if chunk.usage_metadata is not None:
            # Every chunk counts anew; to read each of these counts costs more than all else of it.
            if self._counted % USAGE_EVERY == 0 or self._finish_reason or self._blocked:
                self._tell_usage(chunk.usage_metadata)
            self._counted += 1

    def _tell_usage(self, told: Any) -> None:
        usage = _usage_of(told)
        if usage is not None and usage != self._told_usage:
            self._told_usage = usage
            self._usage.append(UsagePart(usage))

    def _take_candidate(self, candidate: _Candidate) -> None:
        if candidate.content is not None:
            for piece in candidate.content.parts or ():
                self._take_piece(piece)
        if candidate.finish_reason and candidate.finish_reason not in _UNSPECIFIED:
            self._finish_reason = candidate.finish_reason
            self._finish_message = candidate.finish_message or ""
            self.end_seconds = END_SECONDS if self._unfinished else UNSURE_END_SECONDS
        else:
            self._unfinished = True

    def _take_piece(self, piece: _Piece) -> None:
        if piece.function_call is not None:
            self._add_call(piece.function_call, piece.thought_signature or "")
        elif piece.thought:
            self._grow_thought(piece.text or "", piece.thought_signature or "")
        elif piece.text or piece.thought_signature:
            self._grow_text(piece.text or "", piece.thought_signature or "")

    def _add_call(self, call: _Call, signature: str) -> None:
        self._close_open()
        block = self._assembly.start("call", tool=call.name or "", wire_id=call.id or "")
        block.opaque = KeptCall(scrub(call.id or ""), signature).opaque()
        self._assembly.grow(block, to_json(scrub_tree(call.args or {})).decode())
        self._assembly.close(block)

    def _grow_thought(self, text: str, signature: str) -> None:
        block = self._open
        if block is None or block.kind != "thinking" or signature or block.signature:
            block = self._start("thinking")
        block.signature = signature
        if text:
            self._assembly.grow(block, text)

    def _grow_text(self, text: str, signature: str) -> None:
        block = self._open
        if block is None or block.kind != "text":
            if not text:
                block = self._start("thinking")
                block.signature, block.opaque = signature, NO_THOUGHT
                return
            block = self._start("text")
        if signature:
            self._end_run("")
        if text:
            self._assembly.grow(block, text)
        if signature:
            self._end_run(signature)

    def _end_run(self, signature: str) -> None:
        """What came into the open text since the last run is a part of its own."""
        block = self._open
        if block is None:
            return
        text = scrub("".join(block.pieces[self._run_start :]))
        if text or signature:
            self._runs.append((len(text), signature))
        self._run_start = len(block.pieces)

    def _add(self, kind: Kind, text: str) -> None:
        self._assembly.grow(self._start(kind), text)
        self._close_open()

    def _start(self, kind: Kind) -> OpenBlock:
        self._close_open()
        self._open = self._assembly.start(kind)
        return self._open

    def _close_open(self) -> None:
        block = self._open
        if block is None:
            return
        if self._runs:
            self._end_run("")
            block.opaque = to_json(self._runs).decode()
        self._assembly.close(block)
        self._open, self._runs, self._run_start = None, [], 0


def _usage_of(told: Any) -> Usage | None:
    """The usage, None where nothing tells what was asked. A count of zero is left out."""
    asked = count_in(told, "promptTokenCount")
    if asked is None:
        return None
    answered, thought, searched = (
        count_in(told, name) or 0 for name in ("candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount")
    )
    cached = count_in(told, "cachedContentTokenCount") or 0
    # The prompt's count holds the cached tokens, that of the answer does not hold the thoughts.
    return Usage(max(0, asked + searched - cached), answered + thought, cached)


new_decoder = GeminiDecoder

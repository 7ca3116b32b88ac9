"""Bodies of answers as events: streams of them, or one JSON document."""

from __future__ import annotations

from typing import Protocol

from remit.providers.failures import AttemptFailed
from remit.providers.http import Response
from remit.providers.sse import MAX_EVENT_BYTES, EventTooLarge, SseEvent, SseReader


class BodyReader(Protocol):
    """Bytes of a body in, events out."""

    def feed(self, chunk: bytes) -> list[SseEvent]: ...
    def rest(self) -> list[SseEvent]: ...


class _WholeBody:
    """An answer that is one JSON document, as servers without streaming send it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        self._pieces.append(chunk)
        self._size += len(chunk)
        if self._size > MAX_EVENT_BYTES:
            raise EventTooLarge
        return []

    def rest(self) -> list[SseEvent]:
        return [SseEvent("", b"".join(self._pieces))]


def reader_for(response: Response) -> BodyReader:
    """By the type of the body. Raises AttemptFailed for a web page."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json":
        return _WholeBody()
    if media_type == "text/html":
        raise AttemptFailed("malformed", "the server answered with a web page, not with a model's answer")
    return SseReader()


def events_of(reader: BodyReader, chunk: bytes | None) -> list[SseEvent]:
    """What a chunk completes, or with None what the end does. Raises AttemptFailed for an event too large."""
    try:
        return reader.rest() if chunk is None else reader.feed(chunk)
    except EventTooLarge:
        message = f"one event of the stream is larger than {MAX_EVENT_BYTES} bytes"
        raise AttemptFailed("malformed", message) from None

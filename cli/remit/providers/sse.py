"""Server-sent events from bytes as they arrive."""

from __future__ import annotations

from typing import NamedTuple

MAX_EVENT_BYTES = 32 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """name: the `event` field, or "". data: the `data` lines joined by newlines, UTF-8 as it came."""

    name: str
    data: bytes


class EventTooLarge(Exception):
    """One event is larger than MAX_EVENT_BYTES."""


class SseReader:
    """Cuts a byte stream into events. Lines end in LF, CRLF or CR, wherever the stream is chunked; an
    event that no blank line ends is never given out."""

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._skip_newline = False
        self._first = True
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes. Raises EventTooLarge."""
        if self._skip_newline and chunk:
            # A CR at the end of the chunk before has already ended its line.
            chunk = chunk.removeprefix(b"\n")
            self._skip_newline = False
        if b"\n" not in chunk and b"\r" not in chunk:
            self._hold(chunk)
            return []
        lines = (b"".join(self._pieces) + chunk).splitlines(keepends=True)
        self._skip_newline = lines[-1].endswith(b"\r")
        rest = b"" if lines[-1].endswith((b"\n", b"\r")) else lines.pop()
        events = [event for line in lines if (event := self._take(line.rstrip(b"\r\n"))) is not None]
        self._pieces = []
        self._size = sum(map(len, self._data))
        self._hold(rest)
        return events

    def rest(self) -> list[SseEvent]:
        """What the end of the stream completes: nothing."""
        return []

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise EventTooLarge

    def _take(self, line: bytes) -> SseEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._finish()
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        return None

    def _finish(self) -> SseEvent | None:
        event = SseEvent(self._name, b"\n".join(self._data)) if self._data else None
        self._name, self._data = "", []
        return event

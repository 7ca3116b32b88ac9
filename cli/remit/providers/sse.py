"""Server-sent events from bytes as they arrive."""

from __future__ import annotations

import msgspec

MAX_EVENT_BYTES = 32 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_CR, _LF = b"\r\n"


class SseEvent(msgspec.Struct, frozen=True, gc=False):
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
        self._skip_newline = False
        self._first = True
        # The event that is not finished: its lines, then the pieces of the line that is not, and their sizes.
        self._name = ""
        self._data: list[bytes] = []
        self._data_size = 0
        self._pieces: list[bytes] = []
        self._pieces_size = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes. Raises EventTooLarge."""
        if self._skip_newline and chunk:
            # A CR at the end of the chunk before has already ended its line.
            chunk = chunk.removeprefix(b"\n")
            self._skip_newline = False
        if not chunk:
            return []
        last = chunk[-1]
        whole = last in (_LF, _CR)
        # Most servers send whole events, which need no search for the end of the last line.
        if not whole and b"\n" not in chunk and b"\r" not in chunk:
            self._hold(chunk)
            return []
        if self._pieces:
            chunk = b"".join((*self._pieces, chunk))
            self._pieces, self._pieces_size = [], 0
        self._skip_newline = last == _CR
        lines = chunk.splitlines()
        rest = b"" if whole else lines.pop()
        events = self._take(lines)
        if self._data or rest:
            self._hold(rest)
        return events

    def rest(self) -> list[SseEvent]:
        """What the end of the stream completes: nothing."""
        return []

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._pieces_size += len(piece)
        if self._data_size + self._pieces_size > self._max_bytes:
            raise EventTooLarge

    def _take(self, lines: list[bytes]) -> list[SseEvent]:
        """The events that these lines complete."""
        if self._first:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        events: list[SseEvent] = []
        name, data, counted = self._name, self._data, len(self._data)
        for line in lines:
            if line.startswith(b"data: "):
                data.append(line[6:])
            elif not line:
                if data:
                    events.append(SseEvent(name, data[0] if len(data) == 1 else b"\n".join(data)))
                    data, counted = [], 0
                name = ""
            elif line.startswith((b"data:", b"event:")) or line in (b"data", b"event"):
                field, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                if field == b"data":
                    data.append(value)
                else:
                    name = value.decode("utf-8", "replace")
        if data:
            # Only what is new: an event may have as many lines as it has bytes.
            fresh = data[counted:]
            self._data_size = (self._data_size if counted else 0) + len(fresh) + sum(map(len, fresh))
        else:
            self._data_size = 0
        self._name, self._data = name, data
        return events

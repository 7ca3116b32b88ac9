"""What is kept of a stream of output: its start and its newest bytes."""

from __future__ import annotations

from collections import deque


class Output:
    """A stream within `max_bytes`: a quarter of them from its start, the rest from its end.

    total: bytes as they came. Appending costs the same however long the stream is."""

    def __init__(self, max_bytes: int) -> None:
        self.total = 0
        self._head_bytes = max_bytes // 4
        self._tail_bytes = max_bytes - self._head_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._held = 0

    def take(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk[-self._tail_bytes :] if self._tail_bytes else b"")
        self._held += len(self._tail[-1])
        while self._held - len(self._tail[0]) >= self._tail_bytes and len(self._tail) > 1:
            self._held -= len(self._tail.popleft())

    @property
    def left_out(self) -> int:
        """Bytes of the middle that are not kept."""
        return self.total - len(self._head) - min(self._held, self._tail_bytes)

    def content(self) -> bytes:
        """What is kept. Where something is left out, a line in brackets says how much."""
        tail = b"".join(self._tail)[-self._tail_bytes :] if self._tail_bytes else b""
        if not self.left_out:
            return bytes(self._head) + tail
        return b"%s\n[... %d bytes left out ...]\n%s" % (bytes(self._head), self.left_out, tail)

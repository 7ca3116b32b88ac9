"""A response body as it streams in, decompressed under a cap. Pure."""

from __future__ import annotations

import zlib
from typing import Protocol

from remit.base.errors import ErrorCode, Failure

ACCEPT_ENCODING = "gzip, deflate"

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"


class Body(Protocol):
    def feed(self, data: bytes) -> None:
        """Raises Failure(response_too_large, response_invalid)."""
        ...

    def finish(self) -> bytes:
        """The whole body. Raises Failure(response_invalid) if it ended too early."""
        ...


def body_of(url: str, encoding: str, max_bytes: int) -> Body:
    """The reader for a Content-Encoding. max_bytes: of the body both as sent and as decoded."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return _Plain(url, max_bytes)
    if name in {"gzip", "x-gzip", "deflate"}:
        return _Compressed(url, max_bytes, name == "deflate")
    raise Failure(
        ErrorCode.RESPONSE_INVALID,
        f"{url}: the server sent the content encoding {name[:40]!r}, which was not asked for ({ACCEPT_ENCODING})",
    )


def too_large(url: str, max_bytes: int) -> Failure:
    return Failure(ErrorCode.RESPONSE_TOO_LARGE, f"{url}: the body is larger than {max_bytes} bytes; no more is read")


class _Plain:
    def __init__(self, url: str, max_bytes: int) -> None:
        self._url = url
        self._max_bytes = max_bytes
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        if len(self._data) + len(data) > self._max_bytes:
            raise too_large(self._url, self._max_bytes)
        self._data += data

    def finish(self) -> bytes:
        return bytes(self._data)


class _Compressed:
    """gzip, of one or more members, or deflate with or without its header."""

    def __init__(self, url: str, max_bytes: int, deflate: bool) -> None:
        self._url = url
        self._max_bytes = max_bytes
        self._deflate = deflate
        self._plain = _Plain(url, max_bytes)
        self._sent = 0
        self._left = max_bytes
        self._held = b""
        self._member: zlib._Decompress | None = None
        self._ended = False

    def feed(self, data: bytes) -> None:
        self._sent += len(data)
        if self._sent > self._max_bytes:
            raise too_large(self._url, self._max_bytes)
        data = self._held + data
        self._held = b""
        while data:
            data = self._take(data)

    def finish(self) -> bytes:
        if self._sent and not (self._ended and self._member is None):
            raise self._broken("it ends in the middle")
        return self._plain.finish()

    def _take(self, data: bytes) -> bytes:
        """Decode up to the end of a member; returns what follows it."""
        if self._member is None:
            if len(data) < 2:
                self._held = data
                return b""
            if self._ended and (self._deflate or not data.startswith(_GZIP_MAGIC)):
                return b""  # padding after the end, which every reader ignores
            self._member = zlib.decompressobj(_window(data) if self._deflate else _GZIP)
        try:
            # One byte more than is left tells a body that is too large, and no more is ever expanded.
            decoded = self._member.decompress(data, self._left + 1)
        except zlib.error:
            raise self._broken("it is damaged") from None
        self._plain.feed(decoded)
        self._left -= len(decoded)
        if not self._member.eof:
            return b""
        rest = self._member.unused_data
        self._member, self._ended = None, True
        return rest

    def _broken(self, how: str) -> Failure:
        return Failure(ErrorCode.RESPONSE_INVALID, f"{self._url}: the compressed body cannot be read: {how}")


def _window(data: bytes) -> int:
    """Window bits of a deflate body: many servers leave out the header that belongs there."""
    has_header = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS

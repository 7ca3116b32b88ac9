"""Whether the bytes of a picture go on to its end, by the parts it is made of. Pure, decodes nothing.

What programs put behind the end is left alone."""

from __future__ import annotations

from collections.abc import Callable

from remit.base.lazy_pattern import lazy_pattern

_PNG_CHUNK = 12
"""Bytes of a chunk beside its content: length, name and checksum."""

_NEXT_MARKER = lazy_pattern(rb"\xff[^\x00\x01\xd0-\xd7\xff]")
"""One with a length, or the end: behind the pixels of a scan, in which zeros and restarts follow such a byte."""

_JPEG_END = 0xD9
_GIF_END, _GIF_EXTENSION, _GIF_IMAGE = 0x3B, 0x21, 0x2C


def ends(media_type: str, data: bytes) -> bool:
    """Whether a picture of a kind that `media_type_of` tells has all of its parts."""
    try:
        return _WALKS[media_type](data)
    except IndexError:
        return False


def _png(data: bytes) -> bool:
    at = 8
    while at + _PNG_CHUNK <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        name = data[at + 4 : at + 8]
        at += _PNG_CHUNK + length
        if name == b"IEND":
            return at <= len(data)
    return False


def _jpeg(data: bytes) -> bool:
    at = 2
    while True:
        found = _NEXT_MARKER.search(data, at)
        if found is None:
            return False
        marker = data[found.end() - 1]
        if marker == _JPEG_END:
            return True
        at = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")


def _gif(data: bytes) -> bool:
    at = 13 + _gif_colours(data[10])
    while data[at] != _GIF_END:
        kind = data[at]
        at += 1
        if kind == _GIF_EXTENSION:
            at = _behind_blocks(data, at + 1)
        elif kind == _GIF_IMAGE:
            at = _behind_blocks(data, at + 10 + _gif_colours(data[at + 8]))
    return True


def _gif_colours(flags: int) -> int:
    """Bytes of the colours that flags tell of."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _behind_blocks(data: bytes, at: int) -> int:
    while data[at]:
        at += 1 + data[at]
    return at + 1


def _webp(data: bytes) -> bool:
    return len(data) >= 8 + int.from_bytes(data[4:8], "little")


_WALKS: dict[str, Callable[[bytes], bool]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}

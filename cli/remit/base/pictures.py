"""What a picture's bytes say of it before any of them is decoded. Pure, and needs no library."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB
from remit.base.picture_ends import ends

MAX_INPUT_BYTES = 50 * MIB
MAX_PIXELS = 50_000_000
MAX_BYTES = 3 * MIB
"""Of a picture as it is sent: every model API takes one of this size, also in base64."""

MAX_EDGE = 1568
"""Of a picture as it is sent: models see no more of a longer one."""

MAX_PLAIN_EDGE = 8000
"""Of a picture that is sent as it is: model APIs refuse a longer one."""

FORMATS = "PNG, JPEG, GIF or WebP"

_CUT = "it ends inside its header"


class Header(NamedTuple):
    """media_type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`. width, height: pixels, as stored."""

    media_type: str
    width: int
    height: int


def media_type_of(data: bytes) -> str:
    """The media type of a picture's bytes, or "" for what is none. The name of a file says nothing."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


def read_header(data: bytes) -> Header:
    """Kind and size of a picture. Raises Failure(unsupported_format, picture_invalid, picture_too_large), without
    the name of the file."""
    media_type = media_type_of(data)
    if not media_type:
        raise Failure(ErrorCode.UNSUPPORTED_FORMAT, f"it is no picture in {FORMATS}, by what it holds")
    try:
        width, height = _SIZES[media_type](data)
    except (IndexError, ValueError) as problem:
        raise Failure(ErrorCode.PICTURE_INVALID, f"the {kind_of(media_type)} is broken: {problem}") from None
    if width < 1 or height < 1:
        raise Failure(
            ErrorCode.PICTURE_INVALID, f"the {kind_of(media_type)} is broken: it says {width}x{height} pixels"
        )
    if width * height > MAX_PIXELS:
        raise Failure(
            ErrorCode.PICTURE_TOO_LARGE,
            f"the picture has {width}x{height} = {width * height} pixels; at most {MAX_PIXELS} are decoded",
        )
    return Header(media_type, width, height)


def kind_of(media_type: str) -> str:
    """The format in the words of people."""
    return {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}[media_type]


def check_plain(data: bytes) -> Header:
    """Whether a picture can be sent as it is, as far as that can be told without decoding it. Raises Failure as
    `read_header`, and for a picture that is too large, or stops before its end."""
    header = read_header(data)
    if len(data) > MAX_BYTES or max(header.width, header.height) > MAX_PLAIN_EDGE:
        raise Failure(
            ErrorCode.PICTURE_TOO_LARGE,
            f"the picture has {len(data)} bytes and {header.width}x{header.height} pixels; sent as it is, it may have "
            f"{MAX_BYTES} bytes ({MAX_BYTES // MIB} MiB) and {MAX_PLAIN_EDGE} pixels an edge",
        )
    refuse_cut(header, data)
    return header


def refuse_cut(header: Header, data: bytes) -> None:
    """Raises Failure(picture_invalid) for a picture that stops before its end."""
    if not ends(header.media_type, data):
        what = f"the {kind_of(header.media_type)} of {header.width}x{header.height} pixels stops before its end"
        raise Failure(ErrorCode.PICTURE_INVALID, f"{what}: the file is cut off or not written out yet")


# -- sizes -------------------------------------------------------------------------------------


def _number(data: bytes, start: int, size: int, *, little: bool = False) -> int:
    """Raises ValueError where the bytes are missing."""
    piece = data[start : start + size]
    if len(piece) < size:
        raise ValueError(_CUT)
    return int.from_bytes(piece, "little" if little else "big")


def _png_size(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise ValueError("it does not begin with its header")
    return _number(data, 16, 4), _number(data, 20, 4)


def _gif_size(data: bytes) -> tuple[int, int]:
    return _number(data, 6, 2, little=True), _number(data, 8, 2, little=True)


def _webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        return _number(data, 24, 3, little=True) + 1, _number(data, 27, 3, little=True) + 1
    if kind == b"VP8L":
        bits = _number(data, 21, 4, little=True)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return _number(data, 26, 2, little=True) & 0x3FFF, _number(data, 28, 2, little=True) & 0x3FFF
    raise ValueError("it does not begin with its header")


_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers that tell the size."""

_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length."""


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        if data[at] != 0xFF:
            raise ValueError("a part of it has a wrong length")
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _FRAMES:
            return _number(data, at + 7, 2), _number(data, at + 5, 2)
        elif marker in (0xD9, 0xDA):
            raise ValueError("it does not tell its size")
        else:
            at += 2 + max(2, _number(data, at + 2, 2))
        if at + 1 >= len(data):
            raise ValueError(_CUT)


_SIZES: dict[str, Callable[[bytes], tuple[int, int]]] = {
    "image/png": _png_size,
    "image/jpeg": _jpeg_size,
    "image/gif": _gif_size,
    "image/webp": _webp_size,
}

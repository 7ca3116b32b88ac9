"""Bytes of unknown origin as text, and the honest word on how."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import NamedTuple

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks and their encodings; UTF-32 first, as its mark starts with that of UTF-16."""

FALLBACK = "windows-1252"

SIGNATURES = (
    b"%PDF-",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\x1f\x8b",
    b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"SQLite format 3\x00",
    b"\x00asm",
    *(b"BZh%d1AY&SY" % level for level in range(1, 10)),
    *(b"ID3%c" % version for version in (2, 3, 4)),
)
"""How common binary formats start."""

Decoder = Callable[[bytes, str], tuple[str, int]]

MAX_CONTROL_SHARE = 0.30

_PLAIN = bytes(byte for byte in range(256) if byte >= 0x20 and byte != 0x7F) + b"\a\b\t\n\f\r\x1b"


class Decoded(NamedTuple):
    """encoding: the WHATWG or Python name used. replaced: whether bytes that are no text in it became U+FFFD."""

    text: str
    encoding: str
    replaced: bool


def decode_text(data: bytes, label: str = "") -> Decoded:
    """Text by its byte order mark, else the given label (a charset of a header or page, read by the
    WHATWG table), else UTF-8 if every byte fits, else windows-1252. A mark is not part of the text.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], codecs.getdecoder(encoding), encoding)
    if label and (known := _by_label(label)):
        return _decode(data, *known)
    try:
        return Decoded(data.decode(), "utf-8", False)
    except UnicodeDecodeError:
        return _decode(data, codecs.getdecoder("cp1252"), FALLBACK)


def looks_binary(first: bytes) -> bool:
    """Whether these bytes, the start of a file or all of it, are no text: a known signature, a NUL
    byte, or more than 30 % control bytes. UTF-16 and UTF-32 with a byte order mark are text.
    """
    if first.startswith(SIGNATURES):
        return True
    wide = next((encoding for mark, encoding in BOMS[1:] if first.startswith(mark)), "")
    if wide:
        # As bytes such text is full of NUL; what it must not be full of shows once it is decoded.
        first = first.decode(wide, "replace").encode("utf-8", "replace")
    if b"\0" in first:
        return True
    return len(first.translate(None, _PLAIN)) > MAX_CONTROL_SHARE * len(first)


def _decode(data: bytes, decode: Decoder, shown: str) -> Decoded:
    try:
        return Decoded(decode(data, "strict")[0], shown, False)
    except UnicodeDecodeError:
        return Decoded(decode(data, "replace")[0], shown, True)


def _by_label(label: str) -> tuple[Decoder, str] | None:
    import webencodings  # only files that name their encoding need the table

    found = webencodings.lookup(label)
    # "replacement" stands for encodings that no reader may honour.
    if found is None or found.name == "replacement":
        return None
    return found.codec_info.decode, found.name

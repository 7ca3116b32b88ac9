"""A text file as bytes and as text, there and back without a loss."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from remit.base.errors import ErrorCode, Failure
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import scrub, shorten
from remit.workspace.decode import BOMS, FALLBACK

DECLARED_BYTES = 1024
"""Where a file has to name its own encoding."""

_DECLARED = (
    re.compile(rb"\A<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z][\w.-]*)[\"']"),
    re.compile(rb"\A@charset\s+\"([\w.-]+)\""),
    # An editor's or an interpreter's remark, in one of the first two lines.
    re.compile(rb"\A(?:[^\n]*\n)?[ \t\f]*(?:#|//|/\*|<!--|;|%|\")[^\n]*?coding\s*[:=]\s*([\w.-]+)"),
    re.compile(rb"\A\s*<[^\0]*?<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE),
)
_STRAYS = lazy_pattern("[\udc80-\udcff]")
_ESCAPE = "surrogateescape"
_TELL_NOTHING = bytes(range(0x80)) + b"\x81\x8d\x8f\x90\x9d\xfe\xff"
"""ASCII, and bytes that are no character of windows-1252, or next to none's: they come of damage, in any encoding."""


class Coding(NamedTuple):
    """How a file's text is stored. encoding: as people name it. codec: Python's name. mark: the byte
    order mark, or b"". errors: how bytes that are no text are carried along."""

    encoding: str
    codec: str
    mark: bytes = b""
    errors: str = "strict"


UTF_8 = Coding("utf-8", "utf-8", errors=_ESCAPE)


class Coded(NamedTuple):
    """A file's text, its mark left out. strays: how much of it is no text in the encoding. exact: whether
    those are carried along, as lone surrogates, so that encoding the text gives back the very bytes; else
    they are U+FFFD."""

    text: str
    coding: Coding
    strays: int = 0
    exact: bool = True


def read_coded(data: bytes) -> Coded:
    """The text by its byte order mark, else by the encoding it declares, else as UTF-8, also with bytes that are none,
    unless these are more than its characters beyond ASCII and look like letters: then as windows-1252."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], mark, encoding)
    declared = _declared(data)
    if declared is not None:
        return declared
    try:
        return Coded(data.decode(), UTF_8)
    except UnicodeDecodeError:
        text = data.decode("utf-8", _ESCAPE)
    strays = _strays(text)
    if strays <= _beyond_ascii(text) - strays or not data.translate(None, _TELL_NOTHING):
        return Coded(text, UTF_8, strays)
    coding = Coding(FALLBACK, "cp1252", errors=_ESCAPE)
    text = data.decode(coding.codec, coding.errors)
    return Coded(text, coding, _strays(text))


def write_coded(text: str, coding: Coding, name: str) -> bytes:
    """The bytes of a file with this text. Raises Failure(invalid_encoding) naming the first character
    that the encoding does not have."""
    try:
        return coding.mark + text.encode(coding.codec, coding.errors)
    except UnicodeEncodeError as problem:
        char = text[problem.start]
        line = text.count("\n", 0, problem.start) + 1
        raise Failure(
            ErrorCode.INVALID_ENCODING,
            f"{shorten(name)} is stored as {coding.encoding}, which has no {char!r} (U+{ord(char):04X}, line {line}); "
            "nothing was written. Write only characters it has",
        ) from None


def refuse_surrogates(text: str, what: str) -> None:
    """Raises Failure(invalid_encoding) for a text that is none: it would be stored as stray bytes."""
    if scrub(text) is not text:
        raise Failure(ErrorCode.INVALID_ENCODING, f"{what} holds a lone surrogate, which no file can store as text")


def _marked(body: bytes, mark: bytes, encoding: str) -> Coded:
    if encoding == "utf-8":
        text = body.decode(encoding, _ESCAPE)
        return Coded(text, UTF_8._replace(mark=mark), _strays(text))
    coding = Coding(encoding, encoding, mark)
    found = _exactly(body, coding)
    if found is not None:
        return found
    text = body.decode(encoding, "replace")
    return Coded(text, coding, text.count("\ufffd"), exact=False)


def _declared(data: bytes) -> Coded | None:
    """The text by the encoding named in it, if that is what it is stored in."""
    start = data[:DECLARED_BYTES]
    found = next((match for pattern in _DECLARED if (match := pattern.search(start))), None)
    if found is None:
        return None
    import webencodings  # only files that name their encoding need the table

    known = webencodings.lookup(found[1].decode("ascii", "replace"))
    if known is None or known.name in ("utf-8", "replacement", "x-user-defined", "utf-16le", "utf-16be"):
        return None
    if not data.isascii() and _is_utf_8(data):
        # Text of another encoding is next to never UTF-8 by chance: the declaration is wrong.
        return None
    return _exactly(data, Coding(known.name, known.codec_info.name))


def _exactly(body: bytes, coding: Coding) -> Coded | None:
    try:
        text = body.decode(coding.codec)
        return Coded(text, coding) if text.encode(coding.codec) == body else None
    except UnicodeError:
        return None


def _is_utf_8(data: bytes) -> bool:
    try:
        codecs.utf_8_decode(data, "strict", True)
    except UnicodeDecodeError:
        return False
    return True


def _strays(text: str) -> int:
    return len(_STRAYS.findall(text))


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))

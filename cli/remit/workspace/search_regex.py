"""Regular expressions of a search: one dialect, checked once, and written as each engine has it.

The dialect is what both engines take and read alike. Matching is by line, in linear time; `\\w`, `\\d`,
`\\s`, `.` and `(?i)` know Unicode.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from remit.base.errors import ErrorCode, Failure
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten

MAX_PATTERN = 1000
"""UTF-16 units."""

MAX_REPEAT = 1000

_SPACE = "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
_WORD = (
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}"
    "\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
)
_NOT_SPACE = (
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
)
_CLASSES = {"d": "\\p{Nd}", "s": _SPACE, "w": _WORD}
_NEGATED = {"D": "d", "S": "s", "W": "w"}

_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_FLAGS = lazy_pattern(r"\(\?(?P<on>[imsU]*)(?:-(?P<off>[isU]+))?(?P<end>[:)])")
_NAMED = lazy_pattern(r"\(\?P?<(?P<name>[A-Za-z_][A-Za-z0-9_]*)>")
_REPEAT = lazy_pattern(r"\{(\d+)(?:(,)(\d*))?\}")
_HEX = lazy_pattern(r"[xuU]\{([0-9A-Fa-f]{1,8})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})")
_PROPERTY = lazy_pattern(r"[pP](?:\{\^?[A-Za-z_0-9]+\}|[A-Za-z])")
_POSIX = lazy_pattern(
    r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
)
_CONTROLS = {"a": "\a", "f": "\f", "r": "\r", "t": "\t", "v": "\v"}


class LinePattern(NamedTuple):
    """A checked pattern. ripgrep, re2: as the two engines take it. word_boundary: whether it holds `\\b`,
    of which re2 knows the ASCII kind only."""

    text: str
    ripgrep: str
    re2: str
    word_boundary: bool


class _Piece(NamedTuple):
    """One token. re2: "" where it is the same."""

    ripgrep: str
    end: int
    re2: str = ""
    kind: str = "atom"


def read_pattern(text: str) -> LinePattern:
    """Raises Failure(invalid_arguments) for what is not of the dialect. What is left to the engine, such as
    brackets that do not close, it refuses in its own words."""
    if not text:
        raise _refused(text, 0, "is empty")
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > MAX_PATTERN:
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS, f"the pattern is longer than {MAX_PATTERN} characters; search for a part"
        )
    pieces: list[_Piece] = []
    at = 0
    while at < len(text):
        piece = _piece(text, at)
        if piece.kind == "repeat" and pieces and pieces[-1].kind == "repeat":
            raise _refused(text, at, "repeats a repetition, which engines read differently; use a group")
        pieces.append(piece)
        at = piece.end
    ripgrep = "".join(piece.ripgrep for piece in pieces)
    other = "".join(piece.re2 or piece.ripgrep for piece in pieces)
    return LinePattern(text, ripgrep, other, any(piece.kind == "boundary" for piece in pieces))


def _piece(text: str, at: int) -> _Piece:
    char = text[at]
    if char == "\\":
        return _escape(text, at)
    if char == "[":
        return _bracket(text, at)
    if char == "(":
        return _group(text, at)
    if char == "{":
        return _brace(text, at)
    if char in "*+?":
        lazy = text[at + 1 : at + 2] == "?"
        return _Piece(text[at : at + 1 + lazy], at + 1 + lazy, kind="repeat")
    if char == "$":
        # The line end of a CR LF file is a line end.
        return _Piece(r"(?:\r?$)", at + 1)
    if char in ")|^.":
        return _Piece(char, at + 1)
    return _Piece(_literal(text, at, char), at + 1)


def _literal(text: str, at: int, char: str) -> str:
    if char == "\n":
        raise _refused(text, at, "holds a line break; a match lies within one line")
    if 0xD800 <= ord(char) <= 0xDFFF:
        raise _refused(text, at, "holds a lone surrogate")
    return _escaped(char)


def _escaped(char: str) -> str:
    if char.isascii() and not char.isalnum() and char != "_":
        return f"\\x{{{ord(char):x}}}" if not char.isprintable() or char == " " else f"\\{char}"
    return char


# -- escapes -----------------------------------------------------------------------------------


def _escape(text: str, at: int) -> _Piece:
    char = text[at + 1 : at + 2]
    if not char:
        raise _refused(text, at, "ends with a backslash")
    if char in _CLASSES:
        return _Piece(f"\\{char}", at + 2, f"[{_CLASSES[char]}]")
    if char in _NEGATED:
        return _Piece(f"\\{char}", at + 2, f"[^{_CLASSES[_NEGATED[char]]}]")
    if char in "bB":
        if text[at + 2 : at + 3] == "{":
            raise _refused(text, at, r"holds \b{...}, which is not supported; write \b")
        return _Piece(f"\\{char}", at + 2, kind="boundary")
    if char in "<>":
        return _Piece(r"\b", at + 2, kind="boundary")
    if found := _PROPERTY.match(text, at + 1):
        return _Piece(text[at : found.end()], found.end())
    single, end = _single(text, at)
    return _Piece(_literal(text, at, single), end)


def _single(text: str, at: int) -> tuple[str, int]:
    """The one character that an escape stands for, and where it ends."""
    char = text[at + 1 : at + 2]
    if found := _HEX.match(text, at + 1):
        code = int(next(group for group in found.groups() if group), 16)
        if code > 0x10FFFF:
            raise _refused(text, at, "names a character that does not exist")
        return chr(code), found.end()
    if char in _CONTROLS:
        return _CONTROLS[char], at + 2
    if char == "n":
        return "\n", at + 2
    if char.isdigit() or char in "kg":
        raise _refused(text, at, "holds a backreference, which a linear-time engine does not have")
    if char and char.isascii() and not char.isalnum():
        return char, at + 2
    if char in "AzZ":
        raise _refused(text, at, f"holds \\{char}; a match lies within one line, whose ends are ^ and $")
    raise _refused(text, at, f"holds the unknown escape \\{char}")


# -- groups and repetitions --------------------------------------------------------------------


def _group(text: str, at: int) -> _Piece:
    if not text.startswith("(?", at):
        return _Piece("(", at + 1, kind="open")
    if text.startswith(_LOOK_AROUND, at):
        raise _refused(text, at, "holds a look-around, which a linear-time engine does not have")
    if text.startswith(("(?P=", "(?P>", "(?&", "(?R", "(?("), at):
        raise _refused(text, at, "holds a backreference, which a linear-time engine does not have")
    if found := _NAMED.match(text, at):
        return _Piece(f"(?P<{found['name']}>", found.end(), kind="open")
    found = _FLAGS.match(text, at)
    if found is None or (found["end"] == ")" and not (found["on"] or found["off"])):
        raise _refused(text, at, "holds a group that is not supported; there are (?:...), (?P<name>...) and (?i)")
    return _Piece(found[0], found.end(), kind="open")


def _brace(text: str, at: int) -> _Piece:
    if found := _REPEAT.match(text, at):
        if any(int(bound) > MAX_REPEAT for bound in (found[1], found[3]) if bound):
            raise _refused(text, at, f"repeats more than {MAX_REPEAT} times")
        lazy = text[found.end() : found.end() + 1] == "?"
        return _Piece(found[0] + "?" * lazy, found.end() + lazy, kind="repeat")
    if re.match(r"\{,\d+\}", text[at:]):
        raise _refused(text, at, "holds {,n}, which engines read differently; write {0,n}")
    return _Piece(r"\{", at + 1)


# -- classes -----------------------------------------------------------------------------------


def _bracket(text: str, at: int) -> _Piece:
    start = at
    at += 1
    negated = text[at : at + 1] == "^"
    at += negated
    ours, theirs = [], []
    first = True
    while at < len(text) and (first or text[at] != "]"):
        first = False
        piece = _member(text, at)
        dash = text[piece.end : piece.end + 1] == "-"
        if piece.kind == "char" and dash and text[piece.end + 1 : piece.end + 2] not in ("", "]"):
            high = _member(text, piece.end + 1)
            if high.kind != "char":
                raise _refused(text, piece.end, "holds a range that ends in a class of characters")
            ranged = f"{piece.ripgrep}-{high.ripgrep}"
            piece = _Piece(ranged, high.end)
        ours.append(piece.ripgrep)
        theirs.append(piece.re2 or piece.ripgrep)
        at = piece.end
    if at >= len(text):
        raise _refused(text, start, "has a [ that is not closed; write \\[ for the character itself")
    opening = "[^" if negated else "["
    return _Piece(f"{opening}{''.join(ours)}]", at + 1, f"{opening}{''.join(theirs)}]")


def _member(text: str, at: int) -> _Piece:
    """One character or class within brackets."""
    if found := _POSIX.match(text, at):
        return _Piece(found[0], found.end())
    if text[at] != "\\":
        return _Piece(_in_class(text[at]), at + 1, kind="char")
    char = text[at + 1 : at + 2]
    if char in _CLASSES:
        return _Piece(f"\\{char}", at + 2, _CLASSES[char])
    if char == "D":
        return _Piece("\\D", at + 2, "\\P{Nd}")
    if char == "S":
        return _Piece("\\S", at + 2, _NOT_SPACE)
    if char == "W":
        return _Piece("\\W", at + 2, _not_word())
    if found := _PROPERTY.match(text, at + 1):
        return _Piece(text[at : found.end()], found.end())
    single, end = _single(text, at)
    return _Piece(_in_class(single), end, kind="char")


def _in_class(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{{{ord(char):x}}}"


@cache
def _not_word() -> str:
    """All that is no `\\w`, as ranges: within brackets re2 has no other way to say it."""
    import unicodedata

    extra = ((0x200C, 0x200D), (0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))

    def is_word(code: int) -> bool:
        category = unicodedata.category(chr(code))
        return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or any(a <= code <= b for a, b in extra)

    ranges: list[str] = []
    start = -1
    for code in range(0x110001):
        outside = code < 0x110000 and not is_word(code)
        if outside and start < 0:
            start = code
        elif not outside and start >= 0:
            ranges.append(f"\\x{{{start:x}}}-\\x{{{code - 1:x}}}")
            start = -1
    return "".join(ranges)


def _refused(text: str, at: int, why: str) -> Failure:
    return Failure(ErrorCode.INVALID_ARGUMENTS, f"the pattern {shorten(text)} {why} (at character {at + 1})")

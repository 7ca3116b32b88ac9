"""Where a text that was not found almost is, and the first character that differs. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from remit.base.text import scrub, shorten
from remit.workspace.difference import common_end, common_start

MAX_LINES = 200_000
"""Lines of a text that are looked at."""

_NAMES = {"\t": "tab", "\r": "carriage return", "\n": "line end", "\v": "vertical tab", "\f": "form feed", "\0": "NUL"}
_LIKE = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2012\u2013\u2014\u2212", "''\"\"------")


def nearest(text: str, wanted: str, *, first_line: int = 1, asked: str = "oldString") -> str:
    """What to tell about `wanted`, which is no part of `text`; lines end in LF in both. first_line: the
    number of the text's first line. asked: what the wanted text is called."""
    lines, parts = text.split("\n")[:MAX_LINES], wanted.split("\n")
    found = _place(lines, parts)
    if found is None:
        return "No line of the file is like it: read the file again, and copy the text from there"
    return _told(lines, parts, found, first_line, asked)


def _place(lines: Sequence[str], asked: Sequence[str]) -> int | None:
    """The line of the text at which the wanted lines would begin."""
    key = max(range(len(asked)), key=lambda index: len(asked[index].strip()))
    folded = _folded(asked[key])
    if not folded:
        return None
    best, score = None, max(3, len(folded) // 3)
    for number, line in enumerate(lines):
        if len(asked) == 1 and folded in _folded(line):
            return number
        alike = _alike(_folded(line), folded)
        if alike > score:
            best, score = number, alike
    return None if best is None else best - key


def _folded(line: str) -> str:
    """A line without what the eye does not tell apart."""
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line).translate(_LIKE)
    return " ".join(line.casefold().split())


def _alike(one: str, other: str) -> int:
    """Characters in common at the start and the end of two lines."""
    if one == other:
        return len(one) + 1
    start = common_start(one, other)
    return start + common_end(one, other, min(len(one), len(other)) - start)


def _told(lines: Sequence[str], wanted: Sequence[str], first: int, first_line: int, asked: str) -> str:
    for index, want in enumerate(wanted):
        at = first + index
        if not 0 <= at < len(lines):
            edge = "begins" if at < 0 else "ends"
            return f"The nearest text is at line {first_line + max(0, first)}, but the file {edge} within it"
        column = _first_difference(lines[at], want, starts=index == 0, ends=index == len(wanted) - 1)
        if column is not None:
            return _difference(lines[at], want, first_line + at, column, asked)
    return f"The nearest text is at line {first_line + first}: read the lines around it again"


def _first_difference(have: str, want: str, *, starts: bool, ends: bool) -> tuple[int, int] | None:
    """Where two lines part: as an index in each. The first wanted line may begin, and the last one end,
    within a line."""
    offset = _offset(have, want) if starts else 0
    common = common_start(have[offset:], want)
    if common == len(want) and (ends or common == len(have) - offset):
        return None
    return offset + common, common


def _offset(have: str, want: str) -> int:
    """Where in a line the wanted part of it begins, as far as can be told."""
    if have.startswith(want[:1]) and common_start(have, want) > 3:
        return 0
    for size in range(len(want), 0, -max(1, len(want) // 16)):
        at = have.find(want[:size])
        if at >= 0:
            return at
    return 0


def _difference(have: str, want: str, line: int, column: tuple[int, int], asked: str) -> str:
    here, there = column
    file = _character(have[here]) if here < len(have) else "the end of the line"
    other = _character(want[there]) if there < len(want) else "the end of the line"
    return (
        f"The nearest text is at line {line}; the first difference is at its character {here + 1}: the file has "
        f"{file}, {asked} has {other}. The file: {_around(have, here)}, {asked}: {_around(want, there)}"
    )


def _character(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"the byte 0x{ord(char) - 0xDC00:02X}, which is no text"
    code = f"U+{ord(char):04X}"
    name = _NAMES.get(char) or unicodedata.name(char, "").lower()
    shown = f" {char!r}" if char.isprintable() and not char.isspace() else ""
    return f"{code}{shown}{f' ({name})' if name else ''}"


def _around(line: str, at: int) -> str:
    """The part of a line around a place, as a literal."""
    start = max(0, at - 24)
    return shorten(scrub(line[start : at + 24]), 64)

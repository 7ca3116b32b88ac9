"""A row of a terminal: one entry of a list per column.

A character two columns wide, and a TAB, stand in their first column and leave the others "". What
has no width stands behind the character it follows, in its column.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

Cells = list[str]

WIDTH = 512
"""Columns of a row that is drawn into; what goes beyond goes on in the next row."""

_TAB_STOP = 8

_MOST_MARKS = 16
"""Characters of one column that is drawn into: a base and what modifies it."""


_NARROW = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0377\u0391-\u03a1\u03a3-\u0482\u2010-\u2027\u2030-\u205e\u20a0-\u20bf"
    "\u2190-\u2319\u2400-\u2426\u2500-\u25fc\u2701-\u2704\u2713-\u2727\u2758-\u2794\u2800-\u28ff]*"
)
"""Letters, arrows, lines, blocks and marks that progress is drawn with, each one column wide."""


def is_narrow(text: str) -> bool:
    """Whether each character is known to take one column, so that columns are places in the text."""
    return (text.isascii() and text.isprintable()) or _NARROW.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def width(char: str) -> int:
    """Columns a character takes: 0, 1 or 2. Not for TAB, whose width is where it stands."""
    if "\x20" <= char <= "\x7e":
        return 1
    if unicodedata.category(char) in {"Mn", "Me", "Cf", "Cc"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def cells_of(row: str) -> Cells:
    """The columns of a row of text."""
    if is_narrow(row):
        return list(row)
    cells: Cells = []
    for char in row:
        columns = _TAB_STOP - len(cells) % _TAB_STOP if char == "\t" else width(char)
        if columns or not cells:
            cells += [char, *[""] * (columns - 1)]
        else:
            cells[_base(cells, len(cells) - 1)] += char
    return cells


def put(cells: Cells, column: int, line: str, *, to_end: bool) -> tuple[int, int]:
    """Draws a line without its end over the cells; returns the column after it and the characters used.

    to_end: stop where the row ends. Else the row grows, up to WIDTH columns or what it has.
    """
    if is_narrow(line):
        return _put_narrow(cells, column, line, to_end)
    for used, char in enumerate(line):
        if to_end and column == len(cells):
            return column, used
        if char == "\t":
            column = min(column + _TAB_STOP - column % _TAB_STOP, max(WIDTH, len(cells)))
        elif columns := width(char):
            _pad(cells, column)
            if _room(cells, column, to_end) < (1 if to_end else columns):
                return column, used
            _replace(cells, column, [char, ""][:columns])
            column += columns
        else:
            _mark(cells, column, char)
    return column, len(line)


def _put_narrow(cells: Cells, column: int, line: str, to_end: bool) -> tuple[int, int]:
    """As put, of characters that are all one column wide."""
    if not line:
        return column, 0
    _pad(cells, column)
    part = line[: _room(cells, column, to_end)]
    _replace(cells, column, list(part))
    return column + len(part), len(part)


def _room(cells: Cells, column: int, to_end: bool) -> int:
    """Columns that can be drawn into from here on."""
    return max(0, (len(cells) if to_end else max(len(cells), WIDTH)) - column)


def _replace(cells: Cells, column: int, new: Cells) -> None:
    _part_at(cells, column)
    _part_at(cells, column + len(new))
    cells[column : column + len(new)] = new


def cut_from(cells: Cells, column: int) -> None:
    """Erases from a column to the end of the row."""
    _part_at(cells, column)
    del cells[column:]


def blank_between(cells: Cells, start: int, end: int) -> None:
    """Makes the columns from start up to end blank."""
    _part_at(cells, start)
    _part_at(cells, end)
    cells[start:end] = " " * (end - start)


def _base(cells: Cells, column: int) -> int:
    """The column of the character that reaches into this one."""
    while column > 0 and not cells[column]:
        column -= 1
    return column


def _part_at(cells: Cells, column: int) -> None:
    """Makes blanks of a character that an edge at this column goes through."""
    if not 0 < column < len(cells) or cells[column]:
        return
    start, end = _base(cells, column), column
    while end < len(cells) and not cells[end]:
        end += 1
    cells[start:end] = " " * (end - start)


def _pad(cells: Cells, column: int) -> None:
    """Makes the row reach a column that the cursor was moved to."""
    cells.extend(" " * (column - len(cells)))


def _mark(cells: Cells, column: int, char: str) -> None:
    """Puts a character of no width behind the one before the cursor."""
    if 0 < column <= len(cells):
        base = _base(cells, column - 1)
        if len(cells[base]) < _MOST_MARKS:
            cells[base] += char

"""A delimited table read whole, with exact statistics of every column.

Parsing follows RFC 4180: quoted fields, doubled quotes, delimiters and line breaks inside of quotes,
lines ending in CRLF, LF or CR. The first record is the header.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB
from remit.workspace.table_column import Column, Gathered
from remit.workspace.table_delimiter import CANDIDATES, detect_delimiter
from remit.workspace.table_numbers import SEPARATOR, Numeral, read_numeral

if TYPE_CHECKING:
    from _csv import Reader

MAX_BYTES = 10 * MIB
MAX_ROWS = 200_000
MAX_COLUMNS = 200

_BATCH_CELLS = 4_000
_BATCH_ROWS = (50, 500)
"""Few rows at a time: their cells are still in the processor's cache when they are counted."""

_EXAMPLES = 5


class Ragged(msgspec.Struct):
    """Rows of another width than the header. rows: numbers of the first ones, data rows from 1.
    cells: the first cells without a column."""

    count: int = 0
    rows: list[int] = msgspec.field(default_factory=list)
    cells: list[str] = msgspec.field(default_factory=list)

    def note(self, row: int, cells: list[str]) -> None:
        self.count += 1
        if len(self.rows) < _EXAMPLES:
            self.rows.append(row)
        self.cells.extend(cells[: _EXAMPLES - len(self.cells)])


class Renamed(msgspec.Struct, frozen=True):
    """A header cell that could not name its column. position: from 1."""

    position: int
    written: str
    name: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table read whole. rows: data records, without header and blank lines. numeric_header: every
    header cell is a number, so the file may have no header."""

    delimiter: str
    detected: bool
    rows: int
    columns: tuple[Column, ...]
    blank_lines: int
    short: Ragged
    long: Ragged
    renamed: tuple[Renamed, ...]
    numeric_header: bool
    unsplit: tuple[str, ...]
    """Candidates for the delimiter that occur in the header of a table with one column."""


def read_table(text: str, delimiter: str | None, default: str, check_cancelled: Callable[[], None]) -> Table:
    """Read a table from text without lone surrogates.

    delimiter: None detects it, and takes `default` for a table of one column.
    Raises Failure: binary_content, empty_file, csv_invalid (with the line), too_many_columns, too_many_rows.
    """
    if SEPARATOR in text:
        raise Failure(ErrorCode.BINARY_CONTENT, "the file holds NUL characters, so it is no text table")
    if not text.strip():
        raise Failure(ErrorCode.EMPTY_FILE, "the file is empty: a table has at least a header line")
    found = delimiter or detect_delimiter(text)
    return _Reading(text, found or default, check_cancelled).table(detected=delimiter is None and found is not None)


class _Reading:
    """One pass over the records."""

    def __init__(self, text: str, delimiter: str, check_cancelled: Callable[[], None]) -> None:
        self._data = text.encode()
        self._delimiter = delimiter
        self._check_cancelled = check_cancelled
        self._rows = 0
        self._blank_lines = 0
        self._short = Ragged()
        self._long = Ragged()

    def table(self, *, detected: bool) -> Table:
        records = self._records()
        header = self._header(records)
        gathered = [Gathered() for _ in header]
        while batch := self._batch(records, len(header)):
            for column, cells in zip(gathered, zip(*batch, strict=True), strict=True):
                column.add(cells)
        names, renamed = name_columns(header)
        return Table(
            delimiter=self._delimiter,
            detected=detected,
            rows=self._rows,
            columns=tuple(self._columns(names, gathered)),
            blank_lines=self._blank_lines,
            short=self._short,
            long=self._long,
            renamed=renamed,
            numeric_header=all(isinstance(read_numeral(cell.strip()), Numeral) for cell in header),
            unsplit=tuple(mark for mark in CANDIDATES if mark in header[0]) if len(header) == 1 else (),
        )

    def _records(self) -> Reader:
        """The records with the position of the parser."""
        import csv

        csv.field_size_limit(max(csv.field_size_limit(), MAX_BYTES))
        lines = io.TextIOWrapper(io.BytesIO(self._data), encoding="utf-8", newline="")
        return csv.reader(lines, delimiter=self._delimiter, strict=True)

    def _header(self, records: Reader) -> list[str]:
        header: list[str] = []
        while not header:
            batch = self._next(records, 1)
            if not batch:
                raise Failure(ErrorCode.EMPTY_FILE, "the file has no header line, only line breaks")
            header = batch[0]
            self._blank_lines += not header
        if len(header) > MAX_COLUMNS:
            raise Failure(
                ErrorCode.TOO_MANY_COLUMNS,
                f"the header has {len(header):,} columns (delimiter {self._delimiter!r}); at most {MAX_COLUMNS} are "
                "analysed: use a file with fewer columns, or name another delimiter if this is the wrong one",
            )
        return header

    def _batch(self, records: Reader, width: int) -> list[list[str]]:
        """The next rows, all of the header's width; empty at the end."""
        least, most = _BATCH_ROWS
        size = min(most, max(least, _BATCH_CELLS // width))
        batch: list[list[str]] = []
        # A batch of blank lines alone is not the end.
        while not batch and (found := self._next(records, size)):
            self._check_cancelled()
            batch = found if set(map(len, found)) == {width} else list(self._evened(found, width))
            self._rows += len(batch)
        if self._rows > MAX_ROWS:
            raise Failure(
                ErrorCode.TOO_MANY_ROWS,
                f"the table has more than {MAX_ROWS:,} rows below its header; split the file into smaller ones",
            )
        return batch

    def _evened(self, found: list[list[str]], width: int) -> Iterator[list[str]]:
        """Rows without blank lines, short ones filled with missing values, long ones cut and noted."""
        number = self._rows
        for cells in found:
            if not cells:
                self._blank_lines += 1
                continue
            number += 1
            if len(cells) < width:
                self._short.note(number, [])
            elif len(cells) > width:
                self._long.note(number, cells[width:])
            yield cells[:width] + [""] * (width - len(cells))

    def _next(self, records: Reader, size: int) -> list[list[str]]:
        import csv

        try:
            return list(islice(records, size))
        except csv.Error as problem:
            self._refuse(str(problem))

    def _refuse(self, problem: str) -> NoReturn:
        """Say where the fault is: the records are read again one by one, up to it."""
        import csv

        records = self._records()
        start = 0
        try:
            for _ in records:
                start = records.line_num
        except csv.Error:
            pass
        raise Failure(ErrorCode.CSV_INVALID, _fault(problem, start + 1, records.line_num, self._delimiter))

    def _columns(self, names: list[str], gathered: list[Gathered]) -> Iterator[Column]:
        for name, column in zip(names, gathered, strict=True):
            self._check_cancelled()
            yield column.column(name) if self._rows else _empty(name)


def _empty(name: str) -> Column:
    return Column(name=name, type="empty", values=0, missing=0, distinct=0)


def _fault(problem: str, start: int, line: int, delimiter: str) -> str:
    if "unexpected end" in problem:
        return (
            f"line {start}: the record that starts here has a quoted field that is never closed; "
            'close it with ", and write a quote inside of it as ""'
        )
    if "expected after" in problem:
        return (
            f"line {line}: a closing quote is followed by something other than the delimiter {delimiter!r} or the end "
            'of the line; write a quote inside of a quoted field as "", or name another delimiter'
        )
    return f"line {line}: {problem}"


def name_columns(header: list[str]) -> tuple[list[str], tuple[Renamed, ...]]:
    """A name of its own for every column: an empty header cell becomes `column N`, one that was there
    before gets a number behind it. Positions count from 1."""
    names: list[str] = []
    renamed: list[Renamed] = []
    taken = {cell for cell in header if cell.strip()}
    used: set[str] = set()
    for position, cell in enumerate(header, 1):
        name = cell
        if not cell.strip():
            name = _free(f"column {position}", taken)
        elif cell in used:
            name = _free(cell, taken)
        if name != cell:
            renamed.append(Renamed(position, cell, name))
        taken.add(name)
        used.add(name)
        names.append(name)
    return names, tuple(renamed)


def _free(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} ({number})"
    return name

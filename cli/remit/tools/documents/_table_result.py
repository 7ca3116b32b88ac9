"""What analyze_csv shows of a table, within a number of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from remit.workspace.decode import FALLBACK, Decoded
from remit.workspace.pages import json_bytes, page_end
from remit.workspace.table import Ragged, Table
from remit.workspace.table_column import Column, Example, Mixture

_FIT_BYTES = 45_000


class _Cut(NamedTuple):
    """How much of a table's texts is shown. Sizes are bytes of JSON."""

    values: int
    value_bytes: int
    name_bytes: int
    examples: int
    example_bytes: int


_CUTS = (
    _Cut(10, 240, 240, 3, 80),
    _Cut(5, 160, 160, 3, 60),
    _Cut(5, 80, 120, 3, 60),
    _Cut(3, 60, 80, 2, 40),
    _Cut(3, 40, 60, 2, 40),
    _Cut(2, 32, 48, 1, 32),
    _Cut(1, 24, 40, 1, 24),
    _Cut(1, 16, 32, 1, 16),
)
"""The first that fits is taken. Numbers, counts and warnings are never cut: with the last one, 200
columns of the longest numbers stay within the tool's bound."""


def fitted(path: str, decoded: Decoded, table: Table) -> dict[str, Any]:
    """The result with the least cut that fits."""
    data: dict[str, Any] = {}
    for cut in _CUTS:
        data = _result(path, decoded, table, cut)
        if json_bytes(data) <= _FIT_BYTES:
            break
    return data


def _result(path: str, decoded: Decoded, table: Table, cut: _Cut) -> dict[str, Any]:
    return {
        "path": path,
        "encoding": decoded.encoding,
        "delimiter": table.delimiter,
        "rows": table.rows,
        "columnCount": len(table.columns),
        "columns": [_column(position, column, cut) for position, column in enumerate(table.columns, 1)],
        "warnings": [*_file_warnings(decoded, table), *_column_warnings(table, cut), *_cut_warning(table, cut)],
    }


def _column(position: int, column: Column, cut: _Cut) -> dict[str, Any]:
    name, clipped = _clip(column.name, cut.name_bytes)
    shown: dict[str, Any] = {"name": name}
    if clipped:
        # Cut names may look alike.
        shown |= {"nameClipped": True, "position": position}
    shown |= {
        "type": column.type,
        "values": column.values,
        "missing": column.missing,
        "distinct": column.distinct,
    }
    return shown | _statistics(column, cut)


def _statistics(column: Column, cut: _Cut) -> dict[str, Any]:
    match column.type:
        case "numeric":
            numbers = column.numbers
            keys = ("min", "max", "sum", "mean", "median", "q1", "q3", "std")
            return {key: getattr(numbers, key) for key in keys}
        case "boolean":
            return {"counts": {"true": column.true, "false": column.false}}
        case "date":
            return {"first": column.first, "last": column.last}
        case "text":
            return {
                "mostFrequent": [_frequent(value, count, cut) for value, count in column.most_frequent[: cut.values]]
            }
    return {}


def _frequent(value: str, count: int, cut: _Cut) -> dict[str, Any]:
    text, clipped = _clip(value, cut.value_bytes)
    shown: dict[str, Any] = {"value": text, "count": count}
    if clipped:
        shown["clipped"] = True
    return shown


def _clip(text: str, room: int) -> tuple[str, bool]:
    """The text, or as much of its start as takes `room` bytes of JSON with an ellipsis; whether it was cut."""
    if len(text) <= room and json_bytes(text) - 2 <= room:
        return text, False
    return text[: page_end(text, 0, room, room - 3)] + "\u2026", True


def _quoted(text: str, room: int) -> str:
    return f"'{_clip(text, room)[0]}'"


def _file_warnings(decoded: Decoded, table: Table) -> Iterator[str]:
    if decoded.encoding == FALLBACK:
        yield f"the file is not valid UTF-8 and was read as {FALLBACK}"
    if decoded.replaced:
        yield f"some bytes are no text in {decoded.encoding} and were read as U+FFFD"
    if table.renamed:
        yield _renamed_warning(table)
    if table.numeric_header:
        yield "the first record was taken as the header, but all of its cells are numbers: the file may have no header"
    if table.unsplit:
        marks = " or ".join(map(repr, table.unsplit))
        yield f"the header is one cell that holds {marks}: if that is the delimiter, pass it"
    if table.rows == 0:
        yield "the file has a header and no rows"
    if table.blank_lines:
        yield f"{table.blank_lines:,} blank lines were skipped"
    if table.short.count:
        yield (
            f"{table.short.count:,} rows have fewer cells than the header, which count as missing: {_rows(table.short)}"
        )
    if table.long.count:
        cells = ", ".join(_quoted(cell, 40) for cell in table.long.cells)
        yield (
            f"{table.long.count:,} rows have more cells than the header: {_rows(table.long)}. The cells beyond it "
            f"belong to no column and are in no statistics, such as {cells}"
        )


def _rows(ragged: Ragged) -> str:
    numbers = ", ".join(f"{row:,}" for row in ragged.rows)
    more = ", ..." if ragged.count > len(ragged.rows) else ""
    return f"data row {numbers}{more} (counted from 1 below the header)"


def _renamed_warning(table: Table) -> str:
    shown = [
        f"{renamed.position} " + (f"repeats {_quoted(renamed.written, 40)}" if renamed.written.strip() else "is empty")
        for renamed in table.renamed[:5]
    ]
    more = f" and {len(table.renamed) - 5} more" if len(table.renamed) > 5 else ""
    return f"header cells that name no column of their own were given a name: cell {', cell '.join(shown)}{more}"


def _column_warnings(table: Table, cut: _Cut) -> Iterator[str]:
    for position, column in enumerate(table.columns, 1):
        shown, clipped = _clip(column.name, cut.name_bytes)
        name = f"{position} '{shown}'" if clipped else f"'{shown}'"
        if column.mixture is not None:
            yield f"column {name} is text: {_mixture(column.mixture, cut)}"
        if column.numbers is not None and column.numbers.out_of_range:
            yield f"column {name}: {', '.join(column.numbers.out_of_range)} lies outside the range of a double"


def _mixture(mixture: Mixture, cut: _Cut) -> str:
    examples = ", ".join(_example(example, cut) for example in mixture.examples[: cut.examples])
    fitting, others = mixture.fitting, mixture.values - mixture.fitting
    return f"{fitting:,} of its {mixture.values:,} values are {mixture.looks}, {others:,} are not, such as {examples}"


def _example(example: Example, cut: _Cut) -> str:
    notes = [f"{example.count:,} times"] if example.count > 1 else []
    notes += [example.reason] if example.reason else []
    return _quoted(example.value, cut.example_bytes) + (f" ({', '.join(notes)})" if notes else "")


def _cut_warning(table: Table, cut: _Cut) -> Iterator[str]:
    if cut != _CUTS[0]:
        yield (
            f"to fit {len(table.columns)} columns, text columns show at most {cut.values} of their most frequent "
            f"values, cut to {cut.value_bytes} bytes"
        )

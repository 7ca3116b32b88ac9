"""One column of a table: its cells gathered while the table is read, then what they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from datetime import datetime
from heapq import nlargest, nsmallest
from itertools import chain
from typing import Literal

import msgspec

from remit.workspace.table_numbers import (
    SEPARATOR,
    Doubt,
    Numeral,
    Spread,
    Units,
    joined_units,
    plain_units,
    read_numeral,
    spread,
)

TOP_VALUES = 10
TOP_EXAMPLES = 3

ColumnType = Literal["numeric", "boolean", "date", "text", "empty"]

_BLANKS = " \t\r\n\v\f"
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?")
_SHAPE = re.compile(
    r"[ \t\r\n\v\f]*(?:"
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?)"
    r"|(?P<number>[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?)"
    r")[ \t\r\n\v\f]*"
)
"""What may be a number or an ISO 8601 date, with ASCII blanks around it."""


class Example(msgspec.Struct, frozen=True):
    """A value that keeps a column from its type. reason: why, where that is not plain to see."""

    value: str
    count: int
    reason: str = ""


class Mixture(msgspec.Struct, frozen=True):
    """A text column most of whose values look like something else. fitting: values that are it."""

    looks: Literal["numbers", "dates"]
    fitting: int
    values: int
    examples: tuple[Example, ...]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """What a column holds. values: non-missing cells. distinct: different values among them, numbers
    and dates compared by what they mean, text as it is written."""

    name: str
    type: ColumnType
    values: int
    missing: int
    distinct: int
    numbers: Spread | None = None
    true: int = 0
    false: int = 0
    first: str = ""
    last: str = ""
    most_frequent: tuple[tuple[str, int], ...] = ()
    mixture: Mixture | None = None


class Gathered:
    """The cells of one column while the table is read.

    Few different values are counted as they come. Where most are different, counting would cost more
    memory than the cells, so they are kept joined and looked at when the column's turn comes.
    """

    __slots__ = ("_counts", "_packed", "_seen")

    _PROBE = 4_000

    def __init__(self) -> None:
        self._counts: Counter[str] | None = Counter()
        self._packed: list[str] = []
        self._seen = 0

    def add(self, cells: Sequence[str]) -> None:
        """Some cells, in any order; never an empty sequence."""
        if self._counts is None:
            self._packed.append(SEPARATOR.join(cells))
            return
        self._counts.update(cells)
        before, self._seen = self._seen, self._seen + len(cells)
        if before < self._PROBE <= self._seen and len(self._counts) * 2 > self._seen:
            self._packed.append(SEPARATOR.join(self._counts.elements()))
            self._counts = None

    def column(self, name: str) -> Column:
        """What they are. The cells are given up."""
        if self._counts is None:
            joined = SEPARATOR.join(self._packed)
            self._packed.clear()
            units = plain_units(joined)
            if units is not None:
                return _numeric(name, 0, units, None)
            self._counts = Counter(joined.split(SEPARATOR))
        counts, self._counts = self._counts, Counter()
        return describe(name, counts)


def describe(name: str, counts: Counter[str]) -> Column:
    """What a column of these cells is; `counts` is used up. A blank cell is a missing value."""
    blanks = [cell for cell in counts if not cell or cell.isspace()]
    missing = sum(counts.pop(cell) for cell in blanks)
    if not counts:
        return Column(name=name, type="empty", values=0, missing=missing, distinct=0)
    units = plain_units(SEPARATOR.join(counts))
    if units is not None:
        return _numeric(name, missing, units, list(counts.values()))
    return _boolean(name, missing, counts) or _other(name, missing, counts)


def _numeric(name: str, missing: int, units: Units, weights: list[int] | None) -> Column:
    numbers = spread(units, weights)
    values = len(units.units) if weights is None else sum(weights)
    return Column(name=name, type="numeric", values=values, missing=missing, distinct=numbers.distinct, numbers=numbers)


def _boolean(name: str, missing: int, counts: Counter[str]) -> Column | None:
    totals = {True: 0, False: 0}
    for cell, count in counts.items():
        meant = _BOOLEANS.get(cell.strip(_BLANKS).lower())
        if meant is None:
            return None
        totals[meant] += count
    true, false = totals[True], totals[False]
    distinct = (true > 0) + (false > 0)
    values = true + false
    return Column(name=name, type="boolean", values=values, missing=missing, distinct=distinct, true=true, false=false)


class _Reading(msgspec.Struct):
    """The cells of a column that are, or nearly are, numbers or dates. plain: numbers that
    `plain_units` takes as they are; doubts and no_dates: why a cell is none."""

    plain: list[str]
    numerals: dict[str, Numeral]
    doubts: dict[str, str]
    moments: dict[str, datetime]
    no_dates: dict[str, str]


def _read(counts: Counter[str]) -> _Reading:
    reading = _Reading([], {}, {}, {}, {})
    for cell in counts:
        # Numbers and dates start with a blank, a sign, a point or a digit, which all sort before ":".
        if cell < ":":
            if _PLAIN.fullmatch(cell):
                reading.plain.append(cell)
            elif match := _SHAPE.fullmatch(cell):
                _sort_in(reading, cell, match)
    return reading


def _sort_in(reading: _Reading, cell: str, match: re.Match[str]) -> None:
    if match["date"]:
        try:
            reading.moments[cell] = datetime.fromisoformat(match["date"])
        except ValueError:
            reading.no_dates[cell] = "not in the calendar"
        return
    number = read_numeral(match["number"])
    if isinstance(number, Doubt):
        reading.doubts[cell] = number.value
    elif number is not None:
        reading.numerals[cell] = number


def _other(name: str, missing: int, counts: Counter[str]) -> Column:
    """A numeric column with other than plain spellings, a date column, or text."""
    reading = _read(counts)
    if len(reading.plain) + len(reading.numerals) == len(counts):
        units = joined_units(SEPARATOR.join(reading.plain), list(reading.numerals.values()))
        return _numeric(name, missing, units, list(map(counts.__getitem__, chain(reading.plain, reading.numerals))))
    if len(reading.moments) == len(counts) and len(set(map(_zoned, reading.moments.values()))) == 1:
        return _dated(name, missing, counts, reading.moments)
    return Column(
        name=name,
        type="text",
        values=counts.total(),
        missing=missing,
        distinct=len(counts),
        most_frequent=tuple(_top(counts, TOP_VALUES)),
        mixture=_numbers_mixed(counts, reading) or _dates_mixed(counts, reading),
    )


def _zoned(moment: datetime) -> bool:
    return moment.tzinfo is not None


def _dated(name: str, missing: int, counts: Counter[str], moments: dict[str, datetime]) -> Column:
    return Column(
        name=name,
        type="date",
        values=counts.total(),
        missing=missing,
        distinct=len(set(moments.values())),
        first=min(moments, key=moments.__getitem__).strip(_BLANKS),
        last=max(moments, key=moments.__getitem__).strip(_BLANKS),
    )


def _top(counts: Counter[str], most: int) -> list[tuple[str, int]]:
    """The most frequent cells, the most frequent first, equal counts in the order of their text."""
    if len(counts) == counts.total():
        return [(cell, 1) for cell in nsmallest(most, counts)]
    least = nlargest(most, counts.values())[-1]
    above = [(cell, count) for cell, count in counts.items() if count > least]
    above.sort(key=lambda item: (-item[1], item[0]))
    tied = nsmallest(most - len(above), (cell for cell, count in counts.items() if count == least))
    return above + [(cell, least) for cell in tied]


def _numbers_mixed(counts: Counter[str], reading: _Reading) -> Mixture | None:
    return _mixture("numbers", counts, {*reading.plain, *reading.numerals}, reading.doubts)


def _dates_mixed(counts: Counter[str], reading: _Reading) -> Mixture | None:
    reasons = dict(reading.no_dates)
    zoned = {cell for cell, moment in reading.moments.items() if _zoned(moment)}
    local = reading.moments.keys() - zoned
    if zoned and local:
        few, reason = (zoned, "with a time zone") if len(zoned) <= len(local) else (local, "without a time zone")
        reasons |= dict.fromkeys(few, f"{reason}, unlike others")
    return _mixture("dates", counts, reading.moments.keys() - reasons.keys(), reasons)


def _mixture(
    looks: Literal["numbers", "dates"], counts: Counter[str], fitting: Set[str], reasons: dict[str, str]
) -> Mixture | None:
    """The mixture, when more than half of the values are, or nearly are, what the column looks like."""
    fits = sum(counts[cell] for cell in fitting)
    nearly = sum(counts[cell] for cell in reasons)
    if (fits + nearly) * 2 <= counts.total():
        return None
    others = Counter({cell: count for cell, count in counts.items() if cell not in fitting})
    examples = (Example(cell, count, reasons.get(cell, "")) for cell, count in _top(others, TOP_EXAMPLES))
    return Mixture(looks, fits, counts.total(), tuple(examples))

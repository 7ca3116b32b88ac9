"""Exact arithmetic on numbers as a table spells them.

Every value is held as an integer count of one decimal unit (`units[i] / 10**scale`), so sums and
squares lose nothing; each statistic is rounded once, to the nearest double, when it is shown.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate
from operator import mul
from typing import NamedTuple

import msgspec

SEPARATOR = "\0"
"""Joins the cells of a column. Tables with this character in them are refused before they get here."""

MAX_NUMERAL = 1_000
"""Longest spelling read as a number, in characters."""

EXACT_BELOW = 10**40
"""Integers from here on are shown as the nearest double, to bound the size of a result."""

Number = int | float


class Units(msgspec.Struct, frozen=True):
    """Numbers as counts of 10**-scale. whole: each one is spelled without point and exponent."""

    units: list[int]
    scale: int
    whole: bool


class Numeral(NamedTuple):
    """The number mantissa * 10**exponent. whole: spelled without point and exponent."""

    mantissa: int
    exponent: int
    whole: bool


class Spread(msgspec.Struct, frozen=True):
    """The statistics of a numeric column. std: the sample standard deviation (n - 1), None for one
    value. None in any other place: the result lies outside the range of a double."""

    distinct: int
    min: Number | None
    max: Number | None
    sum: Number | None
    mean: Number | None
    median: Number | None
    q1: Number | None
    q3: Number | None
    std: float | None
    out_of_range: tuple[str, ...] = ()


class Doubt(StrEnum):
    """Why a value that looks like a number is not read as one."""

    LEADING_ZERO = "leading zero"
    COMMA = "decimal comma or thousands separator"
    OUT_OF_RANGE = "outside the range of a double"
    TOO_LONG = "longer than 1,000 characters"


_NUMERAL = re.compile(r"([+-]?)(0|[1-9][0-9]*|(?=\.[0-9]))(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_DOUBTS = (
    (re.compile(r"[+-]?0[0-9]+(?:\.[0-9]*)?"), Doubt.LEADING_ZERO),
    (
        re.compile(
            r"[+-]?(?:[0-9]+,[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?|[0-9]{1,3}(?:,[0-9]{3})+)"
        ),
        Doubt.COMMA,
    ),
)


def read_numeral(text: str) -> Numeral | Doubt | None:
    """The number, or why it is none; None when it does not look like one.

    A number is ASCII: an optional sign, digits without leading zeros, optionally a point and an
    exponent. A spelling that a double would turn into infinity, or into a false zero, is out of range.
    """
    match = _NUMERAL.fullmatch(text)
    if match is None:
        return next((doubt for shape, doubt in _DOUBTS if shape.fullmatch(text)), None)
    if len(text) > MAX_NUMERAL:
        return Doubt.TOO_LONG
    sign, whole, fraction, exponent = match.groups()
    mantissa = int(sign + whole + (fraction or "") or "0")
    spelled_whole = fraction is None and exponent is None
    if mantissa == 0:
        return Numeral(0, 0, spelled_whole)
    nearest = float(text)
    if nearest == 0.0 or math.isinf(nearest):
        return Doubt.OUT_OF_RANGE
    return Numeral(mantissa, int(exponent or "0") - len(fraction or ""), spelled_whole)


_PLAIN = b"0123456789.-\0"
_LONE = (b"\0\0", b"\0-\0", b"\0.\0", b"\0-.\0")
_ZERO_FIRST = (b"\0000", b"\000-0")
_LEADING_ZERO = re.compile(rb"\x00-?0[0-9]")
_STRAY_POINT = re.compile(rb"\.(?![0-9]*\x00)")
_PLAIN_LENGTH = 300
"""Below the 309 digits at which a double ends, and the 324 at which it starts."""


def plain_units(joined: str) -> Units | None:
    """The numbers of cells joined by SEPARATOR, when each is a plain decimal such as `-12.50`.

    None: at least one is something else, and they must be looked at one by one. This is the same
    reading as `read_numeral`, done on all cells at once because a large column spends its time here.
    """
    if not joined.isascii():
        return None
    raw = b"\0" + joined.encode() + b"\0"
    if raw.translate(None, _PLAIN) or any(lone in raw for lone in _LONE):
        return None
    if raw.count(b"-") != raw.count(b"\0-"):
        return None
    if any(zero in raw for zero in _ZERO_FIRST) and _LEADING_ZERO.search(raw):
        return None
    if b"." not in raw:
        return _plain_whole(joined.split(SEPARATOR))
    if _STRAY_POINT.search(raw):
        return None
    return _plain_decimal(joined, raw)


def _plain_whole(cells: list[str]) -> Units | None:
    if max(map(len, cells)) > _PLAIN_LENGTH:
        return None
    return Units(list(map(int, cells)), 0, True)


def _plain_decimal(joined: str, raw: bytes) -> Units | None:
    cells = joined.split(SEPARATOR)
    if max(map(len, cells)) > _PLAIN_LENGTH:
        return None
    places = len(cells[0].partition(".")[2])
    same = re.compile(rb"\.(?![0-9]{%d}\x00)" % places).search(raw) is None
    if same and raw.count(b".") == len(cells):
        return Units(list(map(int, joined.replace(".", "").split(SEPARATOR))), places, False)
    parts = [cell.partition(".") for cell in cells]
    places = max(len(fraction) for _, _, fraction in parts)
    return Units([int(whole + fraction.ljust(places, "0")) for whole, _, fraction in parts], places, False)


def joined_units(plain: str, numerals: Sequence[Numeral]) -> Units:
    """Plain decimals joined by SEPARATOR ("" for none), then other numbers, on one scale."""
    first = (plain_units(plain) if plain else None) or Units([], 0, True)
    scale = max([first.scale, *(-numeral.exponent for numeral in numerals)])
    more = 10 ** (scale - first.scale)
    units = [unit * more for unit in first.units]
    units += [numeral.mantissa * 10 ** (numeral.exponent + scale) for numeral in numerals]
    return Units(units, scale, first.whole and all(numeral.whole for numeral in numerals))


class _Ordered(NamedTuple):
    """Numbers by size. ends: how many values lie at or before each, when they occur more than once."""

    order: list[int]
    ends: list[int] | None = None

    def at(self, index: int) -> int:
        """The value of this rank, from 0."""
        return self.order[index if self.ends is None else bisect_right(self.ends, index)]

    def quarter(self, count: int, quarter: int) -> int:
        """Four times the quantile at quarter/4: linear between the two values next to rank (count - 1) * quarter/4."""
        index, rest = divmod((count - 1) * quarter, 4)
        low = self.at(index) * (4 - rest)
        return low + self.at(index + 1) * rest if rest else low


def spread(numbers: Units, weights: Sequence[int] | None = None) -> Spread:
    """The statistics of the numbers, each counted `weights[i]` times (None: once)."""
    units = numbers.units
    squares = map(mul, units, units)
    if weights is None:
        ordered = _Ordered(sorted(units))
        return _shown(numbers, len(units), sum(units), sum(squares), ordered, len(set(units)))
    merged = _merged(units, weights)
    order = sorted(merged)
    ordered = _Ordered(order, list(accumulate(map(merged.__getitem__, order))))
    total, square_total = sum(map(mul, units, weights)), sum(map(mul, squares, weights))
    return _shown(numbers, sum(weights), total, square_total, ordered, len(order))


def _merged(units: Sequence[int], weights: Sequence[int]) -> dict[int, int]:
    """How often each number occurs; two spellings of one number (`1.5`, `1.50`) come together."""
    merged = dict(zip(units, weights, strict=True))
    if len(merged) == len(units):
        return merged
    merged = dict.fromkeys(merged, 0)
    for unit, weight in zip(units, weights, strict=True):
        merged[unit] += weight
    return merged


def _shown(numbers: Units, count: int, total: int, square_total: int, ordered: _Ordered, distinct: int) -> Spread:
    one = 10**numbers.scale
    ratios = {
        "min": (ordered.at(0), one),
        "max": (ordered.at(count - 1), one),
        "sum": (total, one),
        "mean": (total, one * count),
        "median": (ordered.quarter(count, 2), 4 * one),
        "q1": (ordered.quarter(count, 1), 4 * one),
        "q3": (ordered.quarter(count, 3), 4 * one),
    }
    shown = {name: _rounded(part, whole, numbers.whole) for name, (part, whole) in ratios.items()}
    std = _deviation(count, total, square_total, one)
    lost = [name for name, value in shown.items() if value is None]
    if std is None and count > 1:
        lost.append("std")
    return Spread(distinct=distinct, std=std, out_of_range=tuple(lost), **shown)


def _rounded(part: int, whole: int, as_int: bool) -> Number | None:
    """part / whole as an integer where that is exact and asked for, else the nearest double."""
    if as_int and part % whole == 0 and abs(part // whole) < EXACT_BELOW:
        return part // whole
    try:
        return part / whole
    except OverflowError:
        return None


def _deviation(count: int, total: int, square_total: int, one: int) -> float | None:
    if count < 2:
        return None
    # Sum of squared distances from the mean, times count: exact, so nothing can cancel.
    spread_total = count * square_total - total * total
    return square_root(spread_total, count * (count - 1) * one * one)


def square_root(part: int, whole: int) -> float | None:
    """The square root of part / whole, rounded once to the nearest double; None when it is past the largest."""
    if part == 0:
        return 0.0
    # Scaled so that the integer root has at least 55 bits: two more than a double, and the last
    # one made odd when anything was cut off, which keeps the final rounding from seeing a false tie.
    shift = (part.bit_length() - whole.bit_length() - 109) // 2
    root = _odd_root(part, whole << 2 * shift) if shift >= 0 else _odd_root(part << -2 * shift, whole)
    try:
        return float(root << shift) if shift >= 0 else root / (1 << -shift)
    except OverflowError:
        return None


def _odd_root(part: int, whole: int) -> int:
    root = math.isqrt(part // whole)
    return root | (root * root * whole != part)

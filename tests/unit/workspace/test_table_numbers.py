"""Numbers as they are spelled, and statistics against Python's own on exact fractions."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.table_column import Column, Gathered, describe
from remit.workspace.table_numbers import (
    EXACT_BELOW,
    MAX_NUMERAL,
    SEPARATOR,
    Doubt,
    Numeral,
    Spread,
    Units,
    plain_units,
    read_numeral,
    spread,
    square_root,
)


def exact(text: str) -> Fraction:
    return Fraction(text)


def numbers(cells: list[str]) -> Spread:
    column = describe("n", Counter(cells))
    assert column.type == "numeric"
    assert column.numbers is not None
    return column.numbers


def expected(cells: list[str]) -> dict[str, float]:
    """The statistics module on the values as written, rounded once."""
    values = [exact(cell) for cell in cells]
    one = len(values) == 1
    quartiles = values * 3 if one else statistics.quantiles(values, n=4, method="inclusive")
    return {
        "min": float(min(values)),
        "max": float(max(values)),
        "sum": float(sum(values)),
        "mean": float(statistics.mean(values)),
        "median": float(statistics.median(values)),
        "q1": float(quartiles[0]),
        "q3": float(quartiles[2]),
    }


def shown(found: Spread) -> dict[str, float]:
    return {name: getattr(found, name) for name in ("min", "max", "sum", "mean", "median", "q1", "q3")}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", Numeral(0, 0, True)),
        ("-0", Numeral(0, 0, True)),
        ("42", Numeral(42, 0, True)),
        ("-42", Numeral(-42, 0, True)),
        ("+42", Numeral(42, 0, True)),
        ("1.50", Numeral(150, -2, False)),
        (".5", Numeral(5, -1, False)),
        ("-.5", Numeral(-5, -1, False)),
        ("5.", Numeral(5, 0, False)),
        ("1e3", Numeral(1, 3, False)),
        ("1.5E-03", Numeral(15, -4, False)),
        ("0e999999999999", Numeral(0, 0, False)),
        ("1.7976931348623157e308", Numeral(17976931348623157, 292, False)),
        ("5e-324", Numeral(5, -324, False)),
        ("9" * 308, Numeral(int("9" * 308), 0, True)),
    ],
)
def test_numbers(text: str, number: Numeral) -> None:
    assert read_numeral(text) == number


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("007", Doubt.LEADING_ZERO),
        ("00", Doubt.LEADING_ZERO),
        ("-01", Doubt.LEADING_ZERO),
        ("00.5", Doubt.LEADING_ZERO),
        ("1,5", Doubt.COMMA),
        ("1,234.5", Doubt.COMMA),
        ("1.234,5", Doubt.COMMA),
        ("1,234,567", Doubt.COMMA),
        ("1.234.567", Doubt.COMMA),
        ("1e400", Doubt.OUT_OF_RANGE),
        ("-1e400", Doubt.OUT_OF_RANGE),
        ("1.8e308", Doubt.OUT_OF_RANGE),
        ("9" * 309, Doubt.OUT_OF_RANGE),
        ("1e-400", Doubt.OUT_OF_RANGE),
        ("1e99999999999999999999", Doubt.OUT_OF_RANGE),
        ("0." + "1" * (MAX_NUMERAL - 1), Doubt.TOO_LONG),
    ],
)
def test_what_looks_like_a_number_and_is_not_read_as_one(text: str, doubt: Doubt) -> None:
    assert read_numeral(text) is doubt


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "+", ".", "-.", "e5", "1e", "1e+", "--1", "1-", "1.2.3", "1e5.5", "1d"),
        *("inf", "-inf", "Infinity", "nan", "NaN", "1_000", "0x1f"),
        *("\uff11\uff12", "\u0661", "\u22125", "\u00bd", "1 000", "$5", "5%", "12:30", "1/2"),
    ],
)
def test_what_is_no_number(text: str) -> None:
    assert read_numeral(text) is None
    assert plain_units(text) is None


def test_longest_number() -> None:
    text = "0." + "1" * (MAX_NUMERAL - 2)
    assert read_numeral(text) == Numeral(int("1" * (MAX_NUMERAL - 2)), 2 - MAX_NUMERAL, False)
    assert numbers([text, text]).mean == float(Fraction(text))


@pytest.mark.parametrize(
    ("cells", "units"),
    [
        (["1", "-2", "30"], Units([1, -2, 30], 0, True)),
        (["1.5", "-2.5", "0.5"], Units([15, -25, 5], 1, False)),
        (["1.5", "2", "-0.25", "7."], Units([150, 200, -25, 700], 2, False)),
        ([".5", "-.25"], Units([50, -25], 2, False)),
        (["-0.07", "-7"], Units([-7, -700], 2, False)),
    ],
)
def test_plain_numbers_in_bulk(cells: list[str], units: Units) -> None:
    assert plain_units(SEPARATOR.join(cells)) == units


@pytest.mark.parametrize(
    "odd",
    [
        *("", "-", ".", "-.", "007", "-01", "00.5", "1.2.3", "1-2", "2024-01-01", "1e3", "+1", " 1", "1 "),
        *("a", "\u00e9", "\u0663", "1.5.", "..5", "-1-", "--1", "9" * 301),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("others", [["1", "2"], ["1.5", "2.5"], ["1.5", "2.25"]])
def test_one_odd_cell_stops_the_bulk_reading(odd: str, place: int, others: list[str]) -> None:
    cells = [*others]
    cells.insert(place, odd)
    assert plain_units(SEPARATOR.join(cells)) is None


plain = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.integers(-999, 999).map(str),
    st.decimals(-(10**6), 10**6, places=2).map(lambda number: f"{number:f}"),
    st.decimals(-100, 100, places=1).map(lambda number: f"{number:f}"),
    st.floats(-1e300, 1e300).map(repr),
    st.floats(-1000, 1000).map(lambda number: f"{number:.3e}"),
    st.sampled_from(["0", "-0", "0.0", "1.0", "1.00", "+3", ".5", "5.", "1E5", "0.1", "0.2", "0.3"]),
)


@given(st.lists(plain, min_size=1, max_size=40))
def test_statistics_are_those_of_the_statistics_module(cells: list[str]) -> None:
    found, due = numbers(cells), expected(cells)
    assert found.out_of_range == ()
    # An integer is shown as such; where it is too long for that, and in all else, as the nearest double.
    assert {name: float(value) for name, value in shown(found).items()} == due
    assert found.distinct == len({exact(cell) for cell in cells})
    values = [exact(cell) for cell in cells]
    assert found.std == (statistics.stdev(values) if len(values) > 1 else None)


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=30))
def test_integers_stay_integers(values: list[int]) -> None:
    found = numbers([str(value) for value in values])
    assert (found.min, found.max, found.sum) == (min(values), max(values), sum(values))
    assert all(type(value) is int for value in (found.min, found.max, found.sum))


@given(st.lists(st.integers(-(2**20), 2**20).map(lambda number: number / 64), min_size=2, max_size=40))
def test_values_that_doubles_hold_agree_with_float_statistics_to_the_last_bit(values: list[float]) -> None:
    found = numbers([f"{value:f}" for value in values])
    assert found.sum == math.fsum(values)
    assert found.mean == statistics.fmean(values)
    assert found.std == statistics.stdev(values)
    assert [found.q1, found.median, found.q3] == statistics.quantiles(values, n=4, method="inclusive")


@given(st.lists(plain, min_size=1, max_size=40))
def test_cells_kept_joined_and_cells_counted_say_the_same(cells: list[str]) -> None:
    units = plain_units(SEPARATOR.join(cells))
    if units is not None:
        assert spread(units) == numbers(cells)


def gathered(cells: list[str], step: int = 500) -> Column:
    column = Gathered()
    for start in range(0, len(cells), step):
        column.add(cells[start : start + step])
    return column.column("c")


@pytest.mark.parametrize("last", ["", "x", "1e3", "007", " 5", "5.25"])
def test_a_long_column_of_different_values_is_what_it_is_whatever_comes_last(last: str) -> None:
    cells = [*(str(number) for number in range(9_000)), last]
    assert gathered(cells) == describe("c", Counter(cells))


def test_a_long_column_of_few_values() -> None:
    cells = [str(number % 7) for number in range(9_001)]
    assert gathered(cells) == describe("c", Counter(cells))


def test_decimals_are_summed_as_written() -> None:
    found = numbers(["0.1", "0.2"])
    assert (found.sum, found.mean, found.median) == (0.3, 0.15, 0.15)


def test_nothing_cancels() -> None:
    found = numbers(["1e16", "1", "-1e16"])
    assert found.sum == 1.0
    found = numbers([str(10**15 + offset) for offset in (1, 2, 3)])
    assert found.std == 1.0


@pytest.mark.parametrize(
    ("cells", "field", "value"),
    [
        (["9007199254740993"], "mean", 9007199254740993),
        (["9007199254740993", "1"], "sum", 9007199254740994),
        ([str(EXACT_BELOW - 1)], "max", EXACT_BELOW - 1),
        ([str(EXACT_BELOW)], "max", float(EXACT_BELOW)),
        (["1", "2"], "mean", 1.5),
        (["1", "3"], "mean", 2),
        (["5"], "std", None),
        (["5", "5"], "std", 0.0),
        (["1", "2", "3", "4"], "q1", 1.75),
        (["1.0", "3"], "mean", 2.0),
    ],
)
def test_how_numbers_are_shown(cells: list[str], field: str, value: float | None) -> None:
    found = getattr(numbers(cells), field)
    assert found == value
    assert type(found) is type(value)


def test_what_lies_outside_of_a_double_is_named_and_never_infinite() -> None:
    found = numbers(["1.5e308", "1.5e308", "-1.5e308", "1.5e308"])
    assert (found.sum, found.std) == (None, 1.5e308)
    assert found.out_of_range == ("sum",)
    found = numbers(["1.7e308", "-1.7e308"])
    assert (found.sum, found.std) == (0.0, None)
    assert found.out_of_range == ("std",)


@given(st.fractions(min_value=0, max_value=10**40))
def test_square_root_is_the_nearest_double(value: Fraction) -> None:
    root = square_root(value.numerator, value.denominator)
    assert root is not None
    below, above = Fraction(math.nextafter(root, 0)), Fraction(math.nextafter(root, math.inf))
    near = Fraction(root)
    assert ((below + near) / 2) ** 2 <= value <= ((near + above) / 2) ** 2


def test_square_root_of_the_smallest_and_the_largest() -> None:
    assert square_root(1, 10**600) == 1e-300
    assert square_root(10**600, 1) == 1e300
    assert square_root(10**700, 1) is None
    assert square_root(1, 10**700) == 0.0

"""What a column is, judged from its cells."""

from __future__ import annotations

from collections import Counter

import pytest

from remit.workspace.table_column import TOP_EXAMPLES, TOP_VALUES, Column, Example, Mixture, describe


def column(*cells: str) -> Column:
    return describe("c", Counter(cells))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3"], "numeric"),
        (["1", "", " "], "numeric"),
        ([" 1", "2\t", "\n3 "], "numeric"),
        (["1e3", " 2"], "numeric"),
        (["0", "1"], "numeric"),
        (["1", "x"], "text"),
        (["1", "\u00a02"], "text"),
        (["true", "false"], "boolean"),
        (["TRUE", "False", " yes ", "NO"], "boolean"),
        (["yes"], "boolean"),
        (["true", "1"], "text"),
        (["yes", "maybe"], "text"),
        (["y", "n"], "text"),
        (["2024-02-29", "2023-12-31"], "date"),
        (["2024-02-29T10:00", "2024-02-29 10:00:00.5"], "date"),
        (["2024-02-29", "2024-02-29T10:00:00"], "date"),
        (["2024-02-29T10:00Z", "2024-02-29T10:00:00+02:00"], "date"),
        ([" 2024-02-29 "], "date"),
        (["2024-02-29T10:00Z", "2024-02-29T10:00"], "text"),
        (["2024-02-30"], "text"),
        (["2023-02-29"], "text"),
        (["2024-02-29T24:01"], "text"),
        (["20240229"], "numeric"),
        (["2024-W09-4"], "text"),
        (["2024-2-9"], "text"),
        (["29.02.2024"], "text"),
        (["2024-01-01T1\u0660:00"], "text"),
        (["x", ""], "text"),
        (["", " ", "\t", "\u00a0"], "empty"),
        (["007"], "text"),
        (["1e400", "1"], "text"),
        (["inf", "1"], "text"),
        (["nan"], "text"),
        (["1_000"], "text"),
        (["1,234.5"], "text"),
        (["0x10"], "text"),
        (["\uff11"], "text"),
    ],
)
def test_type(cells: list[str], kind: str) -> None:
    assert column(*cells).type == kind


def test_blank_cells_are_missing_values() -> None:
    found = column("5", "", "  ", "\t", "\u00a0", "7", "7")
    assert (found.values, found.missing, found.distinct) == (3, 4, 2)


def test_text_is_distinct_as_written() -> None:
    assert column("a", "A", " a", "a ").distinct == 4


def test_numbers_are_distinct_as_numbers() -> None:
    found = column("1", "1.0", "1.00", "+1", "1e0", "01".lstrip("0"), "2")
    assert (found.values, found.distinct) == (7, 2)


def test_boolean_counts() -> None:
    found = column("yes", "TRUE", "no", "", "False", "true")
    assert (found.true, found.false, found.missing, found.values, found.distinct) == (3, 2, 1, 5, 2)
    assert column("no").distinct == 1


def test_dates_are_ordered_by_time() -> None:
    found = column("2024-03-01T01:00+02:00", "2024-02-29T23:30Z", "2024-02-29T23:00:00Z")
    assert (found.first, found.last) == ("2024-03-01T01:00+02:00", "2024-02-29T23:30Z")
    assert found.distinct == 2


def test_dates_of_the_first_and_the_last_year() -> None:
    found = column("0001-01-01", " 9999-12-31", "2024-01-01")
    assert (found.first, found.last) == ("0001-01-01", "9999-12-31")


def test_most_frequent_values_come_first_and_equal_ones_in_order() -> None:
    cells = [f"v{number:02}" for number in range(15)]
    found = column(*cells, "v14", "v14", "v03")
    assert found.most_frequent[:4] == (("v14", 3), ("v03", 2), ("v00", 1), ("v01", 1))
    assert len(found.most_frequent) == TOP_VALUES


def test_most_frequent_of_values_that_are_all_different() -> None:
    assert column("c", "a", "b").most_frequent == (("a", 1), ("b", 1), ("c", 1))


def test_most_frequent_of_less_than_the_limit() -> None:
    assert column("b", "a", "b").most_frequent == (("b", 2), ("a", 1))


@pytest.mark.parametrize(
    ("cells", "fitting", "examples"),
    [
        (["1", "2", "n/a"], 2, [Example("n/a", 1)]),
        (["1", "2.5", "1e3", "x", "x", "y"], None, []),
        (["1", "2.5", "1e3", "4", "x", "x", "y"], 4, [Example("x", 2), Example("y", 1)]),
        (["10115", "01067"], 1, [Example("01067", 1, "leading zero")]),
        (["007", "008"], 0, [Example("007", 1, "leading zero"), Example("008", 1, "leading zero")]),
        (["1e400", "1"], 1, [Example("1e400", 1, "outside the range of a double")]),
        (["1,5", "2"], 1, [Example("1,5", 1, "decimal comma or thousands separator")]),
        (["1", "2", "3", "a", "b"], 3, [Example("a", 1), Example("b", 1)]),
        (["1", "2", "a", "b"], None, []),
        (["1", "2", "3", "4", "5", "a", "b", "c", "d"], 5, [Example("a", 1), Example("b", 1), Example("c", 1)]),
        (["v1.2", "v1.3"], None, []),
    ],
)
def test_mostly_numeric_columns_say_so(cells: list[str], fitting: int | None, examples: list[Example]) -> None:
    found = column(*cells)
    assert found.type == "text"
    due = None if fitting is None else Mixture("numbers", fitting, len(cells), tuple(examples[:TOP_EXAMPLES]))
    assert found.mixture == due


def test_missing_values_do_not_count_against_the_numbers() -> None:
    mixture = column("1", "2", "x", "", "", "", "").mixture
    assert mixture is not None
    assert (mixture.fitting, mixture.values) == (2, 3)


@pytest.mark.parametrize(
    ("cells", "example"),
    [
        (["2024-01-01", "2024-02-30"], Example("2024-02-30", 1, "not in the calendar")),
        (["2024-01-01", "2024-01-02", "soon"], Example("soon", 1)),
        (
            ["2024-01-01T10:00Z", "2024-01-02T10:00Z", "2024-01-03T10:00"],
            Example("2024-01-03T10:00", 1, "without a time zone, unlike others"),
        ),
        (
            ["2024-01-01T10:00", "2024-01-02T10:00", "2024-01-03T10:00Z"],
            Example("2024-01-03T10:00Z", 1, "with a time zone, unlike others"),
        ),
    ],
)
def test_mostly_dates_say_so(cells: list[str], example: Example) -> None:
    found = column(*cells)
    assert found.type == "text"
    assert found.mixture == Mixture("dates", len(cells) - 1, len(cells), (example,))

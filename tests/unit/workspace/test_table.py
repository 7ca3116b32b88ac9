"""Tables read whole: RFC 4180, headers, ragged rows, limits, and any table a writer can write."""

from __future__ import annotations

import csv
import io
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.workspace.table import MAX_COLUMNS, MAX_ROWS, Ragged, Renamed, Table, read_table
from remit.workspace.table_column import Column
from remit.workspace.table_delimiter import CANDIDATES


def never() -> None:
    """Nobody cancels."""


def read(text: str, delimiter: str | None = None, default: str = ",") -> Table:
    return read_table(text, delimiter, default, never)


def refused(text: str, delimiter: str | None = None) -> Failure:
    with pytest.raises(Failure) as caught:
        read(text, delimiter)
    return caught.value


def values(column: Column) -> dict[str, int]:
    return dict(column.most_frequent)


# How records are parted and fields quoted: text, then the values of each column.
RFC = {
    "LF": ("a,b\nx,y\nz,w\n", [["x", "z"], ["y", "w"]]),
    "CRLF": ("a,b\r\nx,y\r\nz,w\r\n", [["x", "z"], ["y", "w"]]),
    "CR": ("a,b\rx,y\rz,w\r", [["x", "z"], ["y", "w"]]),
    "mixed line ends": ("a,b\r\nx,y\nz,w\rv,u", [["x", "z", "v"], ["y", "w", "u"]]),
    "no last line end": ("a,b\nx,y", [["x"], ["y"]]),
    "quoted fields": ('"a","b"\n"x","y"\n', [["x"], ["y"]]),
    "doubled quotes": ('a,b\n"say ""hi""",""""\n', [['say "hi"'], ['"']]),
    "delimiter in quotes": ('a,b\n"x,1","y;2"\n', [["x,1"], ["y;2"]]),
    "LF in quotes": ('a,b\n"x\n\n1",y\n', [["x\n\n1"], ["y"]]),
    "CRLF in quotes": ('a,b\r\n"x\r\n1",y\r\n', [["x\r\n1"], ["y"]]),
    "CR in quotes": ('a,b\n"x\r1",y\n', [["x\r1"], ["y"]]),
    "line break in the header": ('"a\nb",c\nx,y\n', [["x"], ["y"]]),
    "spaces belong to the field": ("a,b\n x , y\n", [[" x "], [" y"]]),
    "quote inside of a plain field": ('a,b\n5" pipe,y\n', [['5" pipe'], ["y"]]),
    "other line separators are text": ("a,b\nx\u2028\x0b\x0c\x85\x1c1,y\n", [["x\u2028\x0b\x0c\x85\x1c1"], ["y"]]),
    "one column": ("a\nx\ny\n", [["x", "y"]]),
    "one column, quoted empty field": ('a\nx\n""\n', [["x"]]),
}


@pytest.mark.parametrize(("text", "columns"), RFC.values(), ids=RFC)
def test_parsing(text: str, columns: list[list[str]]) -> None:
    table = read(text)
    assert [set(values(column)) for column in table.columns] == [set(column) for column in columns]
    assert (table.short.count, table.long.count, table.blank_lines) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('a,b\n"x,1\n2,3\n', 2, "never closed"),
        ('a,b\n1,2\n"x\ny",2\n3,"q\n\n\n', 5, "never closed"),
        ('"a,b\n', 1, "never closed"),
        ('a,b\n1,2\n"x"y,1\n', 3, "closing quote"),
        ('a,b\n"x\ny"z,1\n', 3, "closing quote"),
        ('a,b\n"x" ,1\n', 2, "closing quote"),
        ('"a"b,c\n', 1, "closing quote"),
        ("a,b\n" + "1,2\n" * 3_000 + '"', 3_002, "never closed"),
    ],
)
def test_what_breaks_the_format_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    failure = refused(text, ",")
    assert failure.code is ErrorCode.CSV_INVALID
    assert failure.message.startswith(f"line {line}: ")
    assert said in failure.message


@pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n", " \n\t\n", "\ufeff".strip("\ufeff")])
def test_an_empty_file_is_refused(text: str) -> None:
    assert refused(text).code is ErrorCode.EMPTY_FILE


def test_nul_characters_are_refused() -> None:
    assert refused("a,b\n1,\0\n").code is ErrorCode.BINARY_CONTENT


def test_header_alone() -> None:
    table = read("a,b\n")
    assert table.rows == 0
    assert [(column.type, column.values, column.missing) for column in table.columns] == [("empty", 0, 0)] * 2


def test_one_very_large_field() -> None:
    table = read('a,b\n"' + "x" * 3_000_000 + '",1\n')
    assert len(table.columns[0].most_frequent[0][0]) == 3_000_000


@pytest.mark.parametrize(
    ("header", "names", "renamed"),
    [
        ("a,b,c", ["a", "b", "c"], []),
        ("a,a,a", ["a", "a (2)", "a (3)"], [Renamed(2, "a", "a (2)"), Renamed(3, "a", "a (3)")]),
        ("a,a (2),a", ["a", "a (2)", "a (3)"], [Renamed(3, "a", "a (3)")]),
        ("a,a,a (2)", ["a", "a (3)", "a (2)"], [Renamed(2, "a", "a (3)")]),
        (",b, ", ["column 1", "b", "column 3"], [Renamed(1, "", "column 1"), Renamed(3, " ", "column 3")]),
        (
            "column 2,,",
            ["column 2", "column 2 (2)", "column 3"],
            [Renamed(2, "", "column 2 (2)"), Renamed(3, "", "column 3")],
        ),
        ("a,A, a", ["a", "A", " a"], []),
    ],
)
def test_every_column_has_a_name_of_its_own(header: str, names: list[str], renamed: list[Renamed]) -> None:
    table = read(f"{header}\n1,2,3\n", ",")
    assert [column.name for column in table.columns] == names
    assert list(table.renamed) == renamed
    assert [column.numbers and column.numbers.sum for column in table.columns] == [1, 2, 3]


@pytest.mark.parametrize(("header", "numeric"), [("1,2.5", True), ("1, 2", True), ("2024,x", False), ("1,", False)])
def test_a_header_of_numbers_is_noticed(header: str, numeric: bool) -> None:
    assert read(f"{header}\n1,2\n", ",").numeric_header is numeric


def test_short_rows_have_missing_cells() -> None:
    table = read("a,b,c\n1,2,3\n4\n5,6\n")
    assert table.short == Ragged(2, [2, 3], [])
    assert [(column.values, column.missing) for column in table.columns] == [(3, 0), (2, 1), (1, 2)]


def test_cells_beyond_the_header_are_told() -> None:
    table = read("a,b\n1,2\n3,4,x,y\n5,6\n7,8,z\n")
    assert table.long == Ragged(2, [2, 4], ["x", "y", "z"])
    assert [column.numbers and column.numbers.sum for column in table.columns] == [16, 20]
    assert table.rows == 4


def test_only_the_first_ragged_rows_are_named() -> None:
    table = read("a,b\n" + "1\n" * 2_000 + "1,2,3\n" * 2_000, ",")
    assert table.short == Ragged(2_000, [1, 2, 3, 4, 5], [])
    assert table.long == Ragged(2_000, [2001, 2002, 2003, 2004, 2005], ["3"] * 5)


def test_blank_lines_are_skipped_and_counted() -> None:
    table = read("\n\na,b\n\n1,2\n" + "\n" * 5_000 + "3,4\n\n")
    assert (table.rows, table.blank_lines, table.short.count) == (2, 5_004, 0)
    assert table.columns[0].missing == 0


def test_ragged_rows_are_numbered_without_blank_lines() -> None:
    assert read("a,b\n\n1,2\n\n\n3\n").short.rows == [2]


@pytest.mark.parametrize("count", [1, 2, MAX_COLUMNS])
def test_columns_up_to_the_limit(count: int) -> None:
    row = ",".join(["7"] * count)
    header = ",".join(f"c{number}" for number in range(count))
    table = read(f"{header}\n{row}\n{row}\n")
    assert [column.numbers and column.numbers.sum for column in table.columns] == [14] * count


def test_more_columns_are_refused() -> None:
    failure = refused(",".join(f"c{number}" for number in range(MAX_COLUMNS + 1)) + "\n")
    assert failure.code is ErrorCode.TOO_MANY_COLUMNS
    assert "201" in failure.message


@pytest.mark.heavy
def test_rows_up_to_the_limit() -> None:
    text = "a,b\n" + "".join(f"{number},x\n" for number in range(MAX_ROWS))
    table = read(text)
    assert table.rows == MAX_ROWS == 200_000
    numbers = table.columns[0].numbers
    assert numbers is not None
    assert (numbers.sum, numbers.distinct, numbers.q1) == (sum(range(MAX_ROWS)), MAX_ROWS, 49999.75)
    assert table.columns[1].most_frequent == (("x", MAX_ROWS),)
    failure = refused(text + "1,x\n")
    assert failure.code is ErrorCode.TOO_MANY_ROWS
    assert "200,000" in failure.message


@pytest.mark.heavy
def test_blank_lines_are_no_rows() -> None:
    assert read("a\n" + "1\n" * MAX_ROWS + "\n" * 1_000).rows == MAX_ROWS


def test_a_given_delimiter_is_taken() -> None:
    table = read("a,b;c\n1,2;3\n", ",")
    assert ([column.name for column in table.columns], table.detected) == (["a", "b;c"], False)
    assert [column.name for column in read("a:b\n1:2\n", ":").columns] == ["a", "b"]


def test_a_header_that_another_delimiter_would_split_is_noticed() -> None:
    assert read("a;b,c\n1;2,3\n", "|").unsplit == (";", ",")
    assert read("a;b\n1;2\n", ";").unsplit == ()


@pytest.mark.parametrize(("default", "delimiter"), [(",", ","), ("\t", "\t")])
def test_a_table_of_one_column_takes_the_default(default: str, delimiter: str) -> None:
    table = read("a\nx\n", default=default)
    assert (table.delimiter, table.detected) == (delimiter, False)


def test_cancelling_stops_between_batches() -> None:
    asked = 0

    def cancel() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise Failure(ErrorCode.CANCELLED, "the call was cancelled")

    with pytest.raises(Failure) as caught:
        read_table("a,b\n" + "1,2\n" * 50_000, None, ",", cancel)
    assert caught.value.code is ErrorCode.CANCELLED
    assert asked == 3


text_cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
number_cells = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=2).map(lambda number: f"{number:f}"),
    st.floats(-1e300, 1e300).map(repr),
)
dialects = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from(CANDIDATES),
        "lineterminator": st.sampled_from(["\n", "\r\n", "\r"]),
        "quoting": st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    }
)


@given(st.lists(st.tuples(text_cells, number_cells, text_cells), min_size=1, max_size=25), dialects)
def test_any_written_table_is_read_back(rows: list[tuple[str, str, str]], dialect: dict[str, str]) -> None:
    out = io.StringIO(newline="")
    # Python's writer does not quote a lone CR when lines end in LF (nor the reverse), so those cells are made plain.
    plain = [
        (first.replace("\r", "").replace("\n", " "), number, last.replace("\r", "").replace("\n", " "))
        for first, number, last in rows
    ]
    if dialect["quoting"] == csv.QUOTE_ALL:
        plain = rows
    csv.writer(out, **dialect).writerows([["first", "number", "last"], *plain])  # type: ignore[call-overload]
    table = read(out.getvalue(), dialect["delimiter"])
    assert (table.rows, table.short.count, table.long.count) == (len(rows), 0, 0)
    for column, cells in zip(table.columns, zip(*plain, strict=True), strict=True):
        filled = [cell for cell in cells if cell.strip()]
        assert (column.values, column.missing) == (len(filled), len(cells) - len(filled))
        if column.type == "text":
            assert column.distinct == len(set(filled))
            assert all(filled.count(value) == count for value, count in column.most_frequent)
    numbers = table.columns[1].numbers
    assert numbers is not None
    due = [Fraction(number) for _, number, _ in plain]
    assert float(numbers.sum or 0) == float(sum(due))
    assert float(numbers.mean or 0) == float(statistics.mean(due))
    assert numbers.std == (statistics.stdev(due) if len(due) > 1 else None)
    assert numbers.distinct == len(set(due))

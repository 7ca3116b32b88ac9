"""Which delimiter a table has."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.table_delimiter import CANDIDATES, detect_delimiter

CASES = {
    "comma": ("a,b\n1,2\n", ","),
    "semicolon": ("a;b\n1;2\n", ";"),
    "tab": ("a\tb\n1\t2\n", "\t"),
    "pipe": ("a|b\n1|2\n", "|"),
    "header only": ("a;b;c\n", ";"),
    "decimal commas": ("name;price;tax\nx;1,5;0,19\ny;2,25;0,07\n", ";"),
    "decimal commas in every cell": ("a;b\n1,5;2,5\n3,5;4,5\n", ";"),
    "commas in the header of a semicolon file": ("price, net;amount\n1,5;2\n2,5;3\n", ";"),
    "commas in quotes": ('"Last, First";Age\n"Doe, J";5\n"Roe, R";6\n', ";"),
    "semicolons in quotes": ('name,"a;b"\nx,"1;2"\ny,"3;4"\n', ","),
    "delimiters and line breaks in quotes": ('a,b\n"1;\n;2;\n",x\n"3;;",y\n', ","),
    "doubled quotes": ('a;b\n"say ""x, y""";1\n"""z""";2\n', ";"),
    "text with commas in a tab file": ("id\tnote\n1\tred, green, blue\n2\tone\n3\ta, b\n", "\t"),
    "lists in a comma file": ("id,tags\n1,a;b\n2,c;d\n3,e;f\n", ","),
    "times and dates": ("when,what\n2024-01-01 10:00:00,a\n2024-01-01 10:00:01,b\n", ","),
    "ragged": ("a,b,c\n1,2,3\n1,2\n1,2,3,4\n5,6,7\n", ","),
    "title line above": ("Report; first quarter\na,b,c\n1,2,3\n4,5,6\n7,8,9\n", ","),
    "blank lines": ("\n\na;b\n\n1;2\n", ";"),
    "CR alone": ("a;b\r1;2\r", ";"),
    "CRLF": ("a|b\r\n1|2\r\n", "|"),
    "one column": ("a\n1\n2\n", None),
    "one column of text with some commas": ("comment\nfine, thanks\nok\nwell\n", None),
    "one quoted column": ('"a"\n"1,2"\n"3;4"\n', None),
    "nothing": ("", None),
    "broken at once": ('"a"x;b\n', None),
    "broken later": ('a;b\n1;2\n"x"y;3\n', ";"),
    "unterminated": ('a,b\n1,2\n"x,3\n4,5\n', ","),
}


@pytest.mark.parametrize(("text", "delimiter"), CASES.values(), ids=CASES)
def test_detection(text: str, delimiter: str | None) -> None:
    assert detect_delimiter(text) == delimiter


def test_only_the_first_lines_are_judged() -> None:
    assert detect_delimiter("a;b\n" + "1;2\n" * 300 + "x,y\n" * 100_000) == ";"


def test_the_end_of_the_sample_is_not_held_against_a_delimiter() -> None:
    rows = "".join(f'{number};"{"word, " * 700}"\n' for number in range(40))
    assert detect_delimiter("id;text\n" + rows) == ";"


@given(
    st.sampled_from(CANDIDATES),
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), min_size=3, max_size=3),
        min_size=3,
        max_size=12,
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_quoted_tables_of_any_text(delimiter: str, rows: list[list[str]], end: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    assert detect_delimiter(out.getvalue()) == delimiter

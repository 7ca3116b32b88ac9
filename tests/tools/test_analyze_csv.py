"""analyze_csv: one call from JSON arguments to the envelope."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.context import call
from remit.base.errors import ErrorCode
from remit.base.resources import Effect, Resource
from remit.tools.documents.analyze_csv import AnalyzeCsv
from remit.workspace.root import Root
from remit.workspace.table import MAX_BYTES

COMFORTABLE_BYTES = 51_200


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as opened:
        yield opened


def analysed(root: Root, tmp_path: Path, content: str | bytes, name: str = "t.csv", **arguments: str) -> dict[str, Any]:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    outcome = call(AnalyzeCsv(), {"path": name, **arguments}, root)
    assert outcome.error is None, outcome.error
    assert outcome.text == ""
    data: dict[str, Any] = json.loads(outcome.for_model())["data"]
    return data


def refused(root: Root, arguments: dict[str, Any] | str) -> tuple[ErrorCode, str]:
    outcome = call(AnalyzeCsv(), arguments, root)
    assert outcome.error is not None
    return outcome.error.code, outcome.error.message


def test_whole_result(root: Root, tmp_path: Path) -> None:
    table = (
        "region,amount,paid,day,zip,empty\n"
        "North,10.50,yes,2024-02-29,01067,\n"
        "South,20.25,no,2024-03-01,10115,\n"
        "North,,yes,2024-01-31,20095,\n"
        '"West, ""far""",-1,no,,80331,\n'
    )
    assert analysed(root, tmp_path, table) == {
        "path": "t.csv",
        "encoding": "utf-8",
        "delimiter": ",",
        "rows": 4,
        "columnCount": 6,
        "columns": [
            {
                "name": "region",
                "type": "text",
                "values": 4,
                "missing": 0,
                "distinct": 3,
                "mostFrequent": [
                    {"value": "North", "count": 2},
                    {"value": "South", "count": 1},
                    {"value": 'West, "far"', "count": 1},
                ],
            },
            {
                "name": "amount",
                "type": "numeric",
                "values": 3,
                "missing": 1,
                "distinct": 3,
                "min": -1.0,
                "max": 20.25,
                "sum": 29.75,
                "mean": 9.916666666666666,
                "median": 10.5,
                "q1": 4.75,
                "q3": 15.375,
                "std": 10.637003024035169,
            },
            {
                "name": "paid",
                "type": "boolean",
                "values": 4,
                "missing": 0,
                "distinct": 2,
                "counts": {"true": 2, "false": 2},
            },
            {
                "name": "day",
                "type": "date",
                "values": 3,
                "missing": 1,
                "distinct": 3,
                "first": "2024-01-31",
                "last": "2024-03-01",
            },
            {
                "name": "zip",
                "type": "text",
                "values": 4,
                "missing": 0,
                "distinct": 4,
                "mostFrequent": [
                    {"value": "01067", "count": 1},
                    {"value": "10115", "count": 1},
                    {"value": "20095", "count": 1},
                    {"value": "80331", "count": 1},
                ],
            },
            {"name": "empty", "type": "empty", "values": 0, "missing": 4, "distinct": 0},
        ],
        "warnings": ["column 'zip' is text: 3 of its 4 values are numbers, 1 are not, such as '01067' (leading zero)"],
    }


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("näme,wert\nmüller,1\n".encode(), "utf-8"),
        (codecs.BOM_UTF8 + "näme,wert\nmüller,1\n".encode(), "utf-8"),
        (codecs.BOM_UTF16_LE + "näme,wert\nmüller,1\n".encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + "näme,wert\nmüller,1\n".encode("utf-16-be"), "utf-16-be"),
        ("näme,wert\nmüller,1\n".encode("cp1252"), "windows-1252"),
    ],
)
def test_encodings(root: Root, tmp_path: Path, content: bytes, encoding: str) -> None:
    data = analysed(root, tmp_path, content)
    assert data["encoding"] == encoding
    assert [column["name"] for column in data["columns"]] == ["näme", "wert"]
    assert data["columns"][0]["mostFrequent"] == [{"value": "müller", "count": 1}]
    warned = ["the file is not valid UTF-8 and was read as windows-1252"] if encoding == "windows-1252" else []
    assert data["warnings"] == warned


def test_bytes_that_no_encoding_has_are_told(root: Root, tmp_path: Path) -> None:
    data = analysed(root, tmp_path, b"a,b\n\xe4\x81,1\n")
    assert data["columns"][0]["mostFrequent"] == [{"value": "ä\ufffd", "count": 1}]
    assert "some bytes are no text in windows-1252 and were read as U+FFFD" in data["warnings"]


@pytest.mark.parametrize(
    ("name", "content", "arguments", "delimiter"),
    [
        ("t.csv", "a;b\n1;2\n", {}, ";"),
        ("t.tsv", "a\tb\n1\t2\n", {}, "\t"),
        ("t.txt", "a|b\n1|2\n", {}, "|"),
        ("T.CSV", "a,b\n1,2\n", {}, ","),
        ("t.csv", "a\tb\n1\t2\n", {"delimiter": "tab"}, "\t"),
        ("t.csv", "a\tb\n1\t2\n", {"delimiter": "\\t"}, "\t"),
        ("t.csv", "a\tb\n1\t2\n", {"delimiter": "\t"}, "\t"),
        ("t.csv", "a;b\n1;2\n", {"delimiter": "Semicolon"}, ";"),
        ("t.txt", "a:b\n1:2\n", {"delimiter": ":"}, ":"),
        ("t.txt", "a€b\n1€2\n", {"delimiter": "€"}, "€"),
    ],
)
def test_delimiters(
    root: Root, tmp_path: Path, name: str, content: str, arguments: dict[str, str], delimiter: str
) -> None:
    data = analysed(root, tmp_path, content, name, **arguments)
    assert data["delimiter"] == delimiter
    assert [column["sum"] for column in data["columns"]] == [1, 2]


@pytest.mark.parametrize("delimiter", ["", ",,", "\n", "\r", '"', "\0", "comma "])
def test_what_is_no_delimiter(root: Root, tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    code, message = refused(root, {"path": "t.csv", "delimiter": delimiter})
    assert code is ErrorCode.INVALID_ARGUMENTS
    assert "delimiter" in message


@pytest.mark.parametrize(
    "arguments", ["{}", "[]", "{", '{"path": 1}', '{"path": "t.csv", "sheet": 1}', '{"path": "t.csv", "delimiter": 1}']
)
def test_bad_arguments(root: Root, arguments: str) -> None:
    assert refused(root, arguments)[0] is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("t.json", b"{}", ErrorCode.UNSUPPORTED_FORMAT),
        ("t.xlsx", b"PK\x03\x04", ErrorCode.UNSUPPORTED_FORMAT),
        ("csv", b"a,b\n", ErrorCode.UNSUPPORTED_FORMAT),
        ("credentials.csv", b"user,key\n", ErrorCode.FILE_REFUSED),
        (".env.txt", b"a,b\n", ErrorCode.FILE_REFUSED),
        ("t.csv", b"a,b\n1,\0\n", ErrorCode.BINARY_CONTENT),
        ("t.csv", b"PK\x03\x04", ErrorCode.BINARY_CONTENT),
        ("t.csv", codecs.BOM_UTF16_LE + "a,b\n1,\0\n".encode("utf-16-le"), ErrorCode.BINARY_CONTENT),
        ("t.csv", b"", ErrorCode.EMPTY_FILE),
        ("t.csv", b"\r\n\r\n", ErrorCode.EMPTY_FILE),
        ("t.csv", codecs.BOM_UTF8, ErrorCode.EMPTY_FILE),
        ("t.csv", b'a,b\n"1,2\n', ErrorCode.CSV_INVALID),
        ("t.csv", b",".join(b"c%d" % number for number in range(201)), ErrorCode.TOO_MANY_COLUMNS),
    ],
)
def test_refusals(root: Root, tmp_path: Path, name: str, content: bytes, code: ErrorCode) -> None:
    (tmp_path / name).write_bytes(content)
    found, message = refused(root, {"path": name})
    assert found is code
    assert f"'{name}'" in message


def test_other_refusals(root: Root, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert refused(root, {"path": "folder.csv"})[0] is ErrorCode.NOT_A_FILE
    assert refused(root, {"path": "missing.csv"})[0] is ErrorCode.NOT_FOUND
    assert refused(root, {"path": "../t.csv"})[0] is ErrorCode.PATH_REFUSED


def test_a_link_to_a_credential_file_is_refused(root: Root, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("a,b\n")
    (tmp_path / "t.csv").symlink_to(".env")
    assert refused(root, {"path": "t.csv"})[0] is ErrorCode.FILE_REFUSED


def test_the_call_declares_one_path_to_read(root: Root) -> None:
    class Spelled:
        def path(self, spelled: str, effect: Effect) -> Resource:
            return Resource("path", spelled, effect)

        def tree(self, spelled: str, effect: Effect) -> Resource:
            raise AssertionError(spelled)

        def url(self, spelled: str, effect: Effect) -> Resource:
            raise AssertionError(spelled)

    tool = AnalyzeCsv()
    params = tool.parse('{"path": "data/t.csv"}')
    assert list(tool.resources(params, Spelled())) == [Resource("path", "data/t.csv", Effect.READ)]


@pytest.mark.heavy
def test_size_limit(root: Root, tmp_path: Path) -> None:
    row = b"x" * 1023 + b"\n"
    content = b"head\n" + row * (MAX_BYTES // 1024)
    data = analysed(root, tmp_path, content[:MAX_BYTES])
    assert (MAX_BYTES, data["rows"]) == (10 * 1024 * 1024, 10_240)
    (tmp_path / "t.csv").write_bytes(content[: MAX_BYTES + 1])
    code, message = refused(root, {"path": "t.csv"})
    assert code is ErrorCode.FILE_TOO_LARGE
    assert "10485761 bytes" in message


@pytest.mark.heavy
def test_row_limit(root: Root, tmp_path: Path) -> None:
    content = "a,b\n" + "1,x\n" * 200_000
    assert analysed(root, tmp_path, content)["columns"][0]["sum"] == 200_000
    (tmp_path / "t.csv").write_text(content + "1,x\n")
    assert refused(root, {"path": "t.csv"})[0] is ErrorCode.TOO_MANY_ROWS


WARNINGS = {
    "ragged": (
        "a,b\n1\n2,3,x,y\n4,5\n",
        [
            "1 rows have fewer cells than the header, which count as missing: data row 1 (counted from 1 below the "
            "header)",
            "1 rows have more cells than the header: data row 2 (counted from 1 below the header). The cells beyond "
            "it belong to no column and are in no statistics, such as 'x', 'y'",
        ],
    ),
    "many ragged": (
        "a,b\n" + "1\n" * 7,
        [
            "7 rows have fewer cells than the header, which count as missing: data row 1, 2, 3, 4, 5, ... (counted "
            "from 1 below the header)"
        ],
    ),
    "blank lines": ("a,b\n1,2\n\n\n", ["2 blank lines were skipped"]),
    "no rows": ("a,b\n", ["the file has a header and no rows"]),
    "header names": (
        "a,a,\nx,y,z\n",
        ["header cells that name no column of their own were given a name: cell 2 repeats 'a', cell 3 is empty"],
    ),
    "no header": (
        "1,2\n3,4\n",
        [
            "the first record was taken as the header, but all of its cells are numbers: the file may have no header",
        ],
    ),
    "mostly numeric": (
        "a,b\n1,x\n2,x\n3,x\nn/a,x\nn/a,x\n",
        ["column 'a' is text: 3 of its 5 values are numbers, 2 are not, such as 'n/a' (2 times)"],
    ),
    "overflow": (
        "a,b\n1e400,x\n1,x\n",
        [
            "column 'a' is text: 1 of its 2 values are numbers, 1 are not, such as '1e400' (outside the range of a "
            "double)"
        ],
    ),
    "sum out of range": ("a,b\n1e308,x\n1e308,x\n", ["column 'a': sum lies outside the range of a double"]),
    "dates": (
        "a,b\n2024-01-01,x\n2024-02-30,x\n",
        ["column 'a' is text: 1 of its 2 values are dates, 1 are not, such as '2024-02-30' (not in the calendar)"],
    ),
}


@pytest.mark.parametrize(("content", "warnings"), WARNINGS.values(), ids=WARNINGS)
def test_warnings(root: Root, tmp_path: Path, content: str, warnings: list[str]) -> None:
    assert analysed(root, tmp_path, content)["warnings"] == warnings


def test_an_unsplit_header_names_the_delimiter_to_try(root: Root, tmp_path: Path) -> None:
    data = analysed(root, tmp_path, "a;b\n1;2\n", delimiter=",")
    assert data["warnings"] == ["the header is one cell that holds ';': if that is the delimiter, pass it"]


def wide(cell: str, columns: int = 200, rows: int = 12) -> str:
    header = ",".join(f'"a rather long name for column number {number}"' for number in range(columns))
    lines = [",".join(cell.format(row=row, column=column) for column in range(columns)) for row in range(rows)]
    return "\n".join([header, *lines]) + "\n"


@pytest.mark.parametrize(
    "cell",
    [
        '"{row} ' + "long text, " * 12 + '{column}"',
        '"{row}' + "\u00fc\u6f22\U0001f600" * 30 + '{column}"',
        '"{row}' + '""\x01\t\n' * 20 + '{column}"',
        "{row}",
        "{row}.{column}",
        "2024-01-01T{row:02}:00:00.123456+02:00",
    ],
    ids=["text", "unicode", "escapes", "integers", "decimals", "dates"],
)
def test_200_columns_fit(root: Root, tmp_path: Path, cell: str) -> None:
    data = analysed(root, tmp_path, wide(cell))
    assert data["columnCount"] == 200
    assert len({(column["name"], column.get("position")) for column in data["columns"]}) == 200
    assert (
        len(json.dumps({"ok": True, "data": data}, ensure_ascii=False, separators=(",", ":")).encode())
        < COMFORTABLE_BYTES
    )


@pytest.mark.parametrize(
    "cells",
    [
        ["-123456789012345678901234567890123456789{column:03}"[:40], "123456789012345678901234567890123456789"],
        ["-1.234567890123{column:03}e-300", "-9.876543210123{column:03}e-299", "1.234567890123456e-301"],
        ["'" * 300 + "{column}", "1", "2", "3"],
        ["\x01aaa\x02aaa" * 40 + "{column}", "1", "2", "3"],
    ],
    ids=["longest integers", "longest doubles", "warnings", "escaped warnings"],
)
def test_the_worst_tables_stay_within_the_bound(root: Root, tmp_path: Path, cells: list[str]) -> None:
    lines = [",".join(cell.format(column=column) for column in range(200)) for cell in cells]
    header = ",".join(f'"{"n" * 50}\x02{number}"' for number in range(200))
    (tmp_path / "t.csv").write_text("\n".join([header, *lines]) + "\n")
    outcome = call(AnalyzeCsv(), {"path": "t.csv"}, root)
    assert outcome.error is None
    assert len(outcome.for_model().encode()) < AnalyzeCsv.bounds.output_bytes


def test_cut_values_are_marked(root: Root, tmp_path: Path) -> None:
    data = analysed(root, tmp_path, f"a,{'b' * 300}\n{'x' * 500},short\n")
    first, second = data["columns"]
    assert first["mostFrequent"] == [{"value": "x" * 237 + "\u2026", "count": 1, "clipped": True}]
    assert "nameClipped" not in first
    assert (second["name"], second["position"], second["nameClipped"]) == ("b" * 237 + "\u2026", 2, True)
    assert second["mostFrequent"] == [{"value": "short", "count": 1}]


@pytest.mark.parametrize(("length", "clipped"), [(240, False), (241, True)])
def test_where_values_are_cut(root: Root, tmp_path: Path, length: int, clipped: bool) -> None:
    shown = analysed(root, tmp_path, f"a,b\n{'x' * length},1\n")["columns"][0]["mostFrequent"][0]
    assert shown.get("clipped", False) is clipped


def test_a_column_with_a_cut_name_is_told_by_its_position(root: Root, tmp_path: Path) -> None:
    data = analysed(root, tmp_path, f"a,{'b' * 300}\n1,1\n1,2\n1,x\n")
    assert data["warnings"] == [
        f"column 2 '{'b' * 237}\u2026' is text: 2 of its 3 values are numbers, 1 are not, such as 'x'"
    ]


def test_a_cut_result_says_so(root: Root, tmp_path: Path) -> None:
    data = analysed(root, tmp_path, wide('"{row} ' + "long text, " * 12 + '{column}"'))
    assert data["warnings"][-1].startswith("to fit 200 columns, text columns show at most ")
    shown = data["columns"][0]["mostFrequent"]
    assert f"at most {len(shown)} of their most frequent values" in data["warnings"][-1]


def test_huge_values_are_cut_in_warnings_too(root: Root, tmp_path: Path) -> None:
    data = analysed(root, tmp_path, "a,b\n1,x\n2,x\n" + "9" * 2_000_000 + ",x\n")
    assert len(data["warnings"][0]) < 300
    assert "longer than 1,000 characters" in data["warnings"][0]


def test_the_description_states_the_limits() -> None:
    description = AnalyzeCsv().spec().description
    for limit in ("10 MiB", "200,000 rows", "200 columns"):
        assert limit in description

"""The same awkward files read by polars and duckdb: counts, sums and quantiles must agree."""

from __future__ import annotations

import codecs
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest

from remit.workspace.decode import decode_text
from remit.workspace.table import Table, read_table
from remit.workspace.table_column import Column

Facts = dict[str, float]
"""values, distinct and, of a numeric column, min, max, sum, mean, q1, median, q3, std."""

FIGURES = ("min", "max", "sum", "mean", "q1", "median", "q3", "std")


def _rows(count: int, seed: int = 3) -> list[list[str]]:
    """id, amount, share, flag-like text, note; with empty cells in two of them."""
    draw = random.Random(seed)
    return [
        [
            str(number),
            f"{draw.gauss(1000, 250):.2f}",
            repr(draw.random()) if draw.random() > 0.1 else "",
            draw.choice(["north", "south", "east", "west"]),
            draw.choice(
                [
                    "",
                    "plain",
                    "with, comma",
                    "with; semicolon",
                    'with "quotes"',
                    "two\nlines",
                    "two\r\nlines",
                    "tab\there",
                ]
            ),
        ]
        for number in range(1, count + 1)
    ]


def _table(
    rows: list[list[str]], delimiter: str = ",", end: str = "\n", header: str = "id amount share region note"
) -> str:
    """The table with every text quoted, as RFC 4180 does it."""
    lines = [delimiter.join(header.split())]
    lines += [delimiter.join([*row[:3], *(_quoted(cell) for cell in row[3:])]) for row in rows]
    return end.join(lines) + end


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if cell else ""


def _wide(columns: int, rows: int) -> str:
    draw = random.Random(5)
    lines = [",".join(f"c{number}" for number in range(columns))]
    lines += [",".join(f"{draw.uniform(-50, 50):.3f}" for _ in range(columns)) for _ in range(rows)]
    return "\n".join(lines) + "\n"


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "quoted line breaks, doubled quotes": (lambda: _table(_rows(300)).encode(), ","),
    "CRLF": (lambda: _table(_rows(300), end="\r\n").encode(), ","),
    "UTF-8 mark": (lambda: codecs.BOM_UTF8 + _table(_rows(50)).encode(), ","),
    "semicolon": (lambda: _table(_rows(300), ";").encode(), ";"),
    "tab": (lambda: _table(_rows(300), "\t").encode(), "\t"),
    "pipe": (lambda: _table(_rows(300), "|").encode(), "|"),
    "windows-1252": (lambda: "näme,wert\nmüller,1.5\nstraße,2.5\nmüller,4\n".encode("cp1252"), ","),
    "one column": (lambda: b"n\n" + b"".join(b"%d\n" % (number % 37) for number in range(500)), ","),
    "leading zeros": (lambda: b"zip,n\n01067,1\n10115,2\n01067,3\n007,4\n", ","),
    "overflow": (lambda: b"n,m\n1e400,1e140\n1,-1e140\n2,5e139\n", ","),
    "signs and exponents": (lambda: b"n,m\n-1.5e-3,.5\n+2E2,-.25\n0,5.\n-0.0,1e-300\n", ","),
    "large integers": (lambda: b"n,m\n9007199254740993,1\n9007199254740995,2\n-4,3\n", ","),
    "one row": (lambda: b"a,b\n1,x\n", ","),
    "200 columns": (lambda: _wide(200, 40).encode(), ","),
}


def ours(data: bytes) -> Table:
    return read_table(decode_text(data).text, None, ",", lambda: None)


def facts(column: Column) -> Facts:
    found: Facts = {"values": column.values, "distinct": column.distinct}
    if column.numbers is not None:
        found |= {name: math.nan if (value := getattr(column.numbers, name)) is None else value for name in FIGURES}
    return found


def by_polars(path: Path, delimiter: str, names: list[str], numeric: set[str]) -> list[Facts]:
    """Text cells, so that only parsing and arithmetic are its own; a blank cell is null."""
    encoding = decode_text(path.read_bytes()).encoding.replace("utf-8", "utf8")
    frame = polars.read_csv(
        path, separator=delimiter, infer_schema=False, encoding=encoding, truncate_ragged_lines=True, new_columns=names
    )
    return [_polars_facts(frame[name], name in numeric) for name in names]


def _polars_facts(series: Any, numeric: bool) -> Facts:
    cells = series.replace("", None).drop_nulls()
    if not numeric:
        return {"values": len(cells), "distinct": cells.n_unique()}
    numbers = cells.str.strip_chars_start("+").cast(polars.Float64)
    quantiles = [numbers.quantile(at, "linear") for at in (0.25, 0.5, 0.75)]
    std = math.nan if len(numbers) == 1 else numbers.std()
    figures = [numbers.min(), numbers.max(), numbers.sum(), numbers.mean(), *quantiles, std]
    return {"values": len(numbers), "distinct": numbers.n_unique()} | dict(zip(FIGURES, figures, strict=True))


def by_duckdb(path: Path, delimiter: str, names: list[str], numeric: set[str]) -> list[Facts]:
    # Its reader takes no windows-1252 without an extension, so it is given UTF-8.
    path = path.with_name("utf-8.csv")
    path.write_bytes(decode_text(path.with_name("t.csv").read_bytes()).text.encode())
    with duckdb.connect() as connection:
        connection.execute(
            "create table t as select * from read_csv(?, delim=?, quote='\"', escape='\"', header=true, "
            "all_varchar=true, auto_detect=false, null_padding=true, strict_mode=false, parallel=false, columns=?)",
            [str(path), delimiter, dict.fromkeys(names, "varchar")],
        )
        return [_duckdb_facts(connection, name, name in numeric) for name in names]


def _duckdb_facts(connection: Any, name: str, numeric: bool) -> Facts:
    cell = f"nullif(\"{name}\", '')"
    if not numeric:
        found = connection.execute(f"select count({cell}), count(distinct {cell}) from t").fetchone()
        return dict(zip(("values", "distinct"), found, strict=True))
    quantiles = ", ".join(f"quantile_cont(n, {at})" for at in (0.25, 0.5, 0.75))
    found = connection.execute(
        f"select count(n), count(distinct n), min(n), max(n), fsum(n), fsum(n) / count(n), {quantiles}, stddev_samp(n) "
        f"from (select cast({cell} as double) as n from t)"
    ).fetchone()
    return dict(zip(("values", "distinct", *FIGURES), [math.nan if one is None else one for one in found], strict=True))


def agree(mine: Facts, peer: Facts) -> bool:
    """Counts exactly; figures as far as their running sums in doubles are good."""
    scale = max(abs(mine.get("min", 0)), abs(mine.get("max", 0)))
    return mine.keys() == peer.keys() and all(
        mine[name] == peer[name]
        if name in ("values", "distinct")
        else (math.isnan(mine[name]) and math.isnan(peer[name]))
        or math.isclose(mine[name], peer[name], rel_tol=1e-12, abs_tol=1e-12 * scale)
        for name in mine
    )


@pytest.mark.parametrize("peer", [by_polars, by_duckdb])
@pytest.mark.parametrize(("content", "delimiter"), FILES.values(), ids=FILES)
def test_agreement(tmp_path: Path, content: Callable[[], bytes], delimiter: str, peer: Any) -> None:
    data = content()
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    table = ours(data)
    names = [column.name for column in table.columns]
    numeric = {column.name for column in table.columns if column.type == "numeric"}
    found = peer(path, delimiter, names, numeric)
    for column, theirs in zip(table.columns, found, strict=True):
        mine = facts(column)
        assert agree(mine, theirs), (column.name, mine, theirs)


def test_short_rows_by_duckdb(tmp_path: Path) -> None:
    data = b"a,b,c\n1,2,3\n4\n5,6\n7,8,9\n"
    (tmp_path / "t.csv").write_bytes(data)
    found = by_duckdb(tmp_path / "t.csv", ",", ["a", "b", "c"], {"a", "b", "c"})
    assert all(agree(facts(column), theirs) for column, theirs in zip(ours(data).columns, found, strict=True))


def test_long_rows_by_polars(tmp_path: Path) -> None:
    data = b"a,b\n1,2\n3,4,5,6\n7,8\n"
    (tmp_path / "t.csv").write_bytes(data)
    found = by_polars(tmp_path / "t.csv", ",", ["a", "b"], {"a", "b"})
    assert all(agree(facts(column), theirs) for column, theirs in zip(ours(data).columns, found, strict=True))


@pytest.mark.heavy
@pytest.mark.parametrize("peer", [by_polars, by_duckdb])
def test_agreement_on_200_000_rows(tmp_path: Path, peer: Any) -> None:
    data = _table(_rows(200_000)).encode()
    (tmp_path / "t.csv").write_bytes(data)
    table = ours(data)
    assert table.rows == 200_000
    names = [column.name for column in table.columns]
    found = peer(tmp_path / "t.csv", ",", names, {"id", "amount", "share"})
    for column, theirs in zip(table.columns, found, strict=True):
        assert agree(facts(column), theirs), (column.name, facts(column), theirs)

"""How the code tools tell what they found: rows of symbols, and below them what the counts rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from remit.base.text import visible
from remit.code.rows import DEFAULT_ROWS, MAX_ROWS
from remit.tools.contract import LARGEST

if TYPE_CHECKING:
    from remit.code.answers import Answers, Row
    from remit.code.graph import Graph

MAX_ROWS_BYTES = 46_000
"""Of rows; what stands around them has to fit within the output of a tool as well."""

Path = Annotated[
    str,
    msgspec.Meta(description="Directory to read, relative to the workspace; absent or empty: the whole workspace."),
]
Limit = Annotated[
    int,
    msgspec.Meta(
        ge=1, le=LARGEST, description=f"Most rows to return: {DEFAULT_ROWS} unless given, never more than {MAX_ROWS}."
    ),
]
Symbol = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=1000,
        description="Name of a symbol, such as 'parse' or 'Parser.parse'; 'path::name' tells which of several.",
    ),
]

LEGEND = "name kind path:lines in=symbols that mention it out=symbols it mentions (each at least)"

_STOPPED = {
    "files": "there are too many files",
    "entries": "there are too many entries",
    "bytes": "there is too much source",
    "time": "its time was up",
}
_CUT = {
    "time": "time",
    "nodes": "the number of their names",
    "size": "size",
    "depth": "depth",
    "minified": "being minified",
}


class Shown(msgspec.Struct, frozen=True):
    """rows: as they are told. total: that there are."""

    rows: list[Row]
    total: int

    def data(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(row) for row in self.rows]

    def lines(self) -> list[str]:
        return [row_line(row) for row in self.rows]

    def cut(self, what: str = "rows") -> list[str]:
        """The line that says that there are more."""
        more = self.total - len(self.rows)
        return [f"[{len(self.rows)} of {self.total} {what} shown; {more} more]"] if more else []


def shown(
    answers: Answers,
    nodes: Sequence[int],
    limit: int,
    *,
    hops: dict[int, int] | None = None,
    room: int = MAX_ROWS_BYTES,
) -> Shown:
    """The first rows, as many as the limit and the room in bytes allow."""
    rows = []
    for node in nodes[: min(limit, MAX_ROWS)]:
        row = answers.row(node, hops[node] if hops is not None else 0)
        room -= len(row_line(row).encode("utf-8", "replace")) + 1
        if room < 0:
            break
        rows.append(row)
    return Shown(rows, len(nodes))


def row_line(row: Row) -> str:
    hop = f"hop {row.hop} " if row.hop else ""
    place = f"{visible(row.path)}:{row.start}-{row.end}"
    test = " [test]" if row.test else ""
    return f"{hop}{visible(row.name)} {row.kind} {place} in={row.mentioned_by} out={row.mentions}{test}"


def named_note(answers: Answers, symbol: str, nodes: Sequence[int], what: str = "this is of all of them") -> list[str]:
    """Of a name that several symbols have, which ones, and what is told of them."""
    groups = answers.symbols.groups(nodes)
    if len(groups) < 2:
        return []
    graph, titles = answers.graph, answers.symbols
    some = [f"{visible(graph.path(node))}::{visible(titles.title(node))}" for node in groups[:5]]
    more = f" and {len(groups) - 5} more" if len(groups) > 5 else ""
    return [f"[{visible(symbol)} is ambiguous: {len(groups)} symbols have the name, {what}: {', '.join(some)}{more}]"]


def unclear_note(answers: Answers, nodes: Sequence[int]) -> list[str]:
    """Mentions of the name that could be of others too, and so are in no count."""
    names = {answers.graph.names.name[node] for node in nodes}
    number = sum(answers.graph.unclear.get(name, 0) for name in names)
    return [f"[{number} more mentions of the name could be of several things, and are not counted]"] if number else []


def footer(graph: Graph) -> list[str]:
    """What the counts rest on, and what was left out of them."""
    tree = graph.tree
    lines = [
        f"[files {len(tree.files)}, symbols {graph.symbols}, edges {graph.edges}, "
        f"unresolved {graph.unresolved}, ambiguous {graph.ambiguous}]"
    ]
    skipped = {
        "too large": tree.skipped.too_large,
        "binary": tree.skipped.binary,
        "unreadable": tree.skipped.unreadable,
        "withheld by rules": tree.skipped.withheld,
        "failed to parse": tree.skipped.failed,
    }
    if any(skipped.values()):
        lines.append(f"[skipped: {', '.join(f'{number} {what}' for what, number in skipped.items() if number)}]")
    if graph.broken:
        lines.append(f"[{graph.broken} files have errors of syntax: read around them]")
    if graph.cut:
        lines.append(f"[read in part: {', '.join(f'{number} for {_CUT[why]}' for why, number in graph.cut.items())}]")
    if tree.stopped:
        lines.append(f"[reading stopped early: {_STOPPED[tree.stopped]}; give a path to read less]")
    if not graph.importance.converged:
        lines.append(f"[ranks did not converge in {graph.importance.rounds} rounds]")
    return lines


def summary(graph: Graph) -> dict[str, Any]:
    """The same as data."""
    tree = graph.tree
    return {
        "files": len(tree.files),
        "symbols": graph.symbols,
        "edges": graph.edges,
        "resolved": graph.resolved,
        "unresolved": graph.unresolved,
        "ambiguous": graph.ambiguous,
        "skipped": msgspec.to_builtins(tree.skipped),
        "unknown": tree.unknown,
        "broken": graph.broken,
        "cut": dict(graph.cut),
        "stopped": tree.stopped,
        "converged": graph.importance.converged,
    }

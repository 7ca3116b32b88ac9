"""code_expand: the source of one symbol, with what it refers to and what refers to it."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import ToolContext
from remit.base.text import head, shorten, visible
from remit.code.tree import MAX_FILE_BYTES
from remit.tools.code._graph_tool import GraphTool, answers_below
from remit.tools.code._report import LEGEND, Path, Symbol, footer, named_note, shown, summary, unclear_note
from remit.workspace.newlines import unify

MAX_SOURCE_BYTES = 32 * 1024
MAX_NEIGHBOURS = 40
SMALL_FILE_LINES = 200
MOST = 0.5
"""The part of a small file above which a symbol is shown with all of it."""

_ROWS_BYTES = 7_000


class CodeExpandParams(msgspec.Struct, forbid_unknown_fields=True):
    symbol: Symbol
    path: Path = ""


class CodeExpand(GraphTool):
    """Return the source of one symbol with its immediate callers and callees.

    Where several symbols have the name, the highest ranked one is shown with its own callers and callees, and the
    others are named; `Type.name` or `path::name` tells which. The whole file is shown instead, and why, when the
    symbol is most of a small file. At most 32 KiB of source, 40 callers and 40 callees; both lists are lower bounds.
    A name that nothing has is refused with close names. Same languages and limits as code_map.
    """

    name = "code_expand"
    Params = CodeExpandParams

    def answer(self, params: CodeExpandParams, ctx: ToolContext) -> Outcome:
        return _expand(params, ctx)


class _Excerpt(msgspec.Struct, frozen=True):
    """Lines start to end of a file, numbered. whole: why it is all of the file, or "". cut: lines left out."""

    start: int
    end: int
    lines: list[str]
    whole: str = ""
    cut: int = 0


def _expand(params: CodeExpandParams, ctx: ToolContext) -> Outcome:
    answers = answers_below(params.path, ctx)
    nodes = answers.named(params.symbol)
    group = answers.symbols.group(nodes[0], nodes)
    row = answers.row(nodes[0])
    excerpt = _excerpt(ctx, row.path, row.start, row.end)
    callers = shown(answers, answers.callers(group), MAX_NEIGHBOURS, room=_ROWS_BYTES)
    callees = shown(answers, answers.callees(group), MAX_NEIGHBOURS, room=_ROWS_BYTES)
    data: dict[str, Any] = {
        "symbol": params.symbol,
        "definition": msgspec.to_builtins(row),
        "others": shown(answers, nodes[1:], 20).data(),
        "start": excerpt.start,
        "end": excerpt.end,
        "source": "\n".join(excerpt.lines),
        "wholeFile": excerpt.whole,
        "cutLines": excerpt.cut,
        "callers": callers.data(),
        "callersTotal": callers.total,
        "callees": callees.data(),
        "calleesTotal": callees.total,
        "tree": summary(answers.graph),
    }
    lines = [f"{visible(row.name)} {row.kind} {visible(row.path)}:{row.start}-{row.end}"]
    lines += [f"[{excerpt.whole}]"] if excerpt.whole else []
    lines += [f"{number}: {line}" for number, line in enumerate(excerpt.lines, excerpt.start)]
    lines += [f"[{excerpt.cut} more lines of it are left out]"] if excerpt.cut else []
    for title, found in (("callers", callers), ("callees", callees)):
        if found.rows:
            lines += [f"{title}, {LEGEND}:", *found.lines(), *found.cut()]
        else:
            lines.append(f"No {title} were found.")
    told = "the highest ranked is shown, with callers and callees of its own"
    notes = [*named_note(answers, params.symbol, nodes, told), *unclear_note(answers, nodes)]
    return done(data, "\n".join([*lines, *notes, *footer(answers.graph)]))


def _excerpt(ctx: ToolContext, path: str, start: int, end: int) -> _Excerpt:
    """Raises Failure(file_changed) when the file is no longer as it was read."""
    with ctx.files.open(path) as opened:
        source = opened.read(MAX_FILE_BYTES + 1)
    lines = unify(source.decode("utf-8", "replace")).text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if end > len(lines):
        raise Failure(ErrorCode.FILE_CHANGED, f"{shorten(path)} changed while it was read; call the tool again")
    total, of_it = len(lines), end - start + 1
    whole = ""
    if of_it < total <= SMALL_FILE_LINES and of_it >= MOST * total and len(source) <= MAX_SOURCE_BYTES:
        whole = f"the whole file is shown: the symbol is {of_it} of these {total} lines"
        start, end = 1, total
    room = MAX_SOURCE_BYTES
    kept: list[str] = []
    for line in lines[start - 1 : end]:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0 and kept:
            break
        kept.append(line if room >= 0 else head(line, MAX_SOURCE_BYTES))
    return _Excerpt(start, start + len(kept) - 1, kept, whole, end - start + 1 - len(kept))

"""code_refs: what refers to a symbol, or what it refers to."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from remit.base.calls import Outcome, done
from remit.base.ports import ToolContext
from remit.base.text import visible
from remit.code.rows import DEFAULT_ROWS
from remit.tools.code._graph_tool import GraphTool, answers_below
from remit.tools.code._report import (
    LEGEND,
    Limit,
    Path,
    Symbol,
    footer,
    named_note,
    shown,
    summary,
    unclear_note,
)

Direction = Literal["callers", "callees"]


class CodeRefsParams(msgspec.Struct, forbid_unknown_fields=True):
    symbol: Symbol
    direction: Annotated[
        Direction,
        msgspec.Meta(description="callers: symbols that refer to this one; callees: those it refers to."),
    ] = "callers"
    path: Path = ""
    limit: Limit = DEFAULT_ROWS


class CodeRefs(GraphTool):
    """List the symbols that refer to a symbol, or those it refers to: calls, uses, types and inheritance.

    The list is a lower bound: dynamic dispatch, callbacks and macros leave no trace, and an empty list means that
    none was found. Where several symbols have the name, the list is of all of them and says so; `Type.name` or
    `path::name` tells which. A name that nothing has is refused with close names. What is referred to at the top of
    a file is listed as the file. Up to 200 rows, 2,000 with limit. Same languages and limits as code_map.
    """

    name = "code_refs"
    Params = CodeRefsParams

    def answer(self, params: CodeRefsParams, ctx: ToolContext) -> Outcome:
        return _refs(params, ctx)


def _refs(params: CodeRefsParams, ctx: ToolContext) -> Outcome:
    answers = answers_below(params.path, ctx)
    nodes = answers.named(params.symbol)
    backwards = params.direction == "callers"
    found = shown(answers, answers.callers(nodes) if backwards else answers.callees(nodes), params.limit)
    of = shown(answers, nodes, 20)
    data = {
        "symbol": params.symbol,
        "direction": params.direction,
        "definitions": of.data(),
        "ambiguous": len(answers.symbols.groups(nodes)) > 1,
        "rows": found.data(),
        "total": found.total,
        "tree": summary(answers.graph),
    }
    head = f"{params.direction} of {visible(params.symbol)}, {LEGEND}"
    lines = [head, *found.lines()] if found.rows else [f"No {params.direction} of {visible(params.symbol)} were found."]
    notes = [*found.cut(), *named_note(answers, params.symbol, nodes)]
    if backwards:
        notes += unclear_note(answers, nodes)
    return done(data, "\n".join([*lines, *notes, *footer(answers.graph)]))

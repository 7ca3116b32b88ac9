"""code_impact: what a change of a symbol could reach, and the tests that reach it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.ports import ToolContext
from remit.base.text import visible
from remit.code.rows import DEFAULT_HOPS, DEFAULT_ROWS, MAX_HOPS
from remit.tools.code._graph_tool import GraphTool, answers_below
from remit.tools.code._report import (
    LEGEND,
    MAX_ROWS_BYTES,
    Limit,
    Path,
    Symbol,
    footer,
    named_note,
    shown,
    summary,
    unclear_note,
)


class CodeImpactParams(msgspec.Struct, forbid_unknown_fields=True):
    symbol: Symbol
    depth: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=MAX_HOPS,
            description="Hops to walk backwards. Beyond a few, the reach tells of the repository, not of the change.",
        ),
    ] = DEFAULT_HOPS
    path: Path = ""
    limit: Limit = DEFAULT_ROWS


class CodeImpact(GraphTool):
    """Show what a change to a symbol could reach, and which tests already reach it.

    Walks backwards along calls, uses and inheritance, 3 hops unless depth says otherwise (1 to 8), from the symbol
    and all that lies in it; from a constructor also from its type. Rows carry their hop, the nearest first; tests are
    listed by themselves. Mentions as a type alone are not followed. The reach is a lower bound: dynamic dispatch,
    callbacks and macros leave no trace. A name that nothing has is refused with close names. Up to 200 rows and as
    many tests, 2,000 with limit. Same languages and limits as code_map.
    """

    name = "code_impact"
    Params = CodeImpactParams

    def answer(self, params: CodeImpactParams, ctx: ToolContext) -> Outcome:
        return _impact(params, ctx)


def _impact(params: CodeImpactParams, ctx: ToolContext) -> Outcome:
    answers = answers_below(params.path, ctx)
    nodes = answers.named(params.symbol)
    reached = answers.impact(nodes, params.depth, ctx.check_cancelled)
    rows = shown(answers, reached.rows, params.limit, hops=reached.hops, room=MAX_ROWS_BYTES * 2 // 3)
    tests = shown(answers, reached.tests, params.limit, hops=reached.hops, room=MAX_ROWS_BYTES // 3)
    data = {
        "symbol": params.symbol,
        "depth": params.depth,
        "definitions": shown(answers, nodes, 20).data(),
        "ambiguous": len(answers.symbols.groups(nodes)) > 1,
        "rows": rows.data(),
        "total": rows.total,
        "tests": tests.data(),
        "testsTotal": tests.total,
        "types": reached.types,
        "tree": summary(answers.graph),
    }
    symbol = visible(params.symbol)
    lines = [f"reached from {symbol} within {params.depth} hops, {LEGEND}", *rows.lines(), *rows.cut()]
    if not rows.rows:
        lines = [f"Nothing that reaches {symbol} was found, tests apart."]
    if tests.rows:
        lines += ["tests that reach it:", *tests.lines(), *tests.cut("tests")]
    else:
        lines.append("No tests that reach it were found.")
    notes = named_note(answers, params.symbol, nodes)
    if reached.types:
        notes.append(f"[{reached.types} symbols mention it as a type only; code_refs lists them]")
    notes += unclear_note(answers, nodes)
    return done(data, "\n".join([*lines, *notes, *footer(answers.graph)]))

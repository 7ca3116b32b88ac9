"""code_context: the symbols to read before a change that is told in words."""

from __future__ import annotations

from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.ports import ToolContext
from remit.code.rows import DEFAULT_ROWS
from remit.tools.code._graph_tool import GraphTool, answers_below
from remit.tools.code._report import LEGEND, Limit, Path, footer, shown, summary

_CONFIDENCE = {
    "high": "the first row stands well apart from the rest",
    "medium": "the first row stands somewhat apart from the rest",
    "low": "no row stands apart",
}


class CodeContextParams(msgspec.Struct, forbid_unknown_fields=True):
    task: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=20_000,
            description="The change you are about to make, in your own words; name the symbols and files you know of.",
        ),
    ]
    path: Path = ""
    limit: Limit = DEFAULT_ROWS


class CodeContext(GraphTool):
    """List the symbols worth reading before a specific change, best first.

    Names in the task are looked up as they are; its other words are held against the words in names, in first
    lines of documentation, and in paths, rare words counting more; what the matches rely on and what relies on
    them comes with them. Confidence tells how far the first row is from the next. Where nothing matches, it says
    so and lists nothing. Up to 200 rows, 2,000 with limit. Same languages, lower bounds and limits as code_map.
    """

    name = "code_context"
    Params = CodeContextParams

    def answer(self, params: CodeContextParams, ctx: ToolContext) -> Outcome:
        return _context(params, ctx)


def _context(params: CodeContextParams, ctx: ToolContext) -> Outcome:
    answers = answers_below(params.path, ctx)
    found = answers.context(params.task, ctx.check_cancelled)
    rows = shown(answers, [hit.node for hit in found.hits], params.limit)
    data = {
        "rows": [
            {**row, "score": hit.score, "matched": list(hit.matched)}
            for row, hit in zip(rows.data(), found.hits, strict=False)
        ],
        "total": rows.total,
        "confidence": found.confidence,
        "identifiers": list(found.query.identifiers),
        "words": list(found.query.words),
        "tree": summary(answers.graph),
    }
    if not rows.rows:
        lines = ["Nothing matched: no symbol is called or documented like anything in the task. Name symbols or files."]
    else:
        lines = [LEGEND, *rows.lines(), *rows.cut()]
        lines.append(f"[confidence {found.confidence}: {_CONFIDENCE[found.confidence]}]")
    notes = footer(answers.graph)
    if not found.converged:
        notes.append("[ranks around the matches did not converge]")
    return done(data, "\n".join([*lines, *notes]))

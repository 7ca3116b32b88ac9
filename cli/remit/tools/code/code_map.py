"""code_map: the symbols of a source tree by their importance."""

from __future__ import annotations

import msgspec

from remit.base.calls import Outcome, done
from remit.base.ports import ToolContext
from remit.code.rows import DEFAULT_ROWS
from remit.tools.code._graph_tool import GraphTool, answers_below
from remit.tools.code._report import LEGEND, Limit, Path, footer, shown, summary


class CodeMapParams(msgspec.Struct, forbid_unknown_fields=True):
    path: Path = ""
    limit: Limit = DEFAULT_ROWS


class CodeMap(GraphTool):
    """Rank the symbols of a source tree by importance and list the top ones: where to begin in code you do not know.

    Reads 37 languages and formats. Importance is how much code that is no test relies on a symbol, directly and
    through others. Counts are lower bounds: calls by dynamic dispatch, callbacks and macros leave no trace, and a
    name that could be several things counts for none of them. Up to 200 rows, 2,000 with limit; at most 20,000
    files of 1 MiB each are read, in 60 seconds; ignored files, dependencies and credential files are left out.
    """

    name = "code_map"
    Params = CodeMapParams

    def answer(self, params: CodeMapParams, ctx: ToolContext) -> Outcome:
        return _map(params, ctx)


def _map(params: CodeMapParams, ctx: ToolContext) -> Outcome:
    answers = answers_below(params.path, ctx)
    found = shown(answers, answers.most_important(), params.limit)
    data = {"rows": found.data(), "total": found.total, "tree": summary(answers.graph)}
    lines = [LEGEND, *found.lines()] if found.rows else ["No symbols found."]
    return done(data, "\n".join([*lines, *found.cut("symbols"), *footer(answers.graph)]))

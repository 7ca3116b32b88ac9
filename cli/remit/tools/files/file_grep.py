"""file_grep: the lines of the workspace that match a regular expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import Entry, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten, visible
from remit.tools.contract import LARGEST, Tool
from remit.tools.files._quantity import quantity
from remit.tools.files._search_notes import bracketed, brackets_note, elsewhere_note, left_out_notes, stopped_note
from remit.workspace.search import LinesFound, default_engine, find_lines, find_lines_of
from remit.workspace.search_glob import NamePattern, compile_glob
from remit.workspace.search_regex import LinePattern, read_pattern
from remit.workspace.search_rows import Row, Span
from remit.workspace.search_scan import Engine

MAX_MATCHES = 100
MAX_CONTEXT = 50

_Context = Annotated[int, msgspec.Meta(ge=0, le=MAX_CONTEXT)]


class FileGrepParams(msgspec.Struct, forbid_unknown_fields=True):
    pattern: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            description="Matched within one line.",
        ),
    ]
    path: Annotated[str, msgspec.Meta(description="File or directory to search.")] = "."
    include: Annotated[str | None, msgspec.Meta(description="Glob of files.")] = None
    glob: Annotated[str | None, msgspec.Meta(description="As include.")] = None
    after: Annotated[_Context | None, msgspec.Meta(description="Lines after a match.")] = msgspec.field(
        default=None, name="-A"
    )
    before: Annotated[_Context | None, msgspec.Meta(description="Lines before a match.")] = msgspec.field(
        default=None, name="-B"
    )
    around: Annotated[_Context | None, msgspec.Meta(description="Both.")] = msgspec.field(default=None, name="-C")
    head_limit: Annotated[int, msgspec.Meta(ge=1, le=LARGEST, description="Matches, 100 at most.")] = MAX_MATCHES

    def __post_init__(self) -> None:
        if self.include is not None and self.glob is not None and self.include != self.glob:
            raise ValueError("include and glob are two names of one filter and differ; give one")

    @property
    def span(self) -> Span:
        around = self.around or 0
        return Span(
            around if self.before is None else self.before,
            around if self.after is None else self.after,
        )


class FileGrep(Tool):
    """Find lines that match a regular expression, in text files up to 5 MiB: up to 100 as `path:line: text`, context as
    `path-line- text`, sorted by path, cut at 2,000 characters.

    Linear-time syntax: no look-around, no backreferences; (?i) for any case. Ignored files and dependencies are left
    out, as notes tell, unless `path` names them; hidden files are not.
    """

    name = "file_grep"
    toolset = "files"
    notes = """\
Paths are relative to the searched directory. A brace that repeats nothing stands for itself, and a match lies within
one line. Left out, and told in notes: what .gitignore ignores, nested repositories, caches and dependencies such as
node_modules, target, dist, .venv, binary files, files over 5 MiB, and links; .git, .ssh and credential files always.
Naming a left-out directory or file as path searches it. An expression or glob that is not valid is an error, never
"no matches"."""
    effects = frozenset({Effect.READ})
    bounds = Bounds()
    repeatable = True
    Params = FileGrepParams

    def __init__(self, engine: Engine | None = None) -> None:
        """engine: None for what is installed."""
        self._engine = engine

    def resources(self, params: FileGrepParams, world: World) -> Sequence[Resource]:
        return [world.tree(world.relative(params.path), Effect.READ)]

    async def run(self, params: FileGrepParams, ctx: ToolContext) -> Outcome:
        pattern = read_pattern(params.pattern)
        include = params.include if params.include is not None else params.glob
        wanted = compile_glob(include) if include is not None else None
        outcome: Outcome = await ctx.in_thread(_search, self._engine or default_engine(), params, pattern, wanted, ctx)
        return outcome


def _search(
    engine: Engine, params: FileGrepParams, pattern: LinePattern, include: NamePattern | None, ctx: ToolContext
) -> Outcome:
    top = ctx.files.stat(params.path)
    most = min(params.head_limit, MAX_MATCHES)
    if top.kind == "directory":
        with ctx.files.ground(params.path) as ground:
            found = find_lines(engine, ground, pattern, include, most, params.span, ctx.check_cancelled)
        prefix = "" if top.name == "." else f"{top.name}/"
    else:
        _check_file(top, include)
        found = find_lines_of(engine, ctx.files, params.path, pattern, most, params.span, ctx.check_cancelled)
        prefix = top.name.rpartition("/")[0]
        prefix = f"{prefix}/" if prefix else ""
    warnings = _warnings(engine, pattern)
    if include is not None and not found.searched:
        warnings += brackets_note(include)
    return done(_data(top.name, found, warnings), _text(found, prefix, params.span, warnings))


def _check_file(top: Entry, include: NamePattern | None) -> None:
    if top.kind != "file":
        raise Failure(ErrorCode.NOT_A_FILE, f"{shorten(top.name)} is neither a file nor a directory")
    if include is not None and not include.matches(top.name):
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS,
            f"include {shorten(include.text)} leaves out {shorten(top.name)}, the only file to search; leave it away",
        )


def _warnings(engine: Engine, pattern: LinePattern) -> list[str]:
    if engine.name != "library" or not pattern.word_boundary:
        return []
    return ["ripgrep is not installed: \\b sees only ASCII letters as parts of words"]


def _data(path: str, found: LinesFound, warnings: list[str]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "path": path,
        "rows": [msgspec.to_builtins(row) for row in found.rows],
        "shown": found.shown,
        "total": found.total,
        "totalExact": found.exact,
        "filesMatched": found.files,
        "filesSearched": found.searched,
        "leftOut": msgspec.to_builtins(found.left_out),
    }
    if found.stopped:
        data["stoppedEarly"] = found.stopped
    if found.elsewhere:
        data["elsewhere"] = msgspec.to_builtins(found.elsewhere)
    if warnings:
        data["warnings"] = warnings
    return data


def _text(found: LinesFound, prefix: str, span: Span, warnings: list[str]) -> str:
    matches = quantity(found.total, "match", "matches", exact=found.exact)
    notes = [f"showing {found.shown} of {matches} in {found.files} of {quantity(found.searched, 'file')} searched"]
    notes += stopped_note(found.stopped)
    notes += elsewhere_note(found.elsewhere)
    notes += [f"warning: {each}" for each in warnings]
    notes += left_out_notes(found.left_out)
    rows = list(_rows(found.rows, prefix, bool(span.before or span.after))) or ["No matches found."]
    return "\n".join([*rows, *bracketed(notes)])


def _rows(rows: Sequence[Row], prefix: str, parted: bool) -> Iterator[str]:
    """parted: with a line of dashes where lines are left out between rows."""
    previous: Row | None = None
    for row in rows:
        if parted and previous is not None and (previous.file != row.file or previous.line + 1 != row.line):
            yield "--"
        previous = row
        mark = ":" if row.match else "-"
        tail = f" [line cut: {row.cut} characters]" if row.cut else ""
        yield f"{visible(row.file.removeprefix(prefix))}{mark}{row.line}{mark} {row.text}{tail}"

"""file_glob: the files of the workspace whose names fit a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten, visible
from remit.tools.contract import Tool
from remit.tools.files._quantity import quantity
from remit.tools.files._search_notes import bracketed, brackets_note, elsewhere_note, left_out_notes, stopped_note
from remit.workspace.search import NamesFound, find_names
from remit.workspace.search_glob import NamePattern, compile_glob

MAX_FILES = 100


class FileGlobParams(msgspec.Struct, forbid_unknown_fields=True):
    pattern: Annotated[
        str,
        msgspec.Meta(min_length=1, description="Such as '*.py' or 'src/**/*.{ts,tsx}'."),
    ]
    path: Annotated[str, msgspec.Meta(description="Directory to search.")] = "."


class FileGlob(Tool):
    """Find files by name: up to 100 paths, sorted, relative to `path`.

    `*` and `?` stay within one part of a path, `**` spans directories, `{a,b}` is a choice. Without a slash, names in
    any directory fit. Ignored files and dependencies are left out, as notes tell, unless `path` names them; hidden
    files are not.
    """

    name = "file_glob"
    toolset = "files"
    notes = """\
All else in a pattern, square brackets included, stands for itself, and a bracket or brace without its partner is
refused. A pattern with a slash is held against the path from the searched directory. A note tells how many files
there are. Left out, and told in notes: what .gitignore ignores, nested repositories, caches and dependencies such as
node_modules, target, dist, .venv, and links; .git, .ssh and credential files always. Naming a left-out directory as
path searches it."""
    effects = frozenset({Effect.READ})
    bounds = Bounds()
    repeatable = True
    Params = FileGlobParams

    def resources(self, params: FileGlobParams, world: World) -> Sequence[Resource]:
        return [world.tree(world.relative(params.path), Effect.READ)]

    async def run(self, params: FileGlobParams, ctx: ToolContext) -> Outcome:
        pattern = compile_glob(params.pattern)
        outcome: Outcome = await ctx.in_thread(_search, params, pattern, ctx)
        return outcome


def _search(params: FileGlobParams, pattern: NamePattern, ctx: ToolContext) -> Outcome:
    top = ctx.files.stat(params.path)
    if top.kind != "directory":
        raise Failure(ErrorCode.NOT_A_DIRECTORY, f"{shorten(top.name)} is no directory; give the one to search")
    with ctx.files.ground(params.path) as ground:
        found = find_names(ground, pattern, MAX_FILES, ctx.check_cancelled)
    return done(_data(top.name, found), _text(found, pattern))


def _data(path: str, found: NamesFound) -> dict[str, Any]:
    data: dict[str, Any] = {
        "path": path,
        "files": found.names,
        "total": found.total,
        "totalExact": found.exact,
        "leftOut": msgspec.to_builtins(found.left_out),
    }
    if found.stopped:
        data["stoppedEarly"] = found.stopped
    if found.elsewhere:
        data["elsewhere"] = msgspec.to_builtins(found.elsewhere)
    return data


def _text(found: NamesFound, pattern: NamePattern) -> str:
    notes = []
    if found.total > len(found.names) or not found.exact:
        notes.append(f"showing {len(found.names)} of {quantity(found.total, 'file', exact=found.exact)}")
    notes += stopped_note(found.stopped)
    notes += [] if found.names else brackets_note(pattern)
    notes += elsewhere_note(found.elsewhere)
    notes += left_out_notes(found.left_out)
    rows = [visible(name) for name in found.names] or ["No files found."]
    return "\n".join([*rows, *bracketed(notes)])

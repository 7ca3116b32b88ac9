"""list_files: what lies in a directory of the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, Bounds
from remit.base.ports import Entry, ToolContext, Walk, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import Tool
from remit.workspace.pages import json_bytes

MAX_ENTRIES = 1000
MAX_DEPTH = 6
_FRAME_BYTES = 2 * KIB


class ListFilesParams(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[
        str, msgspec.Meta(description="Directory, relative to the workspace, with forward slashes; '.' is all of it.")
    ] = "."
    recursive: Annotated[bool, msgspec.Meta(description="Also list what lies below, up to six levels deep.")] = False


class ListFiles(Tool):
    """List files and folders of the workspace.

    Each entry has its path relative to the workspace, its type (file, directory, other) and, for
    files, its size in bytes; a symbolic link has link: true and the type of what it leads to.
    recursive goes up to six levels deep. At most 1,000 entries are returned, sorted by name, each
    folder before what it holds; truncated says whether the list was cut. withheld counts entries
    that rules keep back, unreadable those that the file system does not show; notes explain.
    """

    name = "list_files"
    toolset = "documents"
    effects = frozenset({Effect.READ})
    bounds = Bounds(output_bytes=256 * KIB)
    repeatable = True
    Params = ListFilesParams

    def resources(self, params: ListFilesParams, world: World) -> Sequence[Resource]:
        return [world.tree(params.path, Effect.READ)]

    async def run(self, params: ListFilesParams, ctx: ToolContext) -> Outcome:
        return done(await ctx.in_thread(_list, params, ctx, self.bounds.output_bytes))


def _list(params: ListFilesParams, ctx: ToolContext, max_bytes: int) -> dict[str, Any]:
    top = ctx.files.stat(params.path)
    if top.kind != "directory":
        raise Failure(
            ErrorCode.NOT_A_DIRECTORY, f"{shorten(top.name)} is not a directory; read_file reads a single file"
        )
    depth = MAX_DEPTH if params.recursive else 1
    walk = ctx.files.walk(params.path, depth)
    room = max_bytes - _FRAME_BYTES - json_bytes(top.name)
    shown: list[dict[str, Any]] = []
    unopened = 0
    cut = ""
    for entry in walk:
        ctx.check_cancelled()
        item = _item(entry)
        room -= json_bytes(item) + 1
        if len(shown) == MAX_ENTRIES or room < 0:
            cut = f"the first {len(shown)} entries only" + (": more would not fit the result" if room < 0 else "")
            break
        shown.append(item)
        unopened += params.recursive and entry.kind == "directory" and _level(top.name, entry.name) == MAX_DEPTH
    return {
        "path": top.name,
        "entries": shown,
        "truncated": bool(cut),
        "withheld": walk.withheld,
        "unreadable": walk.unreadable,
        "notes": _notes(walk, cut, unopened),
    }


def _item(entry: Entry) -> dict[str, Any]:
    item: dict[str, Any] = {"path": entry.name, "type": entry.kind}
    if entry.kind == "file":
        item["size"] = entry.size
    if entry.link:
        item["link"] = True
    return item


def _level(top: str, name: str) -> int:
    """How many levels below the directory `top` an entry lies, from 1."""
    return name.count("/") + 1 - (0 if top == "." else top.count("/") + 1)


def _notes(walk: Walk, cut: str, unopened: int) -> list[str]:
    facts = [
        (bool(cut), f"{cut}; list a folder below to see more"),
        (unopened, f"{unopened} folders at level {MAX_DEPTH} were not opened; list them to see what they hold"),
        (walk.withheld, f"{walk.withheld} entries are withheld by rules"),
        (walk.unreadable, f"{walk.unreadable} folders or entries could not be read"),
        (walk.outside, f"{walk.outside} links lead out of the workspace or in a circle and were not followed"),
        (walk.unfollowed, f"{walk.unfollowed} linked folders were not opened here; list them by their path"),
        (walk.overfull, f"{walk.overfull} folders hold too many entries to list them all"),
    ]
    return [text for seen, text in facts if seen]

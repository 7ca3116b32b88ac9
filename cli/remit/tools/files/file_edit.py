"""file_edit: exact replacement in one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.limits import Bounds
from remit.base.ports import Change, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import visible
from remit.tools.contract import Tool
from remit.tools.files import _texts
from remit.workspace.coded import refuse_surrogates
from remit.workspace.difference import compare
from remit.workspace.newlines import unify
from remit.workspace.replace import replace


class FileEditParams(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="Path in the workspace.")]
    oldString: Annotated[str, msgspec.Meta(description="Exact text, without line numbers.")]
    newString: Annotated[str, msgspec.Meta(description="What takes its place; empty removes.")]
    replaceAll: Annotated[bool | None, msgspec.Meta(description="All matches.")] = None


class FileEdit(Tool):
    """Replace an exact text, which may span lines, in a text file up to 5 MiB.

    It must occur exactly once unless replaceAll is set; else the error says where. A file that changed since you last
    read or wrote it is refused: read it again.
    """

    name = "file_edit"
    toolset = "files"
    notes = """\
When the text is not there, the error names the nearest line and the first differing character; when it occurs several
times, their lines. Line ends are matched and kept as the file has them; so are encoding, byte order mark,
permissions, and every byte outside of the replaced text. A file that changed on disk since the model last read or
wrote it is refused as file_changed. The result shows what changed."""
    # The result shows lines of the file.
    effects = frozenset({Effect.READ, Effect.WRITE})
    bounds = Bounds()
    Params = FileEditParams

    def resources(self, params: FileEditParams, world: World) -> Sequence[Resource]:
        name = world.relative(params.filePath)
        return [world.path(name, Effect.READ), world.path(name, Effect.WRITE)]

    async def run(self, params: FileEditParams, ctx: ToolContext) -> Outcome:
        outcome: Outcome = await ctx.in_thread(_edit, params, ctx)
        return outcome


def _edit(params: FileEditParams, ctx: ToolContext) -> Outcome:
    refuse_surrogates(params.oldString, "oldString")
    refuse_surrogates(params.newString, "newString")
    original = ctx.edits.read(params.filePath, _texts.MAX_FILE_BYTES)
    coded = _texts.editable(original)
    _texts.refuse_stale(ctx, original)
    before = unify(coded.text)
    after = replace(before, params.oldString, params.newString, original.name, everywhere=bool(params.replaceAll))
    content = _texts.encoded(after.text, coded.coding, original.name)
    diff = compare(before.text, after.unified, original.name, after.regions)
    stamp = _texts.publish(ctx, Change(original, content))
    data = {
        "kind": "edit",
        "path": original.name,
        "existed": True,
        "applied": True,
        "replacements": after.times,
        **_texts.stored(coded.coding, before.style),
        "links": original.links,
        "diff": _texts.diff_data(diff, original.name),
        "stamp": stamp,
    }
    times = "" if after.times == 1 else f", {after.times} replacements"
    told = f"edited {visible(original.name)}: {_texts.summary(diff)}{times}\n"
    return done(data, told + _texts.remarks(coded.coding, before.style, original) + _texts.shown(diff))

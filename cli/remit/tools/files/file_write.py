"""file_write: the whole content of one file."""

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
from remit.workspace.coded import UTF_8, refuse_surrogates
from remit.workspace.difference import Diff, compare
from remit.workspace.newlines import style_of


class FileWriteParams(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="Path in the workspace.")]
    content: Annotated[str, msgspec.Meta(description="All of its text.")]


class FileWrite(Tool):
    """Write a whole text file, up to 5 MiB: make it, with its directories, or replace it.

    A file that changed since you last read or wrote it is refused: read it again. To change parts, edit it.
    """

    name = "file_write"
    toolset = "files"
    notes = """\
Of an existing file, which must be text, encoding, byte order mark and permissions stay, and content that its encoding
cannot hold is refused. New files are UTF-8. Line ends are written as given. A file that changed on disk since the
model last read or wrote it is refused as file_changed. The result shows what changed."""
    # The result shows lines of the file that was there.
    effects = frozenset({Effect.READ, Effect.WRITE})
    bounds = Bounds()
    Params = FileWriteParams

    def resources(self, params: FileWriteParams, world: World) -> Sequence[Resource]:
        name = world.relative(params.filePath)
        return [world.path(name, Effect.READ), world.path(name, Effect.WRITE)]

    async def run(self, params: FileWriteParams, ctx: ToolContext) -> Outcome:
        outcome: Outcome = await ctx.in_thread(_write, params, ctx)
        return outcome


def _write(params: FileWriteParams, ctx: ToolContext) -> Outcome:
    refuse_surrogates(params.content, "the content")
    original = ctx.edits.read(params.filePath, _texts.MAX_FILE_BYTES)
    coding, before = UTF_8, None
    if original.content is not None:
        coded = _texts.text_of(original)
        coding, before = coded.coding, coded.text
    _texts.refuse_stale(ctx, original)
    text = params.content.removeprefix("\ufeff") if coding.mark else params.content
    content = _texts.encoded(text, coding, original.name)
    style = style_of(text)
    data = {"kind": "write", "path": original.name, "existed": before is not None, "applied": False}
    data |= _texts.stored(coding, style)
    name = visible(original.name)
    if content == original.content:
        data |= {"diff": _texts.diff_data(Diff("", 0, 0), original.name)}
        data |= {"stamp": _texts.saw(ctx, original, original.mark)}
        return done(data, f"{name} has this content already; nothing was written\n")
    diff = compare(before, text, original.name)
    stamp = _texts.publish(ctx, Change(original, content))
    data |= {"applied": True, "links": original.links, "diff": _texts.diff_data(diff, original.name), "stamp": stamp}
    if before is None:
        return done(data, f"made {name}: {_texts.summary(diff)}, {len(content)} bytes\n")
    told = f"wrote {name}: {_texts.summary(diff)}\n{_texts.remarks(coding, style, original)}"
    was = style_of(before)
    if was != style and "none" not in (was, style):
        told += f"[line ends were {_texts.STYLES[was]}, now they are {_texts.STYLES[style]}]\n"
    return done(data, told + _texts.shown(diff))

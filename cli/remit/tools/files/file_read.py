"""file_read: a file in numbered lines, or what lies in a directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, Bounds
from remit.base.ports import Entry, Original, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import head, scrub, shorten
from remit.tools.contract import LARGEST, Tool
from remit.tools.files import _texts
from remit.tools.files._entries import MAX_SCANNED, entry_data, entry_shown
from remit.tools.files._quantity import withheld_note
from remit.workspace.coded import Coded
from remit.workspace.newlines import unify

MAX_LINES = 2000
MAX_LINE_CHARS = 2000
MAX_SHOWN_BYTES = 50 * KIB
MAX_ENTRIES = 100

_FRAME_BYTES = 1 * KIB
"""Room for the remarks below the lines."""

_REMARK_LINES = 8
_LOOKAHEAD = 64


class FileReadParams(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="File or directory; '.' is the workspace.")]
    offset: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] | None, msgspec.Meta(description="First line, from 1.")
    ] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=MAX_LINES)] | None,
        msgspec.Meta(description="Lines; default 2,000."),
    ] = None


class FileRead(Tool):
    """Read a text file up to 5 MiB, or list a directory (the first 100 entries).

    Lines come as `<number>: <text>`, the number no part of the text: at most 2,000 and 50 KiB, cut at 2,000 characters
    each.
    """

    name = "file_read"
    toolset = "files"
    notes = """\
A last line end shows as one more, empty line. Binary content is refused (binary_content), by what a file holds, not
by its name. Text that is not UTF-8 is decoded, and the result says from what; bytes that are no text show as U+FFFD.
Entries come by name, directories with a slash at the end."""
    effects = frozenset({Effect.READ})
    bounds = Bounds(output_lines=MAX_LINES + _REMARK_LINES)
    repeatable = True
    Params = FileReadParams

    def resources(self, params: FileReadParams, world: World) -> Sequence[Resource]:
        return [world.place(world.relative(params.filePath), Effect.READ)]

    async def run(self, params: FileReadParams, ctx: ToolContext) -> Outcome:
        outcome: Outcome = await ctx.in_thread(_read, params, ctx)
        return outcome


def _read(params: FileReadParams, ctx: ToolContext) -> Outcome:
    entry = ctx.files.stat(params.filePath)
    if entry.kind == "directory":
        return _directory(entry, params, ctx)
    original = ctx.files.read(params.filePath, _texts.MAX_FILE_BYTES)
    return _file(original, _texts.text_of(original), params, ctx)


# -- a file ------------------------------------------------------------------------------------


def _file(original: Original, coded: Coded, params: FileReadParams, ctx: ToolContext) -> Outcome:
    unified = unify(scrub(coded.text))
    lines = unified.text.split("\n")
    first = params.offset or 1
    wanted = lines[first - 1 :][: MAX_LINES if params.limit is None else params.limit]
    shown, cut = _numbered(wanted, first)
    last = first + len(shown) - 1
    truncated = last < len(lines)
    data: dict[str, Any] = {
        "kind": "file",
        "path": original.name,
        "text": "\n".join(wanted[: len(shown)]),
        "lineStart": first,
        "lineEnd": last,
        "totalLines": len(lines),
        "truncated": truncated,
        "size": len(original.content or b""),
        **_texts.stored(coded.coding, unified.style),
        "replaced": coded.strays,
    }
    whole = first == 1 and not truncated and not cut
    if whole or ctx.seen(scrub(original.real)):
        # Who has seen all of it before, and now looks at a part, knows that it may have changed.
        data["stamp"] = _texts.saw(ctx, original, original.mark)
    text = "".join(shown)
    if not shown:
        none = "limit 0 asks for no lines" if params.limit == 0 else f"no lines from {first} on"
        text = f"[{none}: the file has {len(lines)}]\n"
    elif truncated:
        text += f"[lines {first}-{last} of {len(lines)}; offset {last + 1} goes on]\n"
    if coded.strays:
        text += f"[{coded.strays} bytes are no text in it and show as U+FFFD]\n"
    return done(data, text + _texts.remarks(coded.coding, unified.style))


def _numbered(lines: Sequence[str], first: int) -> tuple[list[str], bool]:
    """The lines with their numbers that fit, and whether any was cut."""
    shown: list[str] = []
    room = MAX_SHOWN_BYTES - _FRAME_BYTES
    cut = False
    for number, line in enumerate(lines, first):
        text = line if len(line) <= MAX_LINE_CHARS else _shortened(line)
        piece = f"{number}: {text}\n"
        room -= len(piece.encode())
        if room < 0:
            break
        cut |= text is not line
        shown.append(piece)
    return shown, cut


def _shortened(line: str) -> str:
    """The start of a long line, ending on a whole character."""
    start = line[:MAX_LINE_CHARS]
    kept = head(line[: MAX_LINE_CHARS + _LOOKAHEAD], len(start.encode()))
    return f"{kept or start}... [line truncated: it has {len(line)} characters]"


# -- a directory -------------------------------------------------------------------------------


def _directory(top: Entry, params: FileReadParams, ctx: ToolContext) -> Outcome:
    if params.offset is not None or params.limit is not None:
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS, f"{shorten(top.name)} is a directory: offset and limit are for files"
        )
    walk = ctx.files.walk(params.filePath, 1)
    entries: list[Entry] = []
    total = 0
    for entry in walk:
        ctx.check_cancelled()
        if total == MAX_SCANNED:
            break
        total += 1
        if total <= MAX_ENTRIES:
            entries.append(entry)
    told = [entry_data(entry, ctx) for entry in entries]
    data = {
        "kind": "directory",
        "path": top.name,
        "entries": told,
        "total": total,
        "truncated": total > len(told),
        "withheld": walk.withheld,
    }
    text = "".join(f"{entry_shown(each)}\n" for each in told)
    if total > len(told):
        more = "at least " if total == MAX_SCANNED else ""
        text += f"[the first {len(told)} of {more}{total} entries; file_glob finds more by name]\n"
    if walk.withheld:
        text += f"[{withheld_note(walk.withheld)}]\n"
    return done(data, text or "[the directory is empty]\n")

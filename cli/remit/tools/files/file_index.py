"""file_index: what a source file holds, or what lies in a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, MIB, Bounds
from remit.base.outline import Outline, Range
from remit.base.ports import Entry, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import Tool
from remit.tools.files import _texts
from remit.tools.files._entries import MAX_SCANNED, entry_data, entry_shown
from remit.tools.files._quantity import withheld_note
from remit.workspace.decode import looks_binary
from remit.workspace.newlines import unify
from remit.workspace.outline import MAX_OUTPUT_BYTES, Semantic, Shown, bounded, outline_of, shown

MAX_SOURCE_BYTES = 2 * MIB
MAX_ENTRIES = 1000
MAX_PATH_BYTES = 4096

_FRAME_BYTES = 1 * KIB
"""Room for the remarks below the lines."""

_MINIFIED = "minified: many definitions share a line, and only the first of them are told; file_grep finds names"


class FileIndexParams(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[
        str,
        msgspec.Meta(description="File or directory; '.' is the whole workspace."),
    ]


class FileIndex(Tool):
    """Outline a source file, its declarations or headings each with lines as `[first-last]` for file_read, or list a
    directory with line counts and sizes.
    """

    name = "file_index"
    toolset = "files"
    bundle = "file_index"
    notes = """\
Files up to 2 MiB of UTF-8 text; other encodings (invalid_encoding) and binary content (binary_content) are
refused. Of minified source the first definitions are told. The entries of a directory come directories first,
at most 1,000. At most 50 KiB are shown; what is left out is told."""
    effects = frozenset({Effect.READ})
    bounds = Bounds(output_bytes=MAX_OUTPUT_BYTES)
    repeatable = True
    hands = frozenset({"outline"})
    Params = FileIndexParams

    def resources(self, params: FileIndexParams, world: World) -> Sequence[Resource]:
        size = len(params.path.encode("utf-8", "replace"))
        if size > MAX_PATH_BYTES:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, f"path has {size} bytes; a path has at most {MAX_PATH_BYTES}")
        return [world.place(world.relative(params.path), Effect.READ)]

    async def run(self, params: FileIndexParams, ctx: ToolContext) -> Outcome:
        outcome: Outcome = await ctx.in_thread(_index, params.path, ctx)
        return outcome


def _index(path: str, ctx: ToolContext) -> Outcome:
    entry = ctx.files.stat(path)
    return _directory(entry, path, ctx) if entry.kind == "directory" else _source(path, ctx)


def _told(found: Shown, notes: Sequence[str], data: dict[str, Any]) -> Outcome:
    text = "".join(f"{line.text}\n" for line in found.lines)
    text += "".join(f"[{note}]\n" for note in notes)
    return done({**data, "lines": msgspec.to_builtins(found.lines)}, text)


# -- a file ------------------------------------------------------------------------------------


def _source(path: str, ctx: ToolContext) -> Outcome:
    original = ctx.files.read(path, MAX_SOURCE_BYTES)
    text = unify(_decoded(original.content or b"", original.name)).text
    ctx.check_cancelled()
    outline = _outline(original.name, text, ctx)
    found = shown(outline, MAX_OUTPUT_BYTES - _FRAME_BYTES)
    total = len(text.split("\n"))
    notes = [f"{total} lines; the outline goes on, and is cut here"] if found.truncated else []
    if outline.minified:
        notes.append(
            "minified: many definitions share a line, and only the first of them are told; file_grep finds names"
        )
    elif outline.cut:
        notes.append("the file holds more than the outline takes in")
    if outline.recovered:
        notes.append("parts of the file do not fit its language and are left out")
    if not found.lines:
        notes.append("the file holds nothing")
    data = {
        "kind": "source",
        "path": original.name,
        "totalLines": total,
        "recovered": outline.recovered,
        "cut": outline.cut,
        "minified": outline.minified,
        "truncated": found.truncated,
    }
    return _told(found, notes, data)


def _outline(name: str, text: str, ctx: ToolContext) -> Outline:
    """By what the language of the file defines, else by indentation."""
    from remit.code.outline import outline_of_facts

    facts = ctx.code.facts(name, text.encode())
    outline = outline_of_facts(facts) if facts is not None else None
    return outline if outline is not None and outline.sections else outline_of(name, text)


def _decoded(content: bytes, name: str) -> str:
    """Raises Failure(binary_content, invalid_encoding)."""
    if looks_binary(content[: _texts.LOOKED_AT]):
        raise Failure(ErrorCode.BINARY_CONTENT, f"{shorten(name)} holds binary content; only text has an outline")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        what = f"{shorten(name)} is not valid UTF-8: byte 0x{content[problem.start]:02x} at offset {problem.start}"
        raise Failure(ErrorCode.INVALID_ENCODING, f"{what}; file_read shows it all the same") from None


# -- a directory -------------------------------------------------------------------------------


def _directory(top: Entry, path: str, ctx: ToolContext) -> Outcome:
    walk = ctx.files.walk(path, 1)
    entries: list[Entry] = []
    more = False
    for entry in walk:
        ctx.check_cancelled()
        if len(entries) == MAX_SCANNED:
            more = True
            break
        entries.append(entry)
    entries.sort(key=lambda entry: entry.kind != "directory")
    told = [entry_data(entry, ctx) for entry in entries[:MAX_ENTRIES]]
    found = bounded(_entry_lines(told), MAX_OUTPUT_BYTES - _FRAME_BYTES)
    truncated = more or len(found.lines) < len(entries)
    notes = []
    if truncated:
        least = "at least " if more else ""
        notes.append(f"{len(found.lines)} of {least}{len(entries)} entries; file_glob finds more by name")
    if walk.withheld:
        notes.append(withheld_note(walk.withheld))
    if not entries:
        notes.append("the directory is empty")
    data = {
        "kind": "directory",
        "path": top.name,
        "totalCount": len(entries),
        "exact": not more,
        "truncated": truncated,
        "withheld": walk.withheld,
    }
    return _told(found, notes, data)


def _entry_lines(told: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Semantic, Range | None]]:
    for data in told:
        yield entry_shown(data), "section" if data["type"] == "directory" else "plain", None

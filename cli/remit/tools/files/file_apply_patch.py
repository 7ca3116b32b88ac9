"""file_apply_patch: changes to several files at once, all of them or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, MIB, Bounds
from remit.base.ports import Change, Original, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten, visible
from remit.tools.contract import Tool
from remit.tools.files import _texts
from remit.workspace.coded import UTF_8, Coding, refuse_surrogates
from remit.workspace.difference import Diff, compare
from remit.workspace.newlines import ENDS, Style, Unified, unify
from remit.workspace.patch import Line, Section, apply, read_patch

MAX_PLAN_BYTES = 32 * MIB
_SHOWN_BYTES = 46 * KIB
"""Of all diffs together; the data has each, and the counts are always shown."""


class FileApplyPatchParams(msgspec.Struct, forbid_unknown_fields=True):
    patchText: Annotated[str, msgspec.Meta(description="The whole patch, from '*** Begin Patch' to '*** End Patch'.")]


class FileApplyPatch(Tool):
    """Change, make, remove and move files with one patch: all of its sections are applied, or none.

    *** Begin Patch
    *** Add File: path/new.txt
    +every line of the new file
    *** Update File: path/old.py
    *** Move to: path/new.py
    @@ def f():
     a line that is kept
    -a line that is removed
    +a line that is added
    *** End of File
    *** Delete File: path/gone.txt
    *** End Patch

    `Move to`, the text behind `@@` and `End of File` are optional. `@@ LINE` seeks that line first; then
    the kept and removed lines must follow one another in the file, in the order of the chunks; blanks at
    the ends of lines may differ. A chunk of added lines alone goes to the end of the file. Each path
    occurs once. Kept lines, line ends, encoding, byte order mark, permissions, and whether the last line
    has an end, stay as they are. At most 1 MiB of patch, 100 sections, 5 MiB per text file. A file that
    changed on disk since you last read or wrote it is refused (file_changed): read it again first.
    """

    name = "file_apply_patch"
    toolset = "files"
    # The result shows lines of the files.
    effects = frozenset({Effect.READ, Effect.WRITE})
    bounds = Bounds()
    Params = FileApplyPatchParams

    def resources(self, params: FileApplyPatchParams, world: World) -> Sequence[Resource]:
        places = [(section.line, path) for section in _sections(params) for path in _paths(section)]
        names = [world.relative(path) for _, path in places]
        written = [world.path(name, Effect.WRITE) for name in names]
        _refuse_clash([_Place(line, each) for (line, _), each in zip(places, written, strict=True)])
        return [*(world.path(name, Effect.READ) for name in names), *written]

    async def run(self, params: FileApplyPatchParams, ctx: ToolContext) -> Outcome:
        outcome: Outcome = await ctx.in_thread(_patch, params, ctx)
        return outcome


class _Planned(msgspec.Struct):
    """What a section comes to. changes: of its file, and of the one it moves to."""

    section: Section
    original: Original
    changes: list[Change]
    diff: Diff
    coding: Coding
    style: Style


def _sections(params: FileApplyPatchParams) -> list[Section]:
    refuse_surrogates(params.patchText, "the patch")
    return read_patch(params.patchText)


def _paths(section: Section) -> list[str]:
    return [path for path in (section.path, section.move) if path]


class _Place(msgspec.Struct, frozen=True):
    """A path that a patch names. line: of its section."""

    line: int
    resource: Resource

    @property
    def names(self) -> set[str]:
        """Its spellings: as it is named, and as it is reached."""
        return {self.resource.name, self.resource.real or self.resource.name}


def _refuse_clash(places: Sequence[_Place]) -> None:
    """Two spellings of one file would undo one another, and no file has another below it. Raises
    Failure(patch_invalid)."""
    seen: dict[str, _Place] = {}
    for place in places:
        for name in sorted(place.names):
            if name in seen:
                raise _clash(
                    place, f"and {shorten(seen[name].resource.name)} are one file; one section says all about it"
                )
            seen[name] = place
    for place in places:
        for name in sorted(place.names):
            above = next((seen[folder] for folder in _above(name) if folder in seen), None)
            if above is not None:
                why = f"lies below {shorten(above.resource.name)}, which is a file by line {above.line}"
                raise _clash(place, f"{why}; a path is a file or a directory, choose another for one of them")


def _above(name: str) -> Iterator[str]:
    """The directories that a path lies in."""
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _clash(place: _Place, why: str) -> Failure:
    told = f"line {place.line} of the patch: {shorten(place.resource.name)} {why}. No file was changed"
    return Failure(ErrorCode.PATCH_INVALID, told)


def _patch(params: FileApplyPatchParams, ctx: ToolContext) -> Outcome:
    plan: list[_Planned] = []
    room = MAX_PLAN_BYTES
    for section in _sections(params):
        ctx.check_cancelled()
        planned = _PLANS[section.kind](section, ctx)
        plan.append(planned)
        room -= sum(len(change.original.content or b"") + len(change.content or b"") for change in planned.changes)
        if room < 0:
            raise Failure(
                ErrorCode.FILE_TOO_LARGE,
                f"the patch changes more than {MAX_PLAN_BYTES} bytes of files in all; split it. No file was changed",
            )
    changes = [change for planned in plan for change in planned.changes]
    marks = ctx.edits.publish(changes, ctx.check_cancelled)
    stamps = [_texts.saw(ctx, change.original, mark) for change, mark in zip(changes, marks, strict=True)]
    data = {"kind": "patch", "applied": True, "files": [_told(planned) for planned in plan], "stamps": stamps}
    return done(data, "".join(_shown(plan)))


# -- planning ----------------------------------------------------------------------------------


def _add(section: Section, ctx: ToolContext) -> _Planned:
    original = _absent(section.path, ctx)
    text = "".join(f"{line}\n" for line in section.content)
    content = _texts.encoded(text, UTF_8, original.name)
    diff = compare(None, text, original.name)
    return _Planned(section, original, [Change(original, content)], diff, UTF_8, "lf" if text else "none")


def _delete(section: Section, ctx: ToolContext) -> _Planned:
    original = _present(section, ctx)
    coded = _texts.text_of(original)
    before = unify(coded.text)
    diff = compare(before.text, None, original.name)
    return _Planned(section, original, [Change(original, None)], diff, coded.coding, before.style)


def _update(section: Section, ctx: ToolContext) -> _Planned:
    original = _present(section, ctx)
    coded = _texts.editable(original)
    before = unify(coded.text)
    lines = apply(section.chunks, _lines(before), ENDS[before.style], original.name)
    content = _texts.encoded("".join(line.text + line.end for line in lines), coded.coding, original.name)
    after = "".join(line.text + ("\n" if line.end else "") for line in lines)
    diff = compare(before.text, after, original.name)
    planned = _Planned(section, original, [Change(original, content)], diff, coded.coding, before.style)
    if section.move:
        target = _absent(section.move, ctx)
        planned.changes = [Change(target, content, original.mode), Change(original, None)]
    elif content == original.content:
        planned.changes = []
    return planned


_PLANS = {"add": _add, "delete": _delete, "update": _update}


def _absent(path: str, ctx: ToolContext) -> Original:
    """A place for a new file. Raises Failure(already_exists)."""
    try:
        original = ctx.edits.read(path, _texts.MAX_FILE_BYTES)
    except Failure as failure:
        if failure.code not in (ErrorCode.FILE_TOO_LARGE, ErrorCode.NOT_A_FILE):
            raise
        original = None
    if original is None or original.content is not None:
        raise Failure(
            ErrorCode.ALREADY_EXISTS, f"{shorten(path)} exists; update it, or choose another path. No file was changed"
        )
    return original


def _present(section: Section, ctx: ToolContext) -> Original:
    """The file of a section. Raises Failure(not_found, path_refused, file_changed)."""
    original = ctx.edits.read(section.path, _texts.MAX_FILE_BYTES)
    if original.content is None:
        raise Failure(
            ErrorCode.NOT_FOUND,
            f"{shorten(section.path)} does not exist; '*** Add File:' makes a new one. No file was changed",
        )
    if original.linked and (section.kind == "delete" or section.move):
        raise Failure(
            ErrorCode.PATH_REFUSED,
            f"{shorten(section.path)} is a link; to remove or move what it leads to, name {shorten(original.real)}",
        )
    _texts.refuse_stale(ctx, original)
    return original


def _lines(text: Unified) -> list[Line]:
    parts = text.text.split("\n")
    last = parts.pop()
    ends = text.ends or [ENDS[text.style]] * len(parts)
    lines = [Line(part, end) for part, end in zip(parts, ends, strict=True)]
    return [*lines, Line(last, "")] if last else lines


# -- telling -----------------------------------------------------------------------------------


def _told(planned: _Planned) -> dict[str, Any]:
    section, diff = planned.section, planned.diff
    data = {
        "path": planned.original.name,
        "type": "move" if section.move else section.kind,
        **_texts.stored(planned.coding, planned.style),
        "patch": diff.patch,
        "additions": diff.additions,
        "deletions": diff.deletions,
        "truncated": diff.truncated,
    }
    if section.move:
        data["movePath"] = planned.changes[0].original.name
    if planned.original.links > 1:
        data["links"] = planned.original.links
    return data


_VERBS = {"add": "added", "delete": "deleted", "update": "updated"}


def _shown(plan: Sequence[_Planned]) -> Iterator[str]:
    """A line on each file, then the diffs of changed ones as far as there is room."""
    for planned in plan:
        name, verb = visible(planned.original.name), _VERBS[planned.section.kind]
        if planned.section.move:
            verb, name = "moved", f"{name} to {visible(planned.changes[0].original.name)}"
        same = "" if planned.changes else ", which had this content already"
        yield f"{verb} {name}: {_texts.summary(planned.diff)}{same}\n"
        yield _texts.remarks(planned.coding, planned.style, planned.original if planned.changes else None)
    room = _SHOWN_BYTES
    for planned in plan:
        if planned.section.kind != "update" or not planned.diff.patch:
            continue
        piece = _texts.shown(planned.diff)
        room -= len(piece.encode())
        if room < 0:
            yield "[further diffs are left out]\n"
            return
        yield piece

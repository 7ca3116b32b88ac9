"""Patches in the file-oriented format: reading one, and applying its chunks to a text. Pure.

*** Begin Patch
*** Add File: PATH            then `+` lines
*** Delete File: PATH
*** Update File: PATH         then perhaps `*** Move to: PATH`, then chunks
@@ CONTEXT LINE               where to begin, may be bare
 kept / -removed / +added
*** End of File               the chunk ends where the file does
*** End Patch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB
from remit.base.text import scrub, shorten
from remit.workspace.nearest import nearest

MAX_PATCH_BYTES = 1 * MIB
MAX_SECTIONS = 100

BEGIN, END = "*** Begin Patch", "*** End Patch"
_SECTIONS: dict[str, Literal["add", "delete", "update"]] = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}
_MOVE, _EOF = "*** Move to: ", "*** End of File"


class Chunk(msgspec.Struct):
    """One change within a file. line: of the patch, from 1. contexts: lines to seek first, in turn.
    lines: (sign, text) each, sign one of " ", "-", "+". end_line: of the patch, which says that the chunk ends
    where the file does; 0: no line does."""

    line: int
    contexts: list[str] = []
    lines: list[tuple[str, str]] = []
    end_line: int = 0

    @property
    def at_end(self) -> bool:
        return self.end_line > 0

    def old(self) -> list[str]:
        """The lines that have to be there."""
        return [text for sign, text in self.lines if sign != "+"]


class Section(msgspec.Struct):
    """What becomes of one file. content: of an added one. move: its new path, or ""."""

    kind: Literal["add", "delete", "update"]
    path: str
    line: int
    move: str = ""
    content: list[str] = []
    chunks: list[Chunk] = []


class Line(msgspec.Struct, frozen=True):
    """A line of a file. end: its line end, "" of a last one without."""

    text: str
    end: str


# -- reading -----------------------------------------------------------------------------------


def read_patch(text: str) -> list[Section]:
    """The sections of a patch; what stands outside of it is ignored. Raises Failure(patch_invalid) with
    the line of the patch."""
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_PATCH_BYTES:
        raise _invalid(0, f"it has {size} bytes; a patch has at most {MAX_PATCH_BYTES}: split it")
    lines = text.replace("\r\n", "\n").split("\n")
    begin = _find(lines, BEGIN, 0)
    if begin is None:
        raise _invalid(0, f"there is no line {BEGIN!r}")
    end = _find(lines, END, begin + 1)
    if end is None:
        raise _invalid(0, f"there is no line {END!r}: it was cut off")
    again = _find(lines, BEGIN, end + 1)
    if again is not None:
        raise _invalid(again + 1, "a second patch begins; put all sections into one")
    sections = list(_sections(lines, begin + 1, end))
    if not sections:
        raise _invalid(begin + 1, "it is empty: a section begins with '*** Update File: PATH' or the like")
    if len(sections) > MAX_SECTIONS:
        raise _invalid(
            sections[MAX_SECTIONS].line, f"it has {len(sections)} sections; at most {MAX_SECTIONS} are taken"
        )
    _refuse_twice(sections)
    return sections


def _find(lines: Sequence[str], wanted: str, start: int) -> int | None:
    return next((index for index in range(start, len(lines)) if lines[index].rstrip() == wanted), None)


def _sections(lines: Sequence[str], start: int, end: int) -> Iterator[Section]:
    at = start
    while at < end:
        if not lines[at].strip():
            at += 1
            continue
        kind, path = _header(lines[at], at + 1)
        section = Section(kind, path, at + 1)
        stop = next((index for index in range(at + 1, end) if _is_header(lines[index])), end)
        _READERS[kind](section, lines, at + 1, stop)
        yield section
        at = stop


def _is_header(line: str) -> bool:
    return line.startswith(tuple(_SECTIONS))


def _header(line: str, number: int) -> tuple[Literal["add", "delete", "update"], str]:
    for prefix, kind in _SECTIONS.items():
        if line.startswith(prefix):
            return kind, _path(line, prefix, number)
    raise _invalid(
        number,
        f"{shorten(line)} begins no section: '*** Add File: PATH', '*** Update File: PATH' or '*** Delete File: PATH'",
    )


def _path(line: str, prefix: str, number: int) -> str:
    path = line.removeprefix(prefix).strip()
    if not path:
        raise _invalid(number, f"a path is missing behind {prefix.strip()!r}")
    return path


def _read_added(section: Section, lines: Sequence[str], start: int, stop: int) -> None:
    stop = _without_blank_end(lines, start, stop)
    for at in range(start, stop):
        if not lines[at].startswith("+"):
            raise _invalid(at + 1, f"every line of an added file begins with '+', here is {shorten(lines[at])}")
    section.content = [line[1:] for line in lines[start:stop]]


def _read_deleted(section: Section, lines: Sequence[str], start: int, stop: int) -> None:
    if start < _without_blank_end(lines, start, stop):
        raise _invalid(start + 1, f"a deleted file has no lines, here is {shorten(lines[start])}")


def _read_updated(section: Section, lines: Sequence[str], start: int, stop: int) -> None:
    at, stop = start, _without_blank_end(lines, start, stop)
    if at < stop and lines[at].startswith(_MOVE):
        section.move = _path(lines[at], _MOVE, at + 1)
        at += 1
    while at < stop:
        at = _read_chunk(section, lines, at, stop)
    if not section.chunks and not section.move:
        raise _invalid(section.line, f"the update of {shorten(section.path)} has no chunk")


def _read_chunk(section: Section, lines: Sequence[str], at: int, stop: int) -> int:
    """Read one chunk; the index of the line behind it."""
    chunk = Chunk(at + 1)
    while at < stop and _is_seek(lines[at]):
        context = lines[at][2:].removeprefix(" ")
        if context.strip():
            chunk.contexts.append(context)
        at += 1
    while at < stop and not _is_seek(lines[at]):
        line = lines[at]
        at += 1
        if line.rstrip() == _EOF:
            chunk.end_line = at
            break
        if line and line[0] not in " +-":
            raise _invalid(
                at,
                f"a line of a chunk begins with ' ' (kept), '-' (removed), '+' (added) or '@@', not {shorten(line)}",
            )
        # Writers leave out the blank before an empty line that is kept.
        chunk.lines.append((line[0], line[1:]) if line else (" ", ""))
    if not chunk.lines:
        raise _invalid(chunk.line, "a chunk has no lines")
    if chunk.at_end and at < stop:
        raise _invalid(
            at + 1,
            f"{shorten(lines[at])} follows {_EOF!r} of line {chunk.end_line}, which stands at the end of the last "
            "chunk of a file: leave it out there",
        )
    section.chunks.append(chunk)
    return at


def _is_seek(line: str) -> bool:
    return line == "@@" or line.startswith("@@ ")


def _without_blank_end(lines: Sequence[str], start: int, stop: int) -> int:
    while stop > start and not lines[stop - 1]:
        stop -= 1
    return stop


_READERS: dict[str, Callable[[Section, Sequence[str], int, int], None]] = {
    "add": _read_added,
    "delete": _read_deleted,
    "update": _read_updated,
}


def _refuse_twice(sections: Sequence[Section]) -> None:
    seen: set[str] = set()
    for section in sections:
        for path in filter(None, (section.path, section.move)):
            if path in seen:
                raise _invalid(section.line, f"{shorten(path)} occurs twice; one section says all about a file")
            seen.add(path)


def _invalid(line: int, why: str) -> Failure:
    place = f"line {line} of the patch: " if line else "the patch cannot be used: "
    return Failure(ErrorCode.PATCH_INVALID, f"{place}{why}")


# -- applying ----------------------------------------------------------------------------------


class _Swap(msgspec.Struct, frozen=True):
    """Lines from `start` to `stop` of a file become these."""

    start: int
    stop: int
    lines: list[Line]


class _Texts:
    """The lines of a file to be looked for: as they are, without blanks at their ends, without those at
    both ends."""

    _PASSES: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)

    def __init__(self, lines: Sequence[Line]) -> None:
        self._views: list[list[str]] = [[scrub(line.text) for line in lines]]

    def __len__(self) -> int:
        return len(self._views[0])

    def behind(self, start: int) -> str:
        """All from a line on, as one text."""
        return "\n".join(self._views[0][start:])

    def seek(self, wanted: Sequence[str], start: int, *, at_end: bool = False) -> int | None:
        """Where the lines stand at or behind `start`, or at the very end; by the strictest pass that
        finds them."""
        if at_end:
            last = len(self) - len(wanted)
            start = last if last >= start else len(self)
        for number, trimmed in enumerate(self._PASSES):
            found = _within(self._view(number), [trimmed(line) for line in wanted], start)
            if found is not None:
                return found
        return None

    def _view(self, number: int) -> list[str]:
        if number == len(self._views):
            self._views.append([self._PASSES[number](line) for line in self._views[0]])
        return self._views[number]


def _within(texts: list[str], wanted: list[str], start: int) -> int | None:
    stop = len(texts) - len(wanted) + 1
    at = start
    while at < stop:
        try:
            at = texts.index(wanted[0], at, stop)
        except ValueError:
            return None
        if texts[at : at + len(wanted)] == wanted:
            return at
        at += 1
    return None


def apply(chunks: Sequence[Chunk], lines: Sequence[Line], end: str, name: str) -> list[Line]:
    """The lines after all chunks. Kept lines stay as the file has them; added ones end as their
    neighbours do, else in `end`. Whether the last line has an end stays as it was. Raises
    Failure(text_not_found) for a chunk that does not fit."""
    texts = _Texts(lines)
    result: list[Line] = []
    at = 0
    for chunk in chunks:
        swap = _swap(chunk, lines, texts, at, end, name)
        result += lines[at : swap.start]
        result += swap.lines
        at = swap.stop
    result += lines[at:]
    return _ended(result, end, ends_open=bool(lines) and not lines[-1].end)


def _swap(chunk: Chunk, lines: Sequence[Line], texts: _Texts, cursor: int, end: str, name: str) -> _Swap:
    for context in chunk.contexts:
        found = texts.seek([context], cursor)
        if found is None:
            raise _missing(chunk, "its context line is", texts, [context], cursor, name)
        cursor = found + 1
    old = chunk.old()
    if not old:
        return _Swap(len(lines), len(lines), [Line(text, end) for _, text in chunk.lines])
    start = texts.seek(old, cursor, at_end=chunk.at_end)
    signed = chunk.lines
    if start is None and signed[-1] == (" ", "") and len(old) > 1:
        # The empty line behind the last one, which readers of files are shown, is none.
        start, signed = texts.seek(old[:-1], cursor, at_end=True), signed[:-1]
    if start is None:
        raise _not_last(chunk, texts, old, cursor, name) or _missing(
            chunk, "its kept and removed lines are", texts, old, cursor, name
        )
    return _fitted(signed, lines, start, end)


def _fitted(signed: Sequence[tuple[str, str]], lines: Sequence[Line], start: int, end: str) -> _Swap:
    """The chunk at its place, each line with an end."""
    result: list[Line] = []
    at = start
    near = lines[start].end or (lines[start - 1].end if start else "") or end
    for sign, text in signed:
        if sign == "+":
            result.append(Line(text, near))
            continue
        near = lines[at].end or near
        if sign == " ":
            result.append(lines[at])
        at += 1
    return _Swap(start, at, result)


def _ended(lines: list[Line], end: str, *, ends_open: bool) -> list[Line]:
    """Every line but perhaps the last has an end."""
    for index in range(len(lines) - 1):
        if not lines[index].end:
            before = lines[index - 1].end if index else end
            lines[index] = Line(lines[index].text, before or end)
    if lines and ends_open:
        lines[-1] = Line(lines[-1].text, "")
    elif lines and not lines[-1].end:
        lines[-1] = Line(lines[-1].text, end)
    return lines


def _not_last(chunk: Chunk, texts: _Texts, old: Sequence[str], cursor: int, name: str) -> Failure | None:
    """What is wrong with a chunk that is to end where the file does, where its lines stand before that."""
    start = texts.seek(old, cursor) if chunk.at_end else None
    if start is None:
        return None
    return Failure(
        ErrorCode.TEXT_NOT_FOUND,
        f"line {chunk.end_line} of the patch: {_EOF!r} says that {shorten(name)} ends with the chunk of line "
        f"{chunk.line}, but its lines end at line {start + len(old)} of {len(texts)}; no file was changed. Leave that "
        "line of the patch out, or give the lines up to the end",
    )


def _missing(chunk: Chunk, what: str, texts: _Texts, old: Sequence[str], cursor: int, name: str) -> Failure:
    where = f" from line {cursor + 1} on" if cursor else ""
    end = " at its end" if chunk.at_end else ""
    hint = nearest(texts.behind(cursor), "\n".join(old), first_line=cursor + 1, asked="the patch")
    return Failure(
        ErrorCode.TEXT_NOT_FOUND,
        f"line {chunk.line} of the patch: {what} not in {shorten(name)}{where}{end}; no file was changed. {hint}",
    )

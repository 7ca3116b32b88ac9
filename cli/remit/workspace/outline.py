"""Outlines as they are shown, and the plain one that fits any text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from remit.base.limits import KIB
from remit.base.outline import Item, Outline, Range, Section
from remit.base.text import head

MAX_FIELDS = 8
"""Of one item that are shown."""

MAX_LINE_BYTES = 2000
MAX_OUTPUT_BYTES = 50 * KIB

Semantic = Literal["section", "item", "dimmed", "plain"]


class OutlineLine(msgspec.Struct, frozen=True, rename="camel"):
    """One line of an outline as it is shown. output_line: its number, from 1. source_range: of the file."""

    output_line: int
    text: str
    semantic: Semantic
    source_range: Range | None = None


class Shown(msgspec.Struct, frozen=True):
    """The lines that fit. truncated: there are more."""

    lines: list[OutlineLine]
    truncated: bool


def outline_of(name: str, text: str) -> Outline:
    """The outline of a file. name: tells the language by its end. text: with line ends of one LF."""
    lines = text.split("\n")
    if name.lower().endswith((".md", ".markdown")):
        headings = tuple(_headings(lines))
        if headings:
            return Outline((Section("headings", (headings[0].range[0], _last(lines)), headings),))
    return plain_outline(lines)


def shown(outline: Outline, room: int = MAX_OUTPUT_BYTES) -> Shown:
    """The outline as lines: a title for each section, items below it, their fields below them."""
    return bounded(_lines(outline), room)


def bounded(pieces: Iterator[tuple[str, Semantic, Range | None]], room: int = MAX_OUTPUT_BYTES) -> Shown:
    """The first lines that take at most `room` bytes, each of at most MAX_LINE_BYTES."""
    lines: list[OutlineLine] = []
    for text, semantic, place in pieces:
        line = head(text, MAX_LINE_BYTES)
        room -= len(line.encode()) + 1
        if room < 0:
            return Shown(lines, True)
        lines.append(OutlineLine(len(lines) + 1, line, semantic, place))
    return Shown(lines, False)


def _lines(outline: Outline) -> Iterator[tuple[str, Semantic, Range | None]]:
    if outline.about:
        yield outline.about, "plain", None
    for section in outline.sections:
        yield _with_range(section.title, section.range), "section", section.range
        for item in section.items:
            indent = "  " * (1 + item.depth)
            yield _with_range(f"{indent}{item.text}", item.range), "item", item.range
            for field in item.fields[:MAX_FIELDS]:
                yield _with_range(f"{indent}  {field.text}", field.range), "item", field.range
            if len(item.fields) > MAX_FIELDS:
                yield f"{indent}  {len(item.fields) - MAX_FIELDS} more truncated", "dimmed", None


def _with_range(text: str, place: Range) -> str:
    """The range stays whole, however long the text is."""
    mark = f"[{place[0]}]" if place[0] == place[1] else f"[{place[0]}-{place[1]}]"
    return f"{head(text, MAX_LINE_BYTES - len(mark) - 1)} {mark}"


# -- any text ----------------------------------------------------------------------------------

_LEADS = ("#", "@", "//", "/*", "*", "--", ";", "%")
"""How lines begin that say something of the next one."""

_CLOSERS = ("}", ")", "]", "</", "end", "fi", "done", "esac", "else", "elif", "except", "finally", "catch")
"""How lines begin that end or go on with what stands above them."""

_MAX_DEPTH = 8


class _Block:
    """Lines that belong together. title: of the line that names it. body: whether it has indented lines."""

    def __init__(self, at: int) -> None:
        self.first = self.title = self.last = at
        self.body = False


def plain_outline(lines: Sequence[str]) -> Outline:
    """By indentation alone: what stands at the margin, with all that is indented below it. Where one thing holds
    all the others, as in JSON, it is the title, and what it holds are the items."""
    first, last, level = 0, len(lines) - 1, -1
    title = "lines"
    for _ in range(_MAX_DEPTH):
        level = _margin(lines, first, last, level)
        blocks = _blocks(lines, first, last, level)
        if len(blocks) != 1 or not blocks[0].body:
            break
        [only] = blocks
        title, first, last = lines[only.title].strip(), only.title + 1, only.last
        # What closes it is no part of what it holds.
        while _indent(lines[last]) <= level:
            last -= 1
    items = tuple(Item(lines[each.title].strip(), (each.first + 1, each.last + 1)) for each in blocks)
    if not items:
        return Outline(())
    return Outline((Section(title, (1, _last(lines)), items),))


def _margin(lines: Sequence[str], first: int, last: int, above: int) -> int:
    """The least indentation of these lines beyond `above`; `above` itself where there is none."""
    found = (indent for line in lines[first : last + 1] if (indent := _indent(line)) > above)
    return min(found, default=above)


def _indent(line: str) -> int:
    """Columns before the text; -1 for a blank line."""
    text = line.lstrip()
    return len(line[: len(line) - len(text)].expandtabs()) if text else -1


def _blocks(lines: Sequence[str], first: int, last: int, level: int) -> list[_Block]:
    blocks: list[_Block] = []
    gap = False
    for at in range(first, last + 1):
        indent = _indent(lines[at])
        if indent < 0:
            gap = True
            continue
        block = blocks[-1] if blocks else None
        inside = indent > level or _closes(lines[at])
        if block is not None and inside:
            block.body = block.body or indent > level
        elif indent >= level:
            fresh = block is None or gap or block.body
            if not fresh and _owns(lines, at, last, level):
                assert block is not None
                fresh = _part(lines, blocks, block, at)
            if fresh and (not blocks or blocks[-1].last < at):
                blocks.append(_Block(at))
        if blocks:
            blocks[-1].last = at
        gap = False
    return blocks


def _part(lines: Sequence[str], blocks: list[_Block], block: _Block, at: int) -> bool:
    """A line that has indented ones below it, right after others at the margin: remarks on it are its own. Whether
    it still needs a block."""
    lead = at
    while lead > block.first and lines[lead - 1].lstrip().startswith(_LEADS):
        lead -= 1
    if lead == block.first:
        block.title = at
        return False
    block.last = lead - 1
    owner = _Block(lead)
    owner.title = owner.last = at
    blocks.append(owner)
    return False


def _owns(lines: Sequence[str], at: int, last: int, level: int) -> bool:
    """Whether the next line that says something is indented."""
    following = (indent for below in range(at + 1, last + 1) if (indent := _indent(lines[below])) >= 0)
    return next(following, level) > level


def _closes(line: str) -> bool:
    text = line.strip()
    return any(text.startswith(word) and not text[len(word) :][:1].isidentifier() for word in _CLOSERS)


def _last(lines: Sequence[str]) -> int:
    """The number of the last line that says something."""
    return next((number for number in range(len(lines), 0, -1) if lines[number - 1].strip()), 1)


# -- Markdown ----------------------------------------------------------------------------------


def _headings(lines: Sequence[str]) -> Iterator[Item]:
    """Each heading, with the lines down to the next one that is not below it."""
    found = list(_marked(lines))
    end = _last(lines)
    for index, (at, depth, text) in enumerate(found):
        below = (other for other, level, _ in found[index + 1 :] if level <= depth)
        yield Item(text, (at, max(at, next(below, end + 1) - 1)))


def _marked(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Line, depth and text of each heading. What stands in code is none."""
    fence = ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        mark = text[:3]
        if fence:
            fence = "" if text.startswith(fence) and not text.strip(fence[0]) else fence
        elif mark in ("```", "~~~"):
            fence = text[: len(text) - len(text.lstrip(mark[0]))]
        elif _indent(line) > 3:
            continue
        elif text.startswith("#"):
            depth = len(text) - len(text.lstrip("#"))
            if depth <= 6 and text[depth : depth + 1] in ("", " ", "\t"):
                yield number, depth, text
        elif text and set(text) <= {"="} and number > 1 and lines[number - 2].strip():
            yield number - 1, 1, f"# {lines[number - 2].strip()}"

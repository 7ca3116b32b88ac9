"""Replacing an exact part of a text, and saying why it is not there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from remit.base.errors import ErrorCode, Failure
from remit.base.text import shorten
from remit.workspace.difference import Region
from remit.workspace.nearest import nearest
from remit.workspace.newlines import Span, Unified

MAX_LINES_TOLD = 10


class Replaced(NamedTuple):
    """text: with the line ends of the original. unified: the same with "\\n". regions: the lines of the
    unified texts that differ. times: replacements made."""

    text: str
    unified: str
    regions: tuple[Region, ...]
    times: int


def replace(text: Unified, old: str, new: str, name: str, *, everywhere: bool = False) -> Replaced:
    """`old` replaced by `new`, once, or `everywhere` from left to right without overlaps. Line ends of
    both fit those of the text. Raises Failure: invalid_arguments for texts that are empty or alike,
    text_not_found, text_ambiguous."""
    old, new = text.fit(old), text.fit(new)
    if not old:
        raise Failure(ErrorCode.INVALID_ARGUMENTS, "oldString is empty: give the exact text to replace")
    if old == new:
        raise Failure(ErrorCode.INVALID_ARGUMENTS, "oldString and newString are the same text: nothing would change")
    first = text.text.find(old)
    if first < 0:
        raise Failure(
            ErrorCode.TEXT_NOT_FOUND,
            f"oldString is not in {shorten(name)}; nothing was changed. {nearest(text.text, old)}",
        )
    if not everywhere and text.text.rfind(old) != first:
        raise _ambiguous(text.text, old, name)
    spans = _spans(text.text, old) if everywhere else [Span(first, first + len(old))]
    unified, regions = _spliced(text.text, spans, new)
    return Replaced(text.replaced(spans, new), unified, regions, len(spans))


def _spans(text: str, old: str) -> list[Span]:
    spans: list[Span] = []
    at = text.find(old)
    while at >= 0:
        spans.append(Span(at, at + len(old)))
        at = text.find(old, at + len(old))
    return spans


def _spliced(text: str, spans: Sequence[Span], new: str) -> tuple[str, tuple[Region, ...]]:
    """The new text, and the whole lines in which it differs."""
    pieces: list[str] = []
    regions: list[Region] = []
    at = shift = 0
    for span in spans:
        pieces += (text[at : span.start], new)
        at = span.end
        start, end = text.rfind("\n", 0, span.start) + 1, _line_end(text, span.end)
        grown = shift + len(new) - (span.end - span.start)
        if regions and start < regions[-1].old_end:
            last = regions[-1]
            regions[-1] = Region(last.old_start, max(end, last.old_end), last.new_start, max(end, last.old_end) + grown)
        else:
            regions.append(Region(start, end, start + shift, end + grown))
        shift = grown
    pieces.append(text[at:])
    return "".join(pieces), tuple(regions)


def _line_end(text: str, at: int) -> int:
    """Where the line that holds the character at `at` is over."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _ambiguous(text: str, old: str, name: str) -> Failure:
    lines: list[int] = []
    count, at, told, line = 0, text.find(old), 0, 1
    while at >= 0:
        count += 1
        if len(lines) < MAX_LINES_TOLD:
            line += text.count("\n", told, at)
            told = at
            lines.append(line)
        at = text.find(old, at + 1)
    more = f" and {count - len(lines)} more" if count > len(lines) else ""
    return Failure(
        ErrorCode.TEXT_AMBIGUOUS,
        f"oldString occurs {count} times in {shorten(name)}, at lines {', '.join(map(str, lines))}{more}; nothing was "
        "changed. Take in lines around the one you mean, or set replaceAll",
    )

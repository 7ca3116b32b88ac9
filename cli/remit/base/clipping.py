"""A long result as its head and its tail, with one line between them that says how to read the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from remit.base.text import head, tail

NOTICE_BYTES = 320
"""Room for the line between head and tail, and the line ends around it."""

_LOOKAHEAD = 64
"""Characters beyond a cut by which it is judged whether it would split what belongs together."""


class Gap(NamedTuple):
    """What is left out of a text: its characters from `start` up to `end`."""

    start: int
    end: int


def line_count(text: str) -> int:
    """Lines of a text; what follows the last line end is one only if it holds something."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def gap(text: str, max_bytes: int, max_lines: int) -> Gap | None:
    """What has to go so that head, tail and the notice between them keep within both bounds; None where
    the whole text does. Head (two thirds) and tail end in whole lines where those are not too long, else
    in whole characters. Below NOTICE_BYTES nothing of the text is left."""
    if _fits(text, max_bytes) and line_count(text) <= max_lines:
        return None
    room, lines = max(0, max_bytes - NOTICE_BYTES), max(0, max_lines - 1)
    first = _head(text, room * 2 // 3, lines * 2 // 3)
    return Gap(len(first), len(text) - len(_tail(text, room // 3, lines // 3)))


def joined(text: str, left_out: Gap, notice: str) -> str:
    """Head and tail with the notice on a line of its own."""
    first, last = text[: left_out.start], text[left_out.end :]
    line_end = "\n" if first and not first.endswith("\n") else ""
    return f"{first}{line_end}{notice}\n{last}"


def told(text: str, left_out: Gap, handle: str = "") -> str:
    """The notice for a gap. handle: under which `tool_output` has the whole text, "" where nothing has."""
    start, end = left_out
    first = text.count("\n", 0, start) + 1
    last = max(first, text.count("\n", 0, end) + (not text.endswith("\n", 0, end)))
    size = len(text[start:end].encode("utf-8", "replace"))
    what = f"lines {first}-{last} of {line_count(text)}, {size} bytes, left out here"
    if not handle:
        return f"[... {what} ...]"
    before = len(text[text.rfind("\n", 0, start) + 1 : start].encode("utf-8", "replace"))
    place = f', "byte_offset": {before}' if before else ""
    call = f'{{"output_id": "{handle}", "offset": {first}{place}}}'
    return f"[... {what}; read on with tool_output {call}, or search all of it with its pattern ...]"


def again(text: str, max_bytes: int, handles: Sequence[str] = ()) -> str:
    """Head and tail of what was perhaps cut before, so that its line numbers say nothing. handles: under which
    `tool_output` has it whole, or what it is made of."""
    if _fits(text, max_bytes):
        return text
    size = len(text.encode("utf-8", "replace"))
    room = max(0, max_bytes - len(_cut_again(size, handles)) - 2)
    first, last = head(text, room * 2 // 3), tail(text, room // 3)
    notice = _cut_again(size - len(f"{first}{last}".encode("utf-8", "replace")), handles)
    return f"{first}\n{notice}\n{last}"


def where_kept(handles: Sequence[str]) -> str:
    """How the model gets a result that it sees no longer, or not all of."""
    if not handles:
        return ""
    return f"tool_output has {'it' if len(handles) == 1 else 'its longer parts'} whole, output_id {', '.join(handles)}"


def _cut_again(size: int, handles: Sequence[str]) -> str:
    where = where_kept(handles)
    return f"[... {size} bytes left out{where and f'; {where}'} ...]"


def _fits(text: str, max_bytes: int) -> bool:
    return len(text) * 4 <= max_bytes or len(text.encode("utf-8", "replace")) <= max_bytes


def _head(text: str, max_bytes: int, max_lines: int) -> str:
    first = head(text[: max_bytes + _LOOKAHEAD], max_bytes)
    end = _after_lines(first, max_lines)
    if end < len(first):
        return first[:end]
    whole = first.rfind("\n") + 1
    return first[:whole] if whole > len(first) // 2 else first


def _tail(text: str, max_bytes: int, max_lines: int) -> str:
    last = tail(text[max(0, len(text) - max_bytes - _LOOKAHEAD) :], max_bytes)
    start = _before_lines(last, max_lines)
    if start > 0:
        return last[start:]
    whole = last.find("\n") + 1
    begins_a_line = text.endswith("\n", 0, len(text) - len(last))
    return last if begins_a_line or not 0 < whole < len(last) // 2 else last[whole:]


def _after_lines(text: str, lines: int) -> int:
    """Where the first lines end; the length of the text where there are no more of them."""
    at = 0
    for _ in range(lines):
        at = text.find("\n", at) + 1
        if not at:
            return len(text)
    return at


def _before_lines(text: str, lines: int) -> int:
    """Where the last lines begin."""
    if not lines:
        return len(text)
    at = len(text) - text.endswith("\n")
    for _ in range(lines):
        at = text.rfind("\n", 0, max(at, 0))
        if at < 0:
            return 0
    return at + 1

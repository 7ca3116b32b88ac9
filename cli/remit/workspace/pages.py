"""Cutting text so that its JSON form fits a number of bytes and no character is split. Pure."""

from __future__ import annotations

import msgspec

from remit.base.text import head

_LOOKAHEAD = 64
"""Characters after a cut that decide whether it falls inside of a composed one."""


def json_bytes(value: object) -> int:
    """The size of a value in JSON, as tools show it: UTF-8 bytes with every escape counted."""
    return len(msgspec.json.encode(value))


def page_end(text: str, start: int, limit: int, room: int) -> int:
    """Where a page of `text` that begins at `start` ends (exclusive), in characters.

    At most `limit` characters whose JSON escapes take at most `room` bytes; it ends at a line end
    if one lies in its second half, and never inside a composed character or between CR and LF
    unless that alone fills the page. Always beyond `start` while text is left.
    """
    wanted = min(len(text), start + limit)
    end = _fitting(text, start, wanted, room)
    if end == len(text) or end == start:
        return max(end, min(start + 1, len(text)))
    if end < wanted and (line := text.rfind("\n", start + (end - start) // 2, end)) >= 0:
        return line + 1
    return _whole(text, start, end)


def _fitting(text: str, start: int, end: int, room: int) -> int:
    """The largest end up to `end` whose JSON fits."""
    # A character takes one byte at least, so more of them than bytes cannot fit.
    low, high = start, min(end, start + room)
    while low < high:
        middle = (low + high + 1) // 2
        if json_bytes(text[start:middle]) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _whole(text: str, start: int, end: int) -> int:
    """The nearest cut at or before `end` that splits nothing; `end` itself where there is none."""
    if text[end - 1] == "\r" and text[end] == "\n" and end - 1 > start:
        return end - 1
    piece = text[start:end]
    kept = head(text[start : end + _LOOKAHEAD], len(piece.encode()))
    return start + len(kept) if kept else end

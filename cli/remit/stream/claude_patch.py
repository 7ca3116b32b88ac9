"""A unified diff as clients of Claude Code know it: its hunks, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Hunk = dict[str, Any]


def hunks(patch: Any) -> list[Hunk]:
    """`structuredPatch` of a diff of one file. A hunk that the diff was cut in is left out: it would not fit its
    numbers."""
    return [hunk for hunk in _hunks(patch if isinstance(patch, str) else "") if _whole(hunk)]


def _hunks(patch: str) -> Iterator[Hunk]:
    hunk: Hunk | None = None
    for line in patch.split("\n"):
        found = _HUNK.match(line)
        if found is not None:
            if hunk is not None:
                yield hunk
            hunk = _opened(found)
        elif hunk is not None and line:
            hunk["lines"].append(line)
    if hunk is not None:
        yield hunk


def _opened(found: re.Match[str]) -> Hunk:
    old, old_lines, new, new_lines = found.groups()
    return {
        "oldStart": int(old),
        "oldLines": int(old_lines or 1),
        "newStart": int(new),
        "newLines": int(new_lines or 1),
        "lines": [],
    }


def _whole(hunk: Hunk) -> bool:
    marks = [line[0] for line in hunk["lines"]]
    old, new = (marks.count(" ") + marks.count(mark) for mark in "-+")
    return bool((old, new) == (hunk["oldLines"], hunk["newLines"]))

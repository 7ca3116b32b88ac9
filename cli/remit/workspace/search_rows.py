"""The rows a search shows: matching lines and those around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from remit.base.text import head
from remit.workspace.decode import BOMS

MAX_LINE = 2000
"""Characters of a line that are shown."""


class Span(NamedTuple):
    """Lines of context before and after each match."""

    before: int = 0
    after: int = 0


class Row(msgspec.Struct, omit_defaults=True):
    """A line of a file. file: workspace-relative. line: its number, from 1. match: False for context.
    cut: its length in characters where it was too long to be shown whole."""

    file: str
    line: int
    text: str
    match: bool = True
    cut: int = 0


def plain_text(data: bytes) -> bytes:
    """A file as UTF-8: UTF-16 by its byte order mark, without a mark. What is no text stays as it is."""
    for mark, encoding in BOMS:
        if not encoding.startswith("utf-32") and data.startswith(mark):
            rest = data[len(mark) :]
            return rest if encoding == "utf-8" else rest.decode(encoding, "replace").encode()
    return data


def rows_of(name: str, data: bytes, numbers: Sequence[int], most: int, span: Span) -> tuple[list[Row], int]:
    """The rows for the first `most` of the matching lines of a file, and how many these are."""
    hits = numbers[:most]
    if not hits:
        return [], 0
    lines = plain_text(data).split(b"\n", hits[-1] + span.after)
    # What follows the last line end is a line only if it holds something, or the rest not split.
    last = len(lines) - 1 if len(lines) > hits[-1] + span.after or not lines[-1] else len(lines)
    wanted = sorted(
        {line for hit in hits for line in range(max(1, hit - span.before), min(last, hit + span.after) + 1)}
    )
    matching = set(hits)
    return [_row(name, line, lines[line - 1], line in matching) for line in wanted], len(hits)


def _row(name: str, number: int, raw: bytes, match: bool) -> Row:
    text = raw.removesuffix(b"\r").decode("utf-8", "replace")
    if len(text) <= MAX_LINE:
        return Row(name, number, text, match)
    return Row(name, number, head(text, len(text[:MAX_LINE].encode())), match, len(text))

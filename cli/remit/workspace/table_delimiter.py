"""Which character parts the cells of a table, judged from its first lines."""

from __future__ import annotations

import io
from collections import Counter
from itertools import islice
from typing import NamedTuple

CANDIDATES = ("\t", ";", "|", ",")
"""Rarest in running text first: where two split a table equally well, the earlier one is meant. A
comma stands last because it also parts decimals and clauses."""

_SAMPLE_CHARS = 64 * 1024
_SAMPLE_RECORDS = 200
_NOTHING = (0, 0.0, 0)


class _Sample(NamedTuple):
    """The first records as one delimiter splits them. widths: cells of each record. torn: cells with
    an odd number of quotes, as a delimiter inside of a quoted field leaves them."""

    widths: list[int]
    torn: int


def detect_delimiter(text: str) -> str | None:
    """The candidate that splits the first records most evenly into more than one cell; None when none does.

    Quoted fields are read as such, so delimiters and line breaks inside of them do not count.
    """
    samples = {candidate: _sample(text, candidate) for candidate in CANDIDATES}
    most = max(len(sample.widths) for sample in samples.values())
    scores = {candidate: _score(sample, most) for candidate, sample in samples.items()}
    best = max(CANDIDATES, key=scores.__getitem__)
    return best if scores[best] > _NOTHING else None


def _sample(text: str, delimiter: str) -> _Sample:
    """The records of the sample, up to where this delimiter cannot be right."""
    import csv

    sample = io.StringIO(text[:_SAMPLE_CHARS], newline="")
    widths: list[int] = []
    torn = 0
    try:
        for row in islice(csv.reader(sample, delimiter=delimiter, strict=True), _SAMPLE_RECORDS):
            if row:
                widths.append(len(row))
                torn += sum(cell.count('"') % 2 for cell in row)
    except csv.Error:
        return _Sample(widths, torn)
    if len(text) > _SAMPLE_CHARS and 1 < len(widths) < _SAMPLE_RECORDS:
        # The sample may end inside of its last record.
        widths.pop()
    return _Sample(widths, torn)


def _score(sample: _Sample, most: int) -> tuple[int, float, int]:
    """How well a delimiter fits, the greater the better: best when most records are as wide as the
    header, then when most have one width under a title line, at last when it splits the header alone.
    """
    widths = sample.widths
    if not widths:
        return _NOTHING
    like_header = widths.count(widths[0]) / most if widths[0] > 1 else 0.0
    if like_header >= 0.5:
        return 2, like_header, -sample.torn
    width, count = Counter(widths).most_common(1)[0]
    if width > 1 and count * 2 > most:
        return 1, count / most, -sample.torn
    return 0, like_header, -sample.torn

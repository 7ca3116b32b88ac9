"""The difference of two texts as a unified diff, in time that stays in proportion to their length. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from remit.base.limits import KIB
from remit.base.text import scrub, visible

CONTEXT = 3
"""Unchanged lines shown on each side of a change."""

MAX_PATCH_BYTES = 16 * KIB
_NO_NEWLINE = "\\ No newline at end of file\n"
_SMALL = 40_000
"""Up to so many pairs of lines, the best answer is looked for."""

_DEPTH = 16


class Diff(NamedTuple):
    """patch: the unified diff, cut at a line end where it is `truncated`. additions, deletions: lines, of
    all of it."""

    patch: str
    additions: int
    deletions: int
    truncated: bool = False


class Region(NamedTuple):
    """Whole lines of two texts that stand for one another, in characters; all else is alike."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class _Change(NamedTuple):
    """Lines of the old text (from, to) that became lines of the new one."""

    i1: int
    i2: int
    j1: int
    j2: int


def compare(old: str | None, new: str | None, name: str, regions: Sequence[Region] | None = None) -> Diff:
    """How `old` became `new`; None: there is no such file. Lines end in "\\n". regions: in order, what
    differs, where that is known."""
    before, after = old or "", new or ""
    if regions is None:
        regions = [differing(before, after)]
    shown = visible(scrub(name))
    header = f"--- {'/dev/null' if old is None else f'a/{shown}'}\n+++ {'/dev/null' if new is None else f'b/{shown}'}\n"
    page = _Page(header)
    for block in _blocks(before, after, regions):
        page.add(block)
    return page.diff()


def differing(old: str, new: str) -> Region:
    """The one region outside of which two texts are alike."""
    head = common_start(old, new)
    start = old.rfind("\n", 0, head) + 1
    room = min(len(old), len(new)) - start
    tail = common_end(old, new, room)
    old_end, new_end = len(old) - tail, len(new) - tail
    if tail and not _line_start(old, new, old_end, new_end, start):
        cut = old.find("\n", old_end)
        skip = (len(old) if cut < 0 else cut + 1) - old_end
        old_end, new_end = old_end + skip, new_end + skip
    return Region(start, old_end, start, new_end)


def _line_start(old: str, new: str, old_at: int, new_at: int, floor: int) -> bool:
    """Whether a line begins there in both texts."""
    return (old_at == floor or old[old_at - 1] == "\n") and (new_at == floor or new[new_at - 1] == "\n")


def common_start(one: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(one: str, other: str, most: int) -> int:
    """How many characters, `most` at most, two texts have in common at their end."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


class _Block(NamedTuple):
    """Lines of both texts around one or more regions. old_line, new_line: number of the first, from 1."""

    old: list[str]
    new: list[str]
    old_line: int
    new_line: int


def _blocks(old: str, new: str, regions: Sequence[Region]) -> Iterator[_Block]:
    """Regions with the context around them; those whose contexts meet are one block."""
    at_old = at_new = 0
    line_old = line_new = 1
    for old_start, old_end, new_start, new_end in _joined(old, regions):
        line_old += old.count("\n", at_old, old_start)
        line_new += new.count("\n", at_new, new_start)
        at_old, at_new = old_start, new_start
        yield _Block(_lines(old, old_start, old_end), _lines(new, new_start, new_end), line_old, line_new)


def _joined(old: str, regions: Sequence[Region]) -> Iterator[Region]:
    open_: Region | None = None
    for region in regions:
        before = _back(old, region.old_start, CONTEXT)
        after = _forth(old, region.old_end, CONTEXT)
        wide = Region(
            before,
            after,
            region.new_start - (region.old_start - before),
            region.new_end + (after - region.old_end),
        )
        if open_ is not None and wide.old_start <= open_.old_end:
            open_ = Region(open_.old_start, wide.old_end, open_.new_start, wide.new_end)
            continue
        if open_ is not None:
            yield open_
        open_ = wide
    if open_ is not None:
        yield open_


def _back(text: str, at: int, lines: int) -> int:
    """The start of the line so many lines before the line start `at`."""
    for _ in range(lines):
        if at == 0:
            break
        at = text.rfind("\n", 0, at - 1) + 1
    return at


def _forth(text: str, at: int, lines: int) -> int:
    """The start of the line so many lines behind the line start `at`."""
    for _ in range(lines):
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return at


def _lines(text: str, start: int, end: int) -> list[str]:
    lines = text[start:end].split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


class _Page:
    """A patch as it grows, within its bounds."""

    def __init__(self, header: str) -> None:
        self._pieces = [header]
        self._room = MAX_PATCH_BYTES - len(header.encode())
        self._additions = self._deletions = 0
        self._cut = False

    def add(self, block: _Block) -> None:
        changes = list(_changes(block.old, block.new))
        self._additions += sum(change.j2 - change.j1 for change in changes)
        self._deletions += sum(change.i2 - change.i1 for change in changes)
        for group in _groups(changes):
            if self._cut:
                return
            self._hunk(block, group)

    def diff(self) -> Diff:
        empty = not self._additions and not self._deletions and len(self._pieces) == 1
        return Diff("" if empty else "".join(self._pieces), self._additions, self._deletions, self._cut)

    def _hunk(self, block: _Block, group: Sequence[_Change]) -> None:
        first, last = group[0], group[-1]
        i1, i2 = max(0, first.i1 - CONTEXT), min(len(block.old), last.i2 + CONTEXT)
        j1, j2 = first.j1 - (first.i1 - i1), last.j2 + (i2 - last.i2)
        old, new = _range(block.old_line + i1, i2 - i1), _range(block.new_line + j1, j2 - j1)
        self._write(f"@@ -{old} +{new} @@\n")
        at = i1
        for change in group:
            self._show(" ", block.old[at : change.i1])
            self._show("-", block.old[change.i1 : change.i2])
            self._show("+", block.new[change.j1 : change.j2])
            at = change.i2
        self._show(" ", block.old[at:i2])

    def _show(self, sign: str, lines: Sequence[str]) -> None:
        for line in lines:
            if self._cut:
                return
            end = "" if line.endswith("\n") else f"\n{_NO_NEWLINE}"
            self._write(f"{sign}{scrub(line)}{end}")

    def _write(self, piece: str) -> None:
        self._room -= len(piece.encode())
        if self._room < 0:
            self._cut = True
        if not self._cut:
            self._pieces.append(piece)


def _range(start: int, length: int) -> str:
    """A range of lines as unified diffs write it; of no lines, the line before."""
    if length == 1:
        return str(start)
    return f"{start - 1 if length == 0 else start},{length}"


def _groups(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Changes whose contexts meet share a hunk."""
    group: list[_Change] = []
    for change in changes:
        if group and change.i1 - group[-1].i2 > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Change]:
    i = j = 0
    for a, b in [*_pairs(old, new), (len(old), len(new))]:
        if a > i or b > j:
            yield _Change(i, a, j, b)
        i, j = a + 1, b + 1


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Equal lines that stand for one another, in order in both texts: those at the ends, then those that
    are unique in both (patience), and between these again."""
    pairs: list[tuple[int, int]] = []
    stack = [(0, len(old), 0, len(new), 0)]
    while stack:
        i1, i2, j1, j2, depth = stack.pop()
        while i1 < i2 and j1 < j2 and old[i1] == new[j1]:
            pairs.append((i1, j1))
            i1, j1 = i1 + 1, j1 + 1
        while i1 < i2 and j1 < j2 and old[i2 - 1] == new[j2 - 1]:
            i2, j2 = i2 - 1, j2 - 1
            pairs.append((i2, j2))
        if i1 == i2 or j1 == j2:
            continue
        if (i2 - i1) * (j2 - j1) <= _SMALL:
            pairs += _best(old[i1:i2], new[j1:j2], i1, j1)
            continue
        anchors = _anchors(old, new, i1, i2, j1, j2) if depth < _DEPTH else []
        # Without a line to hold on to, all of it is replaced.
        if anchors:
            edges = [(i1 - 1, j1 - 1), *anchors, (i2, j2)]
            pairs += anchors
            stack += [(a + 1, c, b + 1, d, depth + 1) for (a, b), (c, d) in pairwise(edges)]
    return sorted(pairs)


def _best(old: Sequence[str], new: Sequence[str], i: int, j: int) -> list[tuple[int, int]]:
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(i + block.a + step, j + block.b + step) for block in blocks for step in range(block.size)]


def _anchors(old: Sequence[str], new: Sequence[str], i1: int, i2: int, j1: int, j2: int) -> list[tuple[int, int]]:
    """Lines that occur once in each part, the longest run of them that is in order in both."""
    counted_old, counted_new = Counter(old[i1:i2]), Counter(new[j1:j2])
    where = {new[j]: j for j in range(j1, j2) if counted_new[new[j]] == 1}
    found = [(i, where[old[i]]) for i in range(i1, i2) if counted_old[old[i]] == 1 and old[i] in where]
    return _rising(found)


def _rising(found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs whose second numbers rise."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(found):
        place = bisect_left(tops, j)
        before.append(ends[place - 1] if place else -1)
        if place == len(tops):
            tops.append(j)
            ends.append(index)
        else:
            tops[place], ends[place] = j, index
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(found[at])
        at = before[at]
    return chain[::-1]

"""Matches for the outline of a large file: what lies in its functions is their own affair, and is not looked at."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Query

    from remit.code.reading import Captures

MIN_BYTES = 64 << 10
"""Of a file: in a smaller one looking at all of it takes no longer."""

MAX_LINE = 200
"""Bytes of the mean line: of what was minified all is to be known, for it to be told as such."""

_NEAR = 2
"""Nodes below a node of which one look tells what is defined there."""

_SMALL = 4 << 10
"""Bytes of a node in which all is looked at."""

_MAX_SMALL = 5000
_MAX_LOOKS = 1000
"""After that many all is looked at: nodes may lie in one another all along."""

_IMPORTING: dict[str, re.Pattern[bytes]] = {
    **dict.fromkeys(["Python", "Go", "Java", "Kotlin", "Scala", "Swift"], re.compile(rb"import")),
    **dict.fromkeys(["JavaScript", "TypeScript", "TSX"], re.compile(rb"import|require")),
    **dict.fromkeys(["C", "C++", "CUDA"], re.compile(rb"include|import|using")),
    "C#": re.compile(rb"using"),
    "PHP": re.compile(rb"use|require|include", re.IGNORECASE),
    "Ruby": re.compile(rb"require|load|include|extend|prepend"),
}
"""By language: what stands in every import. Files may import within functions."""

_BODIES = frozenset(["definition.function", "definition.method", "definition.test", "definition.macro"])

Match = tuple[int, "Captures"]


def fits(language: str, query: Query, source: bytes, lines: int) -> bool:
    """Whether a file is to be looked at so: no pattern may tell of nodes side by side."""
    large = MIN_BYTES < len(source) < MAX_LINE * max(lines, 1)
    return large and language in _IMPORTING and all(map(query.is_pattern_rooted, range(query.pattern_count)))


def outer_matches(
    language: str, source: bytes, query: Query, root: Node, labels: Sequence[str], limit: int
) -> list[Match]:
    """Of a query whose patterns have labels; imports last, the others may come more than once."""
    return _Outer(language, source, query, labels, limit).below(root)


class _Outer:
    def __init__(self, language: str, source: bytes, query: Query, labels: Sequence[str], limit: int) -> None:
        from tree_sitter import QueryCursor

        self._labels = labels
        self._near, self._whole = QueryCursor(query, match_limit=limit), QueryCursor(query, match_limit=limit)
        self._near.set_max_start_depth(_NEAR)
        self._importing = [match.start() for match in _IMPORTING[language].finditer(source)]
        self._found: list[Match] = []
        self._imports: dict[tuple[int, ...], Match] = {}

    def below(self, root: Node) -> list[Match]:
        waiting, looks = deque([root]), 0
        while waiting:
            node = waiting.popleft()
            looks += 1
            if looks > _MAX_LOOKS:
                self._take(self._whole.matches(node))
                continue
            leaves = self._take(self._near.matches(node))
            small, large = _rest(node, sorted(leaves))
            if len(small) > _MAX_SMALL:
                self._take(self._whole.matches(node))
                continue
            for each in (*small, *(leaf for span, leaf in leaves.items() if self._imports_in(*span))):
                self._take(self._whole.matches(each))
            waiting += large
        # In the order of the file, and within one statement as they were found.
        return [*self._found, *(match for _, match in sorted(self._imports.items(), key=lambda each: each[0][0]))]

    def _take(self, found: Sequence[Match]) -> dict[tuple[int, int], Node]:
        """By place, the definitions of which the inside is not told."""
        leaves = {}
        for match in found:
            pattern, captures = match
            label = self._labels[pattern]
            if label.startswith("import"):
                starts = sorted(node.start_byte for nodes in captures.values() for node in nodes)
                self._imports.setdefault((*starts, pattern), match)
                continue
            self._found.append(match)
            if label in _BODIES:
                node = captures[label][0]
                leaves[node.start_byte, node.end_byte] = node
        return leaves

    def _imports_in(self, start: int, end: int) -> bool:
        at = bisect_left(self._importing, start)
        return at < len(self._importing) and self._importing[at] < end


def _rest(node: Node, leaves: Sequence[tuple[int, int]]) -> tuple[list[Node], list[Node]]:
    """The nodes below that are still to be looked at, small ones and large ones: no leaves, nor what holds some."""
    small: list[Node] = []
    large: list[Node] = []
    inside = set(leaves)

    def sort_out(nodes: Sequence[Node], deeper: bool) -> None:
        for each in nodes:
            start, end = span = each.start_byte, each.end_byte
            if span in inside or not each.child_count:
                continue
            at = bisect_left(leaves, (start, 0))
            if deeper and at < len(leaves) and leaves[at][1] <= end:
                sort_out(each.children, False)
            else:
                (small if end - start <= _SMALL else large).append(each)

    sort_out(node.children, True)
    return small, large

"""Where in a file something lies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from remit.code.facts import Definition


class Ranges:
    """Stretches of the file, none in another."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        ranges.sort()
        self._starts = [start for start, _ in ranges]
        self._ends = [end for _, end in ranges]

    def __contains__(self, byte: int) -> bool:
        index = bisect_right(self._starts, byte) - 1
        return index >= 0 and byte < self._ends[index]


class Scopes:
    """Which definition a place of the file lies in."""

    def __init__(self, spans: list[tuple[int, int]], definitions: list[Definition]) -> None:
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]
        self._definitions = definitions

    def at(self, byte: int) -> int:
        """The index of the innermost one, -1 for the file."""
        index = bisect_right(self._starts, byte) - 1
        while index >= 0 and self._ends[index] <= byte:
            index = self._definitions[index].parent
        return index

    def outward(self, scope: int) -> Iterator[int]:
        """That definition and those around it."""
        while scope >= 0:
            yield scope
            scope = self._definitions[scope].parent

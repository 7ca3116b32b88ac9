"""Where in a file something lies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

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

    def outside(self, bytes_in_order: Sequence[int]) -> list[int]:
        """Those that are in none."""
        if not self._starts:
            return list(bytes_in_order)
        found = []
        starts, ends, index, last = self._starts, self._ends, -1, len(self._starts) - 1
        for byte in bytes_in_order:
            while index < last and starts[index + 1] <= byte:
                index += 1
            if index < 0 or byte >= ends[index]:
                found.append(byte)
        return found


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

    def each(self, bytes_in_order: Sequence[int]) -> list[int]:
        """As `at`, of many."""
        found = []
        starts, ends, definitions = self._starts, self._ends, self._definitions
        index, last, scope = -1, len(starts) - 1, -1
        for byte in bytes_in_order:
            while index < last and starts[index + 1] <= byte:
                index += 1
                scope = index
            while scope >= 0 and ends[scope] <= byte:
                scope = definitions[scope].parent
            found.append(scope)
        return found

"""Who mentions whom and how, in flat arrays: as they lie in memory they are kept for another run."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress, count

_NOTHING: Sequence[int] = ()


class Edges:
    """Of each node the nodes it mentions, in the order in which it does. targets, how: one entry for each edge, the
    ways in bits; sources: of the same entry, its node, -1 where it is no edge any longer. starts, counts: of each node,
    where its entries are."""

    def __init__(self, size: int) -> None:
        self.starts = array("i", bytes(4 * size))
        self.counts = array("i", bytes(4 * size))
        self.sources = array("i")
        self.targets = array("i")
        self.how = bytearray()
        self._gone = 0

    def __len__(self) -> int:
        return len(self.targets) - self._gone

    def get(self, node: int, default: Sequence[int] = _NOTHING) -> Sequence[int]:
        """What a node mentions."""
        start, count = self.starts[node], self.counts[node]
        return self.targets[start : start + count] if count else default

    def bits(self, node: int) -> bytes:
        """How a node mentions what it does."""
        start = self.starts[node]
        return bytes(self.how[start : start + self.counts[node]])

    def items(self) -> Iterator[tuple[int, Sequence[int]]]:
        """The nodes that mention others, and what they mention."""
        return ((node, self.get(node)) for node, count in enumerate(self.counts) if count)

    def values(self) -> Iterator[Sequence[int]]:
        return (targets for _, targets in self.items())

    def put(self, node: int, mentioned: dict[int, int]) -> None:
        """Let a node mention these, each in the ways given, and no others."""
        start, count = self.starts[node], self.counts[node]
        for entry in range(start, start + count):
            self.sources[entry] = -1
        self._gone += count
        number = len(mentioned)
        self.starts[node], self.counts[node] = len(self.targets), number
        self.sources.extend([node] * number)
        self.targets.extend(mentioned)
        self.how.extend(mentioned.values())
        self.__dict__.pop("_into", None)

    def into(self, node: int) -> Sequence[int]:
        """The entries of the edges that lead to a node."""
        return self._into.get(node, _NOTHING)

    @cached_property
    def _into(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for entry, target in enumerate(self.targets):
            if self.sources[entry] >= 0:
                found.setdefault(target, []).append(entry)
        return found

    def leading_to(self, nodes: Iterable[int]) -> list[tuple[int, int]]:
        """Source and target of all edges to some nodes."""
        wanted = set(nodes)
        sources, targets = self.sources, self.targets
        entries = compress(count(), map(wanted.__contains__, targets))
        return [(sources[entry], targets[entry]) for entry in entries if sources[entry] >= 0]

    # -- as it is kept -----------------------------------------------------------------------------

    def pack(self) -> tuple[bytes, bytes, bytes, bytes, bytes]:
        arrays = (self.starts, self.counts, self.sources, self.targets, array("B", self.how))
        starts, counts, sources, targets, how = (each.tobytes() for each in arrays)
        return starts, counts, sources, targets, how

    @classmethod
    def unpack(cls, size: int, packed: Sequence[bytes]) -> Edges:
        """Raises ValueError for what does not fit together."""
        edges = cls(0)
        for own, part in zip((edges.starts, edges.counts, edges.sources, edges.targets), packed[:4], strict=True):
            own.frombytes(part)
        edges.how = bytearray(packed[4])
        number = len(edges.how)
        if not (len(edges.starts) == len(edges.counts) == size and len(edges.sources) == len(edges.targets) == number):
            raise ValueError("edges of another graph")
        edges._gone = edges.sources.count(-1)
        return edges

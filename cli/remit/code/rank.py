"""Personalised PageRank over flat lists: the chance to be at a symbol for one who follows mentions and now and then
starts anew where it matters."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from remit.code.edges import Edges

DAMPING = 0.85
TOLERANCE = 1e-3
"""Sum of all changes of a round below which the ranks stand."""

MAX_ROUNDS = 60

_MAX_SPREAD = 200

UNIT = 1024
"""Weights are told apart from this part of what a symbol begins with on: what the way of counting makes of the same
weights does not put them in another order."""

_LEAST = 2.0**-20
"""What is not handed on any further, in what a symbol begins with."""


class Outs(Protocol):
    """Of nodes, those they lead to."""

    def items(self) -> Iterable[tuple[int, Collection[int]]]: ...

    def values(self) -> Iterable[Collection[int]]: ...


class Ranks(msgspec.Struct, frozen=True):
    """scores: by node, together 1. converged: whether they stood before the rounds were used up."""

    scores: list[float]
    rounds: int
    converged: bool


def page_rank(
    size: int,
    outs: Outs,
    starts: Sequence[float] | None = None,
    *,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
    check: Callable[[], None] = lambda: None,
) -> Ranks:
    """outs: of a node, those it leads to, in equal parts. starts: how likely a walk begins at each node, in any unit;
    None: anywhere alike. From a node that leads nowhere a walk begins anew."""
    if size == 0:
        return Ranks([], 0, True)
    total = sum(starts) if starts is not None else 0.0
    begin = [each / total for each in starts] if starts is not None and total > 0 else [1.0 / size] * size
    walk = _Walk(begin, outs, damping)
    rounds, change = 0, 1.0
    while rounds < max_rounds and change > tolerance:
        check()
        rounds += 1
        change = walk.step()
    return Ranks(walk.scores(), rounds, change <= tolerance)


class _Walk:
    """The state between two rounds. Nodes that nothing leads to need no list: each has its share of what begins
    anew, `factor` times its start. The others are counted through in the order of `led`."""

    def __init__(self, begin: list[float], outs: Outs, damping: float) -> None:
        self._begin = begin
        self._damping = damping
        self._led = list({target for targets in outs.values() for target in targets})
        place = {node: number for number, node in enumerate(self._led)}
        self._starts = [begin[node] for node in self._led]
        self._scores = self._starts[:]
        self._factor = 1.0
        self._constant = [0.0] * len(self._led)
        self._rows = []
        leading = 0.0
        for source, targets in outs.items():
            if not targets:
                continue
            share = damping / len(targets)
            number = place.get(source)
            if number is not None:
                self._rows.append((number, share, [place[target] for target in targets]))
                continue
            leading += begin[source]
            part = begin[source] * share
            for target in targets:
                self._constant[place[target]] += part
        led_start = sum(self._starts)
        self._unled = 1.0 - led_start
        self._idle_unled = self._unled - leading
        busy = {number for number, _, _ in self._rows}
        self._idle = [number for number in range(len(self._led)) if number not in busy]

    def step(self) -> float:
        """One round; the sum of all changes."""
        scores, before = self._scores, self._factor
        idle = self._idle_unled * before + sum([scores[number] for number in self._idle])
        factor = self._factor = 1.0 - self._damping + self._damping * idle
        fresh = [
            factor * start + before * constant for start, constant in zip(self._starts, self._constant, strict=True)
        ]
        for number, share, targets in self._rows:
            part = scores[number] * share
            for target in targets:
                fresh[target] += part
        self._scores = fresh
        changes = sum([abs(new - old) for new, old in zip(fresh, scores, strict=True)])
        return changes + abs(factor - before) * self._unled

    def scores(self) -> list[float]:
        """Of all nodes."""
        factor = self._factor
        scores = [factor * each for each in self._begin]
        for node, score in zip(self._led, self._scores, strict=True):
            scores[node] = score
        return scores


class Weights:
    """How much nodes matter, by what leads to them: PageRank, before it is made to be one together. exact: what a node
    begins with, and what others hand on to it. scores: the same in whole numbers of 1/UNIT."""

    def __init__(self, exact: array[float], scores: array[int], rounds: int = 0, converged: bool = True) -> None:
        self.exact = exact
        self.scores = scores
        self.rounds = rounds
        self.converged = converged

    def spread(self, outs: Edges, rest: dict[int, float]) -> None:
        """Add to some nodes, and hand on to others what they get by that."""
        exact, starts, counts, all_targets = self.exact, outs.starts, outs.counts, outs.targets
        self.rounds = 0
        touched: set[int] = set()
        while rest and self.rounds < _MAX_SPREAD:
            self.rounds += 1
            moving, rest = rest, {}
            touched.update(moving)
            for node, amount in moving.items():
                exact[node] += amount
                count = counts[node]
                if not count or -_LEAST < amount < _LEAST:
                    continue
                part = amount * DAMPING / count
                start = starts[node]
                for target in all_targets[start : start + count]:
                    rest[target] = rest.get(target, 0.0) + part
        self.converged = not rest
        for node in touched:
            self.scores[node] = int(exact[node] * UNIT + 0.5)


def weigh(outs: Edges, starts: Sequence[float]) -> Weights:
    """starts: what each node begins with, 1: as a symbol does. Without what begins anew all weights are in the same
    proportion, and a change of the graph changes only those that it leads to."""
    size = len(starts)
    weights = Weights(array("d", bytes(8 * size)), array("q", bytes(8 * size)))
    weights.spread(outs, {node: start for node, start in enumerate(starts) if start})
    return weights

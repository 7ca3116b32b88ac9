"""The symbols of a tree and what they say of one another."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from remit.code.facts import SYMBOL_KINDS, Facts
from remit.code.names import MANY, NONE, Names
from remit.code.rank import Ranks, page_rank
from remit.code.resolve import Resolver
from remit.code.tree import SourceTree
from remit.code.view import Depends

CALL, TYPE, INHERIT, USE = 1, 2, 4, 8
_BITS = {"call": CALL, "type": TYPE, "inherit": INHERIT, "use": USE}
_SHIFT = 4

_TEST_START = 0.05
"""Tests mention everything; what they begin with says little of what matters."""

HELD_BYTES = 32 << 20
"""Facts of a larger tree are read twice, so that those of one file at a time are in memory."""

_CHECK_EVERY = 64


class Graph:
    """Nodes: definitions, counted through all files, and behind them the files themselves, which stand for what is
    said at their top. outs: of a node, the nodes it mentions; how: in the same order, in which ways (bits).

    resolved, unresolved, ambiguous: mentions with an edge; of what is not in the tree, or on objects of which
    nothing is known; of what several definitions could be. unclear: of ambiguous names, how many mentions.
    broken: files with errors of syntax. cut: by bound, files of which it left something out.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self.outs: dict[int, tuple[int, ...]] = {}
        self.how: dict[int, bytes] = {}
        self.resolved = 0
        self.unresolved = 0
        self.ambiguous = 0
        self.unclear: dict[str, int] = {}
        self.broken = 0
        self.cut: Counter[str] = Counter()

    @property
    def tree(self) -> SourceTree:
        return self.names.tree

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.names.symbols + len(self.tree.files)

    @cached_property
    def symbols(self) -> int:
        """The number of definitions that are symbols."""
        return sum(map(SYMBOL_KINDS.__contains__, self.names.kind))

    @cached_property
    def edges(self) -> int:
        return sum(map(len, self.outs.values()))

    @cached_property
    def _ins(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for source, targets in self.outs.items():
            for target, bits in zip(targets, self.how[source], strict=True):
                held = found.get(target)
                if held is None:
                    held = found[target] = []
                held.append(source << _SHIFT | bits)
        return found

    def ins(self, node: int) -> Iterator[tuple[int, int]]:
        """The nodes that mention one, and in which ways."""
        return ((each >> _SHIFT, each & (1 << _SHIFT) - 1) for each in self._ins.get(node, ()))

    @cached_property
    def mentioned_by(self) -> list[int]:
        """Of each node, how many others mention it."""
        numbers = [0] * self.size
        for targets in self.outs.values():
            for target in targets:
                numbers[target] += 1
        return numbers

    @cached_property
    def importance(self) -> Ranks:
        """How much each node matters to code that is no test."""
        starts = [_TEST_START if test else 1.0 for test in self.names.tests]
        starts += [_TEST_START if file.tests else 1.0 for file in self.tree.files]
        return page_rank(self.size, self.outs, starts)

    def is_file(self, node: int) -> bool:
        return node >= self.names.symbols

    def is_test(self, node: int) -> bool:
        if self.is_file(node):
            return self.tree.files[self.names.file_of(node)].tests
        return bool(self.names.tests[node])

    def path(self, node: int) -> str:
        """From the workspace."""
        return self.names.paths[self.names.file_of(node)]


def build_graph(tree: SourceTree, prefix: str = "", check: Callable[[], None] = lambda: None) -> Graph:
    """The graph of a tree. prefix: of its files' names in the workspace. check: asked now and then."""
    # Millions of small things are made and few are freed: counting them again and again takes longer than making.
    paused = gc.isenabled()
    gc.disable()
    try:
        return _built(tree, prefix, check)
    finally:
        if paused:
            gc.enable()


def _built(tree: SourceTree, prefix: str, check: Callable[[], None]) -> Graph:
    names = Names(tree, prefix)
    graph = Graph(names)
    held: list[Facts] = []
    room = HELD_BYTES
    for index, file in enumerate(tree.files):
        facts = file.facts
        names.take(facts, tests=file.tests)
        graph.broken += facts.broken
        if facts.cut:
            graph.cut[facts.cut] += 1
        room -= file.weight
        if room >= 0:
            held.append(facts)
        if not index % _CHECK_EVERY:
            check()
    names.finish()
    resolver = Resolver(names)
    for index, file in enumerate(tree.files):
        _link(graph, resolver, index, held[index] if index < len(held) else file.facts)
        if not index % _CHECK_EVERY:
            check()
    names.forget()
    return graph


def _link(graph: Graph, resolver: Resolver, index: int, facts: Facts) -> None:
    """The edges of one file."""
    names, unclear = graph.names, graph.unclear
    view = resolver.view(index)
    own_file = names.symbols + index
    sources: dict[int, int] = {-1: own_file}
    outs: dict[int, dict[int, int]] = {}
    rows: dict[str, tuple[Depends, dict[object, int]]] = {}
    inner, around = names.inner[index], view.around
    counts = Counter[int]()
    for each in facts.references:
        name, qualifier, scope = each.name, each.qualifier, each.scope
        row = rows.get(qualifier)
        if row is None:
            row = rows[qualifier] = (view.depends(qualifier), {})
        depends, known = row
        # What is said in equal words where the same is seen means the same.
        key: object = name
        if depends == "type":
            key = (name, around(scope))
        elif depends == "scope" or (depends == "name" and name in inner):
            key = (name, scope)
        target = known.get(key)
        if target is None:
            target = known[key] = resolver.target(view, scope, name, qualifier)
        if target < 0:
            counts[target] += each.count
            if target == MANY:
                unclear[name] = unclear.get(name, 0) + each.count
            continue
        graph.resolved += each.count
        source = sources.get(scope)
        if source is None:
            source = sources[scope] = _speaker(names, index, scope)
        if source != target:
            mentioned = outs.get(source)
            if mentioned is None:
                mentioned = outs[source] = {}
            mentioned[target] = mentioned.get(target, 0) | _BITS[each.kind]
    for source, mentioned in outs.items():
        graph.outs[source] = tuple(mentioned)
        graph.how[source] = bytes(mentioned.values())
    graph.unresolved += counts[NONE]
    graph.ambiguous += counts[MANY]


def _speaker(names: Names, index: int, scope: int) -> int:
    """The node that speaks where `scope` of a file does."""
    node = names.first[index] + scope
    if names.kind[node] not in SYMBOL_KINDS:
        node = names.holder(node)
    return node if node >= 0 else names.symbols + index

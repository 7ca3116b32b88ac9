"""The symbols of a tree and what they say of one another."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

import msgspec

from remit.code.changes import Change, affected, changed_names, moved
from remit.code.facts import SYMBOL_KINDS, Facts
from remit.code.names import MANY, Meaning, Names
from remit.code.rank import Ranks, page_rank
from remit.code.resolve import Resolver
from remit.code.tree import SourceTree

CALL, TYPE, INHERIT, USE = 1, 2, 4, 8
_BITS = {"call": CALL, "type": TYPE, "inherit": INHERIT, "use": USE}
_SHIFT = 4

_TEST_START = 0.05
"""Tests mention everything; what they begin with says little of what matters."""

HELD_BYTES = 16 << 20
"""Of facts as they are kept. Those of a larger tree are read twice, so that one file's at a time are in memory."""

_CHECK_EVERY = 64

_Edges = tuple[int, tuple[int, ...], bytes]
"""A node, what it mentions, and how."""


class Account(msgspec.Struct, array_like=True, gc=False):
    """What became of the mentions in one file: numbers of them. unclear: of ambiguous names."""

    resolved: int = 0
    unresolved: int = 0
    ambiguous: int = 0
    unclear: dict[str, int] = {}


class Graph:
    """Nodes: definitions, counted through all files, and behind them the files themselves, which stand for what is
    said at their top. outs: of a node, the nodes it mentions; how: in the same order, in which ways (bits).

    resolved, unresolved, ambiguous: mentions with an edge; of what is not in the tree, or on objects of which
    nothing is known; of what several definitions could be. unclear: of ambiguous names, how many mentions.
    broken: files with errors of syntax. cut: by bound, files of which it left something out. accounts: of each file.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self.outs: dict[int, tuple[int, ...]] = {}
        self.how: dict[int, bytes] = {}
        self.resolved = 0
        self.unresolved = 0
        self.ambiguous = 0
        self.unclear: dict[str, int] = {}
        self.accounts: list[Account] = []
        self.broken = 0
        self.cut: Counter[str] = Counter()

    @property
    def tree(self) -> SourceTree:
        return self.names.tree

    def mention(self, source: int, targets: dict[int, int]) -> None:
        """Add edges of a node, itself left out."""
        targets.pop(source, None)
        if source in self.outs:
            before = dict(zip(self.outs[source], self.how[source], strict=True))
            for target, bits in targets.items():
                before[target] = before.get(target, 0) | bits
            targets = before
        if targets:
            self.outs[source] = tuple(targets)
            self.how[source] = bytes(targets.values())

    def adopt(self, edges: Sequence[_Edges], account: Account) -> None:
        """Take what is known of the next file."""
        for source, targets, how in edges:
            self.outs[source] = targets
            self.how[source] = how
        self.settle(account)

    def settle(self, account: Account) -> None:
        """Take what became of the mentions in the next file."""
        self.accounts.append(account)
        self.resolved += account.resolved
        self.unresolved += account.unresolved
        self.ambiguous += account.ambiguous
        for name, number in account.unclear.items():
            self.unclear[name] = self.unclear.get(name, 0) + number

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


class Earlier(msgspec.Struct, frozen=True):
    """The graph of an earlier state of a tree, with files of the same names. changed: the facts before of those that
    changed, by index."""

    graph: Graph
    changed: Mapping[int, Facts]


def build_graph(
    tree: SourceTree, prefix: str = "", check: Callable[[], None] = lambda: None, earlier: Earlier | None = None
) -> Graph:
    """The graph of a tree. prefix: of its files' names in the workspace. check: asked now and then. earlier: for what
    need not be worked out again; the graph is the same without it."""
    with without_collecting():
        return _built(tree, prefix, check, earlier)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Where millions of small things are made and few are freed: looking for those takes longer than making them."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _built(tree: SourceTree, prefix: str, check: Callable[[], None], earlier: Earlier | None) -> Graph:
    names = Names(tree, prefix)
    graph = Graph(names)
    held: list[Facts] = []
    holding = sum(file.weight for file in tree.files) <= HELD_BYTES
    for index, file in enumerate(tree.files):
        facts = file.facts
        names.take(facts, tests=file.tests)
        graph.broken += facts.broken
        if facts.cut:
            graph.cut[facts.cut] += 1
        if holding:
            held.append(facts)
        if not index % _CHECK_EVERY:
            check()
    names.finish()
    resolver = Resolver(names)
    lasting = _lasting(names, held, earlier) if earlier is not None and holding else {}
    for index, file in enumerate(tree.files):
        known = lasting.get(index)
        if known is None:
            _link(graph, resolver, index, held[index] if holding else file.facts)
        else:
            graph.adopt(*known)
        if not index % _CHECK_EVERY:
            check()
    names.forget()
    return graph


def _lasting(names: Names, held: Sequence[Facts], earlier: Earlier) -> dict[int, tuple[Sequence[_Edges], Account]]:
    """What is known of files in which all mentions mean what they meant."""
    old, habits = earlier.graph, [family.habits for family in names.family]
    changes = {index: Change(before, held[index], habits[index]) for index, before in earlier.changed.items()}
    changed: set[str] = set()
    for change in changes.values():
        found = changed_names(change)
        if found is None:
            return {}
        changed |= found
    again = affected(changed, held, habits, changes) | changes.keys()
    now = moved(old.names.first, old.names.symbols, names.first, names.symbols, changes)
    edges: list[list[_Edges]] = [[] for _ in held]
    home, place = _homes(old.names), now.__getitem__
    for source, targets in old.outs.items():
        index = home[source]
        if index in again:
            continue
        here = tuple(map(place, targets))
        if -1 in here:
            again.add(index)
        else:
            edges[index].append((now[source], here, old.how[source]))
    return {index: (edges[index], old.accounts[index]) for index in range(len(held)) if index not in again}


def _homes(names: Names) -> list[int]:
    """The file of each node."""
    ends = [*names.first[1:], names.symbols]
    homes: list[int] = []
    for index, (begin, end) in enumerate(zip(names.first, ends, strict=True)):
        homes += [index] * (end - begin)
    return homes + list(range(len(names.first)))


def _link(graph: Graph, resolver: Resolver, index: int, facts: Facts) -> None:
    """The edges of one file."""
    names = graph.names
    unclear: dict[str, int] = {}
    meanings = _Meanings(resolver, index)
    words, inner, rows, plain = names.family[index].words, names.inner[index], meanings.rows, meanings.plain
    outs: dict[int, dict[int, int]] = {}
    mentioned: dict[int, int] = {}
    known: dict[str, int] | None
    here: dict[str, dict[str, int]] = {}
    last = -2
    resolved = unresolved = ambiguous = 0
    # Said of hundreds of thousands of mentions: what many of them share is looked up when it changes.
    for each in facts.references:
        name = each.name
        if name not in words:
            unresolved += each.count
            continue
        scope, qualifier = each.scope, each.qualifier
        if scope != last:
            last, here = scope, {}
            mentioned = outs.setdefault(scope, {})
        if not qualifier and name not in inner and not meanings.everywhere_scoped:
            known = plain
        else:
            known = rows.get(qualifier) or here.get(qualifier)
            if known is None:
                known = here[qualifier] = meanings.known_by(scope, qualifier)
        target = known.get(name)
        if target is None:
            target = known[name] = meanings.target(scope, name, qualifier)
        if target >= 0:
            resolved += each.count
            mentioned[target] = mentioned.get(target, 0) | _BITS[each.kind]
        elif target == MANY:
            ambiguous += each.count
            unclear[name] = unclear.get(name, 0) + each.count
        else:
            unresolved += each.count
    graph.settle(Account(resolved, unresolved, ambiguous, unclear))
    for scope, mentioned in outs.items():
        graph.mention(names.speaker(index, scope), mentioned)


class _Meanings:
    """What mentions in one file mean, once for all that say the same where the same is seen.

    plain: of names without a qualifier, where only the file matters. rows: by qualifier, of names behind it, where only
    the file matters. everywhere_scoped: of names without a qualifier it never is only the file."""

    def __init__(self, resolver: Resolver, index: int) -> None:
        self._view = resolver.view(index)
        self._resolver = resolver
        self._subjects: dict[str, Meaning] = {}
        self._by_subject: dict[Meaning, dict[str, int]] = {}
        self._scoped: dict[tuple[str, int], dict[str, int]] = {}
        self.plain: dict[str, int] = {}
        self.rows: dict[str, dict[str, int]] = {}
        self.everywhere_scoped = self._view.depends("") == "scope"

    def known_by(self, scope: int, qualifier: str) -> dict[str, int]:
        """What is known of names behind a qualifier where it is said."""
        depends = self._view.depends(qualifier)
        if depends == "file":
            # What is behind a subject does not depend on how it is called.
            subject = self._subjects[qualifier] = self._view.subject(scope, qualifier)
            found = self.rows[qualifier] = self._by_subject.setdefault(subject, {})
            return found
        around = self._view.around(scope) if depends == "type" else scope
        known = self._scoped.get((qualifier, around))
        if known is None:
            own = depends == "type" and around >= 0 and qualifier in self._view.habits.selfs
            known = self._scoped[qualifier, around] = self._resolver.held(around) if own else {}
        return known

    def target(self, scope: int, name: str, qualifier: str) -> int:
        """The node that is meant, else NONE or MANY."""
        if qualifier in self._subjects:
            found = self._view.behind(self._subjects[qualifier], name)
        else:
            found = self._view.target(scope, name, qualifier)
        return self._resolver.real(found) if found >= 0 else found

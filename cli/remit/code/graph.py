"""The symbols of a tree and what they say of one another."""

from __future__ import annotations

import gc
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property

import msgspec

from remit.code.edges import Edges
from remit.code.facts import SYMBOL_KINDS, Facts
from remit.code.names import MANY, Meaning, Names
from remit.code.rank import Weights, weigh
from remit.code.resolve import Resolver
from remit.code.tree import HELD_BYTES, SourceTree

CALL, TYPE, INHERIT, USE = 1, 2, 4, 8
_BITS = {"call": CALL, "type": TYPE, "inherit": INHERIT, "use": USE}

_TEST_START = 0.05
"""Tests mention everything; what they begin with says little of what matters."""

_CHECK_EVERY = 64


class Account(msgspec.Struct, array_like=True, gc=False):
    """What became of the mentions in one file: numbers of them. unclear: of ambiguous names."""

    resolved: int = 0
    unresolved: int = 0
    ambiguous: int = 0
    unclear: dict[str, int] = {}


class Graph:
    """Nodes: definitions, counted through all files, and behind them the files themselves, which stand for what is
    said at their top.

    resolved, unresolved, ambiguous: mentions with an edge; of what is not in the tree, or on objects of which
    nothing is known; of what several definitions could be. unclear: of ambiguous names, how many mentions.
    broken: files with errors of syntax. cut: by bound, files of which it left something out. accounts: of each file.
    """

    def __init__(self, names: Names, outs: Edges | None = None) -> None:
        self.names = names
        self.outs = outs or Edges(self.size)
        self.resolved = 0
        self.unresolved = 0
        self.ambiguous = 0
        self.unclear: Counter[str] = Counter()
        self.accounts: list[Account] = []
        self.broken = 0
        self.cut: Counter[str] = Counter()

    @property
    def tree(self) -> SourceTree:
        return self.names.tree

    def settle(self, account: Account) -> None:
        """Take what became of the mentions in the next file."""
        self.accounts.append(account)
        self._count(account, 1)

    def total(self, account: Account) -> None:
        """Take what became of all mentions together, where that of each file is known already."""
        self._count(account, 1)

    def settle_anew(self, index: int, account: Account) -> None:
        self._count(self.accounts[index], -1)
        self.accounts[index] = account
        self._count(account, 1)

    def _count(self, account: Account, times: int) -> None:
        self.resolved += times * account.resolved
        self.unresolved += times * account.unresolved
        self.ambiguous += times * account.ambiguous
        for name, number in account.unclear.items():
            self.unclear[name] += times * number

    def examine(self, facts: Facts, times: int = 1) -> None:
        """Take what a file's facts say of themselves. times: -1 for those that hold no longer."""
        self.broken += times * facts.broken
        if facts.cut:
            self.cut[facts.cut] += times
            # What is told of no file is not told.
            self.cut = +self.cut

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.names.symbols + len(self.tree.files)

    @cached_property
    def symbols(self) -> int:
        """The number of definitions that are symbols."""
        return sum(map(SYMBOL_KINDS.__contains__, self.names.kind))

    @property
    def edges(self) -> int:
        return len(self.outs)

    def ins(self, node: int) -> Iterator[tuple[int, int]]:
        """The nodes that mention one, and in which ways."""
        outs = self.outs
        return ((outs.sources[entry], outs.how[entry]) for entry in outs.into(node))

    @cached_property
    def mentioned_by(self) -> array[int]:
        """Of each node, how many others mention it."""
        numbers = array("i", bytes(4 * self.size))
        for source, target in zip(self.outs.sources, self.outs.targets, strict=True):
            if source >= 0:
                numbers[target] += 1
        return numbers

    @cached_property
    def importance(self) -> Weights:
        """How much each node matters to code that is no test."""
        return weigh(self.outs, self.starts())

    def starts(self) -> array[float]:
        """How much each node matters before anything is known of what mentions it."""
        pairs = zip(self.names.kind, self.names.tests, strict=True)
        found = array("d", ((_TEST_START if test else 1.0) if kind else 0.0 for kind, test in pairs))
        found.extend(_TEST_START if file.tests else 1.0 for file in self.tree.files)
        return found

    def start(self, node: int) -> float:
        """As `starts`, of one."""
        there = self.is_file(node) or self.names.kind[node]
        return (_TEST_START if self.is_test(node) else 1.0) if there else 0.0

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
    with without_collecting():
        graph = _built(tree, prefix, check)
        graph.names.forget()
        return graph


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


def _built(tree: SourceTree, prefix: str, check: Callable[[], None]) -> Graph:
    names = Names(tree, prefix)
    held: list[Facts] = []
    holding = sum(file.weight for file in tree.files) <= HELD_BYTES
    for index, file in enumerate(tree.files):
        facts = file.facts
        names.take(facts)
        file.open(None)
        if holding:
            held.append(facts)
        if not index % _CHECK_EVERY:
            check()
    names.finish()
    graph = Graph(names)
    resolver = Resolver(names)
    for index, file in enumerate(tree.files):
        facts = held[index] if holding else file.facts
        graph.examine(facts)
        mentioned, account = link(resolver, index, facts)
        graph.settle(account)
        for node, targets in mentioned.items():
            graph.outs.put(node, targets)
        if not index % _CHECK_EVERY:
            check()
    resolver.forget()
    return graph


def link(resolver: Resolver, index: int, facts: Facts) -> tuple[dict[int, dict[int, int]], Account]:
    """The edges of one file by the node they begin at, and what became of its mentions."""
    names = resolver.names
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
            speaker = names.speaker(index, scope)
            mentioned = outs.get(speaker) or outs.setdefault(speaker, {})
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
    for speaker, mentioned in outs.items():
        mentioned.pop(speaker, None)
    return outs, Account(resolved, unresolved, ambiguous, unclear)


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

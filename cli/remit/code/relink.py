"""A kept graph brought up to files that changed since: what they mean is linked anew, and what others mean by them.

It is the graph that all files of the tree would come to, but for its order of edges and the last digits of its
weights, at the cost of what changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from remit.code.changes import Change, Sources, affected, changed_names, kept_places
from remit.code.facts import Facts
from remit.code.graph import Graph, link, without_collecting
from remit.code.lazy import Shared, awaken, replace
from remit.code.rank import DAMPING
from remit.code.resolve import Resolver

MAX_LINKED = 300
"""Files. Where more are affected, all are linked."""

MAX_LOST = 40
"""Names that are no longer. Whether nobody has them takes a look at all."""


def relink(
    graph: Graph,
    shared: Shared,
    since: Mapping[int, Facts],
    changes: Mapping[int, Change],
    facts_of: Callable[[int], Facts],
    check: Callable[[], None] = lambda: None,
) -> bool:
    """Bring a graph up to changes of files; False, and the graph is of no use any more, where all is to be linked.
    shared: of an earlier state of the tree, when the files of `since` had those facts. facts_of: as they are now."""
    with without_collecting():
        return _Relinking(graph, shared, since, changes, facts_of, check).run()


class _Relinking:
    def __init__(
        self,
        graph: Graph,
        shared: Shared,
        since: Mapping[int, Facts],
        changes: Mapping[int, Change],
        facts_of: Callable[[int], Facts],
        check: Callable[[], None],
    ) -> None:
        self._graph = graph
        self._names = graph.names
        self._shared = shared
        self._since = since
        self._changes = changes
        self._facts_of = facts_of
        self._check = check
        self._dirty: set[int] = set()

    def run(self) -> bool:
        names, changes = self._names, self._changes
        changed: set[str] = set()
        for index, change in changes.items():
            first, end = names.room(index)
            found = changed_names(change)
            if found is None or len(change.after.definitions) > end - first:
                return False
            changed |= found
        awaken(names, self._shared, self._facts_of)
        if not self._replace():
            return False
        habits = [family.habits for family in names.family]
        again = affected(changed, Sources(self._holding, self._facts_of, habits), changes.values())
        if again is None:
            return False
        again |= changes.keys()
        self._move(again)
        if len(again) > MAX_LINKED:
            return False
        self._link(again)
        self._weigh()
        names.forget()
        return True

    def _holding(self, words: Collection[str]) -> set[int]:
        """The files in which words stand, and all that changed since that was found out."""
        return self._shared.holding(words).union(self._since, self._changes)

    def _replace(self) -> bool:
        names, lost = self._names, 0
        for index in {**self._since, **self._changes}:
            before = self._since.get(index)
            if before is None:
                before = self._changes[index].before
            else:
                names.write(index, before)
            after = self._facts_of(index)
            replace(names, index, before, after)
            gone = _words_of(before) - _words_of(after)
            lost += len(gone)
            if lost > MAX_LOST:
                return False
            for name in gone:
                self._lose(index, name)
        for index, change in self._changes.items():
            self._dirty.update(range(*names.room(index)))
            self._graph.examine(change.before, -1)
            self._graph.examine(change.after)
        return True

    def _lose(self, index: int, name: str) -> None:
        """A file has a name no longer: perhaps none of its family has."""
        names, family = self._names, self._names.family[index]
        if any(names.family[names.file_of(node)] is family for node in _places(names.name, name)):
            return
        for other in self._holding([name]):
            if names.family[other] is family and any(each.alias == name for each in self._facts_of(other).imports):
                return
        family.words.discard(name)

    def _move(self, again: set[int]) -> None:
        """Let edges lead to where definitions are now; who means one that is no longer is linked anew."""
        now: dict[int, int] = {}
        for index, change in self._changes.items():
            first = self._names.first[index]
            for number, place in enumerate(kept_places(change)):
                if place != number:
                    now[first + number] = first + place if place >= 0 else -1
        if not now:
            return
        outs, moving = self._graph.outs, set()
        for source, target in outs.leading_to(now):
            index = self._names.file_of(source)
            if now[target] < 0:
                again.add(index)
            moving.add(source)
        for source in moving:
            if self._names.file_of(source) not in again:
                pairs = zip(outs.get(source), outs.bits(source), strict=True)
                self._put(source, {now.get(target, target): bits for target, bits in pairs})

    def _link(self, again: Iterable[int]) -> None:
        graph, names, resolver = self._graph, self._names, Resolver(self._names)
        for index in sorted(again):
            self._check()
            mentioned, account = link(resolver, index, self._facts_of(index))
            graph.settle_anew(index, account)
            for node in (*range(*names.room(index)), names.symbols + index):
                self._put(node, mentioned.get(node, {}))
        resolver.forget()

    def _put(self, node: int, mentioned: dict[int, int]) -> None:
        outs = self._graph.outs
        before = outs.get(node)
        if list(before) != list(mentioned) or outs.bits(node) != bytes(mentioned.values()):
            self._dirty.update(before, mentioned)
            outs.put(node, mentioned)

    def _weigh(self) -> None:
        """How much the nodes weigh to which other edges lead than before, or which are others themselves."""
        graph, weights = self._graph, self._graph.importance
        given = dict.fromkeys(self._dirty, 0.0)
        number = dict.fromkeys(self._dirty, 0)
        counts, exact = graph.outs.counts, weights.exact
        for source, target in graph.outs.leading_to(self._dirty):
            given[target] += exact[source] / counts[source]
            number[target] += 1
        for node, times in number.items():
            graph.mentioned_by[node] = times
        rest = {node: graph.start(node) + DAMPING * each - exact[node] for node, each in given.items()}
        weights.spread(graph.outs, {node: amount for node, amount in rest.items() if amount})


def _words_of(facts: Facts) -> set[str]:
    return {each.name for each in facts.definitions} | {each.alias for each in facts.imports}


def _places(names: list[str], name: str) -> Iterable[int]:
    at = -1
    while True:
        try:
            at = names.index(name, at + 1)
        except ValueError:
            return
        yield at

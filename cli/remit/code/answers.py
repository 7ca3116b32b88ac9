"""What the tools are asked: rows of symbols out of a graph, each count a lower bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.text import shorten, visible
from remit.code.context import Found, Index, find_context
from remit.code.facts import SYMBOL_KINDS
from remit.code.graph import CALL, INHERIT, USE, Graph
from remit.code.lookup import Symbols
from remit.code.names import NONE

_REACHES = CALL | USE | INHERIT
"""What a change travels along: not through a mention as a type alone."""

_CONSTRUCTORS = frozenset(
    ["__init__", "__new__", "__post_init__", "constructor", "initialize", "__construct", "init", "new", "<init>"]
)


class Row(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """name: with what it lies in. start, end: lines. mentioned_by, mentions: other symbols, at least. hop: from the
    symbol that was asked for, 0: not a matter of distance."""

    name: str
    kind: str
    path: str
    start: int
    end: int
    mentioned_by: int
    mentions: int
    test: bool = False
    hop: int = 0


class Reached(msgspec.Struct, frozen=True):
    """rows: what is no test; tests; both the nearest first. types: mentions as a type, which are not followed."""

    rows: list[int]
    tests: list[int]
    hops: dict[int, int]
    types: int = 0


class Answers:
    """Questions to one graph; indices are made when first needed and kept with it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.symbols = Symbols(graph)
        self._index: Index | None = None

    # -- questions ---------------------------------------------------------------------------------

    def most_important(self) -> list[int]:
        """All symbols, by rank."""
        kinds = self.graph.names.kind
        return self._by_rank(node for node, kind in enumerate(kinds) if kind in SYMBOL_KINDS)

    def context(self, task: str, check: Callable[[], None] = lambda: None) -> Found:
        if self._index is None:
            self._index = Index(self.graph, check)
        return find_context(self.graph, self.symbols, self._index, task, check)

    def named(self, spelled: str) -> list[int]:
        """The symbols of that name, by rank. Raises Failure(not_found) with close names."""
        found = self.symbols.find(spelled)
        if not found:
            raise Failure(ErrorCode.NOT_FOUND, self._unknown(spelled))
        return self._by_rank(found)

    def callers(self, nodes: Sequence[int]) -> list[int]:
        """What mentions the symbols, in any way."""
        found = {source for node in nodes for source, _ in self.graph.ins(node)}
        return self._by_rank(found - set(nodes))

    def callees(self, nodes: Sequence[int]) -> list[int]:
        """What the symbols mention, what lies in them included, themselves not."""
        inside = self._with_inside(nodes)
        outs = self.graph.outs
        return self._by_rank({target for node in inside for target in outs.get(node, ())} - inside)

    def impact(self, nodes: Sequence[int], hops: int, check: Callable[[], None] = lambda: None) -> Reached:
        """What a change of the symbols could reach, backwards along calls, uses and inheritance."""
        ins = self.graph.ins
        begin = self._with_inside(nodes) | self._made_by(nodes)
        distance = dict.fromkeys(begin, 0)
        edge = list(begin)
        for hop in range(1, hops + 1):
            check()
            beyond = []
            for node in edge:
                for source, bits in ins(node):
                    if bits & _REACHES and source not in distance:
                        distance[source] = hop
                        beyond.append(source)
            edge = beyond
        types = {
            source for node in begin for source, bits in ins(node) if not bits & _REACHES and source not in distance
        }
        reached = self._by_rank(node for node, hop in distance.items() if hop)
        reached.sort(key=distance.__getitem__)
        is_test = self.graph.is_test
        return Reached(
            [node for node in reached if not is_test(node)],
            [node for node in reached if is_test(node)],
            distance,
            len(types),
        )

    # -- rows --------------------------------------------------------------------------------------

    def row(self, node: int, hop: int = 0) -> Row:
        graph, names = self.graph, self.graph.names
        if graph.is_file(node):
            kind, start, end = "file", 1, max(1, names.lines[names.file_of(node)])
        else:
            kind, start, end = names.kind[node], names.start[node], names.end[node]
        return Row(
            name=self.symbols.title(node),
            kind=kind,
            path=graph.path(node),
            start=start,
            end=end,
            mentioned_by=graph.mentioned_by[node],
            mentions=len(graph.outs.get(node, ())),
            test=graph.is_test(node),
            hop=hop,
        )

    def _by_rank(self, nodes: Iterable[int]) -> list[int]:
        # Of equal rank are those that stand first.
        return sorted(sorted(nodes), key=self.graph.importance.scores.__getitem__, reverse=True)

    def _with_inside(self, nodes: Sequence[int]) -> set[int]:
        """The symbols and all that lies in them."""
        names = self.graph.names
        found = set(nodes)
        for node in nodes:
            if self.graph.is_file(node):
                continue
            inside = {node}
            # What lies in a definition comes right behind it.
            for below in range(node + 1, names.symbols):
                if names.parent[below] not in inside:
                    break
                inside.add(below)
            found |= inside
        return found

    def _made_by(self, nodes: Sequence[int]) -> set[int]:
        """The types whose making is among the symbols: who calls a constructor names the type."""
        names = self.graph.names
        return {names.holder(node) for node in nodes if names.name[node] in _CONSTRUCTORS} - {NONE}

    def _unknown(self, spelled: str) -> str:
        close = self.symbols.close(spelled)
        tail = f"; close names: {', '.join(visible(each) for each in close)}" if close else ""
        tree = self.graph.tree
        left_out = sum(msgspec.structs.astuple(tree.skipped))
        others = f" ({left_out} others were not: code_map tells why)" if left_out else ""
        return (
            f"no symbol is called {shorten(spelled)} in the {len(tree.files)} files that were read{others}; this is "
            f"no count of zero. Give a name, Type.name or path::name{tail}"
        )

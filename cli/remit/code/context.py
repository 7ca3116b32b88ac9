"""Which symbols to read before a change that is told in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import msgspec

from remit.code.facts import SYMBOL_KINDS
from remit.code.graph import Graph
from remit.code.lookup import Symbols
from remit.code.names import NONE
from remit.code.rank import page_rank
from remit.code.words import Query, read_query, stems_of, words_of

Confidence = Literal["high", "medium", "low"]

MAX_SEEDS = 60
"""The best matches, from where the ranks of their surroundings are computed."""

MAX_EXACT = 25
"""A name that more symbols have than that tells too little to begin at all of them."""

_NAMED, _DOCUMENTED, _PLACED = 1.0, 0.45, 0.3
"""What a word counts in the name of a symbol, in its documentation, in the path of its file."""

_EXACT = 3.0
"""What a name that the task spells counts, in units of the rarest word."""

_COMMON = 0.2
"""A word that more symbols have than this part of all tells nothing."""

_FLOOR = 0.34
"""The part of what the task says that a symbol has to match."""

_LEXICAL, _NEAR = 0.75, 0.25
_TEST = 0.5
_TAIL = 0.1
"""What scores less than this part of the best is noise."""

_HIGH, _MEDIUM = 0.35, 0.12


class Hit(msgspec.Struct, frozen=True):
    """score: of the best 1. matched: what of the task the symbol has, "" for one that is only near to others."""

    node: int
    score: float
    matched: tuple[str, ...] = ()


class Found(msgspec.Struct, frozen=True):
    """confidence: how far the best is from the next; one hit alone has nothing to be better than."""

    hits: list[Hit]
    confidence: Confidence
    query: Query
    converged: bool = True


class Index:
    """The words of the names, documentation and paths of a graph's symbols."""

    def __init__(self, graph: Graph, check: Callable[[], None] = lambda: None) -> None:
        self.names: dict[str, list[int]] = {}
        self.docs: dict[str, list[int]] = {}
        self.files: dict[str, list[int]] = {}
        self.symbols = 0
        names, docs = self.names, self.docs
        for node, (name, kind) in enumerate(zip(graph.names.name, graph.names.kind, strict=True)):
            if kind in SYMBOL_KINDS:
                self.symbols += 1
                for word in stems_of(name):
                    names.setdefault(word, []).append(node)
        check()
        for index, first in enumerate(graph.names.first):
            check()
            for number, doc in graph.names.docs_of(index).items():
                for word in words_of(doc):
                    docs.setdefault(word, []).append(first + number)
        for index, path in enumerate(graph.names.paths):
            for word in stems_of(path.rpartition(".")[0]):
                self.files.setdefault(word, []).append(index)

    def weight(self, word: str) -> float:
        """How much a word tells: 0 where nobody or nearly everybody has it."""
        number = max(len(self.names.get(word, ())), len(self.docs.get(word, ())))
        if not number and word not in self.files:
            return 0.0
        if number > max(20, _COMMON * self.symbols):
            return 0.0
        return math.log(1.0 + self.symbols / max(1, number))


def find_context(
    graph: Graph, symbols: Symbols, index: Index, task: str, check: Callable[[], None] = lambda: None
) -> Found:
    """The symbols that a task is about, best first; none where it matches nothing that tells."""
    query = read_query(task)
    scores, matched = _lexical(graph, symbols, index, query)
    check()
    if not scores:
        return Found([], "low", query)
    best = max(scores.values())
    seeds = sorted(scores, key=lambda node: (-scores[node], node))[:MAX_SEEDS]
    starts = [0.0] * graph.size
    for node in seeds:
        starts[node] = scores[node]
    near = page_rank(graph.size, graph.outs, starts, check=check)
    # Of two that match alike the one that others rely on comes first.
    important = graph.importance.scores
    most = max(important[node] for node in seeds) or 1.0
    highest = max(near.scores) or 1.0
    fused = {}
    for node in {*scores, *_neighbours(graph, seeds[:10])}:
        lexical = scores.get(node, 0.0) / best
        fused[node] = _LEXICAL * lexical + _NEAR * near.scores[node] / highest + 0.05 * min(1.0, important[node] / most)
        if graph.is_test(node) and not query.tests:
            fused[node] *= _TEST
    top = max(fused.values())
    ordered = sorted((node for node in fused if fused[node] >= _TAIL * top), key=lambda node: (-fused[node], node))
    hits = [Hit(node, round(fused[node] / top, 4), tuple(matched.get(node, ()))) for node in ordered]
    return Found(hits, _confidence(hits), query, near.converged and graph.importance.converged)


def _lexical(
    graph: Graph, symbols: Symbols, index: Index, query: Query
) -> tuple[dict[int, float], dict[int, list[str]]]:
    """Scores of the symbols that match, and what of the task they match."""
    weights = {word: weight for word in query.words if (weight := index.weight(word)) > 0}
    rarest = max(weights.values(), default=math.log(1.0 + index.symbols))
    whole = sum(weights.values())
    scores: dict[int, float] = {}
    matched: dict[int, list[str]] = {}
    for word, weight in weights.items():
        for node in index.names.get(word, ()):
            share = len(stems_of(graph.names.name[node]))
            scores[node] = scores.get(node, 0.0) + _NAMED * weight * (0.5 + 0.5 / max(1, share))
            matched.setdefault(node, []).append(word)
        for node in index.docs.get(word, ()):
            if word not in matched.get(node, ()):
                matched.setdefault(node, []).append(word)
                scores[node] = scores.get(node, 0.0) + _DOCUMENTED * weight
    _placed(graph, index, weights, scores)
    for node in list(scores):
        if sum(weights[word] for word in matched[node]) < _FLOOR * whole:
            del scores[node], matched[node]
    for name, strength in [*((each, 1.0) for each in query.identifiers), *((each, 0.35) for each in query.spelled)]:
        exact = symbols.find(name)
        if not exact or len(exact) > MAX_EXACT:
            continue
        for node in exact:
            scores[node] = scores.get(node, 0.0) + _EXACT * strength * rarest / math.sqrt(len(exact))
            matched[node] = [*dict.fromkeys([name, *matched.get(node, ())])]
    return scores, matched


def _placed(graph: Graph, index: Index, weights: dict[str, float], scores: dict[int, float]) -> None:
    """A path that has a word of the task is a reason to prefer what lies there, and none to show it."""
    bonus: dict[int, float] = {}
    for word, weight in weights.items():
        for file in index.files.get(word, ()):
            bonus[file] = bonus.get(file, 0.0) + _PLACED * weight
    for node in scores:
        scores[node] += bonus.get(graph.names.file_of(node), 0.0)


def _neighbours(graph: Graph, seeds: list[int]) -> set[int]:
    """What the best matches mention and what mentions them, as far as it is a symbol."""
    near = {node for seed in seeds for node in (*graph.outs.get(seed, ()), *(source for source, _ in graph.ins(seed)))}
    around = {graph.names.holder(seed) for seed in seeds}
    return {node for node in near | around if node != NONE and not graph.is_file(node)}


def _confidence(hits: list[Hit]) -> Confidence:
    if len(hits) < 2:
        return "low"
    apart = (hits[0].score - hits[1].score) / hits[0].score
    return "high" if apart >= _HIGH else "medium" if apart >= _MEDIUM else "low"

"""A graph as it is kept for another run: what its tree and its files' facts led to, without what led there.

It is of one state of one tree (`SourceTree.mark`); any other state has to be worked out. Numbers stand in flat arrays
and each name once, so that it is read in a small part of the time that it took to make.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from hashlib import blake2b

import msgspec

from remit.code.grammars import version
from remit.code.graph import Graph, without_collecting
from remit.code.names import Names
from remit.code.rank import Ranks
from remit.code.tree import SourceTree

GRAPH_VERSION = 1
"""Part of the key of every kept graph: where resolving or ranking comes to something else, it is another number."""

_KEY_BYTES = 20


class _Kept(msgspec.Struct, array_like=True, gc=False):
    """As `Graph` and `Names` have it. Arrays are of C ints (`scores`: doubles) as they lie in memory; name, kind:
    indices of words, kinds."""

    mark: bytes
    words: list[str]
    kinds: list[str]
    name: bytes
    kind: bytes
    start: bytes
    end: bytes
    parent: bytes
    tests: bytes
    first: bytes
    lines: bytes
    owner: dict[int, str]
    outs: dict[int, tuple[int, ...]]
    how: dict[int, bytes]
    counts: tuple[int, int, int, int]
    unclear: dict[str, int]
    cut: dict[str, int]
    mentioned_by: bytes
    scores: bytes
    rounds: int
    converged: bool


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Kept)


def place_key(place: str) -> bytes:
    """What a graph of a tree is kept under: one for each tree, its last. place: tells it from all others."""
    parts = (str(GRAPH_VERSION), sys.byteorder, place)
    return blake2b("\0".join(parts).encode(), digest_size=_KEY_BYTES, key=version(None)).digest()


def pack_graph(graph: Graph) -> bytes:
    """The graph, ranked."""
    names = graph.names
    words, kinds = _Numbers(), _Numbers()
    importance = graph.importance
    return _encoder.encode(
        _Kept(
            mark=graph.tree.mark,
            name=array("i", map(words.of, names.name)).tobytes(),
            kind=bytes(map(kinds.of, names.kind)),
            words=list(words.known),
            kinds=list(kinds.known),
            start=names.start.tobytes(),
            end=names.end.tobytes(),
            parent=names.parent.tobytes(),
            tests=bytes(names.tests),
            first=array("i", names.first).tobytes(),
            lines=array("i", names.lines).tobytes(),
            owner=names.owner,
            outs=graph.outs,
            how=graph.how,
            counts=(graph.resolved, graph.unresolved, graph.ambiguous, graph.broken),
            unclear=graph.unclear,
            cut=graph.cut,
            mentioned_by=array("i", graph.mentioned_by).tobytes(),
            scores=array("d", importance.scores).tobytes(),
            rounds=importance.rounds,
            converged=importance.converged,
        )
    )


def unpack_graph(packed: bytes, tree: SourceTree, prefix: str = "") -> Graph | None:
    """The graph of this state of a tree; None where it is of another, or no graph. prefix: as for `build_graph`."""
    with without_collecting():
        try:
            kept = _decoder.decode(packed)
        except msgspec.DecodeError:
            return None
        if kept.mark != tree.mark or len(kept.first) != len(tree.files) * array("i").itemsize:
            return None
        graph = Graph(_names(kept, tree, prefix))
        graph.outs, graph.how = kept.outs, kept.how
        graph.resolved, graph.unresolved, graph.ambiguous, graph.broken = kept.counts
        graph.unclear, graph.cut = kept.unclear, Counter(kept.cut)
        graph.mentioned_by = array("i", kept.mentioned_by).tolist()
        graph.importance = Ranks(array("d", kept.scores).tolist(), kept.rounds, kept.converged)
        return graph


def _names(kept: _Kept, tree: SourceTree, prefix: str) -> Names:
    names = Names(tree, prefix)
    names.name = list(map(kept.words.__getitem__, array("i", kept.name)))
    names.kind = list(map(kept.kinds.__getitem__, kept.kind))
    for own, packed in ((names.start, kept.start), (names.end, kept.end), (names.parent, kept.parent)):
        own.frombytes(packed)
    names.tests = bytearray(kept.tests)
    names.owner = kept.owner
    names.first, names.lines = array("i", kept.first).tolist(), array("i", kept.lines).tolist()
    return names


class _Numbers:
    """Each text once, numbered as they come."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def of(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known))

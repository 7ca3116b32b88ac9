"""A graph as it is kept for another run: what its tree and its files' facts led to, without what led there.

It is of one state of one tree, told by its files' names and content; for another state of the same files it is where
the work begins. Numbers stand in flat arrays and each name once, so that it is read in a small part of the time that
it took to make.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

import msgspec

from remit.code.facts import Facts, unpack
from remit.code.grammars import version
from remit.code.graph import Account, Earlier, Graph, build_graph, without_collecting
from remit.code.names import Names
from remit.code.rank import Ranks
from remit.code.tree import SourceTree
from remit.store.facts import Kept, KeptFacts

GRAPH_VERSION = 2
"""Part of the key of every kept graph: where resolving or ranking comes to something else, it is another number."""

MIN_KEPT_SYMBOLS = 1000
"""Of a graph that is kept: a smaller one is worked out as fast."""

_KEY_BYTES = 20
_MAX_CHANGED = 200
"""Files. After more changes all is worked out again."""


class _Kept(msgspec.Struct, array_like=True, gc=False):
    """As `Graph` and `Names` have it. Arrays are of C ints (`scores`: doubles) as they lie in memory; name, kind:
    indices of words, kinds."""

    paths: list[str]
    keys: list[bytes]
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
    accounts: list[Account]
    broken: int
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
    words, kinds = _numbered(names.name), _numbered(names.kind)
    importance = graph.importance
    return _encoder.encode(
        _Kept(
            paths=[file.path for file in graph.tree.files],
            keys=[file.key for file in graph.tree.files],
            name=array("i", map(words.__getitem__, names.name)).tobytes(),
            kind=bytes(map(kinds.__getitem__, names.kind)),
            words=list(words),
            kinds=list(kinds),
            start=names.start.tobytes(),
            end=names.end.tobytes(),
            parent=names.parent.tobytes(),
            tests=bytes(names.tests),
            first=array("i", names.first).tobytes(),
            lines=array("i", names.lines).tobytes(),
            owner=names.owner,
            outs=graph.outs,
            how=graph.how,
            accounts=graph.accounts,
            broken=graph.broken,
            cut=graph.cut,
            mentioned_by=array("i", graph.mentioned_by).tobytes(),
            scores=array("d", importance.scores).tobytes(),
            rounds=importance.rounds,
            converged=importance.converged,
        )
    )


def unpack_graph(packed: bytes, tree: SourceTree, prefix: str = "") -> tuple[Graph, dict[int, bytes]] | None:
    """The graph of the same files as in a tree, and those that have changed: by index, the keys of their content
    before; where there are none it is the graph of the tree. None where it is of other files, or no graph. prefix: as
    for `build_graph`."""
    with without_collecting():
        try:
            kept = _decoder.decode(packed)
        except msgspec.DecodeError:
            return None
        if kept.paths != [file.path for file in tree.files]:
            return None
        pairs = zip(kept.keys, tree.files, strict=True)
        changed = {index: key for index, (key, file) in enumerate(pairs) if not key or key != file.key}
        graph = Graph(_names(kept, tree, prefix))
        graph.outs, graph.how = kept.outs, kept.how
        for account in kept.accounts:
            graph.settle(account)
        graph.broken, graph.cut = kept.broken, Counter(kept.cut)
        graph.mentioned_by = array("i", kept.mentioned_by).tolist()
        graph.importance = Ranks(array("d", kept.scores).tolist(), kept.rounds, kept.converged)
        return graph, changed


def graph_of(tree: SourceTree, prefix: str, place: str, kept: KeptFacts, check: Callable[[], None]) -> Graph:
    """The graph of a tree as it was kept when the tree was in this state; else worked out, and kept. prefix, check: as
    for `build_graph`. place: see `place_key`."""
    key = place_key(place)
    with kept.opened() as store:
        packed = store.values([key]).get(key)
        found = unpack_graph(packed, tree, prefix) if packed is not None else None
        if found is not None and not found[1]:
            return found[0]
        earlier = Earlier(found[0], before) if found is not None and (before := _before(store, found[1])) else None
    graph = build_graph(tree, prefix, check, earlier)
    if graph.symbols >= MIN_KEPT_SYMBOLS:
        with kept.opened() as store:
            store.keep({key: pack_graph(graph)})
    return graph


def _before(store: Kept, changed: Mapping[int, bytes]) -> dict[int, Facts] | None:
    """The facts that were known of files before they changed; None unless of all."""
    if len(changed) > _MAX_CHANGED:
        return None
    values = store.values(list(changed.values()))
    try:
        return {index: unpack(values[key]) for index, key in changed.items()}
    except (KeyError, msgspec.DecodeError):
        return None


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


def _numbered(texts: Sequence[str]) -> dict[str, int]:
    """Each text once, numbered as they come."""
    return {text: number for number, text in enumerate(dict.fromkeys(texts))}

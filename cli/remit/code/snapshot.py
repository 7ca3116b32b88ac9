"""A graph as it is kept for another run: what its tree and its files' facts led to, without what led there.

It is of one state of one tree, told by its files' names and content; for another state of the same files it is where
the work begins. Numbers stand in flat arrays and each name once, so that it is read in a small part of the time that
it took to make. What resolving asks beside it, `lazy.Tables`, is kept apart: read when files have changed, and
written when many have.
"""

from __future__ import annotations

import contextlib
import os
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from threading import Thread
from uuid import uuid4

import msgspec

from remit.code.changes import Change
from remit.code.edges import Edges
from remit.code.facts import Facts, unpack
from remit.code.grammars import version
from remit.code.graph import Account, Graph, build_graph, without_collecting
from remit.code.lazy import Shared, Tables, tables_of
from remit.code.names import Names
from remit.code.rank import Weights
from remit.code.relink import relink
from remit.code.tree import Lively, Recalled, SourceTree
from remit.store.facts import Kept, KeptFacts

GRAPH_VERSION = 3
"""Part of the key of every kept graph: where resolving or ranking comes to something else, it is another number."""

MIN_KEPT_SYMBOLS = 1000
"""Of a graph that is kept: a smaller one is worked out as fast."""

MAX_SINCE = 32
"""Files that may have changed since the tables were written."""

_KEY_BYTES = 20
_MAX_CHANGED = 200
"""Files. After more changes all is worked out again."""


class KeptGraph(msgspec.Struct, array_like=True, gc=False):
    """As `Graph` and `Names` have it. Arrays are of C ints (`exact`: doubles, `scores`: long longs) as they lie in
    memory; paths, words: joined by NUL; name, kind, language: indices of words, kinds, languages. notes: what files in
    these states are, as `crawl` notes it. tables: which tables belong to it; since: by index, the keys of files that
    changed since those were written, as they were then. accounts: packed; total: of all."""

    paths: bytes
    go_modules: dict[str, str]
    keys: list[bytes]
    notes: dict[bytes, bytes]
    words: str
    kinds: list[str]
    languages: list[str]
    name: bytes
    kind: bytes
    start: bytes
    end: bytes
    flags: bytes
    parent: bytes
    tests: bytes
    first: bytes
    lines: bytes
    language: bytes
    owner: dict[int, str]
    docs: list[bytes]
    edges: tuple[bytes, bytes, bytes, bytes, bytes]
    accounts: bytes
    total: Account
    broken: int
    cut: dict[str, int]
    mentioned_by: bytes
    exact: bytes
    scores: bytes
    rounds: int
    converged: bool
    tables: bytes = b""
    since: dict[int, bytes] = {}

    def recalled(self, meanwhile: Callable[[], None]) -> Recalled:
        return Recalled(self.notes, frozenset(self.keys), meanwhile)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(KeptGraph)
_lively_decoder = msgspec.msgpack.Decoder(Lively)
_tables_decoder = msgspec.msgpack.Decoder(tuple[bytes, Tables])
_accounts_decoder = msgspec.msgpack.Decoder(list[Account])


class NotHeldError(Exception):
    """Facts that were known are not there any longer: the tree is to be read again."""


def place_key(place: str) -> bytes:
    """What a graph of a tree is kept under: one for each tree, its last. place: tells it from all others."""
    parts = (str(GRAPH_VERSION), sys.byteorder, place)
    return blake2b("\0".join(parts).encode(), digest_size=_KEY_BYTES, key=version(None)).digest()


def _tables_key(place: str) -> bytes:
    return place_key(f"tables:{place}")


def _lively_key(place: str) -> bytes:
    return place_key(f"lively:{place}")


# -- to bytes and back -----------------------------------------------------------------------------


def pack_graph(graph: Graph, tables: bytes = b"", since: Mapping[int, bytes] | None = None) -> bytes:
    """The graph, ranked."""
    names, importance, files = graph.names, graph.importance, graph.tree.files
    words, kinds, languages = _numbered(names.name), _numbered(names.kind), _numbered(names.languages)
    return _encoder.encode(
        KeptGraph(
            paths=b"\0".join(os.fsencode(file.path) for file in files),
            go_modules=graph.tree.go_modules,
            keys=[file.key for file in files],
            notes=graph.tree.notes,
            words="\0".join(words),
            kinds=list(kinds),
            languages=list(languages),
            name=array("i", map(words.__getitem__, names.name)).tobytes(),
            kind=bytes(map(kinds.__getitem__, names.kind)),
            start=names.start.tobytes(),
            end=names.end.tobytes(),
            flags=bytes(names.flags),
            parent=names.parent.tobytes(),
            tests=bytes(names.tests),
            first=array("i", names.first).tobytes(),
            lines=array("i", names.lines).tobytes(),
            language=bytes(map(languages.__getitem__, names.languages)),
            owner=names.owner,
            docs=names.docs,
            edges=graph.outs.pack(),
            accounts=_encoder.encode(graph.accounts),
            total=Account(graph.resolved, graph.unresolved, graph.ambiguous, graph.unclear),
            broken=graph.broken,
            cut=graph.cut,
            mentioned_by=graph.mentioned_by.tobytes(),
            exact=importance.exact.tobytes(),
            scores=importance.scores.tobytes(),
            rounds=importance.rounds,
            converged=importance.converged,
            tables=tables,
            since=dict(since or {}),
        )
    )


def unpack_graph(packed: bytes) -> KeptGraph | None:
    """None for what is no graph."""
    with without_collecting():
        try:
            return _decoder.decode(packed)
        except msgspec.DecodeError:
            return None


def restored(
    kept: KeptGraph, tree: SourceTree, prefix: str = "", columns: _Columns | None = None
) -> tuple[Graph, dict[int, bytes]] | None:
    """The graph of the same files as in a tree, and those that have changed: by index, the keys of their content
    before; where there are none it is the graph of the tree. None where it is of other files, or does not fit
    together. prefix: as for `build_graph`. columns: of the graph, where they are at hand."""
    paths = b"\0".join(os.fsencode(file.path) for file in tree.files)
    if kept.paths != paths or kept.go_modules != tree.go_modules:
        return None
    pairs = zip(kept.keys, tree.files, strict=True)
    changed = {index: key for index, (key, file) in enumerate(pairs) if not key or key != file.key}
    with without_collecting():
        try:
            names = _names(kept, tree, prefix, columns or _columns(kept))
            outs = Edges.unpack(names.symbols + len(tree.files), kept.edges)
        except (ValueError, IndexError):
            return None
        graph = Graph(names, outs)
        graph.total(kept.total)
        graph.broken, graph.cut = kept.broken, Counter(kept.cut)
        graph.mentioned_by = array("i", kept.mentioned_by)
        graph.importance = Weights(array("d", kept.exact), array("q", kept.scores), kept.rounds, kept.converged)
        return graph, changed


_Columns = tuple[list[str], list[str]]


def _columns(kept: KeptGraph) -> _Columns:
    """Names and kinds of the nodes. Raises IndexError and ValueError."""
    words = kept.words.split("\0")
    name = list(map(words.__getitem__, array("i", kept.name)))
    return name, list(map(kept.kinds.__getitem__, kept.kind))


def _names(kept: KeptGraph, tree: SourceTree, prefix: str, columns: _Columns) -> Names:
    names = Names(tree, prefix)
    names.name, names.kind = columns
    for own, packed in ((names.start, kept.start), (names.end, kept.end), (names.parent, kept.parent)):
        own.frombytes(packed)
    names.tests, names.flags = bytearray(kept.tests), bytearray(kept.flags)
    names.owner, names.docs = kept.owner, kept.docs
    names.first, names.lines = array("i", kept.first).tolist(), array("i", kept.lines).tolist()
    lengths = (names.kind, names.start, names.end, names.parent, names.tests, names.flags)
    files = len(tree.files)
    if any(len(each) != names.symbols for each in lengths) or any(
        len(each) != files for each in (names.first, names.lines, names.docs, kept.language)
    ):
        raise ValueError("columns of different lengths")
    for index, language in enumerate(kept.language):
        names.belongs(index, kept.languages[language])
    return names


def _numbered(texts: Sequence[str]) -> dict[str, int]:
    """Each text once, numbered as they come."""
    return {text: number for number, text in enumerate(dict.fromkeys(texts))}


# -- from run to run -------------------------------------------------------------------------------

Later = Callable[[], None]
"""What is to be kept, when there is time."""


def kept_graph(kept: KeptFacts, place: str, first: Callable[[Lively], None] = lambda _: None) -> KeptGraph | None:
    """What was kept of a tree. place: see `place_key`. first: gets what is soon read, and tells what is about to be."""
    key = place_key(place)
    with kept.opened() as store:
        first(_lively(store, place))
        packed = store.values([key]).get(key)
        found = unpack_graph(packed) if packed is not None else None
        if found is not None and store.stale:
            # Facts that are not asked for are of use still.
            store.touch(found.keys)
        return found


def _lively(store: Kept, place: str) -> Lively:
    key = _lively_key(place)
    with contextlib.suppress(msgspec.DecodeError):
        return _lively_decoder.decode(store.values([key]).get(key, b""))
    return Lively()


class Keeping:
    """Where the graph of one tree is kept. prefix, check: as for `build_graph`. place: see `place_key`. before: what
    was kept of the tree."""

    def __init__(
        self, kept: KeptFacts, place: str, prefix: str, before: KeptGraph | None, check: Callable[[], None]
    ) -> None:
        self._kept = kept
        self._place = place
        self._prefix = prefix
        self._before = before
        self._check = check
        self._shared: Shared | None = None
        self._accounts: list[Account] = []
        self._columns: _Columns | None = None
        self._reading: Thread | None = None

    def recalled(self) -> Recalled:
        """What reading the tree may make use of."""
        return self._before.recalled(self._read_ahead) if self._before is not None else Recalled()

    def _read_ahead(self) -> None:
        """Files are about to be parsed: what is needed then is read meanwhile."""
        self._reading = Thread(target=self._read_tables, name="code tables", daemon=True)
        self._reading.start()

    def graph_of(self, tree: SourceTree) -> tuple[Graph, Later | None]:
        """The graph of a tree as it was kept when the tree was in this state; else worked out, and to be kept. Raises
        NotHeldError."""
        if self._reading is not None:
            self._reading.join()
        known = restored(self._before, tree, self._prefix, self._columns) if self._before is not None else None
        if known is not None:
            graph, changed = known
            if not changed:
                return graph, self._noted(tree)
            later = self._brought_up(graph, changed)
            if later is not None:
                return graph, later
        with self._kept.opened() as store:
            _hold(tree, store)
        graph = build_graph(tree, self._prefix, self._check)
        if graph.symbols < MIN_KEPT_SYMBOLS:
            return graph, None
        return graph, lambda: self._keep_all(graph)

    def _brought_up(self, graph: Graph, changed: Mapping[int, bytes]) -> Later | None:
        before = self._before
        assert before is not None
        if len(changed) > _MAX_CHANGED:
            return None
        shared, self._shared = self._shared, None
        if shared is None:
            return None
        with self._kept.opened() as store:
            now = _Facts(graph.tree, store)
            try:
                graph.accounts = self._accounts
                then = _known(store, changed)
                since = _known(store, before.since)
                changes = {
                    index: Change(facts, now(index), graph.names.family[index].habits) for index, facts in then.items()
                }
                if not relink(graph, shared, since, changes, now, self._check):
                    return None
            except (NotHeldError, msgspec.DecodeError):
                return None
        return self._later(graph, before, {**changed, **before.since})

    def _noted(self, tree: SourceTree) -> Later | None:
        """The same graph of files in other states."""
        before = self._before
        if before is None or before.notes == tree.notes:
            return None
        same = msgspec.structs.replace(before, notes=tree.notes)
        return lambda: self._keep_graph(_encoder.encode(same), tree, before.since)

    def _later(self, graph: Graph, before: KeptGraph, since: Mapping[int, bytes]) -> Later:
        if len(since) > MAX_SINCE:
            return lambda: self._keep_all(graph)
        return lambda: self._keep_graph(pack_graph(graph, before.tables, since), graph.tree, since)

    def _keep_all(self, graph: Graph) -> None:
        """The graph, and its tables with it."""
        with self._kept.opened() as store:
            try:
                tables = tables_of(graph.names, _Facts(graph.tree, store))
            except NotHeldError:
                return
        name = uuid4().bytes
        for file in graph.tree.files:
            file.hold(b"")
        # One after the other: each is large, and several times in memory while it is written.
        self._keep({_tables_key(self._place): _encoder.encode((name, tables))})
        del tables
        self._keep_graph(pack_graph(graph, name), graph.tree, ())

    def _keep_graph(self, packed: bytes, tree: SourceTree, since: Collection[int]) -> None:
        files = [tree.files[index] for index in since]
        keys = {file.key for file in files}
        marks = [mark for mark, note in tree.notes.items() if keys and note[:_KEY_BYTES] in keys]
        lively = Lively([(os.fsencode(file.path), file.key) for file in files], marks)
        self._keep({place_key(self._place): packed, _lively_key(self._place): _encoder.encode(lively)})

    def _keep(self, values: Mapping[bytes, bytes]) -> None:
        with self._kept.opened() as store:
            store.keep(values)

    def _read_tables(self) -> None:
        """Those that belong to the graph, none without them; and of that what all its uses begin with."""
        key, before = _tables_key(self._place), self._before
        assert before is not None
        with contextlib.suppress(ValueError, IndexError), without_collecting():
            self._columns = _columns(before)
            with self._kept.opened() as store:
                packed = store.values([key]).get(key, b"")
            self._accounts = _accounts_decoder.decode(before.accounts)
            found, tables = _tables_decoder.decode(packed)
            self._shared = Shared(tables) if found == before.tables else None


class _Facts:
    """Facts of a tree's files as they are asked for. Raises NotHeldError."""

    def __init__(self, tree: SourceTree, store: Kept) -> None:
        self._tree = tree
        self._store = store

    def __call__(self, index: int) -> Facts:
        file = self._tree.files[index]
        if file.held:
            return file.facts
        file.hold(_known(self._store, {index: file.key})[index])
        return file.facts


def _known(store: Kept, keys: Mapping[int, bytes]) -> dict[int, Facts]:
    """The facts that are kept of files. Raises NotHeldError."""
    values = store.values(list(keys.values()))
    try:
        return {index: unpack(values[key]) for index, key in keys.items()}
    except (KeyError, msgspec.DecodeError):
        raise NotHeldError from None


def _hold(tree: SourceTree, store: Kept) -> None:
    """Have the facts of all files at hand. Raises NotHeldError."""
    missing = [file for file in tree.files if not file.held]
    values = store.values([file.key for file in missing])
    for file in missing:
        packed = values.get(file.key)
        if packed is None:
            raise NotHeldError
        file.hold(packed)

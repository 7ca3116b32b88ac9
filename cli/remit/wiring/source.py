"""Source as the tools of code intelligence read it: files as a search finds them, workers and kept facts of the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Files, Ground
from remit.code.answers import Answers
from remit.code.crawl import (
    DEFAULT_BOUNDS,
    NOTHING_RECALLED,
    Listing,
    TreeBounds,
    changed_language,
    read_source,
    read_tree,
    told_by_content,
)
from remit.code.facts import Facts
from remit.code.installed import missing_here
from remit.code.languages import Language, language_of
from remit.code.pool import Pool
from remit.code.roots import MAX_GO_MOD_BYTES, go_module
from remit.code.snapshot import Keeping, Later, NotHeldError, kept_graph
from remit.code.tree import Lively, Recalled, SourceTree
from remit.store.facts import KeptFacts
from remit.workspace.search_ignore import file_above
from remit.workspace.search_scan import Wish
from remit.workspace.search_walk import survey

Check = Callable[[], None]


KEEP_AFTER_SECONDS = 0.3
"""Since an answer is there, until its graph is kept: putting the answer into words does not wait for that."""

CLOSE_SECONDS = 5.0
"""For a graph to be kept when a run ends."""

MAX_GRAPHS = 2
"""That are kept for further calls: of one tree, and of one below it or beside it."""


class Source:
    """Reading source in one run. Its methods block; threads may share it."""

    def __init__(self, kept: KeptFacts, pool: Pool | None = None) -> None:
        self._kept = kept
        self._pool = pool or Pool()
        self._graphs: dict[tuple[object, ...], Answers] = {}
        self._building = Lock()
        self._keeper: Thread | None = None
        self._hurry = Event()

    def tree(
        self,
        ground: Ground,
        check: Check,
        bounds: TreeBounds = DEFAULT_BOUNDS,
        recalled: Recalled = NOTHING_RECALLED,
        keep: Callable[[Mapping[bytes, bytes]], None] | None = None,
    ) -> SourceTree:
        """See `code.crawl.read_tree`."""
        return read_tree(ground, _names, self._pool, self._kept, check, bounds, recalled, keep)

    def file(self, language: Language, source: bytes, check: Check) -> Facts | None:
        """See `code.crawl.read_source`."""
        return read_source(self._pool, language, source, check)

    def answers(self, files: Files, name: str, check: Check) -> Answers:
        """Over a declared tree as it is now. Calls at once wait for one another: each would do the same work."""
        with files.ground(name) as ground, self._building:
            check()
            self._kept_by_now()
            prefix = "" if ground.name == "." else f"{ground.name}/"
            place = _place(ground, prefix)
            before = kept_graph(self._kept, place, lambda lively: self._prepare(ground, lively))
            keeping = Keeping(self._kept, place, prefix, before, check)
            tree = self.tree(ground, check, recalled=keeping.recalled(), keep=self._keep_facts)
            key = (ground.name, tree.mark, msgspec.structs.astuple(tree.skipped))
            known = self._graphs.pop(key, None)
            if known is None:
                try:
                    graph, later = keeping.graph_of(tree)
                except NotHeldError:
                    self._kept_by_now()
                    graph, later = Keeping(self._kept, place, prefix, None, check).graph_of(self.tree(ground, check))
                known = Answers(graph)
                self._keep(later)
            self._graphs[key] = known
            while len(self._graphs) > MAX_GRAPHS:
                del self._graphs[next(iter(self._graphs))]
            return known

    def _prepare(self, ground: Ground, lively: Lively) -> None:
        """Start what parses while it is found out whether there is more to parse."""
        if (language := changed_language(ground, lively)) is not None:
            self._pool.prepare(language.name)

    def _keep_facts(self, fresh: Mapping[bytes, bytes]) -> None:
        """While they are linked."""

        def keep() -> None:
            with self._kept.opened() as store:
                store.keep(fresh)

        self._keeper = Thread(target=keep, name="code facts", daemon=True)
        self._keeper.start()

    def _keep(self, later: Later | None) -> None:
        """When the answer is on its way, or else by the next question."""
        if later is None:
            return

        facts_kept = self._keeper

        def keep() -> None:
            if facts_kept is not None:
                facts_kept.join()
            self._hurry.wait(KEEP_AFTER_SECONDS)
            later()

        self._hurry.clear()
        self._keeper = Thread(target=keep, name="code graph", daemon=True)
        self._keeper.start()

    def _kept_by_now(self, seconds: float | None = None) -> None:
        """seconds: to wait for it at most; what is not kept by then is worked out another time."""
        if self._keeper is not None:
            self._hurry.set()
            self._keeper.join(seconds)
            self._keeper = None

    def close(self) -> None:
        """End all work, that of threads still at it too."""
        self._pool.close()
        self._kept_by_now(CLOSE_SECONDS)


def _place(ground: Ground, prefix: str) -> str:
    """What tells a tree from others, wherever it is mounted, and how its files are called."""
    info = os.fstat(ground.fd)
    return f"{info.st_dev}:{info.st_ino}:{prefix}"


def _names(ground: Ground, check: Check) -> Listing:
    found = survey(ground, Wish(), check, sizes=0)
    return Listing(found.names, len(found.unreadable), found.stopped, _go_module(ground))


def _go_module(ground: Ground) -> str:
    """What a go.mod above the ground says that packages right in it are called; it rules names and is not shown."""
    above = file_above(ground, "go.mod", MAX_GO_MOD_BYTES)
    module = go_module(above[1]) if above is not None else ""
    return f"{module}/{above[0]}" if above is not None and module else ""


class SourceGrant:
    """base.ports.SourceCode of one call. files: what it declared."""

    def __init__(self, source: Source, files: Files | None, check: Check) -> None:
        self._source = source
        self._files = files
        self._check = check

    def answers(self, name: str) -> Answers:
        if self._files is None:
            raise Failure(ErrorCode.UNDECLARED, "no directory was declared")
        return self._source.answers(self._files, name, self._check)

    def facts(self, name: str, source: bytes) -> Facts | None:
        language = told_by_content(language_of(name), source)
        if language is None or missing_here():
            return None
        return self._source.file(language, source, self._check)

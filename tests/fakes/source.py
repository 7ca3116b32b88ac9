"""Source trees read as a run reads them, without a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from remit.base.ports import Ground
from remit.base.resources import Effect, Resource
from remit.code.answers import Answers
from remit.code.crawl import DEFAULT_BOUNDS, TreeBounds
from remit.code.pool import Pool, worker_argv
from remit.code.tree import SourceTree
from remit.store.facts import KeptFacts
from remit.wiring.source import Source
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root

Allowed = Callable[[Resource], bool]

FAULTY = Path(__file__).with_name("faulty_worker.py")


def nothing() -> None:
    return None


class Reader:
    """Reads directories of one workspace."""

    def __init__(self, root: Root, source: Source, pool: Pool) -> None:
        self._root = root
        self._pool = pool
        self._source = source

    @property
    def pids(self) -> list[int]:
        """Of the workers."""
        return self._pool.pids

    def ground(self, folder: str, allowed: Allowed = lambda entry: True) -> Ground:
        return FilesGrant(self._root, [Resource("tree", folder, Effect.READ, real=folder)], allowed).ground(folder)

    def answers(self, folder: str = ".") -> Answers:
        """As the tools of code ask for them."""
        files = FilesGrant(self._root, [Resource("tree", folder, Effect.READ, real=folder)], lambda entry: True)
        return self._source.answers(files, folder, nothing)

    def tree_of(
        self, ground: Ground, check: Callable[[], None] = nothing, bounds: TreeBounds = DEFAULT_BOUNDS
    ) -> SourceTree:
        return self._source.tree(ground, check, bounds)

    def tree(
        self,
        folder: str = ".",
        *,
        allowed: Allowed = lambda entry: True,
        check: Callable[[], None] = nothing,
        bounds: TreeBounds = DEFAULT_BOUNDS,
    ) -> SourceTree:
        with self.ground(folder, allowed) as ground:
            return self.tree_of(ground, check, bounds)


def faulty_pool(most: int = 1) -> Pool:
    """Its workers go wrong for certain sources."""
    argv = worker_argv()
    return Pool(most, [sys.executable, "-I", "-S", str(FAULTY), *argv[argv.index("-c") + 2 :]], late=3.0)


@contextmanager
def reading(workspace: Path, cache: Path | None = None, pool: Pool | None = None) -> Iterator[Reader]:
    """cache: where facts are kept; None: they are not."""
    pool = pool or Pool()
    source = Source(KeptFacts(str(cache) if cache else ""), pool)
    try:
        with Root(workspace) as root:
            yield Reader(root, source, pool)
    finally:
        source.close()

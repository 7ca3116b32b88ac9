"""Graphs that are kept for another run."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from fakes.trees import graph, tree
from remit.base.resources import Effect, Resource
from remit.code.answers import Answers
from remit.code.crawl import changed_language
from remit.code.facts import pack
from remit.code.graph import Account, Graph, build_graph
from remit.code.languages import Language, by_name
from remit.code.snapshot import MIN_KEPT_SYMBOLS, kept_graph, pack_graph, place_key, restored, unpack_graph
from remit.code.tree import HELD_BYTES, SourceFile, SourceTree
from remit.store.facts import FILE, KeptFacts
from remit.wiring.source import Source
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root

PROJECT = Path(__file__).resolve().parents[2] / "code" / "graphs" / "python"


@pytest.fixture
def made() -> Graph:
    made = graph({str(file.relative_to(PROJECT)): file.read_text() for file in PROJECT.rglob("*.py")}, "src/")
    assert made.edges
    made.settle(Account(1, 2, 3, {"called": 3}))
    made.cut["time"] = 2
    return made


def told(graph: Graph) -> list[object]:
    """All that the tools ask a graph."""
    answers = Answers(graph)
    nodes = range(graph.size)
    return [
        [answers.row(node) for node in (*answers.most_important(), *nodes)],
        [sorted(graph.ins(node)) for node in nodes],
        [list(zip(graph.outs.get(node), graph.outs.bits(node), strict=True)) for node in nodes],
        [(graph.names.holder(node), graph.names.owner.get(node)) for node in range(graph.names.symbols)],
        (graph.size, graph.symbols, graph.edges, list(graph.importance.scores), graph.unclear, graph.cut),
        (graph.resolved, graph.unresolved, graph.ambiguous, graph.broken, graph.names.paths),
        answers.context("read the settings of the store and parse the request"),
    ]


def again(packed: bytes, tree: SourceTree, prefix: str = "") -> tuple[Graph, dict[int, bytes]] | None:
    kept = unpack_graph(packed)
    return restored(kept, tree, prefix) if kept is not None else None


def test_what_was_kept_answers_as_what_was_made(made: Graph) -> None:
    found = again(pack_graph(made), made.tree, "src/")
    assert found is not None
    assert found[1] == {}
    assert told(found[0]) == told(made)


@pytest.mark.parametrize("change", [lambda packed: b"", lambda packed: packed[:-1], lambda packed: b"\x90"])
def test_what_is_no_graph_is_none(made: Graph, change: Callable[[bytes], bytes]) -> None:
    assert unpack_graph(change(pack_graph(made))) is None


@pytest.mark.parametrize("part", ["start", "edges", "name", "kind"])
def test_what_does_not_fit_together_is_none(made: Graph, part: str) -> None:
    kept = unpack_graph(pack_graph(made))
    assert kept is not None
    short = {"start": kept.start[:-4], "edges": (kept.edges[0][:-4], *kept.edges[1:])}
    wrong = {"name": b"\xff\xff\xff\x7f" * made.names.symbols, "kind": b"\xff" * made.names.symbols}
    assert restored(msgspec.structs.replace(kept, **{part: {**short, **wrong}[part]}), made.tree) is None


def test_changed_files_are_told(made: Graph) -> None:
    packed, file = pack_graph(made), made.tree.files[1]
    before, file.key = file.key, b"another"
    found = again(packed, made.tree)
    assert found is not None
    assert found[1] == {1: before}


def test_a_graph_of_other_files_is_none(made: Graph) -> None:
    packed = pack_graph(made)
    made.tree.files[0].path = "another.py"
    assert again(packed, made.tree) is None


def test_each_place_has_its_own() -> None:
    assert len({place_key("1:2:"), place_key("1:2:src/"), place_key("1:3:")}) == 3
    assert place_key("1:2:") == place_key("1:2:")


# -- from run to run ---------------------------------------------------------------------------


class Runs:
    """Each answer of a run of its own, with one cache."""

    def __init__(self, root: Root, workspace: Path, cache: Path) -> None:
        self.kept = KeptFacts(str(cache))
        self._files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], lambda entry: True)
        self._place = f"{workspace.stat().st_dev}:{workspace.stat().st_ino}:"
        self._key = place_key(self._place)

    def graph(self) -> Graph:
        source = Source(self.kept)
        try:
            return source.answers(self._files, ".", lambda: None).graph
        finally:
            source.close()

    def changed_first(self) -> list[Language | None]:
        """What is told to have changed before the graph is read."""
        found: list[Language | None] = []
        with self._files.ground(".") as ground:
            kept_graph(self.kept, self._place, lambda lively: found.append(changed_language(ground, lively)))
        return found

    def known(self) -> bytes | None:
        with self.kept.opened() as store:
            return store.values([self._key]).get(self._key)

    def replace(self, packed: bytes) -> None:
        with self.kept.opened() as store:
            store.keep({self._key: packed})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def runs(workspace: Path, cache: Path) -> Iterator[Runs]:
    with Root(workspace) as root:
        yield Runs(root, workspace, cache)


def write(path: Path, functions: int) -> None:
    path.write_text("".join(f"def f{number}():\n    return f{number // 2}()\n" for number in range(functions)))


def test_the_next_run_takes_what_was_kept(runs: Runs, workspace: Path) -> None:
    write(workspace / "a.py", MIN_KEPT_SYMBOLS)
    first = runs.graph()
    packed = runs.known()
    assert packed is not None
    assert told(runs.graph()) == told(first)
    # What stands there is what is answered with.
    first.cut["time"] = 7
    runs.replace(pack_graph(first))
    assert runs.graph().cut == {"time": 7}


def test_a_changed_file_is_all_that_is_read(runs: Runs, workspace: Path) -> None:
    write(workspace / "a.py", MIN_KEPT_SYMBOLS)
    (workspace / "b.py").write_text("from a import *\n\ndef more():\n    return f1()\n")
    (workspace / "c.py").write_text("def apart():\n    pass\n")
    runs.graph()
    before = (workspace / "b.py").read_text()
    for number in range(3):
        (workspace / "b.py").write_text(f"{before}\ndef more_{number}():\n    return f{number}()\n")
        graph = runs.graph()
        assert (graph.tree.parsed, graph.symbols) == (1, MIN_KEPT_SYMBOLS + 3)
        assert [file.held for file in graph.tree.files] == [True, True, False]
        names = graph.names
        called = {
            names.name[target] for node, targets in graph.outs.items() for target in targets if node >= names.first[1]
        }
        assert called == {"f1", f"f{number}"}


def test_what_changed_of_late_is_looked_at_first(runs: Runs, workspace: Path) -> None:
    write(workspace / "a.py", MIN_KEPT_SYMBOLS)
    file = workspace / "b.py"
    file.write_text("def one(): ...\n\ndef two(): ...\n")
    runs.graph()
    file.write_text("def one(): ...\n")
    assert runs.changed_first() == [None]
    runs.graph()
    assert runs.changed_first() == [None]
    file.write_text("def one(): ...\n\ndef three(): ...\n")
    assert runs.changed_first() == [by_name("Python")]
    file.unlink()
    assert runs.changed_first() == [None]


def test_facts_that_went_are_read_again(runs: Runs, workspace: Path, cache: Path) -> None:
    write(workspace / "a.py", MIN_KEPT_SYMBOLS)
    (workspace / "b.py").write_text("from a import f1\n")
    first = runs.graph()
    with contextlib.closing(sqlite3.connect(cache / FILE)) as connection, connection:
        gone = connection.executemany("DELETE FROM kept WHERE key = ?", [(file.key,) for file in first.tree.files])
        assert gone.rowcount == 2
    (workspace / "b.py").write_text("from a import f1\n\ndef more():\n    return f1()\n")
    assert runs.graph().symbols == MIN_KEPT_SYMBOLS + 1


def test_a_small_graph_is_not_kept(runs: Runs, workspace: Path) -> None:
    write(workspace / "a.py", MIN_KEPT_SYMBOLS - 1)
    runs.graph()
    assert runs.known() is None


def test_a_changed_tree_replaces_what_was_kept(runs: Runs, workspace: Path) -> None:
    write(workspace / "a.py", MIN_KEPT_SYMBOLS)
    runs.graph()
    before = runs.known()
    (workspace / "b.py").write_text("from a import f1\n\ndef more():\n    return f1()\n")
    assert runs.graph().symbols == MIN_KEPT_SYMBOLS + 1
    assert runs.known() not in (None, before)


def test_what_was_kept_is_not_believed_when_it_is_no_graph(runs: Runs, workspace: Path) -> None:
    write(workspace / "a.py", MIN_KEPT_SYMBOLS)
    first = runs.graph()
    runs.replace(b"no graph")
    assert told(runs.graph()) == told(first)


def test_facts_of_a_tree_that_is_too_large_to_hold_are_read_twice() -> None:
    files = {str(file.relative_to(PROJECT)): file.read_text() for file in PROJECT.rglob("*.py")}
    small, large = tree(files), tree(files)
    for file in large.files:
        large.files[large.files.index(file)] = Heavy(file.path, file.size, pack(file.facts), file.tests, file.key)
    assert sum(file.weight for file in large.files) > HELD_BYTES
    assert told(build_graph(large)) == told(build_graph(small))


class Heavy(SourceFile):
    """A file whose facts weigh much."""

    @property
    def weight(self) -> int:
        return HELD_BYTES

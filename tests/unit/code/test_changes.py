"""Graphs after changes of files: what is taken from the graph before makes no difference."""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from fakes.trees import tree
from remit.code.changes import MAX_FOLLOWED, Change, Sources, affected, changed_names
from remit.code.extract import extract
from remit.code.facts import Facts
from remit.code.families import habits_of
from remit.code.graph import Account, Graph, build_graph
from remit.code.languages import by_name, language_of
from remit.code.lazy import Shared, Tables, tables_of
from remit.code.names import SPARE
from remit.code.relink import MAX_LOST, relink
from remit.code.snapshot import pack_graph, restored, unpack_graph
from remit.code.tree import SourceTree

PROJECTS = Path(__file__).resolve().parents[2] / "code" / "graphs"
NAMES = sorted(folder.name for folder in PROJECTS.iterdir() if folder.is_dir())
PACKAGES = ("asyncio", "concurrent", "email", "http", "importlib", "json", "logging", "unittest", "urllib", "xml")
WORD = re.compile(r"[A-Za-z_]\w+")


Place = tuple[str, int]


def state(graph: Graph) -> dict[str, object]:
    """All of a graph, its nodes by their files and their numbers in them."""
    names, outs = graph.names, graph.outs

    def place(node: int) -> Place:
        return graph.path(node), -1 if graph.is_file(node) else node - names.first[names.file_of(node)]

    nodes = [node for node in range(graph.size) if graph.is_file(node) or names.kind[node]]
    return {
        "definitions": {
            place(node): (names.name[node], names.kind[node], names.start[node], names.end[node], names.tests[node])
            for node in nodes
            if not graph.is_file(node)
        },
        "owners": {place(node): owner for node, owner in names.owner.items()},
        "docs": [names.docs_of(index) for index in range(len(names.paths))],
        "edges": {
            place(node): sorted(zip(map(place, targets), outs.bits(node), strict=True))
            for node, targets in outs.items()
        },
        "in": {place(node): graph.mentioned_by[node] for node in nodes},
        "number": (len(outs), graph.symbols, graph.resolved, graph.unresolved, graph.ambiguous, +graph.unclear),
        "files": (graph.broken, graph.cut, names.lines, names.languages),
        "scores": {place(node): graph.importance.scores[node] for node in nodes},
    }


def assert_same(one: Graph, other: Graph) -> None:
    here, there = state(one), state(other)
    scores, expected = here.pop("scores"), there.pop("scores")
    assert here == there
    assert scores == pytest.approx(expected, abs=2)


class Kept:
    """A graph as it is kept from state to state of a tree."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._start(tree(files))

    def _start(self, first: SourceTree) -> None:
        graph = build_graph(first)
        facts = [file.facts for file in first.files]
        self._tables = msgspec.msgpack.encode(tables_of(graph.names, facts.__getitem__))
        self._tree = first
        self._packed = pack_graph(graph)
        self._since: dict[int, Facts] = {}

    def become(self, files: Mapping[str, str]) -> bool:
        """Bring the graph up to other files, hold it against one made anew, and keep it; whether it could be."""
        now = tree(files)
        kept = unpack_graph(self._packed)
        found = restored(kept, now) if kept is not None else None
        assert found is not None
        graph, changed = found
        assert kept is not None
        graph.accounts = msgspec.msgpack.decode(kept.accounts, type=list[Account])
        before = {index: self._tree.files[index].facts for index in changed}
        changes = {
            index: Change(facts, now.files[index].facts, graph.names.family[index].habits)
            for index, facts in before.items()
        }
        shared = Shared(msgspec.msgpack.decode(self._tables, type=Tables))
        if not relink(graph, shared, self._since, changes, lambda index: now.files[index].facts):
            self._start(now)
            return False
        assert_same(graph, build_graph(now))
        self._tree, self._packed, self._since = now, pack_graph(graph), {**before, **self._since}
        return True


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    return Kept(before).become(after)


def edited(draw: random.Random, text: str, words: list[str]) -> str:
    """A text with a line left out, moved, said twice, or with another of the words in it."""
    lines = text.split("\n")
    at = draw.randrange(len(lines))
    way = draw.randrange(4)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(draw.randrange(len(lines)), lines.pop(at))
    elif way == 2:
        lines.insert(draw.randrange(len(lines)), lines[at])
    else:
        lines[at] = WORD.sub(lambda match: draw.choice(words) if draw.random() < 0.4 else match[0], lines[at])
    return "\n".join(lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_project_has_the_graph_of_a_new_one(name: str) -> None:
    folder = PROJECTS / name
    paths = [file for file in folder.rglob("*") if file.is_file() and language_of(file.name)]
    first = {str(file.relative_to(folder)): file.read_text() for file in paths}
    words = WORD.findall("\n".join(first.values()))
    draw = random.Random(name)
    brought_up = 0
    for turn in range(16):
        if turn % 4 == 0:
            before, kept = first, Kept(first)
        after = dict(before)
        for path in draw.sample(sorted(after), draw.choice([1, 1, 1, min(2, len(after))])):
            after[path] = edited(draw, after[path], words)
        brought_up += kept.become(after)
        before = after
    assert brought_up > 4


@pytest.mark.heavy
def test_changed_packages_have_the_graph_of_new_ones() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    paths = [file for name in PACKAGES for file in sorted((library / name).rglob("*.py"))]
    before = {str(file.relative_to(library)): file.read_text() for file in paths}
    draw = random.Random(5)
    kept, brought_up, after = Kept(before), 0, dict(before)
    for _ in range(12):
        path = draw.choice(sorted(after))
        after[path] = edited(draw, after[path], WORD.findall(after[path]) or ["get"])
        brought_up += kept.become(after)
    assert brought_up > 8


# -- what a change reaches ---------------------------------------------------------------------

MANY_FILES = {
    "base.py": "class Base:\n    def go(self):\n        pass\n\ndef make() -> Base:\n    return Base()\n",
    "alias.py": "from base import make as build\n",
    "chain.py": "from alias import build as begin\n",
    "user.py": "import chain\n\ndef use():\n    begun = chain.begin()\n    begun.go()\n",
    "child.py": "from base import Base\n\nclass Child(Base):\n    pass\n",
    "heir.py": "from child import Child\n\nclass Heir(Child):\n    def run(self):\n        self.stop()\n",
    "apart.py": "def alone():\n    return other()\n\ndef other():\n    return 1\n",
}
CHANGES = {
    "only within a body": ("        pass", "        len(self)", {"base.py"}),
    "a new name": ("def make", "def fresh():\n    pass\n\ndef make", {"base.py"}),
    "a name that one file mentions": ("def make", "def alone():\n    pass\n\ndef make", {"base.py"}),
    "what a chain of other names leads to": (
        "-> Base",
        '-> "Other"',
        {"base.py", "alias.py", "chain.py", "user.py"},
    ),
    "what types inherit from": (
        "class Base:",
        "class Base(Lower):",
        {"base.py", "alias.py", "chain.py", "user.py", "child.py", "heir.py"},
    ),
}


def reached(old: str, new: str) -> set[str]:
    read = {path: extract(by_name("Python"), text.encode()) for path, text in MANY_FILES.items()}
    paths = list(read)
    habits = habits_of("Python")
    after = extract(by_name("Python"), MANY_FILES["base.py"].replace(old, new).encode())
    change = Change(read["base.py"], after, habits)
    names = changed_names(change)
    assert names is not None
    files = [after, *(read[path] for path in paths[1:])]
    found = affected(names, every(files), [change])
    assert found is not None
    return {paths[index] for index in found} | {"base.py"}


def every(files: Sequence[Facts]) -> Sources:
    """As if each word stood in all files."""
    return Sources(lambda words: range(len(files)), files.__getitem__, [habits_of("Python")] * len(files))


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_change_reaches(name: str) -> None:
    old, new, expected = CHANGES[name]
    assert reached(old, new) == expected
    assert compare(MANY_FILES, {**MANY_FILES, "base.py": MANY_FILES["base.py"].replace(old, new)})


def changed(before: str, after: str, language: str = "Python") -> set[str] | None:
    first, then = (extract(by_name(language), text.encode()) for text in (before, after))
    return changed_names(Change(first, then, habits_of(language)))


def test_moved_lines_change_nothing() -> None:
    assert changed("def f(): pass\n", '"""Doc."""\n\n\ndef f():\n    g()\n') == set()


def test_what_names_are_told_to_be_changes_them() -> None:
    typed = "class C:\n    x: A\n\n    def f(self):\n        self.x.go()\n"
    assert changed(typed, typed.replace("A", "B")) == {"x"}
    assert changed("import a.b as c\n", "import a.d as c\n") == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import { b } from './a'\n", "export * from './a'\n"),
        ("export function f() {}\n", "export function f() {}\nexport function g() {}\n"),
        ("export function f() {}\nexport function g() {}\n", "export function f() {}\n"),
    ],
)
def test_what_all_others_may_notice_is_no_matter_of_names(before: str, after: str) -> None:
    assert changed(before, after, "JavaScript") is None


def test_what_says_where_packages_lie_is_no_matter_of_names() -> None:
    assert changed('{"name": "one", "version": "1"}', '{"name": "two", "version": "1"}', "JSON") is None
    assert changed('{"name": "one", "version": "1"}', '{"name": "one", "version": "2"}', "JSON") == set()
    first, then = (extract(by_name("Java"), f"package {name};\nclass A {{}}\n".encode()) for name in ("one", "two"))
    assert changed_names(Change(first, then, habits_of("jvm"))) is None


def test_another_language_is_no_matter_of_names() -> None:
    change = Change(Facts("C"), Facts("C++"), habits_of("C"))
    assert changed_names(change) is None


@pytest.mark.parametrize(("number", "all_of_them"), [(MAX_FOLLOWED - 1, False), (MAX_FOLLOWED, True)])
def test_where_too_many_names_would_be_followed_all_files_are_affected(number: int, all_of_them: bool) -> None:
    text = "".join(f"import thing as t{at}\n" for at in range(number))
    files = [extract(by_name("Python"), each.encode()) for each in (text, "def apart(): pass\n")]
    assert affected({"thing"}, every(files), []) == (None if all_of_them else {0})


# -- when all is linked anew -------------------------------------------------------------------


def functions(names: Iterable[str]) -> str:
    return "".join(f"def {name}(): pass\n" for name in names)


def test_a_file_has_room_for_some_more_definitions_and_no_others() -> None:
    first = {"a.py": functions(f"f{number}" for number in range(8)), "b.py": "from a import f1\n\nf1()\n"}
    room = 8 + SPARE + 1
    for number, fits in ((room, True), (room + 1, False)):
        assert compare(first, {**first, "a.py": functions(f"f{each}" for each in range(number))}) is fits


@pytest.mark.parametrize(("number", "brought_up"), [(MAX_LOST, True), (MAX_LOST + 1, False)])
def test_many_names_that_nobody_has_any_more_are_a_matter_of_the_whole_tree(number: int, brought_up: bool) -> None:
    first = {"a.py": functions(f"f{each}" for each in range(number)), "b.py": "def g(): pass\n"}
    assert compare(first, {**first, "a.py": ""}) is brought_up


def test_a_name_that_is_lost_and_had_elsewhere() -> None:
    first = {
        "a.py": functions(["run", "stop", "gone"]),
        "b.py": functions(["stop"]),
        "c.py": "from a import stop as run\n",
        "d.py": "import a\n\na.gone(); a.run(); a.stop(); b.gone\n",
        "gone.py": "x = 1\n",
    }
    assert compare(first, {**first, "a.py": "def other(): pass\n"})

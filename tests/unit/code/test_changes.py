"""Graphs after changes of files: what is taken from the graph before makes no difference."""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from fakes.trees import tree
from remit.code.changes import MAX_FOLLOWED, Change, affected, changed_names
from remit.code.extract import extract
from remit.code.facts import Facts
from remit.code.families import habits_of
from remit.code.graph import Earlier, Graph, build_graph
from remit.code.languages import by_name, language_of

PROJECTS = Path(__file__).resolve().parents[2] / "code" / "graphs"
NAMES = sorted(folder.name for folder in PROJECTS.iterdir() if folder.is_dir())
PACKAGES = ("asyncio", "concurrent", "email", "http", "importlib", "json", "logging", "unittest", "urllib", "xml")
WORD = re.compile(r"[A-Za-z_]\w+")


def state(graph: Graph) -> list[object]:
    """All of a graph, the order of its edges included: sums of ranks depend on that."""
    return [list(graph.outs.items()), graph.how, graph.accounts, graph.unclear, graph.broken, graph.importance]


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    old, new = tree(before), tree(after)
    pairs = enumerate(zip(old.files, new.files, strict=True))
    changed = {index: one.facts for index, (one, other) in pairs if one.key != other.key}
    assert state(build_graph(new, earlier=Earlier(build_graph(old), changed))) == state(build_graph(new))


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
    before = first
    for turn in range(16):
        if turn % 4 == 0:
            before = first
        after = dict(before)
        for path in draw.sample(sorted(after), draw.choice([1, 1, 1, min(2, len(after))])):
            after[path] = edited(draw, after[path], words)
        compare(before, after)
        before = after


@pytest.mark.heavy
def test_changed_packages_have_the_graph_of_new_ones() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    paths = [file for name in PACKAGES for file in sorted((library / name).rglob("*.py"))]
    before = {str(file.relative_to(library)): file.read_text() for file in paths}
    draw = random.Random(5)
    for _ in range(12):
        after = dict(before)
        path = draw.choice(sorted(after))
        after[path] = edited(draw, after[path], WORD.findall(after[path]) or ["get"])
        compare(before, after)


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
    found = affected(names, files, [habits] * len(files), {0: change})
    return {paths[index] for index in found} | {"base.py"}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_change_reaches(name: str) -> None:
    old, new, expected = CHANGES[name]
    assert reached(old, new) == expected
    compare(MANY_FILES, {**MANY_FILES, "base.py": MANY_FILES["base.py"].replace(old, new)})


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
    found = affected({"thing"}, files, [habits_of("Python")] * 2, {})
    assert found == ({0, 1} if all_of_them else {0})

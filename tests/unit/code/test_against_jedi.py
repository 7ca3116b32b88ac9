"""Calls in Python packages as they are installed, held against what jedi infers for the same places.

Of every call whose function jedi finds in the package itself, the edge from the definition around the call to that
function or class should be there (recall); and of our edges whose calls jedi finds at all, jedi should agree
(precision). Where jedi finds nothing it says nothing of the edge. What is missed, by kind: calls on what other calls
return or containers hold, on attributes whose type only the flow of values tells, and through functions that were
assigned to names.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import jedi
import pytest

from fakes.trees import tree
from remit.code.answers import Answers
from remit.code.graph import CALL, build_graph

pytestmark = pytest.mark.heavy

Place = tuple[str, str]
"""Path, and name with what it lies in ("": the file)."""

PACKAGES = {
    # package: recall, precision that are held.
    "h11": (0.97, 0.98),
    "trustme": (0.97, 0.98),
    "httpcore": (0.85, 0.98),
    "click": (0.93, 0.98),
}


def sources(package: str) -> dict[str, str]:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    top = Path(spec.origin).parent
    return {str(file.relative_to(top.parent)): file.read_text("utf-8") for file in sorted(top.rglob("*.py"))}


class Calls(ast.NodeVisitor):
    """The calls of a file by the definition around them: the name called and its place."""

    def __init__(self) -> None:
        self.defined: dict[int, str] = {}
        self.found: list[tuple[str, str, int, int]] = []
        self._around: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.defined[node.lineno] = ".".join([*self._around, node.name])
        for outside in node.decorator_list:
            self.visit(outside)
        self._around.append(node.name)
        for field, value in ast.iter_fields(node):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST) and field != "decorator_list":
                    self.visit(each)
        self._around.pop()

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        around = ".".join(self._around)
        if isinstance(function, ast.Name):
            self.found.append((around, function.id, function.lineno, function.col_offset))
        elif isinstance(function, ast.Attribute) and function.end_lineno is not None:
            assert function.end_col_offset is not None
            column = function.end_col_offset - len(function.attr)
            self.found.append((around, function.attr, function.end_lineno, column))
        self.generic_visit(node)


def told(texts: dict[str, str], top: Path) -> Iterator[tuple[Place, str, Place | None]]:
    """Of each call that jedi finds: where, the name, and what in the package, None outside of it."""
    calls = {}
    for path, text in texts.items():
        calls[path] = Calls()
        calls[path].visit(ast.parse(text))
    project = jedi.Project(top)
    for path, text in texts.items():
        script = jedi.Script(text, path=top / path, project=project)
        for around, name, line, column in calls[path].found:
            for definition in script.goto(line, column, follow_imports=True):
                module = definition.module_path
                inside = str(module.relative_to(top)) if module is not None and module.is_relative_to(top) else ""
                target = calls[inside].defined.get(definition.line) if inside in calls else None
                if definition.type in ("function", "class"):
                    yield (path, around), name, (inside, target) if target is not None else None


def ours(texts: dict[str, str]) -> set[tuple[Place, Place]]:
    graph = build_graph(tree(texts))
    titles = Answers(graph).symbols

    def place(node: int) -> Place:
        return graph.path(node), "" if graph.is_file(node) else titles.title(node)

    return {
        (place(source), place(target))
        for source, targets in graph.outs.items()
        for target, bits in zip(targets, graph.outs.bits(source), strict=True)
        if bits & CALL
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_callers_of_a_real_package(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jedi.settings, "cache_directory", str(tmp_path))
    recall, precision = PACKAGES[package]
    texts = sources(package)
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    top = Path(spec.origin).parent.parent
    theirs: set[tuple[Place, Place]] = set()
    judged: set[tuple[Place, str]] = set()
    for source, name, target in told(texts, top):
        judged.add((source, name))
        if target is not None and target != source:
            theirs.add((source, target))
    found = ours(texts)
    both = found & theirs
    # An edge can be judged where jedi found what is called by that name there.
    refuted = {edge for edge in found - theirs if (edge[0], edge[1][1].rpartition(".")[2]) in judged}
    missed = sorted(theirs - found)
    got, right = len(both) / len(theirs), len(both) / (len(both) + len(refuted))
    account = f"{package}: recall {got:.3f}, precision {right:.3f}, {len(theirs)} edges of jedi, {len(found)} of ours"
    print(account)
    assert got >= recall, f"{account}; missed: {missed[:40]}"
    assert right >= precision, f"{account}; refuted: {sorted(refuted)[:40]}"

"""Source trees out of texts, read in this process: for small sources that a test trusts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache

from remit.code.answers import Answers
from remit.code.extract import extract
from remit.code.facts import Facts
from remit.code.graph import Graph, build_graph
from remit.code.languages import by_name, language_of
from remit.code.roots import go_module
from remit.code.tree import Skipped, SourceFile, SourceTree


@cache
def _facts(language: str, text: str) -> Facts:
    return extract(by_name(language), text.encode())


def tree(files: Mapping[str, str | Facts]) -> SourceTree:
    """Files by path: their text, or their facts."""
    read = []
    modules = {}
    for path in sorted(files):
        content = files[path]
        if path.rpartition("/")[2] == "go.mod" and isinstance(content, str):
            modules[path.rpartition("/")[0]] = go_module(content.encode())
            continue
        language = language_of(path) if isinstance(content, str) else by_name(content.language)
        assert language is not None, path
        facts = _facts(language.name, content) if isinstance(content, str) else content
        read.append(SourceFile(path, 1, facts, re.search(language.tests, path) is not None, _key(content)))
    mark = hashlib.sha256(repr(sorted(files.items())).encode()).digest()
    return SourceTree(read, Skipped(), parsed=len(read), mark=mark, go_modules=modules)


def _key(content: str | Facts) -> bytes:
    return hashlib.sha256(repr(content).encode()).digest()


def graph(files: Mapping[str, str | Facts], prefix: str = "") -> Graph:
    return build_graph(tree(files), prefix)


def edges(of: Graph) -> set[str]:
    """`from -> to`, each as `path:Type.name`, a file as its path."""
    titles = Answers(of).symbols

    def told(node: int) -> str:
        return of.path(node) if of.is_file(node) else f"{of.path(node)}:{titles.title(node)}"

    return {f"{told(source)} -> {told(target)}" for source, targets in of.outs.items() for target in targets}

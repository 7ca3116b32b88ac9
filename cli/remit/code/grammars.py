"""Grammars and queries of languages, each loaded when a file first needs it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import lzma
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from remit import __version__
from remit.code.facts import FACTS_VERSION
from remit.code.installed import FOLDER
from remit.code.languages import Language

if TYPE_CHECKING:
    import tree_sitter

QUERIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries")
_OWN_NAME = {"csharp": "_binding", "yaml": "_binding"}
"""What the initialisation of a grammar's library is named for, where that is not its language."""

_MENTIONS = re.compile(r"@(reference|local|typed)\b")
_FINDS = re.compile(r"@(definition|import|documentation|span|doc|owner|exported|test|declared)\b")
_LABELS = re.compile(r"@((?:definition|reference|import|local|typed|documentation)\b[.\w]*)")

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|[()\[\]]|[^\s()\[\]";]+')

_held: list[int] = []


@cache
def grammar(name: str) -> tree_sitter.Language:
    """The grammar of that name. Raises OSError where it is not there or no library of this platform."""
    import tree_sitter

    with lzma.open(os.path.join(FOLDER, f"{name}.xz")) as packed:
        library = packed.read()
    # The last part names the initialisation; the rest keeps the library out of the way of modules like json and html.
    module = f"{__package__}._grammars.{_OWN_NAME.get(name, name)}"
    place = _in_memory(name, library)
    loader = importlib.machinery.ExtensionFileLoader(module, place)
    spec = importlib.util.spec_from_file_location(module, place, loader=loader)
    assert spec is not None
    loaded = importlib.util.module_from_spec(spec)
    loader.exec_module(loaded)
    return tree_sitter.Language(loaded.language())


class Patterns(NamedTuple):
    """Patterns that are looked for together. numbers: of each, where it stands among all of its language."""

    query: tree_sitter.Query
    numbers: tuple[int, ...]


class Queries(NamedTuple):
    """top: of a language, the patterns that begin at the root of a file, which nobody needs to look for elsewhere;
    inner: the others. labels: by pattern, what its matches are; "" where only their captures tell."""

    top: Patterns
    inner: Patterns
    labels: tuple[str, ...]


@cache
def queries(language: Language, mentions: bool = True) -> Queries:
    """All queries of a language; without `mentions`, those that only find what is mentioned are left out."""
    import tree_sitter

    of = grammar(language.grammar)
    patterns = split_patterns("\n".join(query_text(name) for name in language.queries))
    labels = tuple(map(_label, patterns))
    root = re.compile(rf"\(\s*{tree_sitter.Parser(of).parse(b'').root_node.type}\b")
    # Each is read once: making a query takes longer than reading a file of usual size.
    top: list[int] = []
    inner: list[int] = []
    for number, pattern in enumerate(patterns):
        if mentions or _MENTIONS.search(pattern) is None or _FINDS.search(pattern) is not None:
            (top if root.match(pattern) else inner).append(number)
    return Queries(_made(of, patterns, labels, top), _made(of, patterns, labels, inner), labels)


def _made(of: tree_sitter.Language, patterns: list[str], labels: Sequence[str], numbers: list[int]) -> Patterns:
    import tree_sitter

    query = tree_sitter.Query(of, "\n".join(patterns[number] for number in numbers))
    for label in {labels[number] for number in numbers if labels[number].startswith("reference.")}:
        # The name is all that is asked for.
        query.disable_capture(label)
    return Patterns(query, tuple(numbers))


def split_patterns(text: str) -> list[str]:
    """The patterns of a query, one by one, with what is captured and asked of them as a whole."""
    found: list[str] = []
    depth = begin = end = 0
    for token in _TOKENS.finditer(text):
        kind = token[0][0]
        if kind == ";":
            continue
        if not depth and kind in '(["_':
            if end:
                found.append(text[begin:end])
            begin = token.start()
        depth += (kind in "([") - (kind in ")]")
        end = token.end()
    return [*found, text[begin:end]] if end else found


def _label(pattern: str) -> str:
    told = set(_LABELS.findall(pattern))
    return told.pop() if len(told) == 1 else ""


@cache
def version(language: Language | None) -> bytes:
    """What the facts of a language depend on beside the source, in 32 bytes; None: of all that is kept."""
    # Not what the processes that parse ask for: it takes a library of its own.
    from hashlib import blake2b

    parts = [__version__, str(FACTS_VERSION)]
    if language is not None:
        parts += [language.name, _origins().get(language.grammar, ""), *map(query_text, language.queries)]
    return blake2b("\0".join(parts).encode(), digest_size=32).digest()


@cache
def _origins() -> dict[str, str]:
    """By grammar: the package it comes from."""
    with open(os.path.join(FOLDER, "NOTICE"), encoding="utf-8") as notice:
        lines = notice.read().splitlines()
    return {name: origin for name, _, origin in (line.partition(": ") for line in lines)}


def query_text(name: str) -> str:
    with open(os.path.join(QUERIES, f"{name}.scm"), encoding="utf-8") as text:
        return text.read()


def _in_memory(name: str, library: bytes) -> str:
    """A file that holds the library and needs no place on a disk."""
    if sys.platform != "linux":
        return _on_disk(name, library)
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(fd, library)
    # Kept open: the system's loader knows libraries by path, and would take the next one with this number for it.
    _held.append(fd)
    return f"/proc/self/fd/{fd}"


def _on_disk(name: str, library: bytes) -> str:
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="remit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, f"{name}.so")
    with open(path, "wb") as file:
        file.write(library)
    return path

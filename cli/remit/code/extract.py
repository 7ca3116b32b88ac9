"""One source file in, its facts out.

A language's queries say what is what by the names of their captures; a match holds one of

    @definition.KIND  the definition; @name its name (without: its first line); and perhaps
                      @span  where decorators and the like belong to it: the wider node
                      @doc   its documentation, where that is no comment above it
                      @owner the type that it belongs to, named elsewhere (a receiver, a qualifier)
                      @exported, @test  present where it is
    @reference.KIND   a mention of another definition, KIND of `facts.Reference`; @name; perhaps @qualifier
    @import           @module; perhaps @name, @alias; @all for all its names
    @import.text      an import that `imports.READERS` reads by its text
    @local            a name that the definition around it binds: a parameter, a variable. It hides others
    @typed            a name whose type is told where it is bound, with @type: declared, or made by calling @type
    @documentation    documentation of the file itself

Where several patterns match the same name, the one that is written first speaks.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from remit.code.comments import comment_above, first_line, plain_string
from remit.code.facts import EXPORTED, HOLDERS, TEST, Definition, Facts, Import, Reference, Typed
from remit.code.grammars import grammar, query
from remit.code.imports import READERS
from remit.code.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_SECONDS = 2.0
"""For one file."""

MAX_DEFINITIONS = 20_000
MAX_REFERENCES = 200_000
MAX_NAME = 200
MAX_SIGNATURE = 240
"""Characters."""

_CHUNK = 1 << 16
_MATCH_LIMIT = 4096

Captures = dict[str, list["Node"]]


class OutOfTime(Exception):
    """The deadline of a file passed."""


def extract(language: Language, source: bytes, seconds: float = MAX_SECONDS) -> Facts:
    """The facts of a file, none where it cannot be parsed within `seconds`. Raises nothing for what a file holds,
    but runs in a process that may be killed for it (`worker`): parsers are native code."""
    facts = Facts(language.name, lines=source.count(b"\n") + (not source.endswith(b"\n") and bool(source)))
    try:
        tree = _parse(language, source, time.monotonic() + seconds)
    except OutOfTime:
        facts.cut = "time"
        return facts
    facts.broken = tree.root_node.has_error
    _Reading(language, source, facts).take(_matches(language, tree))
    return facts


def _parse(language: Language, source: bytes, deadline: float) -> Tree:
    from tree_sitter import Parser

    parser = Parser(grammar(language.grammar))
    try:
        # Read piece by piece: for bytes as a whole the parser never asks for the time.
        return parser.parse(
            lambda offset, _: source[offset : offset + _CHUNK],
            progress_callback=lambda *_: time.monotonic() > deadline,
        )
    except ValueError:
        raise OutOfTime from None


def _matches(language: Language, tree: Tree) -> list[tuple[int, Captures]]:
    # The cursor of tree-sitter 0.26.1 crashes when it is given a clock: whoever runs this bounds it from outside.
    from tree_sitter import QueryCursor

    return QueryCursor(query(language), match_limit=_MATCH_LIMIT).matches(tree.root_node)


class _Reading:
    """Sorts the matches of one file into its facts."""

    def __init__(self, language: Language, source: bytes, facts: Facts) -> None:
        self._language = language
        self._source = source
        self._facts = facts
        self._lines = source.split(b"\n")
        self._definitions: dict[int, tuple[int, str, Captures]] = {}
        self._references: list[tuple[int, str, str, str, int]] = []
        self._locals: list[tuple[int, str]] = []
        self._typed: list[tuple[int, Node, Node]] = []

    def take(self, matches: list[tuple[int, Captures]]) -> None:
        for pattern, captures in matches:
            for label in captures:
                head, _, kind = label.partition(".")
                if head == "definition":
                    self._definition(pattern, kind, captures)
                elif head == "reference":
                    self._reference(kind, captures)
                elif head == "import":
                    self._import(label, captures)
                elif label == "local":
                    self._locals += [(node.start_byte, self._text(node)) for node in captures[label]]
                elif label == "typed":
                    self._typed.append((captures[label][0].start_byte, captures[label][0], captures["type"][0]))
                elif label == "documentation" and not self._facts.doc:
                    self._facts.doc = first_line(self._text(captures[label][0]))
                else:
                    continue
                break
        spans = self._write_definitions()
        scopes = _Scopes(spans, self._facts.definitions)
        self._write_references(scopes)
        self._write_typed(scopes)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # -- definitions -----------------------------------------------------------------------------

    def _definition(self, pattern: int, kind: str, captures: Captures) -> None:
        node = captures[f"definition.{kind}"][0]
        at = captures["name"][0].start_byte if "name" in captures else node.start_byte
        known = self._definitions.get(at)
        if known is None or pattern < known[0]:
            if known is None and len(self._definitions) >= MAX_DEFINITIONS:
                self._facts.cut = "nodes"
                return
            self._definitions[at] = (pattern, kind, captures)

    def _write_definitions(self) -> list[tuple[int, int]]:
        """The definitions in the order of the file, each after what it lies in; their spans in bytes."""
        found = []
        for _, kind, captures in self._definitions.values():
            node = captures[f"definition.{kind}"][0]
            span = captures["span"][0] if "span" in captures else node
            found.append((span.start_byte, -span.end_byte, node.start_byte, kind, node, span, captures))
        found.sort(key=lambda each: each[:3])
        spans: list[tuple[int, int]] = []
        around: list[int] = []
        definitions = self._facts.definitions
        for start, minus_end, _, kind, node, span, captures in found:
            while around and spans[around[-1]][1] <= start:
                around.pop()
            if len(around) >= self._language.depth and not self._language.calls:
                self._facts.cut = self._facts.cut or "depth"
                continue
            parent = around[-1] if around else -1
            definitions.append(self._defined(kind, node, span, captures, parent))
            around.append(len(spans))
            spans.append((start, -minus_end))
        return spans

    def _defined(self, kind: str, node: Node, span: Node, captures: Captures, parent: int) -> Definition:
        above = self._facts.definitions[parent].kind if parent >= 0 else ""
        owner = self._text(captures["owner"][0]) if "owner" in captures else ""
        if kind == "function" and (above in HOLDERS or owner):
            kind = "method"
        start, end = span.start_point[0] + 1, span.end_point[0] + (span.end_point[1] > 0)
        doc = self._text(captures["doc"][0]) if "doc" in captures else comment_above(self._lines, start - 1)
        return Definition(
            name=self._name(node, captures),
            kind=kind,
            start=start,
            end=max(start, end),
            parent=parent,
            flags=("exported" in captures) * EXPORTED | ("test" in captures) * TEST,
            owner=owner,
            signature=self._signature(node),
            doc=first_line(doc),
        )

    def _name(self, node: Node, captures: Captures) -> str:
        named = self._text(captures["name"][0]) if "name" in captures else self._first_line_of(node)
        return plain_string(" ".join(named.split()))[:MAX_NAME]

    def _first_line_of(self, node: Node) -> str:
        return self._text(node).partition("\n")[0].strip()

    def _signature(self, node: Node) -> str:
        """What a definition says before its body, in one line."""
        body = node.child_by_field_name("body")
        start = node.start_byte
        if body is not None and body.start_byte > start:
            end = body.start_byte
        else:
            end = self._source.find(b"\n", start)
            end = node.end_byte if end < 0 else min(end, node.end_byte)
        text = self._source[start : min(end, start + 4 * MAX_SIGNATURE)].decode("utf-8", "ignore")
        return " ".join(text.split())[:MAX_SIGNATURE].rstrip(" {:=")

    # -- references and imports ------------------------------------------------------------------

    def _reference(self, kind: str, captures: Captures) -> None:
        if len(self._references) >= MAX_REFERENCES:
            self._facts.cut = "nodes"
            return
        node = captures["name"][0]
        qualifier = self._text(captures["qualifier"][0])[:MAX_NAME] if "qualifier" in captures else ""
        self._references.append(
            (node.start_byte, self._text(node)[:MAX_NAME], kind, qualifier, node.start_point[0] + 1)
        )

    def _write_typed(self, scopes: _Scopes) -> None:
        """Only of names that qualify others: of the rest no type is asked."""
        asked = {each.qualifier.rpartition(".")[2] for each in self._facts.references}
        found: dict[tuple[str, str, int], None] = {}
        for at, name, kind in self._typed:
            spelled = self._text(name)
            if spelled.rpartition(".")[2] in asked:
                found[spelled, self._text(kind)[:MAX_NAME], scopes.at(at)] = None
        self._facts.typed = [Typed(*each) for each in found]

    def _write_references(self, scopes: _Scopes) -> None:
        hidden = {(scopes.at(at), name) for at, name in self._locals}
        seen: dict[tuple[int, str, str, str], Reference] = {}
        for at, name, kind, qualifier, line in sorted(self._references):
            if at in self._definitions:
                continue
            scope = scopes.at(at)
            if not qualifier and hidden and any((each, name) in hidden for each in scopes.outward(scope)):
                continue
            known = seen.get((scope, name, kind, qualifier))
            if known is None:
                seen[scope, name, kind, qualifier] = Reference(name, kind, line, scope, 1, qualifier)
            else:
                known.count += 1
        self._facts.references = list(seen.values())

    def _import(self, label: str, captures: Captures) -> None:
        node = captures[label][0]
        line = node.start_point[0] + 1
        if label == "import.text":
            self._facts.imports += READERS[self._language.name](self._text(node), line)
            return
        module = plain_string(self._text(captures["module"][0])) if "module" in captures else ""
        name = "*" if "all" in captures else self._text(captures["name"][0]) if "name" in captures else ""
        alias = self._text(captures["alias"][0]) if "alias" in captures else ""
        self._facts.imports.append(Import(module, line, name, alias))


class _Scopes:
    """Which definition a place of the file lies in."""

    def __init__(self, spans: list[tuple[int, int]], definitions: list[Definition]) -> None:
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]
        self._definitions = definitions

    def at(self, byte: int) -> int:
        """The index of the innermost one, -1 for the file."""
        index = bisect_right(self._starts, byte) - 1
        while index >= 0 and self._ends[index] <= byte:
            index = self._definitions[index].parent
        return index

    def outward(self, scope: int) -> Iterator[int]:
        """That definition and those around it."""
        while scope >= 0:
            yield scope
            scope = self._definitions[scope].parent

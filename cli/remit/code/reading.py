"""The matches of one file, sorted into its facts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from remit.code.comments import comment_above, first_line, is_notice, plain_string
from remit.code.facts import (
    DECLARED,
    DEFAULT,
    EXPORTED,
    HOLDERS,
    OWN,
    TEST,
    Definition,
    Facts,
    Import,
    Reference,
    Typed,
)
from remit.code.imports import READERS
from remit.code.languages import Language
from remit.code.signatures import EXPRESSION, MAX_SPELLED, qualifier_name, signature, split_name
from remit.code.spans import Ranges, Scopes

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEFINITIONS = 20_000
MAX_REFERENCES = 200_000
MAX_NAME = 200
MAX_IMPORT = 16_384
"""Characters of one import."""

LONG_LINE = 500
"""Characters. Source in which most definitions stand in longer lines was minified."""

MAX_CROWDED = 40
"""Definitions in such lines that are told."""

_PARTS = re.compile(r"[./\\:]+")
_GLOBALS = frozenset(["variable", "constant"])
_BODIES = frozenset(["function", "method", "test"])

Captures = dict[str, list["Node"]]

_Mention = tuple[int, int, str, int, int, bool]
"""Of a place in the file: the pattern, where the name ends, the kind, where a qualifier begins and ends (0: none), and
whether that is one which lends alone."""


class _Decoded:
    """Source as it is sliced by bytes."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def __getitem__(self, place: slice) -> str:
        return self._source[place].decode("utf-8", "replace")


class _Hidden:
    """Names that definitions bind."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self._definitions = definitions
        self._names: dict[int, set[str]] = {}

    def add(self, scope: int, name: str) -> None:
        names = self._names.get(scope)
        if names is None:
            names = self._names[scope] = set()
        names.add(name)

    def knows(self, name: str, scope: int) -> bool:
        """Whether a name is bound within a definition, by it or by one around it."""
        while scope >= 0:
            names = self._names.get(scope)
            if names is not None and name in names:
                return True
            scope = self._definitions[scope].parent
        return False


class Reading:
    """Sorts the matches of one file into its facts. readable: the source as it was parsed, of the same length."""

    def __init__(self, language: Language, source: bytes, readable: bytes, facts: Facts) -> None:
        self._language = language
        self._source = readable
        # What is put in for the parser of this language nobody wrote.
        self._shown = source if language.name == "Kotlin" else readable
        # Where a character is a byte, a slice is all it takes.
        self._plain = readable.decode() if readable.isascii() else None
        self._facts = facts
        self._lines = source.split(b"\n")
        self._definitions: dict[int, tuple[int, str, Captures]] = {}
        self._patterns: dict[tuple[int, int], int] = {}
        self._additions: dict[int, Captures] = {}
        self._references: dict[int, _Mention] = {}
        self._locals: list[Node] = []
        self._typed: list[tuple[Node, Node]] = []
        self._receivers: dict[int, str] = {}
        self._imported: list[tuple[int, int]] = []
        self._imports: list[tuple[int, Import]] = []
        self._named_modules: set[int] = set()
        self._qualifiers: dict[str | bytes, str] = {}

    def take(self, matches: list[tuple[int, Captures]], labels: Sequence[str]) -> None:
        """labels: by pattern, what its matches are, or "" where their captures tell."""
        parts = [_parts(label) for label in labels]
        references = self._references
        # Said of nearly all that is matched: it is spelled out.
        for pattern, captures in matches:
            head, kind = parts[pattern]
            if head == "reference":
                node = captures["name"][0]
                at = node.start_byte
                known = references.get(at)
                if known is not None and known[0] <= pattern:
                    continue
                end = node.end_byte
                if end == at:
                    continue  # A parser that recovers puts in what is missing.
                if len(captures) == 1:
                    references[at] = (pattern, end, kind, 0, 0, False)
                else:
                    self._qualified(pattern, kind, (at, end), captures)
            elif head == "local":
                self._locals += captures["local"]
            elif head == "typed":
                self._typed.append((captures["typed"][0], captures["type"][0]))
            else:
                self._other(pattern, labels[pattern] or next(filter(_is_definition, captures), ""), captures)
        if len(references) > MAX_REFERENCES:
            self._facts.cut = "nodes"
            self._references = dict(islice(references.items(), MAX_REFERENCES))
        spans = self._write_definitions()
        if self._crowded():
            self._thin_out()
            return
        scopes = Scopes(spans, self._facts.definitions)
        self._write_references(scopes)
        self._write_typed(scopes)
        self._write_imports()

    def _other(self, pattern: int, label: str, captures: Captures) -> None:
        head, kind = _parts(label)
        if head == "definition":
            self._definition(pattern, kind, captures)
        elif head == "import":
            self._import(label, captures)
        elif head == "documentation":
            self._documentation(kind, captures[label][0])
        else:
            self._add(captures)

    def _add(self, captures: Captures) -> None:
        """What belongs to the definition of a name, of several the most: the widest span, all decorators."""
        known = self._additions.setdefault(captures["name"][0].start_byte, {})
        for label, nodes in captures.items():
            before = known.get(label)
            if before is None or label not in ("span", "decorator") or _width(nodes) > _width(before):
                known[label] = nodes

    def _text(self, node: Node) -> str:
        return self._between(node.start_byte, node.end_byte)

    def _between(self, start: int, end: int) -> str:
        if self._plain is not None:
            return self._plain[start:end]
        return self._source[start:end].decode("utf-8", "replace")

    def _documentation(self, place: str, node: Node) -> None:
        text = comment_above(self._lines, node.start_point[0]) if place == "above" else self._text(node)
        if not self._facts.doc and not is_notice(text):
            self._facts.doc = first_line(text)

    # -- definitions -----------------------------------------------------------------------------

    def _definition(self, pattern: int, kind: str, captures: Captures) -> None:
        node = captures[f"definition.{kind}"][0]
        named = captures["name"][0] if "name" in captures else node
        at = named.start_byte
        if named.end_byte == at:
            return
        known = self._definitions.get(at)
        if known is None or pattern < known[0]:
            extent = (node.start_byte, node.end_byte)
            self._patterns[extent] = min(pattern, self._patterns.get(extent, pattern))
            if known is None and len(self._definitions) >= MAX_DEFINITIONS:
                self._facts.cut = "nodes"
                return
            self._definitions[at] = (pattern, kind, captures)

    def _write_definitions(self) -> list[tuple[int, int]]:
        """The definitions in the order of the file, each after what it lies in; their spans in bytes."""
        found = []
        imported = Ranges(self._imported)
        for at, (pattern, kind, matched) in self._definitions.items():
            node = matched[f"definition.{kind}"][0]
            if pattern != self._patterns[node.start_byte, node.end_byte] or node.start_byte in imported:
                continue
            more = self._additions.get(at)
            captures = {**matched, **more} if more is not None else matched
            span = captures["span"][0] if "span" in captures else node
            last = captures["end"][0] if "end" in captures else span
            start = _first(span, captures).start_byte
            found.append((start, -last.end_byte, node.start_byte, kind, node, span, captures))
        found.sort(key=lambda each: each[:3])
        spans: list[tuple[int, int]] = []
        around: list[int] = []
        definitions = self._facts.definitions
        given: set[tuple[int, str]] = set()
        for start, minus_end, _, kind, node, span, captures in found:
            # Names that share one declaration stand side by side.
            while around and (spans[around[-1]][1] <= start or spans[around[-1]] == (start, -minus_end)):
                around.pop()
            if len(around) >= self._language.depth and not self._language.calls:
                self._facts.cut = self._facts.cut or "depth"
                continue
            parent = around[-1] if around else -1
            if parent >= 0 and kind in _GLOBALS and definitions[parent].kind in _BODIES:
                continue
            if "receiver" in captures:
                self._receivers[len(definitions)] = self._text(captures["receiver"][0])
            defined = self._defined(kind, node, span, captures, parent)
            if kind in _GLOBALS and self._language.calls and self._language.family != "c":
                # What is given another value is what it was; C announces so what it defines.
                if (parent, defined.name) in given:
                    continue
                given.add((parent, defined.name))
            definitions.append(defined)
            around.append(len(spans))
            spans.append((start, -minus_end))
        return spans

    def _crowded(self) -> bool:
        """Whether most of the file is in lines that no person wrote."""
        crowded = sum(len(self._lines[each.start - 1]) > LONG_LINE for each in self._facts.definitions)
        return crowded > MAX_CROWDED and 2 * crowded > len(self._facts.definitions)

    def _thin_out(self) -> None:
        """Of what was minified some of the top is told; what it mentions are names of one letter."""
        facts = self._facts
        self._write_imports()
        facts.cut = "minified"
        facts.definitions = [each for each in facts.definitions if each.parent < 0][:MAX_CROWDED]
        facts.imports = facts.imports[:MAX_CROWDED]

    def _defined(self, kind: str, node: Node, span: Node, captures: Captures, parent: int) -> Definition:
        around = self._facts.definitions[parent] if parent >= 0 else None
        name = self._name(node, captures)
        owner = self._text(captures["owner"][0]) if "owner" in captures else ""
        if self._language.joint and kind in _BODIES:
            owner, name = split_name(name, self._language.joint, owner)
        if kind == "function" and (owner or (around and around.kind in HOLDERS)):
            kind = "method"
        tested = "test" in captures or (around is not None and around.flags & TEST != 0)
        last = captures["end"][0] if "end" in captures else span
        start = _first(span, captures).start_point[0] + 1
        end = last.end_point[0] + (last.end_point[1] > 0)
        doc = ""
        if "doc" in captures:
            doc = self._text(captures["doc"][0])
        elif around is None or around.start < start:
            above = comment_above(self._lines, start - 1, blocks_only=self._language.block_comments)
            doc = "" if not above or is_notice(above) else above
        return Definition(
            name=name,
            kind=kind,
            start=start,
            end=max(start, end),
            parent=parent,
            flags=_flags(captures) | tested * TEST,
            owner=owner,
            signature=self._signature(node, span, kind, captures),
            doc=first_line(doc) if doc else "",
            returns=self._text(captures["returns"][0])[:MAX_NAME] if "returns" in captures else "",
        )

    def _signature(self, node: Node, span: Node, kind: str, captures: Captures) -> str:
        told = signature(self._shown, node, span, kind, captures.get("decorator", ()))
        # Of several names that are exported together only the first has the word before it.
        together = "exported" in captures and captures["exported"][0].type == "export_statement"
        return f"export {told}" if together and not told.startswith(("export", "@")) else told

    def _name(self, node: Node, captures: Captures) -> str:
        if "name" not in captures:
            named = self._first_line_of(node)
        else:
            named = self._between(*_extent(captures))
            if named.isidentifier():
                return named[:MAX_NAME]
        return plain_string(" ".join(named.split())).lstrip(self._language.name_marks)[:MAX_NAME]

    def _first_line_of(self, node: Node) -> str:
        return self._text(node).partition("\n")[0].strip()

    # -- references and imports ------------------------------------------------------------------

    def _qualified(self, pattern: int, kind: str, named: tuple[int, int], captures: Captures) -> None:
        at, end = named
        if "next" in captures and captures["next"][0].start_byte != end:
            return
        before = captures.get("qualifier") or captures.get("lender")
        start, until = (before[0].start_byte, before[-1].end_byte) if before else (0, 0)
        self._references[at] = (pattern, end, kind, start, until, "lender" in captures)

    def _qualifier(self, start: int, end: int) -> str:
        if end - start > MAX_SPELLED:
            return EXPRESSION
        spelled = self._between(start, end) if self._plain is not None else self._source[start:end]
        known = self._qualifiers.get(spelled)
        if known is None:
            known = self._qualifiers[spelled] = qualifier_name(self._source, start, end)
        return known

    def _write_typed(self, scopes: Scopes) -> None:
        """Only of names that qualify others, and of what these are made of: of the rest no type is asked."""
        asked = {_last_name(qualifier) for qualifier in {each.qualifier for each in self._facts.references}}
        told = [(self._text(name), self._text(kind)[:MAX_NAME], name.start_byte) for name, kind in self._typed]
        asked |= {kind for name, kind, _ in told if _last_name(name) in asked}
        found = {(name, kind, scopes.at(at)): None for name, kind, at in told if _last_name(name) in asked}
        self._facts.typed = [Typed(*each) for each in found]

    def _write_references(self, scopes: Scopes) -> None:
        references = self._references
        named = [_extent(captures) for _, _, captures in self._definitions.values() if "name" in captures]
        places = Ranges(self._imported + named).outside(sorted(references))
        is_hidden = self._hidden(scopes).knows
        telling = self._telling()
        lines = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        text = self._plain if self._plain is not None else _Decoded(self._source)
        seen: dict[tuple[int, str, str, str], Reference] = {}

        def mention(scope: int, name: str, kind: str, qualifier: str, at: int) -> None:
            known = seen.get((scope, name, kind, qualifier))
            if known is not None:
                known.count += 1
            elif qualifier or not is_hidden(name, scope):
                line = bisect_right(lines, at)
                seen[scope, name, kind, qualifier] = Reference(name, kind, line, scope, 1, qualifier)

        for at, scope in zip(places, scopes.each(places), strict=True):
            _, end, kind, start, until, lent = references[at]
            name = text[at:end][:MAX_NAME]
            if not until:
                mention(scope, name, kind, "", at)
                continue
            qualifier = self._qualifier(start, until)
            tells = telling(qualifier)
            if lent and not tells and qualifier not in self._bound:
                continue
            told = self._own(qualifier, scope) if self._receivers else qualifier
            mention(scope, name, kind, told, at)
            if tells and told.isidentifier():
                # What stands before a name is mentioned as well.
                mention(scope, told, "use", "", at)
        self._facts.references = list(seen.values())

    def _telling(self) -> Callable[[str], bool]:
        """Whether a qualifier is a type or a module by its looks, or of the file's own."""
        own = {each.name for each in self._facts.definitions if each.parent < 0}
        return cache(lambda qualifier: qualifier in own or (qualifier[0].isupper() and qualifier != "Self"))

    @cached_property
    def _bound(self) -> set[str]:
        """What imports may be called by in the file."""
        return {name for _, each in self._imports for name in _bound(each)}

    def _hidden(self, scopes: Scopes) -> _Hidden:
        """The names that definitions bind. What a file binds hides nothing."""
        ends = sorted({(node.start_byte, node.end_byte) for node in self._locals})
        starts = [start for start, _ in ends]
        # What an import binds is what it imports.
        outside = set(Ranges(self._imported).outside(starts))
        hidden = _Hidden(self._facts.definitions)
        for (start, end), scope in zip(ends, scopes.each(starts), strict=True):
            if start in outside:
                hidden.add(scope, self._between(start, end))
        return hidden

    def _own(self, qualifier: str, scope: int) -> str:
        """The qualifier with `self` for what the method around calls its object, where it chooses that name."""
        while scope >= 0 and scope not in self._receivers:
            scope = self._facts.definitions[scope].parent
        first, dot, rest = qualifier.partition(".")
        return f"self{dot}{rest}" if first == self._receivers.get(scope) else qualifier

    def _import(self, label: str, captures: Captures) -> None:
        node = captures[label][0]
        line = node.start_point[0] + 1
        if label == "import.own":
            alias = self._captured(captures, "alias") or "default"
            self._imports.append((node.start_byte, Import(OWN, line, self._captured(captures, "name"), alias)))
            return
        self._imported.append((node.start_byte, node.end_byte))
        if label == "import.text":
            found = READERS[self._language.name](self._text(node)[:MAX_IMPORT], line)
            self._imports += [(node.start_byte, each) for each in found]
            return
        module = captures["module"][0] if "module" in captures else None
        name = "*" if "all" in captures else "default" if "default" in captures else self._captured(captures, "name")
        alias = self._captured(captures, "alias")
        spelled = plain_string(self._text(module)) if module is not None else ""
        at = module.start_byte if module is not None else node.start_byte
        if name or alias:
            self._named_modules.add(at)
        self._imports.append((at, Import(spelled, line, name, alias)))

    def _captured(self, captures: Captures, label: str) -> str:
        return plain_string(self._text(captures[label][0])) if label in captures else ""

    def _write_imports(self) -> None:
        for at, each in self._imports:
            if each.name or each.alias or at not in self._named_modules:
                self._facts.imports.append(each)


def _bound(each: Import) -> Sequence[str]:
    """What an import may be called by in its file."""
    return (
        (each.alias or each.name,) if each.alias or each.name else [part for part in _PARTS.split(each.module) if part]
    )


def _extent(captures: Captures) -> tuple[int, int]:
    names = captures["name"]
    return names[0].start_byte, names[-1].end_byte


def _width(nodes: Sequence[Node]) -> int:
    return nodes[-1].end_byte - nodes[0].start_byte


def _flags(captures: Captures) -> int:
    exported = EXPORTED if "exported" in captures else 0
    declared = DECLARED if "declared" in captures else 0
    return exported | declared | (DEFAULT if "lent" in captures else 0)


def _first(span: Node, captures: Captures) -> Node:
    """Where a definition begins: decorators may stand beside it."""
    decorators = captures.get("decorator")
    return decorators[0] if decorators and decorators[0].start_byte < span.start_byte else span


def _last_name(path: str) -> str:
    return path.rpartition(".")[2].rpartition(">")[2]


def _is_definition(label: str) -> bool:
    return label.startswith("definition.")


@cache
def _parts(label: str) -> tuple[str, str]:
    """What a capture is, and of which kind."""
    head, _, kind = label.partition(".")
    return head, kind

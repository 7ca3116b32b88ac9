"""The definitions of a tree as tables: what stands at the top of a file, in a type, under a name."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from remit.code.facts import DECLARED, HOLDERS, SYMBOL_KINDS, TEST, Definition, Facts, Import, Typed
from remit.code.families import family_of
from remit.code.languages import Language, by_name
from remit.code.roots import MAX_ROOTS, Root, roots_of
from remit.code.tables import Family, Nodes, Note, Table, note
from remit.code.tree import SourceTree

NONE = -1
MANY = -2
"""In place of a node: nothing is known by that name; several are, and nothing tells which."""

Module = tuple[int, ...]
"""Indices of the files of a module; none: a module that is not in the tree."""

Meaning = int | Module | None
"""A node (or NONE, MANY), a module, or an object of which nothing is known."""

MAX_HOPS = 6
"""From module to module, and from type to base type."""

Told = tuple[int, int, str]
"""A type as it is spelled in a file (index) and scope."""

_docs_decoder = msgspec.msgpack.Decoder(dict[int, str])

_MAX_TOLD = 8
SPARE = 4
"""Nodes that each file has room for beside those it defines, and one more for every eight: a file that grows a little
changes no number of another's."""

TYPES = HOLDERS | {"module", "type"}
FUNCTIONS = frozenset(["function", "method", "macro"])
_OWNER = re.compile(r"[\w$?!]+(?=\W*$)")
_GENERIC = re.compile(r"[<\[(].*$", re.DOTALL)


class Names:
    """A node is a definition, counted through all files in order; behind them comes one node for each file. Each file
    has room for more: numbers that stand for nothing have no kind.

    name, kind, start, end, flags, parent, tests: of each definition; its parent is a node, NONE at the top of a file.
    owner, returns: of those that have them. first: of each file, its first node. top: of each file, what it defines
    at its top. members: of a node, what it holds. inner: of each file, the names of what does not stand at its top.
    package: of files that say so, its name. roots: where modules of packages lie.
    imports, inherits, typed: what files import, types inherit by name, and names are told to be; for resolving.
    docs: of each file, packed, the first lines of documentation of its symbols by their number in it.
    """

    def __init__(self, tree: SourceTree, prefix: str = "") -> None:
        """prefix: of the tree in the workspace, ending in a slash, or ""."""
        self.tree = tree
        self.paths = [prefix + file.path for file in tree.files]
        self.name: list[str] = []
        self.kind: list[str] = []
        self.start, self.end, self.flags, self.parent = array("i"), array("i"), bytearray(), array("i")
        self.tests = bytearray()
        self.owner: dict[int, str] = {}
        self.docs: list[bytes] = []
        self.first: list[int] = []
        self.lines: list[int] = []
        self.package: dict[int, str] = {}
        self.roots: list[Root] = []
        self.languages: list[str] = []
        self.family: list[Family] = []
        self.families: dict[str, Family] = {}
        self._kinds: dict[str, str] = {}
        self._prefix = prefix
        self.forget()

    def forget(self) -> None:
        """What is needed for resolving alone."""
        self.returns: dict[int, str] = {}
        self.top: list[dict[str, int]] = []
        self.inner: list[set[str]] = []
        self.members: dict[int, dict[str, int]] = {}
        self.imports: list[list[Import]] = []
        self.inherits: dict[int, list[tuple[str, str]]] = {}
        self.typed: dict[tuple[int, str], list[Told]] = {}
        self.typed_names: list[set[str]] = []

    @property
    def symbols(self) -> int:
        """The number of nodes that definitions have room for, and the node of the first file."""
        return len(self.name)

    def file_of(self, node: int) -> int:
        """The index of the file that a node lies in."""
        if node >= len(self.name):
            return node - len(self.name)
        return bisect_right(self.first, node) - 1

    def folder(self, index: int) -> str:
        """The package of a file: what it says itself, else its directory, which may lie below several roots."""
        package = self.package.get(index)
        if package is not None:
            return package
        folder = self.paths[index].rpartition("/")[0]
        roots = self.family[index].habits.source_roots
        if not roots:
            return folder
        parts = folder.split("/")
        begin = next((number for number, part in enumerate(parts) if part in roots), -1)
        return "/".join(parts[begin + 1 :])

    def holder(self, node: int) -> int:
        """The symbol around a definition, NONE at the top of its file."""
        above = self.parent[node]
        while above >= 0 and self.kind[above] not in SYMBOL_KINDS:
            above = self.parent[above]
        return above

    def speaker(self, index: int, scope: int) -> int:
        """The node that speaks where `scope` of a file does: a symbol, or the file itself."""
        node = self.first[index] + scope if scope >= 0 else NONE
        if node >= 0 and self.kind[node] not in SYMBOL_KINDS:
            node = self.holder(node)
        return node if node >= 0 else len(self.name) + index

    def docs_of(self, index: int) -> dict[int, str]:
        """Of a file, the first lines of documentation of its symbols by their number in it."""
        packed = self.docs[index]
        return _docs_decoder.decode(packed) if packed else {}

    def only(self, nodes: Nodes | None) -> int:
        """The one that is meant of those that have a name, MANY where that may be several. What announces a definition
        counts only as long as nothing is defined."""
        if nodes is None:
            return NONE
        if isinstance(nodes, int):
            return nodes
        known, flags = NONE, self.flags
        for node in nodes:
            if known == NONE or flags[known] & DECLARED:
                known = node
            elif not flags[node] & DECLARED:
                return MANY
        return known

    def only_owned(self, nodes: Nodes) -> int:
        """As `only`. Overloads in one file are one; in two files they are two things of one name."""
        if isinstance(nodes, int):
            return nodes
        known, flags = NONE, self.flags
        for node in nodes:
            if known >= self.first[self.file_of(node)]:
                continue
            if known == NONE or flags[known] & DECLARED:
                known = node
            elif not flags[node] & DECLARED:
                return MANY
        return known

    # -- filling -----------------------------------------------------------------------------------

    def take(self, facts: Facts) -> None:
        """The facts of the next file."""
        index, number = len(self.first), len(facts.definitions)
        self.first.append(len(self.name))
        for column, rows in zip(self._columns(), self._rows(index, facts, number + SPARE + number // 8), strict=True):
            column.extend(rows)
        self.lines.append(facts.lines)
        self.docs.append(_packed_docs(facts))
        self.belongs(index, facts.language)
        self.top.append({})
        self.inner.append(set())
        self.imports.append([])
        self.typed_names.append(set())
        if self.family[index].habits.packages:
            self._take_package(self.family[index], index, facts.definitions)
        if not by_name(facts.language).calls and len(self.roots) < MAX_ROOTS:
            self.roots += roots_of(self.paths[index], facts)
        self.enter(index, facts, note)

    def belongs(self, index: int, language: str) -> None:
        """Tell the language of the next file."""
        self.languages.append(language)
        family = self.family_of(language)
        family.files.append(index)
        self.family.append(family)

    def room(self, index: int) -> tuple[int, int]:
        """Its first node, and the first of the next file."""
        return self.first[index], self.first[index + 1] if index + 1 < len(self.first) else self.symbols

    def write(self, index: int, facts: Facts) -> None:
        """Let a file with room for them have these definitions instead of others."""
        first, end = self.room(index)
        for column, rows in zip(self._columns(), self._rows(index, facts, end - first), strict=True):
            column[first:end] = rows
        self.lines[index] = facts.lines
        self.docs[index] = _packed_docs(facts)

    def enter(self, index: int, facts: Facts, note: Note) -> None:
        """Take what resolving asks of a file that has its rows. note: what becomes of names that others see."""
        first, family = self.first[index], self.family[index]
        self.imports[index] = facts.imports
        self._take_definitions(family, index, facts.definitions, note)
        for each in facts.references:
            if each.kind == "inherit" and each.scope >= 0:
                self.inherits.setdefault(first + each.scope, []).append((each.name, each.qualifier))
        self.typed_names[index] = {self._take_typed(family, index, each) for each in facts.typed}

    def finish(self) -> None:
        """All files are taken: what they share can be asked for."""
        roots = [*self.roots, *_go_roots(self.tree.go_modules, self._prefix)]
        for name, family in self.families.items():
            family.paths, family.package = self.paths, self.package
            family.roots = [root for root in roots if root.family == name]

    def _columns(self) -> Sequence[Any]:
        return self.name, self.kind, self.start, self.end, self.flags, self.parent, self.tests

    def _rows(self, index: int, facts: Facts, room: int) -> Sequence[Any]:
        """What the columns say of a file. room: for how many nodes."""
        definitions, first = facts.definitions, self.first[index]
        spare = room - len(definitions)
        # The same few kinds and many of the names come again and again: one object each.
        one = self._kinds.setdefault
        own = [each.name for each in definitions]
        self.family_of(facts.language).words.update(own, [each.alias for each in facts.imports])
        return (
            own + [""] * spare,
            [one(each.kind, each.kind) for each in definitions] + [""] * spare,
            array("i", [each.start for each in definitions] + [0] * spare),
            array("i", [each.end for each in definitions] + [0] * spare),
            bytes([each.flags for each in definitions] + [0] * spare),
            array("i", [each.parent + first if each.parent >= 0 else NONE for each in definitions] + [NONE] * spare),
            _tests(by_name(facts.language), definitions, whole=self.tree.files[index].tests) + bytes(spare),
        )

    def _take_definitions(self, family: Family, index: int, definitions: Sequence[Definition], note: Note) -> None:
        first, members, tests = self.first[index], self.members, self.tests
        top = self.top[index] = {}
        inner = self.inner[index] = set()
        shared = family.habits.unit == "tree"
        for node, each in enumerate(definitions, first):
            kind = each.kind
            if kind not in SYMBOL_KINDS:
                continue
            name = each.name
            if each.returns:
                self.returns[node] = each.returns
            if each.owner:
                inner.add(name)
                self._take_owned(family, index, node, each, note)
            elif each.parent < 0:
                known = top.get(name)
                if known is None or (kind != "variable" and self.kind[known] == "variable"):
                    top[name] = node
                    if shared:
                        note(family.plain[tests[node]], name, node)
            else:
                inner.add(name)
                held = members.get(first + each.parent)
                if held is None:
                    held = members[first + each.parent] = {}
                if name not in held:
                    held[name] = node
                    self._take_member(family, index, node, note)

    def _take_package(self, family: Family, index: int, definitions: Sequence[Definition]) -> None:
        """What stands before all else; a package that holds what is in it is one of its own."""
        holding = {each.parent for each in definitions}
        tops = [each for node, each in enumerate(definitions) if each.parent < 0 and node not in holding]
        parts = [each.name for each in tops if each.kind == "module"]
        if parts:
            self.package[index] = family.habits.separators[0].join(parts)

    def _take_member(self, family: Family, index: int, node: int, note: Note) -> None:
        """What is the first of its name in what holds it."""
        above, kind, name = self.parent[node], self.kind[node], self.name[node]
        if self.kind[above] not in HOLDERS and self.kind[above] != "module":
            return
        if kind in FUNCTIONS:
            note(family.methods[self.tests[node]], name, node)
        elif kind in TYPES and family.habits.unit == "tree":
            note(family.plain[self.tests[node]], name, node)
        if family.habits.unit != "file":
            note(self._belonging(family, index, self.name[above]), name, node)

    def family_of(self, language: str) -> Family:
        """By the name of a language."""
        return self.family_named(family_of(by_name(language)))

    def family_named(self, name: str) -> Family:
        family = self.families.get(name)
        if family is None:
            family = self.families[name] = Family.of(name)
        return family

    def _take_owned(self, family: Family, index: int, node: int, each: Definition, note: Note) -> None:
        owner = self.owner[node] = owner_name(each.owner)
        if family.habits.loose_owners:
            top = self.top[index]
            holder = top.get(owner, NONE)
            if holder == NONE or self.kind[holder] not in TYPES:
                top.setdefault(each.name, node)
        note(self._belonging(family, index, owner), each.name, node)
        if each.kind in FUNCTIONS:
            note(family.methods[self.tests[node]], each.name, node)

    def _belonging(self, family: Family, index: int, owner: str) -> Table:
        place = self.folder(index) if family.habits.unit == "folder" else ""
        held = family.owned.get((place, owner))
        if held is None:
            held = family.owned[place, owner] = {}
        return held

    def _take_typed(self, family: Family, index: int, each: Typed) -> str:
        """Known by the function or type in which the name has the type, or the file."""
        first, name = self.first[index], each.name
        place = first + each.scope if each.scope >= 0 else NONE
        while place >= 0 and self.kind[place] not in FUNCTIONS and self.kind[place] not in HOLDERS:
            place = self.parent[place]
        head, _, rest = name.partition(".")
        if rest and head in family.habits.selfs:
            name = rest
            while place >= 0 and self.kind[place] not in HOLDERS:
                place = self.parent[place]
        key = (place if place >= 0 else -index - 2, name)
        told = (index, each.scope, each.type)
        known = self.typed.get(key)
        if known is None:
            self.typed[key] = [told]
        elif told not in known and len(known) < _MAX_TOLD:
            known.append(told)
        return name


def _go_roots(modules: Mapping[str, str], prefix: str) -> list[Root]:
    return [Root("Go", name, (f"{prefix}{folder}".strip("/"),)) for folder, name in modules.items()]


def _tests(language: Language, definitions: Sequence[Definition], *, whole: bool) -> bytearray:
    """Which of them are tests: all that a file of tests defines, else what is marked or named as a test and what lies
    in that."""
    if whole:
        return bytearray(b"\1" * len(definitions))
    tests = bytearray()
    named = re.compile(language.test_names).search if language.test_names else None
    for each in definitions:
        marked = each.flags & TEST or each.kind == "test" or (each.parent >= 0 and tests[each.parent])
        tests.append(bool(marked or (named is not None and each.kind in FUNCTIONS and named(each.name))))
    return tests


def _packed_docs(facts: Facts) -> bytes:
    told = {number: each.doc for number, each in enumerate(facts.definitions) if each.doc and each.kind in SYMBOL_KINDS}
    return msgspec.msgpack.encode(told) if told else b""


def owner_name(spelled: str) -> str:
    """The bare name of a type that is spelled with marks, parameters or what it lies in."""
    if spelled.isidentifier():
        return spelled
    match = _OWNER.search(_GENERIC.sub("", spelled.lstrip("*&([ ")).rstrip())
    return match[0] if match else spelled

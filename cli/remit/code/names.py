"""The definitions of a tree as tables: what stands at the top of a file, in a type, under a name."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from remit.code.facts import DECLARED, HOLDERS, SYMBOL_KINDS, TEST, Definition, Facts, Import, Typed
from remit.code.families import Habits, family_of, habits_of
from remit.code.languages import Language, by_name
from remit.code.modules import Modules
from remit.code.roots import MAX_ROOTS, Root, roots_of
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

_MAX_TOLD = 8

TYPES = HOLDERS | {"module", "type"}
FUNCTIONS = frozenset(["function", "method", "macro"])
_OWNER = re.compile(r"[\w$?!]+(?=\W*$)")
_GENERIC = re.compile(r"[<\[(].*$", re.DOTALL)


class Family:
    """What files of one family share. words: every name that
    something has or is imported under. methods, plain: nodes by name where one alone has it, MANY where several do;
    each for definitions outside of tests and in them. owned: by place and name of a type, what belongs to it."""

    def __init__(self, habits: Habits) -> None:
        self.habits = habits
        self.files: list[int] = []
        self.words: set[str] = set()
        self.methods: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self.plain: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self.owned: dict[tuple[str, str], dict[str, int]] = {}
        self.modules: Modules
        self._folders: dict[str, list[int]] | None = None

    def neighbours(self, folder: str, names: Names) -> Sequence[int]:
        """The files of the family in a directory."""
        if self._folders is None:
            self._folders = {}
            for index in self.files:
                self._folders.setdefault(names.folder(index), []).append(index)
        return self._folders.get(folder, ())


class Names:
    """A node is a definition, counted through all files in order; behind them comes one node for each file.

    name, kind, start, end, flags, parent, tests: of each definition; its parent is a node, NONE at the top of a file.
    owner, returns: of those that have them. first: of each file, its first node. top: of each file, what it defines
    at its top. members: of a node, what it holds. inner: of each file, the names of what does not stand at its top.
    package: of files that say so, its name.
    imports, inherits, typed: what files import, types inherit by name, and names are told to be; for resolving.
    """

    def __init__(self, tree: SourceTree, prefix: str = "") -> None:
        """prefix: of the tree in the workspace, ending in a slash, or ""."""
        self.tree = tree
        self.paths = [prefix + file.path for file in tree.files]
        self.name: list[str] = []
        self.kind: list[str] = []
        self.start, self.end, self.flags, self.parent = array("i"), array("i"), array("i"), array("i")
        self.tests = bytearray()
        self.owner: dict[int, str] = {}
        self.returns: dict[int, str] = {}
        self.first: list[int] = []
        self.lines: list[int] = []
        self.package: dict[int, str] = {}
        self.top: list[dict[str, int]] = []
        self.inner: list[set[str]] = []
        self.members: dict[int, dict[str, int]] = {}
        self.family: list[Family] = []
        self.imports: list[list[Import]] = []
        self.inherits: dict[int, list[tuple[str, str]]] = {}
        self.typed: dict[tuple[int, str], list[Told]] = {}
        self.typed_names: list[set[str]] = []
        self._families: dict[str, Family] = {}
        self._kinds: dict[str, str] = {}
        self._prefix = prefix
        self._roots: list[Root] = []

    @property
    def symbols(self) -> int:
        """The number of definitions, and the node of the first file."""
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

    def finish(self) -> None:
        """All files are taken: what they share can be asked for."""
        roots = [*self._roots, *_go_roots(self.tree.go_modules, self._prefix)]
        for name, family in self._families.items():
            files = [(index, self.paths[index]) for index in family.files]
            own = [root for root in roots if root.family == name]
            packages = {index: self.package[index] for index in family.files if index in self.package}
            family.modules = Modules(family.habits, files, own, packages)

    def forget(self) -> None:
        """What was needed for resolving alone."""
        self.imports, self.inherits, self.typed, self.typed_names, self.returns = [], {}, {}, [], {}

    # -- filling -----------------------------------------------------------------------------------

    def take(self, facts: Facts, *, tests: bool) -> None:
        """The facts of the next file. tests: whether all of it is."""
        language = by_name(facts.language)
        index, first = len(self.first), len(self.name)
        family = self._family(language)
        family.files.append(index)
        self.family.append(family)
        self.first.append(first)
        self.lines.append(facts.lines)
        self.imports.append(facts.imports)
        definitions = facts.definitions
        # The same few kinds and many of the names come again and again: one object each.
        one = self._kinds.setdefault
        own = [each.name for each in definitions]
        family.words.update(own, [each.alias for each in facts.imports])
        self.name += own
        self.kind += [one(each.kind, each.kind) for each in definitions]
        self.start.extend([each.start for each in definitions])
        self.end.extend([each.end for each in definitions])
        self.flags.extend([each.flags for each in definitions])
        self.parent.extend([each.parent + first if each.parent >= 0 else NONE for each in definitions])
        self._take_tests(language, definitions, first, whole=tests)
        if family.habits.packages:
            self._take_package(family, index, definitions)
        if not language.calls and len(self._roots) < MAX_ROOTS:
            self._roots += roots_of(self.paths[index], facts)
        self._take_definitions(family, index, definitions)
        for each in facts.references:
            if each.kind == "inherit" and each.scope >= 0:
                self.inherits.setdefault(first + each.scope, []).append((each.name, each.qualifier))
        self.typed_names.append({self._take_typed(family, index, each) for each in facts.typed})

    def _take_definitions(self, family: Family, index: int, definitions: Sequence[Definition]) -> None:
        first, members, tests = self.first[index], self.members, self.tests
        top: dict[str, int] = {}
        inner: set[str] = set()
        self.top.append(top)
        self.inner.append(inner)
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
                self._take_owned(family, index, node, each)
            elif each.parent < 0:
                known = top.get(name)
                if known is None or (kind != "variable" and self.kind[known] == "variable"):
                    top[name] = node
                    if shared:
                        self._only(family.plain[tests[node]], name, node)
            else:
                inner.add(name)
                held = members.get(first + each.parent)
                if held is None:
                    held = members[first + each.parent] = {}
                if name not in held:
                    held[name] = node
                    self._take_member(family, index, node)

    def _take_package(self, family: Family, index: int, definitions: Sequence[Definition]) -> None:
        """What stands before all else; a package that holds what is in it is one of its own."""
        holding = {each.parent for each in definitions}
        tops = [each for node, each in enumerate(definitions) if each.parent < 0 and node not in holding]
        parts = [each.name for each in tops if each.kind == "module"]
        if parts:
            self.package[index] = family.habits.separators[0].join(parts)

    def _take_member(self, family: Family, index: int, node: int) -> None:
        """What is the first of its name in what holds it."""
        above, kind, name = self.parent[node], self.kind[node], self.name[node]
        if self.kind[above] not in HOLDERS and self.kind[above] != "module":
            return
        if kind in FUNCTIONS:
            self._only(family.methods[self.tests[node]], name, node)
        elif kind in TYPES and family.habits.unit == "tree":
            self._only(family.plain[self.tests[node]], name, node)
        if family.habits.unit != "file":
            self._belongs(family, index, self.name[above], node, name)

    def _family(self, language: Language) -> Family:
        name = family_of(language)
        family = self._families.get(name)
        if family is None:
            family = self._families[name] = Family(habits_of(name))
        return family

    def _take_tests(self, language: Language, definitions: Sequence[Definition], first: int, *, whole: bool) -> None:
        """All that a file of tests defines, else what is marked or named as a test and what lies in that."""
        if whole:
            self.tests.extend(b"\1" * len(definitions))
            return
        tests = self.tests
        named = re.compile(language.test_names).search if language.test_names else None
        for each in definitions:
            marked = each.flags & TEST or each.kind == "test" or (each.parent >= 0 and tests[first + each.parent])
            tests.append(bool(marked or (named is not None and each.kind in FUNCTIONS and named(each.name))))

    def _take_owned(self, family: Family, index: int, node: int, each: Definition) -> None:
        owner = self.owner[node] = owner_name(each.owner)
        if family.habits.loose_owners:
            top = self.top[index]
            holder = top.get(owner, NONE)
            if holder == NONE or self.kind[holder] not in TYPES:
                top.setdefault(each.name, node)
        self._belongs(family, index, owner, node, each.name)
        if each.kind in FUNCTIONS:
            self._only(family.methods[self.tests[node]], each.name, node)

    def _belongs(self, family: Family, index: int, owner: str, node: int, name: str) -> None:
        place = self.folder(index) if family.habits.unit == "folder" else ""
        held = family.owned.get((place, owner))
        if held is None:
            held = family.owned[place, owner] = {}
        known = held.get(name, NONE)
        if known < self.first[index]:
            # Overloads in one file are one; in two files they are two things of one name.
            self._only(held, name, node)

    def _only(self, table: dict[str, int], name: str, node: int) -> None:
        """What announces a definition counts only as long as nothing is defined."""
        known = table.get(name, NONE)
        if known == NONE or (known >= 0 and self.flags[known] & DECLARED):
            table[name] = node
        elif not self.flags[node] & DECLARED:
            table[name] = MANY

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


def owner_name(spelled: str) -> str:
    """The bare name of a type that is spelled with marks, parameters or what it lies in."""
    if spelled.isidentifier():
        return spelled
    match = _OWNER.search(_GENERIC.sub("", spelled.lstrip("*&([ ")).rstrip())
    return match[0] if match else spelled

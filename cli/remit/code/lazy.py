"""The names of a tree that was linked before: what resolving asks of a file is taken from its facts when it is asked
for, so that linking a few files anew reads a few."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from remit.code.changes import words_in
from remit.code.facts import Facts
from remit.code.names import Names
from remit.code.roots import Root
from remit.code.tables import Family, Table, ignore, note, unnote

FactsOf = Callable[[int], Facts]


class _FamilyTables(msgspec.Struct, array_like=True, gc=False):
    """As `Family` has them. words: joined by NUL. owned: places, types and tables."""

    words: str
    methods: tuple[Table, Table]
    plain: tuple[Table, Table]
    owned: list[tuple[str, str, Table]]


class Tables(msgspec.Struct, array_like=True, gc=False):
    """What all files of a tree share. package, roots: as `Names` has them. words: every word that stands in a file, in
    order, joined by NUL. ends: of each word, where its part of `files` ends; files: indices."""

    package: dict[int, str]
    roots: list[Root]
    families: dict[str, _FamilyTables]
    words: str
    ends: bytes
    files: bytes


def tables_of(names: Names, facts_of: FactsOf) -> Tables:
    """names: as they are when all files were taken."""
    holding: dict[str, list[int]] = {}
    for index in range(len(names.first)):
        for word in words_in(facts_of(index)):
            held = holding.get(word)
            if held is None:
                held = holding[word] = []
            held.append(index)
    ends, files = array("i"), array("i")
    words = sorted(holding)
    for word in words:
        files.extend(holding[word])
        ends.append(len(files))
    return Tables(
        names.package,
        names.roots,
        {
            name: _FamilyTables(
                "\0".join(family.words),
                family.methods,
                family.plain,
                [(place, owner, table) for (place, owner), table in family.owned.items()],
            )
            for name, family in names.families.items()
        },
        "\0".join(words),
        ends.tobytes(),
        files.tobytes(),
    )


class Shared:
    """`Tables` as they are asked."""

    def __init__(self, tables: Tables) -> None:
        self.package, self.roots = tables.package, tables.roots
        self.families: dict[str, Family] = {}
        for name, kept in tables.families.items():
            family = self.families[name] = Family.of(name)
            family.words = set(kept.words.split("\0"))
            family.methods, family.plain = kept.methods, kept.plain
            family.owned = {(place, owner): table for place, owner, table in kept.owned}
        self._words = tables.words.split("\0")
        self._ends, self._files = array("i", tables.ends), array("i", tables.files)

    def holding(self, words: Collection[str]) -> set[int]:
        """The files in which words stood."""
        found: set[int] = set()
        for word in words:
            at = bisect_left(self._words, word)
            if at < len(self._words) and self._words[at] == word:
                found.update(self._files[self._ends[at - 1] if at else 0 : self._ends[at]])
        return found


def awaken(names: Names, shared: Shared, facts_of: FactsOf) -> None:
    """Have the names of a kept graph ready for resolving, each file when it is asked for."""
    names.package, names.roots = shared.package, shared.roots
    for name, family in shared.families.items():
        own = names.family_named(name)
        own.words, own.methods, own.plain, own.owned = family.words, family.methods, family.plain, family.owned
    names.finish()
    asked = _Asked(names, facts_of)
    files = len(names.first)
    names.top, names.inner, names.imports, names.typed_names = (_ByFile(asked, files) for _ in range(4))
    names.members, names.inherits, names.returns = (_ByNode(asked) for _ in range(3))
    names.typed = _ByPlace(asked)


def replace(names: Names, index: int, before: Facts, after: Facts) -> None:
    """Let a file that has room for it say something else. Its rows are those of `before`."""
    first, end = names.room(index)
    assert isinstance(names.top, _ByFile)
    names.top.asked.seen.add(index)
    names.enter(index, before, unnote)
    for table in (names.members, names.inherits, names.returns, names.owner):
        for node in range(first, end):
            dict.pop(table, node, None)
    for place, name in list(names.typed):
        if place == -index - 2 or first <= place < end:
            del names.typed[place, name]
    names.write(index, after)
    names.enter(index, after, note)


class _Asked:
    """Which files' facts were taken."""

    def __init__(self, names: Names, facts_of: FactsOf) -> None:
        self._names = names
        self._facts_of = facts_of
        self.seen: set[int] = set()

    def file(self, index: int) -> None:
        if index not in self.seen:
            self.seen.add(index)
            self._names.enter(index, self._facts_of(index), ignore)

    def node(self, node: int) -> None:
        if 0 <= node < self._names.symbols:
            self.file(self._names.file_of(node))


class _ByFile(list[Any]):
    def __init__(self, asked: _Asked, files: int) -> None:
        super().__init__([None] * files)
        self.asked = asked

    def __getitem__(self, index: Any) -> Any:
        self.asked.file(index)
        return super().__getitem__(index)


class _ByNode(dict[Any, Any]):
    def __init__(self, asked: _Asked) -> None:
        super().__init__()
        self._asked = asked

    def _ask(self, key: Any) -> None:
        self._asked.node(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self._ask(key)
        return super().get(key, default)

    def __contains__(self, key: Any) -> bool:
        self._ask(key)
        return super().__contains__(key)

    def __getitem__(self, key: Any) -> Any:
        self._ask(key)
        return super().__getitem__(key)


class _ByPlace(_ByNode):
    """By a place and a name."""

    def _ask(self, key: Any) -> None:
        place = key[0]
        if place < -1:
            self._asked.file(-place - 2)
        else:
            self._asked.node(place)

"""What files of one family of languages see of one another: tables of nodes by name, and modules."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from remit.code.families import Habits, habits_of
from remit.code.modules import Modules
from remit.code.roots import Root

if TYPE_CHECKING:
    from remit.code.names import Names

Nodes = int | list[int]
"""What has a name: one node, or several in order."""

Table = dict[str, Nodes]

Note = Callable[[Table, str, int], None]


class Family:
    """What files of one family share. words: every name that
    something has or is imported under. methods, plain: nodes by name, each for definitions outside of tests and in
    them. owned: by place and name of a type, what belongs to it."""

    def __init__(self, habits: Habits) -> None:
        self.habits = habits
        self.files: list[int] = []
        self.words: set[str] = set()
        self.methods: tuple[Table, Table] = ({}, {})
        self.plain: tuple[Table, Table] = ({}, {})
        self.owned: dict[tuple[str, str], Table] = {}
        self.paths: Sequence[str] = ()
        self.package: Mapping[int, str] = {}
        self.roots: Sequence[Root] = ()
        self._folders: dict[str, list[int]] | None = None

    @cached_property
    def modules(self) -> Modules:
        """To be asked for when all files are there."""
        packages = {index: self.package[index] for index in self.files if index in self.package}
        return Modules(self.habits, [(index, self.paths[index]) for index in self.files], self.roots, packages)

    @classmethod
    def of(cls, name: str) -> Family:
        return cls(habits_of(name))

    def neighbours(self, folder: str, names: Names) -> Sequence[int]:
        """The files of the family in a directory."""
        if self._folders is None:
            self._folders = {}
            for index in self.files:
                self._folders.setdefault(names.folder(index), []).append(index)
        return self._folders.get(folder, ())


def note(table: Table, name: str, node: int) -> None:
    """One more node has the name."""
    known = table.get(name)
    if known is None:
        table[name] = node
    elif isinstance(known, int):
        table[name] = [known, node] if known < node else [node, known]
    elif known[-1] < node:
        known.append(node)
    else:
        insort(known, node)


def unnote(table: Table, name: str, node: int) -> None:
    """A node has the name no longer."""
    known = table[name]
    if isinstance(known, int):
        del table[name]
        return
    known.remove(node)
    if len(known) == 1:
        table[name] = known[0]


def ignore(table: Table, name: str, node: int) -> None:
    """What others see of a file is known."""

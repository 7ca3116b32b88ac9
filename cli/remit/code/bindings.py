"""What one file has from other files: by its imports, and by living beside them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from remit.code.facts import OWN, Import
from remit.code.names import MANY, MAX_HOPS, NONE, Meaning, Module
from remit.code.tables import Table

if TYPE_CHECKING:
    from remit.code.resolve import Resolver

_JOINTS = re.compile(r"\?\.|!\.|->|::|\.|\\|/")
_PIECES = re.compile(r"(::|[.\\/])")
_VERSION = re.compile(r"v\d+")


class Imports:
    """named: what imports are called in the file. stars: modules that lend it all their names."""

    def __init__(self, resolver: Resolver, index: int) -> None:
        names = resolver.names
        self.named: dict[str, Import] = {}
        self.stars: list[str] = []
        self._index = index
        self._family = names.family[index]
        self._habits = self._family.habits
        self._path = names.paths[index]
        self._tests = names.tree.files[index].tests
        self._resolver = resolver
        self._names = names
        self._bind(names.imports[index])

    def foreign(self, name: str) -> Meaning:
        """What a name means that the file itself does not define: by import, and by name."""
        bound = self.named.get(name)
        if bound is not None:
            return self.meaning(bound, 0)
        for star in self.stars:
            module = self.find(star)
            lent = self._resolver.lend(module, name, 1)
            if lent is not None:
                return lent
            holder = self.dotted(star) if module or not self._habits.packages else self._type(star)
            if holder is not None and (member := self._resolver.member(holder, name)) != NONE:
                return member
        return self.shared(name)

    def dotted(self, name: str) -> int | None:
        """What a definition means that all files see by a name of several parts."""
        found = self.shared(name) if "." in name else NONE
        return found if found >= 0 else None

    def _type(self, spelled: str) -> int | None:
        """The type that a name of a package and a type means."""
        found = self.last_part(spelled, 0)
        return found if isinstance(found, int) and found >= 0 else None

    def shared(self, name: str) -> int:
        """What files of a family see of one another without an import."""
        unit = self._habits.unit
        if unit == "tree":
            return self.alone(self._family.plain, name)
        if unit == "file":
            return NONE
        names = self._names
        tops = (names.top[other] for other in self._family.neighbours(names.folder(self._index), names))
        found = {top[name] for top in tops if name in top}
        return NONE if not found else found.pop() if len(found) == 1 else MANY

    def alone(self, tables: tuple[Table, Table], name: str) -> int:
        """Name alone: code outside of tests means nothing that is defined in them."""
        only = self._names.only
        found = only(tables[0].get(name))
        if not self._tests:
            return found
        among = only(tables[1].get(name))
        return found if among == NONE else among if found == NONE else MANY

    def _bind(self, imports: list[Import]) -> None:
        """Where several imports bind one name the first speaks: the others stand in for it."""
        named = self.named
        for each in imports:
            if each.name == "*":
                if each.alias:
                    named.setdefault(each.alias, Import(each.module, each.line))
                else:
                    self.stars.append(each.module)
            elif each.name or each.alias:
                named.setdefault(each.alias or each.name, each)
            elif self._habits.separators == ".":
                named.setdefault(each.module, each)
                head = each.module.partition(".")[0]
                if head:
                    named.setdefault(head, Import(head, each.line))
            else:
                if self._habits.lends:
                    self.stars.append(each.module)
                parts = [part for part in _JOINTS.split(each.module) if part and not _VERSION.fullmatch(part)]
                if parts:
                    named.setdefault(parts[-1], each)

    def find(self, spelled: str) -> Module:
        """The files of a module by its name as this file spells it."""
        return self._family.modules.find(spelled, self._path)

    def meaning(self, bound: Import, hops: int) -> Meaning:
        """What one import means; what is not in the tree is ()."""
        resolver = self._resolver
        if bound.module == OWN:
            own = self._names.top[self._index].get(bound.name)
            other = self.named.get(bound.name) if own is None and hops < MAX_HOPS else None
            return self.meaning(other, hops + 1) if other is not None else NONE if own is None else own
        module = self.find(bound.module)
        if not bound.name:
            whole = None if module else self.dotted(bound.module)
            return whole if whole is not None else module or self.last_part(bound.module, hops)
        if bound.name == "default" and module:
            return resolver.spokesman(module, bound.alias, hops)
        found = resolver.lend(module, bound.name, hops + 1) if module else None
        if found is None:
            joint = "" if bound.module.endswith(".") else self._joint()
            found = self.find(f"{bound.module}{joint}{bound.name}") or None
        if found is None and not module:
            found = self.dotted(f"{bound.module}.{bound.name}")
        if found is None and not module:
            # Perhaps a member of a type that is named like a module.
            holder = self.last_part(bound.module, hops)
            return resolver.member(holder, bound.name) if isinstance(holder, int) and holder >= 0 else ()
        return () if found is None else found

    def _joint(self) -> str:
        separators = self._habits.separators
        return "::" if separators == ":" else separators[0]

    def last_part(self, spelled: str, hops: int) -> Meaning:
        """What a module's name means whose last part names something in it."""
        pieces = _PIECES.split(spelled)
        if hops >= MAX_HOPS or len(pieces) < 3 or not pieces[-1]:
            return ()
        module = self.find("".join(pieces[:-2]))
        found = self._resolver.lend(module, pieces[-1], hops + 1)
        if found is not None:
            return found
        shared = self.shared(pieces[-1])
        return shared if shared >= 0 else ()

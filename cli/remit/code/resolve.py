"""What a mention means: resolved by scope, file, import and name, in that order.

Where nothing says for sure what is meant there is no answer, so that whatever is counted is a lower bound. By name
alone a mention is resolved only where one definition of the family has the name, it could be meant there, and the
language brings nothing of that name along.

`Resolver` knows what types and modules hold, a `View` what one file sees, its `Imports` what it has from others.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.code.facts import DECLARED, DEFAULT, EXPORTED
from remit.code.names import MANY, MAX_HOPS, NONE, TYPES, Meaning, Module, Names, Told, owner_name
from remit.code.tables import Family
from remit.code.view import View

_MAKERS = ("__init__", "constructor", "__construct", "init", "initialize")
_EMPTY: dict[str, int] = {}


class Resolver:
    """What types and modules of one tree hold; what was found is kept."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._views: dict[int, View] = {}
        self._bases: dict[int, tuple[int, ...]] = {}
        self._tables: dict[tuple[int, ...], dict[str, int]] = {}
        self._owners: dict[tuple[Family, str, str], dict[str, int]] = {}
        self._lent: dict[tuple[Module, str], Meaning] = {}

    def view(self, index: int) -> View:
        found = self._views.get(index)
        if found is None:
            found = self._views[index] = View(self, index)
        return found

    def forget(self) -> None:
        """What was found, and views, which lead back to here: their memory is free at once."""
        for kept in (self._views, self._bases, self._tables, self._owners, self._lent):
            kept.clear()

    # -- types -------------------------------------------------------------------------------------

    def member(self, kind: int, name: str) -> int:
        """What a type or module holds or inherits under a name, NONE where it does not."""
        names = self.names
        found = names.members.get(kind, _EMPTY).get(name, NONE)
        if found != NONE:
            return found
        index = names.file_of(kind)
        if names.family[index].owned:
            found = self.belonging(index, names.name[kind], name)
            if found != NONE:
                return found
        return self.inherited(kind).get(name, NONE)

    def held(self, kind: int) -> dict[str, int]:
        """A table of all that a type is known to hold or inherit, which the caller may add to; empty where more than
        that has to be asked."""
        names = self.names
        if names.family[names.file_of(kind)].owned:
            return {}
        found = dict(self.inherited(kind))
        found.update(names.members.get(kind, _EMPTY))
        return found

    def inherited(self, kind: int) -> dict[str, int]:
        """What a type has from its bases, by name. Types with the same bases share one table."""
        bases = self._bases.get(kind)
        if bases is None:
            bases = self.bases(kind)
        if not bases:
            return _EMPTY
        table = self._tables.get(bases)
        if table is None:
            # Types that inherit from one another in a circle have nothing from the one that is asked first.
            self._tables[bases] = _EMPTY
            table = {}
            for base in reversed(bases):
                table.update(self.inherited(base))
                index = self.names.file_of(base)
                table.update(self._owned(index, self.names.name[base]))
                table.update(self.names.members.get(base, _EMPTY))
            self._tables[bases] = table
        return table

    def belonging(self, index: int, owner: str, name: str) -> int:
        """What is said elsewhere to belong to a type of that name."""
        return self._owned(index, owner).get(name, NONE)

    def _owned(self, index: int, owner: str) -> dict[str, int]:
        family = self.names.family[index]
        if not family.owned:
            return _EMPTY
        key = self.names.folder(index) if family.habits.unit == "folder" else "", owner_name(owner)
        owned = family.owned.get(key)
        if owned is None:
            return _EMPTY
        found = self._owners.get((family, *key))
        if found is None:
            only = self.names.only_owned
            found = self._owners[family, *key] = {name: only(nodes) for name, nodes in owned.items()}
        return found

    def bases(self, kind: int) -> tuple[int, ...]:
        """The types that a type inherits from, as far as they are known."""
        found = self._bases.get(kind)
        if found is None:
            self._bases[kind] = ()
            names = self.names
            index = names.file_of(kind)
            view = self.view(index)
            outside = max(NONE, names.parent[kind] - names.first[index])
            targets = (view.target(outside, name, qualifier) for name, qualifier in names.inherits.get(kind, ()))
            found = self._bases[kind] = tuple(each for each in targets if each >= 0 and each != kind)
        return found

    def attribute(self, kind: int, name: str, hops: int = 0) -> int:
        """The type of what a type or one of its bases keeps under a name, NONE where that is not told."""
        names = self.names
        if (kind, name) in names.typed:
            return self.told(names.typed[kind, name])
        held = names.members.get(kind, _EMPTY)
        for maker in (*_MAKERS, names.name[kind]):
            # What a constructor takes under a name, types keep under that name.
            key = (held.get(maker, NONE), name)
            if key in names.typed:
                return self.told(names.typed[key])
        if hops < MAX_HOPS:
            for base in self.bases(kind):
                found = self.attribute(base, name, hops + 1)
                if found != NONE:
                    return found
        return NONE

    def told(self, ways: Sequence[Told], hops: int = 0) -> int:
        """The node of the type that is told; of several the one that the others inherit from, NONE without it."""
        if hops > MAX_HOPS:
            return NONE
        found = {self.view(index).type_named(scope, spelled, hops + 1) for index, scope, spelled in ways}
        found -= {NONE, MANY}
        if len(found) > 1:
            found = {each for each in found if all(each in self.ancestry(other) for other in found)}
        return found.pop() if len(found) == 1 else NONE

    def ancestry(self, kind: int) -> set[int]:
        """A type and all that it inherits from, as far as that is known."""
        found, open_ends = {kind}, [kind]
        while open_ends:
            beyond = set(self.bases(open_ends.pop())) - found
            found |= beyond
            open_ends += beyond
        return found

    def returned(self, function: int, spelled: str, hops: int = 0) -> int:
        """The node of the type that a function is told to return, or NONE."""
        names = self.names
        index = names.file_of(function)
        found = self.view(index).type_named(function - names.first[index], spelled, hops)
        return found if 0 <= found < names.symbols and names.kind[found] in TYPES else NONE

    def real(self, node: int) -> int:
        """What a definition announces, where that is known; else the node itself."""
        names = self.names
        if node >= names.symbols or not names.flags[node] & DECLARED:
            return node
        name, index = names.name[node], names.file_of(node)
        owner = names.owner.get(node) or (names.name[names.parent[node]] if names.parent[node] >= 0 else "")
        found = (
            self.belonging(index, owner, name)
            if owner
            else max(names.only(table.get(name)) for table in names.family[index].plain)
        )
        return found if found >= 0 else node

    # -- modules -----------------------------------------------------------------------------------

    def lend(self, module: Module, name: str, hops: int) -> Meaning:
        """What a module has under a name: its own, what it imports, or a module below it; None: nothing."""
        if not module:
            return None
        key = (module, name)
        if key in self._lent:
            return self._lent[key]
        self._lent[key] = None
        found = self._lent[key] = self._lend_anew(module, name, hops)
        return found

    def _lend_anew(self, module: Module, name: str, hops: int) -> Meaning:
        names = self.names
        for index in module:
            if (found := names.top[index].get(name, NONE)) != NONE:
                return self.opened(index, found)
        if hops >= MAX_HOPS:
            return None
        if name == "default" and (spoken := self.lent_by_default(module[0], hops)) is not None:
            return spoken
        for index in module:
            view = self.view(index)
            bound = view.imports.named.get(name)
            if bound is not None:
                return view.imports.meaning(bound, hops + 1)
            for star in view.imports.stars:
                lent = self.lend(view.imports.find(star), name, hops + 1)
                if lent is not None:
                    return lent
        return names.family[module[0]].modules.below(module[0], name) or None

    def opened(self, index: int, node: int) -> Meaning:
        """A definition at the top of a file; where that announces a module in a file of its own, this module."""
        names = self.names
        if names.kind[node] != "module" or names.members.get(node):
            return node
        return names.family[index].modules.below(index, names.name[node]) or node

    def spokesman(self, module: Module, name: str, hops: int = 0) -> int:
        """What is meant by a module that is used under a name of the importer's own: what it lends by default,
        else what is called so, or what it exports alone."""
        for index in module:
            lent = self.lent_by_default(index, hops)
            if lent is not None:
                return lent
            top = self.names.top[index]
            if name in top:
                return top[name]
            exported = [node for node in top.values() if self.names.flags[node] & EXPORTED]
            if len(exported) == 1:
                return exported[0]
        return NONE

    def lent_by_default(self, index: int, hops: int) -> int | None:
        """What a file lends to those who name nothing of it, its own or of another file; None where it does not say."""
        names = self.names
        found = next((node for node in names.top[index].values() if node >= 0 and names.flags[node] & DEFAULT), None)
        if found is not None or hops >= MAX_HOPS:
            return found
        bound = self.view(index).imports.named.get("default")
        meaning = self.view(index).imports.meaning(bound, hops + 1) if bound is not None else None
        return meaning if isinstance(meaning, int) and meaning >= 0 else None

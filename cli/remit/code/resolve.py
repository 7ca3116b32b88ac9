"""What a mention means: resolved by scope, file, import and name, in that order.

Where nothing says for sure what is meant there is no answer, so that whatever is counted is a lower bound. By name
alone a mention is resolved only where one definition of the family has the name, it could be meant there, and the
language brings nothing of that name along.
"""

from __future__ import annotations

import re
from typing import Literal

from remit.code.facts import EXPORTED, HOLDERS, SYMBOL_KINDS, Import
from remit.code.names import MANY, NONE, TYPES, Names, owner_name

Module = tuple[int, ...]
"""Indices of the files of a module; none: a module that is not in the tree."""

Meaning = int | Module | None
"""A node (or NONE, MANY), a module, or an object of which nothing is known."""

Depends = Literal["type", "scope", "name", "file"]

MAX_HOPS = 6
"""From module to module, and from type to base type."""

MAX_PARTS = 6

_WORD = re.compile(r"[\w$@]+[?!]?")
_MADE = re.compile(r"(?:new\s+)?([\w$.:]+)\s*\(.*\)$", re.DOTALL)
_HEAD = re.compile(r"(?:new\s+)?([\w$]+)")
_LITERAL = re.compile(r"[rbfuRBFU]{0,2}[\"'`0-9\[{]")
_DOTS = re.compile(r"\?\.|!\.|->|::|\.|\\|/")
_ARGUMENTS = re.compile(r"[<\[].*$", re.DOTALL)
_COMPOUND = re.compile(r"[^\W_]_+[^\W_]|[a-z0-9][A-Z]")
"""A name of more than one word."""

_VERSION = re.compile(r"v\d+")
_EMPTY: dict[str, int] = {}


class Resolver:
    """What types and modules of one tree hold; what was found is kept."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._views: dict[int, View] = {}
        self._bases: dict[int, tuple[int, ...]] = {}
        self._tables: dict[tuple[int, ...], dict[str, int]] = {}
        self._lent: dict[tuple[Module, str], Meaning] = {}

    def view(self, index: int) -> View:
        found = self._views.get(index)
        if found is None:
            found = self._views[index] = View(self, index)
        return found

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
        place = self.names.folder(index) if family.habits.unit == "folder" else ""
        return family.owned.get((place, owner_name(owner)), _EMPTY) if family.owned else _EMPTY

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
        if hops < MAX_HOPS:
            for base in self.bases(kind):
                found = self.attribute(base, name, hops + 1)
                if found != NONE:
                    return found
        return NONE

    def told(self, told: tuple[int, int, str] | None) -> int:
        """The node of a type that is told in a file and scope; None: in two ways."""
        if told is None:
            return NONE
        index, scope, spelled = told
        return self.view(index).type_named(scope, spelled)

    def real(self, node: int) -> int:
        """What is announced by a definition, where that is known; else the node itself."""
        names = self.names
        name, index = names.name[node], names.file_of(node)
        owner = names.owner.get(node) or (names.name[names.parent[node]] if names.parent[node] >= 0 else "")
        found = (
            self.belonging(index, owner, name)
            if owner
            else max(table.get(name, NONE) for table in names.family[index].plain)
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
                return found
        if hops >= MAX_HOPS:
            return None
        for index in module:
            view = self.view(index)
            bound = view.named.get(name)
            if bound is not None:
                return view.imported(bound, hops + 1)
            for star in view.stars:
                lent = self.lend(view.find(star), name, hops + 1)
                if lent is not None:
                    return lent
        return names.family[module[0]].modules.below(module[0], name) or None

    def spokesman(self, module: Module, name: str) -> int:
        """What is meant by a module that is used under a name of the importer's own: what it exports alone."""
        for index in module:
            top = self.names.top[index]
            if name in top:
                return top[name]
            exported = [node for node in top.values() if self.names.flags[node] & EXPORTED]
            if len(exported) == 1:
                return exported[0]
        return NONE


class View:
    """One file as the mentions in it see the tree.

    named: what its imports are called in it. stars: modules that lend it all their names. close: qualifiers that
    mean something else in each type.
    """

    def __init__(self, resolver: Resolver, index: int) -> None:
        names = resolver.names
        self.index = index
        self.family = names.family[index]
        self.habits = self.family.habits
        self.close = self.habits.selfs | self.habits.supers
        self.named: dict[str, Import] = {}
        self.stars: list[str] = []
        self._resolver = resolver
        self._names = names
        self._first = names.first[index]
        self._top = names.top[index]
        self._inner = names.inner[index]
        self._tests = names.tree.files[index].tests
        self._typed_names = names.typed_names[index]
        self._related: set[int] | None = None
        self._bare_members = self.habits.bare_members
        self._outer: dict[str, Meaning] = {}
        self._depending: dict[str, Depends] = {}
        self._subjects: dict[tuple[str, int], Meaning] = {}
        self._around: dict[int, int] = {-1: NONE}
        self._bind(names.imports[index])

    def target(self, scope: int, name: str, qualifier: str) -> int:
        """The node that is meant within definition `scope` (-1: the file), else NONE or MANY."""
        if qualifier:
            return self._qualified(scope, name, qualifier)
        meaning = self._bare(scope, name)
        if isinstance(meaning, tuple):
            return self._resolver.spokesman(meaning, name)
        return NONE if meaning is None else meaning

    def depends(self, qualifier: str) -> Depends:
        """`_depends`, kept."""
        found = self._depending.get(qualifier)
        if found is None:
            found = self._depending[qualifier] = self._depends(qualifier)
        return found

    def _depends(self, qualifier: str) -> Depends:
        """What the meaning of a name behind this qualifier depends on beside the words: the type around, the scope,
        the scope where the name is one that only some scopes know, or nothing but the file."""
        if qualifier in self.close:
            return "type"
        if self._bare_members:
            return "scope"
        if not qualifier:
            return "name"
        head = _HEAD.match(qualifier)
        if head is None:
            return "file"
        if head[1] in self.close:
            return "type"
        return "scope" if head[1] in self._inner or head[1] in self._typed_names else "file"

    def around(self, scope: int) -> int:
        """The node of the type around a scope, or NONE."""
        found = self._around.get(scope)
        if found is None:
            node = self._first + scope
            if self._names.kind[node] in HOLDERS:
                found = node
            elif node in self._names.owner:
                meaning = self._outside(self._names.owner[node])
                found = meaning if isinstance(meaning, int) else NONE
            else:
                found = self.around(self._above(scope))
            self._around[scope] = found
        return found

    def type_named(self, scope: int, spelled: str) -> int:
        """The node of a type by its name in a scope, or NONE."""
        if not spelled.isidentifier():
            spelled = _ARGUMENTS.sub("", spelled.lstrip("*&?[] ")).rstrip("?*& ")
        meaning = self._named_subject(scope, spelled)
        return meaning if isinstance(meaning, int) else NONE

    def _above(self, scope: int) -> int:
        parent = self._names.parent[self._first + scope]
        return parent - self._first if parent >= 0 else NONE

    def _owner(self, scope: int) -> str:
        """The owner of the definition around a scope that has one, or ""."""
        while scope >= 0:
            owner = self._names.owner.get(self._first + scope)
            if owner is not None:
                return owner
            scope = self._above(scope)
        return ""

    # -- a bare name -------------------------------------------------------------------------------

    def _bare(self, scope: int, name: str) -> Meaning:
        if scope >= 0 and (self._bare_members or name in self._inner):
            found = self._in_scope(scope, name)
            if found != NONE:
                return found
        return self._outside(name)

    def _in_scope(self, scope: int, name: str) -> int:
        """Scope: the definitions around a mention, from the inside out."""
        names, bare = self._names, self._bare_members
        innermost = True
        while scope >= 0:
            node = self._first + scope
            kind = names.kind[node]
            if kind in SYMBOL_KINDS:
                holder = kind in HOLDERS
                found = NONE
                if not holder or bare or innermost:
                    found = names.members.get(node, _EMPTY).get(name, NONE)
                if found == NONE and bare and (holder or node in names.owner):
                    found = self._of_own(scope, name, base=False)
                if found != NONE:
                    return found
                innermost = False
            scope = self._above(scope)
        return NONE

    def _outside(self, name: str) -> Meaning:
        """File, import and name."""
        found: Meaning = self._top.get(name)
        if found is not None:
            return found
        if name in self._outer:
            return self._outer[name]
        self._outer[name] = NONE
        found = self._outer[name] = self._foreign(name)
        return found

    def _foreign(self, name: str) -> Meaning:
        bound = self.named.get(name)
        if bound is not None:
            return self.imported(bound, 0)
        for star in self.stars:
            lent = self._resolver.lend(self.find(star), name, 1)
            if lent is not None:
                return lent
        return self._shared(name)

    def _shared(self, name: str) -> int:
        """What files of a family see of one another without an import."""
        unit = self.habits.unit
        if unit == "tree":
            return self._alone(self.family.plain, name)
        if unit == "file":
            return NONE
        names = self._names
        tops = (names.top[other] for other in self.family.neighbours(names.folder(self.index), names))
        found = {top[name] for top in tops if name in top}
        return NONE if not found else found.pop() if len(found) == 1 else MANY

    def _alone(self, tables: tuple[dict[str, int], dict[str, int]], name: str) -> int:
        """Name alone: code outside of tests means nothing that is defined in them."""
        found = tables[0].get(name, NONE)
        if not self._tests:
            return found
        among = tables[1].get(name, NONE)
        return found if among == NONE else among if found == NONE else MANY

    # -- a name behind a qualifier -----------------------------------------------------------------

    def _qualified(self, scope: int, name: str, qualifier: str) -> int:
        habits = self.habits
        if qualifier in habits.selfs:
            return self._of_own(scope, name, base=False)
        if qualifier in habits.supers:
            return self._of_own(scope, name, base=True)
        return self.behind(self.subject(scope, qualifier), name)

    def behind(self, subject: Meaning, name: str) -> int:
        """The node of a name behind what its qualifier means."""
        if subject is None:
            return self._by_name(name)
        if isinstance(subject, tuple):
            lent = self._resolver.lend(subject, name, 0)
            return lent if isinstance(lent, int) else NONE
        return self._resolver.member(subject, name) if subject >= 0 else NONE

    def _by_name(self, name: str) -> int:
        """A member of an object of which nothing is known. Names of one word are given to many things: those count only
        where the file has to do with what they belong to."""
        found = self._alone(self.family.methods, name)
        if found < 0:
            return found
        if name in self.habits.common:
            return MANY
        return found if _COMPOUND.search(name) or self._knows(self._names.file_of(found)) else MANY

    def _knows(self, index: int) -> bool:
        """Whether a file is this one, or one that its imports name."""
        if self._related is None:
            related = {self.index}
            for each in self.named.values():
                meaning = self.imported(each, 0)
                if isinstance(meaning, tuple):
                    related.update(meaning)
                elif meaning is not None and meaning >= 0:
                    related.add(self._names.file_of(meaning))
            for star in self.stars:
                related.update(self.find(star))
            self._related = related
        return index in self._related

    def _of_own(self, scope: int, name: str, *, base: bool) -> int:
        """What the type around has under a name, or what its bases have."""
        resolver = self._resolver
        kind = self.around(scope)
        if kind < 0:
            owner = self._owner(scope)
            return resolver.belonging(self.index, owner, name) if owner else NONE
        if base:
            inherited = (resolver.member(each, name) for each in resolver.bases(kind))
            return next((found for found in inherited if found != NONE), NONE)
        return resolver.member(kind, name)

    def subject(self, scope: int, qualifier: str) -> Meaning:
        """What a qualifier means: a type or a module; None: an object of which nothing is known, NONE: something else
        that is known."""
        depends = self.depends(qualifier)
        key = qualifier, -1 if depends == "file" else self.around(scope) if depends == "type" else scope
        subject = self._subjects.get(key, MANY)
        if subject == MANY:
            subject = self._subjects[key] = self._subject(scope, qualifier)
        return subject

    def _subject(self, scope: int, qualifier: str) -> Meaning:
        if qualifier in self._typed_names or self._bare_members:
            told = self._told(scope, qualifier)
            if told >= 0:
                return told
        return self._named_subject(scope, qualifier)

    def _told(self, scope: int, name: str) -> int:
        """The type of a variable or parameter, NONE where it is not told."""
        typed, resolver = self._names.typed, self._resolver
        while scope >= 0:
            node = self._first + scope
            if (node, name) in typed:
                return resolver.told(typed[node, name])
            if self._bare_members and self._names.kind[node] in HOLDERS:
                found = resolver.attribute(node, name)
                if found != NONE:
                    return found
            scope = self._above(scope)
        file = -self.index - 2
        return resolver.told(typed[file, name]) if (file, name) in typed else NONE

    def _named_subject(self, scope: int, qualifier: str) -> Meaning:
        if not qualifier.isidentifier():
            return self._composed(scope, qualifier)
        meaning = self._bare(scope, qualifier)
        if meaning == NONE:
            return (self.find(qualifier) or None) if qualifier in self.habits.roots else None
        return self._as_subject(meaning)

    def _as_subject(self, meaning: Meaning) -> Meaning:
        """Of variables and functions nothing is known."""
        if isinstance(meaning, int) and (meaning < 0 or self._names.kind[meaning] not in TYPES):
            return None
        return meaning

    def _composed(self, scope: int, qualifier: str) -> Meaning:
        if _LITERAL.match(qualifier):
            return NONE
        made = _MADE.match(qualifier)
        if made:
            meaning = self._named_subject(scope, made[1])
            return meaning if isinstance(meaning, int) else None
        parts = [part for part in _DOTS.split(qualifier) if part]
        if not parts or len(parts) > MAX_PARTS or not all(map(_WORD.fullmatch, parts)):
            return None
        if parts[0] in self.habits.selfs:
            kind = self.around(scope)
            found = self._resolver.attribute(kind, parts[1]) if len(parts) == 2 and kind >= 0 else NONE
            return found if found >= 0 else None
        subject, rest = self._head(scope, qualifier, parts)
        for part in rest:
            if isinstance(subject, tuple):
                subject = self._resolver.lend(subject, part, 0)
                if subject is None:
                    return ()
                subject = self._as_subject(subject)
            elif subject is not None and subject >= 0:
                subject = self._as_subject(self._resolver.member(subject, part))
            else:
                return None
        return subject

    def _head(self, scope: int, qualifier: str, parts: list[str]) -> tuple[Meaning, list[str]]:
        """What the beginning of a qualifier means, and the parts behind it."""
        for end in range(len(parts), 1, -1):
            bound = self.named.get(".".join(parts[:end]))
            if bound is not None:
                return self.imported(bound, 0), parts[end:]
        meaning = self._bare(scope, parts[0])
        if meaning == NONE and ("::" in qualifier or parts[0] in self.habits.roots):
            return self.find("::".join(parts)) or self._last_part("::".join(parts), 0) or None, []
        return self._as_subject(meaning), parts[1:]

    # -- imports -----------------------------------------------------------------------------------

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
            elif self.habits.separators == ".":
                named.setdefault(each.module, each)
                head = each.module.partition(".")[0]
                if head:
                    named.setdefault(head, Import(head, each.line))
            else:
                if self.habits.lends:
                    self.stars.append(each.module)
                parts = [part for part in _DOTS.split(each.module) if part and not _VERSION.fullmatch(part)]
                if parts:
                    named.setdefault(parts[-1], each)

    def find(self, spelled: str) -> Module:
        return self.family.modules.find(spelled, self._names.paths[self.index])

    def imported(self, bound: Import, hops: int) -> Meaning:
        """What one import means; what is not in the tree is ()."""
        resolver = self._resolver
        module = self.find(bound.module)
        if not bound.name:
            return module or self._last_part(bound.module, hops)
        if bound.name == "default" and module:
            return resolver.spokesman(module, bound.alias)
        found = resolver.lend(module, bound.name, hops + 1) if module else None
        if found is None:
            joint = "" if bound.module.endswith(".") else self._joint()
            found = self.find(f"{bound.module}{joint}{bound.name}") or None
        if found is None and not module:
            # Perhaps a member of a type that is named like a module.
            holder = self._last_part(bound.module, hops)
            return resolver.member(holder, bound.name) if isinstance(holder, int) and holder >= 0 else ()
        return () if found is None else found

    def _joint(self) -> str:
        separators = self.habits.separators
        return "::" if separators == ":" else separators[0]

    def _last_part(self, spelled: str, hops: int) -> Meaning:
        """What a module's name means whose last part names something in it."""
        pieces = re.split(r"(::|[.\\/])", spelled)
        if hops >= MAX_HOPS or len(pieces) < 3 or not pieces[-1]:
            return ()
        module = self.find("".join(pieces[:-2]))
        found = self._resolver.lend(module, pieces[-1], hops + 1)
        if found is not None:
            return found
        shared = self._shared(pieces[-1])
        return shared if shared >= 0 else ()

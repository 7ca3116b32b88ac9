"""One file as the mentions in it see the tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from remit.code.bindings import Imports
from remit.code.facts import HOLDERS, SYMBOL_KINDS
from remit.code.names import MANY, MAX_HOPS, NONE, TYPES, Meaning

if TYPE_CHECKING:
    from remit.code.resolve import Resolver

Depends = Literal["type", "scope", "name", "file"]

MAX_PARTS = 6
"""Of a qualifier."""

_WORD = re.compile(r"[\w$@]+[?!]?")
_MADE = re.compile(r"(?:new\s+)?([\w$.:]+)\s*\(.*\)$", re.DOTALL)
_HEAD = re.compile(r"(?:new\s+)?([\w$]+)")
_LITERAL = re.compile(r"[rbfuRBFU]{0,2}[\"'`0-9\[{]")
_DOTS = re.compile(r"\?\.|!\.|->|::|\.|\\|/")
_ARGUMENTS = re.compile(r"[<\[].*$", re.DOTALL)
_OPTIONAL = re.compile(r"(?:[\w.]+\.)?Optional\[(.*)\]", re.DOTALL)
_NOTHING = frozenset(["None", "null", "undefined", ""])
_MARKS = re.compile(r"^(&?'\w+|&|\*|mut\b|const\b|dyn\b|impl\b|\s)+")
_LAST_JOINT = re.compile(r"(?:\.|::|->)(?=[^.:>]*$)")
_COMPOUND = re.compile(r"[^\W_]_+[^\W_]|[a-z0-9][A-Z]")
"""A name of more than one word."""

_EMPTY: dict[str, int] = {}


def _without_nothing(spelled: str) -> str:
    """A type that may also be nothing, without that."""
    bare = spelled.strip("\"' ")
    if match := _OPTIONAL.fullmatch(bare):
        return match[1]
    some = [part for each in bare.split("|") if (part := each.strip()) not in _NOTHING]
    return some[0] if len(some) == 1 else bare


class View:
    """close: qualifiers that mean something else in each type."""

    def __init__(self, resolver: Resolver, index: int) -> None:
        names = resolver.names
        self.index = index
        self.family = names.family[index]
        self.habits = self.family.habits
        self.close = self.habits.selfs | self.habits.supers
        self.imports = Imports(resolver, index)
        self._resolver = resolver
        self._names = names
        self._first = names.first[index]
        self._top = names.top[index]
        self._inner = names.inner[index]
        self._typed_names = names.typed_names[index]
        self._related: set[int] | None = None
        self._bare_members = self.habits.bare_members
        self._outer: dict[str, Meaning] = {}
        self._depending: dict[str, Depends] = {}
        self._subjects: dict[tuple[str, int], Meaning] = {}
        self._around: dict[int, int] = {-1: NONE}

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

    def type_named(self, scope: int, spelled: str, hops: int = 0) -> int:
        """The node of a type by its name in a scope, or by that of something whose type is told; or NONE."""
        qualifier, name = "", spelled
        if not spelled.isidentifier():
            bare = _MARKS.sub("", _ARGUMENTS.sub("", _without_nothing(spelled))).strip("*&?[] ")
            joint = _LAST_JOINT.search(bare)
            qualifier, name = (bare[: joint.start()], bare[joint.end() :]) if joint else ("", bare)
        if not qualifier and name in self.habits.selfs:
            return self.around(scope)
        if not qualifier and name in self._typed_names:
            told = self._told(scope, name, hops)
            if told >= 0:
                return told
        found = self.target(scope, name, qualifier)
        if found < 0 or found >= self._names.symbols or self._names.kind[found] in TYPES:
            return found
        returns = self._names.returns.get(found)
        if returns is None or hops > MAX_HOPS:
            return NONE  # What is told of functions may go round in a circle.
        return self._resolver.returned(found, returns, hops + 1)

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
        own = self._top.get(name)
        if own is not None:
            return own if self._names.kind[own] != "module" else self._resolver.opened(self.index, own)
        if name in self._outer:
            return self._outer[name]
        self._outer[name] = NONE
        found = self._outer[name] = self.imports.foreign(name)
        return found

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
        found = self.imports.alone(self.family.methods, name)
        if found < 0:
            return found
        if name in self.habits.common:
            return MANY
        return found if _COMPOUND.search(name) or self._knows(self._names.file_of(found)) else MANY

    def _knows(self, index: int) -> bool:
        """Whether a file is this one, or one that its imports name."""
        if self._related is None:
            related = {self.index}
            for each in self.imports.named.values():
                meaning = self.imports.meaning(each, 0)
                if isinstance(meaning, tuple):
                    related.update(meaning)
                elif meaning is not None and meaning >= 0:
                    related.add(self._names.file_of(meaning))
            for star in self.imports.stars:
                related.update(self.imports.find(star))
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
            # What is told of a name may lead back to the name.
            self._subjects[key] = None
            subject = self._subjects[key] = self._subject(scope, qualifier)
        return subject

    def _subject(self, scope: int, qualifier: str) -> Meaning:
        if qualifier in self._typed_names or self._bare_members:
            told = self._told(scope, qualifier)
            if told >= 0:
                return told
        return self._named_subject(scope, qualifier)

    def _told(self, scope: int, name: str, hops: int = 0) -> int:
        """The type of a variable or parameter, NONE where it is not told."""
        typed, resolver = self._names.typed, self._resolver
        while scope >= 0:
            node = self._first + scope
            if (node, name) in typed:
                return resolver.told(typed[node, name], hops)
            if self._bare_members and self._names.kind[node] in HOLDERS:
                found = resolver.attribute(node, name)
                if found != NONE:
                    return found
            scope = self._above(scope)
        file = -self.index - 2
        return resolver.told(typed[file, name], hops) if (file, name) in typed else NONE

    def _named_subject(self, scope: int, qualifier: str) -> Meaning:
        if not qualifier.isidentifier():
            return self._composed(scope, qualifier)
        meaning = self._bare(scope, qualifier)
        if meaning == NONE:
            return (self.imports.find(qualifier) or None) if qualifier in self.habits.roots else None
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
            bound = self.imports.named.get(".".join(parts[:end]))
            if bound is not None:
                return self.imports.meaning(bound, 0), parts[end:]
        whole = self.imports.dotted(qualifier)
        if whole is not None:
            return self._as_subject(whole), []
        meaning = self._bare(scope, parts[0])
        if meaning == NONE and ("::" in qualifier or parts[0] in self.habits.roots):
            return self.imports.find("::".join(parts)) or self.imports.last_part("::".join(parts), 0) or None, []
        return self._as_subject(meaning), parts[1:]

"""Which files have to be linked anew after some have changed, and which definitions are the same as before.

What a mention means is found by looking up names: those that stand in its file, and those that lead on from there,
as an import leads from its name to what it imports, or a variable to its type. A change of a file changes what is
found under some names alone. From these on all names are followed that lead to one of them; a file in which none of
these stands means what it meant before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain

import msgspec

from remit.code.facts import DEFAULT, EXPORTED, Facts
from remit.code.families import Habits
from remit.code.roots import told_by

_TOKEN = re.compile(r"\w+")

MAX_FOLLOWED = 300
"""Names. Where more are to be followed, nearly all files are affected: telling which takes longer than it spares."""

Key = tuple[object, ...]
"""A definition by what it lies in, its name, which of that name it is, and what it is."""


class Change(msgspec.Struct, frozen=True):
    """A file before and after."""

    before: Facts
    after: Facts
    habits: Habits


class Surface(msgspec.Struct):
    """What others can see of a file. keys: of its definitions. by_name: what is told of each name, in order. stars:
    modules that lend it all their names. exported: names of its own that it lends."""

    keys: list[Key]
    by_name: dict[str, list[object]]
    stars: list[str]
    exported: set[str]


def changed_names(change: Change) -> set[str] | None:
    """The names under which others may find something else than before; None: there is no telling."""
    before, after = surface(change.before, change.habits), surface(change.after, change.habits)
    if change.before.language != change.after.language or before.stars != after.stars:
        return None
    if told_by(change.before) != told_by(change.after):
        return None
    if change.habits.packages and _packages(change.before) != _packages(change.after):
        return None
    # A module whose name is used as that of a thing stands for what it exports alone.
    several = min(len(before.exported), len(after.exported)) > 1 and not change.habits.loose_owners
    if before.exported != after.exported and not several:
        return None
    names = before.by_name.keys() | after.by_name.keys()
    return {token for name in names if before.by_name.get(name) != after.by_name.get(name) for token in tokens(name)}


def _packages(facts: Facts) -> list[str]:
    return [each.name for each in facts.definitions if each.kind == "module" and each.parent < 0]


def surface(facts: Facts, habits: Habits) -> Surface:
    keys: list[Key] = []
    number: dict[str, int] = {}
    by_name: dict[str, list[object]] = {}
    exported = set()
    holding = {each.parent for each in facts.definitions}
    for index, each in enumerate(facts.definitions):
        above = keys[each.parent] if each.parent >= 0 else ()
        which = number[each.name] = number.get(each.name, 0) + 1
        key = (above, each.name, which, each.kind, each.flags)
        keys.append(key)
        by_name.setdefault(each.name, []).append((key, each.owner, each.returns, index in holding))
        if each.flags & EXPORTED and each.parent < 0:
            exported.add(each.name)
        if each.flags & DEFAULT:
            by_name.setdefault("default", []).append(key)
    for typed in facts.typed:
        by_name.setdefault(_kept_as(typed.name, habits), []).append((_of(keys, typed.scope), typed.type))
    for one in facts.imports:
        told = (one.module, one.name, one.alias)
        for token in {*tokens(one.alias), *tokens(one.name), *tokens(one.module)}:
            by_name.setdefault(token, []).append(told)
    for mention in facts.references:
        if mention.kind == "inherit" and mention.scope >= 0:
            name = facts.definitions[mention.scope].name
            by_name.setdefault(name, []).append((_of(keys, mention.scope), mention.name, mention.qualifier))
    stars = [one.module for one in facts.imports if one.name == "*" or (habits.lends and not one.name)]
    return Surface(keys, by_name, stars, exported)


def _of(keys: Sequence[Key], scope: int) -> Key:
    return keys[scope] if scope >= 0 else ()


def _kept_as(name: str, habits: Habits) -> str:
    """What an object keeps has its name without that of the object."""
    head, _, rest = name.partition(".")
    return rest if rest and head in habits.selfs else name


def tokens(spelled: str) -> Sequence[str]:
    """The words of a name, or of what is spelled with names."""
    if not spelled or spelled.isidentifier():
        return (spelled,) if spelled else ()
    return _TOKEN.findall(spelled) or (spelled,)


def _whole_and_parts(names: Iterable[str]) -> set[str]:
    """Names, and the words of longer ones."""
    whole = set(names)
    return whole.union(*map(tokens, whole))


class _Followed:
    """Names as they are followed, whole ones and words of longer ones alike."""

    def __init__(self, names: Iterable[str]) -> None:
        self.words = set(names)
        self._known: dict[str, bool] = {}

    def touch(self, spelled: str) -> bool:
        """Whether one of the names stands in it."""
        found = self._known.get(spelled)
        if found is None:
            found = self._known[spelled] = not self.words.isdisjoint(tokens(spelled))
        return found

    def add(self, names: Iterable[str]) -> None:
        self.words.update(names)
        self._known.clear()


class Sources(msgspec.Struct, frozen=True):
    """Facts of a tree as they are asked for. holding: the indices of files in which words stand, and perhaps of others.
    facts: of a file. habits: of each file."""

    holding: Callable[[Collection[str]], Iterable[int]]
    facts: Callable[[int], Facts]
    habits: Sequence[Habits]


def affected(names: set[str], sources: Sources, changes: Iterable[Change]) -> set[int] | None:
    """The indices of files in which something may mean something else than before; None where that is likely of
    most."""
    followed = _Followed(names)
    before = [(change.before, change.habits) for change in changes]
    found: dict[int, tuple[Facts, Habits]] = {}
    more = names
    while more:
        for index in sources.holding(more):
            if index not in found:
                found[index] = (sources.facts(index), sources.habits[index])
        leading = chain.from_iterable(_leading(*each, followed) for each in [*found.values(), *before])
        more = _whole_and_parts(leading) - followed.words
        followed.add(more)
        if len(followed.words) > MAX_FOLLOWED:
            return None
    return {index for index, (facts, _) in found.items() if _mentions(facts, followed)}


def words_in(facts: Facts) -> set[str]:
    """Every name by which `affected` could find something in a file, and the words of longer ones."""
    spelled = {each.name for each in facts.references}
    spelled.update([each.qualifier for each in facts.references])
    for one in facts.imports:
        spelled.update((one.name, one.alias, one.module))
    for typed in facts.typed:
        spelled.update((typed.name, typed.type))
    for each in facts.definitions:
        spelled.update((each.owner, each.returns))
    return _whole_and_parts(spelled)


def _leading(facts: Facts, habits: Habits, followed: _Followed) -> list[str]:
    """Names that lead to one of those that are followed."""
    words, touch, definitions = followed.words, followed.touch, facts.definitions
    found = [
        one.alias or one.name or one.module
        for one in facts.imports
        if one.name in words or one.module in words or (not one.module.isidentifier() and touch(one.module))
    ]
    found += [
        each.name
        for each in definitions
        if (each.returns and touch(each.returns)) or (each.owner and touch(each.owner))
    ]
    found += [
        _kept_as(typed.name, habits)
        for typed in facts.typed
        if typed.type in words or (not typed.type.isidentifier() and touch(typed.type))
    ]
    found += [
        definitions[each.scope].name
        for each in facts.references
        if each.kind == "inherit" and each.scope >= 0 and (touch(each.name) or touch(each.qualifier))
    ]
    return found


def _mentions(facts: Facts, followed: _Followed) -> bool:
    """Whether one of the names stands where it is looked up."""
    words, touch = followed.words, followed.touch
    if not words.isdisjoint([each.name for each in facts.references]):
        return True
    behind = {each.qualifier for each in facts.references}
    behind.update([one.name for one in facts.imports], [one.alias for one in facts.imports])
    behind.update([one.module for one in facts.imports], [typed.name for typed in facts.typed])
    behind.update([typed.type for typed in facts.typed], [each.owner for each in facts.definitions])
    return not words.isdisjoint(behind) or any(touch(each) for each in behind if not each.isidentifier())


def kept_places(change: Change) -> list[int]:
    """Of each definition before, its number now; -1 where it is no longer, or not the same."""
    old, new = surface(change.before, change.habits), surface(change.after, change.habits)
    places = {key: place for place, key in enumerate(new.keys)}
    same = {name for name in old.by_name if old.by_name[name] == new.by_name.get(name)}
    pairs = zip(old.keys, change.before.definitions, strict=True)
    return [places[key] if each.name in same else -1 for key, each in pairs]

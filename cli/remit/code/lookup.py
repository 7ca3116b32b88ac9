"""Symbols by the names that people and models give them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

from remit.code.facts import SYMBOL_KINDS
from remit.code.graph import Graph
from remit.code.names import NONE
from remit.code.words import parts_of

MAX_CLOSE = 5
_CLOSE_ENOUGH = 0.6
_CANDIDATES = 300
_JOINTS = re.compile(r"::|->|[.#\\]")


class Symbols:
    """The symbols of a graph by name."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        names = self._graph.names
        for node, (name, kind) in enumerate(zip(names.name, names.kind, strict=True)):
            if kind in SYMBOL_KINDS:
                found.setdefault(name, []).append(node)
        return found

    def find(self, spelled: str) -> list[int]:
        """All that the name may mean: `name`, `Type.name`, `path::name`; none where nothing is called so."""
        wanted = spelled.strip().removesuffix("()").strip()
        whole = self.by_name.get(wanted)
        if whole:
            return whole
        place, _, rest = wanted.partition("::")
        if rest and ("/" in place or "." in place):
            inside = [node for node in self._named(rest) if _is_path(self._graph.path(node), place)]
            if inside:
                return inside
        return self._named(wanted)

    def _named(self, wanted: str) -> list[int]:
        whole = self.by_name.get(wanted)
        if whole:
            return whole
        *around, name = [part for part in _JOINTS.split(wanted) if part] or [""]
        found = [(node, self._place(node)) for node in self.by_name.get(name, [])]
        exactly = [node for node, place in found if _ends_with(place, around)]
        # Packages lend on what lies deeper in them.
        return exactly or [node for node, place in found if _in_order(place, around)]

    def _place(self, node: int) -> list[str]:
        """As `_around`, with the names of its file and the directories above."""
        path = self._graph.path(node)
        folder, _, base = path.rpartition("/")
        return [*folder.split("/"), base.partition(".")[0], *self._around(node)]

    def _around(self, node: int) -> list[str]:
        """The names of what a symbol lies in, from the outside in."""
        names = self._graph.names
        above: list[str] = []
        while node != NONE:
            owner = names.owner.get(node)
            if owner is not None:
                above.insert(0, owner)
            node = names.holder(node)
            if node != NONE:
                above[:0] = _JOINTS.split(names.name[node])
        return above

    def title(self, node: int) -> str:
        """The name of a node with what it lies in."""
        if self._graph.is_file(node):
            return self._graph.path(node).rpartition("/")[2]
        return ".".join([*self._around(node), self._graph.names.name[node]])

    def groups(self, nodes: Sequence[int]) -> list[int]:
        """One node for each symbol: overloads, and the halves of one property, are one."""
        seen: dict[tuple[int, int, str], int] = {}
        for node in nodes:
            seen.setdefault(self._home(node), node)
        return list(seen.values())

    def group(self, node: int, nodes: Sequence[int]) -> list[int]:
        """Those of the nodes, all of one name, that are one symbol with this one; it comes first."""
        home = self._home(node)
        return [node, *(each for each in nodes if each != node and self._home(each) == home)]

    def _home(self, node: int) -> tuple[int, int, str]:
        """What tells a symbol from others of its name."""
        names = self._graph.names
        return names.file_of(node), names.holder(node), names.owner.get(node, "")

    def close(self, spelled: str) -> list[str]:
        """Up to five names that look like it, best first."""
        name = ([part for part in _JOINTS.split(spelled.strip().removesuffix("()")) if part] or [""])[-1]
        lower = name.lower()
        own = set(parts_of(name))
        pairs = set(pairwise(lower))
        rough: list[tuple[float, str]] = []
        for each in self.by_name:
            other = each.lower()
            if abs(len(other) - len(lower)) > max(len(lower), len(other)) // 2 and lower not in other:
                continue
            shared = len(pairs.intersection(pairwise(other)))
            if shared:
                rough.append((2 * shared / (len(pairs) + max(1, len(other) - 1)), each))
        if not rough:
            # Names of one or two characters share no pairs.
            rough = [(0.0, each) for each in self.by_name if each[:1].lower() == lower[:1]]
        rough.sort(key=lambda each: (-each[0], each[1]))
        scored = []
        for _, each in rough[:_CANDIDATES]:
            alike = SequenceMatcher(None, lower, each.lower()).ratio()
            if own & set(parts_of(each)):
                alike += 0.2 * len(own & set(parts_of(each))) / len(own | set(parts_of(each)))
            if lower in each.lower():
                alike += 0.1
            if alike >= _CLOSE_ENOUGH:
                scored.append((-alike, each))
        return [each for _, each in sorted(scored)[:MAX_CLOSE]]


def _is_path(path: str, spelled: str) -> bool:
    spelled = spelled.removeprefix("./")
    return path == spelled or path.endswith(f"/{spelled}")


def _in_order(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the wanted names are among these, in that order."""
    rest = iter(names)
    return all(each in rest for each in wanted)


def _ends_with(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the wanted names are among the last of what a symbol lies in, in that order."""
    return not wanted or list(names[-len(wanted) :]) == list(wanted)

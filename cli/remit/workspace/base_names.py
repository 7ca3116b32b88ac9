"""Many patterns of base names held against many names: most patterns are a name, a beginning or an ending."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import permutations
from typing import NamedTuple

MAX_TAILS = 16
"""Endings that names are counted by."""

_SPECIAL = frozenset("?[\\")


def is_simple(glob: str) -> bool:
    """Whether a glob without slashes is a literal name, or `*` stands once at one of its ends and nowhere else."""
    return not _SPECIAL & set(glob) and "*" not in glob[1:-1] and (len(glob) < 2 or glob[0] != "*" or glob[-1] != "*")


def _overlap(ends: Iterable[str]) -> bool:
    """Whether a name may have two of them."""
    return any(one.endswith(other) for one, other in permutations(ends, 2))


class NameSet(NamedTuple):
    """The names that fit one of some patterns. exact: literal ones; starts, ends: of `x*` and `*x`; rest: of all
    other patterns, matched whole. tails: the ends with a slash behind, where there is nothing else and a name has at
    most one of them."""

    exact: frozenset[str]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    rest: re.Pattern[str] | None
    tails: tuple[str, ...]

    @classmethod
    def of(cls, globs: Iterable[str], rest: re.Pattern[str] | None) -> NameSet:
        """globs: simple ones (see is_simple). rest: what the others come to."""
        simple = tuple(dict.fromkeys(globs))
        ends = tuple(glob[1:] for glob in simple if glob.startswith("*"))
        alone = rest is None and len(ends) == len(simple) <= MAX_TAILS
        return cls(
            frozenset(glob for glob in simple if "*" not in glob),
            tuple(glob[:-1] for glob in simple if glob.endswith("*") and glob != "*"),
            ends,
            rest,
            tuple(f"{end}/" for end in ends) if alone and not _overlap(ends) else (),
        )

    def holds(self, name: str) -> bool:
        return (
            name in self.exact
            or name.endswith(self.ends)
            or name.startswith(self.starts)
            or (self.rest is not None and self.rest.fullmatch(name) is not None)
        )

    def number(self, names: list[str]) -> int:
        """How many of the names in a directory fit."""
        if not self.tails:
            return len(self.among(names))
        joined = "/".join([*names, ""])
        return sum(map(joined.count, self.tails))

    def among(self, names: list[str]) -> list[str]:
        """Those that fit; the loop for many."""
        exact, starts, ends, rest, _ = self
        if rest is not None:
            fits = rest.fullmatch
            return [n for n in names if n.endswith(ends) or n in exact or n.startswith(starts) or fits(n)]
        if exact or starts:
            return [n for n in names if n.endswith(ends) or n in exact or n.startswith(starts)]
        return [n for n in names if n.endswith(ends)] if ends else []

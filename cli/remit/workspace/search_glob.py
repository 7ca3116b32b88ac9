"""Patterns of names: `*`, `**`, `?` and braces, compiled once and matched in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB
from remit.base.text import shorten
from remit.workspace.base_names import NameSet, is_simple

MAX_PATTERN_BYTES = 4 * KIB
MAX_DEPTH = 8
"""Braces within braces."""

MAX_ALTERNATIVES = 256
MAX_EXPANDED_BYTES = 64 * KIB

_RULE = "`*` and `?` stay within one part of a path, `**` spans parts, `{a,b}` is a choice, all else is itself"


class NamePattern(NamedTuple):
    """A pattern of file names. alternatives: without braces. names: those without a slash, held against the base
    name; paths: all others, held against the path from the searched directory. ends: one of which every path ends
    in that fits `paths`. heads: directories in one of which everything lies that fits; None: anywhere."""

    text: str
    alternatives: tuple[str, ...]
    names: NameSet
    paths: re.Pattern[str] | None
    ends: tuple[str, ...]
    heads: tuple[str, ...] | None

    def matches(self, path: str) -> bool:
        """path: from the searched directory, as the file system has it."""
        lead, slash, base = path.rpartition("/")
        return bool(self.among(lead + slash, [base]))

    def among(self, lead: str, bases: list[str]) -> list[str]:
        """Those that fit of the files of one directory; the loop for many. lead: what stands before their base
        names."""
        if "**" in self.alternatives:
            return bases
        named = self.names.among(bases)
        if self.paths is None:
            return named
        fits = self.paths.fullmatch
        found = [base for base in bases if base.endswith(self.ends) and fits(lead + base)]
        if not named or not found:
            return named or found
        either = {*named, *found}
        return [base for base in bases if base in either]

    def number(self, lead: str, bases: list[str]) -> int:
        """How many those are."""
        if self.paths is None:
            return self.names.number(bases)
        return len(self.among(lead, bases))

    def leads_to(self, folder: str) -> bool:
        """Whether anything below a directory may fit."""
        if self.heads is None:
            return True
        inside = f"{folder}/"
        return any(head.startswith(inside) or inside.startswith(head) for head in self.heads)

    @property
    def last_parts(self) -> tuple[str, ...] | None:
        """Patterns, with `*` alone, of which every base name that fits also fits one; None where that says
        nothing."""
        parts = {re.sub(r"[*?]+", "*", each.rpartition("/")[2]) for each in self.alternatives}
        return None if "*" in parts else tuple(sorted(parts))


def compile_glob(text: str) -> NamePattern:
    """Raises Failure(invalid_arguments)."""
    if len(text.encode("utf-8", "replace")) > MAX_PATTERN_BYTES:
        raise _refused(text, f"is longer than {MAX_PATTERN_BYTES} bytes")
    if not text.strip("/") or "\0" in text:
        raise _refused(text, "names nothing")
    _refuse_unpaired(text)
    alternatives = tuple(dict.fromkeys(_relative(text, each) for each in _expanded(text)))
    pathlike = [each for each in alternatives if "/" in each or each == "**"]
    names = [each for each in alternatives if "/" not in each and each != "**"]
    rest = _regex([each for each in names if not is_simple(each)])
    bases = NameSet.of(filter(is_simple, names), rest)
    # What a pattern ends in stands in the base name.
    ends = tuple({re.split(r"[*?/]", each)[-1] for each in pathlike})
    return NamePattern(text, alternatives, bases, _regex(pathlike), ends, _heads(alternatives))


_ANY = "`?` stands for any character"
_PAIRS = {"}": "{", "]": "["}


def _refuse_unpaired(text: str) -> None:
    """A bracket without its partner is a choice that was cut short: as a plain character it would be found in next to
    no name. Raises Failure(invalid_arguments)."""
    opened: dict[str, list[int]] = {"{": [], "[": []}
    for place, char in enumerate(text, 1):
        if char in opened:
            opened[char].append(place)
        elif char in _PAIRS and (not opened[_PAIRS[char]] or not opened[_PAIRS[char]].pop()):
            raise _refused(text, f"closes a `{char}` at character {place} that is not open; {_ANY}")
    for char, places in opened.items():
        if places:
            raise _refused(text, f"does not close the `{char}` at character {places[-1]}; {_ANY}")


def _heads(alternatives: Sequence[str]) -> tuple[str, ...] | None:
    """The directories before the first wildcard of each, with a slash behind; None where one has none."""
    fixed = {re.split(r"[*?]", each, maxsplit=1)[0] for each in alternatives}
    heads = {each[: each.rfind("/") + 1] for each in fixed}
    return None if "" in heads else tuple(sorted(heads))


def _relative(text: str, alternative: str) -> str:
    if alternative.startswith("/"):
        raise _refused(text, "is absolute; it is held against paths from the searched directory")
    parts = [part for part in alternative.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _refused(text, "contains '..'; give the directory as path")
    if not parts:
        raise _refused(text, "has a choice that names nothing")
    if alternative.endswith("/"):
        parts.append("**")
    return "/".join(parts)


def _regex(alternatives: Sequence[str]) -> re.Pattern[str] | None:
    if not alternatives:
        return None
    return re.compile("|".join(path_regex([_tokens(part) for part in each.split("/")]) for each in alternatives), re.S)


# -- braces ------------------------------------------------------------------------------------


def _expanded(text: str) -> list[str]:
    """Every choice of the braces made. Braces without a comma are themselves."""
    done: list[str] = []
    size = 0
    for each in _choices(text, 0, text):
        size += len(each.encode("utf-8", "replace"))
        if len(done) == MAX_ALTERNATIVES or size > MAX_EXPANDED_BYTES:
            raise _refused(
                text, f"stands for more than {MAX_ALTERNATIVES} patterns, or {MAX_EXPANDED_BYTES} bytes of them"
            )
        done.append(each)
    return done


def _choices(part: str, depth: int, text: str) -> Iterator[str]:
    found = _first_brace(part)
    if found is None:
        yield part
        return
    if depth == MAX_DEPTH:
        raise _refused(text, f"has braces more than {MAX_DEPTH} deep")
    before, inner, after = found
    for choice in inner:
        for middle in _choices(choice, depth + 1, text):
            for rest in _choices(after, depth, text):
                yield before + middle + rest


def _first_brace(text: str) -> tuple[str, list[str], str] | None:
    """What stands before the first choice, its parts, and what stands after it."""
    opened: list[int] = []
    commas: dict[int, list[int]] = {}
    pairs: list[tuple[int, int]] = []
    for at, char in enumerate(text):
        if char == "{":
            opened.append(at)
            commas[at] = []
        elif char == "," and opened:
            commas[opened[-1]].append(at)
        elif char == "}" and opened:
            pairs.append((opened.pop(), at))
    for start, end in sorted(pairs):
        if cuts := commas[start]:
            edges = [start, *cuts, end]
            inner = [text[left + 1 : right] for left, right in pairwise(edges)]
            return text[:start], inner, text[end + 1 :]
    return None


# -- regular expressions -----------------------------------------------------------------------

STAR = "*"
"""The token for any characters of one part; every other token is the expression of one character."""

ANY_CHAR = "[^/]"


def _tokens(part: str) -> list[str] | None:
    """The tokens of one part of a path; None: any number of parts."""
    if part == "**":
        return None
    return [STAR if char == "*" else ANY_CHAR if char == "?" else re.escape(char) for char in part]


def part_regex(tokens: Sequence[str]) -> str:
    """One part of a path as an expression that never takes a step back."""
    runs: list[list[str]] = [[]]
    for token in tokens:
        if token is STAR:
            runs.append([])
        else:
            runs[-1].append(token)
    first, *rest = ["".join(run) for run in runs]
    if not rest:
        return first
    # Each run at its first place is as good as any later one.
    middle = "".join(f"(?>{ANY_CHAR}*?{run})" for run in rest[:-1] if run)
    return f"{first}{middle}{ANY_CHAR}*{rest[-1]}"


def path_regex(parts: Sequence[Sequence[str] | None]) -> str:
    """A path of such parts. None is `**`: any number of parts, at the end at least one."""
    groups: list[list[str]] = [[]]
    for part in parts:
        if part is None:
            groups.append([])
        else:
            groups[-1].append(part_regex(part))
    first, *rest = ["/".join(group) for group in groups]
    if not rest:
        return first
    lead = f"{first}/" if first else ""
    middle = "".join(f"(?>(?:[^/]+/)*?{group}/)" for group in rest[:-1] if group)
    last = f"(?:[^/]+/)*{rest[-1]}" if rest[-1] else ".+"
    return f"{lead}{middle}{last}"


def _refused(text: str, why: str) -> Failure:
    return Failure(ErrorCode.INVALID_ARGUMENTS, f"pattern {shorten(text)} {why}; {_RULE}")

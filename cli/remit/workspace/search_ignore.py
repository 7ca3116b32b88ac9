"""The .gitignore files: where they are, and which names their patterns keep out of a search."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from typing import NamedTuple

from remit.base.limits import MIB
from remit.base.ports import Ground
from remit.workspace.base_names import NameSet, is_simple
from remit.workspace.beneath import fd_path
from remit.workspace.search_glob import ANY_CHAR, STAR, path_regex

MAX_FILE_BYTES = 1 * MIB
"""Of an ignore file that are read."""

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "xdigit": "0-9A-Fa-f",
}


class IgnoreRule(NamedTuple):
    """One line of an ignore file. keep: it takes back what lines before it ignored. directories: it speaks
    for directories only. by_name: it is held against the base name. simple: as base_names has simple ones, or ""."""

    regex: re.Pattern[str]
    keep: bool
    directories: bool
    by_name: bool
    simple: str


class IgnoreFile(NamedTuple):
    """The rules of one ignore file, first line first. bases, paths: what tells quickly that none speaks for a name:
    the patterns held against base names, and all others, held against paths from the file's directory."""

    rules: tuple[IgnoreRule, ...]
    bases: NameSet
    paths: re.Pattern[str] | None

    def touched(self, lead: str, bases: list[str]) -> list[str]:
        """Those of the names in one directory that a line may speak for. lead: what stands before them, seen from
        the file's directory."""
        if not self.rules:
            return []
        if not (lead.isascii() and "".join(bases).isascii()):
            return bases
        found = self.bases.among(bases)
        if self.paths is not None:
            fits = self.paths.fullmatch
            found += [base for base in bases if fits(lead + base)]
        return found

    def ignores(self, path: str, is_directory: bool) -> bool | None:
        """Whether a path from the file's directory is ignored; None where no line speaks for it."""
        if not path.isascii():
            path = _bytewise(os.fsencode(path))
        start = path.rfind("/") + 1
        for rule in reversed(self.rules):
            if rule.directories and not is_directory:
                continue
            if rule.regex.fullmatch(path, start if rule.by_name else 0):
                return not rule.keep
        return None


def read_ignore(data: bytes) -> IgnoreFile:
    """The rules of a .gitignore. A line that is no pattern ignores nothing."""
    lines = data[:MAX_FILE_BYTES].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rules = [_rule(_bytewise(line.removesuffix(b"\r"))) for line in lines]
    return _file(tuple(rule for rule in rules if rule is not None))


def _file(rules: tuple[IgnoreRule, ...]) -> IgnoreFile:
    simple = [rule.simple for rule in rules if rule.simple]
    bases = [rule.regex.pattern for rule in rules if rule.by_name and not rule.simple]
    paths = [rule.regex.pattern for rule in rules if not rule.by_name]
    return IgnoreFile(rules, NameSet.of(simple, _union(bases)), _union(paths))


def _union(regexes: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(regexes), re.S) if regexes else None


def _bytewise(text: bytes) -> str:
    """Bytes as characters, since `?` and `[...]` stand for one byte."""
    return text.decode("latin-1")


def _rule(line: str) -> IgnoreRule | None:
    if line.startswith("#"):
        return None
    line = _without_end_blanks(line)
    keep = line.startswith("!")
    pattern = line[1:] if keep else line
    directories = pattern.endswith("/") and not pattern.endswith("\\/")
    pattern = pattern.removesuffix("/") if directories else pattern
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        return None
    try:
        parts = [_tokens(part) for part in pattern.split("/")]
        regex = re.compile(path_regex(parts), re.S)
    except (ValueError, re.error):
        return None
    by_name = not anchored and pattern != "**"
    return IgnoreRule(regex, keep, directories, by_name, pattern if by_name and is_simple(pattern) else "")


def _without_end_blanks(line: str) -> str:
    bare = line.rstrip(" ")
    if len(bare) == len(line):
        return line
    # A blank behind an odd number of backslashes is meant.
    slashes = len(bare) - len(bare.rstrip("\\"))
    return f"{bare} " if slashes % 2 else bare


def _tokens(part: str) -> Sequence[str] | None:
    """The tokens of one part of a pattern; None for `**`. Raises ValueError for what is no pattern."""
    if part == "**":
        return None
    tokens: list[str] = []
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "*":
            tokens.append(STAR)
        elif char == "?":
            tokens.append(ANY_CHAR)
        elif char == "[":
            token, at = _char_class(part, at)
            tokens.append(token)
        elif char == "\\":
            if at == len(part):
                raise ValueError("a backslash escapes nothing")
            tokens.append(re.escape(part[at]))
            at += 1
        else:
            tokens.append(re.escape(char))
    return tokens


def _char_class(part: str, at: int) -> tuple[str, int]:
    """The expression of a `[...]` and where it ends. Raises ValueError where it does not."""
    negated = part[at : at + 1] in ("!", "^")
    at += negated
    pieces: list[str] = []
    first = True
    while at < len(part) and (first or part[at] != "]"):
        first = False
        if part.startswith("[:", at) and (end := part.find(":]", at)) > 0:
            pieces.append(_CLASSES.get(part[at + 2 : end], ""))
            at = end + 2
            continue
        low, at = _class_char(part, at)
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] not in ("", "]"):
            high, at = _class_char(part, at + 1)
            pieces.append(f"{_literal(low)}-{_literal(high)}" if low <= high else "")
        else:
            pieces.append(_literal(low))
    if at >= len(part):
        raise ValueError("a [ is not closed")
    content = "".join(pieces)
    if negated:
        return f"[^/{content}]", at + 1
    return (f"(?!/)[{content}]" if content else r"(?!)"), at + 1


def _class_char(part: str, at: int) -> tuple[str, int]:
    if part[at] == "\\" and at + 1 < len(part):
        return part[at + 1], at + 2
    return part[at], at + 1


def _literal(char: str) -> str:
    return f"\\{char}" if char in r"\]^[-&~|" else char


# -- where they are ----------------------------------------------------------------------------


def read_ignore_at(fd: int, name: str) -> IgnoreFile:
    """An ignore file of a directory; one that cannot be read, or is no plain file, ignores nothing."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return _file(())
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return _file(())
        return read_ignore(opened.read(MAX_FILE_BYTES))


def ignores_above(ground: Ground) -> tuple[tuple[tuple[str, IgnoreFile], ...], bool]:
    """The ignore files between the ground and the repository it lies in, nearest first, each with where names
    below the ground begin seen from there, and whether it lies in one. They rule what is shown and are
    themselves not shown, so they may stand above the workspace."""
    path = fd_path(ground.fd)
    if path is None or _exists(f"{path}/.git"):
        return (), path is not None
    found: list[tuple[str, IgnoreFile]] = []
    parts: list[str] = []
    while path != "/":
        path, _, part = path.rpartition("/")
        path = path or "/"
        parts.insert(0, part)
        found.append(("/" + "/".join(parts), _read_above(path)))
        if _exists(f"{path}/.git"):
            return tuple((place, rules) for place, rules in found if rules.rules), True
    return (), False


def file_above(ground: Ground, name: str, most: int) -> tuple[str, bytes] | None:
    """The beginning of the nearest plain file of that name above the ground, up to the repository it lies in, and the
    path from its directory to the ground. Like `ignores_above` for what rules and is not shown."""
    path = fd_path(ground.fd)
    below = ""
    while path and path != "/" and not _exists(f"{path}/.git"):
        path, _, part = path.rpartition("/")
        below = f"{part}/{below}" if below else part
        try:
            file = os.open(f"{path}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        with os.fdopen(file, "rb") as opened:
            if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return below, opened.read(most)
    return None


def _read_above(path: str) -> IgnoreFile:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return _file(())
    try:
        return read_ignore_at(fd, ".gitignore")
    finally:
        os.close(fd)


def _exists(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError:
        return False
    return True

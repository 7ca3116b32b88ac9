"""Where the modules of a package lie, by what its manifest says of it.

Names of modules are told apart from paths in files that are no source of the language: go.mod, package.json,
tsconfig.json, composer.json, Cargo.toml. A `Root` is what one of them comes to.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from remit.code.facts import Definition, Facts

_STRING = re.compile(r"[\"']((?:[^\"'\\]|\\.)*)[\"']")
_MODULE = re.compile(rb"^[ \t]*module[ \t]+(?:\"([^\"\n]+)\"|([^\s/\"][^\s\"]*))", re.MULTILINE)

MAX_GO_MOD_BYTES = 64 * 1024
MAX_ROOTS = 2000
"""Of one tree."""

Told = tuple[str, str, str]
"""What a manifest says: of what, under which key, and the first value."""


class Root(msgspec.Struct, frozen=True):
    """Modules of `family` whose names begin with `name` lie below `folders`, of which the first that has one counts.
    folders: from the workspace, without a slash at the end. whole: only the name itself, which is a file."""

    family: str
    name: str
    folders: tuple[str, ...]
    whole: bool = False


def go_module(text: bytes) -> str:
    """The path of the module that a go.mod is about, or ""."""
    found = _MODULE.search(text)
    return (found[1] or found[2]).decode("utf-8", "replace") if found else ""


def told_by(facts: Facts) -> list[Told]:
    """What may tell of roots in a file, if it is a manifest; the same of two files that tell the same."""
    if facts.language not in ("JSON", "TOML"):
        return []
    definitions = facts.definitions
    found = []
    for each in definitions:
        above = definitions[each.parent].name if each.parent >= 0 else ""
        if (each.name == "name" and above in ("", "package", "lib")) or each.name == "baseUrl":
            found.append((above, each.name, _value(each)))
        elif above in ("paths", "psr-4"):
            found.append((above, each.name.replace("\\\\", "\\"), _value(each)))
    return found


def roots_of(path: str, facts: Facts) -> Iterator[Root]:
    """What a file says of roots, by its name."""
    folder, _, base = path.rpartition("/")
    if base == "package.json":
        yield from _of_package(folder, told_by(facts))
    elif base == "composer.json":
        yield from _of_composer(folder, told_by(facts))
    elif base == "Cargo.toml":
        yield from _of_cargo(folder, told_by(facts))
    elif fnmatchcase(base, "[tj]sconfig*.json"):
        yield from _of_config(folder, told_by(facts))


def _of_package(folder: str, told: Sequence[Told]) -> Iterator[Root]:
    for above, key, value in told:
        if value and (above, key) == ("", "name"):
            yield Root("script", value, (folder, _below(folder, "src"), _below(folder, "lib")))


def _of_config(folder: str, told: Sequence[Told]) -> Iterator[Root]:
    base = next((value for _, key, value in told if key == "baseUrl"), ".")
    for above, key, value in told:
        if above == "paths" and value:
            name = key.partition("*")[0]
            target = _below(folder, posixpath.join(base, value.partition("*")[0]))
            if name.rstrip("/") and not _leaves(target):
                yield Root("script", name.rstrip("/"), (target,), whole="*" not in key)


def _of_composer(folder: str, told: Sequence[Told]) -> Iterator[Root]:
    for above, key, value in told:
        if above == "psr-4" and key.strip("\\"):
            target = _below(folder, value)
            if not _leaves(target):
                yield Root("PHP", key.strip("\\"), (target,))


def _of_cargo(folder: str, told: Sequence[Told]) -> Iterator[Root]:
    names = {above: value for above, key, value in told if key == "name"}
    name = names.get("lib") or names.get("package")
    if name:
        yield Root("Rust", name.replace("-", "_"), (_below(folder, "src"),))


def _below(folder: str, name: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, name))
    return "" if path == "." else path


def _leaves(path: str) -> bool:
    """Whether a path leads out of the workspace."""
    return path == ".." or path.startswith(("../", "/"))


def _value(key: Definition) -> str:
    """The first string of the value, as its line has it."""
    quoted = key.signature.startswith('"')
    strings = _STRING.findall(key.signature if quoted else key.signature.partition("=")[2])[quoted:]
    return strings[0] if strings else ""

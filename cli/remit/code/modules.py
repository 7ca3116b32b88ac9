"""Which files a module's name means: one way for all families, steered by their habits."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache

from remit.code.families import Habits
from remit.code.roots import Root

Parts = tuple[str, ...]
Files = tuple[int, ...]
"""Indices of files; none: the module is not in the tree."""

_RUST_STANDARD = frozenset(["std", "core", "alloc", "proc_macro", "test"])

_HERE = "."

MAX_FOUND = 64
"""Files of one module. A name that means more of them tells too little."""

_LEAST_INNER = 2
"""Parts that agree where a module of Go is not the whole tree. One is often the name of a package of others, too."""

_ENDS_IN_VERSION = re.compile(r"^v\d+$")


class Modules:
    """The files of one family, found by the names that imports give them. paths: by index, from the workspace. roots:
    what manifests say of the family. packages: of files that say so, the package that they belong to."""

    def __init__(
        self,
        habits: Habits,
        paths: Sequence[tuple[int, str]],
        roots: Sequence[Root] = (),
        packages: Mapping[int, str] | None = None,
    ) -> None:
        self._habits = habits
        self._by_path = {path: index for index, path in paths}
        self._paths = dict(paths)
        self._by_stem: dict[str, list[tuple[Parts, int]]] = {}
        self._folders: dict[str, list[tuple[Parts, list[int]]]] = {}
        self._packages: set[Parts] = set()
        folders: dict[str, list[int]] = {}
        for index, path in paths:
            folder, _, base = path.rpartition("/")
            folders.setdefault(folder, []).append(index)
            parts = _split(folder, "/")
            stem = self._stem(base)
            if stem in habits.indexes:
                self._packages.add(parts)
                if parts:
                    self._by_stem.setdefault(parts[-1], []).append((parts, index))
            self._by_stem.setdefault(stem, []).append(((*parts, stem), index))
        if habits.folders:
            for folder, inside in folders.items():
                parts = _split(folder, "/")
                if parts:
                    self._folders.setdefault(parts[-1], []).append((parts, inside))
        self._found: dict[tuple[str, str], Files] = {}
        self._top = tuple(folders.get("", ()))
        named = [(_split(root.name, habits.separators), root) for root in roots]
        self._roots = sorted(named, key=lambda each: -len(each[0]))
        self._declared: dict[Parts, list[int]] = {}
        for index, package in (packages or {}).items():
            self._declared.setdefault(_split(package, habits.separators), []).append(index)

    def find(self, spelled: str, importer: str) -> Files:
        """The files that the module means when the file `importer` names it."""
        key = (spelled, importer.rpartition("/")[0])
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(spelled, importer)
        return found

    def _find(self, spelled: str, importer: str) -> Files:
        habits = self._habits
        folder = importer.rpartition("/")[0]
        if habits.relative == "dots" and spelled.startswith("."):
            name = spelled.lstrip(".")
            here = _split(folder, "/")
            climb = len(spelled) - len(name) - 1
            if climb > len(here):
                return ()
            return self._exactly((*here[: len(here) - climb], *_split(name, habits.separators)))
        if habits.relative in ("path", "always") and (spelled.startswith(".") or habits.relative == "always"):
            near = self._at(posixpath.normpath(posixpath.join(folder, spelled.replace("\\", "/"))))
            if near or spelled.startswith("."):
                return near
        if self._declared:
            declared = self._declared.get(_split(spelled, habits.separators))
            if declared is not None or habits.unit == "folder":
                return tuple(declared or ())
        if self._roots and "crate" not in habits.roots:
            rooted = self._rooted(_split(spelled, habits.separators), folder)
            if rooted is not None:
                return rooted
        if "crate" in habits.roots:
            return self._of_crate(_split(spelled, habits.separators), importer)
        return self._by_end(self._parts(spelled), folder)

    def _parts(self, spelled: str) -> Parts:
        name = spelled.partition("package:")[2] or spelled
        name = name.removeprefix("@//").removeprefix("//")
        parts = _split(name, self._habits.separators)
        if parts and parts[0] in self._habits.roots:
            parts = parts[1:]
        if len(parts) > 1 and _ENDS_IN_VERSION.match(parts[-1]) and self._habits.folders:
            parts = parts[:-1]
        return parts

    def _stem(self, base: str) -> str:
        for ending in sorted(self._habits.endings, key=len, reverse=True):
            if ending and base.endswith(ending) and len(base) > len(ending):
                return base[: -len(ending)]
        return base

    def below(self, index: int, name: str) -> Files:
        """The module of that name in the directory that a file speaks for."""
        folder, _, base = self._paths[index].rpartition("/")
        if self._stem(base) not in self._habits.indexes:
            if "crate" not in self._habits.roots:
                return ()
            folder = f"{folder}/{self._stem(base)}".removeprefix("/")
        return self._at(f"{folder}/{name}" if folder else name) or self._folder((*_split(folder, "/"), name))

    # -- by what manifests say ---------------------------------------------------------------------

    def _rooted(self, parts: Parts, folder: str) -> Files | None:
        """The module below the root that its name begins with; None where manifests leave it open."""
        for name, root in self._roots:
            rest = parts[len(name) :]
            if parts[: len(name)] != name or (root.whole and rest):
                continue
            for place in root.folders:
                path = "/".join((place, *rest)).strip("/")
                found = self._package(path) if self._habits.folders else self._at(path or _HERE)
                if found:
                    return found
            if root.family == "Go":
                return ()
        within = any(_lies_below(folder, place) for _, root in self._roots for place in root.folders)
        # What a module of Go imports is in it, or is another's: that is found by its whole name alone.
        return self._whole(parts) if within and self._habits.standard and self._habits.folders else None

    def _package(self, folder: str) -> Files:
        return self._folder(_split(folder, "/")) if folder else self._top[:MAX_FOUND]

    def _whole(self, parts: Parts) -> Files:
        """The directory whose path ends in the whole name, as one that is brought along."""
        last = parts[-1] if parts else ""
        ends = [inside for whole, inside in self._folders.get(last, ()) if whole[-len(parts) :] == parts]
        return tuple(ends[0][:MAX_FOUND]) if ends and len(parts) > 1 else ()

    # -- by path -----------------------------------------------------------------------------------

    def _at(self, path: str) -> Files:
        """The file at a path that may lack its ending, or name it as built."""
        for each in (path, posixpath.splitext(path)[0]):
            for ending in ("", *self._habits.endings):
                if (index := self._by_path.get(each + ending)) is not None:
                    return (index,)
            for name in self._habits.indexes:
                for ending in self._habits.endings:
                    if (index := self._by_path.get(posixpath.normpath(f"{each}/{name}{ending}"))) is not None:
                        return (index,)
        return ()

    def _exactly(self, parts: Parts) -> Files:
        """The module whose whole name this is."""
        if not parts:
            return self._at(".")
        found = tuple(index for whole, index in self._by_stem.get(parts[-1], ()) if whole == parts)
        return found[:1] or self._folder(parts)

    def _folder(self, parts: Parts) -> Files:
        if not parts:
            return ()
        inside = [each for whole, each in self._folders.get(parts[-1], ()) if whole == parts]
        return tuple(inside[0][:MAX_FOUND]) if inside else ()

    # -- by the end of its path --------------------------------------------------------------------

    def _by_end(self, parts: Parts, folder: str) -> Files:
        if not parts:
            return ()
        here = _split(folder, "/")
        near = self._habits.standard and parts[0] in self._habits.standard
        last = self._stem(parts[-1])
        wanted = (*parts[:-1], last)
        best: tuple[int, int, int] | None = None
        found: Files = ()
        candidates: list[tuple[Parts, Files]] = [(whole, (index,)) for whole, index in self._by_stem.get(last, ())]
        candidates += [(whole, tuple(inside[:MAX_FOUND])) for whole, inside in self._folders.get(last, ())]
        for whole, files in candidates:
            agreeing = _agreeing(whole, wanted)
            if not self._fits(whole, wanted, agreeing, here, near=bool(near)):
                continue
            score = (agreeing, _common(whole, here), -len(whole))
            if best is None or score > best:
                best, found = score, files
        return found

    def _fits(self, whole: Parts, wanted: Parts, agreeing: int, here: Parts, *, near: bool) -> bool:
        habits = self._habits
        if habits.rooted:
            before = whole[: len(whole) - agreeing]
            if agreeing != len(wanted) or before in self._packages:
                return False
            return not near or before in ((), here)
        if habits.folders and habits.standard:
            # A module of Go: the name of the repository, and the whole path in it.
            # One that lies deeper has its name in place of the directories that lead to it: those of the importer too.
            before = whole[: len(whole) - agreeing]
            inner = agreeing >= _LEAST_INNER and len(wanted) > agreeing and here[: len(before)] == before
            return not near and (agreeing == min(len(whole), len(wanted)) or inner)
        return agreeing >= min(habits.least, len(wanted))

    # -- crates ------------------------------------------------------------------------------------

    def _of_crate(self, parts: Parts, importer: str) -> Files:
        """A path of Rust: from the crate's root, from a module above, or of another crate of the tree."""
        module = self._module_of(importer)
        root = self._root_of(importer)
        if not parts:
            return ()
        if parts[0] == "crate":
            return self._in_crate((*root, *parts[1:]))
        if parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                module = module[:-1] if parts[0] == "super" else module
                parts = parts[1:]
            return self._in_crate((*module, *parts))
        near = self._in_crate((*module, *parts)) or self._in_crate((*root, *parts))
        if near:
            return near
        manifest = next((each for name, each in self._roots if name == parts[:1]), None)
        if manifest is not None:
            return self._in_crate((*_split(manifest.folders[0], "/"), *parts[1:]))
        crates = [whole[:-1] for whole, _ in self._by_stem.get("lib", ())]
        named = [each for each in crates if len(each) > 1 and each[-2].replace("-", "_") == parts[0]]
        # The name of a crate stands in no source: without a manifest it is taken for granted of the only one.
        alone = len(crates) == 1 and not self._roots and parts[0] not in _RUST_STANDARD
        crate = named[0] if named else crates[0] if alone else None
        return self._in_crate((*crate, *parts[1:])) if crate is not None else ()

    def _in_crate(self, parts: Parts) -> Files:
        if not parts:
            return self._at(".")
        return self._at("/".join(parts))

    def _module_of(self, path: str) -> Parts:
        folder, _, base = path.rpartition("/")
        parts = _split(folder, "/")
        stem = self._stem(base)
        return parts if stem in self._habits.indexes else (*parts, stem)

    def _root_of(self, path: str) -> Parts:
        parts = _split(path.rpartition("/")[0], "/")
        while parts:
            here = "/".join(parts)
            if f"{here}/lib.rs" in self._by_path or f"{here}/main.rs" in self._by_path:
                return parts
            parts = parts[:-1]
        return ()


def _lies_below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


@cache
def _splitter(separators: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(separators)}]+")


def _split(name: str, separators: str) -> Parts:
    return tuple(part for part in _splitter(separators).split(name) if part and part != ".")


def _agreeing(whole: Parts, wanted: Parts) -> int:
    """How many parts the two names have in common at their ends."""
    number = 0
    for one, other in zip(reversed(whole), reversed(wanted), strict=False):
        if one != other:
            break
        number += 1
    return number


def _common(one: Parts, other: Parts) -> int:
    number = 0
    for here, there in zip(one, other, strict=False):
        if here != there:
            break
        number += 1
    return number

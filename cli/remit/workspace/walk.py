"""Walking a tree of the workspace by descriptors: sorted, loop-free, and honest on what it left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Entry
from remit.base.resources import Effect, Resource
from remit.base.text import scrub
from remit.workspace.names import is_unfinished, join
from remit.workspace.root import Root

MAX_DIRECTORY_ENTRIES = 250_000
"""Entries of one directory that are held at once, to sort them; what goes beyond is not listed."""

EntryAllowed = Callable[[Resource], bool]
"""Whether the rules show this entry, told by its spelled and its real name."""


class _Folder(NamedTuple):
    """A directory to list. shown: as entries name it; raw: as the file system does; real: behind links."""

    shown: str
    raw: str
    real: str
    depth: int


class _Raw(NamedTuple):
    """One entry as it was scanned. mode, size: of the entry itself, not what it links to; mode 0 where
    the system does not say."""

    shown: str
    raw: str
    mode: int
    size: int


class TreeWalk:
    """base.ports.Walk: the entries below a directory, each directory before what it holds, by name.

    A link that stays in the workspace is shown as what it leads to; a directory behind a link is
    never descended, since it has a place of its own. A link that leads out, or to nothing, is shown
    as `other`. A name that is not UTF-8 is shown with U+FFFD; `aliases` leads back to its bytes.
    """

    def __init__(
        self,
        root: Root,
        resource: Resource,
        allowed: EntryAllowed,
        *,
        max_depth: int | None = None,
        aliases: dict[str, str] | None = None,
        max_entries: int = MAX_DIRECTORY_ENTRIES,
    ) -> None:
        """resource: the tree, by the names policy saw. max_depth: 1 is its direct children."""
        self._root = root
        self._effect: Effect = resource.effect
        self._allowed = allowed
        self._max_depth = max_depth
        self._max_entries = max_entries
        self._aliases = {} if aliases is None else aliases
        raw = self._aliases.get(resource.name, resource.name)
        self._top = _Folder(resource.name, raw, resource.real, 0)
        self._reset()

    def _reset(self) -> None:
        self.withheld = 0
        self.unreadable = 0
        self.outside = 0
        self.unfollowed = 0
        self.overfull = 0

    def __iter__(self) -> Iterator[Entry]:
        """Raises Failure when the tree itself cannot be listed; below it, that is counted."""
        self._reset()
        levels = [self._entries(self._top, self._scan(self._top))]
        while levels:
            step = next(levels[-1], None)
            if step is None:
                levels.pop()
                continue
            entry, folder = step
            yield entry
            if folder is not None:
                levels.append(self._descend(folder))

    def _descend(self, folder: _Folder) -> Iterator[tuple[Entry, _Folder | None]]:
        try:
            return self._entries(folder, self._scan(folder))
        except Failure:
            self.unreadable += 1
            return iter(())

    def _scan(self, folder: _Folder) -> list[_Raw]:
        fd, found = self._root.open_directory(folder.raw)
        try:
            if scrub(found.real) != scrub(folder.real):
                raise Failure(ErrorCode.FILE_CHANGED, f"{folder.shown} was moved or replaced while it was listed")
            names, cut = _names(fd, self._max_entries)
            self.overfull += cut
            taken = {name for name in names if scrub(name) is name}
            found_entries = []
            for raw in names:
                shown = self._shown(raw, taken)
                if shown:
                    found_entries.append(_Raw(shown, raw, *_facts(raw, fd)))
        finally:
            os.close(fd)
        found_entries.sort(key=lambda entry: entry.shown)
        return found_entries

    def _shown(self, raw: str, taken: set[str]) -> str:
        """The name as text; "" when two names of a directory would be shown alike."""
        shown = scrub(raw)
        if shown is raw:
            return raw
        if shown in taken:
            self.unreadable += 1
            return ""
        taken.add(shown)
        return shown

    def _entries(self, folder: _Folder, scanned: list[_Raw]) -> Iterator[tuple[Entry, _Folder | None]]:
        for item in scanned:
            here = _Folder(
                join(folder.shown, item.shown),
                join(folder.raw, item.raw),
                join(folder.real, item.raw),
                folder.depth + 1,
            )
            if here.raw != here.shown:
                self._aliases[here.shown] = here.raw
            link = stat.S_ISLNK(item.mode)
            entry = self._linked(here) if link else self._plain(here, item)
            if entry is None:
                continue
            within = self._max_depth is None or here.depth < self._max_depth
            yield entry, here if within and not link and entry.kind == "directory" else None

    def _plain(self, here: _Folder, item: _Raw) -> Entry | None:
        if not self._may_show(here.shown, here.real):
            return None
        if not item.mode:
            self.unreadable += 1
        return entry_of(here.shown, here.real, item.mode, item.size)

    def _linked(self, here: _Folder) -> Entry | None:
        try:
            found = self._root.look(here.raw)
        except Failure as failure:
            return self._broken(here, failure)
        if not self._may_show(here.shown, found.real):
            return None
        if found.is_directory:
            self.unfollowed += 1
        return entry_of(here.shown, found.real, found.info.st_mode, found.info.st_size, link=True)

    def _broken(self, here: _Folder, failure: Failure) -> Entry | None:
        """A link that leads out of the workspace, in a circle, to nothing, or where the system lets none look."""
        if not self._may_show(here.shown, here.real):
            return None
        if failure.code is ErrorCode.PATH_REFUSED:
            self.outside += 1
        elif failure.code is ErrorCode.IO_ERROR:
            self.unreadable += 1
        return Entry(here.shown, "other", link=True)

    def _may_show(self, shown: str, real: str) -> bool:
        if self._allowed(Resource("path", shown, self._effect, real=scrub(real))):
            return True
        self.withheld += 1
        return False


def _names(fd: int, most: int) -> tuple[list[str], int]:
    """The names in a directory, and 1 if it holds more than `most`."""
    names: list[str] = []
    with os.scandir(fd) as listing:
        for entry in listing:
            if len(names) == most:
                return names, 1
            if not is_unfinished(entry.name):
                names.append(entry.name)
    return names, 0


def _facts(name: str, fd: int) -> tuple[int, int]:
    """Mode and size of an entry; zeros where the system does not say. Not more: a directory may be large."""
    try:
        info = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return 0, 0
    return info.st_mode, info.st_size


def entry_of(shown: str, real: str, mode: int, size: int, *, link: bool = False) -> Entry:
    """The entry for a name, what it really leads to, and that file's mode and size."""
    real = scrub(real)
    other = "" if real == shown else real
    if stat.S_ISREG(mode):
        return Entry(shown, "file", size, link, other)
    return Entry(shown, "directory" if stat.S_ISDIR(mode) else "other", 0, link, other)

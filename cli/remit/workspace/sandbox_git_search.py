"""Directories of git below some directories, looked for before and after commands."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

MAX_FOLDERS = 200_000
"""Directories that are looked at; the outer ones first."""

_SETTLED_NS = 2_000_000_000
"""A directory that changed less long ago may change again without showing it by its time."""

_PATH = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)


class _Folder(NamedTuple):
    stamp: tuple[int, int, int]
    folders: tuple[str, ...]
    store: bool


class StoreSearch:
    """Remembers what it saw: a later look reads only directories that changed. whole: False once there were more
    than MAX_FOLDERS."""

    def __init__(self) -> None:
        self._seen: dict[str, _Folder] = {}
        self._shut: set[tuple[int, int]] | None = None
        self.whole = True

    def look(self, roots: Iterable[str]) -> list[str]:
        """Paths of what git would take for one of its directories, now or once it is complete: all that is called
        `.git`, and what holds a HEAD beside objects or a way to them. roots: real and absolute."""
        first = self._shut is None
        if self._shut is None:
            self._shut = set()
        pending = deque(roots)
        seen: dict[str, _Folder] = {}
        found = []
        while pending:
            path = pending.popleft()
            if path in seen:
                continue
            if len(seen) == MAX_FOLDERS:
                self.whole = False
                break
            folder = self._folder(path, first)
            if folder is None:
                continue
            seen[path] = folder
            if folder.store:
                found.append(path)
            pending.extend(f"{path.rstrip('/')}/{name}" for name in folder.folders)
        self._seen = seen
        return found

    def _folder(self, path: str, first: bool) -> _Folder | None:
        try:
            facts = os.lstat(path)
        except OSError:
            return None
        stamp = (facts.st_dev, facts.st_ino, facts.st_ctime_ns)
        known = self._seen.get(path)
        if known is not None and known.stamp == stamp:
            return known
        began = time.time_ns()
        listed = self._list(path, facts, first)
        if listed is None:
            return None
        names, folders = listed
        store = os.path.basename(path).lower() == ".git" or ("HEAD" in names and not names.isdisjoint(_OTHERS))
        if began - facts.st_ctime_ns < _SETTLED_NS:
            stamp = (-1, -1, -1)
        return _Folder(stamp, folders, store)

    def _list(self, path: str, facts: os.stat_result, first: bool) -> tuple[set[str], tuple[str, ...]] | None:
        assert self._shut is not None
        identity = (facts.st_dev, facts.st_ino)
        try:
            return _names(path)
        except PermissionError:
            if first or identity in self._shut:
                # The user's own.
                self._shut.add(identity)
                return None
        except OSError:
            return None
        with suppress(OSError):
            # One who knows the names in it could go on through it.
            unlock(path)
            return _names(path)
        return None


_OTHERS = frozenset({"objects", "commondir"})


def unlock(path: str) -> None:
    """Give the owner all rights on a directory. Raises OSError."""
    fd = os.open(path, _PATH)
    try:
        unlock_fd(fd)
    finally:
        os.close(fd)


def unlock_fd(fd: int) -> None:
    """The same for an open one, though only as a path."""
    os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(os.fstat(fd).st_mode) | stat.S_IRWXU)


def _names(path: str) -> tuple[set[str], tuple[str, ...]]:
    with os.scandir(path) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    return {name for name, _ in listed}, tuple(name for name, folder in listed if folder)

"""What makes git run programs, kept from commands: hooks and settings of the repositories in a workspace.

A command may commit, and may not leave something behind that runs, unconfined, when the user calls git next.
What is there stays readable and is not written; what was not there and appears is put aside when the command
ends, under a name that git does not know. Attributes are left alone: without settings they name no program.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from remit.workspace.beneath import fd_path

RULING = ("hooks", "config", "config.worktree", "commondir", "gitdir")
"""Of a directory of git: `commondir` leads to another one, and its hooks and settings."""

MAX_STORES = 256
MAX_DEPTH = 6
"""Of submodules in submodules, by directories."""

_MAX_LINK_BYTES = 4096 + 16
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", 0)


class _Store:
    """A directory of git, open. absent: names of RULING that nobody but a running command can have made since."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.absent = self.missing()

    def missing(self) -> set[str]:
        return {name for name in RULING if not self.has(name)}

    def has(self, name: str) -> bool:
        try:
            os.lstat(name, dir_fd=self.fd)
        except OSError:
            return False
        return True


class Repositories:
    """Those of a workspace when a run starts. Held open, since a command can move what is above them."""

    def __init__(self, entries: Iterable[str]) -> None:
        """entries: absolute paths of all that is called `.git`, directories and files."""
        self._stores: dict[tuple[int, int], _Store] = {}
        self._links: list[str] = []
        self._running = 0
        for entry in entries:
            with suppress(OSError):
                self._take(entry)

    def close(self) -> None:
        for store in self._stores.values():
            os.close(store.fd)
        self._stores.clear()

    def held(self) -> list[str]:
        """Directories of git, which stay where they are: one that was moved away could be replaced."""
        return [path for store in self._stores.values() if (path := _path(store.fd))]

    def fixed(self) -> list[str]:
        """What may be read and not written."""
        inside = [
            f"{path}/{name}"
            for store in self._stores.values()
            if (path := _path(store.fd))
            for name in RULING
            if store.has(name)
        ]
        return [*self._links, *inside]

    def begin(self) -> None:
        """A command is about to run."""
        if not self._running:
            # What came while none ran is the user's.
            for store in self._stores.values():
                store.absent = store.missing()
        self._running += 1

    def end(self) -> None:
        """A command has ended: put aside what it made that would rule git."""
        self._running -= 1
        for store in self._stores.values():
            for name in store.absent:
                aside = f"{name}.refused-{os.urandom(4).hex()}"
                with suppress(OSError):
                    os.rename(name, aside, src_dir_fd=store.fd, dst_dir_fd=store.fd)

    def _take(self, entry: str) -> None:
        mode = os.lstat(entry).st_mode
        if stat.S_ISREG(mode):
            self._links.append(entry)
            target = _link_target(entry)
            if target:
                self._open(target)
            return
        self._open(entry)
        for below in _nested(entry, ("modules", "worktrees"), MAX_DEPTH):
            self._open(below)

    def _open(self, path: str) -> None:
        if len(self._stores) == MAX_STORES:
            return
        fd = os.open(path, _DIRECTORY)
        info = os.fstat(fd)
        if (info.st_dev, info.st_ino) in self._stores:
            os.close(fd)
            return
        self._stores[info.st_dev, info.st_ino] = _Store(fd)


def _path(fd: int) -> str:
    """Where an open directory is now, or "" where it is no more."""
    path = fd_path(fd)
    return path if path and os.path.isdir(path) else ""


def _link_target(entry: str) -> str:
    """The directory of git that a `.git` file leads to, or ""."""
    with open(entry, "rb") as file:
        text = file.read(_MAX_LINK_BYTES)
    word, colon, target = os.fsdecode(text).rstrip("\n").partition(":")
    if (word, colon) != ("gitdir", ":") or "\0" in target:
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(entry), target.strip()))


def _nested(store: str, names: Sequence[str], depth: int) -> Iterator[str]:
    """Directories of git within one: those of submodules, also of submodules of them, and of worktrees."""
    for name in names:
        yield from _below(f"{store}/{name}", depth)


def _below(folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for path in folders:
        if os.path.lexists(f"{path}/HEAD"):
            yield path
            if depth:
                yield from _nested(path, ("modules",), depth - 1)
        elif depth:
            # The name of a submodule may have several parts.
            yield from _below(path, depth - 1)

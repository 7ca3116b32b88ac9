"""What makes git run programs, kept from commands: hooks and settings of the repositories in a workspace.

A command may commit, and may not leave something behind that runs, unconfined, when the user calls git next.
What is there stays readable and is not written; what was not there and appears is put aside when the command
ends, under a name that git does not know. A repository that it makes keeps only settings that name no program, and
no hooks. Attributes are left alone: without settings they name no program. What a run that was killed could not put
aside any more, the next one does.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from remit.workspace.beneath import fd_path
from remit.workspace.sandbox_git_search import MAX_FOLDERS, StoreSearch, unlock_fd
from remit.workspace.sandbox_git_settings import harmless
from remit.workspace.sandbox_git_todo import running_lines, take_out
from remit.workspace.sandbox_places import STARTED

RULING = ("hooks", "config", "config.worktree", "commondir", "gitdir")
"""Of a directory of git: `commondir` leads to another one, and its hooks and settings."""

GIT_NOTE = "git.json"
"""The note, in the private directory of a run."""

MAX_STORES = 256
MAX_DEPTH = 6
"""Of submodules in submodules, by directories."""

_MAX_LINK_BYTES = 4096 + 16
_MAX_SETTINGS_BYTES = 1 << 18
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Identity = tuple[int, int]
"""Device and inode."""


class Note(msgspec.Struct, frozen=True, array_like=True):
    """What holds while commands run. roots: where they write. stores: the directories of git that were there, with
    device, inode, the names that were absent, and what the list of a rebase ran. known: all that were there."""

    roots: list[bytes]
    stores: list[tuple[bytes, int, int, list[str], list[bytes]]]
    known: list[Identity]


class _Store:
    """A directory of git, or another one with what programs run by themselves, open. names: those that rule them.
    absent: those of them that nobody but a running command can have made since. runs: what the list of a rebase
    runs."""

    def __init__(self, fd: int, names: Sequence[str] = RULING) -> None:
        self.fd = fd
        self.names = names
        self.settle()

    def settle(self) -> None:
        """What is there now is the user's."""
        self.absent = {name for name in self.names if not self.has(name)}
        self.runs = running_lines(self.fd)

    def clear(self) -> list[str]:
        """Put aside what a command has made. Returns where it was."""
        return _cleared(self.fd, self.absent, self.runs)

    def has(self, name: str) -> bool:
        try:
            os.lstat(name, dir_fd=self.fd)
        except OSError:
            return False
        return True


class Repositories:
    """Those of a workspace when a run starts. Held open, since a command can move what is above them."""

    def __init__(self, entries: Iterable[str], note: str = "", home: str = "") -> None:
        """entries: absolute paths of all that is called `.git`, directories and files. note: a file in which it is
        written down, before commands run, what they may not leave behind; "": nowhere. home: the user's home
        directory, where commands may write in it."""
        self._stores: dict[Identity, _Store] = {}
        self._links: list[str] = []
        self._running = 0
        self._note = note
        self._noted = b""
        self._search = StoreSearch()
        self._roots: list[str] | None = None
        self._known: set[Identity] = set()
        self._beyond = False
        self._home: _Store | None = None
        if home:
            with suppress(OSError):
                self._home = _Store(os.open(home, _DIRECTORY), STARTED)
        for entry in entries:
            with suppress(OSError):
                self._take(entry)

    def gaps(self) -> Iterator[str]:
        """What could not be looked after, in words."""
        if not self._search.whole:
            yield f"only {MAX_FOLDERS} directories were searched for repositories that would run programs later"
        if self._beyond:
            yield (
                f"only {MAX_STORES} directories of git are kept as they were: in the others, commands can change what "
                "git runs later, outside the sandbox"
            )

    def close(self) -> None:
        for store in self._stores.values():
            os.close(store.fd)
        self._stores.clear()
        if self._home is not None:
            os.close(self._home.fd)
            self._home = None

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

    def begin(self, roots: Sequence[str] = ()) -> None:
        """A command is about to run. roots: real paths of the directories in which it may write, the same each time."""
        if self._roots is None:
            self._roots = list(roots)
            for path in self._search.look(self._roots):
                with suppress(OSError):
                    self._known.add(_identity(os.lstat(path)))
                    self._open(path)
        if not self._running:
            # What came while none ran is the user's.
            for store in self._watched():
                store.settle()
            self._write_note()
        self._running += 1

    def end(self) -> list[str]:
        """A command has ended: put aside what it made that would rule git. Returns where that was, absolute."""
        self._running -= 1
        aside = [name for store in self._watched() for name in store.clear()]
        known = {*self._known, *self._stores}
        return [*aside, *tame(self._search.look(self._roots or ()), self._roots or (), known)]

    def _watched(self) -> list[_Store]:
        return [*self._stores.values(), *([self._home] if self._home is not None else [])]

    def _write_note(self) -> None:
        if not self._note:
            return
        stores = [
            (os.fsencode(path), *_identity(os.fstat(store.fd)), sorted(store.absent), sorted(store.runs))
            for store in self._watched()
            if (path := _path(store.fd))
        ]
        note = msgspec.json.encode(
            Note([os.fsencode(root) for root in self._roots or ()], stores, sorted({*self._known, *self._stores}))
        )
        if note == self._noted:
            return
        # Where it cannot be written the run goes on without.
        with suppress(OSError):
            with open(f"{self._note}.new", "wb") as file:
                file.write(note)
            os.rename(f"{self._note}.new", self._note)
            self._noted = note

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
        """Beyond MAX_STORES one is left as it is."""
        fd = os.open(path, _DIRECTORY)
        info = os.fstat(fd)
        if (info.st_dev, info.st_ino) in self._stores:
            os.close(fd)
            return
        if len(self._stores) == MAX_STORES:
            self._beyond = True
            os.close(fd)
            return
        self._stores[info.st_dev, info.st_ino] = _Store(fd)


def recover(note: str) -> None:
    """Put aside what the commands of a run that was killed have left. note: the file in which it wrote them down."""
    try:
        with open(note, "rb") as file:
            told = msgspec.json.decode(file.read(), type=Note)
    except (OSError, msgspec.DecodeError):
        return
    for path, device, inode, absent, runs in told.stores:
        with suppress(OSError):
            fd = os.open(path, _DIRECTORY)
            try:
                if _identity(os.fstat(fd)) == (device, inode):
                    _cleared(fd, absent, frozenset(runs))
            finally:
                os.close(fd)
    roots = [os.fsdecode(root) for root in told.roots]
    tame(StoreSearch().look(roots), roots, set(told.known))


def tame(paths: Sequence[str], roots: Sequence[str], known: set[Identity]) -> list[str]:
    """Leave these directories of git, but for the known ones, nothing that makes git run a program.
    Returns what was put aside, by the path it had. roots: where their working trees may be."""
    stores: dict[str, Identity] = {}
    for path in paths:
        with suppress(OSError):
            stores[path] = _identity(os.lstat(path))
    trusted = {*known, *stores.values()}
    aside = []
    for path, identity in stores.items():
        if identity in known:
            continue
        with suppress(OSError):
            aside += _tame(path, roots, trusted)
    return aside


def _tame(path: str, roots: Sequence[str], trusted: set[Identity]) -> list[str]:
    fd = os.open(path, _DIRECTORY | os.O_NOFOLLOW)
    try:
        if fd_path(fd) != path:
            # Another command is moving it, and will have ended when it is looked at next.
            return []
        aside = []
        if _has_hooks(fd):
            aside += _clear(fd, ("hooks",))
        for name in ("config", "config.worktree"):
            text, alone = _read(fd, name)
            kept, whole = harmless(text, lambda tree: _leads_inside(path, tree, roots))
            if not (alone and whole):
                aside += _clear(fd, (name,))
                if kept:
                    _create(fd, name, kept)
        common, alone = _read(fd, "commondir")
        if not alone or (common and not _leads_to(path, common, trusted)):
            aside += _clear(fd, ("commondir",))
        return [*aside, *_cleared(fd, (), frozenset())]
    finally:
        os.close(fd)


def _has_hooks(fd: int) -> bool:
    """Whether there are hooks that git might run, or that cannot be seen."""
    try:
        hooks = os.open("hooks", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not all(name.endswith(".sample") for name in os.listdir(hooks))
    finally:
        os.close(hooks)


def _read(fd: int, name: str) -> tuple[str, bool]:
    """The text of a file in a directory, "" where there is none; and whether that is all: not for what is no plain
    file, too large, or to be changed by another name too."""
    try:
        file = os.open(name, _FILE, dir_fd=fd)
    except FileNotFoundError:
        return "", True
    except OSError:
        return "", False
    with open(file, "rb") as opened:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_SETTINGS_BYTES:
            return "", False
        return opened.read(_MAX_SETTINGS_BYTES).decode("utf-8", "surrogateescape"), facts.st_nlink == 1


def _create(fd: int, name: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name, flags, 0o644, dir_fd=fd), "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def _leads_inside(path: str, tree: str, roots: Sequence[str]) -> bool:
    try:
        real = os.path.realpath(os.path.join(path, tree))
    except (OSError, ValueError):
        return False
    return any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots)


def _leads_to(path: str, common: str, trusted: set[Identity]) -> bool:
    try:
        return _identity(os.stat(os.path.join(path, common.rstrip("\r\n")))) in trusted
    except (OSError, ValueError):
        return False


def _cleared(fd: int, names: Iterable[str], runs: frozenset[bytes]) -> list[str]:
    """Put aside these names of a directory, and the list of a rebase but for what it ran before."""
    told = take_out(fd, runs)
    return [*_clear(fd, names), *([f"{fd_path(fd)}/{told}"] if told else [])]


def _clear(fd: int, names: Iterable[str]) -> list[str]:
    """Rename what is there of these names in a directory. Returns where it was."""
    cleared = []
    for name in dict.fromkeys(_own(fd, name) for name in names):
        aside = f"{name}.refused-{os.urandom(4).hex()}"
        with suppress(OSError):
            try:
                os.rename(name, aside, src_dir_fd=fd, dst_dir_fd=fd)
            except PermissionError:
                # A command can take away the right to rename in it.
                unlock_fd(fd)
                os.rename(name, aside, src_dir_fd=fd, dst_dir_fd=fd)
            cleared.append(f"{fd_path(fd)}/{name}")
    return cleared


def _own(fd: int, name: str) -> str:
    """A name in a directory, or the start of it that is a link and leads who knows where."""
    parts = name.split("/")
    for end in range(1, len(parts)):
        start = "/".join(parts[:end])
        with suppress(OSError):
            if stat.S_ISLNK(os.lstat(start, dir_fd=fd).st_mode):
                return start
    return name


def _identity(facts: os.stat_result) -> Identity:
    return facts.st_dev, facts.st_ino


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

"""Directories that files are published in: opened beneath the root without a link, made where missing."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress

from remit.base.errors import ErrorCode, Failure
from remit.base.text import shorten
from remit.workspace.beneath import fd_path
from remit.workspace.names import HERE, is_unfinished
from remit.workspace.root import Root

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_SCANNED = 10_000
"""Entries of a directory that are looked through for what a killed run left behind."""

_LOCK_SECONDS = 2.0


class Folder:
    """An open directory. name: real, workspace-relative."""

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self.fd = fd

    def unused_name(self) -> str:
        """A name for a file of ours."""
        return f".remit-{os.urandom(8).hex()}.tmp"

    def look(self, base: str) -> os.stat_result | None:
        """The facts of an entry, links not followed; None where there is none."""
        try:
            return os.stat(base, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def sync(self) -> None:
        """What was renamed is on disk, where the file system promises that for directories."""
        with suppress(OSError):
            os.fsync(self.fd)

    def enter(self) -> None:
        """Tell other publications that one is at work here. The first to come clears away what killed
        ones have left: nobody else's, since the lock of a living one says so."""
        import fcntl  # a cost for runs that write files, and no others

        with suppress(OSError):
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.clear()
        # Held against us only while another one clears, or by a program that knows nothing of this; the
        # latter is not waited for: without the lock a publication may fail, but never by halves.
        end = time.monotonic() + _LOCK_SECONDS
        while time.monotonic() < end:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:
                return
            else:
                return

    def clear(self) -> None:
        """Remove files that take no place any more. Only under the lock of `enter`."""
        with os.scandir(self.fd) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MAX_SCANNED), strict=False)]
        for name in filter(is_unfinished, names):
            info = self.look(name)
            if info is not None and stat.S_ISREG(info.st_mode):
                with suppress(OSError):
                    os.unlink(name, dir_fd=self.fd)


def clear_folder(path: str) -> None:
    """Clear away what killed publications have left in a directory, unless a living one is at work there. Raises
    OSError."""
    import fcntl

    folder = Folder(path, os.open(path, _DIRECTORY))
    try:
        fcntl.flock(folder.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.clear()
    finally:
        os.close(folder.fd)


class Folders:
    """The directories of one publication, by their real names. Those it made go again, unless it `keep`s
    them. step: runs before each one is made. note: told the path of each before anything is put there."""

    def __init__(self, root: Root, step: Callable[[], None], note: Callable[[str], None]) -> None:
        self._root = root
        self._step = step
        self._note = note
        self._open: dict[str, Folder] = {}
        self._made: list[tuple[int, str]] = []
        self._fds: list[int] = []

    def __enter__(self) -> Folders:
        return self

    def __exit__(self, *_: object) -> None:
        for parent, part in reversed(self._made):
            with suppress(OSError):
                os.rmdir(part, dir_fd=parent)
        for fd in self._fds:
            os.close(fd)

    def keep(self) -> None:
        """The directories made stay."""
        for parent, _ in self._made:
            with suppress(OSError):
                os.fsync(parent)
        self._made.clear()

    def open(self, name: str, *, make: bool) -> Folder:
        """The directory of this real name. Raises Failure(file_changed) where it is none any more."""
        if name not in self._open:
            self._open[name] = Folder(name, self._reach(name, make))
            path = fd_path(self._open[name].fd)
            if path is not None:
                self._note(path)
            self._open[name].enter()
        return self._open[name]

    def hold(self, folder: Folder) -> None:
        """Raises Failure(file_changed) where the directory is no longer at its place in the workspace."""
        if not self._root.holds(folder.fd, folder.name or HERE):
            raise _gone(folder.name)

    def _reach(self, name: str, make: bool) -> int:
        here = os.dup(self._root.fd)
        self._fds.append(here)
        for part in filter(None, name.split("/")):
            here = self._down(here, part, make)
            self._fds.append(here)
        # Of its own, since the root's descriptor is shared, and a lock with it.
        if not name:
            here = os.open(HERE, _DIRECTORY, dir_fd=here)
            self._fds.append(here)
        return here

    def _down(self, here: int, part: str, make: bool) -> int:
        try:
            return os.open(part, _DIRECTORY, dir_fd=here)
        except OSError as problem:
            missing = problem.errno == errno.ENOENT
            if problem.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) or (missing and not make):
                raise _gone(part) from None
            if not missing:
                raise
        self._step()
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=here)
            self._made.append((here, part))
        return self._down(here, part, make=False)


def _gone(name: str) -> Failure:
    return Failure(
        ErrorCode.FILE_CHANGED,
        f"the directory {shorten(name)} changed its place while the call ran; nothing was written. Call the tool again",
    )

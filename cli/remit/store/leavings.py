"""What a process would leave behind on disk if it were killed, written down so that a later one removes it.

Each process has a file of its own, which it holds locked as long as it lives: the system lets go of the lock
whatever ends the process, so that a file that can be locked tells of a dead one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

import msgspec

FOLDER = "leavings"
"""Below the state directory."""

MAX_FILES = 1000
MAX_FILE_BYTES = 1 << 20

Kind = Literal["unfinished", "private", "artifacts"]
"""unfinished: a directory in which files are written under names of our own before they take their place.
private: a directory that is ours alone. artifacts: one in which commands write, and may leave links."""


class Leaving(msgspec.Struct, frozen=True, array_like=True):
    """path: absolute and real. device, inode: of the directory when it was noted."""

    kind: Kind
    path: str
    device: int
    inode: int

    def is_there(self) -> bool:
        """Whether the very directory that was noted is still at its place."""
        try:
            info = os.lstat(self.path)
        except OSError:
            return False
        return (info.st_dev, info.st_ino) == (self.device, self.inode)


class Leavings:
    """Those of this process. Where they cannot be written down the run goes on without: it is no more than
    tidiness."""

    def __init__(self, state_dir: str) -> None:
        self._folder = os.path.join(state_dir, FOLDER)
        self._path = ""
        self._fd = -1
        self._noted: set[tuple[Kind, str]] = set()
        self._lock = threading.Lock()

    def note(self, kind: Kind, path: str) -> None:
        """Before something is put there. path: a directory, absolute and real."""
        with self._lock, suppress(OSError):
            if (kind, path) in self._noted:
                return
            info = os.lstat(path)
            if self._fd < 0:
                self._open()
            os.write(self._fd, msgspec.json.encode(Leaving(kind, path, info.st_dev, info.st_ino)) + b"\n")
            self._noted.add((kind, path))

    def close(self) -> None:
        """Nothing is left."""
        with self._lock:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                with suppress(OSError):
                    os.unlink(self._path)
                os.close(fd)

    def _open(self) -> None:
        import fcntl

        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        while True:
            path = os.path.join(self._folder, f"{os.getpid()}-{os.urandom(4).hex()}")
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
            except OSError:
                os.close(fd)
                os.unlink(path)
                raise
            if os.fstat(fd).st_nlink:
                self._path, self._fd = path, fd
                return
            # A process that swept had it before it was locked.
            os.close(fd)


def sweep(state_dir: str, remove: Mapping[Kind, Callable[[Leaving], None]]) -> None:
    """Remove what dead processes have left. remove: by kind; asked only where the directory is the one noted."""
    folder = os.path.join(state_dir, FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names[:MAX_FILES]:
        with suppress(OSError):
            _sweep(os.path.join(folder, name), remove)


def _sweep(path: str, remove: Mapping[Kind, Callable[[Leaving], None]]) -> None:
    import fcntl

    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # Raises where the process lives.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for line in os.read(fd, MAX_FILE_BYTES).splitlines():
            try:
                leaving = msgspec.json.decode(line, type=Leaving)
            except msgspec.DecodeError:
                continue
            if leaving.is_there():
                remove[leaving.kind](leaving)
        os.unlink(path)
    finally:
        os.close(fd)

"""The lock of a run directory: one process at a time owns a run, and lets go of it however it dies."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from remit.base.errors import RemitError, UsageFault
from remit.base.text import shorten
from remit.store.durable import environment_fault, telling

LOCK_FILE = "lock"

_MARK = b"remit "
_LOCK_TRIES = 10
_LOCK_PAUSE = 0.02


def take_lock(place: str, instead: str = "") -> tuple[int, bool]:
    """The lock of a run directory, and whether its file is new. instead: what else can be done but to wait. Raises
    UsageFault when it is held."""
    for _ in range(_LOCK_TRIES):
        fd, created = _open_lock(place)
        if _try_lock(fd, place):
            try:
                with telling(place, "write the lock file"):
                    _sign(fd, place)
            except RemitError:
                os.close(fd)
                raise
            return fd, created
        owner = _owner(fd)
        os.close(fd)
        # A reader of `remit runs` holds it shared for a moment; an owner holds it for good.
        time.sleep(_LOCK_PAUSE)
    raise UsageFault(
        f"the directory is in use by {owner}",
        where=place,
        hint=f"wait for that run to end{instead and f', or {instead}'}",
        kind="in_use",
    )


def in_use(path: str) -> bool:
    """Whether a living process owns the run directory."""
    import fcntl

    try:
        fd = os.open(os.path.join(path, LOCK_FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _open_lock(place: str) -> tuple[int, bool]:
    path = os.path.join(place, LOCK_FILE)
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    created = False
    try:
        try:
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            created = True
        except FileExistsError:
            fd = os.open(path, flags | os.O_CREAT, 0o666)
    except OSError as problem:
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise foreign(place, LOCK_FILE) from None
        raise environment_fault(problem, place, "write to the directory") from problem
    return fd, created


def _try_lock(fd: int, place: str) -> bool:
    """Lock it, and make sure that the file locked is the one that stands there."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:
        os.close(fd)
        raise environment_fault(problem, place, "lock the directory") from problem
    try:
        return os.path.samestat(os.fstat(fd), os.stat(os.path.join(place, LOCK_FILE), follow_symlinks=False))
    except FileNotFoundError:
        return False


def _sign(fd: int, place: str) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode) or os.pread(fd, len(_MARK), 0) not in {b"", _MARK}:
        raise foreign(place, LOCK_FILE)
    os.ftruncate(fd, 0)
    os.pwrite(fd, _MARK + b"%d\n" % os.getpid(), 0)


def _owner(fd: int) -> str:
    with suppress(OSError):
        words = os.pread(fd, 64, 0).decode("ascii", "replace").split()
        if len(words) == 2 and words[1].isdecimal():
            return f"process {words[1]}"
    return "another process"


def foreign(place: str, name: str) -> UsageFault:
    return UsageFault(
        f"{shorten(name)} there does not belong to a run, and a run would need that name",
        where=place,
        hint="choose another directory with -o DIR",
        kind="out_dir",
    )

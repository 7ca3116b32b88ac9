"""Writes that are whole or absent, and faults that tell what the file system said."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from remit.base.errors import EnvironmentFault

_FREE_SPACE = "free some space there, or choose another directory with -o DIR"
_KINDS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("disk_full", _FREE_SPACE),
    errno.EDQUOT: ("disk_full", "the disk quota is used up: " + _FREE_SPACE),
    errno.EFBIG: ("disk_full", "the file size limit of this process (ulimit -f) or file system is reached"),
    errno.EROFS: ("read_only", "the file system is mounted read-only: choose another directory with -o DIR"),
    errno.EIO: ("io_error", "the device reports an error: check it, and choose another directory with -o DIR"),
    errno.ESTALE: ("io_error", "the network file system is gone: mount it again, or choose another directory"),
    errno.EACCES: ("not_writable", "check owner and mode of the directory, or choose another with -o DIR"),
    errno.EPERM: ("not_writable", "check owner and mode of the directory, or choose another with -o DIR"),
    errno.EMFILE: ("too_many_files", "raise the limit of open files (ulimit -n)"),
    errno.ENFILE: ("too_many_files", "the system has too many files open"),
    errno.ENOMEM: ("no_memory", "free some memory, or raise the limit (ulimit -v, the container's)"),
}
_SCARCE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What the system may be out of at any call, wherever that stands."""

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def environment_fault(problem: OSError, path: str, doing: str) -> EnvironmentFault:
    """The fault for an operating system error. doing: what was tried, as in "write the journal"."""
    kind, hint = _KINDS.get(problem.errno or 0, ("io_error", ""))
    return EnvironmentFault(f"cannot {doing}: {problem.strerror or problem}", where=path, hint=hint, kind=kind)


def scarce_fault(error: BaseException) -> EnvironmentFault | None:
    """The fault for what the system ran out of where nobody looked for it; None for any other error."""
    if isinstance(error, OSError) and error.errno in _SCARCE:
        return environment_fault(error, str(error.filename or ""), "go on")
    if isinstance(error, MemoryError):
        return environment_fault(OSError(errno.ENOMEM, "out of memory"), "", "go on")
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        hint = "raise the limit of processes (ulimit -u, the container's)"
        return EnvironmentFault("cannot go on: no thread can be started", hint=hint, kind="too_many_processes")
    return None


@contextmanager
def telling(path: str, doing: str) -> Iterator[None]:
    """Turn an OSError inside of the block into the EnvironmentFault that names `path`."""
    try:
        yield
    except OSError as problem:
        raise environment_fault(problem, path, doing) from problem


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`: one write() unless the system takes less at once. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_data(fd: int) -> None:
    """Make what was written durable; of the file's own facts its size alone. Raises OSError."""
    if sys.platform == "linux":
        os.fdatasync(fd)
    else:
        os.fsync(fd)


def sync_directory(path: str) -> None:
    """Make the names in a directory durable. Raises OSError."""
    fd = os.open(path, DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def overwrite_file(directory: int, name: str, data: bytes) -> None:
    """Put `data` into the file at `name` where it takes no more of a full disk than the file has already. Readers
    may see it half written, for a moment. Raises OSError: ENOSPC where it does not fit."""
    fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or len(data) > found.st_blocks * 512:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        write_all(fd, data)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    finally:
        os.close(fd)


def replace_file(
    directory: int,
    name: str,
    data: bytes,
    *,
    via: int | None = None,
    temporary: str = "",
    mode: int = 0o666,
    sync: bool = True,
) -> None:
    """Put `data` at `name` in the directory (a descriptor): whole or not at all, and durable with `sync`.

    via: the directory of the temporary file, on the same file system; default `directory`.
    A link at `name` is replaced, not followed. Raises OSError.
    """
    via = directory if via is None else via
    temporary = temporary or f".{name}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=via)
    fd = os.open(temporary, NEW_FILE, mode, dir_fd=via)
    try:
        try:
            write_all(fd, data)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, name, src_dir_fd=via, dst_dir_fd=directory)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=via)
        raise
    if sync:
        os.fsync(directory)

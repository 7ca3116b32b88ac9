"""Opening names beneath a directory descriptor, so that no link leads out, at no instant.

Two openers with the same answers: the kernel's own containment, and a walk over the parts of a
name for systems without it. Both raise OSError: EXDEV for what leaves, ELOOP for a loop of links.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Protocol

PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
"""Flags that find a file without opening it, where the system can."""

_FOLDER = PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_LINKS = 40
_MAX_RETRIES = 64

Openat2 = Callable[[int, bytes, int], int]
"""(directory fd, name, flags) -> a new fd, or the negative errno."""

FdPath = Callable[[int], str | None]
"""The absolute path of what a descriptor is open on now, or None where the system cannot tell."""


class Opener(Protocol):
    def open(self, root: int, name: str, flags: int) -> int:
        """A new descriptor of `name`, found beneath the directory `root`; links that stay are followed."""
        ...


def fd_path(fd: int) -> str | None:
    """The path of an open descriptor by /proc, or by F_GETPATH where there is no /proc."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{fd}")
    return _getpath(fd)


def _getpath(fd: int) -> str | None:
    import fcntl  # only systems without /proc come here

    command: int | None = getattr(fcntl, "F_GETPATH", None)
    if command is None:
        return None
    with suppress(OSError):
        return os.fsdecode(fcntl.fcntl(fd, command, bytes(1024)).rstrip(b"\0"))
    return None


def relative_to(top: str, path: str) -> str | None:
    """`path` as a name below `top` ("." for itself), or None when it lies elsewhere. Both absolute."""
    if path == top:
        return "."
    prefix = top.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


class KernelOpener:
    """openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS (Linux 5.6 and later).

    Where the call is missing or forbidden, the steps do its work. They also get what the kernel
    calls an escape: it refuses every absolute link, also those whose target lies inside.
    """

    def __init__(self, openat2: Openat2 | None = None, fallback: Opener | None = None) -> None:
        self._openat2 = openat2
        self._fallback = fallback or StepOpener()

    def open(self, root: int, name: str, flags: int) -> int:
        raw = os.fsencode(name)
        openat2 = self._openat2 or _openat2()
        for _ in range(_MAX_RETRIES):
            answer = openat2(root, raw, flags)
            if answer >= 0:
                return answer
            if answer in (-errno.EAGAIN, -errno.EINTR):
                continue
            if answer in (-errno.ENOSYS, -errno.EPERM, -errno.EXDEV):
                break
            raise OSError(-answer, os.strerror(-answer), name)
        return self._fallback.open(root, name, flags)


@cache
def _openat2() -> Openat2:
    if not sys.platform.startswith("linux"):
        return lambda root, name, flags: -errno.ENOSYS
    import ctypes  # a cost for runs that open a file, and no others

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    number, beneath, no_magiclinks = 437, 0x08, 0x02

    def openat2(root: int, name: bytes, flags: int) -> int:
        how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, beneath | no_magiclinks)
        fd: int = libc.syscall(number, root, name, how, len(how))
        return fd if fd >= 0 else -ctypes.get_errno()

    return openat2


class StepOpener:
    """Part by part with O_NOFOLLOW on each step; links are read and followed by hand inside the root."""

    def __init__(self, path_of: FdPath = fd_path) -> None:
        self._path_of = path_of

    def open(self, root: int, name: str, flags: int) -> int:
        with _Steps(root, name, self._path_of) as steps:
            return steps.open(flags)

    def resolve(self, root: int, name: str) -> str:
        """The name behind all links. What does not exist is named through its deepest existing parent."""
        with _Steps(root, name, self._path_of) as steps:
            return steps.resolve()


class _Steps:
    """One walk. `here` is the directory reached, `real` its name, `pending` the parts to go, last first."""

    def __init__(self, root: int, name: str, path_of: FdPath) -> None:
        self._root = root
        self._path_of = path_of
        self._here = os.dup(root)
        self._real: list[str] = []
        self._pending = name.split("/")[::-1]
        self._part = "."
        self._links = 0

    def __enter__(self) -> _Steps:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._here)

    def open(self, flags: int) -> int:
        while True:
            last = self._to_last()
            try:
                fd = os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._here)
            except OSError as problem:
                if problem.errno not in (errno.ELOOP, errno.EMLINK):
                    raise
            else:
                if not stat.S_ISLNK(os.fstat(fd).st_mode):
                    return fd
                os.close(fd)
            # The part became a link between reading and opening it: read it again.
            self._again(last)

    def resolve(self) -> str:
        try:
            last = self._to_last()
        except OSError as problem:
            if problem.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
                raise
            return self._lexically([self._part, *reversed(self._pending)])
        return self._lexically([last])

    def _to_last(self) -> str:
        """Go on until one part is left that is no link: that part, or "." for the directory reached."""
        while self._pending:
            self._part = part = self._pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                self._up()
                continue
            target = self._target(part)
            if target is not None:
                self._follow(target)
            elif self._pending:
                self._down(part)
            else:
                return part
        return "."

    def _target(self, part: str) -> str | None:
        try:
            return os.readlink(part, dir_fd=self._here)
        except OSError as problem:
            if problem.errno == errno.EINVAL:
                return None
            raise

    def _follow(self, target: str) -> None:
        self._count_link()
        if target.startswith("/"):
            top = self._path_of(self._root)
            inner = relative_to(top, target) if top else None
            if inner is None:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), target)
            self._restart([])
            target = inner
        self._pending.extend(reversed(target.split("/")))

    def _again(self, part: str) -> None:
        self._count_link()
        self._pending.append(part)

    def _count_link(self) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._part)

    def _down(self, part: str) -> None:
        try:
            below = os.open(part, _FOLDER, dir_fd=self._here)
        except OSError as problem:
            if problem.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
                raise
            mode = os.stat(part, dir_fd=self._here, follow_symlinks=False).st_mode
            if not (stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
                raise
            # It became a link between reading and opening it, and may be a directory again by now.
            self._again(part)
            return
        os.close(self._here)
        self._here = below
        self._real.append(part)

    def _up(self) -> None:
        if not self._real:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), "..")
        self._restart(self._real[:-1])

    def _restart(self, parts: list[str]) -> None:
        """Stand in this directory of real parts, reached anew from the root."""
        here = os.dup(self._root)
        for part in parts:
            try:
                below = os.open(part, _FOLDER, dir_fd=here)
            finally:
                os.close(here)
            here = below
        os.close(self._here)
        self._here, self._real = here, list(parts)

    def _lexically(self, rest: list[str]) -> str:
        parts = list(self._real)
        for part in rest:
            if part in ("", "."):
                continue
            if part != "..":
                parts.append(part)
            elif parts:
                parts.pop()
            else:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), "..")
        return "/".join(parts) or "."

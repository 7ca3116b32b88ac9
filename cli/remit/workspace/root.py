"""The workspace as one open directory. Every file of it is found from this descriptor, never by its path."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from remit.base.errors import ErrorCode, Failure, UsageFault
from remit.base.text import shorten
from remit.workspace.beneath import PATH_ONLY, FdPath, KernelOpener, Opener, StepOpener, fd_path, relative_to
from remit.workspace.names import HERE, join, normalise

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EACCES)
_SYSTEM = ("proc/", "sys/", "dev/")
"""Below the root directory, trees whose files are no files: a workspace that is all of the disk ends there."""

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_REFUSALS = {
    errno.ENOENT: (ErrorCode.NOT_FOUND, "does not exist in the workspace; list_files shows what does"),
    errno.ENOTDIR: (ErrorCode.NOT_A_DIRECTORY, "runs through a part that is not a directory"),
    errno.EXDEV: (ErrorCode.PATH_REFUSED, "leads out of the workspace through a link; only what lies inside is open"),
    errno.ENXIO: (ErrorCode.PATH_REFUSED, "belongs to the system, not to a workspace"),
    errno.ELOOP: (ErrorCode.PATH_REFUSED, "runs through a loop of links, or a link that may not be followed"),
    errno.ENAMETOOLONG: (ErrorCode.PATH_REFUSED, "is too long for the file system"),
    errno.EACCES: (ErrorCode.IO_ERROR, "may not be {done}: permission denied by the file system"),
    errno.ESTALE: (ErrorCode.FILE_CHANGED, "changed while it was looked at; try again"),
}

Done = Literal["read", "changed"]
"""What is done to a file, in the words of a refusal."""


class Found(NamedTuple):
    """What a name leads to. real: workspace-relative, behind all links."""

    real: str
    info: os.stat_result

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.info.st_mode)

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.info.st_mode)


class Root:
    """A workspace directory, open until closed. Names are workspace-relative POSIX, "." the workspace.

    beside: further directories that are read, whose names begin with their real absolute paths; what is no directory
    is passed over. opener, path_of: the system's parts; the defaults fit the platform. All methods raise Failure:
    path_refused for what leads out, not_found, not_a_directory, not_a_file, io_error, file_changed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        beside: Sequence[str] = (),
        opener: Opener | None = None,
        path_of: FdPath = fd_path,
    ) -> None:
        self._opener = opener or KernelOpener()
        self._steps = StepOpener(path_of)
        self._path_of = path_of
        self._spelled = os.path.abspath(path)
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as problem:
            raise UsageFault(
                f"the workspace {os.fspath(path)!r} cannot be opened: {problem.strerror}",
                hint="name an existing directory that you may read",
            ) from None
        self._beside: dict[str, Root] = {}
        for spelled in beside:
            top = os.path.realpath(spelled)
            if os.path.isdir(top) and top not in self._beside:
                self._beside[top] = Root(top, opener=opener, path_of=path_of)
        self._spellings = {os.path.abspath(spelled): os.path.realpath(spelled) for spelled in beside}

    @property
    def beside(self) -> Sequence[tuple[str, int]]:
        """The further directories, and their descriptors."""
        return [(top, root.fd) for top, root in self._beside.items()]

    def close(self) -> None:
        """Give the descriptors back. Those handed out stay open."""
        for other in self._beside.values():
            other.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def relative(self, spelled: str) -> str:
        """An absolute path below the workspace, by its given or its real spelling, as a name in it; any
        other spelling as it is. Raises Failure(path_refused) for an absolute path elsewhere."""
        if not spelled.startswith("/"):
            return spelled
        path = re.sub("/+", "/", spelled)
        for top in (self._spelled, self._path_of(self.fd) or self._spelled):
            name = relative_to(top, path if path == "/" else path.rstrip("/"))
            if name is not None:
                return name
        for spelling, real in (*self._spellings.items(), *((top, top) for top in self._beside)):
            name = relative_to(spelling, path.rstrip("/") or "/")
            if name is not None and real in self._beside:
                return _below(real, name)
        raise Failure(
            ErrorCode.PATH_REFUSED,
            f"path {shorten(spelled)} lies outside of the workspace, and no rule lets it be used; "
            "name one inside, relative to that, as 'docs/report.md'",
        )

    def named(self, spelled: str) -> str:
        """A name as it is spelled by rule. Raises Failure(path_refused) as names.normalise does."""
        for top in self._beside if spelled.startswith("/") else ():
            inner = relative_to(top, spelled)
            if inner is not None:
                inner = normalise(inner)
                return _below(top, inner)
        return normalise(spelled)

    def _home(self, name: str) -> tuple[Root, str, str]:
        """The directory that a name lies in, its name there, and what goes before that: "" in the workspace."""
        if not name.startswith("/"):
            return self, name, ""
        for top, other in self._beside.items():
            inner = relative_to(top, name)
            if inner is not None:
                return other, inner, top
        raise OSError(errno.EXDEV, "elsewhere", name)

    def holds(self, fd: int, name: str) -> bool:
        """Whether a directory's descriptor is still reached by this real name; True where the system
        cannot tell."""
        top, path = self._path_of(self.fd), self._path_of(fd)
        return top is None or path is None or relative_to(top, path) == name

    def look(self, name: str) -> Found:
        """What is there, without opening it for reading."""
        with _told(name):
            home, inner, top = self._home(name)
            return _outward(top, home._look(inner))

    def resolve(self, name: str) -> str:
        """The real name behind all links; of what does not exist, through its deepest existing parent."""
        with _told(name):
            home, inner, top = self._home(name)
            return _below(top, home._resolve(inner))

    def _resolve(self, name: str) -> str:
        try:
            return self._look(name).real
        except OSError as problem:
            if problem.errno not in _ABSENT:
                raise
        return self._ours(self._path_of(self.fd), self._steps.resolve(self.fd, name))

    def open_file(self, name: str, done: Done = "read") -> tuple[int, Found]:
        """A regular file for reading; the caller closes the descriptor. Never waits, opens no device.
        done: to the file in the end."""
        with _told(name, done):
            home, inner, top = self._home(name)
            # Looked at first: already opening a pipe or a device would be felt at its other end.
            _regular(name, home._look(inner), done)
            fd, found = home._open(inner, _READ)
            try:
                _regular(name, found, done)
            except Failure:
                os.close(fd)
                raise
            return fd, _outward(top, found)

    def open_directory(self, name: str) -> tuple[int, Found]:
        """A directory for listing; the caller closes the descriptor."""
        with _told(name):
            home, inner, top = self._home(name)
            fd, found = home._open(inner, _READ | os.O_DIRECTORY)
            return fd, _outward(top, found)

    def _look(self, name: str) -> Found:
        fd = self._opener.open(self.fd, name, PATH_ONLY)
        try:
            return self._found(fd, name)
        finally:
            os.close(fd)

    def _open(self, name: str, flags: int) -> tuple[int, Found]:
        fd = self._opener.open(self.fd, name, flags)
        try:
            return fd, self._found(fd, name)
        except OSError:
            os.close(fd)
            raise

    def _found(self, fd: int, name: str) -> Found:
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode) and info.st_nlink == 0:
            raise OSError(errno.ESTALE, "deleted", name)
        return Found(self._real(fd, info, name), info)

    def _real(self, fd: int, info: os.stat_result, name: str) -> str:
        top, path = self._path_of(self.fd), self._path_of(fd)
        if top is None or path is None:
            return self._same(self._steps.resolve(self.fd, name), info)
        real = relative_to(top, path)
        if real is None:
            raise OSError(errno.EXDEV, "moved out", name)
        self._ours(top, real)
        # The system marks a name that is gone by this very text, which may also be a true name's end.
        return self._same(real, info) if real.endswith(" (deleted)") else real

    @staticmethod
    def _ours(top: str | None, real: str) -> str:
        if top == "/" and f"{real}/".startswith(_SYSTEM):
            raise OSError(errno.ENXIO, "no file", real)
        return real

    def _same(self, real: str, info: os.stat_result) -> str:
        """`real`, once it is certain that this very name, without links, is the file with these facts."""
        fd = self._steps.open(self.fd, real, PATH_ONLY)
        try:
            same = os.path.samestat(os.fstat(fd), info)
        finally:
            os.close(fd)
        if same and self._steps.resolve(self.fd, real) == real:
            return real
        raise OSError(errno.ESTALE, "changed", real)


def _below(top: str, name: str) -> str:
    """A name in a further directory as one of the whole; top "": of the workspace."""
    if not top:
        return name
    return top if name == HERE else join(top.rstrip("/"), name)


def _outward(top: str, found: Found) -> Found:
    return found._replace(real=_below(top, found.real)) if top else found


def _regular(name: str, found: Found, done: Done) -> None:
    if found.is_file:
        return
    kind = _KINDS.get(stat.S_IFMT(found.info.st_mode), "not a regular file")
    raise Failure(ErrorCode.NOT_A_FILE, f"{shorten(name)} is {kind}; only regular files are {done}")


@contextmanager
def _told(name: str, done: Done = "read") -> Iterator[None]:
    """Refusals of the system in the words of the model."""
    try:
        yield
    except OSError as problem:
        raise _refusal(problem, name, done) from None


def _refusal(problem: OSError, name: str, done: Done) -> Failure:
    code, why = _REFUSALS.get(problem.errno or 0, (ErrorCode.IO_ERROR, f"cannot be {{done}}: {problem.strerror}"))
    return Failure(code, f"{shorten(name)} {why.format(done=done)}")

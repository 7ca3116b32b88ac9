"""Replacing files, all of them or none, so that each is whole at every instant.

New contents are written beside their targets, under names of their own; then each target is checked to be
as it was read, its old state is kept under another name, and the new one takes its place by one rename.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Change
from remit.base.text import shorten
from remit.workspace.folders import Folder, Folders
from remit.workspace.root import Root
from remit.workspace.steady import identity_of, mark_of

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
"""How file systems say that they give a file no second name."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class _Item(msgspec.Struct):
    """One change on its way. temporary: name of the new content, until it is in place. kept: name of the
    old state, until all is done. ours: inode of the new file. placed: whether the target is changed."""

    change: Change
    folder: Folder
    base: str
    temporary: str = ""
    kept: str = ""
    ours: int = 0
    mark: str = ""
    placed: bool = False

    @property
    def name(self) -> str:
        return self.change.original.name


def _nothing(*_: object) -> None:
    """The step of a publication that nobody watches, and a note that nobody takes."""


class Publication:
    """One set of changes. step: runs before each touch of the file system; what it raises is undone like
    any other failure. note: told each directory, absolute and real, before a file of ours is put there."""

    def __init__(
        self,
        root: Root,
        changes: Sequence[Change],
        check: Callable[[], None],
        step: Callable[[], None] = _nothing,
        note: Callable[[str], None] = _nothing,
    ) -> None:
        # Removed last: whoever dies in the middle of a move leaves the file twice rather than not at all.
        self._changes = sorted(changes, key=lambda change: change.content is None)
        self._order = changes
        self._check = check
        self._step = step
        self._folders = Folders(root, step, note)
        self._items: list[_Item] = []

    def run(self) -> tuple[str, ...]:
        """The marks of the new states, in the order of the changes."""
        try:
            with self._folders:
                return self._run()
        except OSError as problem:
            raise self._told(problem) from None

    def _run(self) -> tuple[str, ...]:
        try:
            for change in self._changes:
                self._prepare(change)
            self._check()
            for item in self._items:
                self._verify(item)
            for item in self._items:
                self._place(item)
        except BaseException as problem:
            lost = self._undo()
            if lost:
                raise Failure(ErrorCode.IO_ERROR, f"{problem}; and not all could be put back: {lost}") from problem
            raise
        self._settle()
        marks = {id(item.change): item.mark for item in self._items}
        return tuple(marks[id(change)] for change in self._order)

    # -- before anything is touched ------------------------------------------------------------

    def _prepare(self, change: Change) -> None:
        parent, base = posixpath.split(change.original.real)
        folder = self._folders.open(parent, make=change.original.content is None)
        item = _Item(change, folder, base)
        self._items.append(item)
        if change.original.content is not None:
            _writable(item)
        if change.content is not None:
            self._write(item, change.content)

    def _write(self, item: _Item, content: bytes) -> None:
        """The new content under a name of its own, on disk."""
        old = item.change.original
        mode = item.change.mode if old.content is None else old.mode
        self._step()
        item.temporary = item.folder.unused_name()
        fd = os.open(item.temporary, _NEW, 0o666 if mode is None else 0o600, dir_fd=item.folder.fd)
        try:
            view = memoryview(content)
            while view:
                self._step()
                view = view[os.write(fd, view) :]
            if mode is not None:
                _take_over(fd, item, mode)
            self._step()
            os.fsync(fd)
            info = os.fstat(fd)
            item.ours, item.mark = info.st_ino, mark_of(info)
        finally:
            os.close(fd)

    def _verify(self, item: _Item) -> None:
        """Raises Failure(file_changed, already_exists) unless the target is as it was read."""
        self._folders.hold(item.folder)
        info = item.folder.look(item.base)
        if item.change.original.content is None:
            if info is not None:
                raise _appeared(item)
        elif info is None or (identity_of(info) != item.change.original.identity and not _alike(item, info)):
            raise _changed(item)

    # -- the swap ------------------------------------------------------------------------------

    def _place(self, item: _Item) -> None:
        fd = item.folder.fd
        if item.change.original.content is None:
            self._create(item)
            return
        self._keep(item)
        self._step()
        if item.change.content is None:
            os.unlink(item.base, dir_fd=fd)
        else:
            os.rename(item.temporary, item.base, src_dir_fd=fd, dst_dir_fd=fd)
            item.temporary = ""
        item.placed = True

    def _create(self, item: _Item) -> None:
        """A new file takes its place only where there is still nothing."""
        fd = item.folder.fd
        self._step()
        try:
            os.link(item.temporary, item.base, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
        except FileExistsError:
            raise _appeared(item) from None
        except OSError as problem:
            if problem.errno not in _NO_LINKS:
                raise
            if item.folder.look(item.base) is not None:
                raise _appeared(item) from None
            os.rename(item.temporary, item.base, src_dir_fd=fd, dst_dir_fd=fd)
            item.temporary = ""
        item.placed = True

    def _keep(self, item: _Item) -> None:
        """A second name for the old state, which by then is certain to be the one that was read."""
        fd = item.folder.fd
        self._step()
        kept = item.folder.unused_name()
        try:
            os.link(item.base, kept, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            raise _changed(item) from None
        except OSError as problem:
            if problem.errno not in _NO_LINKS:
                raise
            return
        item.kept = kept
        info = item.folder.look(kept)
        # The second name alone has changed when the file's facts last changed.
        if info is None or identity_of(info)[:4] != item.change.original.identity[:4]:
            raise _changed(item)

    # -- the end -------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Done: the new states on disk, and nothing of ours beside them. From here on nothing fails."""
        self._folders.keep()
        for item in self._items:
            item.folder.sync()
        self._clear()

    def _clear(self) -> None:
        for item in self._items:
            for name in filter(None, (item.temporary, item.kept)):
                with suppress(OSError):
                    os.unlink(name, dir_fd=item.folder.fd)

    def _undo(self) -> str:
        """Put back what was changed, last first; what could not be, in words."""
        lost = []
        for item in reversed(self._items):
            if not item.placed:
                continue
            try:
                self._put_back(item)
            except OSError as problem:
                lost.append(f"{shorten(item.name)} ({problem.strerror}){_saved(item)}")
        self._clear()
        return ", ".join(lost)

    def _put_back(self, item: _Item) -> None:
        fd, old = item.folder.fd, item.change.original
        info = item.folder.look(item.base)
        if (info.st_ino if info else 0) != (item.ours if item.change.content is not None else 0):
            # Someone else has written there since: theirs is the file now.
            return
        if old.content is None:
            os.unlink(item.base, dir_fd=fd)
        elif item.kept:
            os.rename(item.kept, item.base, src_dir_fd=fd, dst_dir_fd=fd)
            item.kept = ""
        else:
            again = item.folder.unused_name()
            with os.fdopen(os.open(again, _NEW, 0o600, dir_fd=fd), "wb") as file:
                file.write(old.content)
                os.fchmod(file.fileno(), old.mode)
            os.rename(again, item.base, src_dir_fd=fd, dst_dir_fd=fd)

    def _told(self, problem: OSError) -> Failure:
        names = ", ".join(shorten(change.original.name) for change in self._order)
        return Failure(ErrorCode.IO_ERROR, f"{names}: nothing was changed: {problem.strerror or problem}")


def _alike(item: _Item, info: os.stat_result) -> bool:
    """Whether a file whose facts changed is the same nonetheless: a second name came or went, as those of
    killed publications do."""
    old = item.change.original
    if identity_of(info)[:4] != old.identity[:4] or stat.S_IMODE(info.st_mode) != old.mode:
        return False
    fd = os.open(item.base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=item.folder.fd)
    with os.fdopen(fd, "rb") as file:
        return file.read(len(old.content or b"") + 1) == old.content


def _writable(item: _Item) -> None:
    """Raises Failure(io_error) for a file that the file system lets none of us write."""
    effective = os.access in os.supports_effective_ids
    if os.access(item.base, os.W_OK, dir_fd=item.folder.fd, effective_ids=effective):
        return
    if item.folder.look(item.base) is None:
        raise _changed(item)
    raise Failure(ErrorCode.IO_ERROR, f"{shorten(item.name)} is read-only in the file system; nothing was changed")


def _take_over(fd: int, item: _Item, mode: int) -> None:
    """Owner, attributes and mode of the old file, as far as the system lets us."""
    info = item.folder.look(item.base) if item.change.original.content is not None else None
    ours = os.fstat(fd)
    if info is not None and (info.st_uid, info.st_gid) != (ours.st_uid, ours.st_gid):
        try:
            os.fchown(fd, info.st_uid, info.st_gid)
        except PermissionError:
            # A program must not run with the rights of another owner than before.
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
    if info is not None:
        with suppress(OSError):
            _copy_attributes(fd, item)
    os.fchmod(fd, mode)


def _copy_attributes(fd: int, item: _Item) -> None:
    if sys.platform != "linux":
        return
    old = os.open(item.base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=item.folder.fd)
    try:
        for name in os.listxattr(old):
            # What the system itself puts on a file, such as capabilities, was meant for the old content.
            if name.startswith("security."):
                continue
            with suppress(OSError):
                os.setxattr(fd, name, os.getxattr(old, name))
    finally:
        os.close(old)


def _saved(item: _Item) -> str:
    """The old state goes to a name that no later publication clears away."""
    if not item.kept:
        return ""
    safe = item.kept.removesuffix(".tmp") + ".kept"
    with suppress(OSError):
        os.rename(item.kept, safe, src_dir_fd=item.folder.fd, dst_dir_fd=item.folder.fd)
        item.kept = ""
    return f", its former content is beside it in {item.kept or safe}"


def _changed(item: _Item) -> Failure:
    return Failure(
        ErrorCode.FILE_CHANGED,
        f"{shorten(item.name)} changed after it was read for this call; nothing was written. Read it again first",
    )


def _appeared(item: _Item) -> Failure:
    return Failure(
        ErrorCode.ALREADY_EXISTS,
        f"{shorten(item.name)} came into being while this call ran; nothing was written. Read it first",
    )

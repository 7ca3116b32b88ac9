"""What commands leave in the directory of artifacts beside plain files.

Whoever uploads or copies that directory follows a link in it with rights that the command did not have, and waits for
ever on a pipe. So only files and directories of files stay there.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress

from remit.base.text import visible
from remit.store.durable import DIRECTORY

MAX_ENTRIES = 10_000
"""Looked at in one go, so that no command can make this last."""
MAX_DEPTH = 32

MAX_SHOWN = 200
"""Characters of a name."""


def clear_links(directory: int) -> Iterator[str]:
    """Remove all that is neither file nor directory below this one (a descriptor), one sentence for each. What is too
    large or too deep to be looked through goes whole. Raises OSError."""
    yield from _Clearing().below(directory, "", 0)


class _Clearing:
    def __init__(self) -> None:
        self._left = MAX_ENTRIES

    def below(self, directory: int, above: str, depth: int) -> Iterator[str]:
        for name in sorted(os.listdir(directory)):
            self._left -= 1
            shown = f"{above}{name}"
            with suppress(FileNotFoundError):
                mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    yield from self._folder(directory, name, shown, depth + 1)
                elif not stat.S_ISREG(mode):
                    yield _removed(shown, _kind(mode, directory, name))
                    os.unlink(name, dir_fd=directory)

    def _folder(self, directory: int, name: str, shown: str, depth: int) -> Iterator[str]:
        if depth > MAX_DEPTH or self._left <= 0:
            yield _removed(shown, f"more than {MAX_ENTRIES:,} entries, or {MAX_DEPTH} levels")
            shutil.rmtree(name, ignore_errors=True, dir_fd=directory)
            return
        try:
            folder = _opened(directory, name)
        except OSError as problem:
            yield f"{_shown(shown)} among the artifacts cannot be looked through: {problem.strerror}"
            return
        try:
            yield from self.below(folder, f"{shown}/", depth)
        finally:
            os.close(folder)


def _opened(directory: int, name: str) -> int:
    """A directory of ours, whatever rights it gives. Raises OSError, for a link too."""
    try:
        return os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    except PermissionError:
        _open_up(directory, name)
        return os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)


def _open_up(directory: int, name: str) -> None:
    """Give us all rights of a directory. By a descriptor, where the system has one without rights: another command may
    put a link in its place meanwhile."""
    if sys.platform != "linux":
        os.chmod(name, 0o700, dir_fd=directory, follow_symlinks=False)
        return
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)


def _kind(mode: int, directory: int, name: str) -> str:
    if stat.S_ISLNK(mode):
        return f"a link to {_shown(os.readlink(name, dir_fd=directory))}"
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def _shown(name: str) -> str:
    return visible(name[:MAX_SHOWN])


def _removed(name: str, what: str) -> str:
    return f"{_shown(name)} was removed from the artifacts, which are files: it was {what}"

"""Files that the rules withhold, told by what they are: a hard link is one more name of the very same file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.base.text import scrub, shorten
from remit.workspace.walk import EntryAllowed

MAX_ENTRIES = 200_000
"""Entries of the workspace that are asked about. What a larger one withholds beyond is known by its names alone."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class WithheldFiles:
    """The files below a workspace's descriptor whose names `allowed` refuses. They are looked for when the first file
    of several names is asked about, and not again: one object is for one call. beside: further directories and their
    descriptors, whose files have names that begin with theirs."""

    def __init__(
        self, fd: int, allowed: EntryAllowed, most: int = MAX_ENTRIES, beside: Sequence[tuple[str, int]] = ()
    ) -> None:
        self._tops = (("", fd), *beside)
        self._allowed = allowed
        self._most = most
        self._found: frozenset[tuple[int, int]] | None = None

    def __contains__(self, info: os.stat_result) -> bool:
        if info.st_nlink < 2 or not stat.S_ISREG(info.st_mode):
            return False
        if self._found is None:
            self._found = frozenset(self._search())
        return (info.st_dev, info.st_ino) in self._found

    def refuse(self, name: str, info: os.stat_result) -> None:
        """Raises Failure(denied) for one of them, whatever it is called here."""
        if info in self:
            raise Failure(
                ErrorCode.DENIED, f"{shorten(name)} is a hard link to a file that a rule withholds under another name"
            )

    def _search(self) -> Iterator[tuple[int, int]]:
        left = self._most
        pending = [("", top, fd) for top, fd in self._tops]
        while pending:
            below, top, above = pending.pop()
            with suppress(OSError), _listed(below, above) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    name = f"{below}/{entry.name}" if below else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((name, top, above))
                    elif entry.is_file(follow_symlinks=False) and not self._shown(f"{top}/{name}" if top else name):
                        info = entry.stat(follow_symlinks=False)
                        if info.st_nlink > 1:
                            yield info.st_dev, info.st_ino

    def _shown(self, name: str) -> bool:
        shown = scrub(name)
        return self._allowed(Resource("path", shown, Effect.READ, real=shown))


@contextmanager
def _listed(name: str, above: int) -> Iterator[Iterator[os.DirEntry[str]]]:
    fd = os.open(name or ".", _FOLDER, dir_fd=above)
    try:
        with os.scandir(fd) as entries:
            yield entries
    finally:
        os.close(fd)

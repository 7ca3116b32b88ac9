"""The ground of a search: one declared tree, opened beneath the workspace."""

from __future__ import annotations

import os
from typing import BinaryIO

from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.base.text import scrub, shorten
from remit.workspace.credentials import looks_like_credentials
from remit.workspace.hard_links import WithheldFiles
from remit.workspace.names import HERE, is_clean, join
from remit.workspace.root import Found, Root
from remit.workspace.walk import EntryAllowed


class TreeGround:
    """base.ports.Ground. raw: the tree's name as the file system has it."""

    def __init__(
        self, root: Root, tree: Resource, raw: str, allowed: EntryAllowed, withheld: WithheldFiles | None = None
    ) -> None:
        """Raises Failure when the tree is no directory, or leads elsewhere than policy saw."""
        self.name = tree.name
        self._root = root
        self._raw = raw
        self._allowed = allowed
        self._withheld = withheld or WithheldFiles(root.fd, allowed)
        self._judged: dict[str, bool] = {}
        self.fd, found = root.open_directory(raw)
        self._real = found.real
        try:
            if scrub(found.real) != tree.real:
                raise _moved(tree.name)
        except Failure:
            self.close()
            raise

    def __enter__(self) -> TreeGround:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def shows(self, name: str) -> bool:
        """Whether an entry may be shown: no credential file, and no rule withholds it."""
        known = self._judged.get(name)
        if known is None:
            known = self._judged[name] = self._judge(name)
        return known

    def _judge(self, name: str) -> bool:
        shown = scrub(join(self.name, name))
        real = shown if self.name == self._real else scrub(join(self._real, name))
        if looks_like_credentials(shown) or (real is not shown and looks_like_credentials(real)):
            return False
        return self._allowed(Resource("path", shown, Effect.READ, real=real)) and not self._linked(name)

    def _linked(self, name: str) -> bool:
        """Whether it is one more name of a file that is withheld."""
        try:
            info = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except (OSError, ValueError):
            return False
        return info in self._withheld

    def open(self, name: str) -> BinaryIO:
        """A regular file below, itself and not through a link."""
        self._check(name)
        fd, found = self._root.open_file(join(self._raw, name))
        self._hold(fd, found, name)
        return os.fdopen(fd, "rb")

    def open_directory(self, name: str) -> int:
        """A directory below, itself and not through a link; the caller closes the descriptor."""
        if name == HERE:
            return os.dup(self.fd)
        self._check(name)
        fd, found = self._root.open_directory(join(self._raw, name))
        self._hold(fd, found, name)
        return fd

    def _check(self, name: str) -> None:
        if not is_clean(name):
            raise Failure(ErrorCode.UNDECLARED, f"{shorten(scrub(name))} is no name below {shorten(self.name)}")

    def _hold(self, fd: int, found: Found, name: str) -> None:
        if found.real != join(self._real, name):
            os.close(fd)
            raise _moved(join(self.name, name))
        try:
            self._withheld.refuse(scrub(join(self.name, name)), found.info)
        except Failure:
            os.close(fd)
            raise


def _moved(name: str) -> Failure:
    return Failure(
        ErrorCode.FILE_CHANGED,
        f"{shorten(scrub(name))} leads elsewhere than when the rules were asked; call the tool again",
    )

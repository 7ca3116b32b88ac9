"""The grant of a call on files: exactly the paths and trees that policy saw, and what they were then."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Entry, Ground, Original
from remit.base.resources import Effect, Resource
from remit.base.text import scrub, shorten
from remit.workspace.hard_links import WithheldFiles
from remit.workspace.names import below, is_clean
from remit.workspace.root import Found, Root
from remit.workspace.steady import read_steady
from remit.workspace.walk import EntryAllowed, TreeWalk, entry_of


class FilesGrant:
    """base.ports.Files for the declared `path` and `tree` resources that are read.

    A declared name must lead to the real path policy saw, else Failure(file_changed). What lies
    below a declared tree must be allowed by `entry_allowed` under both its names, else
    Failure(denied), and so must all names that a file has in the workspace by hard links. Anything else:
    Failure(undeclared).
    """

    def __init__(self, root: Root, resources: Sequence[Resource], entry_allowed: EntryAllowed) -> None:
        read = [resource for resource in resources if resource.effect is Effect.READ]
        self._root = root
        self._allowed = entry_allowed
        self._withheld = WithheldFiles(root.fd, entry_allowed, beside=root.beside)
        self._paths = {resource.name: resource for resource in read if resource.kind == "path"}
        self._trees = {resource.name: resource for resource in read if resource.kind == "tree"}
        self._aliases: dict[str, str] = {}

    def open(self, name: str) -> BinaryIO:
        """A regular file for reading bytes; the caller closes it."""
        key, raw = self._named(name)
        fd, found = self._root.open_file(raw)
        try:
            self._hold(key, found)
        except Failure:
            os.close(fd)
            raise
        return os.fdopen(fd, "rb")

    def read(self, name: str, max_bytes: int) -> Original:
        """A regular file in one state, whole."""
        key, raw = self._named(name)
        fd, found = self._root.open_file(raw)
        try:
            self._hold(key, found)
            return read_steady(fd, key, found.real, max_bytes)
        finally:
            os.close(fd)

    def stat(self, name: str) -> Entry:
        """What a declared name, or an entry of a declared tree, leads to now."""
        key, raw = self._named(name)
        found = self._root.look(raw)
        self._hold(key, found)
        return entry_of(key, found.real, found.info.st_mode, found.info.st_size)

    def walk(self, name: str, max_depth: int | None = None) -> TreeWalk:
        """The entries below a declared tree, or below a directory in one."""
        tree, _ = self._tree(name)
        return TreeWalk(self._root, tree, self._allowed, max_depth=max_depth, aliases=self._aliases)

    def ground(self, name: str) -> Ground:
        """A declared tree, or a directory in one, opened for a search."""
        from remit.workspace.search_ground import TreeGround

        tree, raw = self._tree(name)
        return TreeGround(self._root, tree, raw, self._allowed, self._withheld)

    def _tree(self, name: str) -> tuple[Resource, str]:
        key, raw = self._named(name)
        tree = self._trees.get(key)
        if tree is None:
            if self._above(key) is None:
                raise _undeclared(name)
            found = self._root.look(raw)
            self._hold(key, found)
            tree = Resource("tree", key, Effect.READ, real=scrub(found.real))
        return tree, raw

    def _named(self, name: str) -> tuple[str, str]:
        """The name as declared or walked, and as the file system has it. Raises Failure(undeclared)."""
        key = name
        if not self._covers(key):
            key = self._root.named(self._root.relative(name))
        if not self._covers(key):
            raise _undeclared(name)
        return key, self._aliases.get(key, key)

    def _covers(self, name: str) -> bool:
        return (
            name in self._paths
            or name in self._trees
            or (is_clean(name.removeprefix("/")) and self._above(name) is not None)
        )

    def _above(self, name: str) -> Resource | None:
        # What lies beside the workspace is below no tree of it.
        beside = name.startswith("/")
        trees = ((folder, tree) for folder, tree in self._trees.items() if folder.startswith("/") is beside)
        return next((tree for folder, tree in trees if below(folder, name)), None)

    def _hold(self, key: str, found: Found) -> None:
        """What was found is what policy saw, or may be shown as an entry of a tree it saw."""
        self._withheld.refuse(key, found.info)
        declared = self._paths.get(key) or self._trees.get(key)
        if declared is None:
            entry = Resource("path", key, Effect.READ, real=scrub(found.real))
            if not self._allowed(entry):
                raise Failure(ErrorCode.DENIED, f"{shorten(key)} is withheld by a rule")
        elif declared.real != scrub(found.real):
            raise Failure(
                ErrorCode.FILE_CHANGED,
                f"{shorten(key)} leads elsewhere than when the rules were asked, nothing was read; call the tool again",
            )


def _undeclared(name: str) -> Failure:
    return Failure(ErrorCode.UNDECLARED, f"{shorten(name)} is not among the paths this call declared")

"""The grant of a call on files it writes: exactly the paths that policy saw, all of them changed or none."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Change, Original
from remit.base.resources import Effect, Resource
from remit.base.text import scrub, shorten
from remit.workspace.hard_links import WithheldFiles
from remit.workspace.names import HERE, join, normalise
from remit.workspace.publish import Publication
from remit.workspace.root import Root
from remit.workspace.steady import read_steady


class EditsGrant:
    """base.ports.Edits for the declared `path` resources that are written.

    A declared name must lead to the real path policy saw, else Failure(file_changed). note: told each directory
    before a file of ours is put there for a moment. withheld: files that are shown under none of their names.
    changed: told of changes that were made."""

    def __init__(
        self,
        root: Root,
        resources: Sequence[Resource],
        note: Callable[[str], None] = lambda _: None,
        withheld: WithheldFiles | None = None,
        changed: Callable[[Sequence[Change]], None] = lambda _: None,
    ) -> None:
        self._root = root
        self._note = note
        self._withheld = withheld
        self._changed = changed
        self._paths = {
            resource.name: resource
            for resource in resources
            if resource.kind == "path" and resource.effect is Effect.WRITE
        }

    def read(self, name: str, max_bytes: int) -> Original:
        """The file that is to be changed, or that there is none."""
        key, real = self._held(name)
        linked = real != key and self._is_link(key, real)
        try:
            fd, found = self._root.open_file(real, "changed")
        except Failure as failure:
            if failure.code is not ErrorCode.NOT_FOUND:
                raise
            return Original(key, real, linked=linked)
        try:
            if found.real != real:
                raise _moved(key)
            if self._withheld is not None:
                self._withheld.refuse(key, found.info)
            return msgspec.structs.replace(read_steady(fd, key, real, max_bytes, done="changed"), linked=linked)
        finally:
            os.close(fd)

    def publish(self, changes: Sequence[Change], check: Callable[[], None]) -> tuple[str, ...]:
        """All changes or none; the marks of the new states."""
        for change in changes:
            key, real = self._held(change.original.name)
            if real != change.original.real:
                raise _moved(key)
        marks = Publication(self._root, changes, check, note=self._note).run()
        self._changed(changes)
        return marks

    def _held(self, name: str) -> tuple[str, str]:
        """A declared name, and what it leads to: what policy saw, as the file system has it."""
        key = normalise(self._root.relative(name))
        declared = self._paths.get(key)
        if declared is None:
            raise Failure(ErrorCode.UNDECLARED, f"{shorten(name)} is not among the paths this call declared to write")
        real = self._root.resolve(key)
        if scrub(real) != declared.real:
            raise _moved(key)
        if real == HERE:
            raise Failure(ErrorCode.NOT_A_FILE, "the workspace itself is a directory; name a file in it")
        return key, real

    def _is_link(self, key: str, real: str) -> bool:
        """Whether the last part of a name is a link, and not just a directory on the way to it."""
        folder, base = posixpath.split(key)
        return join(self._root.resolve(folder or HERE), base) != real


def _moved(key: str) -> Failure:
    return Failure(
        ErrorCode.FILE_CHANGED,
        f"{shorten(key)} leads elsewhere than when the rules were asked, nothing was written; call the tool again",
    )

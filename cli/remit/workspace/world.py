"""The names a tool may ask for before policy has spoken, and what they really lead to."""

from __future__ import annotations

from typing import Literal

from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.base.text import scrub, shorten
from remit.workspace.names import device_refused, is_device
from remit.workspace.root import Root


class WorkspaceWorld:
    """The part of base.ports.World that is one workspace: names go through its spelling rules and its links.

    Raises Failure(path_refused) for a name that is misspelled or leads out of the workspace, or that
    would be a device on some systems and is no file here.
    """

    def __init__(self, root: Root) -> None:
        self._root = root

    def path(self, spelled: str, effect: Effect) -> Resource:
        """A file or directory itself; it need not exist."""
        return self._resource("path", spelled, effect)

    def tree(self, spelled: str, effect: Effect) -> Resource:
        """A directory and all below it; it need not exist."""
        return self._resource("tree", spelled, effect)

    def place(self, spelled: str, effect: Effect) -> Resource:
        """A tree where a directory is there now, else a path."""
        try:
            directory = self._root.look(self._root.named(spelled)).is_directory
        except Failure:
            directory = False
        return self._resource("tree" if directory else "path", spelled, effect)

    def relative(self, spelled: str) -> str:
        """An absolute path below the workspace as a name in it; any other spelling as it is."""
        return self._root.relative(spelled)

    def _resource(self, kind: Literal["path", "tree"], spelled: str, effect: Effect) -> Resource:
        name = self._root.named(spelled)
        if effect is not Effect.READ and name.startswith("/"):
            raise Failure(
                ErrorCode.PATH_REFUSED, f"{shorten(name)} lies beside the workspace, where files are only read"
            )
        self._refuse_new_device(name)
        return Resource(kind, name, effect, real=scrub(self._root.resolve(name)), inside=True)

    def _refuse_new_device(self, name: str) -> None:
        """What is there, such as an `aux.c`, can only be what it is; what is not there, others could not have."""
        if not is_device(name):
            return
        try:
            self._root.look(name)
        except Failure:
            raise device_refused(name) from None

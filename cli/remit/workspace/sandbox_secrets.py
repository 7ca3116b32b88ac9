"""Where secrets lie that a command could read although it has no business with them."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from remit.workspace.beneath import fd_path
from remit.workspace.credentials import FOLDERS, looks_like_credentials
from remit.workspace.sandbox_places import HOME_PLACES, SYSTEM_PLACES

MAX_ENTRIES = 200_000
"""Entries of the workspace that are looked at."""

MAX_FOREIGN_ENTRIES = 20_000
"""Of these, entries of directories that hold what others wrote, the outer ones first."""

MAX_FOUND = 512
"""Secrets in the workspace that are masked."""

SOURCES = (
    ".py",
    ".pyi",
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".tsx",
    ".jsx",
    ".go",
    ".rs",
    ".java",
    ".kt",
    ".scala",
    ".rb",
    ".php",
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".hpp",
    ".cs",
    ".swift",
    ".ex",
    ".exs",
    ".md",
    ".rst",
    ".html",
)
"""Ends of names that programs and people read as text of a project: what looks like credentials by its name, such as
`credentials.py`, is left in sight of commands, which could not build or test the project without it."""

_FOREIGN = frozenset({".git", ".hg", "node_modules", "site-packages", "__pycache__", ".tox", ".venv", "venv"})
"""Directories of the workspace that hold what others wrote: certificates and sample keys, which programs need. Of what
looks like credentials there, only files such as `.env` are taken for the user's."""

_OBJECTS = ".git/objects"
"""Many, and named by git alone."""

_OF_PACKAGES = ".npmrc"
"""Many packages have one, with settings and no token."""

_LISTENS = 0x10000
_PATH = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_PATH", 0)


class Mask(NamedTuple):
    """A real path to be hidden. identity: device and inode, for what a command could move."""

    path: str
    folder: bool
    identity: tuple[int, int] | None = None


class _Held(NamedTuple):
    """What is hidden in a workspace, open. by_place: because of where it lies, not because of what it is called."""

    fd: int
    folder: bool
    by_place: bool


def standing_secrets(homes: Iterable[str], own: Iterable[str]) -> list[Mask]:
    """What is there now of the places in these homes, of the system, of `own`, and of programs that listen."""
    spelled = [f"{home}/{place}" for home in homes for place in HOME_PLACES]
    found = {}
    for path in (*spelled, *SYSTEM_PLACES, *own, *_listening()):
        with suppress(OSError, ValueError):
            mode = os.stat(path).st_mode
            real = os.path.realpath(path)
            if stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode):
                found[real] = Mask(real, stat.S_ISDIR(mode))
    return list(found.values())


def homes() -> list[str]:
    """The home directories whose content this user can read."""
    import pwd

    found = [os.environ.get("HOME", "")]
    with suppress(KeyError):
        found.append(pwd.getpwuid(os.geteuid()).pw_dir)
    if os.geteuid() == 0:
        with suppress(OSError):
            found += [entry.path for entry in os.scandir("/home") if entry.is_dir(follow_symlinks=False)]
    return list(dict.fromkeys(home for home in found if os.path.isabs(home)))


def _listening() -> Iterator[str]:
    """Sockets in the file system on which programs of this machine wait, such as a container daemon's."""
    with suppress(OSError), open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
        next(table, None)
        for line in table:
            fields = line.rstrip("\n").split(maxsplit=7)
            if len(fields) == 8 and fields[7].startswith("/") and int(fields[3], 16) & _LISTENS:
                yield fields[7]


def hidden(name: str) -> bool:
    """Whether a file of the workspace is hidden from commands by its name."""
    return looks_like_credentials(name) and not name.casefold().endswith(SOURCES)


class WorkspaceSecrets:
    """The credential files of a workspace, found once and held on to, so that moving one does not uncover it, with all
    names that they have in it by hard links.

    hides: whether a workspace-relative name is one that no tool may read. whole: False when there was
    more than is looked at or held. git: all that is called `.git`, absolute.
    """

    def __init__(self, workspace: str, hides: Callable[[str], bool] = hidden) -> None:
        self._workspace = os.path.realpath(workspace)
        self._hides = hides
        self._held: dict[tuple[int, int, str], _Held] = {}
        self._left = MAX_ENTRIES
        self.whole = True
        self.git: list[str] = []
        self._search()
        self._search_links()

    def __len__(self) -> int:
        return len(self._held)

    def close(self) -> None:
        for held in self._held.values():
            os.close(held.fd)
        self._held.clear()

    def masks(self) -> list[Mask]:
        """Where they are now; what has been deleted is no longer there to be hidden."""
        found = []
        for (device, inode, _), held in self._held.items():
            path = _where(held.fd)
            if path:
                found.append(Mask(path, held.folder, (device, inode)))
        return found

    def around(self) -> list[str]:
        """Directories below the workspace that have to stay where they are, outer ones first: what lies in them is
        hidden by rules about their names, which would not know it elsewhere."""
        found = set()
        for held in self._held.values():
            path = _where(held.fd) if held.by_place else ""
            for above in _above(path) if path.startswith(self._workspace.rstrip("/") + "/") else ():
                if above == self._workspace:
                    break
                found.add(above)
        return sorted(found)

    def _search(self) -> None:
        foreign: deque[str] = deque()
        pending = [""]
        while pending:
            for name, entry in self._entries(pending.pop()):
                self._left -= 1
                if self._left < 0:
                    self.whole = False
                    return
                if entry.name == ".git":
                    self.git.append(entry.path)
                if self._hidden(name, entry):
                    self._hold(entry.path, not self._hidden(entry.name, entry))
                elif entry.is_dir(follow_symlinks=False):
                    (foreign if entry.name in _FOREIGN else pending).append(name)
        self._search_foreign(foreign)

    def _search_foreign(self, pending: deque[str]) -> None:
        left = MAX_FOREIGN_ENTRIES
        while pending:
            for name, entry in self._entries(pending.popleft()):
                left -= 1
                if left < 0:
                    return
                if self._hidden(name, entry) and not _is_theirs(name, entry.name):
                    self._hold(entry.path, not self._hidden(entry.name, entry))
                elif entry.is_dir(follow_symlinks=False) and not name.endswith(_OBJECTS):
                    pending.append(name)

    def _entries(self, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Those of a directory of the workspace, with their names in it."""
        with suppress(OSError), os.scandir(os.path.join(self._workspace, below)) as entries:
            for entry in entries:
                yield f"{below}/{entry.name}" if below else entry.name, entry

    def _search_links(self) -> None:
        """A hard link is one more name of the very same file."""
        linked = {(device, inode) for (device, inode, _), each in self._held.items() if _has_links(os.fstat(each.fd))}
        if not linked:
            return
        inodes = {inode for _, inode in linked}
        pending, left = [self._workspace], MAX_ENTRIES
        while pending:
            with suppress(OSError), os.scandir(pending.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        self.whole = False
                        return
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.inode() in inodes and not entry.is_symlink():
                        info = entry.stat(follow_symlinks=False)
                        if (info.st_dev, info.st_ino) in linked:
                            self._hold(entry.path, by_place=False)

    def _hidden(self, name: str, entry: os.DirEntry[str]) -> bool:
        try:
            folder = entry.is_dir()
        except OSError:
            # A link that leads nowhere, or in a circle, hides nothing.
            return False
        if folder:
            # What lies in one of these is hidden by its name, so all of it is.
            return entry.name.casefold() in FOLDERS and self._hides(f"{name}/any")
        return self._hides(name)

    def _hold(self, path: str, by_place: bool) -> None:
        if len(self._held) == MAX_FOUND:
            self.whole = False
            return
        with suppress(OSError):
            fd = os.open(path, _PATH)
            facts = os.fstat(fd)
            folder = stat.S_ISDIR(facts.st_mode)
            real = fd_path(fd) or "/"
            identity = (facts.st_dev, facts.st_ino, real)
            around = folder and os.path.commonpath((self._workspace, real)) == real
            if around or identity in self._held or not (folder or stat.S_ISREG(facts.st_mode)):
                os.close(fd)
                return
            self._held[identity] = _Held(fd, folder, by_place)


def _is_theirs(name: str, base: str) -> bool:
    """Whether what looks like credentials belongs to what others wrote."""
    return looks_like_credentials(f"{name}/any", name) and (not base.startswith(".") or base == _OF_PACKAGES)


def _where(fd: int) -> str:
    """Where an open file is now, or "" where it has been deleted."""
    path = fd_path(fd)
    return path if os.fstat(fd).st_nlink and path is not None and not path.endswith(" (deleted)") else ""


def _has_links(facts: os.stat_result) -> bool:
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1


def outermost(masks: Sequence[Mask], kept: Sequence[str]) -> list[Mask]:
    """Without those that lie in another one, unless a kept directory lies between; nor is a kept directory
    itself masked."""
    folders = {mask.path for mask in masks if mask.folder} - set(kept)
    found = []
    for mask in masks:
        if mask.path in kept:
            continue
        nearest = next((above for above in _above(mask.path) if above in folders or above in kept), None)
        if nearest is None or nearest in kept:
            found.append(mask)
    return found


def _above(path: str) -> Iterator[str]:
    """The directories above, the nearest first."""
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent

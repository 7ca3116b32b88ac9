"""The walk of a search: which files there are below a directory, in order, and what is left out and why."""

from __future__ import annotations

import os
import stat
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import islice, product
from typing import NamedTuple

from remit.base.errors import Failure
from remit.base.ports import Ground
from remit.workspace.names import HERE, UNFINISHED_START, is_unfinished
from remit.workspace.search_glob import NamePattern
from remit.workspace.search_ignore import IgnoreFile, ignores_above, read_ignore_at
from remit.workspace.search_pick import Pick
from remit.workspace.search_scan import (
    CLOSED_NAMES,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_SECONDS,
    SKIPPED_FOLDERS,
    Survey,
    Wish,
)

Check = Callable[[], None]

MAX_HELD = 64
"""Directories on the way to the one being listed that are held open."""

_IGNORE_NAME = ".gitignore"
_SKIPPED = frozenset(SKIPPED_FOLDERS)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def closed_spellings() -> tuple[str, ...]:
    """The closed names in every letter case: looked up whole, they cost a walk nothing."""
    cased = [[{char.lower(), char.upper()} for char in name] for name in CLOSED_NAMES]
    return tuple(sorted("".join(letters) for choices in cased for letters in product(*map(sorted, choices))))


_CLOSED = frozenset(closed_spellings())
_TELLING = _CLOSED | {_IGNORE_NAME}


def survey(ground: Ground, wish: Wish, check: Check, most: int | None = None, sizes: int | None = None) -> Survey:
    """Walk the files wanted. most: how many names are kept; None: all. sizes: how many files are asked for their
    size; None: all. Raises Failure when the top itself cannot be listed."""
    wanted = Pick(wish.include, most, counts=True)
    walk = Walk(ground, check, [wanted], everything=wish.everything, seconds=wish.seconds)
    walk.size(wish.include, MAX_ENTRIES if sizes is None else sizes)
    walk.run()
    found = walk.found
    found.names, found.number, found.sized = wanted.names, wanted.number, found.sized and not found.stopped
    return found


class _Folder(NamedTuple):
    """A directory to walk. parent: descriptor of the directory that holds it, or -1. depth: 0 is the ground. above:
    the ignore files that speak for what it holds, nearest first, each with where names below the ground begin
    seen from there."""

    name: str
    base: str
    parent: int
    depth: int
    above: tuple[tuple[str, IgnoreFile], ...]


class _Files(NamedTuple):
    """Files of one directory that follow one another in order."""

    lead: str
    bases: list[str]


class _Done(NamedTuple):
    """A directory whose directories have all been walked."""

    fd: int


_Step = _Folder | _Files | _Done


class Walk:
    """One walk without links. Sorted while a pick still takes names, as the file system has it from there on."""

    def __init__(
        self,
        ground: Ground,
        check: Check,
        picks: Sequence[Pick],
        *,
        leads: NamePattern | None = None,
        everything: bool = False,
        seconds: float = MAX_SECONDS,
        until_full: bool = False,
        entries: int = MAX_ENTRIES,
    ) -> None:
        """leads: enter only what leads to files that fit it. everything: also what is ignored or skipped.
        until_full: end once the picks have what they take; the account is then partial. entries: how many of the
        directories' entries are looked at."""
        self.found = Survey()
        self._ground = ground
        self._check = check
        self._picks = picks
        self._counting = [pick for pick in picks if pick.counts]
        self._leads = leads
        self._everything = everything
        self._until_full = until_full
        self._deadline = time.monotonic() + seconds
        self._left = entries
        self._sizes: int | None = None
        self._sized: NamePattern | None = None
        self._honours_git = False
        self._full = False

    def size(self, pattern: NamePattern | None, most: int) -> None:
        """Ask the first files that fit for their size, at most so many."""
        self._sized, self._sizes = pattern, most

    def run(self) -> None:
        """Raises Failure when the top itself cannot be listed."""
        above, self._honours_git = ((), False) if self._everything else ignores_above(self._ground)
        steps: list[_Step] = [_Folder(HERE, HERE, -1, 0, above)]
        try:
            while steps and not self.found.stopped and not (self._until_full and self._full):
                self._go(steps)
        finally:
            for step in steps:
                if isinstance(step, _Done):
                    os.close(step.fd)

    def _go(self, steps: list[_Step]) -> None:
        step = steps.pop()
        if isinstance(step, _Files):
            self._take(step.lead, step.bases)
        elif isinstance(step, _Done):
            os.close(step.fd)
        else:
            self._check()
            if time.monotonic() > self._deadline:
                self.found.stopped = "time"
            else:
                self._enter(step, steps)

    def _take(self, lead: str, bases: list[str]) -> None:
        if self._full:
            for pick in self._counting:
                pick.take(lead, bases)
            return
        for pick in self._picks:
            pick.take(lead, bases)
        self._full = all(pick.full for pick in self._picks)

    # -- one directory -------------------------------------------------------------------------

    def _enter(self, folder: _Folder, steps: list[_Step]) -> None:
        """Take its files, and put the directories in it on the steps."""
        fd = -1
        try:
            fd = self._open(folder)
            below = self._list(folder, fd)
        except (Failure, OSError):
            if fd >= 0:
                os.close(fd)
            if folder.depth == 0:
                raise
            self.found.unreadable.append(folder.name)
            return
        if below and any(isinstance(step, _Folder) and step.parent == fd for step in below):
            steps.append(_Done(fd))
        else:
            os.close(fd)
        steps += below[::-1]

    def _open(self, folder: _Folder) -> int:
        if folder.parent >= 0:
            return os.open(folder.base, _FOLDER, dir_fd=folder.parent)
        return self._ground.open_directory(folder.name)

    def _list(self, folder: _Folder, fd: int) -> list[_Step]:
        with os.scandir(fd) as listing:
            entries = list(islice(listing, self._left + 1))
        if len(entries) > self._left:
            self.found.stopped = "entries"
            entries = sorted(entries, key=_name)[: self._left]
        self._left -= len(entries)
        files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        others = [] if len(files) == len(entries) else [e for e in entries if not e.is_file(follow_symlinks=False)]
        if _tell(files) or (others and _tell([entry.name for entry in others])):
            is_repository = ".git" in files or ".git" in map(_name, others)
            if is_repository and folder.depth and not self._everything:
                self.found.nested.append(folder.name)
                return []
            folder = folder._replace(above=self._above(folder, fd, is_repository, _IGNORE_NAME in files))
            files = [name for name in files if not _is_closed(name)]
            others = [entry for entry in others if not _is_closed(entry.name)]
        return self._sort_out(folder, fd, files, others)

    def _above(
        self, folder: _Folder, fd: int, is_repository: bool, has_ignore: bool
    ) -> tuple[tuple[str, IgnoreFile], ...]:
        if self._everything:
            return ()
        if folder.depth == 0:
            self._honours_git = self._honours_git or is_repository
        if not (self._honours_git and has_ignore):
            return folder.above
        return ((folder.name, read_ignore_at(fd, _IGNORE_NAME)), *folder.above)

    def _sort_out(self, folder: _Folder, fd: int, files: list[str], others: list[os.DirEntry[str]]) -> list[_Step]:
        lead = "" if folder.depth == 0 else f"{folder.name}/"
        if folder.above:
            files = self._kept(folder, lead, files, False)
        if self._sizes is not None:
            files = self._small(lead, fd, files, self._sizes)
        folders = self._folders(folder, lead, fd, others) if others else []
        if self._full:
            self._take(lead, files)
            return list(folders)
        if not folders:
            self._take(lead, sorted(files))
            return []
        return _merged(lead, files, folders)

    def _folders(self, folder: _Folder, lead: str, fd: int, others: list[os.DirEntry[str]]) -> list[_Folder]:
        directories = [entry.name for entry in others if entry.is_dir(follow_symlinks=False)]
        special = [entry.name for entry in others if not entry.is_dir(follow_symlinks=False)]
        for base in self._kept(folder, lead, special, False):
            if not _leads_to_directory(base, fd):
                self.found.special.append(lead + base)
        if self._leads is not None:
            directories = [base for base in directories if self._leads.leads_to(lead + base)]
        if not self._everything:
            skipped = _SKIPPED.intersection(directories)
            self.found.skipped += [lead + base for base in skipped]
            directories = [base for base in directories if base not in skipped]
        # The children of the ground are opened by their whole names, which are held to lie in the workspace; from
        # there each directory holds its own.
        parent = fd if 0 < folder.depth <= MAX_HELD else -1
        return [
            _Folder(lead + base, base, parent, folder.depth + 1, folder.above)
            for base in self._kept(folder, lead, directories, True)
        ]

    def _kept(self, folder: _Folder, lead: str, bases: list[str], are_directories: bool) -> list[str]:
        """Those that no ignore file keeps out."""
        if not folder.above:
            return bases
        touched: set[str] = set()
        for place, rules in folder.above:
            touched.update(rules.touched(_from(place, lead), bases))
        if not touched:
            return bases
        out = {base for base in touched if _ignored(folder, lead + base, are_directories)}
        self.found.ignored += [lead + base for base in out]
        return [base for base in bases if base not in out]

    def _small(self, lead: str, fd: int, files: list[str], most: int) -> list[str]:
        """The files without the large ones."""
        wanted = files if self._sized is None else self._sized.among(lead, files)
        if len(wanted) > most:
            self._sizes = None
            self.found.sized = False
            return files
        self._sizes = most - len(wanted)
        out: set[str] = set()
        for base in wanted:
            try:
                if is_large(fd, base):
                    out.add(base)
                    self.found.large.append(lead + base)
            except OSError:
                out.add(base)
                self.found.unreadable.append(lead + base)
        return [base for base in files if base not in out] if out else files


def _tell(names: list[str]) -> bool:
    """Whether some of these names may have a meaning of their own. Asked of all names, so in one go: they all start
    with a dot."""
    joined = "/".join(names)
    if not (joined.startswith(".") or "/." in joined):
        return False
    return not _TELLING.isdisjoint(names) or UNFINISHED_START in joined


def _is_closed(name: str) -> bool:
    return name in _CLOSED or is_unfinished(name)


def is_large(fd: int, name: str) -> bool:
    """Whether an entry of an opened directory is larger than files that are searched. Raises OSError."""
    return os.stat(name, dir_fd=fd, follow_symlinks=False).st_size > MAX_FILE_BYTES


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _merged(lead: str, files: list[str], folders: list[_Folder]) -> list[_Step]:
    """The files and directories of a directory in order."""
    ordered = sorted(files)
    steps: list[_Step] = []
    start = 0
    for folder in sorted(folders, key=lambda each: each.base):
        end = bisect_left(ordered, folder.base, start)
        if end > start:
            steps.append(_Files(lead, ordered[start:end]))
        steps.append(folder)
        start = end
    return [*steps, _Files(lead, ordered[start:])]


def _ignored(folder: _Folder, name: str, is_directory: bool) -> bool:
    for place, rules in folder.above:
        word = rules.ignores(_from(place, name), is_directory)
        if word is not None:
            return word
    return False


def _from(place: str, name: str) -> str:
    """A name below the ground, seen from an ignore file's directory: one below the ground, or, written
    with a leading slash, one above it."""
    if place == HERE:
        return name
    if place.startswith("/"):
        return f"{place[1:]}/{name}"
    return name[len(place) + 1 :]


def _leads_to_directory(name: str, fd: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=fd).st_mode)
    except OSError:
        return False

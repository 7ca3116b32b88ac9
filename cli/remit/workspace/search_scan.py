"""What a search is asked, and what its two engines answer with; both answer alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO, Literal, Protocol

import msgspec

from remit.base.limits import MIB
from remit.base.ports import Ground
from remit.workspace.search_glob import NamePattern
from remit.workspace.search_regex import LinePattern

MAX_FILE_BYTES = 5 * MIB
"""Of larger files no line is shown, and none of them is searched where that is known beforehand."""

MAX_ENTRIES = 250_000
"""Files and left-out entries of one scan."""

MAX_NAMES = 500
"""Names, the first ones in order, that a survey keeps for the account: so many are asked of the rules."""

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
    """Which files. include: the names wanted; None: any. everything: also what is ignored or skipped by default.
    seconds: how long it may take."""

    include: NamePattern | None = None
    everything: bool = False
    seconds: float = MAX_SECONDS

    @property
    def last_parts(self) -> tuple[str, ...] | None:
        """As NamePattern has them; None, too, where any name is wanted."""
        return self.include.last_parts if self.include else None


class Survey(msgspec.Struct):
    """The files below a directory, by name from there, as the file system has it, and what was left out.

    names: the first of those wanted, part by part in order. number: of all wanted. ignored: entries that
    .gitignore files keep out, a directory counting once. skipped: directories left out by SKIPPED_FOLDERS.
    nested: repositories of their own, which are not entered. large: wanted files over MAX_FILE_BYTES. sized:
    whether every wanted file was asked for its size. unreadable: what the file system does not show. special:
    links to files or to nothing, pipes and the like; links to directories are passed over without a word.
    """

    names: list[str] = []
    number: int = 0
    ignored: list[str] = []
    skipped: list[str] = []
    nested: list[str] = []
    large: list[str] = []
    sized: bool = True
    unreadable: list[str] = []
    special: list[str] = []
    stopped: Stopped = ""


class Counts(msgspec.Struct):
    """Matched lines by file. binary: files given up as binary; not told when base names were wanted by pattern.
    unreadable: files that could not be read."""

    survey: Survey
    lines: dict[str, int] = {}
    binary: list[str] = []
    unreadable: list[str] = []
    stopped: Stopped = ""


class Engine(Protocol):
    """One way to search lines. `check` is asked now and then and raises to stop it."""

    name: str

    def count(self, ground: Ground, pattern: LinePattern, wish: Wish, check: Callable[[], None]) -> Counts:
        """How many lines match in the files wanted, none of them over MAX_FILE_BYTES where the survey is sized;
        some others may be counted, too. Raises Failure(invalid_arguments) with the engine's words for a
        pattern it refuses."""
        ...

    def lines(
        self, files: Sequence[BinaryIO], pattern: LinePattern, most: int, check: Callable[[], None]
    ) -> list[list[int]]:
        """The numbers, from 1, of at most `most` first lines that match, for each of the open files."""
        ...

"""A source tree as it was read: the facts of its files, and an account of what was left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from remit.code.facts import Facts, unpack

Bound = Literal["", "files", "entries", "bytes", "time"]

MAX_FILES = 20_000
MAX_ENTRIES = 200_000
MAX_FILE_BYTES = 1 << 20
"""Of source that is generated or packed there is more to read than to learn."""

HELD_BYTES = 16 << 20
"""Of facts as they are kept. Those of a larger tree are read twice, so that one file's at a time are in memory."""

MAX_TREE_BYTES = 512 << 20
MAX_TREE_SECONDS = 60.0


class SourceFile:
    """path: from the searched directory, as the file system has it. size: bytes. tests: whether its path says that
    it holds tests. key: the same for the same content in the same language, or b""."""

    __slots__ = ("_facts", "_opened", "key", "path", "size", "tests")

    def __init__(self, path: str, size: int, facts: Facts | bytes, tests: bool = False, key: bytes = b"") -> None:
        """facts: bytes as `facts.pack` makes them take a third of the memory; b"": they are kept, and not held."""
        self.path = path
        self.size = size
        self.tests = tests
        self.key = key
        self._facts = facts
        self._opened: Facts | None = None

    @property
    def facts(self) -> Facts:
        """Read anew at each access where they are kept as bytes: take them once, and let them go."""
        if self._opened is not None:
            return self._opened
        return unpack(self._facts) if isinstance(self._facts, bytes) else self._facts

    @property
    def held(self) -> bool:
        """Whether the facts are at hand."""
        return self._facts != b""

    def hold(self, facts: Facts | bytes) -> None:
        self._facts = facts

    def open(self, facts: Facts | None) -> None:
        """Have the facts that are kept as bytes at hand as well, for as long as they are asked for; None: no longer."""
        self._opened = facts

    @property
    def weight(self) -> int:
        """Bytes of the facts as they are kept; 0 where they are in memory anyway."""
        return len(self._facts) if isinstance(self._facts, bytes) else 0


class Recalled(msgspec.Struct, frozen=True):
    """What is known from a kept graph. notes: of files, by their states, as `crawl` notes it. keys: of content whose
    facts need not be at hand. meanwhile: called once when some files have changed, before they are parsed."""

    notes: dict[bytes, bytes] = {}
    keys: frozenset[bytes] = frozenset()
    meanwhile: Callable[[], None] = lambda: None


class Lively(msgspec.Struct, array_like=True, gc=False):
    """Files that changed of late, and so may have changed again. files: names as the system has them, and the keys of
    their content when they were seen last. marks: their states then, as far as they are noted."""

    files: list[tuple[bytes, bytes]] = []
    marks: list[bytes] = []


class Skipped(msgspec.Struct):
    """Numbers of files of known languages that were not read. too_large, binary, unreadable; withheld: by rules or
    as credential files; failed: the parser did not survive them, or not in time."""

    too_large: int = 0
    binary: int = 0
    unreadable: int = 0
    withheld: int = 0
    failed: int = 0


class SourceTree(msgspec.Struct):
    """files: by path. unknown: files in no language that is read. parsed: files that were not known from before.
    stopped: the bound that ended the reading, or "". mark: the same for trees with the same files and content.
    go_modules: by directory, what a go.mod says that its packages are called; "" for the tree itself, by a go.mod above
    it too. notes: what is known of files by their states."""

    files: list[SourceFile]
    skipped: Skipped
    unknown: int = 0
    parsed: int = 0
    stopped: Bound = ""
    mark: bytes = b""
    go_modules: dict[str, str] = {}
    notes: dict[bytes, bytes] = {}

"""What was found out about content once and need not be again, for all runs of a user: values by key, on disk.

A file of SQLite that may go at any time. Whatever is wrong with it is no fault of a run: then nothing is known and
nothing kept, and a damaged file is made anew. A value is held against its checksum before it is believed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

FILE = "facts-1.db"
"""Another layout is another file: versions of remit do not take turns making it anew."""

MAX_BYTES = 256 << 20
"""Of the file; what was not used for the longest time goes."""

BUSY_SECONDS = 2.0
"""While another process writes."""

_TABLE = "CREATE TABLE kept (key BLOB NOT NULL UNIQUE, value BLOB NOT NULL, used INTEGER NOT NULL) STRICT"
_INDEX = "CREATE INDEX kept_used ON kept (used)"
_SUM_BYTES = 8
_BULK = 500
"""Rows that one statement asks for."""

_ROW_BYTES = 150
"""What a row takes beside its value, at most."""

_OLDEST = 500
"""Rows that go at a time."""

_LET_GO = "DELETE FROM kept WHERE rowid IN (SELECT rowid FROM kept ORDER BY used LIMIT ?)"
_SECONDS_A_DAY = 86_400


class KeptFacts:
    """The file in `folder`, for this user alone; "": nothing is kept."""

    def __init__(self, folder: str, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    @contextlib.contextmanager
    def opened(self) -> Iterator[Kept]:
        """For one piece of work, in one thread."""
        kept = Kept(self._folder and os.path.join(self._folder, FILE), self._max_bytes)
        try:
            yield kept
        finally:
            kept.close()


class Kept:
    """The file while it is open. Once it turns out not to be usable, nothing is known and nothing is kept."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._today = int(time.time()) // _SECONDS_A_DAY
        self._stale: list[bytes] = []
        self._connection: sqlite3.Connection | None = None
        if path:
            self._open()

    @property
    def usable(self) -> bool:
        return self._connection is not None

    def values(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of these keys, as far as there are any."""
        found: dict[bytes, bytes] = {}
        for at in range(0, len(keys), _BULK):
            some = keys[at : at + _BULK]
            marks = ",".join("?" * len(some))
            for key, value, used in self._rows(f"SELECT key, value, used FROM kept WHERE key IN ({marks})", some):
                # Of a damaged file not even the types hold.
                if type(key) is not bytes or type(value) is not bytes or type(used) is not int:
                    self._give_up(damaged=True)
                    return {}
                if value[:_SUM_BYTES] != _sum(key, value[_SUM_BYTES:]):
                    self._give_up(damaged=True)
                    return {}
                found[key] = value[_SUM_BYTES:]
                if used < self._today:
                    self._stale.append(key)
        return found

    @property
    def stale(self) -> bool:
        """Whether something was found that was not of use today yet."""
        return bool(self._stale)

    def touch(self, keys: Iterable[bytes]) -> None:
        """Keep the day on which these were of use, without a look at them."""
        self._stale += keys
        self.keep({})

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Keep these, all or none, and the day on which others were of use."""
        connection = self._connection
        if connection is None or not (values or self._stale):
            return
        with self._guarded():
            connection.execute("BEGIN IMMEDIATE")
            touched = [(self._today, key) for key in self._stale]
            connection.executemany("UPDATE kept SET used = ? WHERE key = ?", touched)
            room = self._make_room(connection, sum(len(value) + _ROW_BYTES for value in values.values()))
            rows = ((key, _sum(key, value) + value, self._today) for key, value in _fitting(values, room))
            connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")
            self._stale.clear()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows(self, query: str, values: Sequence[bytes]) -> list[tuple[bytes, bytes, int]]:
        if self._connection is None:
            return []
        with self._guarded():
            return self._connection.execute(query, values).fetchall()
        return []

    def _open(self) -> None:
        import sqlite3

        with self._guarded():
            if not _own_file(self._path):
                return
            self._connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
            if _layout(self._connection) is None:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("BEGIN IMMEDIATE")
                # Read again under the lock: another process may have made it meanwhile.
                if _layout(self._connection) is None:
                    self._connection.execute(_TABLE)
                    self._connection.execute(_INDEX)
                self._connection.execute("COMMIT")
            if _layout(self._connection) != _TABLE:
                self._give_up(damaged=True)
                return
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def _make_room(self, connection: sqlite3.Connection, wanted: int) -> int:
        """Let the oldest go until what is wanted fits, if it ever can; how many bytes do fit."""
        wanted = min(wanted, self._max_bytes // 2)
        while (room := self._room(connection)) < wanted and connection.execute(_LET_GO, (_OLDEST,)).rowcount:
            continue
        return room

    def _room(self, connection: sqlite3.Connection) -> int:
        pages, free, size = (_pragma(connection, name) for name in ("page_count", "freelist_count", "page_size"))
        return self._max_bytes - (pages - free) * size

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Whatever goes wrong is the end of using the file, and no more than that."""
        import sqlite3

        try:
            yield
        except sqlite3.Error as problem:
            self._give_up(damaged=_is_damage(problem))
        except UnicodeDecodeError:
            self._give_up(damaged=True)
        except OSError:
            self._give_up(damaged=False)

    def _give_up(self, damaged: bool) -> None:
        self.close()
        if damaged:
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(self._path + ending)


def _own_file(path: str) -> bool:
    """Make the file where there is none; whether it is this user's, and nobody else's to read. Raises OSError."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
            return False
        if info.st_mode & 0o077:
            os.fchmod(fd, 0o600)
        return True
    finally:
        os.close(fd)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    number: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return number


def _layout(connection: sqlite3.Connection) -> str | None:
    """How the table is laid out, None where there is none."""
    row = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'kept'").fetchone()
    return None if row is None else str(row[0])


def _sum(key: bytes, value: bytes) -> bytes:
    return blake2b(value, key=key[:64], digest_size=_SUM_BYTES).digest()


def _fitting(values: Mapping[bytes, bytes], room: int) -> Iterable[tuple[bytes, bytes]]:
    """The first ones, as many as there is room for."""
    for key, value in values.items():
        room -= len(value) + _ROW_BYTES
        if room < 0:
            return
        yield key, value


def _is_damage(problem: sqlite3.Error) -> bool:
    """Whether the file is not what it should be, rather than out of reach for now."""
    name = getattr(problem, "sqlite_errorname", None) or ""
    # A plain error is a table that is not there, or not like ours.
    return name == "SQLITE_ERROR" or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_MISMATCH"))

"""The SQLite file of the user's state: what outlives a run and is shared by processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit.base.errors import EnvironmentFault, RemitError, UsageFault
from remit.store.durable import telling

if TYPE_CHECKING:
    import sqlite3

FILE = "state.db"
BUSY_SECONDS = 30.0
_BUSY_PAUSE = 0.02

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE approval_uses (
        entry TEXT PRIMARY KEY,
        used INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE memory_proposals (
        id TEXT PRIMARY KEY,
        run_id TEXT NOT NULL,
        call TEXT NOT NULL,
        task TEXT NOT NULL,
        text TEXT NOT NULL,
        tags TEXT NOT NULL,
        reason TEXT NOT NULL,
        created REAL NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('proposed', 'accepted', 'rejected')),
        UNIQUE (run_id, call)
    ) STRICT;
    """,
)
"""Scripts, in order. `user_version` counts those that were run; a script that shipped never changes."""

_CORRUPT = {"SQLITE_CORRUPT", "SQLITE_NOTADB"}
_KINDS = {
    "SQLITE_FULL": ("disk_full", "free some space there"),
    "SQLITE_READONLY": ("not_writable", "check owner and mode of the file and its directory"),
    "SQLITE_CANTOPEN": ("not_writable", "check owner and mode of the file and its directory"),
    "SQLITE_PERM": ("not_writable", "check owner and mode of the file and its directory"),
    "SQLITE_BUSY": ("state_locked", "another remit holds it: try again when it has ended"),
    "SQLITE_LOCKED": ("state_locked", "another remit holds it: try again when it has ended"),
}


def exists(state_dir: str) -> bool:
    """Whether anything was stored yet."""
    return os.path.lexists(os.path.join(state_dir, FILE))


@contextmanager
def transaction(state_dir: str) -> Iterator[sqlite3.Connection]:
    """A connection inside of one writing transaction: all of it is on disk afterwards, or nothing.

    The file is made, for this user alone, where there is none. Raises EnvironmentFault (damaged,
    locked, not writable, disk full), UsageFault for a file of a newer version.
    """
    import sqlite3

    path = os.path.join(os.path.abspath(state_dir), FILE)
    _make_file(path)
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        _prepare(connection, path)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.execute("COMMIT")
    except sqlite3.Error as problem:
        raise _fault(problem, path) from problem
    finally:
        if connection is not None:
            connection.close()


def _make_file(path: str) -> None:
    folder = os.path.dirname(path)
    with telling(folder, "create the state directory"):
        os.makedirs(folder, 0o700, exist_ok=True)
    with telling(path, "open the state"):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _migrate(connection, path)
    except BaseException:
        connection.rollback()
        raise
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. The switch itself does not wait for other processes, so we do."""
    import sqlite3

    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as problem:
            if _name(problem) != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_PAUSE)


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the tables up to date. Read again under the lock: another process may have done it."""
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise UsageFault(
            f"the state has version {version}, this remit knows {len(MIGRATIONS)}",
            where=path,
            hint="a newer remit wrote it: use that one, or another REMIT_STATE_DIR",
            kind="state_newer",
        )
    for script in MIGRATIONS[version:]:
        for statement in filter(str.strip, script.split(";")):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert isinstance(version, int)
    return version


def _name(problem: sqlite3.Error) -> str:
    """The name of the primary error code, such as SQLITE_BUSY."""
    name = getattr(problem, "sqlite_errorname", None) or ""
    return "_".join(name.split("_")[:2])


def _fault(problem: sqlite3.Error, path: str) -> RemitError:
    name = _name(problem)
    if name in _CORRUPT:
        return EnvironmentFault(
            f"the state is damaged: {problem}",
            where=path,
            hint="move the file away to start with an empty one; it holds memory proposals and used approvals",
            kind="state_damaged",
        )
    kind, hint = _KINDS.get(name, ("io_error", ""))
    return EnvironmentFault(f"cannot use the state: {problem}", where=path, hint=hint, kind=kind)

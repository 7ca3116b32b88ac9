"""The journal of a run: one record a line, appended, the only truth about the run.

A line that was being written when the process died is the torn tail: it was never acknowledged, so
dropping it loses nothing. Anything else that cannot be read is corruption and is never passed over.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, get_args

import msgspec

from remit.base.errors import EnvironmentFault, UsageFault
from remit.base.finite import hold_finite
from remit.base.records import Record
from remit.base.text import scrub_tree
from remit.store.durable import environment_fault, sync_data, sync_directory, telling, write_all


@cache
def _decoder() -> msgspec.json.Decoder[Record]:
    """Made when a journal is read: a new run only writes."""
    return msgspec.json.Decoder(Record)


@cache
def _known() -> frozenset[str]:
    return frozenset(str(kind.__struct_config__.tag) for kind in get_args(Record))


JOURNAL_FILE = "journal.jsonl"

_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def encode_record(record: Record) -> bytes:
    """The record as one JSON line with its newline. Raises ValueError for a number that JSON does not have."""
    try:
        line = msgspec.json.encode(record)
    except UnicodeEncodeError:
        line = msgspec.json.encode(scrub_tree(msgspec.to_builtins(record)))
    return hold_finite(record, line) + b"\n"


class FileJournal:
    """The journal open for appending. May be used from several threads.

    followers hear each record after it was written: projections that keep in step.
    After a write that failed nothing more is accepted, so that there is no hole in the story.
    """

    def __init__(self, path: str, followers: Sequence[Callable[[Record], None]] = ()) -> None:
        """Open or create. Raises EnvironmentFault; UsageFault on a torn tail (see repair_journal)."""
        self.path = path
        self._followers = tuple(followers)
        self._lock = threading.Lock()
        self._broken: EnvironmentFault | None = None
        with telling(path, "open the journal"):
            self._fd = os.open(path, _APPEND, 0o666)
            self._size = os.fstat(self._fd).st_size
            if not self._size:
                sync_directory(os.path.dirname(path) or ".")
            elif os.pread(self._fd, 1, self._size - 1) != b"\n":
                os.close(self._fd)
                raise UsageFault("the journal ends in the middle of a record", where=path, hint="repair it first")

    def append(self, record: Record, *, sync: bool = True) -> None:
        """Write one record; with `sync` it is on disk when this returns. Raises EnvironmentFault."""
        line = encode_record(record)
        with self._lock:
            if self._broken is not None:
                raise self._broken
            try:
                write_all(self._fd, line)
                if sync:
                    sync_data(self._fd)
            except OSError as problem:
                self._broken = environment_fault(problem, self.path, "write the journal")
                with suppress(OSError):
                    os.ftruncate(self._fd, self._size)
                raise self._broken from problem
            self._size += len(line)
        for follower in self._followers:
            follower(record)

    def close(self) -> None:
        """Let go of the file. Nothing may be appended afterwards."""
        with self._lock:
            if self._broken is None:
                self._broken = EnvironmentFault("the journal is closed", where=self.path)
                with suppress(OSError):
                    sync_data(self._fd)
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1


def read_journal(path: str) -> tuple[list[Record], bool]:
    """All whole records, and whether a torn tail was left out.

    Raises UsageFault naming the line for a record that is damaged or of an unknown kind,
    EnvironmentFault when the file cannot be read.
    """
    records, _, torn = _scan(path)
    return records, torn


def first_record(path: str) -> Record | None:
    """The record that a journal begins with; None where it has none that is whole."""
    try:
        with open(path, "rb", opener=_opened) as lines:
            return _decode(path, 1, lines.readline())
    except (OSError, UsageFault):
        return None


def repair_journal(path: str) -> int:
    """Cut a torn tail off, durably. Returns how many bytes went. Raises as read_journal."""
    _, whole, torn = _scan(path)
    if not torn:
        return 0
    with telling(path, "repair the journal"):
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            cut = os.fstat(fd).st_size - whole
            os.ftruncate(fd, whole)
            os.fsync(fd)
        finally:
            os.close(fd)
    return cut


def _opened(path: str, flags: int) -> int:
    """A plain file: a pipe in its place would be waited for."""
    fd = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def _scan(path: str) -> tuple[list[Record], int, bool]:
    """The records, the bytes they take, and whether more follows that is torn."""
    records: list[Record] = []
    whole = 0
    suspect = 0
    with telling(path, "read the journal"), open(path, "rb", opener=_opened) as lines:
        for number, line in enumerate(lines, 1):
            if suspect:
                raise _damaged(path, suspect, "it is not JSON, and more records follow it")
            record = _decode(path, number, line)
            if record is None:
                suspect = number
                continue
            records.append(record)
            whole += len(line)
    return records, whole, bool(suspect)


def _decode(path: str, number: int, line: bytes) -> Record | None:
    """The record of a line; None for what a torn write leaves behind."""
    if not line.endswith(b"\n"):
        return None
    try:
        return _decoder().decode(line)
    except msgspec.ValidationError as problem:
        # Types are judged as the line is read: what comes after the place may not even be JSON.
        seen = _plain(line)
        if seen is _NOT_JSON:
            return None
        raise _unfit(path, number, seen, problem) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


_NOT_JSON = object()


def _plain(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NOT_JSON


def _unfit(path: str, number: int, seen: Any, problem: msgspec.ValidationError) -> UsageFault:
    """The fault of a line that is JSON, but no record of ours."""
    kind = seen.get("type") if isinstance(seen, dict) else None
    if isinstance(kind, str) and kind not in _known():
        return UsageFault(
            f"record type {kind!r} is not known to this version",
            where=f"{path}:{number}",
            hint="a newer remit wrote this run: take it up with that version",
            kind="journal_newer",
        )
    return _damaged(path, number, str(problem))


def _damaged(path: str, number: int, what: str) -> UsageFault:
    return UsageFault(
        f"the journal is damaged here: {what}",
        where=f"{path}:{number}",
        hint="restore the file from a copy, or start the run anew; nothing was changed",
        kind="journal_damaged",
    )

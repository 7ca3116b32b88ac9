"""Results of calls that a run keeps whole, for the model to page and search.

Each is one file, `outputs/<handle>.txt`, written before the record that names it. The journal says which
there are; a file that no record names is one whose call died, and is written over.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from remit.base.calls import Retained
from remit.base.clipping import line_count
from remit.base.errors import ErrorCode, Failure
from remit.base.lazy_pattern import lazy_pattern
from remit.base.limits import KIB, MIB
from remit.base.records import CallSettled, JobEnded, Record, SessionForked
from remit.base.text import clip, shorten
from remit.store.durable import DIRECTORY, replace_file, telling

DIRECTORY_NAME = "outputs"
KEPT_WHOLE_BYTES = 8 * KIB
"""A longer result is kept although the model was shown all of it."""

MAX_BYTES = 8 * MIB
"""Of one result; of a longer one the middle is not kept."""

MAX_TOTAL_BYTES = 256 * MIB
"""Of all results; the oldest go first."""

MAX_NAMED = 20

_PRODUCER_CHARACTERS = 32
_OTHER = lazy_pattern(r"[^a-z0-9_]+")


class OutputStore:
    """Kept results of one run directory. max_bytes: of one; total: of all."""

    def __init__(self, run_dir: str, *, max_bytes: int = MAX_BYTES, total: int = MAX_TOTAL_BYTES) -> None:
        self._run_dir = run_dir
        self._max_bytes = max_bytes
        self._total = total
        self._bytes = 0
        self._held: dict[str, Retained] = {}
        self._dropped: set[str] = set()

    def rebuild(self, records: Iterable[Record]) -> None:
        """Take up what the journal says."""
        for record in records:
            if isinstance(record, CallSettled | JobEnded) and record.output is not None:
                self._take(record.output)
            if isinstance(record, SessionForked):
                for retained in record.retained:
                    self._take(retained)

    def copy_from(self, run_dir: str, records: Iterable[Record]) -> tuple[Retained, ...]:
        """Copy what another run keeps, and still has, before anything is kept here; what was copied."""
        other = OutputStore(run_dir, max_bytes=self._max_bytes, total=self._total)
        other.rebuild(records)
        copied = []
        for retained in other.held():
            content = other._content(_file(retained.handle))
            if content is not None and _digest(content) == retained.sha256:
                self._write(retained, content, sync=True)
                copied.append(retained)
        return tuple(copied)

    def held(self) -> tuple[Retained, ...]:
        """What is kept, the oldest first."""
        return tuple(self._held.values())

    def retain(self, key: str, producer: str, text: str, *, cut: bool, sync: bool) -> Retained | None:
        """Keep a result if the model was shown a part of it, or if it is long. The same text of the same
        producer is kept once. Raises EnvironmentFault."""
        data = text.encode("utf-8", "replace")
        if not cut and len(data) <= KEPT_WHOLE_BYTES:
            return None
        if len(data) > self._max_bytes:
            text = clip(text, self._max_bytes)[0]
            data = text.encode("utf-8", "replace")
        base, digest = f"output-{plain_name(producer)}", _digest(data)
        for known in self._held.values():
            if known.sha256 == digest and _is_named(known.handle, base):
                self._write(known, data, sync)
                return known
        retained = Retained(self._free_name(base), len(data), line_count(text), digest)
        self._write(retained, data, sync)
        return retained

    def read(self, handle: str) -> str:
        """A kept result, whole. Raises Failure(not_found) for what this run does not have."""
        known = self._held.get(handle)
        if known is None:
            raise Failure(ErrorCode.NOT_FOUND, self._missing(handle))
        content = self._content(_file(handle))
        if content is None or _digest(content) != known.sha256:
            what = "is gone" if content is None else "was changed"
            raise Failure(
                ErrorCode.NOT_FOUND, f"the file of {handle} {what} since the run wrote it; make the call again"
            )
        return content.decode()

    def _write(self, retained: Retained, data: bytes, sync: bool) -> None:
        with telling(os.path.join(self._run_dir, DIRECTORY_NAME), "keep a result"), self._directory() as fd:
            if not _stands(fd, retained):
                replace_file(fd, _file(retained.handle), data, mode=0o600, sync=sync)
            for gone in self._take(retained):
                with suppress(FileNotFoundError):
                    os.unlink(_file(gone), dir_fd=fd)

    def _take(self, retained: Retained) -> list[str]:
        """Count it in; the handles that have to go for it."""
        if retained.handle in self._held or retained.handle in self._dropped:
            return []
        self._held[retained.handle] = retained
        self._bytes += retained.bytes
        gone: list[str] = []
        while self._bytes > self._total and len(self._held) > 1:
            oldest = next(iter(self._held))
            self._bytes -= self._held.pop(oldest).bytes
            self._dropped.add(oldest)
            gone.append(oldest)
        return gone

    def _free_name(self, base: str) -> str:
        name, number = base, 1
        while name in self._held or name in self._dropped:
            number += 1
            name = f"{base}-{number}"
        return name

    def _missing(self, handle: str) -> str:
        if handle in self._dropped:
            return (
                f"{handle} is no longer kept: the results of a run may take {self._total // MIB} MiB together, and "
                "the oldest go first; make the call again"
            )
        newest = [f"{each.handle} ({each.lines} lines)" for each in reversed(self._held.values())]
        more = f", and {len(newest) - MAX_NAMED} older ones" if len(newest) > MAX_NAMED else ""
        there = f"{', '.join(newest[:MAX_NAMED])}{more}" if newest else "none; results that are not cut are not kept"
        return f"there is no output {shorten(handle)}; the outputs of this run are: {there}"

    def _content(self, name: str) -> bytes | None:
        try:
            with self._directory() as directory:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                fd = os.open(name, flags, dir_fd=directory)
                with os.fdopen(fd, "rb") as file:
                    return file.read(self._max_bytes + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None
        except OSError:
            return None

    @contextmanager
    def _directory(self) -> Iterator[int]:
        """A descriptor of `outputs`, made where there is none, not reached through a link. Raises OSError."""
        run = os.open(self._run_dir, DIRECTORY)
        try:
            with suppress(FileExistsError):
                os.mkdir(DIRECTORY_NAME, 0o700, dir_fd=run)
            fd = os.open(DIRECTORY_NAME, DIRECTORY | os.O_NOFOLLOW, dir_fd=run)
        finally:
            os.close(run)
        try:
            yield fd
        finally:
            os.close(fd)


def plain_name(producer: str) -> str:
    """A tool or program as a part of a handle: lower case, a few plain characters."""
    name = _OTHER.sub("-", producer.lower()).strip("-")[:_PRODUCER_CHARACTERS].strip("-")
    return name or "result"


def _is_named(handle: str, base: str) -> bool:
    return re.fullmatch(rf"{re.escape(base)}(?:-\d+)?", handle) is not None


def _stands(directory: int, retained: Retained) -> bool:
    """Whether it lies there already, judged by its size."""
    with suppress(OSError):
        found = os.stat(_file(retained.handle), dir_fd=directory, follow_symlinks=False)
        return stat.S_ISREG(found.st_mode) and found.st_size == retained.bytes
    return False


def _file(handle: str) -> str:
    return f"{handle}.txt"


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()

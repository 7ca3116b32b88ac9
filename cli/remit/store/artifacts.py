"""The artifact store of a run.

Every call keeps its own copy, `calls/<call key>/<name>`, so that writing again after a crash lands in
the same place; `artifacts/<name>` is what was published last, swapped in whole. The journal says what
was published; `artifacts.json` repeats it for readers.
"""

from __future__ import annotations

import os
import stat
import threading
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress

import msgspec

from remit.base.artifact_names import name_fault
from remit.base.errors import ErrorCode, Failure
from remit.base.lazy_pattern import lazy_pattern
from remit.base.ports import ArtifactInfo
from remit.base.records import ArtifactRemoved, ArtifactWritten, Record
from remit.base.text import shorten, visible
from remit.store.durable import DIRECTORY, replace_file, telling
from remit.store.left_files import clear_links

INDEX_FILE = "artifacts.json"
MEDIA_TYPES = {
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".json": "application/json",
    # Commands write others too.
    ".html": "text/html",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".jsonl": "application/jsonl",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".svg": "image/svg+xml",
    ".zip": "application/zip",
    ".gz": "application/gzip",
}

MAX_TAKEN_IN = 500
"""Artifacts that a run may have for commands to add another: more is a directory that went to the wrong place."""

MAX_TOLD = 20

_PLAIN_KEY = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TEMPORARY = ".partial"


class ArtifactStore:
    """Artifacts of one run directory.

    max_bytes: of one artifact. spend: charges bytes before they are written, may raise BudgetSpent.
    record: journals what was published and removed (a journal's `append` fits).
    """

    def __init__(
        self,
        run_dir: str,
        max_bytes: int,
        spend: Callable[[int], None],
        record: Callable[[ArtifactWritten | ArtifactRemoved], None],
    ) -> None:
        self.run_dir = run_dir
        self.max_bytes = max_bytes
        self._spend = spend
        self._record = record
        self._published: dict[str, ArtifactInfo] = {}
        self._by_call: dict[tuple[str, str], ArtifactInfo] = {}
        self._seen: dict[str, tuple[int, int, int]] = {}
        """What lay in the directory when it was last taken in: inode, size and time of the last change."""
        self._lock = threading.Lock()

    def grant(self, call_key: str, names: Collection[str]) -> ArtifactGrant:
        """The capability of one call to write these artifacts."""
        return ArtifactGrant(self, call_key, frozenset(names))

    def published(self) -> tuple[ArtifactInfo, ...]:
        """What is published now, by name."""
        return tuple(self._published[name] for name in sorted(self._published))

    def write(self, call_key: str, name: str, content: bytes) -> ArtifactInfo:
        """Store and publish, whole or not at all.

        Raises Failure(artifact_too_large, invalid_name), BudgetSpent, EnvironmentFault.
        """
        self._check(name, len(content))
        with self._lock:
            return self._write(call_key, name, content)

    def _write(self, call_key: str, name: str, content: bytes) -> ArtifactInfo:
        self._check_twins(name)
        info = _info(name, content, call_key)
        known = self._by_call.get((call_key, name)) == info
        if known and self._published.get(name) == info and self._stands(info):
            return info
        with self._directories(call_key) as (call, artifacts):
            if not (known or _holds(call, name, info)):
                self._spend(len(content))
                replace_file(call, name, content, temporary=_TEMPORARY)
            replace_file(artifacts, name, content, via=call, temporary=_TEMPORARY)
            self._see(artifacts, name)
        self._publish(info)
        self._write_index()
        return info

    def tell(self, changes: Iterable[ArtifactWritten | ArtifactRemoved]) -> None:
        """List artifacts whose content is not here, or no more. Raises BudgetSpent, EnvironmentFault."""
        with self._lock:
            for change in changes:
                if isinstance(change, ArtifactRemoved):
                    self._record(change)
                    self._forget(change.name)
                else:
                    self._spend(change.bytes)
                    self._publish(msgspec.structs.replace(_told(change), path=""))
            self._write_index()

    def _publish(self, info: ArtifactInfo) -> None:
        if self._published.get(info.name) != info:
            self._record(ArtifactWritten(info.name, info.bytes, info.sha256, info.media_type, info.call, info.path))
        self._remember(info)

    def clear(self) -> list[str]:
        """Remove links and the like from the directory, one sentence each. Raises EnvironmentFault."""
        with self._artifacts() as artifacts:
            return list(clear_links(artifacts))

    def take_in(self, call_key: str) -> list[str]:
        """Publish what the commands of a call wrote into the directory themselves, and tell what of it is no artifact,
        one sentence each. Links and the like are removed.

        Raises BudgetSpent, EnvironmentFault.
        """
        with self._lock, self._artifacts() as artifacts:
            told = list(clear_links(artifacts))
            before = self.published()
            try:
                names = sorted(os.listdir(artifacts))
                self._let_go(call_key, frozenset(names))
                for name in names:
                    if why := self._take_in(call_key, name, artifacts):
                        told.append(f"{visible(name)} among the artifacts is not listed as one: {why}")
            finally:
                if self.published() != before:
                    self._write_index()
        more = [f"and {len(told) - MAX_TOLD} more among the artifacts"] if len(told) > MAX_TOLD else []
        return told[:MAX_TOLD] + more

    def _let_go(self, call_key: str, names: Collection[str]) -> None:
        """What stood there when the commands began, and was taken away or renamed by them, is no artifact any more."""
        for name in [name for name in self._published if name in self._seen and name not in names]:
            self._record(ArtifactRemoved(name, call_key))
            self._forget(name)

    def _take_in(self, call_key: str, name: str, artifacts: int) -> str:
        """Why it is no artifact, once; "" for what is one, and for what is as it was seen before."""
        try:
            found = os.stat(name, dir_fd=artifacts, follow_symlinks=False)
        except FileNotFoundError:
            return ""
        if self._seen.get(name) == _state(found):
            return ""
        self._seen[name] = _state(found)
        if stat.S_ISDIR(found.st_mode):
            return "it is a directory, and only files are"
        if problem := name_fault(name):
            return problem
        if name not in self._published and len(self._published) >= MAX_TAKEN_IN:
            return f"there are {MAX_TAKEN_IN} already"
        try:
            self._check(name, found.st_size)
            self._check_twins(name)
        except Failure as failure:
            return failure.message
        content = _read(artifacts, name)
        if content is None:
            return "it cannot be read"
        info = _info(name, content, call_key)
        standing = self._published.get(name)
        if standing is None or standing.sha256 != info.sha256:
            self._spend(len(content))
            with self._directories(call_key) as (call, _):
                replace_file(call, name, content, temporary=_TEMPORARY)
            self._publish(info)
        return ""

    def rebuild(self, records: Iterable[Record]) -> list[str]:
        """Take up what the journal says, put the directory in step with it, and tell what does not fit.

        Raises EnvironmentFault.
        """
        with self._lock:
            for record in records:
                if isinstance(record, ArtifactWritten):
                    self._remember(_told(record))
                elif isinstance(record, ArtifactRemoved):
                    self._forget(record.name)
            notices = self.clear()
            notices += [notice for info in self.published() if (notice := self._restore(info))]
            self._mark_seen()
            self._write_index()
        return notices

    def _mark_seen(self) -> None:
        """What stands at the place of an artifact now is not of commands that are yet to run."""
        with self._artifacts() as artifacts:
            for name in self._published:
                with suppress(FileNotFoundError):
                    self._see(artifacts, name)

    def _see(self, artifacts: int, name: str) -> None:
        self._seen[name] = _state(os.stat(name, dir_fd=artifacts, follow_symlinks=False))

    def altered(self) -> list[str]:
        """What of the published artifacts is no longer as the run wrote it, one sentence each."""
        with self._lock:
            return [told for info in self.published() if (told := self._altered(info))]

    def _altered(self, info: ArtifactInfo) -> str:
        with self._directories(info.call) as (_, artifacts):
            standing = _read(artifacts, info.name)
        if standing is None:
            return f"artifact {info.name} was written, and is gone"
        if _digest(standing) != info.sha256:
            return f"artifact {info.name} was changed after it was written"
        return ""

    def _restore(self, info: ArtifactInfo) -> str:
        """Publish again what is missing, or was overtaken by a write that never got its record."""
        with self._directories(info.call) as (call, artifacts):
            standing = _read(artifacts, info.name)
            if standing is not None and _digest(standing) == info.sha256:
                return ""
            if standing is not None and not self._is_ours(info.name, standing):
                return f"{info.path} was changed since the run wrote it"
            content = _read(call, info.name)
            if content is None or _digest(content) != info.sha256:
                return f"{info.path} is missing, and so is its copy"
            replace_file(artifacts, info.name, content, via=call, temporary=_TEMPORARY)
        return ""

    def _is_ours(self, name: str, content: bytes) -> bool:
        calls = os.path.join(self.run_dir, "calls")
        for key in sorted(os.listdir(calls)):
            fd = os.open(os.path.join(calls, key), DIRECTORY | os.O_NOFOLLOW)
            try:
                if _read(fd, name) == content:
                    return True
            finally:
                os.close(fd)
        return False

    def _remember(self, info: ArtifactInfo) -> None:
        self._published[info.name] = info
        self._by_call[info.call, info.name] = info

    def _forget(self, name: str) -> None:
        self._seen.pop(name, None)
        if (info := self._published.pop(name, None)) is not None:
            self._by_call.pop((info.call, name), None)

    def _stands(self, info: ArtifactInfo) -> bool:
        """Whether it lies there still, judged by its size: a cheap look before work is saved."""
        with suppress(OSError):
            found = os.stat(os.path.join(self.run_dir, "artifacts", info.name), follow_symlinks=False)
            return stat.S_ISREG(found.st_mode) and found.st_size == info.bytes
        return False

    def _check(self, name: str, size: int) -> None:
        if not name or name.startswith(".") or "/" in name or "\0" in name:
            raise Failure(ErrorCode.INVALID_NAME, f"{shorten(name)} is not a bare filename")
        if size > self.max_bytes:
            raise Failure(ErrorCode.ARTIFACT_TOO_LARGE, too_large(name, size, self.max_bytes))

    def _check_twins(self, name: str) -> None:
        # Two spellings that some file systems take for one would overwrite each other there.
        if name in self._published:
            return
        folded = _folded(name)
        for other in self._published:
            if _folded(other) == folded:
                raise Failure(
                    ErrorCode.INVALID_NAME,
                    f"{shorten(name)} differs only in case or accents' spelling from the artifact {shorten(other)}; "
                    "use that name to replace it, or a different one",
                )

    @contextmanager
    def _artifacts(self) -> Iterator[int]:
        """A descriptor of `artifacts`, not reached through a link."""
        opened: list[int] = []
        try:
            with telling(os.path.join(self.run_dir, "artifacts"), "read the artifacts"):
                yield _open(opened, "artifacts", _open(opened, self.run_dir))
        finally:
            for fd in opened:
                os.close(fd)

    @contextmanager
    def _directories(self, call_key: str) -> Iterator[tuple[int, int]]:
        """Descriptors of the call's directory and of `artifacts`, neither reached through a link."""
        opened: list[int] = []
        try:
            with telling(os.path.join(self.run_dir, "artifacts"), "write the artifact"):
                run = _open(opened, self.run_dir)
                calls = _open(opened, "calls", run)
                call = _open(opened, _place(call_key), calls)
                yield call, _open(opened, "artifacts", run)
        finally:
            for fd in opened:
                os.close(fd)

    def _write_index(self) -> None:
        listing = {"version": 1, "artifacts": self.published()}
        text = msgspec.json.format(msgspec.json.encode(listing), indent=2) + b"\n"
        opened: list[int] = []
        try:
            with telling(self.run_dir, f"write {INDEX_FILE}"):
                replace_file(_open(opened, self.run_dir), INDEX_FILE, text)
        finally:
            for fd in opened:
                os.close(fd)


class ArtifactGrant:
    """What one call may write: the artifacts it declared."""

    def __init__(self, store: ArtifactStore, call_key: str, names: frozenset[str]) -> None:
        self.max_bytes = store.max_bytes
        self._store = store
        self._call_key = call_key
        self._names = names

    def write(self, name: str, content: bytes) -> ArtifactInfo:
        """Store and publish, whole or not at all; the same call may write again without harm.

        Raises Failure(undeclared, artifact_too_large, invalid_name), BudgetSpent, EnvironmentFault.
        """
        if name not in self._names:
            raise Failure(ErrorCode.UNDECLARED, f"this call did not declare the artifact {shorten(name)}")
        return self._store.write(self._call_key, name, content)


def media_type(name: str) -> str:
    """The media type by the suffix, in any case; `application/octet-stream` for others."""
    return MEDIA_TYPES.get(os.path.splitext(name)[1].lower(), "application/octet-stream")


def too_large(name: str, size: int, limit: int) -> str:
    """The message for content over the limit of one artifact."""
    return (
        f"{name}: {size} bytes of content; one artifact of this task may have {limit} bytes. "
        "Write less, or split it over several artifacts."
    )


def _info(name: str, content: bytes, call_key: str) -> ArtifactInfo:
    return ArtifactInfo(name, len(content), _digest(content), media_type(name), call_key, f"artifacts/{name}")


def _state(found: os.stat_result) -> tuple[int, int, int]:
    """What is another one once a file was written to. Of a directory, which one it is."""
    if stat.S_ISDIR(found.st_mode):
        return found.st_ino, 0, 0
    return found.st_ino, found.st_size, found.st_ctime_ns


def _told(record: ArtifactWritten) -> ArtifactInfo:
    return ArtifactInfo(record.name, record.bytes, record.sha256, record.media_type, record.call, record.path)


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _place(call_key: str) -> str:
    """The directory of a call: its key, or a digest of a key that is no plain name."""
    return call_key if _PLAIN_KEY.fullmatch(call_key) else _digest(call_key.encode("utf-8", "replace"))[:32]


def _open(opened: list[int], name: str, parent: int | None = None) -> int:
    """Open a directory beneath `parent`, making it where there is none. Raises OSError for a link."""
    try:
        fd = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except FileNotFoundError:
        if parent is None:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
        fd = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        os.fsync(parent)
    opened.append(fd)
    return fd


def _read(directory: int, name: str) -> bytes | None:
    """The bytes of a regular file of the directory; None when there is none."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(fd).st_mode) else None


def _holds(directory: int, name: str, info: ArtifactInfo) -> bool:
    """Whether an earlier process already stored this very content for this call."""
    content = _read(directory, name)
    return content is not None and len(content) == info.bytes and _digest(content) == info.sha256

"""The directory of a run.

One process at a time owns a run directory: it holds a lock on the file `lock` there for as long as it
lives, however it dies. A new run in a used directory first moves the old one, whole, to
`earlier/<run id>/`; `run.json` goes last, so that an interrupted move is seen and finished or taken back.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Any

import msgspec

from remit.base.errors import RemitError, UsageFault
from remit.base.text import head, shorten
from remit.store.durable import DIRECTORY, environment_fault, overwrite_file, replace_file, sync_directory, telling
from remit.store.journal import JOURNAL_FILE, repair_journal
from remit.store.run_lock import LOCK_FILE, foreign, take_lock
from remit.store.run_status import STATUS_FILE, RunStatus, directory_itself, read_status

EARLIER = "earlier"
MAX_FULL_DISK_ERROR = 500
"""Bytes of what went wrong that `run.json` tells where there is no room for more than it takes already."""

# What a run puts into its directory, `run.json` aside.
PARTS = (
    *(JOURNAL_FILE, "events.jsonl", "decisions.jsonl", "artifacts.json"),
    *("calls", "outputs", "tasks", "plan.md", "artifacts"),
)


def own_files(path: str) -> tuple[str, ...]:
    """What a run keeps in its directory for itself, absolute: all but the artifacts, which are for others."""
    names = (STATUS_FILE, LOCK_FILE, EARLIER, *(part for part in PARTS if part != "artifacts"))
    return tuple(os.path.join(os.path.abspath(path), name) for name in names)


class RunDir:
    """The directory of one run, locked by this process until `close()`.

    path: absolute. status: what `run.json` holds. archived: id of the run that was moved to
    `earlier/`, or "". repaired: bytes of a torn record that were cut off the journal on opening.
    unregistered: why `remit runs` will not know of this run, or "".
    """

    def __init__(self, path: str, lock: int, directory: int, status: RunStatus) -> None:
        self.path = path
        self.status = status
        self.archived = ""
        self.repaired = 0
        self.unregistered = ""
        self._lock = lock
        self._directory = directory

    @classmethod
    def create(
        cls, path: str | None, state_dir: str, run_id: str, *, started: float = 0.0, listed: bool = True
    ) -> RunDir:
        """A directory for a new run: `path`, or one under the state directory. listed: whether `remit runs` may know
        of one at `path`.

        Raises UsageFault for a place that is no directory, in use, the root or the home directory, or holds files of
        others under our names; EnvironmentFault for one that cannot be written.
        """
        runs = os.path.join(os.path.abspath(state_dir), "runs")
        if path is not None:
            _check_name(path)
        if path is None:
            _make_private(os.path.dirname(runs), runs)
            place = os.path.join(runs, run_id)
            with telling(place, "create the run directory"):
                os.mkdir(place, 0o700)
        else:
            place = os.path.abspath(path)
            _check_place(place)
            _make_directory(place)
            place = directory_itself(place)
        run = cls._take(place, run_id, started)
        if path is not None and listed:
            run._register(runs)
        return run

    @classmethod
    def open(cls, path: str) -> RunDir:
        """The directory of an existing run, to take it up again. The torn tail of its journal is cut
        off. Raises UsageFault when it holds no run or is in use."""
        place = directory_itself(path)
        status = read_status(place)
        if status is None:
            raise UsageFault("no run is here", where=place, hint="remit runs list shows the runs there are")
        lock, _ = take_lock(place)
        directory = os.open(place, DIRECTORY)
        try:
            _take_back(directory, place, status.run_id)
            run = cls(place, lock, directory, read_status(place) or status)
            if not os.path.exists(run.journal_path):
                raise UsageFault(
                    "the run stopped before its first record: there is nothing to resume",
                    where=place,
                    hint="start it again with remit run",
                )
            run.repaired = repair_journal(run.journal_path)
        except BaseException:
            os.close(directory)
            os.close(lock)
            raise
        return run

    @classmethod
    def _take(cls, place: str, run_id: str, started: float) -> RunDir:
        lock, created = take_lock(place, "choose another directory with -o DIR")
        directory = -1
        try:
            with telling(place, "use the run directory"):
                directory = os.open(place, DIRECTORY)
                earlier = _earlier_run(directory, place)
                archived = _archive(directory, earlier) if earlier else ""
                run = cls(place, lock, directory, RunStatus(run_id=run_id, started=started, pid=os.getpid()))
                run.write_status(run.status)
                os.mkdir("artifacts", dir_fd=directory)
                os.fsync(directory)
        except BaseException:
            if created and directory >= 0:
                with suppress(OSError):
                    os.unlink(LOCK_FILE, dir_fd=directory)
            for fd in (directory, lock):
                if fd >= 0:
                    os.close(fd)
            raise
        run.archived = archived
        return run

    @property
    def run_id(self) -> str:
        return self.status.run_id

    @property
    def journal_path(self) -> str:
        return os.path.join(self.path, JOURNAL_FILE)

    @property
    def events_path(self) -> str:
        return os.path.join(self.path, "events.jsonl")

    @property
    def decisions_path(self) -> str:
        return os.path.join(self.path, "decisions.jsonl")

    @property
    def artifacts_path(self) -> str:
        return os.path.join(self.path, "artifacts")

    def write_status(self, status: RunStatus) -> None:
        """Replace `run.json`: readers see the old or the new one. On a full disk it is written over the old one: what
        came of the run is known there as well. Raises EnvironmentFault."""
        with telling(self.path, f"write {STATUS_FILE}"):
            try:
                replace_file(self._directory, STATUS_FILE, _as_text(status))
            except OSError as problem:
                if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                status = msgspec.structs.replace(status, error=head(status.error, MAX_FULL_DISK_ERROR))
                overwrite_file(self._directory, STATUS_FILE, _as_text(status))
        self.status = status

    def update(self, **changes: Any) -> None:
        """Write `run.json` with these fields changed. Raises EnvironmentFault."""
        self.write_status(msgspec.structs.replace(self.status, **changes))

    def close(self) -> None:
        """Let go of the lock."""
        for fd in (self._directory, self._lock):
            if fd >= 0:
                os.close(fd)
        self._directory = self._lock = -1

    def _register(self, runs: str) -> None:
        """Leave a pointer for `remit runs`. A run with its own directory does not fail for want of it."""
        pointer = f"{self.run_id}.json"
        try:
            _make_private(os.path.dirname(runs), runs)
            with telling(runs, "register the run"):
                directory = os.open(runs, DIRECTORY)
                try:
                    replace_file(directory, pointer, msgspec.json.encode({"path": self.path}) + b"\n")
                finally:
                    os.close(directory)
        except RemitError as problem:
            self.unregistered = f"{problem.where}: {problem.what}"


def _as_text(status: RunStatus) -> bytes:
    return msgspec.json.format(msgspec.json.encode(status), indent=2) + b"\n"


def _check_name(path: str) -> None:
    """Raises UsageFault for what is no name of a directory: an unset variable, bytes that are no text."""
    try:
        good = bool(path) and b"\0" not in path.encode()
    except UnicodeEncodeError:
        good = False
    if not good:
        what = f"{shorten(path)} is no name of a directory" if path else "the directory's name is empty"
        raise UsageFault(what, where="-o", hint="name one in UTF-8, or leave -o out", kind="out_dir")


def _check_place(place: str) -> None:
    """Raises UsageFault for a directory that is surely meant for more than one run: its files would lie among all
    others of the user or the system."""
    what = {os.path.realpath(os.path.expanduser("~")): "your home directory", "/": "the root of the file system"}
    found = what.get(os.path.realpath(place))
    if found:
        hint = "name a directory of its own, as in -o out"
        raise UsageFault(f"a run does not put its files into {found}", where=place, hint=hint, kind="out_dir")


def _make_private(*paths: str) -> None:
    """Directories for this user alone. Raises EnvironmentFault, UsageFault."""
    for path in paths:
        _make_directory(path, 0o700)


def _make_directory(path: str, mode: int = 0o777) -> None:
    try:
        os.makedirs(path, mode, exist_ok=True)
        with suppress(OSError):
            sync_directory(os.path.dirname(path))
    except (FileExistsError, NotADirectoryError, FileNotFoundError):
        raise _no_directory(path) from None
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise _no_directory(path) from None
        raise environment_fault(problem, path, "create the directory") from problem


def _no_directory(path: str) -> UsageFault:
    """The fault for a place where something else stands in the way, naming the thing."""
    standing = path
    while not os.path.lexists(standing):
        standing = os.path.dirname(standing)
    what = "a link that leads nowhere" if os.path.islink(standing) else "not a directory"
    return UsageFault(f"this is {what}", where=standing, hint="choose another directory with -o DIR", kind="out_dir")


def _earlier_run(directory: int, place: str) -> str:
    """The id of the run that lies here, or "". Raises UsageFault for files of others under our names."""
    names = set(os.listdir(directory))
    if STATUS_FILE in names:
        status = read_status(place)
        if status is None:
            raise foreign(place, STATUS_FILE)
        return status.run_id
    for part in PARTS:
        if part in names:
            raise foreign(place, part)
    return ""


def _archive(directory: int, run_id: str) -> str:
    """Move the run that lies here to `earlier/`. Begun before and cut short: finish it. Raises OSError."""
    with suppress(FileExistsError):
        os.mkdir(EARLIER, dir_fd=directory)
    earlier = os.open(EARLIER, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    try:
        with suppress(FileExistsError):
            os.mkdir(run_id, dir_fd=earlier)
        os.fsync(earlier)
        place = os.open(run_id, DIRECTORY | os.O_NOFOLLOW, dir_fd=earlier)
    finally:
        os.close(earlier)
    try:
        _move(PARTS, directory, place)
        _move((STATUS_FILE,), directory, place)
    finally:
        os.close(place)
    return run_id


def _take_back(directory: int, place: str, run_id: str) -> None:
    """Undo a move to `earlier/` that did not finish, so that the run is whole again where it was."""
    with telling(place, "put the run together again"):
        try:
            earlier = os.open(os.path.join(EARLIER, run_id), DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            _move(PARTS, earlier, directory)
        finally:
            os.close(earlier)
        with suppress(OSError):
            os.rmdir(os.path.join(EARLIER, run_id), dir_fd=directory)
            os.rmdir(EARLIER, dir_fd=directory)


def _move(names: tuple[str, ...], source: int, target: int) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
    os.fsync(target)
    os.fsync(source)

"""The directory of a run, and finding it again.

One process at a time owns a run directory: it holds a lock on the file `lock` there for as long as it
lives, however it dies. A new run in a used directory first moves the old one, whole, to
`earlier/<run id>/`; `run.json` goes last, so that an interrupted move is seen and finished or taken back.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from remit.base.errors import RemitError, UsageFault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.ports import Clock
from remit.base.text import shorten
from remit.store.durable import DIRECTORY, environment_fault, replace_file, sync_directory, telling
from remit.store.journal import repair_journal

STATUS_FILE = "run.json"
JOURNAL_FILE = "journal.jsonl"
LOCK_FILE = "lock"
EARLIER = "earlier"
# What a run puts into its directory, `run.json` aside.
PARTS = (
    *(JOURNAL_FILE, "events.jsonl", "decisions.jsonl", "artifacts.json"),
    *("calls", "outputs", "tasks", "plan.md", "artifacts"),
)

_RUN_ID = lazy_pattern(r"\d{8}-\d{6}-[0-9a-f]{6}")
_SESSION_ID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARK = b"remit "
_LOCK_TRIES = 10
_LOCK_PAUSE = 0.02


def own_files(path: str) -> tuple[str, ...]:
    """What a run keeps in its directory for itself, absolute: all but the artifacts, which are for others."""
    names = (STATUS_FILE, LOCK_FILE, EARLIER, *(part for part in PARTS if part != "artifacts"))
    return tuple(os.path.join(os.path.abspath(path), name) for name in names)


def new_run_id(clock: Clock, random_bytes: Callable[[int], bytes]) -> str:
    """`YYYYMMDD-HHMMSS-xxxxxx`: UTC, and six hex digits of chance."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(clock.now()))
    return f"{moment}-{random_bytes(3).hex()}"


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


class RunStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`. status: `running`, or the verdict it ended with. started, ended: Unix seconds.
    workspace: absolute, "" where the run is no session that can be continued. prompts: how many have ended. counts:
    turns, calls, refusals, ... as the result line has them."""

    run_id: str
    version: int = 1
    session_id: str = ""
    status: str = "running"
    verdict: str = ""
    exit_code: int | None = None
    resumable: bool = False
    pid: int = 0
    started: float = 0.0
    ended: float | None = None
    name: str = ""
    task: str = ""
    model: str = ""
    usd: float | None = None
    error: str = ""
    counts: dict[str, int] = {}
    workspace: str = ""
    prompts: int = 0


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

        Raises UsageFault for a place that is no directory, in use, or holds files of others under
        our names; EnvironmentFault for one that cannot be written.
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
            _make_directory(place)
        run = cls._take(place, run_id, started)
        if path is not None and listed:
            run._register(runs)
        return run

    @classmethod
    def open(cls, path: str) -> RunDir:
        """The directory of an existing run, to take it up again. The torn tail of its journal is cut
        off. Raises UsageFault when it holds no run or is in use."""
        place = os.path.abspath(path)
        status = read_status(place)
        if status is None:
            raise UsageFault("no run is here", where=place, hint="remit runs list shows the runs there are")
        lock, _ = _take_lock(place)
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
        lock, created = _take_lock(place)
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
        """Replace `run.json`: readers see the old or the new one. Raises EnvironmentFault."""
        text = msgspec.json.format(msgspec.json.encode(status), indent=2) + b"\n"
        with telling(self.path, f"write {STATUS_FILE}"):
            replace_file(self._directory, STATUS_FILE, text)
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


def read_status(path: str) -> RunStatus | None:
    """The `run.json` of a directory; None when there is none that is ours."""
    try:
        with open(os.path.join(path, STATUS_FILE), "rb") as file:
            status = msgspec.json.decode(file.read(1 << 20), type=RunStatus)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return status if is_run_id(status.run_id) else None


def in_use(path: str) -> bool:
    """Whether a living process owns the run directory."""
    import fcntl

    try:
        fd = os.open(os.path.join(path, LOCK_FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _check_name(path: str) -> None:
    """Raises UsageFault for what is no name of a directory: an unset variable, bytes that are no text."""
    try:
        good = bool(path) and b"\0" not in path.encode()
    except UnicodeEncodeError:
        good = False
    if not good:
        what = f"{shorten(path)} is no name of a directory" if path else "the directory's name is empty"
        raise UsageFault(what, where="-o", hint="name one in UTF-8, or leave -o out", kind="out_dir")


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


def _take_lock(place: str) -> tuple[int, bool]:
    """The lock of a run directory, and whether its file is new. Raises UsageFault when it is held."""
    for _ in range(_LOCK_TRIES):
        fd, created = _open_lock(place)
        if _try_lock(fd, place):
            try:
                with telling(place, "write the lock file"):
                    _sign(fd, place)
            except RemitError:
                os.close(fd)
                raise
            return fd, created
        owner = _owner(fd)
        os.close(fd)
        # A reader of `remit runs` holds it shared for a moment; an owner holds it for good.
        time.sleep(_LOCK_PAUSE)
    raise UsageFault(
        f"the directory is in use by {owner}",
        where=place,
        hint="wait for that run to end, or choose another directory with -o DIR",
        kind="in_use",
    )


def _open_lock(place: str) -> tuple[int, bool]:
    path = os.path.join(place, LOCK_FILE)
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    created = False
    try:
        try:
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            created = True
        except FileExistsError:
            fd = os.open(path, flags | os.O_CREAT, 0o666)
    except OSError as problem:
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise _foreign(place, LOCK_FILE) from None
        raise environment_fault(problem, place, "write to the directory") from problem
    return fd, created


def _try_lock(fd: int, place: str) -> bool:
    """Lock it, and make sure that the file locked is the one that stands there."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:
        os.close(fd)
        raise environment_fault(problem, place, "lock the directory") from problem
    try:
        return os.path.samestat(os.fstat(fd), os.stat(os.path.join(place, LOCK_FILE), follow_symlinks=False))
    except FileNotFoundError:
        return False


def _sign(fd: int, place: str) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode) or os.pread(fd, len(_MARK), 0) not in {b"", _MARK}:
        raise _foreign(place, LOCK_FILE)
    os.ftruncate(fd, 0)
    os.pwrite(fd, _MARK + b"%d\n" % os.getpid(), 0)


def _owner(fd: int) -> str:
    with suppress(OSError):
        words = os.pread(fd, 64, 0).decode("ascii", "replace").split()
        if len(words) == 2 and words[1].isdecimal():
            return f"process {words[1]}"
    return "another process"


def _earlier_run(directory: int, place: str) -> str:
    """The id of the run that lies here, or "". Raises UsageFault for files of others under our names."""
    names = set(os.listdir(directory))
    if STATUS_FILE in names:
        status = read_status(place)
        if status is None:
            raise _foreign(place, STATUS_FILE)
        return status.run_id
    for part in PARTS:
        if part in names:
            raise _foreign(place, part)
    return ""


def _foreign(place: str, name: str) -> UsageFault:
    return UsageFault(
        f"{shorten(name)} there does not belong to a run, and a run would need that name",
        where=place,
        hint="choose another directory with -o DIR",
        kind="out_dir",
    )


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


class RunEntry(msgspec.Struct, frozen=True):
    """A run as `remit runs` knows it. state: `running`, `interrupted` (its process died), the verdict,
    or `gone` (its directory is no longer there)."""

    run_id: str
    path: str
    state: str
    status: RunStatus | None = None


def list_runs(state_dir: str, limit: int | None = None) -> list[RunEntry]:
    """The runs registered under the state directory, newest first."""
    return list(itertools.islice(each_run(state_dir), limit))


def each_run(state_dir: str) -> Iterator[RunEntry]:
    """The same one after another: no more of them are read than are asked for."""
    runs = os.path.join(os.path.abspath(state_dir), "runs")
    return _newest_first(runs, _registered(runs))


def find_run(state_dir: str, ref: str) -> RunEntry:
    """The run that `ref` names: an id or the start of one, `last`, a session id, or a run directory.

    Raises UsageFault: unknown (with near ones), ambiguous (with all of them), or gone.
    """
    runs = os.path.join(os.path.abspath(state_dir), "runs")
    ids = _registered(runs)
    if not ref:
        # An unset variable: taken for a path it would be the current directory.
        raise _unknown(ref, ids)
    if ref == "last":
        return _newest(runs, ids)
    if ref not in ids and (status := read_status(ref)) is not None:
        path = os.path.abspath(ref)
        return RunEntry(status.run_id, path, _state(path, status), status)
    matches = [ref] if ref in ids else [run_id for run_id in ids if ref and run_id.startswith(ref)]
    if len(matches) == 1:
        return _there(_entry(runs, matches[0]))
    if matches:
        shown = ", ".join(matches[:10]) + (f" and {len(matches) - 10} more" if len(matches) > 10 else "")
        raise UsageFault(f"{shorten(ref)} is the start of {len(matches)} runs: {shown}", hint="give more of the id")
    if _SESSION_ID.fullmatch(ref) and (entry := find_session(state_dir, ref)) is not None:
        return entry
    raise _unknown(ref, ids)


def find_session(state_dir: str, session_id: str) -> RunEntry | None:
    """The run that serves this session, if its directory is there: of several the one that began last."""
    return next((each for each in each_run(state_dir) if each.status and each.status.session_id == session_id), None)


def latest_session(state_dir: str, workspace: str) -> RunEntry | None:
    """The session of this directory that was used last."""
    ours = [each for each in each_run(state_dir) if each.status and each.status.workspace == workspace]
    return max(ours, key=_last_use, default=None)


def _last_use(entry: RunEntry) -> tuple[float, float]:
    assert entry.status is not None
    return max(entry.status.started, entry.status.ended or 0.0), entry.status.started


def _registered(runs: str) -> list[str]:
    try:
        names = os.listdir(runs)
    except OSError:
        return []
    return sorted({name.removesuffix(".json") for name in names if is_run_id(name.removesuffix(".json"))}, reverse=True)


def _newest_first(runs: str, ids: list[str]) -> Iterator[RunEntry]:
    """By when they began, the last first. Within one second the ids are in the order of chance: `run.json` knows."""
    for _, same_second in itertools.groupby(ids, key=lambda run_id: run_id.rpartition("-")[0]):
        yield from sorted((_entry(runs, run_id) for run_id in same_second), key=_began, reverse=True)


def _began(entry: RunEntry) -> float:
    return entry.status.started if entry.status is not None else 0.0


def _entry(runs: str, run_id: str) -> RunEntry:
    places = [os.path.join(runs, run_id)]
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError), open(places[0] + ".json", "rb") as file:
        pointed = msgspec.json.decode(file.read(1 << 16), type=dict[str, str]).get("path", "")
        places += [pointed, os.path.join(pointed, EARLIER, run_id)] if pointed else []
    for place in places:
        status = read_status(place)
        if status is not None and status.run_id == run_id:
            return RunEntry(run_id, place, _state(place, status), status)
    return RunEntry(run_id, places[1] if len(places) > 1 else places[0], "gone")


def _state(path: str, status: RunStatus) -> str:
    if status.status != "running":
        return status.status
    return "running" if in_use(path) else "interrupted"


def _there(entry: RunEntry) -> RunEntry:
    if entry.status is None:
        raise UsageFault(
            f"the directory of run {entry.run_id} is gone", where=entry.path, hint="remit runs list shows the others"
        )
    return entry


def _newest(runs: str, ids: list[str]) -> RunEntry:
    for entry in _newest_first(runs, ids):
        if entry.status is not None:
            return entry
    raise UsageFault("there is no run yet", where=runs, hint="start one with remit run")


def _unknown(ref: str, ids: list[str]) -> UsageFault:
    import difflib

    near = difflib.get_close_matches(ref, ids, n=3, cutoff=0.6)
    place = ", and the directory of that name holds no run" if os.path.isdir(ref) else ""
    hint = f"did you mean {', '.join(near)}?" if near else "remit runs list shows the runs there are"
    return UsageFault(f"no run is called {shorten(ref)}{place}", hint=hint, kind="unknown_run")

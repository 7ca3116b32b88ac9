"""The runs that are registered under the state directory: listed, and found again."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from remit.base.errors import EnvironmentFault, UsageFault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten
from remit.store.run_lock import in_use
from remit.store.run_status import STATUS_FILE, RunStatus, directory_itself, has_status, is_run_id, read_status
from remit.store.rundir import EARLIER

_SESSION_ID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RunEntry(msgspec.Struct, frozen=True):
    """A run as `remit runs` knows it. state: `running`, `interrupted` (its process died), the verdict,
    `gone` (its directory is no longer there), or `damaged` (what is there says nothing of it)."""

    run_id: str
    path: str
    state: str
    status: RunStatus | None = None


def list_runs(state_dir: str, limit: int | None = None) -> list[RunEntry]:
    """The runs registered under the state directory, newest first. Raises EnvironmentFault where it cannot be read."""
    return list(itertools.islice(each_run(state_dir), limit))


def each_run(state_dir: str) -> Iterator[RunEntry]:
    """The same one after another: no more of them are read than are asked for. Raises EnvironmentFault."""
    runs = os.path.join(os.path.abspath(state_dir), "runs")
    return _newest_first(runs, _registered(runs))


def find_run(state_dir: str, ref: str) -> RunEntry:
    """The run that `ref` names: an id or the start of one, `last`, a session id, or a run directory.

    Raises UsageFault: unknown (with near ones), ambiguous (with all of them), gone or damaged; EnvironmentFault where
    the list cannot be read.
    """
    runs = os.path.join(os.path.abspath(state_dir), "runs")
    # An unset variable is no path: it would be the current directory.
    named = bool(ref) and ref != "last"
    if named and not is_run_id(ref) and (entry := _lying_at(ref)) is not None:
        return entry
    ids = _registered(runs)
    if not ref:
        raise _unknown(ref, ids)
    if ref == "last":
        return _newest(runs, ids)
    if ref not in ids and (entry := _lying_at(ref)) is not None:
        return entry
    matches = [ref] if ref in ids else [run_id for run_id in ids if ref and run_id.startswith(ref)]
    if len(matches) == 1:
        return _there(_entry(runs, matches[0]))
    if matches:
        shown = ", ".join(matches[:10]) + (f" and {len(matches) - 10} more" if len(matches) > 10 else "")
        raise UsageFault(f"{shorten(ref)} is the start of {len(matches)} runs: {shown}", hint="give more of the id")
    if _SESSION_ID.fullmatch(ref) and (entry := find_session(state_dir, ref)) is not None:
        return entry
    raise _unknown(ref, ids)


def _lying_at(place: str) -> RunEntry | None:
    """The run of a directory, on the list or not."""
    status = read_status(place)
    if status is None:
        return None
    path = directory_itself(place)
    return RunEntry(status.run_id, path, _state(path, status), status)


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


def _newest(runs: str, ids: list[str]) -> RunEntry:
    for entry in _newest_first(runs, ids):
        if entry.status is not None:
            return entry
    raise UsageFault("there is no run yet", where=runs, hint="start one with remit run")


def _newest_first(runs: str, ids: list[str]) -> Iterator[RunEntry]:
    """By when they began, the last first. Within one second the ids are in the order of chance: `run.json` knows."""
    for _, same_second in itertools.groupby(ids, key=lambda run_id: run_id.rpartition("-")[0]):
        yield from sorted((_entry(runs, run_id) for run_id in same_second), key=_began, reverse=True)


def _began(entry: RunEntry) -> float:
    return entry.status.started if entry.status is not None else 0.0


def _registered(runs: str) -> list[str]:
    try:
        names = os.listdir(runs)
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise EnvironmentFault(
            f"cannot read the list of runs: {problem.strerror}",
            where=runs,
            hint="check owner and mode of this directory and of those above it, or let REMIT_STATE_DIR name another",
            kind="not_readable",
        ) from problem
    return sorted({name.removesuffix(".json") for name in names if is_run_id(name.removesuffix(".json"))}, reverse=True)


def _entry(runs: str, run_id: str) -> RunEntry:
    places = [os.path.join(runs, run_id)]
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError), open(places[0] + ".json", "rb") as file:
        pointed = msgspec.json.decode(file.read(1 << 16), type=dict[str, str]).get("path", "")
        places += [pointed, os.path.join(pointed, EARLIER, run_id)] if pointed else []
    for place in places:
        status = read_status(place)
        if status is not None and status.run_id == run_id:
            return RunEntry(run_id, place, _state(place, status), status)
    for place in places:
        if has_status(place) and read_status(place) is None:
            return RunEntry(run_id, place, "damaged")
    return RunEntry(run_id, places[1] if len(places) > 1 else places[0], "gone")


def _state(path: str, status: RunStatus) -> str:
    if status.status != "running":
        return status.status
    return "running" if in_use(path) else "interrupted"


def _there(entry: RunEntry) -> RunEntry:
    if entry.state == "damaged":
        raise UsageFault(
            f"{STATUS_FILE} of run {entry.run_id} cannot be read, and the journal beside it does not say what it is of",
            where=entry.path,
            hint="check owner and mode of that directory, or restore it from a copy",
            kind="run_damaged",
        )
    if entry.status is None:
        raise UsageFault(
            f"the directory of run {entry.run_id} is gone", where=entry.path, hint="remit runs list shows the others"
        )
    return entry


def _unknown(ref: str, ids: list[str]) -> UsageFault:
    import difflib

    near = difflib.get_close_matches(ref, ids, n=3, cutoff=0.6)
    place = ", and the directory of that name holds no run" if os.path.isdir(ref) else ""
    hint = f"did you mean {', '.join(near)}?" if near else "remit runs list shows the runs there are"
    return UsageFault(f"no run is called {shorten(ref)}{place}", hint=hint, kind="unknown_run")

"""A spec and a run directory in, a ready run out; a new one, or one that is taken up again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from remit import __version__
from remit.base.errors import UsageFault
from remit.base.records import (
    PlanMoved,
    PlanWritten,
    PromptEnded,
    Record,
    RulesChanged,
    RunResumed,
    RunStarted,
    UserSaid,
)
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.emit import Emitter
from remit.engine.narrate import untold
from remit.policy.modes import PLAN, mode_named
from remit.store.journal import read_journal
from remit.store.run_status import new_run_id
from remit.store.rundir import RunDir
from remit.stream.writer import EventLog, encode_line
from remit.wiring.assembly import Beginning, ReadyRun, assemble
from remit.wiring.ports import Listeners, Ports
from remit.wiring.preflight import Parts, preflight
from remit.wiring.status import StatusFollower
from remit.wiring.tidy import passing_directory, remove_directory


class Fresh(msgspec.Struct, frozen=True):
    """How a new run differs from most. session_id: to be used, "" for one of its own. ephemeral: its directory is
    removed at its end. before: told of the directory, what belongs right behind the first record. planned: whether
    that brings a plan."""

    session_id: str = ""
    ephemeral: bool = False
    before: Callable[[str], Sequence[Record]] = lambda _: ()
    planned: bool = False


FRESH = Fresh()


def start(
    spec: RunSpec,
    settings: Settings,
    out: str | None,
    listeners: Listeners,
    ports: Ports,
    *,
    record: str | None = None,
    fresh: Fresh = FRESH,
) -> ReadyRun:
    """A new run, everything checked that can be known before the model is asked.

    Raises UsageFault (rules, approvals, directory), PreflightFault (model, key, price, workspace)."""
    parts = preflight(spec, settings, ports, record, out, has_plan=fresh.planned)
    return begin(spec, settings, out, parts, listeners, ports, fresh=fresh)


def begin(
    spec: RunSpec,
    settings: Settings,
    out: str | None,
    parts: Parts,
    listeners: Listeners,
    ports: Ports,
    *,
    model: str = "",
    fresh: Fresh = FRESH,
) -> ReadyRun:
    """A new run of these parts. model: as the list of runs shows it, where that is not the spec's."""
    started = ports.clock.now()
    run_id = new_run_id(ports.clock, ports.random_bytes)
    if fresh.ephemeral:
        out = passing_directory(parts.leavings)
    directory = RunDir.create(out, settings.state_dir, run_id, started=started, listed=not fresh.ephemeral)
    session_id = fresh.session_id or ports.new_uuid()
    then = fresh.before(directory.path)
    directory.update(
        workspace="" if spec.played or model else spec.workspace,
        session_id=session_id,
        name=spec.name,
        task=spec.task,
        model=model or spec.model,
        started=started,
        pid=os.getpid(),
    )
    spec = msgspec.structs.replace(spec, environment=parts.environment)
    plain = msgspec.to_builtins(spec)
    first = RunStarted(directory.run_id, session_id, __version__, started, _digest(plain), plain)
    ready = assemble(
        Beginning(
            spec=spec,
            settings=settings,
            directory=directory,
            parts=parts,
            listeners=listeners,
            ports=ports,
            session_id=session_id,
            first=first,
            then=then,
        )
    )
    if fresh.ephemeral:
        ready.closers.insert(0, lambda: remove_directory(directory.path))
    return ready


def resume(
    directory: RunDir,
    change: Callable[[RunSpec], RunSpec],
    settings: Settings,
    listeners: Listeners,
    ports: Ports,
    *,
    said: UserSaid | None = None,
    further: bool = False,
    mode: str = "",
) -> ReadyRun:
    """Take a run up where its journal ends. `change` gives the spec to go on with, from the one the
    run was started with. said: a further prompt. further: there are prompts to come, so that a run whose last prompt
    is done can be taken up as well. mode: to change to, "" for none.

    Raises UsageFault when there is nothing to go on with."""
    records, _ = read_journal(directory.journal_path)
    old = journaled_spec(records, directory.path)
    hold_live(old, directory.run_id, directory.path)
    spec = change(old)
    ended = _ended(records)
    catch_up(directory, records, ports)
    if ended is not None and not ended.resumable and not further:
        raise UsageFault(
            f"run {directory.run_id} has ended ({ended.verdict}): there is nothing to go on with",
            where=directory.path,
            hint="say what is to be done next, as in `remit resume RUN PROMPT`, or start a new one with `remit run`",
        )
    parts = preflight(spec, settings, ports, None, directory.path, mode or _mode(records), planned(records))
    spec = msgspec.structs.replace(spec, environment=parts.environment)
    plain = msgspec.to_builtins(spec)
    # A day later it is the same spec: what checks found is still so.
    changed = plain if msgspec.structs.replace(spec, environment=old.environment) != old else None
    directory.update(status="running", verdict="", exit_code=None, ended=None, pid=os.getpid(), model=spec.model)
    session_id = directory.status.session_id or ports.new_uuid()
    first = RunResumed(ports.clock.now(), changed, _digest(plain))
    ready = assemble(
        Beginning(
            spec=spec,
            settings=settings,
            directory=directory,
            parts=parts,
            listeners=listeners,
            ports=ports,
            session_id=session_id,
            first=first,
            records=records,
        )
    )
    ready.said = said
    if mode:
        ready.ruling.change(mode_named(mode), who="flag")
    return ready


def planned(records: Sequence[Record]) -> bool:
    """Whether a session has a plan, if only an empty one."""
    found = False
    for record in records:
        if isinstance(record, PlanMoved):
            found = False
        elif isinstance(record, PlanWritten):
            found = True
        elif isinstance(record, RunStarted):
            found = record.spec.get("mode") == PLAN
        elif isinstance(record, RulesChanged):
            found = found or record.mode == PLAN
    return found


def _mode(records: Sequence[Record]) -> str:
    """The mode that a session was left in."""
    return next((each.mode for each in reversed(records) if isinstance(each, RulesChanged)), "")


def hold_live(spec: RunSpec, run_id: str, where: str) -> None:
    """Raise UsageFault for a run that asked no model."""
    if spec.played:
        what = f"run {run_id} played a recording, so that there is nothing to go on with"
        raise UsageFault(what, where=where, hint=f"play it again with `remit replay {spec.played}`")


def catch_up(directory: RunDir, records: Sequence[Record], ports: Ports) -> None:
    """Bring the files that others read into step with the journal: a process that died may have left
    its last records untold. Raises EnvironmentFault."""
    ended = _ended(records)
    if ended is not None and directory.status.status == "running":
        StatusFollower(directory, ports.clock, records)(ended)
    from remit.stream.reader import read_log  # a new run has nothing to read

    log = read_log(directory.events_path)
    events = EventLog(directory.events_path)
    try:
        emitter = Emitter([], [events], encode_line, directory.status.session_id, ports.new_uuid, ports.clock)
        for event in untold(records, log, emitter.timestamp()):
            emitter.emit(event)
    finally:
        events.close()


def journaled_spec(records: Sequence[Record], where: str) -> RunSpec:
    """The spec that a run goes by: the first record's, or that of the last resume that changed it."""
    plain: dict[str, Any] | None = None
    for record in records:
        if isinstance(record, RunStarted | RunResumed) and record.spec is not None:
            plain = record.spec
    if plain is None:
        raise UsageFault(
            "the run stopped before its first record: there is nothing to resume",
            where=where,
            hint="start it again with remit run",
        )
    return msgspec.convert(plain, RunSpec)


def _ended(records: Sequence[Record]) -> PromptEnded | None:
    last = records[-1] if records else None
    return last if isinstance(last, PromptEnded) else None


def _digest(plain: dict[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()

"""Carrying out the plan of a session, in that session or in a new one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec

from remit.base.errors import Failure, RemitError, UsageFault
from remit.base.events import Notice
from remit.base.records import PlanMoved, Record, UserSaid
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.client import Control, ControlFault, Reply
from remit.policy.modes import DEFAULT, PLAN, mode_named
from remit.store.journal import JOURNAL_FILE, FileJournal, read_journal
from remit.store.plans import PlanDocument
from remit.store.run_list import RunEntry
from remit.store.rundir import RunDir
from remit.wiring.assembly import ReadyRun
from remit.wiring.grants import written_plan
from remit.wiring.ports import Listeners, Ports
from remit.wiring.ready import FRESH, Fresh, hold_live, journaled_spec, planned, resume, start

OPENING = "Implement this session's plan."


def captured(entry: RunEntry) -> str:
    """The plan of a session, read and found good before anything begins. Raises UsageFault."""
    records, _ = read_journal(os.path.join(entry.path, JOURNAL_FILE))
    if not planned(records):
        raise UsageFault(
            f"run {entry.run_id} has no plan", where=entry.path, hint="make one with `remit run --mode plan`"
        )
    try:
        return PlanDocument(entry.path).read()
    except Failure as problem:
        raise UsageFault(
            f"the plan of run {entry.run_id} cannot be carried out: {problem.message}", where=entry.path
        ) from None


def implement(
    entry: RunEntry,
    change: Callable[[RunSpec], RunSpec],
    settings: Settings,
    listeners: Listeners,
    ports: Ports,
    *,
    clear: bool = False,
    mode: str = "",
    out: str | None = None,
    fresh: Fresh = FRESH,
) -> ReadyRun:
    """A run that carries out the plan of a session. clear: in a new session, which the plan moves to. mode: "" for
    the default. Raises UsageFault; then the plan is where it was."""
    content = captured(entry)
    said = UserSaid(f"{OPENING}\n\n{content}")
    mode = mode_named(mode or DEFAULT)
    if mode == PLAN:
        raise UsageFault("a plan is not carried out in plan mode", where="--mode")
    if not clear:
        directory = RunDir.open(entry.path)
        return resume(directory, change, settings, listeners, ports, said=said, further=True, mode=mode)
    records, _ = read_journal(os.path.join(entry.path, JOURNAL_FILE))
    old = journaled_spec(records, entry.path)
    hold_live(old, entry.run_id, entry.path)
    spec = msgspec.structs.replace(change(old), mode=mode, prompt="", images=())
    owned = RunDir.open(entry.path)
    try:

        def before(directory: str) -> Sequence[Record]:
            return [written_plan(PlanDocument(directory).write(content), 1)]

        fresh = msgspec.structs.replace(fresh, before=before, planned=True)
        ready = start(spec, settings, out, listeners, ports, fresh=fresh)
        ready.said = said
        _let_go(owned, ready)
        return ready
    finally:
        owned.close()


def _let_go(owned: RunDir, ready: ReadyRun) -> None:
    """The old session keeps no plan. Where that cannot be, the new one begins all the same."""
    try:
        journal = FileJournal(owned.journal_path)
        try:
            journal.append(PlanMoved(ready.directory.run_id))
        finally:
            journal.close()
        PlanDocument(owned.path).remove()
    except RemitError as problem:
        ready.run.tell(Notice(kind="run_directory", text=f"run {owned.run_id} keeps its plan as well: {problem.what}"))


def controls(ready: ReadyRun, say: Callable[[UserSaid], None]) -> dict[str, Control]:
    """The request of a client that has the plan carried out."""

    async def begin(fields: object) -> Reply:
        if isinstance(fields, dict) and fields.get("clear"):
            hint = f"end this one, and start `remit run --implement {ready.directory.run_id} --clear`"
            raise ControlFault(f"another session takes another process: {hint}")
        if ready.recorder.state.plan_revision is None:
            raise ControlFault("this session has no plan: it has never been in plan mode")
        try:
            content = PlanDocument(ready.directory.path).read()
        except Failure as problem:
            raise ControlFault(f"the plan cannot be carried out: {problem.message}") from None
        ready.ruling.change(DEFAULT)
        say(UserSaid(f"{OPENING}\n\n{content}"))
        return {"bytes": len(content.encode())}

    return {"implement": begin}

"""A new session that begins as a copy of another one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec

from remit.base.errors import Failure
from remit.base.records import Record, SessionForked, UserSaid
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.state import State
from remit.policy.modes import DEFAULT, mode_named
from remit.store.journal import JOURNAL_FILE, read_journal
from remit.store.outputs import OutputStore
from remit.store.plans import PlanDocument
from remit.store.run_list import RunEntry
from remit.wiring.assembly import ReadyRun
from remit.wiring.grants import written_plan
from remit.wiring.ports import Listeners, Ports
from remit.wiring.ready import FRESH, Fresh, hold_live, journaled_spec, planned, start

NEVER = "This call has no result: the session was copied before it ended."


def fork(
    entry: RunEntry,
    change: Callable[[RunSpec], RunSpec],
    settings: Settings,
    out: str | None,
    listeners: Listeners,
    ports: Ports,
    *,
    said: UserSaid | None = None,
    mode: str = "",
    fresh: Fresh = FRESH,
    kept: Sequence[Record] | None = None,
) -> ReadyRun:
    """A run of its own with the transcript of another, which stays as it is and may even be under way; what is spent,
    rules and ids begin anew. change, said: as in `resume`. mode: to begin in, "" for the default. kept: its records up
    to where it is copied, None for all.

    Raises UsageFault where there is nothing to copy."""
    whole, _ = read_journal(os.path.join(entry.path, JOURNAL_FILE))
    old = journaled_spec(whole, entry.path)
    hold_live(old, entry.run_id, entry.path)
    records = whole if kept is None else kept

    def before(directory: str) -> Sequence[Record]:
        return [_copied(entry, records, old, directory), *_plan(entry, directory)]

    spec = msgspec.structs.replace(change(old), mode=mode_named(mode or DEFAULT))
    ready = start(
        spec,
        settings,
        out,
        listeners,
        ports,
        fresh=msgspec.structs.replace(fresh, before=before, planned=planned(records)),
    )
    ready.said = said
    return ready


def _plan(entry: RunEntry, directory: str) -> list[Record]:
    """The plan is copied along, where there is one that can be read."""
    try:
        return [written_plan(PlanDocument(directory).write(PlanDocument(entry.path).read()), 1)]
    except Failure:
        return []


def _copied(entry: RunEntry, records: Sequence[Record], spec: RunSpec, directory: str) -> SessionForked:
    state = State(spec.limits)
    for record in records:
        state.apply(record)
    return SessionForked(
        run_id=entry.run_id,
        session_id=entry.status.session_id if entry.status else "",
        messages=state.transcript(NEVER),
        turn=state.turn,
        user_turns=state.user_turns,
        prompts=tuple(state.prompts),
        stamps=dict(state.stamps),
        outputs=dict(state.outputs),
        retained=OutputStore(directory).copy_from(entry.path, records),
        todos=state.todos.todos if state.todos else (),
        instructions=state.instructions,
        environment=state.environment,
    )

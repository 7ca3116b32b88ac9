"""The run that serves a client of Claude Code: a new one, one that is taken up, or a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from remit.base.errors import RemitError
from remit.base.spec import RunSpec
from remit.store.run_list import RunEntry
from remit.store.rundir import RunDir
from remit.tools.harness.client_tool import ClientTool
from remit.wiring.assembly import ReadyRun
from remit.wiring.fork import fork
from remit.wiring.ports import Listeners, Ports
from remit.wiring.ready import Fresh, resume, start
from remit.wiring.rewind import Point, go_back
from remit.wiring.sdk_plan import Plan, Wanted

Change = Callable[[RunSpec], RunSpec]


def hold_place(plan: Plan) -> None:
    """Raise RemitError where the session that is to go on is not there."""
    if plan.place.missing:
        raise RemitError(f"No conversation found with session ID: {plan.place.missing}", kind="no_session")


def open_run(plan: Plan, wanted: Wanted, tools: Sequence[ClientTool], heard: Listeners, ports: Ports) -> ReadyRun:
    """tools: what the client offers. Raises Faults, and RemitError where there is no such message to go back to."""
    spec = plan.make_spec(wanted, tools)
    entry, fresh = plan.place.entry, Fresh(plan.place.session_id, plan.ephemeral)
    if entry is None:
        return start(spec, plan.settings, None, heard, ports, fresh=fresh)

    def change(old: RunSpec) -> RunSpec:
        """The flags of this process, with the system prompt that the session began with unless there is another."""
        if spec.system_base or spec.system:
            return spec
        return msgspec.structs.replace(spec, system_base=old.system_base, system=old.system)

    if plan.place.point is not None:
        return _go_back(plan, entry, plan.place.point, change, heard, ports, mode=spec.mode)
    if plan.place.fork:
        return fork(entry, change, plan.settings, None, heard, ports, mode=spec.mode, fresh=fresh)
    directory = RunDir.open(entry.path)
    return resume(directory, change, plan.settings, heard, ports, further=True, mode=spec.mode)


def _go_back(
    plan: Plan, entry: RunEntry, point: Point, change: Change, heard: Listeners, ports: Ports, *, mode: str
) -> ReadyRun:
    """A copy up to a message. What was there stays in the run that it was copied from."""
    origin, kept = go_back(entry, point, plan.settings.state_dir)
    # Without a fork the session keeps its id, and the newest run of an id is the one that is taken up.
    same = entry.status.session_id if entry.status is not None and not plan.place.fork else ""
    fresh = Fresh(plan.place.session_id or same, plan.ephemeral)
    return fork(origin, change, plan.settings, None, heard, ports, mode=mode, fresh=fresh, kept=kept)

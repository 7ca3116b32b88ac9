"""An agent that works for another: what it records, tells and spends goes through the one it works for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from remit.base.errors import RemitError
from remit.base.events import Assistant, Event, Init, Result, Status, StreamEvent, TaskProgress, User
from remit.base.messages import Usage
from remit.base.ports import Journal
from remit.base.records import (
    AgentAnswered,
    Answered,
    CallSettled,
    Compacted,
    Record,
    Spent,
    TurnStarted,
    Unanswered,
)
from remit.base.redact import KeyGuard
from remit.engine.budget import Ledger
from remit.engine.emit import Emitter
from remit.engine.recorder import Recorder
from remit.engine.state import State


class Errand(msgspec.Struct, frozen=True):
    """What an agent was sent for. call_id: of the call that sent it. profile: its kind."""

    task_id: str
    call_id: str
    description: str
    profile: str


class ChildLedger(Ledger):
    """What one agent spends of the limits of the whole run. Its own counters are its part."""

    def __init__(self, whole: Ledger) -> None:
        super().__init__(whole.limits)
        self._whole = whole

    def overspent(self) -> list[str]:
        return self._whole.overspent()

    def before_request(self, *, turns: bool = True) -> None:
        self._whole.before_request(turns=turns)

    def before_call(self, ahead: int) -> None:
        self._hold("calls", self._whole.calls + self.elsewhere() + ahead + 1)

    def before_network_request(self) -> None:
        self._whole.before_network_request()

    def before_artifact(self, size: int) -> None:
        self._whole.before_artifact(size)


class ChildEmitter(Emitter):
    """Events of an agent, marked as its own, in the stream of the run. What only a run of its own has, a first and a
    last line, and what is told of an answer while it comes are left out."""

    def __init__(self, whole: Recorder, errand: Errand) -> None:
        self._recorder = whole
        self._errand = errand

    def emit(self, event: Event) -> None:
        if isinstance(event, Init | Status | StreamEvent):
            return
        event.agent_id = self._errand.task_id
        if isinstance(event, Assistant | User):
            event.parent_tool_use_id = event.parent_tool_use_id or self._errand.call_id
            if isinstance(event, Assistant):
                # Two messages of one stream are never the same.
                event.message["id"] = f"{self._errand.task_id}.{event.message['id']}"
            event.subagent_type, event.task_description = self._errand.profile, self._errand.description
        self._recorder.emit(event)

    def finish(self, result: Result, corrected: Callable[[RemitError], Result]) -> Result:
        return result

    def timestamp(self) -> str:
        return self._recorder.timestamp()


class ChildRecorder(Recorder):
    """Books in the journal of the run what goes into that of an agent, before it does: an answer that was paid for
    counts, whenever the process dies."""

    def __init__(
        self, journal: Journal, state: State, whole: Recorder, errand: Errand, run_id: str, guard: KeyGuard
    ) -> None:
        super().__init__(journal, state, ChildEmitter(whole, errand), whole.clock, guard)
        self._whole = whole
        self._errand = errand
        self._run_id = run_id
        self._began = whole.clock.monotonic()
        self.tool_uses = 0

    @property
    def clock_seconds(self) -> float:
        """Since it was taken up in this process."""
        return self._whole.clock.monotonic() - self._began

    def record(self, record: Record, *, sync: bool = True) -> None:
        self._book(record)
        super().record(record, sync=sync)
        if isinstance(record, Answered) and record.message.calls():
            self._tell_progress(record)

    def figures(self) -> dict[str, int]:
        """What it took so far: total_tokens, tool_uses, duration_ms."""
        return {
            "total_tokens": self.state.usage.total(),
            "tool_uses": self.tool_uses,
            "duration_ms": round(self.clock_seconds * 1000),
        }

    def _book(self, record: Record) -> None:
        match record:
            case TurnStarted():
                self._spend("turns", 1)
            case Answered() | Compacted() | Unanswered():
                booked = AgentAnswered(
                    self._errand.task_id, record.model, record.usage, record.seconds, record.cost, record.estimated
                )
                if booked.usage != Usage() or isinstance(record, Answered):
                    self._whole.record(booked, sync=False)
            case CallSettled():
                if self.state.counts_call(record):
                    self._spend("calls", 1)
                self.tool_uses += 1
            case Spent():
                self._spend(record.limit, record.amount)

    def _spend(self, limit: str, amount: float) -> None:
        self._whole.record(Spent(limit, amount, self._errand.task_id), sync=False)

    def _tell_progress(self, answered: Answered) -> None:
        errand = self._errand
        self._whole.emit(
            TaskProgress(
                task_id=errand.task_id,
                run_id=self._run_id,
                tool_use_id=errand.call_id,
                description=errand.description,
                subagent_type=errand.profile,
                usage=self.figures(),
                last_tool_name=answered.message.calls()[-1].tool,
            )
        )

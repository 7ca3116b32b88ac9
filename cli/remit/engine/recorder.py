"""Writes the run down: a record goes to the journal, then into the state, then to the listeners."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from remit.base.errors import RemitError
from remit.base.events import Event, Result
from remit.base.ports import Clock, Journal
from remit.base.records import (
    ArtifactRemoved,
    ArtifactWritten,
    CallExpanded,
    CallSettled,
    Compacted,
    GoalJudged,
    HookRan,
    PlanSet,
    Pruned,
    Reached,
    Record,
    RulesChanged,
    Spent,
    TodosSet,
    ToolsLoaded,
    UserSaid,
)
from remit.base.redact import KeyGuard
from remit.engine.emit import Emitter
from remit.engine.narrate import (
    tell_artifact,
    tell_expanded,
    tell_hook,
    tell_judged,
    tell_loaded,
    tell_plan,
    tell_reached,
    tell_rules,
    tell_said,
    tell_settled,
    tell_shortened,
    tell_todos,
)
from remit.engine.state import State


class Recorder:
    """The only writer of the journal while a run lasts. Grants reach it from the threads of their
    calls, so each step is taken under one lock. guard: knows the keys that no record may hold."""

    def __init__(
        self, journal: Journal, state: State, emitter: Emitter, clock: Clock, guard: KeyGuard | None = None
    ) -> None:
        self._guard = guard or KeyGuard()
        self._journal = journal
        self.state = state
        self._emitter = emitter
        self.clock = clock
        self._lock = threading.RLock()

    def record(self, record: Record, *, sync: bool = True) -> None:
        if self._guard.active and self._guard.finds(msgspec.json.encode(record)):
            # Before the state hears of it, so that a resumed run sends what this one sends.
            record = self._guard.clean(record)
        with self._lock:
            self._journal.append(record, sync=sync)
            self.state.apply(record)

    def cleaned(self, text: str) -> str:
        """A text without what no record may hold."""
        return str(self._guard.data(text)) if self._guard.active else text

    def emit(self, event: Event) -> None:
        with self._lock:
            self._emitter.emit(event)

    def finish(self, result: Result, corrected: Callable[[RemitError], Result]) -> Result:
        """Tell the terminal line; the result that was told in the end."""
        with self._lock:
            return self._emitter.finish(result, corrected)

    def timestamp(self) -> str:
        return self._emitter.timestamp()

    def expand(self, expanded: CallExpanded, parent: str) -> None:
        """A call turns out to be made of others. parent: its id."""
        self.record(expanded, sync=False)
        self.emit(tell_expanded(expanded, parent, self.timestamp()))

    def settle(self, settled: CallSettled, *, sync: bool) -> None:
        """A call is over: on disk, in the transcript, in the stream."""
        self.record(settled, sync=sync)
        self.emit(tell_settled(settled, self.timestamp()))

    def say(self, said: UserSaid) -> None:
        """The harness puts in a word."""
        self.record(said)
        self.emit(tell_said(said, self.timestamp()))

    def shorten(self, shortened: Compacted | Pruned) -> None:
        """The transcript is made shorter."""
        self.record(shortened)
        self.emit(tell_shortened(shortened))

    def charge_network_request(self) -> None:
        """Count one request before it is sent. Raises BudgetSpent."""
        with self._lock:
            self.state.ledger.before_network_request()
            self.record(Spent("network_requests", 1), sync=False)

    def charge_artifact(self, size: int) -> None:
        """Count the bytes of an artifact before it is written. Raises BudgetSpent."""
        with self._lock:
            self.state.ledger.before_artifact(size)
            self.record(Spent("artifacts_total_bytes", size), sync=False)

    def artifact(self, change: ArtifactWritten | ArtifactRemoved, call_id: str) -> None:
        self.record(change)
        if isinstance(change, ArtifactWritten):
            self.emit(tell_artifact(change, call_id))

    def reached(self, reached: Reached, call_id: str) -> None:
        """A command asked for a host."""
        self.record(reached, sync=False)
        self.emit(tell_reached(reached, call_id))

    def judge(self, judged: GoalJudged, condition: str) -> None:
        """A verdict on the goal of the run."""
        self.record(judged)
        self.emit(tell_judged(judged, condition))

    def load(self, loaded: ToolsLoaded) -> None:
        """Requests have more tools from here on."""
        self.record(loaded)
        self.emit(tell_loaded(loaded))

    def rule(self, changed: RulesChanged) -> None:
        """Other rules hold from here on."""
        self.record(changed)
        self.emit(tell_rules(changed))

    def hook(self, ran: HookRan) -> None:
        """A hook was heard."""
        self.record(ran, sync=False)
        self.emit(tell_hook(ran))

    def plan(self, plan: PlanSet) -> None:
        self.record(plan, sync=False)
        self.emit(tell_plan(plan))

    def todos(self, todos: TodosSet) -> None:
        self.record(todos, sync=False)
        self.emit(tell_todos(todos))

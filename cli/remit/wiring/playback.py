"""A recorded run as the course of a new one: what it did is held against what happens now."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from remit.base.calls import Call, Retained, RuleRef
from remit.base.errors import EnvironmentFault, ProviderFault, RemitError, Stopped, Verdict
from remit.base.events import Init
from remit.base.ports import Outputs
from remit.base.records import Answered, CallChecked, CallExpanded, CallSettled, Record
from remit.base.redact import Redactor
from remit.base.resources import Resource
from remit.base.spec import RunSpec
from remit.engine.budget import spent_error
from remit.engine.context import CallContext
from remit.engine.execution import Hands
from remit.engine.models import Model
from remit.engine.recorder import Recorder
from remit.engine.result import build_result
from remit.engine.run import Run
from remit.engine.state import State
from remit.providers.difference import first_difference
from remit.providers.recording import RecordedCall, RecordedEnd, RecordedRun, given
from remit.providers.replay import HINT as ASKED_HINT
from remit.providers.replay import NAME, PlayedModel, Tape
from remit.store.artifacts import ArtifactStore
from remit.tools.contract import Tool
from remit.wiring.course import Course
from remit.wiring.offer import Offer
from remit.wiring.standin import AGENTS, CHECK, OUTSIDE, OWN_KINDS, SendsAgain, StandIn

HINT = "record the run again if the change is meant"

IDLE_SECONDS = 5.0
IDLE_LIVE_SECONDS = 600.0
"""How long nothing is heard of what else a run that is to end has to do, before it ends without that."""


class Playback(Course):
    """Strict: the first request, decision or outcome that is not the recorded one ends the run.

    live: the tools run, and what comes of them is compared; else stand-ins give what was recorded. redact:
    has to know the secrets that the recording one knew, where tools may bring them again. offered: of these tools,
    those of a recorded run."""

    def __init__(
        self,
        run: RecordedRun,
        spec: RunSpec,
        *,
        live: bool,
        redact: Redactor,
        offered: Callable[[RecordedRun, Offer], Offer] = lambda run, offer: offer,
    ) -> None:
        self.live = live
        self.offered = offered
        self._run = run
        self._spec = spec
        self._redact = redact
        self._uses: Counter[str] = Counter()
        self._difference: RemitError | None = None
        self._halting = self._halted = False
        self._heard = 0
        self._stop: Callable[[RemitError], None] | None = None
        self._state: State | None = None
        self._init: Init | None = None
        self._main = Track(run, self, "")
        self._agents: dict[str, Track] = {}
        self._artifacts: ArtifactStore | None = None
        self.judging: RecordedCall | None = None
        """The recorded call whose like is judged."""
        self.followers = self._main.followers
        self.tape = self._main.tape

    # -- the course ----------------------------------------------------------------------------

    def tool(self, tool: Tool) -> Tool:
        return self._main.tool(tool)

    def hands(self, hands: Hands) -> Hands:
        return self._main.hands(hands)

    def outputs(self, outputs: Outputs) -> Outputs:
        return self._main.outputs(outputs)

    def agent(self, task_id: str) -> Course:
        if task_id not in self._agents:
            self._agents[task_id] = Track(self._run.agent(task_id), self, task_id)
        return self._agents[task_id]

    def altered(self, artifacts: ArtifactStore) -> Callable[[], list[str]]:
        """A check that did it is not run again without live tools, so that what it did is told as it was."""
        self._artifacts = artifacts
        return artifacts.altered if self.live else self._recorded_altered

    def timed(self, spec: RunSpec) -> RunSpec:
        """Without a deadline: how long the recorded run took says nothing about this one."""
        return msgspec.structs.replace(spec, limits=msgspec.structs.replace(spec.limits, seconds=None))

    def told(self, init: Init) -> Init:
        init.provider, init.scripted = NAME, True
        self._init = init
        return init

    def attach(self, run: Run, recorder: Recorder) -> None:
        self._stop, self._state = run.stop, recorder.state
        self._main.attach(run, recorder)

    def verified(self, error: RemitError | None) -> RemitError | None:
        """The end as it is, if it is the recorded one."""
        ours = isinstance(error, (Stopped, EnvironmentFault)) or (error is not None and error.kind in ("replay", "bug"))
        if ours:
            return error
        end = self._run.end
        if end is None:
            return self._unplayed() or self.over("")
        difference = first_difference(self.plain(_end(end)), self.plain(_end(self._ended(error))))
        if not difference:
            return self._unplayed() or error
        if error is None and self.was_stopped():
            return self._unplayed() or self.over("")
        return self._unplayed() or self.fault(f"the run did not end as the recorded one\n{difference}")

    def _ended(self, error: RemitError | None) -> RecordedEnd:
        """The end of this run, as one that is recorded says it."""
        assert self._state is not None and self._init is not None
        result = build_result(self._spec, self._state, error, init=self._init, seconds=0.0)
        gave = given(msgspec.to_builtins(result))
        unmet = tuple(result.unmet)
        return RecordedEnd(result.verdict, result.exit_code, gave, result.error_kind, tuple(result.errors), unmet)

    # -- what tracks ask -----------------------------------------------------------------------

    def wrote(self, call: RecordedCall) -> None:
        """Tell of the artifacts that commands of a recorded call wrote."""
        assert self._artifacts is not None
        if call.wrote:
            self._artifacts.tell(call.wrote)

    def spent(self) -> RemitError:
        """The limit that ended a recorded call."""
        return spent_error("network_requests", self._spec.limits.network_requests or 0)

    async def halt(self) -> None:
        """The recorded run was stopped in this call: so is this one, with no outcome for it, once all else that was
        done until then is done again."""
        self._halting = True
        self.moved()
        idle = IDLE_LIVE_SECONDS if self.live else IDLE_SECONDS
        while not self._halted:
            heard = self._heard
            await asyncio.sleep(idle)
            if heard == self._heard:
                self._end_here()
        await asyncio.Event().wait()

    def moved(self) -> None:
        """Hear that something was done: a run that is to end does so after the last of what was recorded, and at the
        first difference."""
        self._heard += 1
        if self._halting and (self._difference or not self.was_stopped() or not any(self._left())):
            self._end_here()

    def _end_here(self) -> None:
        assert self._stop is not None
        if not self._halted:
            self._halted = True
            self._stop(self._difference or self.over(""))

    async def beyond(self, what: str) -> RemitError:
        """As `over`, for what may be asked before all else is done that was recorded."""
        if self.was_stopped():
            await self.halt()
        return self.over(what)

    def over(self, what: str) -> RemitError:
        """How a run ends that goes on where the recorded one did not. what: what it wants to do, "" where the
        recorded one had begun that."""
        end = self._run.end
        if end is None:
            torn = f", in its line {self._run.torn}" if self._run.torn else ""
            return self._stopped(f"its process died, or the file was cut{torn}")
        if (end.verdict, end.kind) == (Verdict.BUDGET, "seconds"):
            return spent_error("seconds", self._spec.limits.seconds or 0.0)
        if self.was_stopped():
            return self._stopped("; ".join(end.errors) or end.verdict)
        return self.fault(what or "the recorded run did not go on here")

    def take_use(self, entry: str, limit: int) -> bool:
        """Count a use of an approval, in this run alone. Earlier runs may have left the recorded one none."""
        was_refused = self.judging is not None and not self.judging.allowed
        free = self._uses[entry] < limit and not was_refused
        self._uses[entry] += free
        return free

    def plain(self, value: Any) -> Any:
        return self._redact.data(msgspec.to_builtins(value))

    def tape_of(self, run: RecordedRun) -> Tape:
        return Tape(run, self._redact, self.beyond, lambda what, line: self.fault(what, line, ASKED_HINT))

    def fault(self, what: str, line: int = 0, hint: str = HINT) -> RemitError:
        """The first difference; what comes of it differs too, and tells nothing."""
        where = f"{self._run.path}:{line}" if line else self._run.path
        self._difference = self._difference or ProviderFault(what, where=where, kind="replay", hint=hint)
        self.moved()
        return self._difference

    # -- ends ----------------------------------------------------------------------------------

    def _unplayed(self) -> RemitError | None:
        """A run that ends before its recording does is not the recorded one."""
        asked, left = self._left()
        if asked:
            return self.fault(f"the run ended with {asked} recorded answer(s) not asked for")
        return self.fault(f"the run ended without the recorded call(s) {', '.join(left)}") if left else None

    def _left(self) -> tuple[int, list[str]]:
        """The recorded answers that were not asked for yet, and the calls that have no outcome yet."""
        for name in self._run.agents:
            self.agent(name)
        tracks = [self._main, *self._agents.values()]
        return sum(track.tape.left for track in tracks), [key for track in tracks for key in track.unsettled()]

    def was_stopped(self) -> bool:
        """Whether the recorded run ended by what has nothing to do with what it did, or has no end at all."""
        end = self._run.end
        if end is None:
            return True
        by_time = (end.verdict, end.kind) == (Verdict.BUDGET, "seconds")
        return by_time or end.verdict in {Verdict.STOPPED, Verdict.ENVIRONMENT, Verdict.BUG, Verdict.PREFLIGHT}

    def _stopped(self, why: str) -> RemitError:
        return self.fault(f"the recorded run was stopped here: {why}", hint="up to here all is as it was recorded")

    def _recorded_altered(self) -> list[str]:
        unmet = self._run.end.unmet if self._run.end is not None else ()
        return [told for told in unmet if told.startswith("artifact ") and not told.endswith(" was not written")]


class Track(Course):
    """What one agent did, the main one or one that works for it, held against what it does now."""

    def __init__(self, run: RecordedRun, whole: Playback, name: str) -> None:
        self.followers = (self._heard,)
        self.tape = whole.tape_of(run)
        self._run = run
        self._whole = whole
        self._name = name
        self._turn = 0
        self._open: dict[str, tuple[str, str]] = {}
        self._checks = 0
        self._judged: set[str] = set()
        self._settled: set[str] = set()
        self._charge: Callable[[], None] | None = None

    # -- the course ----------------------------------------------------------------------------

    def tool(self, tool: Tool) -> Tool:
        if tool.name == AGENTS and self._run.holds_agents:
            return SendsAgain(tool, self)
        return StandIn(tool, self, live=self._whole.live and tool.name not in OUTSIDE)

    def offer(self, offer: Offer) -> Offer:
        found = self._whole.offered(self._run, offer)
        return msgspec.structs.replace(found, tools={name: self.tool(tool) for name, tool in found.tools.items()})

    def models(self, models: Sequence[Model]) -> Sequence[Model]:
        return [
            msgspec.structs.replace(model, provider=PlayedModel(self.tape, model.provider.name, model.provider.model))
            for model in models
        ]

    def hands(self, hands: Hands) -> Hands:
        return hands if self._whole.live else _OwnHands(hands)

    def outputs(self, outputs: Outputs) -> Outputs:
        """What stand-ins give is what the model was shown, of which nothing more can be kept."""
        return outputs if self._whole.live else _RecordedOutputs(self._run)

    def timed(self, spec: RunSpec) -> RunSpec:
        return self._whole.timed(spec)

    def attach(self, run: Run, recorder: Recorder) -> None:
        self._charge = recorder.charge_network_request

    # -- what stand-ins ask --------------------------------------------------------------------

    def take(self, tool: str, arguments: str) -> RecordedCall | None:
        """What was recorded of the next call of this turn with this tool and these arguments."""
        if tool == CHECK:
            self._checks += 1
            key = f"t{self._turn}.check{self._checks}"
        else:
            wanted = (tool, arguments)
            key = next((key for key, call in self._open.items() if call == wanted), "")
            self._open.pop(key, None)
        self._whole.judging = self._run.calls.get(key)
        return self._whole.judging

    def charge(self, network_requests: int) -> None:
        """Count the requests that the recorded call made. Raises BudgetSpent."""
        assert self._charge is not None
        for _ in range(network_requests):
            self._charge()

    def wrote(self, call: RecordedCall) -> None:
        self._whole.wrote(call)

    def spent(self) -> RemitError:
        return self._whole.spent()

    async def halt(self) -> None:
        await self._whole.halt()

    def was_stopped(self) -> bool:
        return self._whole.was_stopped()

    def unsettled(self) -> list[str]:
        """The recorded calls that had an end, and have none yet."""
        ends = [key for key, call in self._run.calls.items() if call.outcome is not None and key not in self._settled]
        return [self._named(key) for key in ends]

    # -- comparing -----------------------------------------------------------------------------

    def _heard(self, record: Record) -> None:
        match record:
            case Answered():
                calls = enumerate(record.message.calls(), 1)
                self._turn, self._checks = record.turn, 0
                self._open = {f"t{record.turn}.c{index}": (call.tool, call.arguments) for index, call in calls}
            case CallExpanded():
                # They are checked next, before the calls of the turn that come after the one they are parts of.
                self._open = {call.key: (call.tool, call.arguments) for call in record.calls} | self._open
            case CallChecked():
                self._judged.add(record.key)
                self._hold_decision(record)
            case CallSettled():
                self._hold_outcome(record)
                self._settled.add(record.key)
        self._whole.moved()

    def _hold_decision(self, record: CallChecked) -> None:
        """Before the call runs: what was refused then must not run now."""
        call = self._call(record.key, record.tool)
        self._compare(call, _decision(call), _decision(record), "is not judged as it was recorded")

    def _hold_outcome(self, record: CallSettled) -> None:
        call = self._call(record.key, record.tool)
        if call.outcome is None:
            named = self._named(record.key)
            raise self._whole.over(f"{named} {record.tool} has an outcome, and had none when the run was recorded")
        judged = record.key in self._judged
        if judged != (call.decision is not None):
            shown = {"judged": not judged}, {"judged": judged}
            self._compare(call, *shown, "is not judged as it was recorded")
        then = {"tool": call.tool, "id": call.id, "content": call.content, "outcome": call.outcome.envelope()}
        now = {"tool": record.tool, "id": record.id, "content": record.content, "outcome": record.outcome.envelope()}
        self._compare(call, then, now, "did not end as it was recorded")

    def _call(self, key: str, tool: str) -> RecordedCall:
        call = self._run.calls.get(key)
        if call is not None:
            return call
        if self._run.end is None and not self.tape.left:
            raise self._whole.over("")
        raise self._whole.fault(f"the recording does not hold the call {self._named(key)} ({tool})")

    def _compare(self, call: RecordedCall, then: Any, now: Any, words: str) -> None:
        difference = first_difference(self._whole.plain(then), self._whole.plain(now))
        if difference:
            what = f"the call {self._named(call.key)} ({call.tool}) {words}\n{difference}"
            raise self._whole.fault(what, self._run.lines[call.key])

    def _named(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key


class _OwnHands:
    """Grants for nothing but what the run itself owns."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    def context(self, call: Call, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None) -> CallContext:
        own = [resource for resource in resources if resource.kind in OWN_KINDS]
        return self._hands.context(call, tool, own, approved)


class _RecordedOutputs:
    """Says what was kept, and keeps nothing."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run

    def retain(self, key: str, producer: str, text: str, *, cut: bool, sync: bool) -> Retained | None:
        call = self._run.calls.get(key)
        return call.output if call is not None else None


def _decision(of: RecordedCall | CallChecked) -> dict[str, Any]:
    return {
        "tool": of.tool,
        "id": of.id,
        "allowed": of.allowed,
        "resources": of.resources,
        "decision": of.decision,
        "approval": of.approval,
    }


def _end(of: RecordedEnd) -> dict[str, Any]:
    """What is compared of an end. Errors name files, which lie elsewhere now."""
    return {
        "verdict": of.verdict,
        "exit_code": of.exit_code,
        "kind": of.kind,
        "unmet": list(of.unmet),
        "gave": of.gave,
    }

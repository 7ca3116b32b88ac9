"""Agents and work in the background: the parts of a run that they need, put together."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from remit.base.calls import Call, Decision, Outcome, Retained, RuleRef, done
from remit.base.events import Init
from remit.base.ports import Client, ClientWord, Hooks, HookWord, Outputs, Policy
from remit.base.records import JobStarted, Record, RunResumed, RunStarted
from remit.base.spec import AgentProfile, Expect, HookEvent, RunSpec
from remit.engine.agents import Agents, AgentsGrant, Child, ChildFinish, PrincipalGrant
from remit.engine.child import ChildLedger, ChildRecorder, Errand
from remit.engine.dispatch import Dispatch
from remit.engine.execution import MAX_RESULT_BYTES
from remit.engine.foreign_calls import as_made, taken_as_ours
from remit.engine.hooks import SILENT
from remit.engine.job_desk import JobsGrant
from remit.engine.jobs import Jobs
from remit.engine.judging import Gate
from remit.engine.models import Model
from remit.engine.prompt import agent_system, system_prompt
from remit.engine.recorder import Recorder
from remit.engine.run import Run
from remit.engine.showing import Clip
from remit.engine.state import State
from remit.engine.turn import Asker
from remit.engine.window import Window
from remit.policy.decide import RuleSet
from remit.policy.modes import PLAN, in_mode
from remit.store.durable import telling
from remit.store.journal import FileJournal, read_journal, repair_journal
from remit.store.projections import DecisionLog
from remit.store.rundir import RunDir
from remit.tools import registry
from remit.tools.agents.task import Task
from remit.tools.contract import Tool
from remit.wiring.course import Course
from remit.wiring.models import batch_bytes
from remit.wiring.offer import OUTPUT_TOOL, Offer, loaded_tools
from remit.wiring.shelving import shelved
from remit.wiring.standin import stood_for

if TYPE_CHECKING:
    from remit.wiring.grants import Hands
    from remit.wiring.ports import Ports

TASKS = "tasks"
"""Below the run directory, a directory for each agent."""

NOT_FOR_AGENTS = frozenset(
    {
        "task",
        "task_control",
        "question",
        "structured_output",
        "update_plan",
        "propose_memory",
        "workflow",
        "automation",
    }
)
"""What only the main agent has: others ask nobody, send nobody, and keep nothing for later runs."""

_NOT_THEIRS = RuleRef("none", "", "only the main agent has it")


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What agents share with the run they work for. eligible: the tools for an agent with such a spec, but for what
    profiles say. asker: of the main agent, whose models are those of agents that have none of their own. models: by
    id, those of profiles. hosts: that commands may connect to."""

    spec: RunSpec
    directory: RunDir
    gate: Gate
    offer: Offer
    eligible: Callable[[RunSpec], Offer]
    asker: Asker
    models: Mapping[str, Model]
    course: Course
    hosts: Collection[str]
    hands: Hands
    outputs: Outputs
    recorder: Recorder
    dispatch: Dispatch
    run: Run
    init: Init
    decisions: DecisionLog
    ports: Ports
    guard: Any
    session_id: str


class Delegation:
    """The jobs of a run, and its agents."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        spec, run = basis.spec, basis.run
        self._clip = Clip(basis.outputs, basis.recorder.cleaned)
        background = basis.ports.client
        run_id = basis.directory.run_id
        self.jobs = Jobs(basis.recorder, run_id, self._show, run.stop, background=background)
        self.agents = Agents(
            self.jobs,
            self._open,
            at_once=spec.task_max_concurrent,
            execution=spec.task_execution,
            mode=lambda: PLAN if basis.recorder.state.mode == PLAN else "build",
            profiles=spec.profiles,
            own_profile=spec.own_profile,
        )
        task = stood_for(basis.offer.tools.get("task"))
        if isinstance(task, Task):
            task.profile_of = self.agents.profile_of
        self._states: list[State] = [basis.recorder.state]
        basis.recorder.state.ledger.elsewhere = partial(self._open_elsewhere, basis.recorder.state)
        basis.hands.delegation = self
        run.mail, run.halt, run.opening = self.jobs.inbox, self.jobs.halt, self.jobs.settle_lost

    def agents_grant(self, call: Call, tool: Tool) -> AgentsGrant:
        return AgentsGrant(self.agents, call, tool)

    def jobs_grant(self, call: Call, tool: Tool) -> JobsGrant:
        return JobsGrant(self.jobs, call, tool)

    def _show(self, call: Call, tool: Tool, producer: str, outcome: Outcome, keep: bool) -> tuple[str, Retained | None]:
        if outcome.error is not None:
            outcome = done({}, outcome.error.message)
        shown = self._clip.show(call, tool, producer, outcome, MAX_RESULT_BYTES, sync=True)
        kept = shown.output
        if kept is None and keep:
            kept = self._basis.outputs.retain(call.key, producer, shown.content, cut=True, sync=True)
        return shown.content, kept

    def _open_elsewhere(self, state: State) -> int:
        """Calls of all other agents that have not ended."""
        return sum(1 for other in self._states if other is not state for _ in other.unsettled())

    # -- one agent -----------------------------------------------------------------------------

    def _open(self, errand: Errand, mode: str, schema: dict[str, Any] | None, *, resumed: bool) -> Child:
        basis = self._basis
        spec = _agent_spec(basis.spec, errand.profile, mode, schema)
        state = State(spec.limits, ChildLedger(basis.recorder.state.ledger))
        state.ledger.elsewhere = partial(self._open_elsewhere, state)
        course = basis.course.agent(errand.task_id)
        journal, records = self._journal(errand, course, resumed=resumed)
        for record in records:
            state.apply(record)
        recorder = ChildRecorder(journal, state, basis.recorder, errand, basis.directory.run_id, basis.guard)
        recorder.record(self._first(errand, mode, schema, resumed=bool(records)))
        self._states.append(state)

        def close() -> None:
            self._states.remove(state)
            journal.close()

        return Child(self._run(spec, recorder, errand, mode, course), recorder, close)

    def _run(self, spec: RunSpec, recorder: ChildRecorder, errand: Errand, mode: str, course: Course) -> Run:
        basis = self._basis
        # What a client changes of the rules holds for agents at once. Those that plan go on planning.
        gate, plan = basis.gate, _plan(basis.gate.policy) if mode == PLAN else None
        if plan is not None:
            gate = msgspec.structs.replace(gate, policy=plan)
        offer = course.offer(_narrowed(self._eligible(spec), spec, plan, background=self.jobs.background))
        principal = PrincipalGrant(self.jobs, errand.task_id, recorder)
        hands = basis.hands.for_agent(spec, plan, recorder, errand.task_id, principal)
        tools, shelf = shelved(offer, recorder.state, recorder.load, course.tool)
        models = course.models(self._models(errand.profile))
        dispatch = Dispatch(
            spec,
            tools,
            offer.withheld,
            gate,
            course.hands(hands),
            recorder,
            batch_bytes=batch_bytes(models),
            outputs=course.outputs(basis.outputs) if OUTPUT_TOOL in offer.tools else None,
        )
        if basis.dispatch.client is not None:
            dispatch.client = AgentClient(basis.dispatch.client, errand.task_id)
        if basis.dispatch.hooks:
            dispatch.hooks.add(AgentHooks(basis.dispatch.hooks, errand, self._path(errand)))
        asker = Asker(
            models,
            system_prompt(spec, offer.tools, basis.hosts if "shell" in offer.tools else (), plan=mode == PLAN),
            shelf,
            recorder,
            effort=spec.effort,
            cache_key=f"{basis.session_id}/{errand.task_id}",
            ours=taken_as_ours(tools) if basis.spec.foreign_names else as_made,
        )
        finish = ChildFinish(spec.expect, recorder, _no_check, list)
        window = Window(asker, recorder, spec.compaction)
        run = Run(course.timed(spec), (), tools, dispatch, window, finish, recorder, basis.init)
        course.attach(run, recorder)
        return run

    def _eligible(self, spec: RunSpec) -> Offer:
        """Our tools, and those of the client."""
        ours = self._basis.eligible(spec)
        theirs = {tool.name: tool for tool in self._basis.ports.tools}
        return msgspec.structs.replace(ours, tools={**ours.tools, **theirs})

    def _models(self, profile: str) -> Sequence[Model]:
        """Who an agent with this profile asks, then those to fall back on."""
        own, basis = self._basis.asker.models, self._basis
        named = basis.spec.profiles[profile].model if profile in basis.spec.profiles else ""
        return [basis.models[named], *own[1:]] if named in basis.models else own

    def _journal(self, errand: Errand, course: Course, *, resumed: bool) -> tuple[FileJournal, Sequence[Record]]:
        path = self._path(errand)
        place = os.path.dirname(path)
        with telling(place, "make the directory of an agent"):
            os.makedirs(place, 0o700, exist_ok=True)
        records: Sequence[Record] = ()
        if resumed and os.path.exists(path):
            repair_journal(path)
            records, _ = read_journal(path)
        decided = partial(self._basis.decisions, agent=errand.task_id)
        return FileJournal(path, followers=[*self._basis.ports.followers, decided, *course.followers]), records

    def _path(self, errand: Errand) -> str:
        """Of the journal of an agent."""
        return os.path.join(self._basis.directory.path, TASKS, errand.task_id, "journal.jsonl")

    def _first(
        self, errand: Errand, mode: str, schema: dict[str, Any] | None, *, resumed: bool
    ) -> RunStarted | RunResumed:
        now = self._basis.ports.clock.now()
        if resumed:
            return RunResumed(now)
        facts = {"mode": mode, "profile": errand.profile, "schema": schema, "description": errand.description}
        version = self._basis.init.remit_version
        return RunStarted(errand.task_id, self._basis.session_id, version, now, "", {"task": facts})


def journals_of(directory: RunDir, records: Sequence[Record]) -> dict[str, Sequence[Record]]:
    """What agents of earlier processes wrote down, by task id. Raises UsageFault for what is damaged."""
    names = dict.fromkeys(each.task_id for each in records if isinstance(each, JobStarted) and each.kind == "agent")
    found: dict[str, Sequence[Record]] = {}
    for name in names:
        path = os.path.join(directory.path, TASKS, name, "journal.jsonl")
        if os.path.exists(path):
            found[name] = read_journal(path)[0]
    return found


def _agent_spec(whole: RunSpec, profile: str, mode: str, schema: dict[str, Any] | None) -> RunSpec:
    """The spec of an agent: that of the run as its profile has it, with a task of its own."""
    told = whole.profiles.get(profile) or AgentProfile(
        base=whole.system_base, words=whole.system, tools=whole.profile, effort=None
    )
    return msgspec.structs.replace(
        whole,
        prompt="",
        images=(),
        expect=Expect(schema=schema),
        system=agent_system(told.words, told.base, plan=mode == PLAN),
        system_base=told.base,
        profile=told.tools,
        model=told.model or whole.model,
        effort=told.effort or whole.effort,
    )


def _plan(policy: Policy) -> RuleSet:
    """The rules of the run in plan mode."""
    assert isinstance(policy, RuleSet)
    return in_mode(policy, PLAN, registry.tool_effects())


def _narrowed(offer: Offer, spec: RunSpec, plan: RuleSet | None, *, background: bool) -> Offer:
    """What an agent has of the tools of the run. plan: its rules, where it only plans."""
    tools: dict[str, Tool] = {}
    withheld = dict(offer.withheld)
    for name, tool in offer.tools.items():
        refused = plan.never_allows(name, tool.effects) if plan is not None else None
        if name in NOT_FOR_AGENTS:
            withheld[name] = _NOT_THEIRS
        elif refused is not None:
            withheld[name] = refused
        else:
            # An agent has no background of its own.
            tools[name] = type(tool)() if name == "shell" else tool
    if background:
        from remit.tools.harness.report_to_parent import ReportToParent

        tools["report_to_parent"] = ReportToParent()
    return loaded_tools(spec, Offer(tools, withheld))


class AgentClient:
    """base.ports.Client: the client of the run, told which agent it is about."""

    def __init__(self, client: Client, task_id: str) -> None:
        self._client = client
        self._task_id = task_id

    async def may_use(self, call: Call, decision: Decision, agent_id: str = "") -> ClientWord:
        return await self._client.may_use(call, decision, self._task_id)


class AgentHooks:
    """base.ports.Hooks: those of the run, told of an agent. path: of its journal."""

    def __init__(self, hooks: Hooks, errand: Errand, path: str) -> None:
        self._hooks = hooks.for_agent(errand.task_id, errand.profile)
        self._path = path
        self._kind = errand.profile

    async def before_call(self, call: Call) -> HookWord:
        return await self._hooks.before_call(call)

    async def after_call(self, call: Call, outcome: Outcome, content: str, seconds: float) -> HookWord:
        return await self._hooks.after_call(call, outcome, content, seconds)

    async def on_prompt(self, text: str) -> HookWord:
        return await self._hooks.on_step("SubagentStart", {}, self._kind)

    async def on_stop(self, text: str, again: bool) -> HookWord:
        told = {
            "stop_hook_active": again,
            "agent_transcript_path": self._path,
            "last_assistant_message": text,
            "background_tasks": [],
            "session_crons": [],
        }
        return await self._hooks.on_step("SubagentStop", told, self._kind)

    async def on_asked(self, call: Call) -> HookWord:
        return await self._hooks.on_asked(call)

    async def on_step(self, event: HookEvent, fields: Mapping[str, Any], kind: str = "") -> HookWord:
        # Sessions are those of the run.
        own = event == "PreCompact"
        return await self._hooks.on_step(event, fields, kind) if own else SILENT

    def for_agent(self, agent_id: str, agent_type: str) -> Hooks:
        return self._hooks.for_agent(agent_id, agent_type)


async def _no_check(call: Call) -> Outcome:
    """An agent has no checks."""
    raise AssertionError(call)

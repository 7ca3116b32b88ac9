"""A spec and a run directory in, a ready run out; a new one, or one that is taken up again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from remit import __version__
from remit.base.calls import Call, RuleRef
from remit.base.errors import RemitError, UsageFault
from remit.base.events import Init, Notice, Result
from remit.base.ports import Provider, Questions, World
from remit.base.records import (
    JobStarted,
    PlanMoved,
    PlanWritten,
    PromptEnded,
    Record,
    RulesChanged,
    RunResumed,
    RunStarted,
    UserSaid,
)
from remit.base.redact import KeyGuard
from remit.base.resources import Resource
from remit.base.spec import Environment, RunSpec
from remit.config.settings import Settings
from remit.engine.client_questions import FirstOf
from remit.engine.dispatch import Dispatch
from remit.engine.emit import Emitter
from remit.engine.finish import Finish
from remit.engine.goal import Evaluator
from remit.engine.jobs import Jobs
from remit.engine.judging import Gate
from remit.engine.models import Model
from remit.engine.narrate import untold
from remit.engine.prompt import system_prompt
from remit.engine.recorder import Recorder
from remit.engine.run import Run
from remit.engine.state import State
from remit.engine.turn import Asker
from remit.engine.window import Window
from remit.policy.answers import Answers, Pending, arguments_digest, paste_entry
from remit.policy.decide import RuleSet
from remit.policy.modes import DEFAULT, PLAN, in_mode, mode_named
from remit.policy.unreached import unreached_notices
from remit.store.journal import FileJournal, read_journal
from remit.store.leavings import Leavings
from remit.store.projections import DecisionLog
from remit.store.run_status import new_run_id
from remit.store.rundir import RunDir, own_files
from remit.stream.writer import EventLog, encode_line
from remit.tools.contract import Tool
from remit.wiring.confine import SHELL, Confined, confine, granted_hosts
from remit.wiring.course import Course
from remit.wiring.grants import Hands, RunWorld
from remit.wiring.hooks import add_hooks, hold_hooks
from remit.wiring.models import batch_bytes, effort_notices, open_agents, open_evaluators, open_models
from remit.wiring.offer import (
    OUTPUT_TOOL,
    Offer,
    eligible_tools,
    environment_of,
    has_background,
    known_effects,
    load_approvals,
    load_rules,
    loaded_tools,
    standing,
)
from remit.wiring.ports import Listeners, Ports, SystemClock
from remit.wiring.ruling import Ruling
from remit.wiring.shelving import shelved
from remit.wiring.status import StatusFollower
from remit.wiring.tidy import passing_directory, remove_directory, sweep_leavings
from remit.workspace.root import Root


class ReadyRun(msgspec.Struct):
    """A run about to start, and what has to be let go of afterwards."""

    run: Run
    directory: RunDir
    closers: list[Callable[[], None]]
    recorder: Recorder
    dispatch: Dispatch
    ruling: Ruling
    asker: Asker
    guard: KeyGuard
    jobs: Jobs | None = None
    """Agents and commands with a life of their own, where the run may have any."""
    said: UserSaid | None = None
    """The prompt to begin with, where it is not that of the spec."""
    person: Questions | None = None
    """Who answers questions of the model where nothing is prepared."""

    def leave_status(self, result: Result) -> None:
        """Let `run.json` say how the run ended, also where the journal could not take its last record."""
        if self.directory.status.status == "running":
            ended = PromptEnded(result.verdict, result.exit_code, result.resumable, msgspec.to_builtins(result))
            with suppress(RemitError):
                StatusFollower(self.directory, SystemClock())(ended)

    def close(self) -> None:
        for closer in reversed(self.closers):
            closer()


class Fresh(msgspec.Struct, frozen=True):
    """How a new run differs from most. session_id: to be used, "" for one of its own. ephemeral: its directory is
    removed at its end. before: told of the directory, what belongs right behind the first record. planned: whether
    that brings a plan."""

    session_id: str = ""
    ephemeral: bool = False
    before: Callable[[str], Sequence[Record]] = lambda _: ()
    planned: bool = False


FRESH = Fresh()

AGENTS = "task"
"""The tool that sends agents."""


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
    parts = _preflight(spec, settings, ports, record, out, has_plan=fresh.planned)
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
    ready = _ready(spec, settings, directory, parts, listeners, ports, session_id, [], first, then)
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
    parts = _preflight(spec, settings, ports, None, directory.path, mode or _mode(records), planned(records))
    spec = msgspec.structs.replace(spec, environment=parts.environment)
    plain = msgspec.to_builtins(spec)
    # A day later it is the same spec: what checks found is still so.
    changed = plain if msgspec.structs.replace(spec, environment=old.environment) != old else None
    directory.update(status="running", verdict="", exit_code=None, ended=None, pid=os.getpid(), model=spec.model)
    session_id = directory.status.session_id or ports.new_uuid()
    first = RunResumed(ports.clock.now(), changed, _digest(plain))
    ready = _ready(spec, settings, directory, parts, listeners, ports, session_id, records, first)
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
        StatusFollower(directory, ports.clock)(ended)
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


class Parts(msgspec.Struct, frozen=True):
    """policy: the rules in the mode that the run begins in. models: never empty; the first is asked first. guard:
    knows the keys of all of them. root: the workspace, None where no call gets to see one. leavings: what a later run
    would have to remove. eligible: the tools for an agent with such a spec, but for what profiles say. agents_models:
    by id, those of profiles."""

    policy: RuleSet
    approvals: Answers | None
    offer: Offer
    models: list[Model]
    guard: KeyGuard
    world: World
    root: Root | None
    course: Course
    leavings: Leavings
    confined: Confined = Confined(None, {"sandbox": "unused: this run starts no commands"})
    eligible: Callable[[RunSpec], Offer] = lambda spec: Offer({}, {})
    agents_models: Mapping[str, Model] = {}
    evaluators: list[Model] = []
    """Those that judge the goal of the run; none: the first of its own, as where its answers are recorded or played."""
    environment: Environment | None = None
    """What the model is told of it."""

    @property
    def provider(self) -> Provider:
        return self.models[0].provider

    def providers(self, evaluators: Sequence[Model]) -> list[Provider]:
        """Of all models that may be asked, each once."""
        asked = (*self.models, *evaluators, *self.agents_models.values())
        return list(dict.fromkeys(model.provider for model in asked))


def _preflight(
    spec: RunSpec,
    settings: Settings,
    ports: Ports,
    record: str | None,
    run_dir: str | None,
    mode: str = "",
    has_plan: bool = False,
) -> Parts:
    """Everything that can be refused before a directory is touched or a model asked. mode: that of a session which
    is taken up, "" for the spec's. has_plan: whether the session has one from before."""
    run_files = own_files(run_dir) if run_dir else ()
    policy = load_rules(spec, settings, ports.environ, run_files, mode, ports.tools)
    approvals = load_approvals(spec, settings)
    hold_hooks(spec, ports.environ, record)
    guard = KeyGuard()
    models = open_models(spec, settings.config_dir, ports.environ, guard)
    # A client changes the mode, and tools that come and go would cost the provider's cache.
    offered_by = in_mode(policy, DEFAULT, known_effects(ports.tools)) if ports.client else policy
    has_plan = has_plan or (mode or spec.mode) == PLAN
    person = ports.person is not None

    def eligible(whose: RunSpec) -> Offer:
        return eligible_tools(whose, offered_by, approvals, client=ports.client, has_plan=has_plan, person=person)

    ours = eligible(spec)
    offer = loaded_tools(spec, ours, client=ports.client, theirs=ports.tools)
    root = Root(spec.workspace, beside=spec.beside)
    evaluators = [] if record is not None else open_evaluators(spec, models, settings.config_dir, ports.environ, guard)
    agents = AGENTS in offer.tools
    agents_models = open_agents(spec, models, settings.config_dir, ports.environ, guard) if agents else {}
    environment = environment_of(spec, models, ports.clock.now())
    course = Course()
    if record is not None:
        from remit.wiring.recorded import recorded

        standing_at = standing(settings, ports.environ, run_files)
        recording = recorded(models, agents_models, record, ports.environ, guard, spec, *standing_at)
        models, agents_models, course = recording
    world = RunWorld(root, spec.fetch_allowed_ports)
    sweep_leavings(settings.state_dir)
    leavings = Leavings(settings.state_dir)
    # An agent may have tools that the profile of the main one leaves out.
    confined = confine(spec, settings, policy, ours if agents else offer, leavings)
    return Parts(
        policy=policy,
        approvals=approvals,
        offer=offer,
        models=models,
        guard=guard,
        world=world,
        root=root,
        course=course,
        leavings=leavings,
        confined=confined,
        eligible=eligible,
        agents_models=agents_models,
        evaluators=evaluators,
        environment=environment,
    )


def _ready(
    spec: RunSpec,
    settings: Settings,
    directory: RunDir,
    parts: Parts,
    listeners: Listeners,
    ports: Ports,
    session_id: str,
    records: Sequence[Record],
    first: RunStarted | RunResumed,
    then: Sequence[Record] = (),
) -> ReadyRun:
    course = parts.course
    state = State(spec.limits)
    for record in records:
        state.apply(record)
    decisions = DecisionLog(directory.decisions_path)
    agents = _agents_journals(directory, records)
    decisions.rebuild(records, agents)
    events = EventLog(directory.events_path)
    ours: list[Callable[[Record], None]] = [decisions, StatusFollower(directory, ports.clock)]
    journal = FileJournal(directory.journal_path, followers=[*ports.followers, *ours, *course.followers])
    emitter = Emitter(
        listeners.stdout,
        [events, *listeners.beside],
        encode_line,
        session_id,
        ports.new_uuid,
        ports.clock,
        parts.guard,
    )
    recorder = Recorder(journal, state, emitter, ports.clock, parts.guard)
    recorder.record(first)
    for record in then:
        recorder.record(record)
    confined, room = parts.confined, batch_bytes(parts.models)
    hands = Hands(
        spec,
        settings,
        directory,
        parts.policy,
        parts.root,
        recorder,
        ports,
        parts.leavings,
        sandbox=confined.sandbox,
        hosts=confined.hosts,
        result_bytes=room,
        questions=_questions(parts.approvals, ports.person),
    )
    for journaled in ([*records, *then], *agents.values()):
        hands.outputs.rebuild(journaled)
    parts.confined.enter(directory)
    notices = [*_directory_notices(directory), *hands.artifacts.rebuild(records)]
    gate = Gate(parts.policy, parts.approvals, parts.world, arguments_digest, _paste)
    tools, shelf = shelved(parts.offer, state, recorder.load, course.tool)
    dispatch = Dispatch(
        spec,
        tools,
        parts.offer.withheld,
        gate,
        course.hands(hands),
        recorder,
        batch_bytes=room,
        outputs=course.outputs(hands.outputs) if OUTPUT_TOOL in parts.offer.tools else None,
    )
    add_hooks(dispatch.hooks, spec, recorder, directory, session_id, ports)
    hosts = granted_hosts(spec, parts.policy, parts.offer).get(SHELL, ())
    asker = Asker(
        parts.models,
        system_prompt(spec, parts.offer.tools, hosts),
        shelf,
        recorder,
        effort=spec.effort,
        cache_key=session_id,
        partial=listeners.partial,
    )
    window = Window(asker, recorder, spec.compaction)
    check = _check_runner(spec, dispatch, course.tool)
    finish = Finish(spec.expect, recorder, check, course.altered(hands.artifacts))
    init = course.told(_init(spec, directory, parts, resumed=bool(records or then)))
    ruling = Ruling(parts.policy, known_effects(ports.tools), gate, recorder, init, hands.rule)
    told = [Notice(kind="run_directory", text=text) for text in notices]
    told += parts.confined.notices()
    told += [Notice(kind="rules", text=text) for text in unreached_notices(parts.policy)]
    told += [Notice(kind="effort", text=text) for text in effort_notices(spec, parts.models)]
    evaluators = parts.evaluators or parts.models[:1]
    run = Run(
        course.timed(spec),
        parts.providers(evaluators),
        tools,
        dispatch,
        window,
        finish,
        recorder,
        init,
        told,
        course.verified,
    )
    jobs = None
    judge = Evaluator(spec.goal, evaluators, recorder) if spec.goal is not None else None
    if judge is not None:
        run.goal = judge.goes_on
    if AGENTS in parts.offer.tools or (ports.client and has_background(parts.offer.tools, spec)) or state.jobs:
        from remit.wiring.agents import Basis, Delegation

        basis = Basis(
            spec=spec,
            directory=directory,
            gate=gate,
            offer=parts.offer,
            eligible=parts.eligible,
            asker=asker,
            models=parts.agents_models,
            course=course,
            hosts=granted_hosts(spec, parts.policy, parts.eligible(spec)).get(SHELL, ()),
            hands=hands,
            outputs=hands.outputs,
            recorder=recorder,
            dispatch=dispatch,
            run=run,
            init=init,
            decisions=decisions,
            ports=ports,
            guard=parts.guard,
            session_id=session_id,
        )
        jobs = Delegation(basis).jobs
        if judge is not None:
            judge.busy = jobs.active
    course.attach(run, recorder)
    closers = [directory.close, journal.close, decisions.close, events.close, course.close]
    closers += [parts.leavings.close, parts.confined.close, hands.close]
    closers += [parts.root.close] if parts.root is not None else []
    return ReadyRun(run, directory, closers, recorder, dispatch, ruling, asker, parts.guard, jobs, person=ports.person)


def _questions(approvals: Answers | None, person: Questions | None) -> Questions | None:
    """Who answers the model: prepared answers come before a person."""
    if approvals is None or person is None:
        return person if approvals is None else approvals.questions
    return FirstOf(approvals.questions, person)


def _agents_journals(directory: RunDir, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
    if not any(isinstance(record, JobStarted) for record in records):
        return {}
    from remit.wiring.agents import journals_of

    return journals_of(directory, records)


def _check_runner(spec: RunSpec, dispatch: Dispatch, used: Callable[[Tool], Tool]) -> Callable[[Call], Any]:
    async def run_check(call: Call) -> Any:
        from remit.tools.harness.check import Check

        return await dispatch.perform_one(used(Check(spec.expect.check_seconds)), call)

    return run_check


def _paste(call: Call, resources: Sequence[Resource], rule: RuleRef) -> str:
    return paste_entry(Pending(call.tool, call.arguments, tuple(resources), f"{rule.why} [{rule.source} {rule.where}]"))


def _init(spec: RunSpec, directory: RunDir, parts: Parts, *, resumed: bool) -> Init:
    provider = parts.provider
    return Init(
        cwd=spec.workspace,
        model=provider.model,
        tools=list(parts.offer.tools),
        apiKeySource=provider.key_source,
        remit_version=__version__,
        run_id=directory.run_id,
        run_dir=directory.path,
        provider=provider.name,
        scripted=provider.name in {"scripted", "replay"},
        stdin=spec.stdin,
        resumed=resumed,
        limits={key: value for key, value in msgspec.to_builtins(spec.limits).items() if value is not None},
        layers=dict(parts.confined.layers),
        withheld_tools=parts.offer.reasons(),
    )


def _directory_notices(directory: RunDir) -> list[str]:
    """What opening the run directory brought to light."""
    notices = []
    if directory.archived:
        notices.append(f"the run {directory.archived}, which lay here, is now in earlier/{directory.archived}")
    if directory.repaired:
        notices.append(f"the journal ended in a torn record; {directory.repaired} bytes were dropped")
    if directory.unregistered:
        notices.append(f"`remit runs` will not list this run: {directory.unregistered}")
    return notices


def _digest(plain: dict[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()

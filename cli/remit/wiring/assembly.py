"""A run put together of its parts: what is recorded, what decides on calls, and what asks the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from remit import __version__
from remit.base.calls import Call, RuleRef
from remit.base.errors import RemitError
from remit.base.events import Init, Notice, Result
from remit.base.ports import Questions
from remit.base.records import JobStarted, PromptEnded, Record, RunResumed, RunStarted, UserSaid
from remit.base.redact import KeyGuard
from remit.base.resources import Resource
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.client_questions import FirstOf
from remit.engine.dispatch import Dispatch
from remit.engine.emit import Emitter
from remit.engine.finish import Finish
from remit.engine.foreign_calls import as_made, taken_as_ours
from remit.engine.goal import Evaluator
from remit.engine.jobs import Jobs
from remit.engine.judging import Gate
from remit.engine.models import Model
from remit.engine.prompt import system_prompt
from remit.engine.recorder import Recorder
from remit.engine.run import Run
from remit.engine.shelf import Shelf
from remit.engine.state import State
from remit.engine.turn import Asker
from remit.engine.window import Window
from remit.policy.answers import Answers, Pending, arguments_digest, paste_entry
from remit.policy.unreached import unreached_notices
from remit.store.journal import FileJournal, read_journal
from remit.store.plans import PlanDocument
from remit.store.projections import DecisionLog
from remit.store.rundir import RunDir
from remit.stream.writer import EventLog, encode_line
from remit.tools.contract import Tool
from remit.wiring.confine import SHELL, granted_hosts
from remit.wiring.grants import Hands
from remit.wiring.hooks import add_hooks
from remit.wiring.models import batch_bytes, effort_notices
from remit.wiring.offer import OUTPUT_TOOL, PLAN_TOOL, Offer, has_background, known_effects
from remit.wiring.ports import Listeners, Ports, SystemClock
from remit.wiring.preflight import AGENTS, Parts
from remit.wiring.ruling import Ruling
from remit.wiring.shelving import shelved
from remit.wiring.status import StatusFollower


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
                records, _ = read_journal(self.directory.journal_path)
                StatusFollower(self.directory, SystemClock(), records)(ended)

    def close(self) -> None:
        for closer in reversed(self.closers):
            closer()


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """What a process serves a session with. records: of the processes before it. first: the record that it begins with;
    then: those right behind."""

    spec: RunSpec
    settings: Settings
    directory: RunDir
    parts: Parts
    listeners: Listeners
    ports: Ports
    session_id: str
    first: RunStarted | RunResumed
    records: Sequence[Record] = ()
    then: Sequence[Record] = ()

    @property
    def resumed(self) -> bool:
        """Whether there is something that it goes on with."""
        return bool(self.records or self.then)

    def hosts(self, offer: Offer) -> Collection[str]:
        """Those that commands may connect to, where the shell is among these tools."""
        return granted_hosts(self.spec, self.parts.policy, offer).get(SHELL, ())


def assemble(beginning: Beginning) -> ReadyRun:
    """The run, about to start; its first records are written. Raises EnvironmentFault, UsageFault."""
    parts, ports, book = beginning.parts, beginning.ports, _book(beginning)
    desk = _desk(beginning, book)
    asker = _asker(beginning, book, desk)
    init = parts.course.told(_init(beginning))
    ruling = Ruling(parts.policy, known_effects(ports.tools), desk.gate, book.recorder, init, desk.hands.rule)
    run, judge = _run(beginning, book, desk, asker, init)
    jobs = _jobs(beginning, book, desk, asker, run, init)
    if judge is not None and jobs is not None:
        judge.busy = jobs.active
    parts.course.attach(run, book.recorder)
    closers = [beginning.directory.close, *book.closers(), parts.course.close]
    closers += [parts.leavings.close, parts.confined.close, desk.hands.close]
    closers += [parts.root.close] if parts.root is not None else []
    return ReadyRun(
        run,
        beginning.directory,
        closers,
        book.recorder,
        desk.dispatch,
        ruling,
        asker,
        parts.guard,
        jobs,
        person=ports.person,
    )


# -- what is recorded --------------------------------------------------------------------------------


class _Book(msgspec.Struct, frozen=True):
    """The journal, and what follows from it. agents: the records of each agent of an earlier process, by task id."""

    recorder: Recorder
    journal: FileJournal
    decisions: DecisionLog
    events: EventLog
    agents: Mapping[str, Sequence[Record]]

    def closers(self) -> list[Callable[[], None]]:
        return [self.journal.close, self.decisions.close, self.events.close]


def _book(beginning: Beginning) -> _Book:
    """All that was recorded, taken in, and what this process begins with, written down."""
    directory, ports, listeners = beginning.directory, beginning.ports, beginning.listeners
    state = State(beginning.spec.limits)
    for record in beginning.records:
        state.apply(record)
    decisions = DecisionLog(directory.decisions_path)
    agents = _agents_journals(directory, beginning.records)
    decisions.rebuild(beginning.records, agents)
    events = EventLog(directory.events_path)
    ours: list[Callable[[Record], None]] = [decisions, StatusFollower(directory, ports.clock, beginning.records)]
    followers = [*ports.followers, *ours, *beginning.parts.course.followers]
    journal = FileJournal(directory.journal_path, followers=followers)
    emitter = Emitter(
        listeners.stdout,
        [events, *listeners.beside],
        encode_line,
        beginning.session_id,
        ports.new_uuid,
        ports.clock,
        beginning.parts.guard,
    )
    recorder = Recorder(journal, state, emitter, ports.clock, beginning.parts.guard)
    for record in (beginning.first, *beginning.then):
        recorder.record(record)
    return _Book(recorder, journal, decisions, events, agents)


def _agents_journals(directory: RunDir, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
    if not any(isinstance(record, JobStarted) for record in records):
        return {}
    from remit.wiring.agents import journals_of

    return journals_of(directory, records)


# -- what decides on calls ---------------------------------------------------------------------------


class _Desk(msgspec.Struct, frozen=True):
    """What becomes of calls. notices: what taking the run directory in brought to light."""

    hands: Hands
    gate: Gate
    tools: Mapping[str, Tool]
    shelf: Shelf
    dispatch: Dispatch
    notices: Sequence[str]


def _desk(beginning: Beginning, book: _Book) -> _Desk:
    parts, recorder, course = beginning.parts, book.recorder, beginning.parts.course
    hands, notices = _hands(beginning, book)
    gate = Gate(parts.policy, parts.approvals, parts.world, arguments_digest, _paste)
    tools, shelf = shelved(parts.offer, recorder.state, recorder.load, course.tool)
    dispatch = Dispatch(
        beginning.spec,
        tools,
        parts.offer.withheld,
        gate,
        course.hands(hands),
        recorder,
        batch_bytes=batch_bytes(parts.models),
        outputs=course.outputs(hands.outputs) if OUTPUT_TOOL in parts.offer.tools else None,
    )
    add_hooks(dispatch.hooks, beginning.spec, recorder, beginning.directory, beginning.session_id, beginning.ports)
    return _Desk(hands, gate, tools, shelf, dispatch, notices)


def _hands(beginning: Beginning, book: _Book) -> tuple[Hands, Sequence[str]]:
    """What grants go by, with what is on disk from earlier processes; and what is not as it should be there."""
    parts, directory = beginning.parts, beginning.directory
    hands = Hands(
        beginning.spec,
        beginning.settings,
        directory,
        parts.policy,
        parts.root,
        book.recorder,
        beginning.ports,
        parts.leavings,
        sandbox=parts.confined.sandbox,
        hosts=parts.confined.hosts,
        result_bytes=batch_bytes(parts.models),
        questions=_questions(parts.approvals, beginning.ports.person),
    )
    for journaled in ([*beginning.records, *beginning.then], *book.agents.values()):
        hands.outputs.rebuild(journaled)
    parts.confined.enter(directory)
    return hands, [*_directory_notices(directory), *hands.artifacts.rebuild(beginning.records)]


def _questions(approvals: Answers | None, person: Questions | None) -> Questions | None:
    """Who answers the model: prepared answers come before a person."""
    if approvals is None or person is None:
        return person if approvals is None else approvals.questions
    return FirstOf(approvals.questions, person)


def _paste(call: Call, resources: Sequence[Resource], rule: RuleRef) -> str:
    return paste_entry(Pending(call.tool, call.arguments, tuple(resources), rule.told()))


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


# -- what asks the model -----------------------------------------------------------------------------


def _asker(beginning: Beginning, book: _Book, desk: _Desk) -> Asker:
    spec, parts = beginning.spec, beginning.parts
    return Asker(
        parts.models,
        system_prompt(spec, parts.offer.tools, beginning.hosts(parts.offer), driven=beginning.ports.client),
        desk.shelf,
        book.recorder,
        effort=spec.effort,
        cache_key=beginning.session_id,
        partial=beginning.listeners.partial,
        ours=taken_as_ours(desk.tools) if spec.foreign_names else as_made,
    )


def _unplanned(beginning: Beginning, book: _Book, desk: _Desk) -> Callable[[], list[str]]:
    """What a run in plan mode owes in the end: its plan. Nothing where a client goes on with it, or none can be
    written."""
    if beginning.ports.client or PLAN_TOOL not in desk.tools:
        return list

    def owed() -> list[str]:
        written = book.recorder.state.plan_revision or PlanDocument(beginning.directory.path).there()
        return [] if written else ["no plan was written"]

    return owed


def _run(beginning: Beginning, book: _Book, desk: _Desk, asker: Asker, init: Init) -> tuple[Run, Evaluator | None]:
    """The run, and who judges its goal."""
    spec, parts, course, recorder = beginning.spec, beginning.parts, beginning.parts.course, book.recorder
    evaluators: list[Model] = parts.evaluators or parts.models[:1]
    check = _check_runner(spec, desk.dispatch, course.tool)
    run = Run(
        course.timed(spec),
        parts.providers(evaluators),
        desk.tools,
        desk.dispatch,
        Window(asker, recorder, spec.compaction),
        Finish(spec.expect, recorder, check, course.altered(desk.hands.artifacts), _unplanned(beginning, book, desk)),
        recorder,
        init,
        _notices(beginning, desk.notices),
        course.verified,
    )
    judge = Evaluator(spec.goal, evaluators, recorder) if spec.goal is not None else None
    if judge is not None:
        run.goal = judge.goes_on
    return run, judge


def _check_runner(spec: RunSpec, dispatch: Dispatch, used: Callable[[Tool], Tool]) -> Callable[[Call], Any]:
    async def run_check(call: Call) -> Any:
        from remit.tools.harness.check import Check

        return await dispatch.perform_one(used(Check(spec.expect.check_seconds)), call)

    return run_check


def _notices(beginning: Beginning, found: Sequence[str]) -> list[Notice]:
    """What is told with the first prompt. found: in the run directory."""
    spec, parts = beginning.spec, beginning.parts
    told = [Notice(kind="run_directory", text=text) for text in found]
    told += parts.confined.notices()
    told += [Notice(kind="rules", text=text) for text in unreached_notices(parts.policy)]
    told += [Notice(kind="effort", text=text) for text in effort_notices(spec, parts.models)]
    return told


def _init(beginning: Beginning) -> Init:
    spec, parts, provider = beginning.spec, beginning.parts, beginning.parts.provider
    return Init(
        cwd=spec.workspace,
        model=provider.model,
        tools=list(parts.offer.tools),
        apiKeySource=provider.key_source,
        remit_version=__version__,
        run_id=beginning.directory.run_id,
        run_dir=beginning.directory.path,
        provider=provider.name,
        scripted=provider.name in {"scripted", "replay"},
        stdin=spec.stdin,
        resumed=beginning.resumed,
        limits={key: value for key, value in msgspec.to_builtins(spec.limits).items() if value is not None},
        layers=dict(parts.confined.layers),
        withheld_tools=parts.offer.reasons(),
    )


# -- what has a life of its own ----------------------------------------------------------------------


def _jobs(beginning: Beginning, book: _Book, desk: _Desk, asker: Asker, run: Run, init: Init) -> Jobs | None:
    """Agents and commands beside the prompt, None where there can be none."""
    spec, parts, ports = beginning.spec, beginning.parts, beginning.ports
    may_begin = AGENTS in parts.offer.tools or (ports.client and has_background(parts.offer.tools, spec))
    if not may_begin and not book.recorder.state.jobs:
        return None
    from remit.wiring.agents import Basis, Delegation

    basis = Basis(
        spec=spec,
        directory=beginning.directory,
        gate=desk.gate,
        offer=parts.offer,
        eligible=parts.eligible,
        asker=asker,
        models=parts.agents_models,
        course=parts.course,
        hosts=beginning.hosts(parts.eligible(spec)),
        hands=desk.hands,
        outputs=desk.hands.outputs,
        recorder=book.recorder,
        dispatch=desk.dispatch,
        run=run,
        init=init,
        decisions=book.decisions,
        ports=ports,
        guard=parts.guard,
        session_id=beginning.session_id,
    )
    return Delegation(basis).jobs

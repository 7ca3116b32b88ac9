"""The composition root: a spec and a run directory in, a ready run out. The only file that knows every
concrete class."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from remit import __version__
from remit.base.calls import Call, RuleRef
from remit.base.errors import PreflightFault, RemitError, UsageFault
from remit.base.events import Init, Notice, Result
from remit.base.ports import Listener, Provider, Step
from remit.base.records import (
    ArtifactWritten,
    OutputSubmitted,
    PlanSet,
    PromptEnded,
    Record,
    RunResumed,
    RunStarted,
)
from remit.base.resources import Effect, Resource
from remit.base.spec import Price, RunSpec
from remit.config.resolve import RunFlags, build_spec
from remit.config.settings import Settings
from remit.engine.context import CallContext
from remit.engine.dispatch import Dispatch, Gate
from remit.engine.emit import Emitter
from remit.engine.finish import Finish
from remit.engine.narrate import untold
from remit.engine.prompt import system_prompt
from remit.engine.recorder import Recorder
from remit.engine.run import Run
from remit.engine.state import State
from remit.engine.turn import Asker
from remit.net.guard import check_url
from remit.policy.answers import Answers, Pending, arguments_digest, load_answers, paste_entry
from remit.policy.decide import RuleSet
from remit.policy.load import load_policy
from remit.providers.catalog import NO_MODEL_MESSAGE, open_provider, placed
from remit.store.artifacts import ArtifactStore
from remit.store.journal import FileJournal, read_journal
from remit.store.memory import MemoryProposals
from remit.store.projections import DecisionLog
from remit.store.rundir import RunDir, new_run_id, own_files
from remit.store.uses import ApprovalUses
from remit.stream.reader import read_log
from remit.stream.writer import EventLog, encode_line
from remit.tools import registry
from remit.tools.contract import Tool
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class Ports(msgspec.Struct, frozen=True):
    """What a run takes from the outside, so that tests can stand in for the world. web_client: makes
    the guarded client of fetch tools from the allowed ports. followers: hear of every journaled record, before
    anything else does."""

    environ: Mapping[str, str]
    clock: SystemClock = msgspec.field(default_factory=SystemClock)
    new_uuid: Callable[[], str] = lambda: str(uuid.uuid4())
    random_bytes: Callable[[int], bytes] = os.urandom
    web_client: Callable[..., Any] | None = None
    followers: tuple[Callable[[Record], None], ...] = ()


class Listeners(msgspec.Struct, frozen=True):
    """Who hears the events. stdout: a failure there ends the run."""

    stdout: Sequence[Listener] = ()
    beside: Sequence[Listener] = ()


class ReadyRun(msgspec.Struct):
    """A run about to start, and what has to be let go of afterwards."""

    run: Run
    directory: RunDir
    journal: FileJournal
    closers: list[Callable[[], None]]

    def leave_status(self, result: Result) -> None:
        """Let `run.json` say how the run ended, also where the journal could not take its last record."""
        if self.directory.status.status == "running":
            ended = PromptEnded(result.verdict, result.exit_code, result.resumable, msgspec.to_builtins(result))
            with suppress(RemitError):
                StatusFollower(self.directory, SystemClock())(ended)

    def close(self) -> None:
        for closer in reversed(self.closers):
            closer()


class Offer(msgspec.Struct, frozen=True):
    """Which tools the model gets. withheld: name and the reason it is off."""

    tools: dict[str, Tool]
    withheld: dict[str, str]


def load_rules(spec: RunSpec, settings: Settings, environ: Mapping[str, str], run_files: Sequence[str] = ()) -> RuleSet:
    """The rule set of a run. run_files: what the run itself keeps on disk, absolute. Raises Faults."""
    home = environ.get("HOME") or os.path.expanduser("~")
    own = (settings.state_dir, settings.config_dir, *run_files)
    return load_policy(spec, registry.tool_effects(), home=home, own=own)


def load_approvals(spec: RunSpec, settings: Settings) -> Answers | None:
    """The approvals of a run, None when there is no file. Raises Faults."""
    if spec.approvals is None:
        return None
    names = frozenset(registry.tool_effects())
    uses = ApprovalUses(settings.state_dir)
    return load_answers(spec.approvals, names, now=lambda: datetime.now(UTC), uses=uses)


def offer_tools(spec: RunSpec, policy: RuleSet, approvals: Answers | None) -> Offer:
    """The ticked tools that could ever run, and those of the harness that this run needs."""
    tools: dict[str, Tool] = {}
    withheld: dict[str, str] = {}
    for name in _wanted(spec):
        tool = registry.load(name)
        rule = policy.never_allows(name, tool.effects, _answerable(spec, approvals))
        if rule is None:
            tools[name] = tool
        else:
            withheld[name] = f"every call would be refused: {rule.why} [{rule.source} {rule.where}]"
    if spec.expect.schema is not None:
        from remit.tools.harness.structured_output import StructuredOutput

        tools["structured_output"] = StructuredOutput(spec.expect.schema)
    return Offer(tools, withheld)


def with_memory(spec: RunSpec, settings: Settings) -> RunSpec:
    """The spec with the accepted notes of its task, when its memory is on."""
    if not spec.memory_enabled:
        return spec
    notes = MemoryProposals(settings.state_dir).read(decided=True)
    ours = (note.text for note in notes if note.status == "accepted" and note.task == spec.name)
    return msgspec.structs.replace(spec, memory=tuple(ours))


def _answerable(spec: RunSpec, approvals: Answers | None) -> Callable[[str], bool]:
    """Whether an ask could be answered: by an entry, or later, when the run stops on it."""
    if spec.on_ask == "stop":
        return lambda tool: True
    return approvals.answerable if approvals is not None else lambda tool: False


def _wanted(spec: RunSpec) -> list[str]:
    """Ticked tools, and `documents` tools of the harness by need."""
    names = list(spec.ticks)
    places = registry.places()
    if any(places.get(name, "").startswith("remit.tools.documents.") for name in names):
        names.append("update_plan")
    if spec.memory_enabled and spec.memory_proposals:
        names.append("propose_memory")
    return list(dict.fromkeys(names))


def current_directory() -> str:
    """Raises PreflightFault when it is gone."""
    try:
        return os.getcwd()
    except OSError as problem:
        what = f"the current directory cannot be used: {problem.strerror}"
        raise PreflightFault(what, hint="change to one that exists", kind="no_directory") from None


def spec_without_prompt(flags: RunFlags, settings: Settings) -> RunSpec:
    """The spec of a run with these flags whose prompt is not known. Raises Faults."""
    flags = msgspec.structs.replace(flags, prompt="(no prompt)")
    return build_spec(flags, settings, registry.tool_effects(), lambda wish: _NoStdin(), current_directory())


class _NoStdin(msgspec.Struct, frozen=True):
    data: bytes = b"(no input)"
    state: Literal["none"] = "none"


def list_tools(spec: RunSpec, settings: Settings, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every tool with name, toolset, state `on` or `off`, reason, effects and schema."""
    policy = load_rules(spec, settings, environ)
    offer = offer_tools(spec, policy, load_approvals(spec, settings))
    tools = {**registry.all_tools(), **offer.tools}
    return [_listed(tool, offer, spec) for tool in tools.values()]


def _listed(tool: Tool, offer: Offer, spec: RunSpec) -> dict[str, Any]:
    on = tool.name in offer.tools
    if on:
        tick = spec.ticks.get(tool.name)
        reason = f"{tick.decide} [{tick.where}]" if tick else "offered by need"
    else:
        reason = offer.withheld.get(tool.name, "not ticked")
    return {
        "name": tool.name,
        "toolset": tool.toolset,
        "state": "on" if on else "off",
        "reason": reason,
        "effects": sorted(effect.value for effect in tool.effects),
        "description": tool.spec().description,
        "schema": tool.schema(),
    }


# -- starting and resuming ---------------------------------------------------------------------


def start(
    spec: RunSpec, settings: Settings, out: str | None, listeners: Listeners, ports: Ports, *, record: str | None = None
) -> ReadyRun:
    """A new run, everything checked that can be known before the model is asked.

    Raises UsageFault (rules, approvals, directory), PreflightFault (model, key, price, workspace)."""
    parts = _preflight(spec, settings, ports, record, out)
    started = ports.clock.now()
    directory = RunDir.create(out, settings.state_dir, new_run_id(ports.clock, ports.random_bytes), started=started)
    session_id = ports.new_uuid()
    directory.update(
        session_id=session_id, name=spec.name, task=spec.task, model=spec.model, started=started, pid=os.getpid()
    )
    plain = msgspec.to_builtins(spec)
    first = RunStarted(directory.run_id, session_id, __version__, started, _digest(plain), plain)
    return _ready(spec, settings, directory, parts, listeners, ports, session_id, [], first)


def resume(
    directory: RunDir,
    change: Callable[[RunSpec], RunSpec],
    settings: Settings,
    listeners: Listeners,
    ports: Ports,
) -> ReadyRun:
    """Take a run up where its journal ends. `change` gives the spec to go on with, from the one the
    run was started with. Raises UsageFault when there is nothing to go on with."""
    records, _ = read_journal(directory.journal_path)
    old = journaled_spec(records, directory.path)
    spec = change(old)
    ended = _ended(records)
    catch_up(directory, records, ports)
    if ended is not None and not ended.resumable:
        raise UsageFault(
            f"run {directory.run_id} has ended ({ended.verdict}): there is nothing to go on with",
            where=directory.path,
            hint="start a new one with `remit run`",
        )
    parts = _preflight(spec, settings, ports, None, directory.path)
    plain = msgspec.to_builtins(spec)
    changed = plain if spec != old else None
    directory.update(status="running", verdict="", exit_code=None, ended=None, pid=os.getpid(), model=spec.model)
    session_id = directory.status.session_id or ports.new_uuid()
    first = RunResumed(ports.clock.now(), changed, _digest(plain))
    return _ready(spec, settings, directory, parts, listeners, ports, session_id, records, first)


def catch_up(directory: RunDir, records: Sequence[Record], ports: Ports) -> None:
    """Bring the files that others read into step with the journal: a process that died may have left
    its last records untold. Raises EnvironmentFault."""
    ended = _ended(records)
    if ended is not None and directory.status.status == "running":
        StatusFollower(directory, ports.clock)(ended)
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


class _Parts(msgspec.Struct, frozen=True):
    policy: RuleSet
    approvals: Answers | None
    offer: Offer
    provider: Provider
    root: Root


def _preflight(spec: RunSpec, settings: Settings, ports: Ports, record: str | None, run_dir: str | None) -> _Parts:
    """Everything that can be refused before a directory is touched or a model asked."""
    policy = load_rules(spec, settings, ports.environ, own_files(run_dir) if run_dir else ())
    approvals = load_approvals(spec, settings)
    if not spec.model:
        raise PreflightFault(NO_MODEL_MESSAGE, kind="no_model")
    here = current_directory()
    model = placed(spec.model, spec.command.get("cwd", here), here)
    provider = open_provider(model, ports.environ, retry_seconds=spec.retry_seconds)
    if record is not None:
        from remit.base.redact import Redactor, is_secret_name
        from remit.providers.record import RecordingProvider

        provider = RecordingProvider(
            provider, record, Redactor(value for name, value in ports.environ.items() if is_secret_name(name))
        )
    if spec.limits.usd is not None and spec.model not in spec.prices and provider.name not in FREE_PROVIDERS:
        raise PreflightFault(
            f"a money cap needs the price of {spec.model}, and none is known",
            hint=f'put [prices."{spec.model}"] with input and output (US dollars per million tokens) into remit.toml, '
            "or cap tokens with --max-tokens",
            kind="no_price",
        )
    return _Parts(policy, approvals, offer_tools(spec, policy, approvals), provider, Root(spec.workspace))


FREE_PROVIDERS = frozenset({"scripted", "replay", "local"})


def _ready(
    spec: RunSpec,
    settings: Settings,
    directory: RunDir,
    parts: _Parts,
    listeners: Listeners,
    ports: Ports,
    session_id: str,
    records: Sequence[Record],
    first: RunStarted | RunResumed,
) -> ReadyRun:
    state = State(spec.limits)
    for record in records:
        state.apply(record)
    decisions = DecisionLog(directory.decisions_path)
    decisions.rebuild(records)
    events = EventLog(directory.events_path)
    journal = FileJournal(
        directory.journal_path, followers=(*ports.followers, decisions, StatusFollower(directory, ports.clock))
    )
    emitter = Emitter(
        listeners.stdout, [events, *listeners.beside], encode_line, session_id, ports.new_uuid, ports.clock
    )
    recorder = Recorder(journal, state, emitter, ports.clock)
    recorder.record(first)
    hands = Hands(spec, settings, directory, parts, recorder, ports)
    notices = [*_directory_notices(directory), *hands.artifacts.rebuild(records)]
    gate = Gate(parts.policy, parts.approvals, RunWorld(parts.root, spec.fetch_allowed_ports), arguments_digest, _paste)
    dispatch = Dispatch(spec, parts.offer.tools, parts.offer.withheld, gate, hands, recorder)
    specs = tuple(tool.spec() for tool in parts.offer.tools.values())
    asker = Asker(
        parts.provider,
        system_prompt(spec, parts.offer.tools),
        specs,
        _prices(spec, parts.provider),
        recorder,
        metered=parts.provider.name not in FREE_PROVIDERS,
    )
    finish = Finish(spec.expect, recorder, _check_runner(spec, dispatch), hands.artifacts.altered)
    init = _init(spec, directory, parts, resumed=bool(records))
    told = [Notice(kind="run_directory", text=text) for text in notices]
    run = Run(spec, parts.provider, parts.offer.tools, dispatch, asker, finish, recorder, init, told)
    return ReadyRun(
        run, directory, journal, [directory.close, journal.close, decisions.close, events.close, parts.root.close]
    )


def _prices(spec: RunSpec, provider: Provider) -> Mapping[str, Any]:
    """Known prices by `provider/model`; what runs on this machine costs nothing."""
    named = f"{provider.name}/{provider.model}"
    if spec.model in spec.prices:
        return {named: spec.prices[spec.model]}
    stated = getattr(provider, "price", None)
    if isinstance(stated, Price):
        return {named: stated}
    return {named: Price(0.0, 0.0)} if provider.name in FREE_PROVIDERS else {}


def _check_runner(spec: RunSpec, dispatch: Dispatch) -> Callable[[Call], Any]:
    async def run_check(call: Call) -> Any:
        from remit.tools.harness.check import Check

        return await dispatch.perform_one(Check(spec.expect.check_seconds), call)

    return run_check


def _paste(call: Call, resources: Sequence[Resource], rule: RuleRef) -> str:
    return paste_entry(Pending(call.tool, call.arguments, tuple(resources), f"{rule.why} [{rule.source} {rule.where}]"))


def _init(spec: RunSpec, directory: RunDir, parts: _Parts, *, resumed: bool) -> Init:
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
        layers={"sandbox": "none: checks run unconfined"},
        withheld_tools=parts.offer.withheld,
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


class StatusFollower:
    """Keeps `run.json` in step with the journal: a prompt's end is the status."""

    def __init__(self, directory: RunDir, clock: SystemClock) -> None:
        self._directory = directory
        self._clock = clock

    def __call__(self, record: Record) -> None:
        if not isinstance(record, PromptEnded):
            return
        result = record.result
        self._directory.update(
            status=record.verdict,
            verdict=record.verdict,
            exit_code=record.exit_code,
            resumable=record.resumable,
            ended=self._clock.now(),
            usd=result.get("total_cost_usd"),
            error="; ".join(result.get("errors") or []),
            counts={**result.get("counts", {}), "turns": result.get("num_turns", 0)},
        )


class RunWorld(WorkspaceWorld):
    """The names a tool may ask for: those of the workspace, and of public pages."""

    def __init__(self, root: Root, ports: Collection[int]) -> None:
        super().__init__(root)
        self._ports = ports

    def url(self, spelled: str, effect: Effect) -> Resource:
        return Resource("url", check_url(spelled, self._ports).url, effect)


# -- grants ------------------------------------------------------------------------------------


class Hands:
    """Builds the grants of a call from exactly the resources policy saw."""

    def __init__(
        self, spec: RunSpec, settings: Settings, directory: RunDir, parts: _Parts, recorder: Recorder, ports: Ports
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._directory = directory
        self._parts = parts
        self._recorder = recorder
        self._ports = ports
        self._web: Any = None
        self._call_ids: dict[str, str] = {}
        self.artifacts = ArtifactStore(
            directory.path, spec.limits.artifact_bytes, recorder.charge_artifact, self._published
        )

    def context(self, call: Call, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None) -> CallContext:
        self._call_ids[call.key] = call.id
        kinds = {resource.kind for resource in resources}
        context = CallContext(call.key, tool.name)
        if kinds & {"path", "tree"}:
            context.granted_files = self._files(tool, resources, approved)
        if "url" in kinds:
            context.granted_web = self._fetch(tool, resources, approved)
        if "artifact" in kinds:
            names = {resource.name for resource in resources if resource.kind == "artifact"}
            context.granted_artifacts = self.artifacts.grant(call.key, names)
        if "state" in kinds:
            context.granted_state = StateGrant(self, call.key)
        if "command" in kinds:
            context.granted_process = self._process(resources)
        return context

    def _files(self, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None) -> Any:
        from remit.workspace.grant import FilesGrant

        def allowed(entry: Resource) -> bool:
            return self._parts.policy.entry_allowed(tool.name, Effect.READ, entry, approved)

        return FilesGrant(self._parts.root, resources, allowed)

    def _fetch(self, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None) -> Any:
        from remit.net.client import WebClient, WebGrant

        if self._web is None:
            make = self._ports.web_client or WebClient
            self._web = make(allowed_ports=self._spec.fetch_allowed_ports)

        def may_follow(url: str) -> bool:
            hop = Resource("url", url, Effect.NETWORK)
            return self._parts.policy.entry_allowed(tool.name, Effect.NETWORK, hop, approved)

        return WebGrant(self._web, resources, self._recorder.charge_network_request, may_follow)

    def _process(self, resources: Sequence[Resource]) -> Any:
        from remit.workspace.process import ProcessGrant

        commands = [resource for resource in resources if resource.kind == "command"]
        environment = {"REMIT_OUT": self._directory.artifacts_path}
        return ProcessGrant(self._spec.workspace, commands, environment)

    def _published(self, written: ArtifactWritten) -> None:
        self._recorder.artifact(written, self._call_ids.get(written.call, ""))

    def propose(self, key: str, text: str, tags: Sequence[str], reason: str) -> str:
        proposals = MemoryProposals(self._settings.state_dir)
        return proposals.propose(
            self._directory.run_id,
            key,
            task=self._spec.name,
            text=text,
            tags=tags,
            reason=reason,
            created=self._ports.clock.now(),
        )

    def record(self, record: Record) -> None:
        self._recorder.record(record)

    def plan(self, plan: PlanSet) -> None:
        self._recorder.plan(plan)


class StateGrant:
    """The stores a run owns, for one call."""

    def __init__(self, hands: Hands, key: str) -> None:
        self._hands = hands
        self._key = key

    def set_plan(self, steps: Sequence[Step], note: str) -> None:
        self._hands.plan(PlanSet(tuple({"step": each.step, "status": each.status} for each in steps), note))

    def propose_memory(self, text: str, tags: Sequence[str], reason: str) -> str:
        return self._hands.propose(self._key, text, tags, reason)

    def submit_output(self, value: Any, problems: str) -> None:
        self._hands.record(OutputSubmitted(value, not problems, problems))

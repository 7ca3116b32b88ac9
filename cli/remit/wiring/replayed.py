"""A recording in, a ready run out that does the recorded one again: without a model, a key or a task file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NoReturn, cast

import msgspec

from remit.base.calls import RuleRef
from remit.base.errors import ErrorCode, Failure, Faults, UsageFault
from remit.base.ports import World
from remit.base.redact import KeyGuard, Redactor, secrets_of
from remit.base.spec import PLAYED, RunSpec
from remit.config.settings import Settings
from remit.engine.models import Model
from remit.engine.shelf import WHEN_KEPT
from remit.engine.state import SEARCH
from remit.policy.answers import Answers, load_answers
from remit.policy.decide import RuleSet
from remit.policy.load import load_policy
from remit.policy.modes import PLAN
from remit.providers.recording import RecordedRun, read_recording
from remit.providers.replay import NAME, PlayedModel, Tape
from remit.store.leavings import Leavings
from remit.store.rundir import own_files
from remit.tools import registry
from remit.wiring.assembly import ReadyRun
from remit.wiring.grants import RunWorld
from remit.wiring.offer import OUTPUT_TOOL, Offer, eligible_tools, loaded_tools, standing
from remit.wiring.playback import Playback
from remit.wiring.ports import Listeners, Ports
from remit.wiring.preflight import Parts
from remit.wiring.ready import begin
from remit.wiring.recorded import words
from remit.workspace.root import Root


def replay(
    path: str,
    settings: Settings,
    out: str | None,
    listeners: Listeners,
    ports: Ports,
    *,
    live: bool = False,
    workspace: str | None = None,
) -> ReadyRun:
    """The run recorded at `path`, to be played. live: its tools run, in `workspace` or where they ran.

    Raises UsageFault for what is no recording of a run, or one that this program cannot play."""
    run = read_recording(path)
    spec = _spec(run, workspace)
    known = [run.header.home, *run.header.own, *words(spec)] if live else ()
    redact = Redactor(secrets_of(ports.environ, known=known) if live else ())
    playback = Playback(run, spec, live=live, redact=redact, offered=_offered)
    root = Root(spec.workspace) if live else None
    run_files = own_files(out) if out else ()
    places = standing(settings, ports.environ, run_files) if live else ("", ())
    policy, approvals, eligible = _rules(run, spec, playback, places[1])
    offer = _offered(run, loaded_tools(spec, eligible(spec)))
    parts = Parts(
        policy=policy,
        approvals=approvals,
        offer=Offer({name: playback.tool(tool) for name, tool in offer.tools.items()}, offer.withheld, offer.lazy),
        models=_models(run, spec, playback.tape),
        guard=KeyGuard(),
        world=cast("World", NoWorld()) if root is None else RunWorld(root, spec.fetch_allowed_ports),
        root=root,
        course=playback,
        leavings=Leavings(settings.state_dir),
        eligible=eligible,
        agents_models=_agents_models(run, spec, playback.tape),
        environment=spec.environment,
    )
    return begin(spec, settings, out, parts, listeners, ports, model=f"{NAME}/{path}")


def _spec(run: RecordedRun, workspace: str | None) -> RunSpec:
    header = run.header
    if header.spec is None:
        what = "the recording holds the answers of a model, and not the run they were given in"
        hint = f"play it as the model of a run: remit run -m {NAME}/{run.path} with the task it was recorded with"
        raise UsageFault(what, where=run.path, hint=hint)
    try:
        spec = msgspec.convert(header.spec, RunSpec)
        wanted = [spec.models[name] for name in (spec.model, *spec.fallback_models)]
    except (msgspec.ValidationError, KeyError) as problem:
        raise _unfit(run, f"its spec: {problem}") from None
    if len(wanted) != len(header.models):
        raise _unfit(run, f"its spec names {len(wanted)} model(s), its header {len(header.models)}")
    command = {**spec.command, PLAYED: os.path.abspath(run.path)}
    return msgspec.structs.replace(spec, command=command, workspace=os.path.abspath(workspace or spec.workspace))


def _unfit(run: RecordedRun, what: str) -> UsageFault:
    version = run.header.version or "the version that wrote it"
    hint = f"play it with remit {version}, or record it again"
    return UsageFault(f"the recorded run does not fit this program: {what}", where=f"{run.path}:1", hint=hint)


def _rules(
    run: RecordedRun, spec: RunSpec, playback: Playback, present: Sequence[str]
) -> tuple[RuleSet, Answers | None, Callable[[RunSpec], Offer]]:
    """Rules and approvals of the recorded run, and its tools, as Parts has them. present: what belongs to remit here,
    which live tools must not touch either."""
    effects = registry.tool_effects()
    then = [_moved(each, str((run.header.spec or {}).get("workspace", "")), spec.workspace) for each in run.header.own]
    try:
        policy = load_policy(spec, effects, home=run.header.home, own=[*then, *present])
        approvals = None
        if spec.approvals is not None:
            now = _at(run.header.started)
            approvals = load_answers(spec.approvals, frozenset(effects), now=now, uses=_Uses(playback))
        has_plan = spec.mode == PLAN
        return policy, approvals, lambda whose: eligible_tools(whose, policy, approvals, has_plan=has_plan)
    except Faults as problem:
        raise _unfit(run, str(problem.faults[0])) from None


def _offered(run: RecordedRun, offer: Offer) -> Offer:
    """The tools of the recorded run. What they work with may be missing here, or have been missing there; and
    then there is, or was, perhaps nothing for `tool_output` to read."""
    if not run.exchanges:
        return offer
    tools = run.exchanges[0].request.get("tools", ())
    then = [str(tool.get("name")) for tool in tools]
    left_out = [word for tool in tools if tool.get("name") == SEARCH for word in _names(str(tool.get("description")))]
    then += [name for name in left_out if name in registry.places()]
    then += [name for name, bundle in offer.lazy.items() if bundle == WHEN_KEPT and name not in then]
    missing = {OUTPUT_TOOL, *(name for name, rule in offer.withheld.items() if rule.source == MISSING)}
    ours = {name: tool for name, tool in offer.tools.items() if name in then or name != OUTPUT_TOOL}
    here = {**ours, **{name: registry.load(name) for name in then if name in missing}}
    gone = {name: _THERE for name, tool in ours.items() if tool.hands and name not in then}
    withheld = {name: rule for name, rule in offer.withheld.items() if name not in here}
    order = [*(name for name in then if name in here), *(name for name in here if name not in then)]
    # What was left out then has no place in the request.
    order = order if here.keys() - ours.keys() else list(ours)
    lazy = {name: here[name].bundle for name in left_out if name in here} | offer.lazy
    rest = {name: here[name] for name in order if name not in gone}
    return Offer(rest, {**withheld, **gone}, {name: bundle for name, bundle in lazy.items() if name in rest})


def _names(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _moved(path: str, old: str, new: str) -> str:
    """A place below the old workspace, in the new one."""
    return f"{new}/{path.removeprefix(f'{old}/')}" if old and path.startswith(f"{old}/") else path


def _at(started: float) -> Callable[[], datetime]:
    moment = datetime.fromtimestamp(started, UTC)
    return lambda: moment


MISSING = "none"
"""The source of what no rule withholds, but the machine."""

_THERE = RuleRef(MISSING, "", "it was not offered when the run was recorded")


class _Uses:
    """Uses of approvals, counted in this run alone."""

    def __init__(self, playback: Playback) -> None:
        self._playback = playback

    def take(self, entry: str, limit: int) -> bool:
        return self._playback.take_use(entry, limit)


def _models(run: RecordedRun, spec: RunSpec, tape: Tape) -> list[Model]:
    names = (spec.model, *spec.fallback_models)
    return [
        Model(PlayedModel(tape, known.provider, known.model), spec.models[name], known.price, known.metered)
        for name, known in zip(names, run.header.models, strict=True)
    ]


def _agents_models(run: RecordedRun, spec: RunSpec, tape: Tape) -> dict[str, Model]:
    """Those that the profiles of agents name, by id."""
    wanted = {profile.model for profile in spec.profiles.values() if profile.model}
    known = {name: facts for name, facts in run.header.agents_models.items() if name in wanted & spec.models.keys()}
    return {
        name: Model(PlayedModel(tape, each.provider, each.model), spec.models[name], each.price, each.metered)
        for name, each in known.items()
    }


class NoWorld:
    """No workspace and no network: stand-ins know what their calls touched, and ask for no name."""

    def __getattr__(self, question: str) -> NoReturn:
        raise Failure(ErrorCode.UNDECLARED, f"a recording is played without a workspace; nobody can say its {question}")

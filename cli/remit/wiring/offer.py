"""Rules, approvals and the tools that a run offers by them."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from remit.base.calls import RuleRef
from remit.base.errors import PreflightFault
from remit.base.ports import Recorded
from remit.base.resources import Effect
from remit.base.spec import Environment, Loading, RunSpec
from remit.config.environment import read_environment
from remit.config.flags import RunFlags
from remit.config.instructions import SCOPES, read_instructions
from remit.config.resolve import build_spec
from remit.config.settings import Settings
from remit.engine.models import Model
from remit.engine.shelf import WHEN_KEPT
from remit.policy.answers import Answers, load_answers
from remit.policy.decide import RuleSet
from remit.policy.load import load_policy
from remit.policy.modes import PLAN
from remit.store.memory import MemoryProposals
from remit.store.uses import ApprovalUses
from remit.tools import registry
from remit.tools.contract import Tool
from remit.tools.files._editor import EDITORS, editor_for

OUTPUT_TOOL = "tool_output"
PLAN_TOOL = "plan"
NEEDS_PLAN = "it requires a session plan"
CONTROL_TOOL = "task_control"
DOCUMENTS = "remit.tools.documents."
"""Before the names of the modules of tools for documents."""


class Offer(msgspec.Struct, frozen=True):
    """Which tools the model gets. withheld: those off because a rule would refuse every call, and it. lazy:
    those that requests leave out until they are needed, each with what it comes in with, as Shelf takes them."""

    tools: dict[str, Tool]
    withheld: dict[str, RuleRef]
    lazy: dict[str, str] = {}

    def reasons(self) -> dict[str, str]:
        """Why each withheld tool is off, in words."""
        return {name: rule.told() for name, rule in self.withheld.items()}


def load_rules(
    spec: RunSpec,
    settings: Settings,
    environ: Mapping[str, str],
    run_files: Sequence[str] = (),
    mode: str = "",
    tools: Sequence[Tool] = (),
) -> RuleSet:
    """The rule set of a run. run_files: what the run itself keeps on disk, absolute. mode: a permission mode in the
    place of the spec's. tools: of the client, which rules may name too. Raises Faults."""
    home, own = standing(settings, environ, run_files)
    return load_policy(spec, known_effects(tools), home=home, own=own, mode=mode)


def known_effects(tools: Sequence[Tool] = ()) -> Mapping[str, frozenset[Effect]]:
    """The effects of every tool that rules may name. tools: of the client."""
    effects = registry.tool_effects()
    if not tools:
        return effects
    return ChainMap({tool.name: tool.effects for tool in tools}, dict(effects), registry.HARNESS_EFFECTS)


def standing(
    settings: Settings, environ: Mapping[str, str], run_files: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """The user's home directory, and what belongs to remit itself: places that rules go by, absolute."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return home, (*settings.own_dirs, *run_files)


def load_approvals(spec: RunSpec, settings: Settings) -> Answers | None:
    """The approvals of a run, None when there is no file. Raises Faults."""
    if spec.approvals is None:
        return None
    names = frozenset(registry.tool_effects())
    uses = ApprovalUses(settings.state_dir)
    return load_answers(spec.approvals, names, now=lambda: datetime.now(UTC), uses=uses)


def offer_tools(
    spec: RunSpec,
    policy: RuleSet,
    approvals: Answers | None,
    *,
    client: bool = False,
    has_plan: bool | None = None,
    tools: Sequence[Tool] = (),
    person: bool = False,
) -> Offer:
    """The ticked tools that could ever run, and those of the harness that this run needs. client: whether a program
    that drives the run may be asked. has_plan: whether the session has one, None: if it begins with planning. tools:
    what the client offers. person: whether a person is there who answers questions."""
    ours = eligible_tools(spec, policy, approvals, client=client, has_plan=has_plan, person=person)
    return loaded_tools(spec, ours, client=client, theirs=tools)


def eligible_tools(
    spec: RunSpec,
    policy: RuleSet,
    approvals: Answers | None,
    *,
    client: bool = False,
    has_plan: bool | None = None,
    person: bool = False,
) -> Offer:
    """The ticked tools that could ever run, whatever profiles say. See offer_tools."""
    tools: dict[str, Tool] = {}
    withheld: dict[str, RuleRef] = {}
    has_plan = spec.mode == PLAN if has_plan is None else has_plan
    for name in _wanted(spec, has_plan):
        if name in spec.disabled:
            off = spec.disabled[name]
            withheld[name] = RuleRef("disabled", off.where, off.why)
            continue
        tool = registry.load(name)
        rule = policy.never_allows(name, tool.effects, _answerable(spec, approvals, client))
        missing = (
            _no_plan(name, has_plan or client)
            or _no_background(name, spec, client)
            or _missing(tool, spec, approvals, person)
        )
        if missing:
            withheld[name] = RuleRef("none", "", missing)
        elif rule is None:
            tools[name] = _fitted(tool, spec, client=client)
        else:
            why = f"every call would be refused: {rule.why}"
            withheld[name] = RuleRef(rule.source, rule.where, why + _lapsed(tool, policy, approvals))
    return Offer(tools, withheld)


def loaded_tools(spec: RunSpec, ours: Offer, *, client: bool = False, theirs: Sequence[Tool] = ()) -> Offer:
    """Of those tools, what the profile of the spec leaves, and those of the harness that go with them. theirs: what
    the client offers."""
    withheld = dict(ours.withheld)
    tools: dict[str, Tool] = {}
    for name, tool in ours.tools.items():
        if _loading(spec, tool) == "disabled":
            assert spec.profile is not None
            why = f"disabled by the profile {spec.profile.name}"
            withheld[name] = RuleRef("disabled", spec.profile.where, why)
        else:
            tools[name] = tool
    if client and has_background(tools, spec) and not {CONTROL_TOOL} & {*tools, *spec.disabled}:
        tools[CONTROL_TOOL] = registry.load(CONTROL_TOOL)
    if OUTPUT_TOOL not in tools and any(map(_may_be_long, tools.values())):
        # From the start, whatever the rules say: tools that come and go would cost the provider's cache.
        tools[OUTPUT_TOOL] = registry.load(OUTPUT_TOOL)
    if spec.expect.schema is not None:
        from remit.tools.harness.structured_output import StructuredOutput

        tools["structured_output"] = StructuredOutput(spec.expect.schema)
    return Offer({**tools, **{tool.name: tool for tool in theirs}}, withheld, _lazy(spec, tools))


def _lazy(spec: RunSpec, tools: Mapping[str, Tool]) -> dict[str, str]:
    lazy: dict[str, str] = {}
    usually = defers(spec)
    for name, tool in tools.items():
        loading = _loading(spec, tool)
        if loading == "lazy" and not tool.harness:
            lazy[name] = tool.bundle or name
        elif loading is None and usually and name not in spec.eager:
            lazy |= {name: tool.bundle} if tool.bundle else {name: WHEN_KEPT} if tool.awaits else {}
    return lazy


def _loading(spec: RunSpec, tool: Tool) -> Loading | None:
    """How the profile of the run has the tool loaded; it has no say in those of the harness."""
    if spec.profile is None or tool.harness:
        return None
    return spec.profile.loading(tool.name, tool.toolset)


def defers(spec: RunSpec) -> bool:
    """Whether tools that can be loaded are left out of requests. Each load costs the provider's cache: a large model is
    likely to need them, and a script reads no tools."""
    if spec.defer_tools != "auto":
        return spec.defer_tools == "always"
    model = spec.models.get(spec.model)
    return model is not None and model.protocol not in ("scripted", "replay") and model.small is not False


def _may_be_long(tool: Tool) -> bool:
    """Whether its results may be cut. Those of `documents` are JSON that their tools keep short; those that
    touch only the run's own state are a sentence."""
    return tool.toolset != "documents" and tool.effects != {Effect.STATE}


def _missing(tool: Tool, spec: RunSpec, approvals: Answers | None, person: bool) -> str:
    """Why this run has no use for the tool, or ""."""
    if "person" in tool.hands:
        return "" if person or (approvals is not None and approvals.questions.choices) else NOBODY
    if "python" in tool.hands:
        from remit.workspace.monty import missing_interpreter

        return missing_interpreter(spec.python_worker)
    if "pictures" in tool.hands:
        return _no_pictures(spec)
    if "code" in tool.hands:
        from remit.code.installed import missing_here

        return missing_here()
    played = spec.model.partition("/")[0] in ("scripted", "replay")
    if tool.name in EDITORS and not played and all(editor in spec.ticks for editor in EDITORS):
        # One editor a model: the one it was trained on. Where only one is ticked, that was somebody's choice,
        # and a script was trained on nothing.
        chosen = editor_for(spec.model)
        return "" if tool.name == chosen else f"the model uses the other editing tool, {chosen}"
    return ""


NOBODY = "nobody is there to answer; prepared answers are `[[answer]]` entries of an approvals file (-a)"
NO_BACKGROUND = "{} is async, and this run has no background in which it could go on"


def has_background(tools: Mapping[str, Tool], spec: RunSpec) -> bool:
    """Whether a run that a program drives has anything that may go on in the background."""
    executions = {"task": spec.task_execution, "shell": spec.shell_execution}
    return any(name in tools and execution != "sync" for name, execution in executions.items())


def _no_background(name: str, spec: RunSpec, client: bool) -> str:
    """Why a tool that is never waited for is not offered, or ""."""
    if client:
        return ""
    if name == CONTROL_TOOL:
        return "this run has no background: nothing drives it that could be told of results"
    if name == "shell" and spec.shell_execution == "async":
        return NO_BACKGROUND.format("`[shell] execution`")
    if name == "task" and spec.task_execution == "async":
        return NO_BACKGROUND.format("`[agent] task_execution`")
    return ""


def _fitted(tool: Tool, spec: RunSpec, *, client: bool) -> Tool:
    """The tool as this run has it. client: whether there is a background."""
    if tool.name == "task":
        from remit.tools.agents.task import Task

        profiles = {name: each.description for name, each in spec.profiles.items()}
        return Task(spec.task_execution if client else "sync", profiles, spec.own_profile)
    if tool.name == "shell" and client:
        from remit.tools.execution.shell import Shell

        return Shell(spec.shell_execution, spec.shell_async_threshold_seconds)
    return tool


def _no_pictures(spec: RunSpec) -> str:
    """Why nobody would see a picture of a tool, or ""."""
    from remit.workspace.pictures import missing_pictures

    model = spec.models.get(spec.model)
    if model is not None and model.vision is False:
        return f"{model.id} does not see pictures"
    return missing_pictures()


def _answerable(spec: RunSpec, approvals: Answers | None, client: bool) -> Callable[[str], bool]:
    """Whether an ask could be answered: by an entry, by a hook, by a client, or later, when the run stops on it."""
    if client or spec.on_ask == "stop":
        return lambda tool: True
    by_file = approvals.answerable if approvals is not None else lambda tool: False
    hooks = [hook for hook in spec.hooks if hook.event == "PreToolUse"]
    return lambda tool: by_file(tool) or any(hook.concerns(tool) for hook in hooks)


def _lapsed(tool: Tool, policy: RuleSet, approvals: Answers | None) -> str:
    """Of a tool that is off because nothing answers its asks: the entries that would have, and why they do not."""
    if approvals is None or policy.never_allows(tool.name, tool.effects) is not None:
        return ""
    entries = approvals.lapsed(tool.name)
    return f"; {entries}" if entries else ""


def _no_plan(name: str, may_plan: bool) -> str:
    return NEEDS_PLAN if name == PLAN_TOOL and not may_plan else ""


def _wanted(spec: RunSpec, has_plan: bool) -> list[str]:
    """Ticked tools, and `documents` tools of the harness by need."""
    names = list(spec.ticks)
    places = registry.places()
    if any(places.get(name, "").startswith(DOCUMENTS) for name in names):
        names.append("update_plan")
    if spec.memory_enabled and spec.memory_proposals:
        names.append("propose_memory")
    if has_plan:
        names.append(PLAN_TOOL)
    return list(dict.fromkeys(names))


def with_memory(spec: RunSpec, settings: Settings) -> RunSpec:
    """The spec with the accepted notes of its task, when its memory is on."""
    if not spec.memory_enabled:
        return spec
    notes = MemoryProposals(settings.state_dir).read(decided=True)
    ours = (note.text for note in notes if note.status == "accepted" and note.task == spec.name)
    return msgspec.structs.replace(spec, memory=tuple(ours))


def works_on_code(spec: RunSpec) -> bool:
    """Whether the run has more than the tools for documents, and those of a client."""
    places = registry.places()
    return any(not places.get(name, DOCUMENTS).startswith(DOCUMENTS) for name in spec.ticks)


def with_instructions(spec: RunSpec, settings: Settings, scopes: Collection[str] = SCOPES) -> RunSpec:
    """The spec with what files of these scopes say about how to work, where it works on code."""
    if not works_on_code(spec):
        return spec
    return msgspec.structs.replace(spec, instructions=read_instructions(spec.workspace, settings.config_dir, scopes))


def environment_of(spec: RunSpec, models: Sequence[Model], now: float) -> Environment | None:
    """What the model of a run that begins at `now` is told of where and when it works. One that answers from a
    recording hears what the recorded one did."""
    played = next((model.provider for model in models if isinstance(model.provider, Recorded)), None)
    if played is not None:
        return played.environment
    return read_environment(spec.workspace, spec.beside, now) if works_on_code(spec) else None


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

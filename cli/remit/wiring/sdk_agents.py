"""Agents that a client of Claude Code defines: profiles for those that the main agent sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

import msgspec

from remit.base.claude_names import FOREIGN_NAMES, ours_for
from remit.base.errors import RemitError
from remit.base.messages import Effort
from remit.base.spec import BUILTIN, AgentProfile, Loading, ModelSpec, ProfileTools, RunSpec
from remit.base.text import shorten
from remit.config.providers import Purpose

TASK = "task"
MAX_NAME = 64
TAKEN = frozenset({"description", "prompt", "tools", "disallowedTools", "model", "effort"})
PURPOSES: dict[str, Purpose] = {"opus": "best", "haiku": "fast"}
"""Short names of models as purposes of the provider of the session; `sonnet` and `inherit` are its own model."""

_OWN = ("", "inherit", "default", "sonnet")


class SdkAgent(msgspec.Struct, frozen=True):
    """One of them. tools: names of ours that it is left with, None for all. model: as the client says it."""

    description: str
    prompt: str
    tools: frozenset[str] | None = None
    gone: frozenset[str] = frozenset()
    model: str = ""
    effort: Effort | None = None


def read_agents(given: Any, where: str) -> tuple[dict[str, SdkAgent], list[str]]:
    """The agents by name, and a line on each thing that is not as it should be. where: what gave them."""
    if given is None:
        return {}, []
    if not isinstance(given, dict):
        return {}, [f"{where}: expected an object of agents; there are none"]
    agents: dict[str, SdkAgent] = {}
    told: list[str] = []
    for name, entry in given.items():
        at = f"{where}: agent {shorten(str(name))}"
        fault = _fault(name, entry)
        if fault:
            told.append(f"{at} is left out: {fault}")
            continue
        agents[name] = _agent(entry, at, told)
    return agents, told


def _fault(name: Any, entry: Any) -> str:
    """Why there can be no such agent, "" where there can."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        return f"its name has to have 1 to {MAX_NAME} characters that can be printed"
    if name == BUILTIN:
        return "the name is that of agents that have no other"
    if not isinstance(entry, dict):
        return "expected an object"
    for field in ("description", "prompt"):
        if not isinstance(entry.get(field), str) or not entry[field].strip():
            return f"{field}: expected a text"
    for field in ("tools", "disallowedTools"):
        listed = entry.get(field)
        if listed is not None and not (isinstance(listed, list) and all(isinstance(each, str) for each in listed)):
            return f"{field}: expected a list of names"
    if entry.get("model") is not None and not isinstance(entry["model"], str):
        return "model: expected a name"
    return ""


def _agent(entry: Mapping[str, Any], at: str, told: list[str]) -> SdkAgent:
    over = sorted(name for name, value in entry.items() if name not in TAKEN and value not in (None, [], False))
    if over:
        told.append(f"{at}: {', '.join(over)}: that has no effect here")
    listed = entry.get("tools")
    return SdkAgent(
        description=entry["description"],
        prompt=entry["prompt"],
        tools=None if listed is None or "*" in listed else _ours(listed, at, told),
        gone=frozenset(_named(entry.get("disallowedTools") or ())),
        model=entry.get("model") or "",
        effort=_effort(entry.get("effort"), at, told),
    )


def _ours(names: Iterable[str], at: str, told: list[str]) -> frozenset[str]:
    from remit.tools.registry import tool_effects

    unknown = [name for name in names if not ours_for(name, tool_effects())]
    if unknown:
        told.append(f"{at}: tools: there is no {', '.join(map(shorten, unknown))} for agents")
    return frozenset(_named(names))


def _named(names: Iterable[str]) -> set[str]:
    """The tools of ours for names of either kind. One with a specifier stands for the whole tool where it is gone, and
    for none where it is allowed: a list of tools is no rule."""
    return {ours for name in names for ours in FOREIGN_NAMES.get(name.partition("(")[0], (name.partition("(")[0],))}


def _effort(given: Any, at: str, told: list[str]) -> Effort | None:
    if given is None:
        return None
    known: dict[str, Effort] = {each: each for each in get_args(Effort)} | {"xhigh": "max"}
    if isinstance(given, str) and given in known:
        return known[given]
    told.append(f"{at}: effort: {shorten(str(given))} has no effect here")
    return None


def with_agents(
    spec: RunSpec,
    agents: Mapping[str, SdkAgent],
    config_dir: str,
    named: Callable[[str], str | None],
    tell: Callable[[str], None],
) -> RunSpec:
    """The spec with these beside the profiles of the user. named: a model of theirs as one of ours. tell: of a model
    that there is none of."""
    if not agents or TASK not in spec.ticks:
        return spec
    profiles, models = dict(spec.profiles), dict(spec.models)
    for name, agent in agents.items():
        try:
            model = _model(agent.model, spec, config_dir, named)
        except RemitError as problem:
            tell(f"agent {name}: {problem.what}; it has the model of the session")
            model = None
        if model is not None:
            models.setdefault(model.id, model)
        profiles[name] = AgentProfile(
            description=agent.description,
            base=agent.prompt,
            tools=_tools(name, agent, spec),
            model=model.id if model is not None else "",
            effort=agent.effort,
            where="agents",
        )
    return msgspec.structs.replace(spec, profiles=profiles, models=models)


def _tools(name: str, agent: SdkAgent, spec: RunSpec) -> ProfileTools:
    """Never more than the session has: what is not offered there stays so."""
    left = agent.tools if agent.tools is not None else frozenset(spec.ticks)
    loading: dict[str, Loading] = {tool: "eager" for tool in spec.ticks if tool in left - agent.gone}
    return ProfileTools(name=name, where="agents", default="disabled", overrides=loading)


def _model(word: str, spec: RunSpec, config_dir: str, named: Callable[[str], str | None]) -> ModelSpec | None:
    """None: that of the session. Raises RemitError."""
    from remit.config.models import purpose_model, resolve_models

    if word in _OWN:
        return None
    if word in PURPOSES:
        return purpose_model(PURPOSES[word], spec.model, config_dir) if spec.model else None
    model = named(word)
    return None if model is None else resolve_models([model], config_dir)[0][model]

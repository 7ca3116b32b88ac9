"""What a model would be told before a run has begun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.prompt import instructions_text, system_prompt
from remit.engine.state import State
from remit.engine.surroundings import environment_text
from remit.tools import registry
from remit.tools.contract import Tool
from remit.wiring.confine import SHELL, granted_hosts
from remit.wiring.offer import Offer, environment_of, load_approvals, load_rules, offer_tools
from remit.wiring.ports import SystemClock
from remit.wiring.shelving import shelved


class FirstRequest(msgspec.Struct, frozen=True):
    """system: the system prompt. instructions, environment: the messages before the prompt with what files say and with
    where and when the run works, "" where there is none. tools: name, description and schema of each, in their
    order."""

    system: str
    instructions: str
    environment: str
    tools: list[dict[str, Any]]


def first_request(spec: RunSpec, settings: Settings, environ: Mapping[str, str]) -> FirstRequest:
    """What stands before the prompt in the first request of a run. Raises Faults."""
    policy = load_rules(spec, settings, environ)
    offer = offer_tools(spec, policy, load_approvals(spec, settings))
    state = State(spec.limits)
    _, shelf = shelved(offer, state, state.apply)
    hosts = granted_hosts(spec, policy, offer).get(SHELL, ())
    said = instructions_text(spec.instructions) if spec.instructions else ""
    told = [msgspec.to_builtins(each) for each in shelf.specs]
    here = environment_of(spec, (), SystemClock().now())
    where = environment_text(here) if here is not None else ""
    return FirstRequest(system_prompt(spec, offer.tools, hosts), said, where, told)


def list_tools(spec: RunSpec, settings: Settings, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every tool with name, toolset, state `on`, `lazy` or `off`, reason, effects and schema."""
    policy = load_rules(spec, settings, environ)
    offer = offer_tools(spec, policy, load_approvals(spec, settings))
    state = State(spec.limits)
    offered, _ = shelved(offer, state, state.apply)
    offer = msgspec.structs.replace(offer, tools=offered)
    tools = {**registry.all_tools(), **offered}
    return [_listed(tool, offer, spec) for tool in tools.values()]


def _why_lazy(tool: Tool, spec: RunSpec) -> str:
    when = "once a result was cut" if tool.awaits else f"with tool_search, or by a call ({tool.bundle or tool.name})"
    if spec.profile is not None and spec.profile.loading(tool.name, tool.toolset) == "lazy":
        return f"loaded {when}: the profile {spec.profile.name} [{spec.profile.where}]"
    why = "the model may be a small one" if spec.defer_tools == "auto" else "defer_builtin_tools is always"
    return f"loaded {when}: {why}"


def _listed(tool: Tool, offer: Offer, spec: RunSpec) -> dict[str, Any]:
    if tool.name in offer.lazy:
        state, reason = "lazy", _why_lazy(tool, spec)
    elif tool.name in offer.tools:
        state = "on"
        tick = spec.ticks.get(tool.name)
        reason = f"{tick.decide} [{tick.where}]" if tick else "offered by need"
    else:
        state = "off"
        reason = offer.reasons().get(tool.name, "not ticked")
    return {
        "name": tool.name,
        "toolset": tool.toolset,
        "state": state,
        "reason": reason,
        "effects": sorted(effect.value for effect in tool.effects),
        "description": tool.spec().description,
        "schema": tool.schema(),
    }

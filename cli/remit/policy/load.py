"""All sources of a run's rules, compiled in their order of standing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from remit.base.calls import RuleRef
from remit.base.errors import Fault, Faults
from remit.base.resources import Effect
from remit.base.spec import SHELL_LINE, Hook, PolicySource, RunSpec, Tick
from remit.base.text import shorten
from remit.config.load import parse
from remit.policy.decide import Layer, RuleSet
from remit.policy.defaults import default_rules, floor_rules
from remit.policy.flags import compile_flags
from remit.policy.modes import in_mode, mode_named
from remit.policy.patterns import BadPattern, HostPattern, Place
from remit.policy.rule_files import compile_file
from remit.policy.rules import CHECK_TOOL, Rule, known_tool, tool_hint
from remit.policy.selectors import ExactCommand, HostSelector, Shape


def load_policy(
    spec: RunSpec,
    tool_effects: Mapping[str, frozenset[Effect]],
    *,
    home: str,
    own: Sequence[str] = (),
    mode: str = "",
) -> RuleSet:
    """The rule set of a run in a permission mode, that of the spec where `mode` is "".

    Raises Faults with every fault of every source.

    tool_effects: all tools there are; rules may name no other. home: what `~/` stands for.
    own: absolute directories where remit keeps its state and settings, if not at their usual places.
    """
    place = Place.of(spec.workspace, home)
    layers = [Layer("floor", floor_rules(place, own, ruling_files(spec)))]
    faults: list[Fault] = []
    for kind in ("user", "project"):
        layers += _files(spec.policies, kind, tool_effects, place, faults)
    # Of two flags about one call the denying one speaks, wherever it stands on the command line.
    denied, bad_denied = compile_flags("--deny", spec.deny, tool_effects, place)
    allowed, bad_allowed = compile_flags("--allow", spec.allow, tool_effects, place)
    asked, bad_asked = compile_flags("--ask", spec.ask, tool_effects, place)
    faults += bad_denied + bad_asked + bad_allowed
    layers.append(Layer("flag", tuple(denied + asked + allowed)))
    layers += _files(spec.policies, "policy", tool_effects, place, faults)
    layers.append(Layer("task", tuple(_task_rules(spec, tool_effects, faults))))
    layers.append(Layer("default", default_rules()))
    if faults:
        raise Faults(faults)
    rules = RuleSet([layer for layer in layers if layer.rules], place)
    return in_mode(rules, mode_named(mode or spec.mode), tool_effects)


def load_rules(
    source: PolicySource, tool_effects: Mapping[str, frozenset[Effect]], place: Place
) -> tuple[tuple[Rule, ...], list[Fault]]:
    """The rules of one file that have no fault, and every fault of the rest."""
    try:
        document = parse(source.text, source.path, "toml")
    except Faults as problem:
        return (), problem.faults
    rules, faults = compile_file(document, source.kind, tool_effects, place)
    return tuple(rules), faults


def _files(
    sources: Sequence[PolicySource],
    kind: str,
    tool_effects: Mapping[str, frozenset[Effect]],
    place: Place,
    faults: list[Fault],
) -> list[Layer]:
    layers: list[Layer] = []
    for source in sources:
        if source.kind == kind:
            rules, found = load_rules(source, tool_effects, place)
            faults += found
            layers.append(Layer(source.kind, rules))
    return layers


def ruling_files(spec: RunSpec) -> list[str]:
    """The files that set the limits of this run, by every absolute spelling."""
    named = [source.path for source in spec.policies]
    named += [spec.task, spec.approvals.path if spec.approvals else ""]
    named += [place.rpartition(":")[0] for place in dict.fromkeys(hook.where for hook in spec.hooks)]
    named += _programs(spec)
    # Names are from where the run was started, wherever it is resumed.
    start = spec.command.get("cwd", "")
    given = [os.path.abspath(os.path.join(start, path)) for path in named if path]
    return list(dict.fromkeys([*given, *(os.path.realpath(path) for path in given)]))


def _programs(spec: RunSpec) -> list[str]:
    """The files that the hooks of a run are made of, as far as their words name them: an agent that could write one
    would answer for it."""
    words = [word for hook in spec.hooks for word in _words(hook, spec.workspace)]
    paths = [os.path.join(spec.workspace, word) for word in dict.fromkeys(words)]
    return [path for path in paths if "\0" not in path and os.path.isfile(path)]


def _words(hook: Hook, workspace: str) -> list[str]:
    """The words of a hook, also of a line that a shell reads, as far as they are plain."""
    words = list(hook.argv)
    if hook.argv[:2] != SHELL_LINE:
        return words
    import shlex

    for word in hook.argv[2:]:
        line = re.sub(r"\$(CLAUDE_PROJECT_DIR\b|\{CLAUDE_PROJECT_DIR\})", lambda _: workspace, word)
        with suppress(ValueError):
            words += shlex.split(line)
    return words


# -- the task's ticks --------------------------------------------------------------------------


def _task_rules(spec: RunSpec, tool_effects: Mapping[str, frozenset[Effect]], faults: list[Fault]) -> list[Rule]:
    rules: list[Rule] = []
    for tool, tick in spec.ticks.items():
        where = tick.where or f"tools.{tool}"
        if known_tool(tool, tool_effects):
            rules += _tick_rules(tool, tick, where, tool_effects, faults)
        else:
            faults.append(Fault(f"unknown tool {shorten(tool)}", where, tool_hint(tool, tool_effects)))
    for command in spec.expect.checks:
        ref = RuleRef("task", spec.expect.checks_where or "expect.checks", "it is a check of the task")
        rules.append(Rule("auto", ref, tools=frozenset({CHECK_TOOL}), selector=ExactCommand(command)))
    return rules


def _tick_rules(
    tool: str, tick: Tick, where: str, tool_effects: Mapping[str, frozenset[Effect]], faults: list[Fault]
) -> list[Rule]:
    """A tick as rules: `deny` for all that the tool does, else for what lies in the workspace, and `auto` for
    the named hosts; every other host asks."""
    tools = frozenset({tool})
    ref = RuleRef("task", where, f"the task ticks {tool} as {tick.decide}")
    if tick.decide == "deny":
        return [Rule("deny", ref, tools)]
    hosts = _hosts(tool, tick, where, tool_effects, faults)
    rules: list[Rule] = []
    if hosts and (tick.decide == "auto" or Effect.EXECUTE in tool_effects[tool]):
        named = RuleRef("task", where, f"the task lets {tool} reach {', '.join(tick.hosts)}")
        rules.append(Rule("auto", named, tools, selector=HostSelector(hosts)))
    other = "a host that the task does not list" if tick.decide == "auto" else "every host"
    asked = RuleRef("task", where, f"the task has {tool} ask for {other}")
    rules.append(Rule("ask", asked, tools, selector=Shape(frozenset({"url", "host"}))))
    rules.append(Rule(tick.decide, ref, tools, selector=Shape(inside=True)))
    return rules


def _hosts(
    tool: str, tick: Tick, where: str, tool_effects: Mapping[str, frozenset[Effect]], faults: list[Fault]
) -> tuple[HostPattern, ...]:
    hosts: list[HostPattern] = []
    if tick.hosts and Effect.NETWORK not in tool_effects[tool]:
        faults.append(Fault(f"{tool} reaches no network, so it takes no hosts", where))
    for text in tick.hosts:
        try:
            hosts.append(HostPattern.compile(text))
        except BadPattern as problem:
            faults.append(Fault(f"host {shorten(text)} cannot be used: {problem}", where))
    return tuple(hosts)

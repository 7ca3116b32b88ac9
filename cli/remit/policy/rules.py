"""Rules, and of what calls they could speak at all."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping

import msgspec

from remit.base.calls import Decide, RuleRef
from remit.base.claude_names import named_here
from remit.base.resources import Effect, ResourceKind
from remit.config.load import did_you_mean
from remit.policy.selectors import SELECTED_KINDS, SELECTORS, CommandSelector, ExactCommand, HostSelector, Selector
from remit.policy.subjects import PATH_KINDS, Coverage, Subject

CHECK_TOOL = "check"
"""The tool that runs a task's checks. It is never offered, yet rules may name it."""

COMMAND_TOOLS = frozenset({"shell", CHECK_TOOL})
"""The tools that run commands, which may connect to hosts."""


class Rule(msgspec.Struct, frozen=True):
    """One compiled rule. None: no restriction. examples: how many it was tried with."""

    decide: Decide
    ref: RuleRef
    tools: frozenset[str] | None = None
    effects: frozenset[Effect] | None = None
    mode: str | None = None
    selector: Selector | None = None
    examples: int = 0

    def concerns(self, tool: str, effect: Effect, mode: str) -> bool:
        """Whether it is about such calls at all."""
        return (
            (self.tools is None or tool in self.tools)
            and (self.effects is None or effect in self.effects)
            and (self.mode is None or self.mode == mode)
        )

    def matches(self, subject: Subject) -> bool:
        """Whether it speaks for this resource. Raises ValueError as its selector does."""
        grants = self.decide == "auto"
        if subject.redirect:
            return self._matches_redirect(subject, grants=grants)
        if subject.resource.kind == "host" and grants and not self.opens_hosts:
            return False
        return self.selector is None or self.selector.matches(subject, grants=grants)

    @property
    def opens_hosts(self) -> bool:
        """Whether it lets commands connect to hosts. A command sends what it likes to where it may connect, so
        that takes a rule which names both the tool and the hosts."""
        return self.decide == "auto" and self.tools is not None and isinstance(self.selector, HostSelector)

    def _matches_redirect(self, subject: Subject, *, grants: bool) -> bool:
        """A rule about any command is about what its redirects touch too. Else the path counts, as in any
        other call."""
        executes = self.effects is None or Effect.EXECUTE in self.effects
        if executes and self.covers("command", True) == "all":
            return True
        if self.effects is not None and subject.resource.effect not in self.effects and not self._names(subject):
            return False
        return self.selector is None or self.selector.matches(subject, grants=grants)

    def _names(self, subject: Subject) -> bool:
        """Whether it is about the command as such, be it by its text or by `*`."""
        return isinstance(self.selector, CommandSelector | ExactCommand)

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        return "all" if self.selector is None else self.selector.covers(kind, inside)

    @property
    def literal(self) -> bool:
        return self.selector is not None and self.selector.literal


_KINDS_BY_EFFECT: dict[Effect, frozenset[ResourceKind]] = {
    Effect.NONE: frozenset(),
    Effect.STATE: frozenset({"state"}),
    Effect.READ: PATH_KINDS,
    Effect.WRITE: PATH_KINDS | {"artifact"},
    Effect.EXECUTE: frozenset({"command"}),
    Effect.NETWORK: frozenset({"url", "host"}),
    Effect.MESSAGE: frozenset({"topic"}),
    Effect.AGENT: frozenset({"agent"}),
}
"""What a call with an effect can name; an effect that is not here may be about anything."""

_KINDS_BY_TOOL: dict[str, frozenset[ResourceKind]] = {
    "write_artifact": frozenset({"artifact"}),
    **dict.fromkeys(COMMAND_TOOLS, frozenset[ResourceKind]({"command", "host"})),
}
"""Tools that name less than their effects would let them."""

_ANYTHING: frozenset[ResourceKind] = frozenset().union(*SELECTED_KINDS.values())

_OF_THE_WEB = frozenset({"host", "url"})


def kinds_touched(tool: str, effect: Effect) -> frozenset[ResourceKind]:
    """What calls of a tool can name for one of its effects."""
    return _KINDS_BY_EFFECT.get(effect, _ANYTHING) & _KINDS_BY_TOOL.get(tool, _ANYTHING)


def never_speaks(
    key: str,
    tools: Collection[str] | None,
    effects: Collection[Effect] | None,
    tool_effects: Mapping[str, frozenset[Effect]],
) -> tuple[str, str] | None:
    """Why no call could be what a rule is about, with a hint, or None. key: its selector or "". tools:
    known ones. None: every tool, every effect."""
    named = {tool: _effects_of(tool, tool_effects) for tool in tools} if tools is not None else {"": frozenset(Effect)}
    met = [(tool, effect) for tool, has in named.items() for effect in has if effects is None or effect in effects]
    who = ", ".join(sorted(named)) if tools is not None else "a call"
    if not met:
        seen = ", ".join(sorted(frozenset().union(*named.values())))
        return f"{who} never has the effect {', '.join(sorted(effects or ()))}", f"what there is: {seen}"
    kinds = frozenset[ResourceKind]().union(*(kinds_touched(tool, effect) for tool, effect in met))
    if not key or kinds & SELECTED_KINDS[key]:
        return None
    if effects is not None:
        who = f"{who} with the effect {', '.join(sorted(effects))}"
    possible = [each for each in SELECTORS if kinds & SELECTED_KINDS[each]]
    possible = [each for each in possible if (each in _OF_THE_WEB) == (key in _OF_THE_WEB)] or possible
    hint = f"did you mean `{possible[0]}`?" if possible else f"leave `{key}` out"
    return f"{who} has no {key}, so the rule would never speak", hint


def _effects_of(tool: str, tool_effects: Mapping[str, frozenset[Effect]]) -> frozenset[Effect]:
    # The check tool may be missing among the tools that are offered.
    return frozenset({Effect.EXECUTE, Effect.NETWORK}) if tool == CHECK_TOOL else tool_effects[tool]


def known_tool(name: str, known: Container[str]) -> bool:
    return name in known or name == CHECK_TOOL


def tool_hint(name: str, known: Container[str]) -> str:
    """What to write in place of an unknown tool's name."""
    if name == "*":
        return "leave `tools` out for every tool"
    if here := named_here(name, known):
        return here
    names = sorted(known) if isinstance(known, Iterable) else []
    near = did_you_mean(name, names)
    return near or (f"the tools are: {', '.join(names)}" if names else "")

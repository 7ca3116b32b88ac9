"""Modes of a session: each is a rule file that comes with remit, in force beside the session's own rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from remit.base.errors import Faults, UsageFault
from remit.base.resources import Effect
from remit.base.text import shorten
from remit.config.load import did_you_mean, parse
from remit.policy.decide import Layer, RuleSet, SourceName
from remit.policy.flags import compile_flags
from remit.policy.rule_files import compile_file
from remit.policy.rules import Rule

ModeName = Literal["default", "plan", "acceptEdits", "bypassPermissions", "dontAsk"]
BuildOrPlan = Literal["build", "plan"]

DEFAULT: ModeName = "default"
PLAN: ModeName = "plan"


class Mode(msgspec.Struct, frozen=True):
    """file: the rule file that comes with remit, "" for none. source: as what its rules stand. rules: what the key
    `mode` of other rules is held against. asks: whether a client is asked what no approvals file answers."""

    file: str = ""
    source: SourceName = "mode"
    rules: BuildOrPlan = "build"
    asks: bool = True


MODES: dict[ModeName, Mode] = {
    "default": Mode(),
    "plan": Mode("plan.toml", source="plan", rules="plan"),
    "acceptEdits": Mode("accept_edits.toml"),
    "bypassPermissions": Mode("bypass_permissions.toml"),
    "dontAsk": Mode("dont_ask.toml", asks=False),
}

_BY_WORD: dict[str, ModeName] = {"build": DEFAULT, **{name: name for name in MODES}}


def mode_named(word: str, where: str = "") -> ModeName:
    """The mode of a word; `build` is `default`. Raises UsageFault."""
    try:
        return _BY_WORD[word]
    except KeyError:
        hint = did_you_mean(word, _BY_WORD) or f"the modes are: {', '.join(_BY_WORD)}"
        raise UsageFault(f"there is no mode {shorten(word)}", where=where, hint=hint) from None


def in_mode(
    rules: RuleSet,
    mode: ModeName,
    tool_effects: Mapping[str, frozenset[Effect]],
    *,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    ask: Sequence[str] = (),
) -> RuleSet:
    """The rules of a session as they stand in a mode: another rule set.

    rules: in any mode. allow, deny, ask: further ones of the same standing as flags, written as these are.
    Raises Faults for one that cannot be read."""
    layers = [layer for layer in rules.layers if layer.source not in ("mode", "plan")]
    chosen = MODES[mode]
    denied, bad_denied = compile_flags("--deny", deny, tool_effects, rules.place)
    allowed, bad_allowed = compile_flags("--allow", allow, tool_effects, rules.place)
    asked, bad_asked = compile_flags("--ask", ask, tool_effects, rules.place)
    if bad_denied or bad_allowed or bad_asked:
        raise Faults([*bad_denied, *bad_allowed, *bad_asked])
    given = [rule for layer in layers if layer.source == "flag" for rule in layer.rules]
    added = [
        # Of the sources of one rank the first that speaks counts: denials, then what asks, then what allows.
        Layer("flag", (*denied, *(rule for rule in given if rule.decide == "deny"))),
        Layer("flag", (*asked, *(rule for rule in given if rule.decide != "deny"))),
        Layer("flag", tuple(allowed)),
        Layer(chosen.source, _rules_of(chosen, rules, tool_effects)),
    ]
    # Behind what always holds, before all else.
    split = next((at for at, layer in enumerate(layers) if layer.source in ("flag", "policy", "task", "default")), 0)
    rest = [layer for layer in layers[split:] if layer.source != "flag"]
    placed = [layer for layer in (*layers[:split], *added, *rest) if layer.rules]
    return RuleSet(placed, rules.place, chosen.rules)


def _rules_of(mode: Mode, rules: RuleSet, tool_effects: Mapping[str, frozenset[Effect]]) -> tuple[Rule, ...]:
    if not mode.file:
        return ()
    document = parse(rule_text(mode.file), mode.file, "toml")
    compiled, faults = compile_file(document, mode.source, tool_effects, rules.place)
    if faults:
        raise Faults(faults)
    return tuple(compiled)


@lru_cache(maxsize=8)
def rule_text(file: str) -> str:
    """A rule file that comes with remit."""
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as text:
        return text.read()

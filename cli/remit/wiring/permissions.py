"""Permissions that come with the answer of a client: further rules and another mode, for this session."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from remit.base.errors import RemitError
from remit.engine.client import ControlFault
from remit.policy.modes import ModeName
from remit.wiring.ruling import Behavior, Ruling

MODES: tuple[str, ...] = get_args(ModeName)
BEHAVIORS: tuple[str, ...] = get_args(Behavior)

SESSION = "session"
DESTINATIONS = (SESSION, "localSettings", "projectSettings", "userSettings")


class Permissions:
    """may_bypass: whether the session was started so that a client may lift all asks. told: of what is passed over.
    on_mode: told of each mode."""

    def __init__(
        self,
        ruling: Ruling,
        *,
        may_bypass: bool,
        told: Callable[[str], None],
        on_mode: Callable[[ModeName], None],
    ) -> None:
        self._ruling = ruling
        self._may_bypass = may_bypass
        self._told = told
        self._on_mode = on_mode

    def set_mode(self, wanted: Any) -> ModeName:
        """Raises ControlFault."""
        mode = checked_mode(wanted, may_bypass=self._may_bypass)
        self._ruling.change(mode)
        self._on_mode(mode)
        return mode

    def update(self, updates: Sequence[Any]) -> None:
        """`updatedPermissions` of an answer. What cannot be done is told and passed over."""
        for each in updates:
            try:
                self._update(each if isinstance(each, dict) else {})
            except (ControlFault, RemitError) as problem:
                self._told(f"a permission update is passed over: {problem}")

    def _update(self, update: Mapping[str, Any]) -> None:
        kind, place = str(update.get("type")), update.get("destination") or SESSION
        if place not in DESTINATIONS:
            raise ControlFault(f"{kind}: there is no destination {place!r}; there are {', '.join(DESTINATIONS)}")
        if kind in ("replaceRules", "removeRules") and place != SESSION:
            # Those who keep rules elsewhere are people, in files that nothing here writes.
            raise ControlFault(f"{kind}: the rules of {place} are not this session's to change; remove them by hand")
        match kind:
            case "setMode":
                self.set_mode(update.get("mode"))
            case "addRules" | "replaceRules" | "removeRules":
                self._change_rules(kind, update)
            case "addDirectories" | "removeDirectories":
                raise ControlFault(f"{kind}: directories are named at the start, with --add-dir")
            case _:
                raise ControlFault(f"{kind} is not done here")
        if place != SESSION:
            self._told(f"{kind}: it holds for this session only: no file is written for {place}{_kept(update)}")

    def _change_rules(self, kind: str, update: Mapping[str, Any]) -> None:
        behavior, given = update.get("behavior"), update.get("rules")
        if behavior not in BEHAVIORS or not isinstance(given, list):
            raise ControlFault(f"{kind} needs rules, and a behavior of {', '.join(BEHAVIORS)}")
        rules = [_rule(each) for each in given]
        had = self._ruling.rules(behavior)
        if kind == "addRules":
            rules = [*had, *rules]
        elif kind == "removeRules":
            rules = [each for each in had if each not in rules]
        self._ruling.rewrite(behavior, rules)


def _kept(update: Mapping[str, Any]) -> str:
    """How people keep what a client allows."""
    flag = {"allow": "--allow", "deny": "--deny"}.get(str(update.get("behavior")))
    if flag is None or update.get("type") != "addRules":
        return ""
    return "; to keep it start with " + " ".join(f"{flag} {shlex.quote(_rule(each))}" for each in update["rules"])


def checked_mode(wanted: Any, *, may_bypass: bool) -> ModeName:
    """Raises ControlFault."""
    if wanted not in MODES:
        raise ControlFault(f"Invalid permission mode: {wanted!r}; there are {', '.join(MODES)}", "invalid_mode")
    if wanted == "bypassPermissions" and not may_bypass:
        what = "Cannot set permission mode to bypassPermissions: the session was not launched with it"
        raise ControlFault(what, "bypass_not_launched")
    mode: ModeName = wanted
    return mode


def _rule(given: Any) -> str:
    match given:
        case {"toolName": str(tool), "ruleContent": str(content)} if content:
            return f"{tool}({content})"
        case {"toolName": str(tool)}:
            return tool
        case _:
            raise ControlFault("a rule needs a toolName")

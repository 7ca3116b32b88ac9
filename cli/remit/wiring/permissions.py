"""Permissions that come with the answer of a client: further rules and another mode, for this session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from remit.base.errors import RemitError
from remit.engine.client import ControlFault
from remit.policy.modes import ModeName
from remit.wiring.ruling import Ruling

MODES: tuple[str, ...] = get_args(ModeName)


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
        kind, behavior = update.get("type"), update.get("behavior")
        if kind == "setMode":
            self.set_mode(update.get("mode"))
        elif kind == "addRules" and behavior in ("allow", "deny"):
            rules = tuple(_rule(each) for each in update.get("rules") or ())
            self._ruling.change(allow=rules if behavior == "allow" else (), deny=rules if behavior == "deny" else ())
        else:
            raise ControlFault(f"{kind} {behavior or ''}".strip() + " is not done here")
        if update.get("destination") not in (None, "session"):
            self._told(f"it holds for this session only: no file is written for {update.get('destination')}")


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

"""The rule set of a session, which changes with its mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from remit.base.events import Init
from remit.base.ports import Policy
from remit.base.records import RulesChanged
from remit.base.resources import Effect
from remit.engine.client import Control, ControlFault, Reply
from remit.engine.judging import Gate
from remit.engine.recorder import Recorder
from remit.policy.decide import RuleSet
from remit.policy.modes import MODES, ModeName, in_mode, mode_named

Behavior = Literal["allow", "deny", "ask"]


class Ruling:
    """Changes the rules for the calls that come after. rules: of the session, in any mode. swapped: told of each new
    rule set."""

    def __init__(
        self,
        rules: RuleSet,
        effects: Mapping[str, frozenset[Effect]],
        gate: Gate,
        recorder: Recorder,
        init: Init,
        swapped: Callable[[Policy], None],
    ) -> None:
        self._rules = rules
        self._effects = effects
        self._gate = gate
        self._recorder = recorder
        self._init = init
        self._swapped = swapped
        self._hold()

    @property
    def mode(self) -> ModeName:
        return mode_named(self._recorder.state.mode)

    def change(self, mode: ModeName, who: str = "client") -> None:
        """A new, numbered, journaled rule set, in another mode."""
        self._become(msgspec.structs.replace(self._last, mode=mode, who=who))

    def rules(self, behavior: Behavior) -> tuple[str, ...]:
        """The further rules of the session that say so, as flags are written."""
        found: tuple[str, ...] = getattr(self._last, behavior)
        return found

    def rewrite(self, behavior: Behavior, rules: Iterable[str]) -> None:
        """Another rule set, in which these are all further rules that say so. Raises Faults for one that cannot be
        read; then nothing has changed."""
        told: dict[str, Any] = {behavior: tuple(dict.fromkeys(rules))}
        self._become(msgspec.structs.replace(self._last, who="client", **told))

    @property
    def _last(self) -> RulesChanged:
        return self._recorder.state.rules or RulesChanged(1, self.mode)

    def _become(self, changed: RulesChanged) -> None:
        last = self._last
        if msgspec.structs.replace(changed, who=last.who) == last:
            return
        changed = msgspec.structs.replace(changed, number=last.number + 1)
        self._set(changed)
        self._recorder.rule(changed)

    def controls(self) -> dict[str, Control]:
        """The requests of a client that change rules."""

        async def set_mode(fields: Mapping[str, object]) -> Reply:
            word = str(fields.get("mode", ""))
            if word not in MODES:
                raise ControlFault(f"there is no permission mode {word!r}; the modes are {', '.join(MODES)}")
            self.change(mode_named(word))
            return {"mode": word}

        return {"set_permission_mode": set_mode}

    def _hold(self) -> None:
        """What the state says holds: a session that is taken up goes on in its mode."""
        self._set(self._last)

    def _set(self, changed: RulesChanged) -> None:
        mode = mode_named(changed.mode)
        further = {"allow": changed.allow, "deny": changed.deny, "ask": changed.ask}
        policy = in_mode(self._rules, mode, self._effects, **further)
        self._gate.policy, self._gate.asks = policy, MODES[mode].asks
        self._init.permissionMode = mode
        self._swapped(policy)

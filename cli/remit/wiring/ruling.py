"""The rule set of a session, which changes with its mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from remit.base.events import Init
from remit.base.ports import Policy
from remit.base.records import RulesChanged
from remit.base.resources import Effect
from remit.engine.client import Control, ControlFault, Reply
from remit.engine.judging import Gate
from remit.engine.recorder import Recorder
from remit.policy.decide import RuleSet
from remit.policy.modes import MODES, ModeName, in_mode, mode_named


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

    def change(
        self, mode: ModeName | None = None, *, allow: Sequence[str] = (), deny: Sequence[str] = (), who: str = "client"
    ) -> None:
        """A new, numbered, journaled rule set. mode None: as it is. allow, deny: further rules, as flags are written.
        Raises Faults for one that cannot be read; then nothing has changed."""
        last = self._recorder.state.rules or RulesChanged(1, self.mode)
        changed = RulesChanged(
            last.number + 1,
            mode or self.mode,
            tuple(dict.fromkeys((*last.allow, *allow))),
            tuple(dict.fromkeys((*last.deny, *deny))),
            who,
        )
        if (changed.mode, changed.allow, changed.deny) == (last.mode, last.allow, last.deny):
            return
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
        self._set(self._recorder.state.rules or RulesChanged(1, self.mode))

    def _set(self, changed: RulesChanged) -> None:
        mode = mode_named(changed.mode)
        policy = in_mode(self._rules, mode, self._effects, allow=changed.allow, deny=changed.deny)
        self._gate.policy, self._gate.asks = policy, MODES[mode].asks
        self._init.permissionMode = mode
        self._swapped(policy)

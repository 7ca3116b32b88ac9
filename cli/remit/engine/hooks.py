"""Those who have a word in the steps of a run, heard one after another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.ports import Hooks, HookWord

HOOK = "hook"
"""Source of a rule that a hook laid down, and reason of a message that one put in."""

STOP_HOOK = "stop_hook"
"""Reason of a message by which a hook has the model go on."""

MAX_STOP_HOOKS = 20
"""How often in one prompt hooks may have the model go on."""

SILENT = HookWord()

_STRICTNESS = {"": 0, "allow": 1, "ask": 2, "deny": 3}


def joined(first: HookWord, then: HookWord) -> HookWord:
    """Both words as one: the stricter decision with its reason, the later arguments, all texts."""
    stricter = then if _STRICTNESS[then.decide] > _STRICTNESS[first.decide] else first
    return HookWord(
        decide=stricter.decide,
        message=stricter.message or first.message or then.message,
        arguments=first.arguments if then.arguments is None else then.arguments,
        context="\n".join(filter(None, (first.context, then.context))),
        stop=then.stop if first.stop is None else first.stop,
        who=stricter.who or first.who or then.who,
    )


class HookList:
    """base.ports.Hooks of several: each hears what those before it made of the step, until one refuses or stops it."""

    def __init__(self) -> None:
        self._hooks: list[Hooks] = []

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def add(self, hooks: Hooks) -> None:
        self._hooks.append(hooks)

    async def before_call(self, call: Call) -> HookWord:
        async def ask(hooks: Hooks, word: HookWord) -> HookWord:
            changed = call if word.arguments is None else msgspec.structs.replace(call, arguments=word.arguments)
            return await hooks.before_call(changed)

        return await self._heard(ask)

    async def after_call(self, call: Call, outcome: Outcome, content: str, seconds: float) -> HookWord:
        return await self._heard(lambda hooks, _: hooks.after_call(call, outcome, content, seconds))

    async def on_prompt(self, text: str) -> HookWord:
        return await self._heard(lambda hooks, _: hooks.on_prompt(text))

    async def on_stop(self, text: str, again: bool) -> HookWord:
        return await self._heard(lambda hooks, _: hooks.on_stop(text, again))

    async def _heard(self, ask: Callable[[Hooks, HookWord], Awaitable[HookWord]]) -> HookWord:
        word = SILENT
        for hooks in self._hooks:
            word = joined(word, await ask(hooks, word))
            if word.decide == "deny" or word.stop is not None:
                break
        return word

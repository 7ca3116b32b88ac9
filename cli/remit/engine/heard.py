"""What hooks say of the calls of one turn, and what becomes of it once the turn is over."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from typing import Any

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.errors import Refused
from remit.base.events import Notice
from remit.base.hints import fitting_hints
from remit.base.ports import HookWord
from remit.base.records import UserSaid
from remit.engine.hooks import HOOK, SILENT, HookList
from remit.engine.recorder import Recorder


class Heard:
    """tools: what the model is offered; of other calls hooks hear nothing."""

    def __init__(self, tools: Container[str], recorder: Recorder) -> None:
        self._tools = tools
        self._recorder = recorder
        self.hooks = HookList()
        self._told: list[str] = []
        self._halt: str | None = None

    def begin(self) -> None:
        """A turn begins."""
        self._told, self._halt = [], None

    async def hear(self, calls: Sequence[Call]) -> Sequence[HookWord]:
        """What hooks say of these calls, all asked at once. Of a tool that is not offered they hear nothing."""
        if not self.hooks:
            return [SILENT] * len(calls)
        words = await asyncio.gather(*(self._hear_one(call) for call in calls))
        for word in words:
            self._heed(word)
        return words

    async def _hear_one(self, call: Call) -> HookWord:
        if call.tool not in self._tools:
            return SILENT
        word = await self.hooks.before_call(call)
        if word.stop is None or word.decide == "deny":
            return word
        # What ends the prompt ends it before the call.
        message = f"Execution stopped by a hook before the call: {word.stop or 'it gave no reason'}"
        return msgspec.structs.replace(word, decide="deny", message=message)

    async def asked(self, calls: Sequence[Call]) -> None:
        """Somebody is to be asked about these calls."""
        for call in calls if self.hooks else ():
            self._heed(await self.hooks.on_asked(call))

    def _heed(self, word: HookWord) -> None:
        """Keep what is to be told to the model, or to end the prompt, once the turn is over."""
        self._told += [word.context] if word.context else []
        self._halt = word.stop if self._halt is None else self._halt

    async def after(self, call: Call, outcome: Outcome, seconds: float) -> Outcome:
        """The outcome, with what hooks put in its place."""
        if not self.hooks:
            return outcome
        word = await self.hooks.after_call(call, outcome, outcome.for_model(), seconds)
        self._heed(word)
        self._told += [word.message] if word.decide == "deny" and word.message else []
        return outcome if word.output is None else self._replaced(call, outcome, word.output)

    def _replaced(self, call: Call, outcome: Outcome, output: Any) -> Outcome:
        from remit.base.hook_outputs import replaced  # only runs with such a hook pay for it

        changed = replaced(call.tool, outcome, output) if outcome.ok else None
        if changed is None:
            text = f"the result of {call.id} stays: what a hook puts in its place has not the shape of such results"
            self._recorder.emit(Notice(kind="hook", text=text))
        return changed or outcome

    def fitted(self, outcome: Outcome) -> Outcome:
        """The outcome with hints at tools that are there."""
        if outcome.error is None:
            return outcome
        error = msgspec.structs.replace(outcome.error, message=fitting_hints(outcome.error.message, self._tools))
        return msgspec.structs.replace(outcome, error=error)

    def tell(self) -> None:
        """At the end of a turn: what hooks add for the model. Raises Refused when one of them ends the prompt."""
        if self._told:
            self._recorder.say(UserSaid("\n".join(self._told), True, HOOK, joined=True))
        stop, self._told, self._halt = self._halt, [], None
        if stop is not None:
            raise hook_stop(stop)


def hook_stop(reason: str) -> Refused:
    """A hook ends the prompt."""
    return Refused(f"a hook ended the prompt: {reason or 'it gave no reason'}", kind="hook_stopped")

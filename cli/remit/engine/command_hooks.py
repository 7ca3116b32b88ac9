"""Hooks that are commands of the user: told of a step in JSON on standard input, and heard.

A hook that fails closes: the call or the prompt is refused; after a call and at the end the prompt ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.errors import Failure
from remit.base.events import HookStarted, Notice
from remit.base.ports import Finished, HookWord, Names
from remit.base.records import HookRan
from remit.base.spec import Hook, HookEvent
from remit.base.text import clip
from remit.engine.answer import wire_input
from remit.engine.hook_answers import read_answer
from remit.engine.hooks import PROMPT, REFUSABLE, SILENT, Facts
from remit.engine.narrate import hook_name
from remit.engine.recorder import Recorder

KEPT_BYTES = 4000
"""Of each stream of a hook, in the journal."""

Runner = Callable[[Hook, bytes], Awaitable[Finished]]
"""Runs the command of a hook with these bytes on standard input. Raises Failure where it cannot be started."""


class CommandHook:
    """base.ports.Hooks of one hook. names: what it is told that tools are called."""

    def __init__(
        self, hook: Hook, run: Runner, recorder: Recorder, facts: Facts, new_id: Callable[[], str], names: Names
    ) -> None:
        self._hook = hook
        self._names = names
        self._run = run
        self._recorder = recorder
        self._facts = facts
        self._new_id = new_id

    async def before_call(self, call: Call) -> HookWord:
        word = await self._of_call("PreToolUse", call, {})
        if word.arguments is None:
            return word
        taken = self._names.taken(call.tool, msgspec.json.decode(word.arguments))
        return msgspec.structs.replace(word, arguments=msgspec.json.encode(taken).decode())

    async def after_call(self, call: Call, outcome: Outcome, content: str, seconds: float) -> HookWord:
        if outcome.error is not None:
            fields = {"error": outcome.error.message, "is_interrupt": False}
            return await self._of_call("PostToolUseFailure", call, fields)
        fields = {"tool_response": self._facts.responded(call, outcome, content)}
        return await self._of_call("PostToolUse", call, {**fields, "duration_ms": round(seconds * 1000)})

    async def on_prompt(self, text: str) -> HookWord:
        return await self._ask("UserPromptSubmit", {"prompt": text})

    async def on_stop(self, text: str, again: bool) -> HookWord:
        return await self._ask("Stop", {"stop_hook_active": again, "last_assistant_message": text})

    async def on_asked(self, call: Call) -> HookWord:
        message = f"a permission is needed to use {self._names.tool(call.tool)}"
        return await self.on_step("Notification", {"message": message, "notification_type": PROMPT}, PROMPT)

    async def on_step(self, event: HookEvent, fields: Mapping[str, Any], kind: str = "") -> HookWord:
        return await self._ask(event, fields) if self._hook.fits(kind) else SILENT

    def for_agent(self, agent_id: str, agent_type: str) -> CommandHook:
        facts = msgspec.structs.replace(self._facts, agent_id=agent_id, agent_type=agent_type)
        return CommandHook(self._hook, self._run, self._recorder, facts, self._new_id, self._names)

    async def _of_call(self, event: HookEvent, call: Call, fields: Mapping[str, Any]) -> HookWord:
        if not self._hook.concerns(call.tool):
            return SILENT
        given = self._names.shown(call.tool, wire_input(call.arguments))
        told = {"tool_name": self._names.tool(call.tool, wire_input(call.arguments)), "tool_input": given}
        told |= {"tool_use_id": call.id}
        return await self._ask(event, {**told, **fields}, call)

    async def _ask(self, event: HookEvent, fields: Mapping[str, Any], call: Call | None = None) -> HookWord:
        hook, recorder = self._hook, self._recorder
        if event != hook.event:
            return SILENT
        tool, call_id = (call.tool, call.id) if call is not None else ("", "")
        hook_id = self._new_id()
        name = hook_name(event, tool)
        last = event == "SessionEnd"
        if not last:
            recorder.emit(HookStarted(hook_id=hook_id, hook_name=name, hook_event=event, where=hook.where))
        began = recorder.clock.monotonic()
        finished = Finished(exit_code=None)
        try:
            finished = await self._run(hook, msgspec.json.encode({**self._facts.told(event), **fields}) + b"\n")
            word, failed = read_answer(event, finished, hook.seconds), False
        except Failure as failure:
            word, failed = self._closed(event, f"{name} hook error: the hook failed: {failure.message}"), True
        word = msgspec.structs.replace(word, who=hook.where)
        for text in () if last else word.said:
            recorder.emit(Notice(kind="hook", text=text))
        if last:
            # The run is over: its last record and its last line are those of its result.
            return word
        recorder.hook(
            HookRan(
                id=hook_id,
                event=event,
                tool=tool,
                call=call_id,
                where=hook.where,
                outcome="failed" if failed else _outcome(word),
                reason=word.message if word.stop is None else word.stop,
                exit_code=finished.exit_code,
                stdout=_kept(finished.stdout),
                stderr=_kept(finished.stderr),
                seconds=round(recorder.clock.monotonic() - began, 6),
            )
        )
        return word

    def _closed(self, event: HookEvent, why: str) -> HookWord:
        """What a hook that failed says: a step that can be refused is; otherwise nothing more happens unheard."""
        if event in REFUSABLE:
            return HookWord("deny", why)
        return HookWord(stop=why)


def _outcome(word: HookWord) -> Literal["silent", "allow", "ask", "deny", "stop"]:
    if word.stop is not None:
        return "stop"
    return word.decide or "silent"


def _kept(stream: bytes) -> str:
    return clip(stream.decode("utf-8", "replace"), KEPT_BYTES)[0]

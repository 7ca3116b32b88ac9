"""Those who have a word in the steps of a run, heard one after another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.ports import Hooks, HookWord, Response
from remit.base.spec import HookEvent

HOOK = "hook"
"""Source of a rule that a hook laid down, and reason of a message that one put in."""

STOP_HOOK = "stop_hook"
"""Reason of a message by which a hook has the model go on."""

MAX_STOP_HOOKS = 20
"""How often in one prompt hooks may have the model go on."""

PROMPT = "permission_prompt"
"""Kind of a notification that somebody is asked about a call."""

SILENT = HookWord()

REFUSABLE: frozenset[HookEvent] = frozenset(
    {"SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart", "PreCompact"}
)
"""Steps that do not happen where a hook says so, or gives no answer."""

_STRICTNESS = {"": 0, "allow": 1, "ask": 2, "deny": 3}


def _data(agent_id: str, call: Call, outcome: Outcome, content: str) -> Any:
    return content if outcome.data is None else outcome.data


class Facts(msgspec.Struct, frozen=True):
    """What every hook is told. mode: the permission mode now. agent_id, agent_type: of the agent whose step it is.
    response: how results are told."""

    session_id: str
    transcript_path: str
    cwd: str
    mode: Callable[[], str]
    agent_id: str = ""
    agent_type: str = ""
    response: Response = _data

    def responded(self, call: Call, outcome: Outcome, content: str) -> Any:
        """`tool_response`"""
        return self.response(self.agent_id, call, outcome, content)

    def told(self, event: HookEvent) -> dict[str, Any]:
        told = {
            "session_id": self.session_id,
            "transcript_path": self.transcript_path,
            "cwd": self.cwd,
            "permission_mode": self.mode(),
            "hook_event_name": event,
        }
        return {**told, "agent_id": self.agent_id, "agent_type": self.agent_type} if self.agent_id else told


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
        output=first.output if then.output is None else then.output,
        said=(*first.said, *then.said),
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

    async def on_asked(self, call: Call) -> HookWord:
        return await self._heard(lambda hooks, _: hooks.on_asked(call))

    async def on_step(self, event: HookEvent, fields: Mapping[str, Any], kind: str = "") -> HookWord:
        return await self._heard(lambda hooks, _: hooks.on_step(event, fields, kind))

    def for_agent(self, agent_id: str, agent_type: str) -> HookList:
        theirs = HookList()
        for hooks in self._hooks:
            theirs.add(hooks.for_agent(agent_id, agent_type))
        return theirs

    async def _heard(self, ask: Callable[[Hooks, HookWord], Awaitable[HookWord]]) -> HookWord:
        word = SILENT
        for hooks in self._hooks:
            word = joined(word, await ask(hooks, word))
            if word.decide == "deny" or word.stop is not None:
                break
        return word

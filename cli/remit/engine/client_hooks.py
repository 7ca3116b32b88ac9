"""Hooks that a client program registers, and answers over the control protocol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.ports import HookWord
from remit.base.spec import HookEvent
from remit.engine.answer import wire_input
from remit.engine.client import Client, ControlFault, NoAnswer, Reply
from remit.engine.hooks import PROMPT, SILENT, Facts, joined

HOOK_SECONDS = 60.0
MAX_PATTERN = 1000
UNREFUSABLE: frozenset[HookEvent] = frozenset({"Stop", "SubagentStop", "Notification", "SessionEnd"})


class Matcher(msgspec.Struct, frozen=True):
    """Callbacks for the tools whose name the pattern matches whole; None: for all. seconds: how long each is
    waited for."""

    pattern: re.Pattern[str] | None
    callbacks: tuple[str, ...]
    seconds: float

    def fits(self, tool: str) -> bool:
        return self.pattern is None or self.pattern.fullmatch(tool) is not None


def read_matchers(hooks: Any) -> dict[str, list[Matcher]]:
    """`hooks` of an initialize request, by event; events that never come here are kept and never asked. Raises
    ControlFault."""
    if hooks is None:
        return {}
    if not isinstance(hooks, dict):
        raise ControlFault("hooks: expected an object of events")
    return {str(event): [_matcher(event, each) for each in entries or ()] for event, entries in hooks.items()}


def never_heard(matchers: Mapping[str, Sequence[Matcher]]) -> list[str]:
    """Events of callbacks that nothing here ever tells of."""
    return sorted(event for event, found in matchers.items() if found and event not in get_args(HookEvent))


def _matcher(event: Any, entry: Any) -> Matcher:
    match entry:
        case {"hookCallbackIds": [*ids]}:
            seconds = entry.get("timeout")
            return Matcher(
                _pattern(event, entry.get("matcher")),
                tuple(str(each) for each in ids),
                float(seconds) if isinstance(seconds, int | float) and seconds > 0 else HOOK_SECONDS,
            )
        case _:
            raise ControlFault(f"hooks.{event}: an entry needs hookCallbackIds")


def _pattern(event: Any, matcher: Any) -> re.Pattern[str] | None:
    if matcher in (None, "", "*"):
        return None
    if not isinstance(matcher, str) or len(matcher) > MAX_PATTERN:
        raise ControlFault(f"hooks.{event}: a matcher is a pattern of at most {MAX_PATTERN} characters")
    try:
        return re.compile(matcher)
    except re.error as problem:
        raise ControlFault(f"hooks.{event}: the matcher {matcher!r} is no pattern: {problem}") from None


class ClientHooks:
    """base.ports.Hooks by the callbacks of a client. One that does not answer, or with an error, refuses."""

    def __init__(self, client: Client, matchers: Mapping[str, Sequence[Matcher]], facts: Facts) -> None:
        self._client = client
        self.matchers = matchers
        self._facts = facts

    async def before_call(self, call: Call) -> HookWord:
        names = self._client.names
        tool = names.tool(call.tool)
        fields = {
            "tool_name": tool,
            "tool_input": names.shown(call.tool, wire_input(call.arguments)),
            "tool_use_id": call.id,
        }
        word = await self._ask("PreToolUse", fields, tool, call.id, lambda reply: self._before(call, reply))
        if word.decide == "deny":
            return msgspec.structs.replace(word, message=f"PreToolUse:{tool} hook error: {word.message}")
        return word

    async def after_call(self, call: Call, outcome: Outcome, content: str, seconds: float) -> HookWord:
        names = self._client.names
        tool = names.tool(call.tool)
        fields: Reply = {
            "tool_name": tool,
            "tool_input": names.shown(call.tool, wire_input(call.arguments)),
            "tool_use_id": call.id,
        }
        if outcome.error is not None:
            fields |= {"error": outcome.error.message, "is_interrupt": False}
            return await self._ask("PostToolUseFailure", fields, tool, call.id, _word)
        fields |= {"tool_response": content if outcome.data is None else outcome.data}
        fields |= {"duration_ms": round(seconds * 1000)}
        return await self._ask("PostToolUse", fields, tool, call.id, _word)

    async def on_prompt(self, text: str) -> HookWord:
        return await self._ask("UserPromptSubmit", {"prompt": text}, "", "", _word)

    async def on_stop(self, text: str, again: bool) -> HookWord:
        fields = {
            "stop_hook_active": again,
            "last_assistant_message": text,
            "background_tasks": [],
            "session_crons": [],
        }
        return await self._ask("Stop", fields, "", "", _word)

    async def on_asked(self, call: Call) -> HookWord:
        message = f"Claude needs your permission to use {self._client.names.tool(call.tool)}"
        return await self.on_step("Notification", {"message": message, "notification_type": PROMPT}, PROMPT)

    async def on_step(self, event: HookEvent, fields: Mapping[str, Any], kind: str = "") -> HookWord:
        return await self._ask(event, dict(fields), kind, "", _word)

    def for_agent(self, agent_id: str, agent_type: str) -> ClientHooks:
        facts = msgspec.structs.replace(self._facts, agent_id=agent_id, agent_type=agent_type)
        return ClientHooks(self._client, self.matchers, facts)

    def _before(self, call: Call, reply: Reply) -> HookWord:
        word, specific = _word(reply), reply.get("hookSpecificOutput")
        if not isinstance(specific, dict):
            return word
        decide = specific.get("permissionDecision")
        if decide in ("allow", "ask", "deny"):
            reason = str(specific.get("permissionDecisionReason") or "it gave no reason")
            word = joined(word, HookWord(decide, reason, who="client"))
        changed = specific.get("updatedInput")
        if isinstance(changed, dict):
            word = msgspec.structs.replace(word, arguments=self._client.changed(call, changed))
        return word

    async def _ask(
        self, event: HookEvent, fields: Reply, tool: str, call_id: str, read: Callable[[Reply], HookWord]
    ) -> HookWord:
        """All callbacks at once; their words in the order in which they were registered."""
        wanted = list(self._wanted(event, tool))
        if not wanted:
            return SILENT
        told = {**self._facts.told(event), **fields}
        words = await asyncio.gather(*(self._ask_one(event, each, told, call_id, read) for each in wanted))
        word = SILENT
        for each in words:
            word = joined(word, each)
        return word

    def _wanted(self, event: HookEvent, tool: str) -> Iterator[tuple[str, float]]:
        for matcher in self.matchers.get(event, ()):
            if matcher.fits(tool):
                yield from ((callback, matcher.seconds) for callback in matcher.callbacks)

    async def _ask_one(
        self,
        event: HookEvent,
        wanted: tuple[str, float],
        told: Reply,
        call_id: str,
        read: Callable[[Reply], HookWord],
    ) -> HookWord:
        callback, seconds = wanted
        fields = {"callback_id": callback, "input": told, "tool_use_id": call_id or None}
        try:
            return read(await self._client.ask("hook_callback", fields, seconds))
        except NoAnswer as problem:
            if event in UNREFUSABLE:
                # There is nothing left to refuse, and to go on for ever would be no safer.
                return SILENT
            return HookWord("deny", f"the hook failed: {problem}", who="client")


def _word(reply: Reply) -> HookWord:
    """What every event may be answered with."""
    specific = reply.get("hookSpecificOutput")
    context = specific.get("additionalContext") if isinstance(specific, dict) else None
    stop = str(reply.get("stopReason") or "") if reply.get("continue") is False else None
    decide: Literal["", "allow", "deny"] = ""
    if reply.get("decision") == "block":
        decide = "deny"
    elif reply.get("decision") == "approve":
        decide = "allow"
    return HookWord(
        decide=decide,
        message=str(reply.get("reason") or "it gave no reason") if decide == "deny" else "",
        context=context if isinstance(context, str) else "",
        stop=stop,
        who="client",
    )

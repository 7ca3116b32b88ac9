"""Hooks that a client program registers, and answers over the control protocol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.claude_names import with_aliases
from remit.base.errors import Failure
from remit.base.events import Event, HookResponse, HookStarted, Notice
from remit.base.ports import HookWord
from remit.base.spec import HookEvent
from remit.base.text import clip
from remit.engine.answer import wire_input
from remit.engine.client import Client, ControlFault, NoAnswer, Reply
from remit.engine.hook_answers import read_reply
from remit.engine.hooks import PROMPT, SILENT, Facts, joined
from remit.engine.narrate import hook_name

HOOK_SECONDS = 60.0
MAX_PATTERN = 1000
KEPT_BYTES = 4000
"""Of the answer of a callback, in the stream."""

CALLBACK = "client"
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
        fields = self._told(call)
        word = self._changed(call, await self._ask("PreToolUse", fields, call=call))
        if word.decide == "deny":
            return msgspec.structs.replace(word, message=f"PreToolUse:{fields['tool_name']} hook error: {word.message}")
        return word

    async def after_call(self, call: Call, outcome: Outcome, content: str, seconds: float) -> HookWord:
        fields = self._told(call)
        if outcome.error is not None:
            fields |= {"error": outcome.error.message, "is_interrupt": False}
            return await self._ask("PostToolUseFailure", fields, call=call)
        fields |= {"tool_response": self._facts.responded(call, outcome, content)}
        fields |= {"duration_ms": round(seconds * 1000)}
        return await self._ask("PostToolUse", fields, call=call)

    def _told(self, call: Call) -> Reply:
        names, given = self._client.names, wire_input(call.arguments)
        named = {"tool_name": names.tool(call.tool, given), "tool_input": names.shown(call.tool, given)}
        return {**named, "tool_use_id": call.id}

    async def on_prompt(self, text: str) -> HookWord:
        return await self._ask("UserPromptSubmit", {"prompt": text})

    async def on_stop(self, text: str, again: bool) -> HookWord:
        fields = {
            "stop_hook_active": again,
            "last_assistant_message": text,
            "background_tasks": [],
            "session_crons": [],
        }
        return await self._ask("Stop", fields)

    async def on_asked(self, call: Call) -> HookWord:
        message = f"Claude needs your permission to use {self._client.names.tool(call.tool)}"
        return await self.on_step("Notification", {"message": message, "notification_type": PROMPT}, PROMPT)

    async def on_step(self, event: HookEvent, fields: Mapping[str, Any], kind: str = "") -> HookWord:
        return await self._ask(event, dict(fields), kind)

    def for_agent(self, agent_id: str, agent_type: str) -> ClientHooks:
        facts = msgspec.structs.replace(self._facts, agent_id=agent_id, agent_type=agent_type)
        return ClientHooks(self._client, self.matchers, facts)

    def _changed(self, call: Call, word: HookWord) -> HookWord:
        """The word with its arguments under our names."""
        if word.arguments is None:
            return word
        changed = self._client.changed(call, msgspec.json.decode(word.arguments))
        return msgspec.structs.replace(word, arguments=changed)

    async def _ask(self, event: HookEvent, fields: Reply, kind: str = "", call: Call | None = None) -> HookWord:
        """All callbacks at once; their words in the order in which they were registered. kind: what matchers are
        held against where there is no call."""
        kinds = (kind,) if call is None else with_aliases(fields["tool_name"])
        wanted = list(self._wanted(event, kinds))
        if not wanted:
            return SILENT
        told = {**self._facts.told(event), **fields}
        words = await asyncio.gather(*(self._ask_one(event, each, told, call) for each in wanted))
        word = SILENT
        for each in words:
            word = joined(word, each)
        return word

    def _wanted(self, event: HookEvent, kinds: Sequence[str]) -> Iterator[tuple[str, float]]:
        for matcher in self.matchers.get(event, ()):
            if any(map(matcher.fits, kinds)):
                yield from ((callback, matcher.seconds) for callback in matcher.callbacks)

    async def _ask_one(self, event: HookEvent, wanted: tuple[str, float], told: Reply, call: Call | None) -> HookWord:
        callback, seconds = wanted
        hook_id, name = self._client.new_id(), hook_name(event, call.tool if call is not None else "")
        fields = {"callback_id": callback, "input": told, "tool_use_id": call.id if call is not None else None}
        if event == "SessionEnd" and self._client.gone:
            # The end of its input is how a client ends a session; it still reads, and no answer counts.
            self._client.call("hook_callback", fields)
            return SILENT
        begun = HookStarted(hook_id=hook_id, hook_name=name, hook_event=event, where=CALLBACK)
        ended = HookResponse(hook_id=hook_id, hook_name=name, hook_event=event, where=CALLBACK, outcome="success")
        self._tell(event, begun)
        try:
            reply = await self._client.ask("hook_callback", fields, seconds)
            ended = msgspec.structs.replace(ended, exit_code=0, stdout=_shown(reply), output=_shown(reply))
            word = msgspec.structs.replace(read_reply(event, reply), who="client")
        except (NoAnswer, Failure) as problem:
            self._tell(event, msgspec.structs.replace(ended, outcome="error", reason=str(problem), exit_code=1))
            if event in UNREFUSABLE:
                # There is nothing left to refuse, and to go on for ever would be no safer.
                return SILENT
            return HookWord("deny", f"the hook failed: {problem}", who="client")
        decision = "stop" if word.stop is not None else word.decide
        reason = word.stop or word.message
        self._tell(event, msgspec.structs.replace(ended, decision=decision, reason=reason))
        for text in word.said:
            self._tell(event, Notice(kind="hook", text=text))
        return word

    def _tell(self, event: HookEvent, told: Event) -> None:
        # After the last line of a run nothing is told.
        if event != "SessionEnd":
            self._client.tell(told)


def _shown(reply: Reply) -> str:
    return clip(msgspec.json.encode(reply).decode(), KEPT_BYTES)[0] if reply else ""

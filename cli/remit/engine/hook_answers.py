"""What a hook command answers: JSON on its standard output, or an exit code. What cannot be read is no answer."""

from __future__ import annotations

import signal
from typing import Any, Literal

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Finished, HookWord
from remit.base.spec import HookEvent
from remit.base.text import clip, shorten

REFUSAL = 2
"""Exit code of a hook that refuses; its reason is what it wrote to stderr."""

REASON_BYTES = 4000
CONTEXT_BYTES = 64 * 1024
"""What a hook may add for the model at a time."""

_UNREAD: frozenset[HookEvent] = frozenset({"PreCompact", "Notification", "SessionEnd"})
"""Events after which nothing goes to the model."""

_STOPS: frozenset[HookEvent] = frozenset({"Stop", "SubagentStop"})
"""Events after which the model goes on with what it is told."""

NO_REASON = "the hook gave no reason"


class Specific(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`hookSpecificOutput`"""

    hookEventName: str = ""
    permissionDecision: Literal["allow", "ask", "deny"] | None = None
    permissionDecisionReason: str | None = None
    updatedInput: dict[str, Any] | None = None
    additionalContext: str | None = None
    updatedToolOutput: Any = None
    updatedMCPToolOutput: Any = None
    sessionTitle: Any = None
    suppressOriginalPrompt: Any = None
    initialUserMessage: Any = None
    watchPaths: Any = None
    reloadSkills: Any = None


NO_EFFECT = ("sessionTitle", "suppressOriginalPrompt", "initialUserMessage", "watchPaths", "reloadSkills")
"""What an answer may hold and nothing here heeds, which is told."""


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"go_on": "continue", "later": "async"}):
    """suppressOutput, terminalSequence: for people at a terminal, and passed over. later: the hook has no word now,
    and none that it has afterwards is heard."""

    go_on: bool = True
    stopReason: str | None = None
    decision: Literal["approve", "block"] | None = None
    reason: str | None = None
    hookSpecificOutput: Specific = Specific()
    suppressOutput: bool = False
    systemMessage: str | None = None
    terminalSequence: str | None = None
    later: bool = False
    asyncTimeout: float | None = None


def read_answer(event: HookEvent, finished: Finished, seconds: float) -> HookWord:
    """The word of a hook that ended. Raises Failure where it gave none."""
    if finished.exit_code is None or finished.timed_out:
        raise _failed(f"it did not end within {seconds:g} s")
    if finished.flooded:
        raise _failed("it printed without end")
    if finished.exit_code < 0:
        raise _failed(f"it was ended by {_signal(-finished.exit_code)}{_said(finished.stderr)}")
    if finished.exit_code == REFUSAL:
        reason, _ = clip(_text(finished.stderr).strip(), REASON_BYTES)
        return HookWord("deny", reason or NO_REASON)
    if finished.exit_code != 0:
        raise _failed(f"exit code {finished.exit_code}{_said(finished.stderr)}")
    if finished.truncated and finished.stdout_bytes > len(finished.stdout):
        raise _failed(f"its answer of {finished.stdout_bytes} bytes is too long")
    if not finished.stdout.strip():
        return HookWord()
    try:
        # Not read into the struct at once, whose messages name no value.
        value = msgspec.json.decode(finished.stdout)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
        raise _unread(problem, _text(finished.stdout).strip()) from None
    return read_reply(event, value)


def read_reply(event: HookEvent, value: Any) -> HookWord:
    """The word of an answer. Raises Failure where it is none."""
    try:
        reply = msgspec.convert(value, Reply)
    except (msgspec.ValidationError, RecursionError) as problem:
        raise _unread(problem, msgspec.json.encode(value).decode()) from None
    return _word(event, reply)


def _unread(problem: Exception, seen: str) -> Failure:
    return _failed(f"its answer cannot be read ({problem}): {shorten(seen)}")


def _word(event: HookEvent, reply: Reply) -> HookWord:
    """Raises Failure for an answer that fits another event."""
    specific = reply.hookSpecificOutput
    if specific.hookEventName not in ("", event):
        raise _failed(f"its answer is for {shorten(specific.hookEventName)}, not for {event}")
    if event != "PreToolUse" and (specific.permissionDecision is not None or specific.updatedInput is not None):
        raise _failed(f"permissionDecision and updatedInput answer PreToolUse, not {event}")
    output = specific.updatedToolOutput if specific.updatedMCPToolOutput is None else specific.updatedMCPToolOutput
    if event != "PostToolUse" and output is not None:
        raise _failed(f"updatedToolOutput answers PostToolUse, not {event}")
    if event in _UNREAD and specific.additionalContext is not None:
        raise _failed(f"additionalContext of {event} reaches no model")
    decide, reason = _decision(event, reply)
    context, _ = clip((event not in _STOPS and specific.additionalContext) or "", CONTEXT_BYTES)
    changed = specific.updatedInput
    return HookWord(
        decide=decide,
        message=clip(reason, REASON_BYTES)[0],
        arguments=None if changed is None else msgspec.json.encode(changed).decode(),
        context=context,
        stop=None if reply.go_on else clip(reply.stopReason or NO_REASON, REASON_BYTES)[0],
        output=output,
        said=_said_to_people(reply),
    )


def _said_to_people(reply: Reply) -> tuple[str, ...]:
    passed_over = [name for name in NO_EFFECT if getattr(reply.hookSpecificOutput, name) is not None]
    passed_over += ["async"] if reply.later else []
    told = f"{', '.join(passed_over)} of a hook's answer: that has no effect here" if passed_over else ""
    return tuple(clip(text, REASON_BYTES)[0] for text in (reply.systemMessage, told) if text)


def _decision(event: HookEvent, reply: Reply) -> tuple[Literal["", "allow", "ask", "deny"], str]:
    specific = reply.hookSpecificOutput
    if reply.decision == "block":
        return "deny", reply.reason or NO_REASON
    if event in _STOPS and specific.additionalContext:
        return "deny", clip(specific.additionalContext, CONTEXT_BYTES)[0]
    if specific.permissionDecision is not None:
        return specific.permissionDecision, specific.permissionDecisionReason or NO_REASON
    return ("allow", reply.reason or NO_REASON) if reply.decision == "approve" and event == "PreToolUse" else ("", "")


def _failed(what: str) -> Failure:
    return Failure(ErrorCode.COMMAND_FAILED, what)


def _said(stderr: bytes) -> str:
    text = _text(stderr).strip()
    return f": {shorten(text)}" if text else ""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

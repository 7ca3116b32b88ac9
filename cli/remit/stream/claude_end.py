"""The end of a prompt as clients of Claude Code know it: our verdict in their words."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.base.events import Result

NOT_STARTED = "not_started"
"""Kind of a failure before there was a prompt."""

EXECUTION = "error_during_execution"

CATEGORIES = {
    "auth": "authentication_failed",
    "no_key": "authentication_failed",
    "rate_limited": "rate_limit",
    "quota": "rate_limit",
    "overloaded": "server_error",
    "network": "server_error",
    "cut": "server_error",
    "model_not_found": "model_not_found",
    "context_overflow": "invalid_request",
    "bad_request": "invalid_request",
}
"""By the kind of our failure, what `error` of the last assistant line says; `unknown` otherwise."""


class Prompt(msgspec.Struct):
    """What the lines of a prompt so far hold of its end. users: user lines. text: the last text block, or all those of
    an answer that goes on after a cut, as it does where it grows. tools: whether the last thing told was a call. turns,
    usd: its limits."""

    users: int = 0
    text: str = ""
    grows: bool = False
    tools: bool = False
    turns: int | None = None
    usd: float | None = None


class End(msgspec.Struct, frozen=True):
    """How it ended, in their words. result: the text, None with `errors`. short: what the format `text` prints of a
    failure. category: of a model that could not be used, else ""."""

    subtype: str
    is_error: bool
    reason: str
    result: str | None = None
    errors: tuple[str, ...] = ()
    short: str = ""
    category: str = ""


def end_of(event: Result, prompt: Prompt) -> End:
    if event.verdict == "done":
        output = event.structured_output is not None
        return End("success", False, "completed", event.result or "" if output else prompt.text)
    if event.error_kind == "hook_stopped":
        # Of a model that was done its last text is told.
        said = "" if prompt.tools else prompt.text
        return End("success", False, "stop_hook_prevented" if said else "hook_stopped", said)
    return _failed(event, prompt)


def _failed(event: Result, prompt: Prompt) -> End:
    what = event.errors[0] if event.errors else event.verdict
    if event.subtype == "error_max_turns":
        errors = (f"Reached maximum number of turns ({prompt.turns})",)
        return End(event.subtype, True, "max_turns", None, errors, f"Error: Reached max turns ({prompt.turns})")
    if event.subtype == "error_max_budget_usd":
        errors = (f"Reached maximum budget (${prompt.usd:g})" if prompt.usd is not None else "Reached maximum budget",)
        return End(event.subtype, True, "budget_exhausted", None, errors, f"Error: {errors[0]}")
    if event.error_kind == "schema":
        subtype = "error_max_structured_output_retries"
        return End(subtype, True, "structured_output_retry_exhausted", None, tuple(event.errors), f"Error: {what}")
    if event.verdict in ("provider", "busy") and event.error_kind not in ("refused", "loop"):
        reason = "prompt_too_long" if event.error_kind == "context_overflow" else "api_error"
        text = f"API Error: {what}"
        return End("success", True, reason, text, (), text, CATEGORIES.get(event.error_kind, "unknown"))
    reason = "aborted_tools" if prompt.tools else "aborted_streaming"
    return End(EXECUTION, True, reason if event.verdict == "stopped" else "", None, (what,), "Execution error")


def result_line(event: Result, prompt: Prompt, end: End) -> dict[str, Any]:
    """The terminal line."""
    line: dict[str, Any] = {
        "type": "result",
        "subtype": end.subtype,
        "is_error": end.is_error,
        "duration_ms": event.duration_ms,
        "duration_api_ms": event.duration_api_ms,
        "num_turns": 0 if event.error_kind == NOT_STARTED else 1 + prompt.users,
        "session_id": event.session_id,
        "stop_reason": _stop_reason(event, end),
        "total_cost_usd": event.total_cost_usd,
        "usage": usage(event.usage),
        "modelUsage": {_name(model): _model(used) for model, used in event.modelUsage.items()},
        "permission_denials": event.permission_denials,
        "uuid": event.uuid,
        "result_index": event.result_index,
    }
    line |= {"terminal_reason": end.reason} if end.reason else {}
    line |= {"errors": list(end.errors)} if end.result is None else {"result": end.result}
    if end.subtype == "success" and not end.is_error and event.structured_output is not None:
        line["structured_output"] = event.structured_output
    if end.category:
        line |= {"api_error_status": None, "api_error_type": end.category}
    if event.origin:
        line["origin"] = event.origin
    if event.user_message_uuids:
        line |= {"user_message_uuid": event.user_message_uuids[-1], "user_message_uuids": event.user_message_uuids}
    return line


def _stop_reason(event: Result, end: End) -> str | None:
    if end.category:
        return "stop_sequence"
    if event.structured_output is not None or end.reason == "max_turns":
        return "tool_use"
    return event.stop_reason


def usage(told: dict[str, int]) -> dict[str, Any]:
    """Tokens of a prompt, with the fields that their clients look for."""
    return {
        "input_tokens": told.get("input_tokens", 0),
        "cache_creation_input_tokens": told.get("cache_creation_input_tokens", 0),
        "cache_read_input_tokens": told.get("cache_read_input_tokens", 0),
        "output_tokens": told.get("output_tokens", 0),
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
    }


def _name(model: str) -> str:
    return model.partition("/")[2] or model


def _model(used: dict[str, Any]) -> dict[str, Any]:
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "costUSD")
    return {**{name: used.get(name, 0) for name in names}, "webSearchRequests": 0}

"""What a call came to, in a few words for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def came_to(envelope: Any) -> str:
    """What a call with a result came to: `ok`, or how what it did was no success. envelope: as the stream has it."""
    data = envelope.get("data") if isinstance(envelope, dict) else None
    if not isinstance(data, dict):
        return "ok"
    return _command(data) or _script(data) or _batch(data) or _receipt(data) or "ok"


def failure(envelope: Any, content: Any) -> tuple[str, str]:
    """Code and message of a failed call."""
    error = envelope.get("error") if isinstance(envelope, dict) else None
    if isinstance(error, dict):
        return str(error.get("code", "")), str(error.get("message", ""))
    return "error", str(content)


def _command(data: Mapping[str, Any]) -> str:
    if data.get("timed_out"):
        return "timed out"
    if data.get("output_limit_exceeded"):
        return "ended for printing too much"
    if data.get("signal"):
        return f"ended by {data['signal']}"
    return f"exit code {data['exit_code']}" if data.get("exit_code") else ""


def _script(data: Mapping[str, Any]) -> str:
    if data.get("outcome") == "limited":
        return f"ended by its limit of {data.get('limit')}"
    raised = data.get("raised")
    return f"raised {raised.get('type')}" if data.get("outcome") == "error" and isinstance(raised, dict) else ""


def _batch(data: Mapping[str, Any]) -> str:
    calls, failed = data.get("calls"), data.get("failed")
    return f"{failed} of {len(calls)} failed" if isinstance(calls, list) and failed else ""


def _receipt(data: Mapping[str, Any]) -> str:
    """Of what has only begun nothing is known yet."""
    return f"goes on as {data['task_id']}" if data.get("admitted") and "task_id" in data else ""

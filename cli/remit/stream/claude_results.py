"""Tool results as clients of Claude Code know them: the text of the result, and an object for each tool."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from remit.base.claude_names import their_name


class Shown(msgspec.Struct, frozen=True):
    """content: of the tool_result block. result: `tool_use_result`. failed: whether it is an error."""

    content: Any
    result: Any
    failed: bool


class Known(msgspec.Struct, frozen=True):
    """A call that the result belongs to: the tool under our name, its arguments under theirs."""

    tool: str
    arguments: dict[str, Any]


INPUT_CODES = frozenset({"invalid_arguments", "unknown_tool", "invalid_json"})
"""Failures of the call itself and not of what it does."""


def show_result(known: Known, content: Any, envelope: Any, cwd: str) -> Shown:
    """content: what the model reads. envelope: the outcome."""
    if not isinstance(envelope, dict):
        return Shown(content, content, False)
    if not envelope.get("ok"):
        return _failure(known, envelope.get("error") or {})
    data = envelope.get("data")
    show = _BY_TOOL.get(known.tool)
    if show is not None and isinstance(data, dict):
        return show(known, content, data, cwd)
    if known.tool.startswith("mcp__") and isinstance(data, dict) and isinstance(data.get("content"), list):
        return Shown(data["content"], data["content"], False)
    return Shown(content, data if data is not None else content, False)


def _failure(known: Known, error: Mapping[str, Any]) -> Shown:
    code, message = error.get("code", ""), str(error.get("message", ""))
    if code == "unknown_tool":
        message = f"<tool_use_error>Error: No such tool available: {their_name(known.tool)}. {message}</tool_use_error>"
    elif code in INPUT_CODES:
        message = f"<tool_use_error>InputValidationError: {message}</tool_use_error>"
    elif code == "schema_mismatch":
        message = message.replace("the value does not fit the schema:", "Output does not match required schema:")
    return Shown(message, f"Error: {message}", True)


def _bash(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    code, out, errors = data.get("exit_code"), str(data.get("stdout", "")), str(data.get("stderr", ""))
    result = {
        "stdout": out,
        "stderr": errors,
        "interrupted": bool(data.get("timed_out") or data.get("signal")),
        "isImage": False,
        "noOutputExpected": False,
    }
    if code == 0:
        return Shown(content if out or errors else "(Bash completed with no output)", result, False)
    text = "\n".join(filter(None, (f"Exit code {code}" if code is not None else "", str(content))))
    return Shown(text, f"Error: {text}", True)


def _read(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    if data.get("kind") != "file" or "lineStart" not in data:
        return Shown(content, dict(data), False)
    first, last = data["lineStart"], data.get("lineEnd", 0)
    file = {
        "filePath": _absolute(data.get("path"), cwd),
        "content": data.get("text", ""),
        "numLines": last - first + 1,
        "startLine": first,
        "totalLines": data.get("totalLines", 0),
    }
    return Shown(content, {"type": "text", "file": file}, False)


def _write(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    result = {
        "type": "update" if data.get("existed") else "create",
        "filePath": _absolute(data.get("path"), cwd),
        "content": known.arguments.get("content", ""),
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    return Shown(content, result, False)


def _edit(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    given = known.arguments
    result = {
        "filePath": _absolute(data.get("path"), cwd),
        "oldString": given.get("old_string", ""),
        "newString": given.get("new_string", ""),
        "originalFile": None,
        "structuredPatch": [],
        "userModified": False,
        "replaceAll": bool(given.get("replace_all")),
    }
    return Shown(content, result, False)


def _question(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    replies = [each for each in data.get("answers", ()) if isinstance(each, dict)]
    answers = {str(each.get("question")): ", ".join(each.get("answer", ())) for each in replies if each.get("answer")}
    return Shown(content, {"questions": known.arguments.get("questions", []), "answers": answers}, False)


def _absolute(name: Any, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, str(name or ".")))


_BY_TOOL: dict[str, Callable[[Known, Any, Mapping[str, Any], str], Shown]] = {
    "shell": _bash,
    "file_read": _read,
    "file_write": _write,
    "file_edit": _edit,
    "question": _question,
}

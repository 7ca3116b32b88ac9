"""Tool results as clients of Claude Code know them: the text of the result, and an object for each tool."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from remit.base.claude_names import their_name, told_text
from remit.base.events import PermissionDenied
from remit.stream.claude_patch import hunks


class Shown(msgspec.Struct, frozen=True):
    """content: of the tool_result block. result: `tool_use_result`. failed: whether it is an error."""

    content: Any
    result: Any
    failed: bool


class Known(msgspec.Struct, frozen=True):
    """A call that the result belongs to: the tool under our name, its arguments under theirs. originals: what files
    held before it, by absolute path."""

    tool: str
    arguments: dict[str, Any]
    originals: Mapping[str, str] = {}


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
    code = error.get("code", "")
    message = told_text(known.tool, str(error.get("message", "")), parameters=code in INPUT_CODES)
    if code == "unknown_tool":
        # What there is `init` has told, under the client's names.
        message = f"<tool_use_error>Error: No such tool available: {their_name(known.tool)}.</tool_use_error>"
    elif code == "approval_required":
        message = not_granted(known)
    elif code in INPUT_CODES:
        message = f"<tool_use_error>InputValidationError: {message}</tool_use_error>"
    elif code == "schema_mismatch":
        message = message.replace("the value does not fit the schema:", "Output does not match required schema:")
    return Shown(message, f"Error: {message}", True)


def not_granted(known: Known) -> str:
    """Of a call that needs a permission which nobody gave."""
    return f"Claude requested permissions to {_wish(known)}, but you haven't granted it yet."


def denial_meta(event: PermissionDenied) -> dict[str, Any]:
    """`tool_result_meta` of a call that was refused."""
    asked = event.answered_by or event.decision_reason_type == "asked"
    source = "hook" if event.source == "hook" else "user" if asked else "config"
    decision = {"decision": "deny", "source": source, "reason_type": event.source or "rule"}
    kind = "user-rejected" if event.answered_by else "permission-rule"
    return {"permission_decision": decision, "non_execution_kind": kind}


def result_meta(envelope: Any) -> dict[str, Any]:
    """The same of a call that did not run, or not to its end, for another reason; empty for one that did."""
    error = envelope.get("error") if isinstance(envelope, dict) else None
    code = error.get("code") if isinstance(error, dict) else ""
    return {"non_execution_kind": code} if code in ("interrupted", "cancelled") else {}


_READING = frozenset({"Read", "Glob", "Grep", "LS"})
_WRITING = frozenset({"Write", "Edit"})


def _wish(known: Known) -> str:
    """What nobody allowed, in their words."""
    tool = their_name(known.tool)
    place = known.arguments.get("file_path") or known.arguments.get("path")
    if isinstance(place, str) and tool in _WRITING:
        return f"write to {place}"
    if isinstance(place, str) and tool in _READING:
        return f"read from {place}"
    return f"use {tool}"


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
    path = _absolute(data.get("path"), cwd)
    result = {
        "type": "update" if data.get("existed") else "create",
        "filePath": path,
        "content": known.arguments.get("content", ""),
        **_changed(known, path, data),
    }
    return Shown(content, result, False)


def _edit(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    given = known.arguments
    path = _absolute(data.get("path"), cwd)
    result = {
        "filePath": path,
        "oldString": given.get("old_string", ""),
        "newString": given.get("new_string", ""),
        **_changed(known, path, data),
        "replaceAll": bool(given.get("replace_all")),
    }
    return Shown(content, result, False)


def _changed(known: Known, path: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What became of a file that there was. A new one has no patch: its content is told."""
    diff = data.get("diff")
    patch = diff.get("patch") if isinstance(diff, dict) and data.get("existed") else ""
    return {"originalFile": known.originals.get(path), "structuredPatch": hunks(patch), "userModified": False}


def _patched(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    """A patch of several files: what they know of an edit is told of each of them."""
    files = [
        {
            "filePath": _absolute(each.get("path"), cwd),
            "type": each.get("type"),
            "originalFile": known.originals.get(_absolute(each.get("path"), cwd)),
            "structuredPatch": hunks(each.get("patch")),
        }
        for each in data.get("files", ())
    ]
    first = files[0] if files else {}
    result = {
        "filePath": first.get("filePath", ""),
        "oldString": "",
        "newString": "",
        "originalFile": first.get("originalFile"),
        "structuredPatch": first.get("structuredPatch", []),
        "userModified": False,
        "replaceAll": False,
        "files": files,
    }
    return Shown(content, result, False)


def _question(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    replies = [each for each in data.get("answers", ()) if isinstance(each, dict)]
    answers = {str(each.get("question")): ", ".join(each.get("answer", ())) for each in replies if each.get("answer")}
    return Shown(content, {"questions": known.arguments.get("questions", []), "answers": answers}, False)


def _plan(known: Known, content: Any, data: Mapping[str, Any], cwd: str) -> Shown:
    given = known.arguments.get("plan")
    return Shown(content, dict(data) if given is None else {"plan": given, "isAgent": False}, False)


def _absolute(name: Any, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, str(name or ".")))


_BY_TOOL: dict[str, Callable[[Known, Any, Mapping[str, Any], str], Shown]] = {
    "shell": _bash,
    "file_read": _read,
    "file_write": _write,
    "file_edit": _edit,
    "file_apply_patch": _patched,
    "question": _question,
    "plan": _plan,
}

"""The stream as `codex exec --json` writes it, for tools that are built on that."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import singledispatchmethod
from typing import Any

import msgspec

from remit.base.events import ApiRetry, Assistant, Event, Init, Result, User
from remit.stream.writer import StdoutWriter, encode_plain

Line = dict[str, Any]

OWN_SERVER = "remit"
"""As whose tools those of ours are shown that the other program has no item for."""

_KINDS = {"add": "add", "delete": "delete", "update": "update", "move": "update"}
_TODOS = {"todo_write": ("todos", "content"), "update_plan": ("steps", "step")}


class Begun(msgspec.Struct, frozen=True):
    """A call under way. item: as it was told when it began, None where it is told only at its end."""

    tool: str
    arguments: dict[str, Any]
    number: int
    item: Line | None


class CodexStream:
    """A listener that writes these lines. Items are numbered over the process, turns are our prompts."""

    def __init__(self, writer: StdoutWriter) -> None:
        self._writer = writer
        self._threads = 0
        self._items = 0
        self._cwd = ""
        self._calls: dict[str, Begun] = {}
        self._list: Line | None = None

    def on_event(self, event: Event, line: bytes) -> None:
        for told in self._lines(event):
            self._writer.write_line(encode_plain(told))

    def _number(self) -> int:
        self._items += 1
        return self._items - 1

    @singledispatchmethod
    def _lines(self, event: Any) -> Iterator[Line]:
        """What stands for the event; nothing for those that their stream has no word for."""
        yield from ()

    @_lines.register(Init)
    def _(self, event: Init) -> Iterator[Line]:
        self._cwd = event.cwd
        if not self._threads:
            self._threads = 1
            yield {"type": "thread.started", "thread_id": event.session_id}
        yield {"type": "turn.started"}

    @_lines.register(Assistant)
    def _(self, event: Assistant) -> Iterator[Line]:
        for block in event.message["content"]:
            if block["type"] == "tool_use":
                yield from self._begin(block)
            elif block["type"] == "text" and block["text"]:
                yield _item("completed", self._number(), {"type": "agent_message", "text": block["text"]})
            elif block["type"] == "thinking" and block["thinking"]:
                yield _item("completed", self._number(), {"type": "reasoning", "text": block["thinking"]})

    def _begin(self, block: Mapping[str, Any]) -> Iterator[Line]:
        tool, arguments = block["name"], dict(block["input"])
        if tool in _TODOS:
            self._calls[block["id"]] = Begun(tool, arguments, -1, None)
            return
        item = _started(tool, arguments)
        number = self._number()
        self._calls[block["id"]] = Begun(tool, arguments, number, item)
        if item is not None:
            yield _item("started", number, item)

    @_lines.register(User)
    def _(self, event: User) -> Iterator[Line]:
        block = event.message["content"][0]
        begun = self._calls.pop(str(block.get("tool_use_id", "")), None)
        if begun is None:
            return
        envelope = event.tool_use_result if isinstance(event.tool_use_result, dict) else {}
        if begun.tool in _TODOS:
            yield from self._told_list(begun, bool(envelope.get("ok")))
            return
        for item in self._completed(begun, str(block.get("content", "")), envelope):
            yield _item("completed", begun.number, item)

    def _told_list(self, begun: Begun, applied: bool) -> Iterator[Line]:
        if not applied:
            return
        field, text = _TODOS[begun.tool]
        entries = begun.arguments.get(field)
        items = [
            {"text": str(entry.get(text, "")), "completed": entry.get("status") == "completed"}
            for entry in (entries if isinstance(entries, list) else [])
            if isinstance(entry, dict)
        ]
        known = self._list
        number = self._number() if known is None else known["number"]
        self._list = {"number": number, "item": {"type": "todo_list", "items": items}}
        yield _item("started" if known is None else "updated", number, self._list["item"])

    def _completed(self, begun: Begun, content: str, envelope: Mapping[str, Any]) -> Iterator[Line]:
        ok, data = bool(envelope.get("ok")), envelope.get("data")
        shown = _FINISHERS.get(begun.tool, _finish_call)
        yield from shown(begun, content, data if isinstance(data, dict) else {}, ok, self._cwd)

    @_lines.register(ApiRetry)
    def _(self, event: ApiRetry) -> Iterator[Line]:
        text = f"Reconnecting... {event.attempt}/{event.max_retries} ({event.error})"
        yield {"type": "error", "message": text}

    @_lines.register(Result)
    def _(self, event: Result) -> Iterator[Line]:
        if not self._threads:
            self._threads = 1
            yield {"type": "thread.started", "thread_id": event.session_id}
        if self._list is not None:
            yield _item("completed", self._list["number"], self._list["item"])
            self._list = None
        self._calls.clear()
        if event.is_error:
            message = "; ".join(event.errors) or event.verdict
            yield {"type": "error", "message": message}
            yield {"type": "turn.failed", "error": {"message": message}}
        else:
            yield {"type": "turn.completed", "usage": _usage(event)}


def _item(state: str, number: int, item: Line) -> Line:
    return {"type": f"item.{state}", "item": {"id": f"item_{number}", **item}}


def _started(tool: str, arguments: Line) -> Line | None:
    if tool == "shell":
        return _command(arguments, "", None, "in_progress")
    if tool in _FINISHERS:
        return None
    return _call(tool, arguments, None, None, "in_progress")


def _command(arguments: Line, output: str, code: int | None, status: str) -> Line:
    return {
        "type": "command_execution",
        "command": str(arguments.get("command", "")),
        "aggregated_output": output,
        "exit_code": code,
        "status": status,
    }


def _call(tool: str, arguments: Line, result: Line | None, error: Line | None, status: str) -> Line:
    server, name = OWN_SERVER, tool
    if tool.startswith("mcp__") and "__" in tool[5:]:
        server, _, name = tool[5:].partition("__")
    return {
        "type": "mcp_tool_call",
        "server": server,
        "tool": name,
        "arguments": arguments,
        "result": result,
        "error": error,
        "status": status,
    }


def _finish_command(begun: Begun, content: str, data: Line, ok: bool, cwd: str) -> Iterator[Line]:
    code = data.get("exit_code")
    output = "\n".join(filter(None, (data.get("stdout"), data.get("stderr")))) if ok else content
    yield _command(begun.arguments, output, code, "completed" if code == 0 else "failed")


def _finish_change(begun: Begun, content: str, data: Line, ok: bool, cwd: str) -> Iterator[Line]:
    """A change that was not made is no item; the model hears of it."""
    if not ok:
        return
    files = data.get("files") or [{"path": data.get("path"), "type": "update" if data.get("existed") else "add"}]
    changes = [
        {"path": posixpath.join(cwd, str(each.get("path"))), "kind": _KINDS.get(str(each.get("type")), "update")}
        for each in files
    ]
    yield {"type": "file_change", "changes": changes, "status": "completed"}


def _finish_call(begun: Begun, content: str, data: Line, ok: bool, cwd: str) -> Iterator[Line]:
    if not ok:
        yield _call(begun.tool, begun.arguments, None, {"message": content}, "failed")
        return
    result = {"content": [{"type": "text", "text": content}], "structured_content": None}
    yield _call(begun.tool, begun.arguments, result, None, "completed")


Finisher = Callable[[Begun, str, Line, bool, str], Iterator[Line]]

_FINISHERS: dict[str, Finisher] = {
    "shell": _finish_command,
    "file_write": _finish_change,
    "file_edit": _finish_change,
    "file_apply_patch": _finish_change,
}


def _usage(event: Result) -> dict[str, int]:
    """Sums over the session; their input counts what came from a cache."""
    used = list(event.modelUsage.values())
    cached, written = (
        sum(each[name] for each in used) for name in ("cacheReadInputTokens", "cacheCreationInputTokens")
    )
    return {
        "input_tokens": sum(each["inputTokens"] for each in used) + cached + written,
        "cached_input_tokens": cached,
        "cache_write_input_tokens": written,
        "output_tokens": sum(each["outputTokens"] for each in used),
        "reasoning_output_tokens": 0,
    }

"""The stream as clients of Claude Code read it: its lines, its tool names, its ends."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import singledispatchmethod
from typing import Any, Literal

import msgspec

from remit.base.answers_cut import CONTINUE
from remit.base.claude_names import their_name
from remit.base.events import (
    ApiRetry,
    Assistant,
    BackgroundTasks,
    CompactBoundary,
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Event,
    HookResponse,
    HookStarted,
    Init,
    ModelFallback,
    Notice,
    PermissionDenied,
    Result,
    SessionState,
    Status,
    StreamEvent,
    TaskNotification,
    TaskProgress,
    TaskStarted,
    TaskUpdated,
    User,
)
from remit.base.ports import Names
from remit.stream.claude_end import NOT_STARTED, End, Prompt, end_of, result_line
from remit.stream.claude_results import Known, denial_meta, not_granted, result_meta, show_result
from remit.stream.writer import StdoutWriter, encode_plain

VERSION = "2.1.332"
"""Of the protocol that is spoken, as clients compare it."""

Line = dict[str, Any]


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """How the stream is wanted. verbose: with `json`, all lines as one array. partial: answers as they come. states:
    the client reads the session's states. asks: it answers permission requests. replay: it wants its messages back.
    mode: the permission mode at the start. unsupported: servers that are configured and not connected to, and why.
    hook_events: the client wants to hear of all hooks, not only of those that a session begins with. directories:
    beside the working directory, that are read."""

    format: Literal["text", "json", "stream-json"] = "text"
    verbose: bool = False
    partial: bool = False
    states: bool = False
    asks: bool = False
    replay: bool = False
    mode: str = "default"
    unsupported: Mapping[str, str] = {}
    hook_events: bool = False
    directories: tuple[str, ...] = ()


class ClaudeStream:
    """A listener that writes these lines. names: those of the client. failed: whether the last prompt ended in an
    error. servers: the state of each MCP server."""

    def __init__(self, writer: StdoutWriter, looks: Looks, names: Names, new_uuid: Callable[[], str]) -> None:
        self._writer = writer
        self._looks = looks
        self._names = names
        self._new_uuid = new_uuid
        self.mode = looks.mode
        self.failed = False
        self.servers: list[dict[str, str]] = [
            {"name": name, "status": "failed", "source": "config", "error": why}
            for name, why in looks.unsupported.items()
        ]
        self.agents: list[str] = []
        """That the client defines."""
        self._cwd = ""
        self._session_id = ""
        self._run_id = ""
        self._prompt = Prompt()
        self._calls: dict[tuple[str, str], Known] = {}
        self._denied: dict[tuple[str, str], Line] = {}
        self._all: list[Line] = []

    def on_event(self, event: Event, line: bytes) -> None:
        self._session_id = event.session_id or self._session_id
        for told in self._lines(event):
            self._write(told)
        if isinstance(event, Result):
            self._finish(event)

    def emit(self, event: Event) -> None:
        """An event from before there is a run."""
        self.on_event(event, b"")

    def keep_original(self, agent: str, call_id: str, name: str, text: str) -> None:
        """What a file held before a call changed it."""
        known = self._calls.get((agent, call_id))
        if known is not None:
            path = posixpath.normpath(posixpath.join(self._cwd, name))
            self._calls[agent, call_id] = msgspec.structs.replace(known, originals={**known.originals, path: text})

    def response(self, agent: str, call_id: str, content: str, envelope: Mapping[str, Any]) -> Any:
        """The result of a call as its line will tell it."""
        known = self._calls.get((agent, call_id), Known("", {}))
        return show_result(known, content, envelope, self._cwd).result

    def tell(self, **line: Any) -> None:
        """A line that no event stands for."""
        self._write({**line, "session_id": self._session_id, "uuid": self._new_uuid()})

    def tell_replay(self, text: str, uuid: str) -> None:
        """A message of the client, back to it."""
        message = {"role": "user", "content": text}
        line = {"type": "user", "message": message, "parent_tool_use_id": None, "isReplay": True}
        self._write({**line, "session_id": self._session_id, "uuid": uuid or self._new_uuid()})

    def _write(self, line: Line) -> None:
        if self._looks.format == "stream-json":
            self._writer.write_line(encode_plain(line))
        elif self._looks.format == "json" and self._looks.verbose and not line["type"].startswith("control"):
            self._all.append(line)

    def _finish(self, event: Result) -> None:
        end = end_of(event, self._prompt)
        self.failed = end.is_error
        if self._looks.format == "text" and event.error_kind != NOT_STARTED:
            text = end.result if end.result is not None else end.short
            self._writer.write_line(text.encode())
        elif self._looks.format == "json":
            line = result_line(self._named(event), self._prompt, end)
            self._writer.write_line(encode_plain(self._all if self._looks.verbose else line))
            self._all = []
        self._prompt = Prompt()
        # Agents in the background go on with theirs.
        self._calls = {key: known for key, known in self._calls.items() if key[0]}
        self._denied = {key: told for key, told in self._denied.items() if key[0]}

    # -- event by event ------------------------------------------------------------------------

    @singledispatchmethod
    def _lines(self, event: Any) -> Iterator[Line]:
        """What stands for the event; nothing for those that their stream has no word for."""
        yield from ()

    @_lines.register(Init)
    def _(self, event: Init) -> Iterator[Line]:
        self._cwd = event.cwd
        self._run_id = event.run_id
        self._prompt.turns = event.limits.get("turns")
        self._prompt.usd = event.limits.get("usd")
        yield {
            "type": "system",
            "subtype": "init",
            "cwd": event.cwd,
            "session_id": event.session_id,
            "tools": list(dict.fromkeys(_listed(tool) for tool in event.tools if self._listed_here(tool))),
            "mcp_servers": self.servers,
            "model": event.model,
            "permissionMode": self.mode,
            "slash_commands": [],
            "terminal_slash_commands": [],
            "apiKeySource": event.apiKeySource,
            "claude_code_version": VERSION,
            "remit_version": event.remit_version,
            "output_style": event.output_style,
            "agents": [*event.agents, *self.agents],
            "skills": event.skills,
            "plugins": [],
            "capabilities": [],
            "run_id": event.run_id,
            "run_dir": event.run_dir,
            "layers": event.layers,
            "additional_directories": list(self._looks.directories),
            "uuid": event.uuid,
        }

    def _listed_here(self, tool: str) -> bool:
        return tool != "question" or self._looks.asks

    @_lines.register(Assistant)
    def _(self, event: Assistant) -> Iterator[Line]:
        for number, block in enumerate(event.message["content"]):
            if not event.agent_id:
                self._prompt.tools = block["type"] == "tool_use"
                self._hear(block)
            content = [self._block(block, event)]
            message = {**event.message, "id": self._id(event.message["id"]), "content": content}
            message["context_management"] = None
            yield {
                "type": "assistant",
                "message": message,
                "parent_tool_use_id": event.parent_tool_use_id,
                "session_id": event.session_id,
                "uuid": event.uuid if number == 0 else self._new_uuid(),
                "timestamp": event.timestamp,
                **_agent(event),
            }

    def _hear(self, block: Line) -> None:
        if block["type"] == "text":
            self._prompt.text = (self._prompt.text if self._prompt.grows else "") + block["text"]

    def _id(self, message_id: str) -> str:
        """Of a message, like no other of any session: clients count usage once for each id."""
        return message_id.replace("msg_", f"msg_{self._run_id}_", 1)

    def _block(self, block: Line, event: Assistant) -> Line:
        if block["type"] != "tool_use":
            return block
        tool, given = block["name"], block["input"]
        known = Known(tool, self._names.shown(tool, given))
        self._calls[_key(event, block["id"])] = known
        return {**block, "name": self._names.tool(tool, given), "input": known.arguments}

    @_lines.register(User)
    def _(self, event: User) -> Iterator[Line]:
        ours = not event.agent_id
        self._prompt.users += ours
        line: Line = {
            "type": "user",
            "message": event.message,
            "parent_tool_use_id": event.parent_tool_use_id,
            "session_id": event.session_id,
            "uuid": event.uuid,
            "timestamp": event.timestamp,
            **_agent(event),
        }
        block = event.message["content"][0]
        if ours:
            self._prompt.grows = bool(event.isSynthetic) and block.get("text") in CONTINUE.values()
        if event.isSynthetic or block["type"] != "tool_result":
            # What an agent is asked for is no word of the harness.
            yield {**line, "isSynthetic": True} if event.isSynthetic else line
            return
        key = _key(event, block["tool_use_id"])
        known = self._calls.get(key, Known("", {}))
        shown = show_result(known, block["content"], event.tool_use_result, self._cwd)
        told = {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": shown.content}
        if ours:
            self._prompt.tools = True
        if shown.failed:
            told["is_error"] = True
        elif known.tool == "shell":
            told["is_error"] = False
        # No result follows another, and what files held is much to keep.
        self._calls.pop(key, None)
        line |= {"message": {"role": "user", "content": [told]}, "tool_use_result": shown.result}
        meta = self._denied.pop(key, {}) or result_meta(event.tool_use_result)
        yield {**line, "tool_result_meta": [{"id": block["tool_use_id"], **meta}]} if meta else line

    @_lines.register(PermissionDenied)
    def _(self, event: PermissionDenied) -> Iterator[Line]:
        self._denied[event.agent_id or "", event.tool_use_id] = denial_meta(event)
        # Only what nobody was asked about: a client knows what it has refused itself.
        if event.answered_by or event.source == "hook":
            return
        yield {
            "type": "system",
            "subtype": "permission_denied",
            "tool_name": self._names.tool(event.tool_name),
            "tool_use_id": event.tool_use_id,
            "message": self._told_denial(event),
            "decision_reason_type": "mode" if event.decision_reason_type == "asked" else "rule",
            "decision_reason": self._names.told(event.tool_name, event.decision_reason),
            "session_id": event.session_id,
            "uuid": event.uuid,
        }

    def _told_denial(self, event: PermissionDenied) -> str:
        known = self._calls.get((event.agent_id or "", event.tool_use_id))
        asked = known is not None and event.decision_reason_type == "asked"
        return not_granted(known) if known is not None and asked else self._names.told(event.tool_name, event.message)

    @_lines.register(SessionState)
    def _(self, event: SessionState) -> Iterator[Line]:
        if self._looks.states:
            yield {**_plain(event), "sdk_host_only": True}

    @_lines.register(StreamEvent)
    def _(self, event: StreamEvent) -> Iterator[Line]:
        line, block = _plain(event), event.event.get("content_block")
        line["api_message_id"] = self._id(event.api_message_id)
        if isinstance(block, dict) and block.get("type") == "tool_use":
            shown = {**block, "name": self._names.tool(block["name"])}
            line["event"] = {**event.event, "content_block": shown}
        if isinstance(begun := event.event.get("message"), dict):
            line["event"] = {**event.event, "message": {**begun, "id": self._id(begun["id"])}}
        yield line

    @_lines.register(Status)
    def _(self, event: Status) -> Iterator[Line]:
        if event.status == "requesting" and not self._looks.partial:
            return
        self.mode = event.permissionMode or self.mode
        line = _plain(event)
        if not event.permissionMode:
            del line["permissionMode"]
        yield line

    @_lines.register(Notice)
    def _(self, event: Notice) -> Iterator[Line]:
        yield {**self._informed(event.kind, event.text), "uuid": event.uuid}

    @_lines.register(ControlRequest)
    @_lines.register(ControlResponse)
    @_lines.register(ControlCancel)
    def _(self, event: ControlRequest | ControlResponse | ControlCancel) -> Iterator[Line]:
        line = _plain(event)
        del line["session_id"], line["uuid"]
        yield line

    @_lines.register(TaskStarted)
    @_lines.register(TaskUpdated)
    @_lines.register(TaskNotification)
    @_lines.register(BackgroundTasks)
    def _(self, event: Event) -> Iterator[Line]:
        yield _plain(event)

    @_lines.register(TaskProgress)
    def _(self, event: TaskProgress) -> Iterator[Line]:
        yield {**_plain(event), "last_tool_name": self._names.tool(event.last_tool_name)}

    @_lines.register(HookStarted)
    @_lines.register(HookResponse)
    def _(self, event: HookStarted | HookResponse) -> Iterator[Line]:
        if not self._looks.hook_events and event.hook_event != "SessionStart":
            return
        step, colon, tool = event.hook_name.partition(":")
        yield {**_plain(event), "hook_name": f"{step}{colon}{self._names.tool(tool)}" if colon else step}

    @_lines.register(ApiRetry)
    @_lines.register(ModelFallback)
    @_lines.register(CompactBoundary)
    def _(self, event: ApiRetry | ModelFallback | CompactBoundary) -> Iterator[Line]:
        yield _plain(event)

    @_lines.register(Result)
    def _(self, event: Result) -> Iterator[Line]:
        end = end_of(event, self._prompt)
        yield from self._before_end(event, end)
        yield result_line(self._named(event), self._prompt, end)

    def _before_end(self, event: Result, end: End) -> Iterator[Line]:
        if end.category:
            yield self._synthetic(end)
        if event.error_kind == "hook_stopped":
            yield self._informed("hook", "\n".join(event.errors))
        if event.verdict == "stopped":
            text = f"[Request interrupted by user{' for tool use' if end.reason == 'aborted_tools' else ''}]"
            self._prompt.users += 1
            message = {"role": "user", "content": [{"type": "text", "text": text}]}
            line = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": event.session_id}
            yield {**line, "uuid": self._new_uuid()}

    def _informed(self, kind: str, text: str) -> Line:
        told = {"content": text, "level": "info", "kind": kind}
        line = {"type": "system", "subtype": "informational", **told}
        return {**line, "session_id": self._session_id, "uuid": self._new_uuid()}

    def _synthetic(self, end: End) -> Line:
        """A model that could not be used has a line that says so."""
        message = {
            "id": self._new_uuid(),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": end.result}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        line = {"type": "assistant", "message": message, "parent_tool_use_id": None, "error": end.category}
        return {**line, "session_id": self._session_id, "uuid": self._new_uuid(), "is_api_error_message": True}

    def _named(self, event: Result) -> Result:
        """The result with its refusals under the client's names."""
        denials = [
            {
                "tool_name": self._names.tool(denial["tool_name"], denial["tool_input"]),
                "tool_use_id": denial["tool_use_id"],
                "tool_input": self._names.shown(denial["tool_name"], denial["tool_input"]),
            }
            for denial in event.permission_denials
        ]
        return msgspec.structs.replace(event, permission_denials=denials)


def _listed(tool: str) -> str:
    """In the list of tools the one that starts subagents goes by its older name."""
    return "Task" if tool == "task" else their_name(tool)


def _agent(event: Assistant | User) -> Line:
    """Which agent a line is of, where it is not the main one."""
    if not event.agent_id:
        return {}
    kind, description = event.subagent_type, event.task_description
    return {"agent_id": event.agent_id, "subagent_type": kind, "task_description": description}


def _key(event: Assistant | User, call_id: str) -> tuple[str, str]:
    """Agents may name their calls alike."""
    return event.agent_id or "", call_id


def _plain(event: Event) -> Line:
    line: Mapping[str, Any] = msgspec.to_builtins(event)
    return dict(line)

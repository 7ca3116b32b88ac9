"""A session for a client of Claude Code: opened by what the client says first, then served to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.errors import SIGINT_EXIT, RemitError, exit_code
from remit.base.events import Notice, Result
from remit.base.ports import Names
from remit.base.records import Record, UserSaid
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.client import Client, ControlFault, Reply
from remit.engine.client_hooks import ClientHooks, Matcher, never_heard, read_matchers
from remit.engine.client_questions import ClientQuestions
from remit.engine.hooks import Facts
from remit.engine.inbox import Inbox
from remit.engine.session import Session
from remit.policy.modes import ModeName
from remit.store.run_list import RunEntry
from remit.store.rundir import RunDir
from remit.stream.claude import VERSION, ClaudeStream
from remit.stream.claude_end import NOT_STARTED
from remit.stream.inbound import LineReader, Said, Unreadable
from remit.tools.contract import Tool
from remit.wiring.assembly import ReadyRun
from remit.wiring.client_tools import ClientServer
from remit.wiring.driven import serve_jobs, take
from remit.wiring.fork import fork
from remit.wiring.implement import controls as implement_controls
from remit.wiring.models import open_models
from remit.wiring.permissions import Permissions, checked_mode
from remit.wiring.ports import Listeners, Ports
from remit.wiring.ready import Fresh, resume, start
from remit.wiring.rewind import Point, go_back
from remit.wiring.sdk_answers import (
    context_usage,
    effort_of_tokens,
    initialized,
    models,
    refusals,
    servers,
    to_background,
)

PASSED_OVER = ("agents", "skills", "toolAliases", "planModeInstructions")
"""Wishes of a client that change nothing here, which is told."""


class Wanted(msgspec.Struct):
    """What a client says before its first message, beside the flags. None: nothing."""

    system: str | None = None
    append: str | None = None
    schema: dict[str, Any] | None = None
    model: str | None = None
    mode: str | None = None
    effort: Any = msgspec.UNSET
    matchers: dict[str, list[Matcher]] = {}


class Place(msgspec.Struct, frozen=True):
    """Where the session goes on. entry: the run that is taken up, None for a new one; with `fork` it is copied.
    session_id: of a new one, "" for any. missing: the id that was asked for and is not there. point: the message that
    it goes on from, None for the last."""

    entry: RunEntry | None = None
    fork: bool = False
    session_id: str = ""
    missing: str = ""
    point: Point | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The command line, made into what a session needs. make_spec: from what the client wants and the tools that it
    offers. prompt: None where messages come as lines. servers: names of MCP servers that live in the client.
    left_out: whether a tool of theirs is not offered. directories: beside the working directory, that are read."""

    settings: Settings
    environ: Mapping[str, str]
    cwd: str
    make_spec: Callable[[Wanted, Sequence[Tool]], RunSpec]
    place: Place
    prompt: str | None = None
    servers: tuple[str, ...] = ()
    left_out: Callable[[str], bool] = lambda _: False
    directories: tuple[str, ...] = ()
    asks: bool = False
    may_bypass: bool = False
    partial: bool = False
    replay: bool = False
    ephemeral: bool = False
    mode: str = "default"


class BadInput(Exception):
    """A line of the client that ends the session; the text is for stderr."""


class SdkSession:
    """One process of such a client. fault: told of an error that no run could tell of."""

    def __init__(
        self,
        plan: Plan,
        stream: ClaudeStream,
        names: Names,
        ports: Ports,
        fault: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._stream = stream
        self._ports = ports
        self._fault = fault
        self._inbox = Inbox()
        seconds = plan.settings.client_seconds
        self._client = Client(self._inbox, stream.emit, ports.new_uuid, answer_seconds=seconds, names=names)
        self._client.also_serve(self._controls())
        self._client.on_permissions = self._permit
        self._wanted = Wanted()
        self._servers = {name: ClientServer(name, self._client) for name in plan.servers}
        self._opened = asyncio.Event()
        self._opened.set()
        self._ready: ReadyRun | None = None
        self._permissions: Permissions | None = None
        self._hooks: ClientHooks | None = None
        self._bad = False
        self._left_out: list[str] = []
        self._stop: RemitError | None = None
        self._opening: asyncio.Task[bool] | None = None

    def stop(self, reason: RemitError) -> None:
        """End cleanly, from within the loop; the first reason counts. Before there is a run nothing is begun."""
        self._stop = self._stop or reason
        if self._ready is not None:
            self._ready.run.stop(self._stop)
        elif self._opening is not None:
            self._opening.cancel()

    def hold_deadline(self) -> None:
        """Raise BudgetSpent when the time of the run is over."""
        if self._ready is not None:
            self._ready.run.hold_deadline()

    async def serve(self, fd: int) -> int:
        """To the end; the exit code."""
        listening: asyncio.Task[None] | None = None
        if self._plan.prompt is None:
            listening = asyncio.create_task(self._listen(fd))
        else:
            self._inbox.put(UserSaid(self._plan.prompt))
            self._client.leave()
        try:
            return await self._serve()
        finally:
            if listening is not None:
                listening.cancel()
            if self._ready is not None:
                self._ready.close()

    async def _open(self) -> bool:
        """Whether there is a message to begin with, once all is said that goes before it."""
        if not await self._inbox.wait():
            return False
        await self._opened.wait()
        await self._open_servers()
        return True

    async def _serve(self) -> int:
        self._opening = asyncio.create_task(self._open())
        await asyncio.wait({self._opening})
        if self._opening.cancelled():
            return _code(self._stop)
        if not self._opening.result():
            return int(self._bad)
        try:
            self._ready = ready = self._start()
        except RemitError as error:
            return self._no_run(error)
        self._enter(ready)
        session = Session(ready.run, self._inbox, first=False, began=self._began, ended=self._ended)
        ready.run.on_stop = session.wake
        last = await session.serve()
        if ready.run.stopped is not None:
            return _code(ready.run.stopped)
        return int(self._bad or (last is not None and self._stream.failed))

    # -- opening -------------------------------------------------------------------------------

    def _start(self) -> ReadyRun:
        plan = self._plan
        if plan.place.missing:
            raise RemitError(f"No conversation found with session ID: {plan.place.missing}", kind="no_session")
        tools = self._ports_tools()
        ports = msgspec.structs.replace(
            self._ports,
            client=True,
            tools=tools,
            followers=(*self._ports.followers, self._follow),
            person=ClientQuestions(self._client) if plan.asks else None,
            original=self._stream.keep_original,
            names=self._client.names,
            response=self._response,
        )
        self._stream.servers += [
            {"name": server.name, "status": server.status, "source": "sdk"} for server in self._servers.values()
        ]
        spec = plan.make_spec(self._wanted, tools)
        self._spec = spec
        heard = Listeners([self._stream], (), partial=plan.partial)
        entry, fresh = plan.place.entry, Fresh(plan.place.session_id, plan.ephemeral)
        if entry is None:
            return start(spec, plan.settings, None, heard, ports, fresh=fresh)
        if plan.place.point is not None:
            return self._go_back(entry, plan.place.point, spec, heard, ports)
        if plan.place.fork:
            return fork(entry, self._taken_up, plan.settings, None, heard, ports, mode=spec.mode, fresh=fresh)
        directory = RunDir.open(entry.path)
        return resume(directory, self._taken_up, plan.settings, heard, ports, further=True, mode=spec.mode)

    def _go_back(self, entry: RunEntry, point: Point, spec: RunSpec, heard: Listeners, ports: Ports) -> ReadyRun:
        """A copy up to a message. What was there stays in the run that it was copied from."""
        plan = self._plan
        origin, kept = go_back(entry, point, plan.settings.state_dir)
        # Without a fork the session keeps its id, and the newest run of an id is the one that is taken up.
        same = entry.status.session_id if entry.status is not None and not plan.place.fork else ""
        fresh = Fresh(plan.place.session_id or same, plan.ephemeral)
        return fork(origin, self._taken_up, plan.settings, None, heard, ports, mode=spec.mode, fresh=fresh, kept=kept)

    def _taken_up(self, old: RunSpec) -> RunSpec:
        """The flags of this process, with the system prompt that the session began with unless there is another."""
        spec = self._spec
        if not spec.system_base and not spec.system:
            spec = msgspec.structs.replace(spec, system_base=old.system_base, system=old.system)
        self._spec = spec
        return spec

    def _no_run(self, error: RemitError) -> int:
        """An error before the first line of a run: stderr has it, and the client reads a result."""
        self._fault(error.what if error.kind == "no_session" else f"Error: {error}")
        self._stream.emit(
            Result(
                subtype="error_during_execution",
                is_error=True,
                verdict=error.verdict.value,
                exit_code=exit_code(error),
                duration_ms=0,
                duration_api_ms=0,
                num_turns=0,
                session_id=self._plan.place.session_id or self._ports.new_uuid(),
                uuid=self._ports.new_uuid(),
                errors=[str(error)],
                error_kind=NOT_STARTED,
            )
        )
        return 1

    def _enter(self, ready: ReadyRun) -> None:
        plan = self._plan
        jobs = ready.jobs
        self._client.attach(ready.run, ready.recorder, None if jobs is None else jobs.inbox)
        self._inbox = self._inbox if jobs is None else jobs.inbox
        serve_jobs(ready, self._client)
        self._client.also_serve(
            {**implement_controls(ready, self._client.say), "background_tasks": to_background(jobs)}
        )
        self._permissions = Permissions(
            ready.ruling, may_bypass=plan.may_bypass, told=self._told_permission, on_mode=self._on_mode
        )
        self._on_mode(ready.ruling.mode)
        self._hook(self._wanted.matchers)
        for text in (text for server in self._servers.values() for text in server.left_out):
            ready.run.tell(Notice(kind="tools", text=text))
        for text in self._left_out:
            ready.run.tell(Notice(kind="input", text=text))
        if self._stop is not None:
            ready.run.stop(self._stop)

    def _hook(self, matchers: Mapping[str, Sequence[Matcher]]) -> None:
        """These callbacks are heard from here on."""
        assert self._ready is not None
        directory = self._ready.directory
        if unheard := never_heard(matchers):
            text = f"callbacks for {', '.join(unheard)} are never called: there is no such step here"
            self._client.tell(Notice(kind="hooks", text=text))
        if self._hooks is not None:
            self._hooks.matchers = matchers
        elif matchers:
            facts = Facts(
                directory.status.session_id,
                directory.journal_path,
                self._plan.cwd,
                lambda: self._stream.mode,
                response=self._response,
            )
            self._hooks = ClientHooks(self._client, matchers, facts)
            self._ready.dispatch.hooks.add(self._hooks)

    def _response(self, agent_id: str, call: Call, outcome: Outcome, content: str) -> Any:
        return self._stream.response(agent_id, call.id, content, outcome.envelope())

    def _ports_tools(self) -> tuple[Tool, ...]:
        tools = (tool for server in self._servers.values() for tool in server.tools)
        return tuple(tool for tool in tools if not self._plan.left_out(tool.name))

    def _told_permission(self, text: str) -> None:
        self._client.tell(Notice(kind="permissions", text=text))

    def _on_mode(self, mode: ModeName) -> None:
        self._stream.mode = mode
        if self._ready is not None:
            self._ready.dispatch.client = self._client if self._plan.asks else None

    async def _open_servers(self) -> None:
        await asyncio.gather(*(server.open() for server in self._servers.values() if server.status == "pending"))

    # -- while it lasts ------------------------------------------------------------------------

    def _began(self) -> None:
        self._client.tell_state("running")

    def _ended(self, result: Result) -> None:
        assert self._ready is not None
        self._ready.leave_status(result)
        for uuid in result.user_message_uuids:
            self._stream.tell(type="command_lifecycle", command_uuid=uuid, state="completed")
        jobs = self._ready.jobs
        if not len(self._inbox) and not (jobs is not None and jobs.active()):
            self._client.tell_state("idle")

    def _follow(self, record: Record) -> None:
        """A message of the client goes to the model."""
        if not isinstance(record, UserSaid) or record.synthetic:
            return
        if self._plan.replay:
            self._stream.tell_replay(record.text, record.uuid)
        if record.uuid:
            self._stream.tell(type="command_lifecycle", command_uuid=record.uuid, state="started")

    async def _listen(self, fd: int) -> None:
        reader = LineReader(fd, asyncio.get_running_loop())
        try:
            async for line in reader.lines():
                if isinstance(line, Unreadable):
                    self._refuse_line(line)
                    break
                if isinstance(line, Said) and line.uuid:
                    self._stream.tell(type="command_lifecycle", command_uuid=line.uuid, state="queued")
                take(line, self._client)
        finally:
            self._client.leave()

    def _refuse_line(self, line: Unreadable) -> None:
        """Their program ends on a line that it cannot read, once what came before is served; so does this one."""
        self._bad = True
        if "message of role user" in line.what:
            self._fault(f"Error: Expected message role 'user', got '{line.what.rpartition('not ')[2].strip(chr(39))}'")
        else:
            self._fault(
                f"Error parsing streaming input line (type=unknown, {line.size} chars): SyntaxError: {line.what}"
            )

    def _permit(self, updates: Sequence[Any]) -> None:
        if self._permissions is not None:
            self._permissions.update(updates)

    # -- controls ------------------------------------------------------------------------------

    def _controls(self) -> dict[str, Any]:
        return {
            "initialize": self._initialize,
            "set_permission_mode": self._set_mode,
            "set_model": self._set_model,
            "set_max_thinking_tokens": self._set_thinking,
            "mcp_status": self._mcp_status,
            "mcp_reconnect": self._no_server,
            "mcp_toggle": self._no_server,
            "get_context_usage": self._context_usage,
            "stop_task": self._stop_task,
            "background_tasks": to_background(None),
            "list_models": self._list_models,
            "get_binary_version": self._version,
            "implement": self._no_plan,
            **refusals(),
        }

    async def _initialize(self, fields: Mapping[str, Any]) -> Reply:
        if self._ready is not None:
            # One that comes again says anew what its callbacks are; all else is settled.
            self._hook(read_matchers(fields.get("hooks")))
        else:
            self._opened.clear()
            try:
                self._read_wishes(fields)
                await self._open_servers()
            finally:
                self._opened.set()
        key = "ANTHROPIC_API_KEY"
        return initialized(self._stream.mode, key if self._plan.environ.get(key) else "none")

    def _read_wishes(self, fields: Mapping[str, Any]) -> None:
        wanted = self._wanted
        wanted.matchers = read_matchers(fields.get("hooks"))
        wanted.system = _text(fields.get("systemPrompt")) or wanted.system
        wanted.append = _text(fields.get("appendSystemPrompt")) or wanted.append
        if fields.get("jsonSchema") is not None:
            from remit.base.json_schema import schema_fault, without_draft

            schema = without_draft(fields["jsonSchema"])
            if fault := schema_fault(schema):
                raise ControlFault(f"jsonSchema: {fault}")
            wanted.schema = schema
        passed_over = [name for name in PASSED_OVER if fields.get(name)]
        configs = fields.get("sdkMcpServerConfigs")
        given = configs.values() if isinstance(configs, dict) else ()
        if any(isinstance(each, dict) and each.get("tools") for each in given):
            passed_over.append("tools of sdkMcpServerConfigs")
        if passed_over:
            self._left_out.append(f"{', '.join(passed_over)} of initialize: that has no effect here")
        manifests = fields.get("sdkMcpServerManifests")
        for name in fields.get("sdkMcpServers") or ():
            server = self._servers.setdefault(str(name), ClientServer(str(name), self._client))
            told = manifests.get(name) if isinstance(manifests, dict) else None
            if isinstance(told, dict) and isinstance(told.get("tools"), list):
                server.offer(told["tools"])

    async def _set_mode(self, fields: Mapping[str, Any]) -> Reply:
        if self._permissions is not None:
            return {"mode": self._permissions.set_mode(fields.get("mode"))}
        self._wanted.mode = self._stream.mode = checked_mode(fields.get("mode"), may_bypass=self._plan.may_bypass)
        return {"mode": self._wanted.mode}

    async def _set_model(self, fields: Mapping[str, Any]) -> Reply:
        model = fields.get("model")
        if model is not None and (not isinstance(model, str) or not model):
            raise ControlFault("set_model: the model is a name or null")
        before, self._wanted.model = self._wanted.model, model
        if self._ready is not None:
            try:
                spec = self._plan.make_spec(self._wanted, self._ports_tools())
                models = open_models(spec, self._plan.settings.config_dir, self._plan.environ, self._ready.guard)
            except RemitError:
                self._wanted.model = before
                raise
            self._ready.asker.use(models)
        self._stream.tell_replay(f"Set model to {model or 'the default'}", "")
        return {"model": model}

    async def _set_thinking(self, fields: Mapping[str, Any]) -> Reply:
        if "max_thinking_tokens" not in fields:
            return {}
        self._wanted.effort = effort_of_tokens(fields["max_thinking_tokens"])
        if self._ready is not None:
            self._ready.asker.effort = self._wanted.effort
        return {}

    async def _mcp_status(self, fields: Mapping[str, Any]) -> Reply:
        return servers(tuple(self._servers.values()), self._stream.servers)

    async def _no_server(self, fields: Mapping[str, Any]) -> Reply:
        name = fields.get("serverName")
        if any(each["name"] == name for each in self._stream.servers) or name in self._servers:
            raise ControlFault(f"{name} stays as it is: servers are connected to once, at the start")
        raise ControlFault(f"Server not found: {name}")

    async def _stop_task(self, fields: Mapping[str, Any]) -> Reply:
        raise ControlFault(f"there is no task {fields.get('task_id')!r}: nothing runs in the background here")

    async def _context_usage(self, fields: Mapping[str, Any]) -> Reply:
        if self._ready is None:
            raise ControlFault("there is no conversation yet")
        return context_usage(self._ready.run.tokens(), self._ready.asker)

    async def _list_models(self, fields: Mapping[str, Any]) -> Reply:
        return {"models": models()}

    async def _version(self, fields: Mapping[str, Any]) -> Reply:
        return {"version": VERSION}

    async def _no_plan(self, fields: Mapping[str, Any]) -> Reply:
        raise ControlFault("this session has no plan: it has never been in plan mode")


def _code(stopped: RemitError | None) -> int:
    """Of a session that was stopped. SIGINT is how their clients end one that is well."""
    code = exit_code(stopped)
    return 0 if code == SIGINT_EXIT else code


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""

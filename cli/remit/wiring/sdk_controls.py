"""What a client of Claude Code asks for beside its messages: control requests, before there is a run and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remit.base.calls import Call, Outcome
from remit.base.errors import RemitError
from remit.base.events import Notice
from remit.engine.client import Client, ControlFault, Reply
from remit.engine.client_hooks import ClientHooks, Matcher, never_heard, read_matchers
from remit.engine.hand_in import TOOL as PLAN_TOOL
from remit.engine.hand_in import HandIn, is_handed_in
from remit.engine.hooks import Facts
from remit.policy.modes import DEFAULT, PLAN, ModeName
from remit.stream.claude import VERSION, ClaudeStream
from remit.wiring.assembly import ReadyRun
from remit.wiring.implement import controls as implement_controls
from remit.wiring.models import open_models
from remit.wiring.permissions import Permissions, checked_mode
from remit.wiring.sdk_answers import (
    REFUSED,
    context_usage,
    effort_of_tokens,
    initialized,
    models,
    refusals,
    servers,
    to_background,
)
from remit.wiring.sdk_plan import Plan
from remit.wiring.sdk_wishes import Wishes


class Controls:
    """Serves what the client asks for."""

    def __init__(self, plan: Plan, stream: ClaudeStream, client: Client, wishes: Wishes) -> None:
        self._plan = plan
        self._stream = stream
        self._client = client
        self._wishes = wishes
        self._ready: ReadyRun | None = None
        self._permissions: Permissions | None = None
        self._hooks: ClientHooks | None = None
        self._told_reading = False

    def enter(self, ready: ReadyRun) -> None:
        """There is a run: from here on it is what requests are about."""
        self._ready = ready
        self._client.also_serve(
            {**implement_controls(ready, self._client.say), "background_tasks": to_background(ready.jobs)}
        )
        self._permissions = Permissions(
            ready.ruling, may_bypass=self._plan.may_bypass, told=self._told_permission, on_mode=self._on_mode
        )
        self._on_mode(ready.ruling.mode)
        if self._plan.asks:
            ready.dispatch.hooks.add(HandIn(lambda: ready.ruling.mode))
            self._client.on_allowed = self._leave_plan
            self._client.asks_people |= {PLAN_TOOL}
        self._hook(self._wishes.wanted.matchers)

    def _leave_plan(self, call: Call) -> None:
        """A plan that the client approves ends plan mode, unless it said itself what comes next."""
        assert self._ready is not None and self._permissions is not None
        if is_handed_in(call) and self._ready.ruling.mode == PLAN:
            self._permissions.set_mode(DEFAULT)

    def permit(self, updates: Sequence[Any]) -> None:
        """Changes that come with the answer to a question."""
        if self._permissions is not None:
            self._permissions.update(updates)

    def response(self, agent_id: str, call: Call, outcome: Outcome, content: str) -> Any:
        """What the client is shown of a result."""
        return self._stream.response(agent_id, call.id, content, outcome.envelope())

    def table(self) -> dict[str, Any]:
        """The handlers, by subtype."""
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
            "read_file": self._read_file,
        }

    async def _initialize(self, fields: Mapping[str, Any]) -> Reply:
        if self._ready is not None:
            # One that comes again says anew what its callbacks are; all else is settled.
            self._hook(read_matchers(fields.get("hooks")))
        else:
            await self._wishes.take(fields)
        key = "ANTHROPIC_API_KEY"
        return initialized(
            self._stream.mode, key if self._plan.environ.get(key) else "none", self._wishes.wanted.agents
        )

    async def _set_mode(self, fields: Mapping[str, Any]) -> Reply:
        if self._permissions is not None:
            return {"mode": self._permissions.set_mode(fields.get("mode"))}
        self._wishes.wanted.mode = self._stream.mode = checked_mode(
            fields.get("mode"), may_bypass=self._plan.may_bypass
        )
        return {"mode": self._wishes.wanted.mode}

    async def _set_model(self, fields: Mapping[str, Any]) -> Reply:
        model = fields.get("model")
        if model is not None and (not isinstance(model, str) or not model):
            raise ControlFault("set_model: the model is a name or null")
        before, self._wishes.wanted.model = self._wishes.wanted.model, model
        if self._ready is not None:
            try:
                spec = self._plan.make_spec(self._wishes.wanted, self._wishes.tools())
                models = open_models(spec, self._plan.settings.config_dir, self._plan.environ, self._ready.guard)
            except RemitError:
                self._wishes.wanted.model = before
                raise
            self._ready.asker.use(models)
        self._stream.tell_replay(f"Set model to {model or 'the default'}", "")
        return {"model": model}

    async def _set_thinking(self, fields: Mapping[str, Any]) -> Reply:
        if "max_thinking_tokens" not in fields:
            return {}
        self._wishes.wanted.effort = effort_of_tokens(fields["max_thinking_tokens"])
        if self._ready is not None:
            self._ready.asker.effort = self._wishes.wanted.effort
        return {}

    async def _mcp_status(self, fields: Mapping[str, Any]) -> Reply:
        return servers(tuple(self._wishes.servers.values()), self._stream.servers)

    async def _no_server(self, fields: Mapping[str, Any]) -> Reply:
        name = fields.get("serverName")
        if any(each["name"] == name for each in self._stream.servers) or name in self._wishes.servers:
            raise ControlFault(f"{name} stays as it is: servers are connected to once, at the start")
        raise ControlFault(f"Server not found: {name}")

    async def _stop_task(self, fields: Mapping[str, Any]) -> Reply:
        raise ControlFault(f"there is no task {fields.get('task_id')!r}: nothing runs in the background here")

    async def _context_usage(self, fields: Mapping[str, Any]) -> Reply:
        if self._ready is None:
            raise ControlFault("there is no conversation yet")
        return context_usage(*self._ready.run.tokens(), self._ready.asker)

    async def _read_file(self, fields: Mapping[str, Any]) -> Reply:
        why = REFUSED["read_file"]
        if not self._told_reading:
            # The official clients take an error for a file that is not there, so that nobody would hear of it.
            self._told_reading = True
            self._client.tell(Notice(kind="input", text=f"read_file of the client is refused: {why}"))
        raise ControlFault(why)

    async def _list_models(self, fields: Mapping[str, Any]) -> Reply:
        return {"models": models()}

    async def _version(self, fields: Mapping[str, Any]) -> Reply:
        return {"version": VERSION}

    async def _no_plan(self, fields: Mapping[str, Any]) -> Reply:
        raise ControlFault("this session has no plan: it has never been in plan mode")

    # -- what they set ------------------------------------------------------------------------

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
                response=self.response,
            )
            self._hooks = ClientHooks(self._client, matchers, facts)
            self._ready.dispatch.hooks.add(self._hooks)

    def _told_permission(self, text: str) -> None:
        self._client.tell(Notice(kind="permissions", text=text))

    def _on_mode(self, mode: ModeName) -> None:
        self._stream.mode = mode
        if self._ready is not None:
            self._ready.dispatch.client = self._client if self._plan.asks else None

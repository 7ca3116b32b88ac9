"""What a client of Claude Code says before its first message: `initialize`, and the tools of its own servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from remit.base.events import Notice
from remit.engine.client import Client, ControlFault
from remit.engine.client_hooks import read_matchers
from remit.tools.harness.client_tool import ClientTool, name_apart
from remit.wiring.client_tools import ClientServer
from remit.wiring.sdk_agents import read_agents
from remit.wiring.sdk_plan import Plan, Wanted

PASSED_OVER = ("skills", "toolAliases", "planModeInstructions")
"""Wishes of a client that change nothing here, which is told."""


class Wishes:
    """wanted: beside the flags. servers: those that live in the client, by name."""

    def __init__(self, plan: Plan, client: Client) -> None:
        self._plan = plan
        self._client = client
        self.wanted = Wanted(agents=dict(plan.agents))
        self.servers = {name: ClientServer(name, client) for name in plan.servers}
        self._left_out: list[str] = []
        self._taken = asyncio.Event()
        self._taken.set()

    async def take(self, fields: Mapping[str, Any]) -> None:
        """All that the client wants. Raises ControlFault for what makes no sense."""
        self._taken.clear()
        try:
            self._read(fields)
            await self._open_servers()
        finally:
            self._taken.set()

    async def settle(self) -> None:
        """Until all is said that goes before the first message."""
        await self._taken.wait()
        await self._open_servers()

    def tools(self) -> tuple[ClientTool, ...]:
        """What the client offers."""
        tools = [tool for server in self.servers.values() for tool in server.tools]
        name_apart(tools)
        return tuple(tool for tool in tools if not self._plan.left_out(tool, tools))

    def passed_over(self) -> Iterator[Notice]:
        """What has no effect here."""
        for server in self.servers.values():
            yield from (Notice(kind="tools", text=text) for text in server.left_out)
        yield from (Notice(kind="input", text=text) for text in self._left_out)

    async def _open_servers(self) -> None:
        await asyncio.gather(*(server.open() for server in self.servers.values() if server.status == "pending"))

    def _read(self, fields: Mapping[str, Any]) -> None:
        wanted = self.wanted
        wanted.matchers = read_matchers(fields.get("hooks"))
        wanted.system = _text(fields.get("systemPrompt")) or wanted.system
        wanted.append = _text(fields.get("appendSystemPrompt")) or wanted.append
        agents, faults = read_agents(fields.get("agents"), "agents of initialize")
        wanted.agents |= agents
        self._left_out += faults
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
            server = self.servers.setdefault(str(name), ClientServer(str(name), self._client))
            told = manifests.get(name) if isinstance(manifests, dict) else None
            if isinstance(told, dict) and isinstance(told.get("tools"), list):
                server.offer(told["tools"])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""

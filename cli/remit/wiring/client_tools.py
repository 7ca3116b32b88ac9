"""MCP servers that live in the client: found and called by control messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit import __version__
from remit.base.errors import ErrorCode, Failure
from remit.base.json_schema import schema_fault, without_draft
from remit.engine.client import Client, NoAnswer
from remit.tools.harness.client_tool import CLIENT_SECONDS, ClientTool

PROTOCOL = "2025-06-18"
HANDSHAKE_SECONDS = 30.0
MAX_PAGES = 50


class ClientServer:
    """One of them. status: `connected` or `failed`; info: what it says of itself; tools: what it offers; left_out:
    a line on each tool that cannot be offered."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self.status = "pending"
        self.info: dict[str, Any] = {}
        self.tools: list[ClientTool] = []
        self.left_out: list[str] = []
        self._client = client
        self._number = 0

    async def open(self) -> None:
        """Shake hands and ask for the tools; a server that does not answer is `failed`."""
        hello = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "remit", "version": __version__},
        }
        try:
            answer = await self._request("initialize", hello, HANDSHAKE_SECONDS)
            await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"}, HANDSHAKE_SECONDS)
            self.offer(await self._list())
        except (NoAnswer, Failure):
            self.status = "failed"
            return
        info = answer.get("serverInfo")
        self.info = info if isinstance(info, dict) else {}

    def offer(self, entries: list[Any]) -> None:
        """Take entries of `tools/list`, which may have come without being asked for."""
        self.tools, self.left_out = [], []
        by_name = {told["name"]: told for told in filter(_is_tool, entries)}
        for told in by_name.values():
            entry = {**told, "inputSchema": without_draft(told.get("inputSchema"))}
            if fault := _fault(entry):
                self.left_out.append(f"{self.name}: the tool {entry['name']} is not offered: its inputSchema: {fault}")
            else:
                self.tools.append(ClientTool(self.name, entry, self.call))
        self.status = "connected"

    async def _list(self) -> list[Any]:
        found: list[Any] = []
        cursor: Any = None
        for _ in range(MAX_PAGES):
            page = await self._request("tools/list", {} if cursor is None else {"cursor": cursor}, HANDSHAKE_SECONDS)
            entries = page.get("tools")
            found += entries if isinstance(entries, list) else []
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`tools/call`. Raises Failure."""
        try:
            return await self._request("tools/call", {"name": tool, "arguments": dict(arguments)}, CLIENT_SECONDS)
        except NoAnswer as problem:
            raise Failure(ErrorCode.COMMAND_FAILED, f"{self.name}: {problem}") from None

    async def _request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        reply = await self._send(message, seconds)
        error = reply.get("error")
        if isinstance(error, dict):
            what = str(error.get("message") or "it gave no reason")
            raise Failure(ErrorCode.COMMAND_FAILED, f"{self.name} refused {method}: {what}")
        result = reply.get("result")
        if not isinstance(result, dict):
            raise Failure(ErrorCode.COMMAND_FAILED, f"{self.name} answered {method} with no result")
        return result

    async def _send(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        fields = {"server_name": self.name, "message": message}
        reply = (await self._client.ask("mcp_message", fields, seconds)).get("mcp_response")
        return reply if isinstance(reply, dict) else {}


def _is_tool(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("name"), str) and bool(entry["name"])


def _fault(entry: Mapping[str, Any]) -> str:
    """Why no arguments could be judged by its schema; "" where they can."""
    schema = entry.get("inputSchema")
    return schema_fault(schema) if isinstance(schema, dict) else ""

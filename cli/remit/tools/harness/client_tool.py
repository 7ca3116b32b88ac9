"""A tool that the client of a session offers, over the control protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.calls import Outcome, done, err
from remit.base.errors import ErrorCode, Failure
from remit.base.json_schema import problems
from remit.base.limits import Bounds
from remit.base.messages import ImageBlock, ToolSpec
from remit.base.model_json import decode_json
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import plain_name
from remit.tools.contract import Tool

CLIENT_SECONDS = 600.0
MAX_DESCRIPTION = 4000
MAX_NAME = 64
"""Characters of a name that every provider takes."""

Answer = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Call the tool of that name, with these arguments: the result object of `tools/call`. Raises Failure."""


class ClientTool(Tool):
    """Offered by the program that drives the session."""

    name = "mcp"
    toolset = "client"
    effects = frozenset({Effect.MESSAGE})
    bounds = Bounds(seconds=CLIENT_SECONDS)
    harness = True

    def __init__(self, server: str, told: Mapping[str, Any], answer: Answer) -> None:
        """told: the entry of `tools/list`."""
        self.told_name = str(told.get("name", ""))
        """What its server calls it."""
        self.told_as = f"mcp__{server}__{self.told_name}"
        """Its name as the client writes it, in any letters."""
        self.rename(_plain(self.told_as))
        self._description = str(told.get("description") or "")[:MAX_DESCRIPTION]
        schema = told.get("inputSchema")
        self._schema: dict[str, Any] = dict(schema) if isinstance(schema, dict) else {"type": "object"}
        self._answer = answer

    def rename(self, name: str) -> None:
        # Beside the class, whose name stands for all of them.
        vars(self)["name"] = name

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self._description, self.schema())

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {}, **self._schema}

    def parse(self, arguments: str) -> Any:
        try:
            value = decode_json(arguments or "{}")
        except msgspec.DecodeError as problem:
            raise Failure(ErrorCode.INVALID_JSON, f"{self.name}: the arguments are not valid JSON: {problem}") from None
        found = problems(self._schema, value)
        if found or not isinstance(value, dict):
            what = "; ".join(found) or "the arguments are no object"
            raise Failure(ErrorCode.INVALID_ARGUMENTS, f"{self.name}: {what}")
        return value

    def resources(self, params: Any, world: World) -> Sequence[Resource]:
        return [Resource("topic", self.name, Effect.MESSAGE)]

    async def run(self, params: Any, ctx: ToolContext) -> Outcome:
        result = await self._answer(self.told_name, params)
        blocks = result.get("content")
        content = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
        text = "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
        if result.get("isError"):
            return err(ErrorCode.COMMAND_FAILED, text or f"{self.name} failed and does not say why")
        images = tuple(
            ImageBlock(str(block["mimeType"]), str(block["data"]))
            for block in content
            if block.get("type") == "image" and "mimeType" in block and "data" in block
        )
        data = {"content": content, "structured": result.get("structuredContent")}
        return done(data, text or "(no text)", images)


def name_apart(tools: Sequence[ClientTool]) -> None:
    """Give each a name of its own. One that may stay as the client writes it does; the same tools in the same order
    have the same names."""
    taken: set[str] = set()
    for tool in sorted(tools, key=lambda each: _plain(each.told_as) != each.told_as):
        name, number = _plain(tool.told_as), 1
        while name in taken:
            number += 1
            ending = f"_{number}"
            name = _plain(tool.told_as)[: MAX_NAME - len(ending)] + ending
        taken.add(name)
        tool.rename(name)


def _plain(name: str) -> str:
    return plain_name(name).replace("*", "_")[:MAX_NAME]

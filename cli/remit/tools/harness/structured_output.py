"""structured_output: the task's result as a value that fits the task's schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.json_schema import problems
from remit.base.model_json import decode_json
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool


class StructuredOutput(Tool):
    """Gives the result of the task. The arguments are the result itself and must fit this schema; a
    result that is no object stands in the one parameter `value`. Call it once, when everything else is
    done; a value that does not fit is returned with the reason."""

    name = "structured_output"
    toolset = "harness"
    effects = frozenset({Effect.STATE})
    repeatable = True
    harness = True
    bounds_repeats = True

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._wrapped = schema.get("type") != "object"

    def schema(self) -> dict[str, Any]:
        """The task's schema; a value that is no object travels under `value`."""
        if not self._wrapped:
            return dict(self._schema)
        return {
            "type": "object",
            "properties": {"value": dict(self._schema)},
            "required": ["value"],
            "additionalProperties": False,
        }

    def parse(self, arguments: str) -> Any:
        try:
            value = decode_json(arguments or "{}")
        except msgspec.DecodeError as problem:
            raise Failure(ErrorCode.INVALID_JSON, f"the value is not valid JSON: {problem}") from None
        return self._unwrapped(value) if self._wrapped else value

    def _unwrapped(self, value: Any) -> Any:
        if not isinstance(value, dict) or set(value) != {"value"}:
            raise Failure(
                ErrorCode.INVALID_ARGUMENTS, "structured_output takes one parameter, `value`: the result itself"
            )
        return value["value"]

    def resources(self, params: Any, world: World) -> Sequence[Resource]:
        return [Resource("state", "structured_output", Effect.STATE)]

    async def run(self, params: Any, ctx: ToolContext) -> Outcome:
        found = problems(self._schema, params)
        ctx.state.submit_output(params, "; ".join(found))
        if found:
            raise Failure(ErrorCode.SCHEMA_MISMATCH, f"the value does not fit the schema: {'; '.join(found)}")
        return done({"accepted": True})

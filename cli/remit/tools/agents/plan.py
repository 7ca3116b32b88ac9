"""plan: the plan of the session, read or replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool


class PlanParams(msgspec.Struct, forbid_unknown_fields=True):
    action: Annotated[
        Literal["read", "write"], msgspec.Meta(description="read shows the plan, write replaces it by content.")
    ]
    content: Annotated[str | None, msgspec.Meta(description="The complete plan, for write.")] = None


class Plan(Tool):
    """Read the plan of this session, or replace it.

    A session has one plan, from when it first planned; give it complete each time, in Markdown, at most 256 KiB. Only
    the main agent may replace it. Writing it approves nothing and changes no mode.
    """

    name = "plan"
    toolset = "agents"
    effects = frozenset({Effect.STATE})
    bounds = Bounds(seconds=10.0, output_bytes=256 * 1024)
    repeatable = True
    Params = PlanParams

    def parse(self, arguments: str) -> PlanParams:
        params = super().parse(arguments)
        assert isinstance(params, PlanParams)
        if params.action == "write" and params.content is None:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, "content is missing; write takes the complete plan")
        if params.action == "read" and params.content is not None:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, "read takes no content; use action=write to replace the plan")
        return params

    def resources(self, params: PlanParams, world: World) -> Sequence[Resource]:
        return [Resource("state", "plan", Effect.STATE)]

    async def run(self, params: PlanParams, ctx: ToolContext) -> Outcome:
        if params.content is None:
            content = await ctx.in_thread(ctx.state.plan_document)
            return done({"content": content}, text=content)
        written = await ctx.in_thread(ctx.state.write_plan_document, params.content)
        text = f"The plan is kept: revision {written.revision}, {written.bytes:,} bytes."
        return done({"revision": written.revision, "bytes": written.bytes}, text=text)

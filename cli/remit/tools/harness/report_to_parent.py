"""report_to_parent: a word to the agent that this one works for, before its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

MAX_TITLE = 80
MAX_MESSAGE = 20_000


class ReportToParentParams(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    message: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_MESSAGE, description="What it should know now.")]
    title: Annotated[
        str, msgspec.Meta(min_length=1, max_length=MAX_TITLE, description="That in a line of at most 80 characters.")
    ]
    blocked: Annotated[
        bool, msgspec.Meta(description="You cannot go on: this ends your work, which then counts as not done.")
    ] = False


class ReportToParent(Tool):
    """Tell the agent that you work for what it should know before you are done: a finding that changes its plan, or
    with `blocked` that you cannot go on. Your final answer reaches it anyway; do not report progress."""

    name = "report_to_parent"
    toolset = "harness"
    effects = frozenset({Effect.STATE})
    harness = True
    hands = frozenset({"principal"})
    Params = ReportToParentParams

    def resources(self, params: ReportToParentParams, world: World) -> Sequence[Resource]:
        if not params.message.strip() or not params.title.strip():
            raise Failure(ErrorCode.INVALID_ARGUMENTS, "message and title must not be blank")
        return [Resource("state", "report", Effect.STATE)]

    async def run(self, params: ReportToParentParams, ctx: ToolContext) -> Outcome:
        ctx.principal.report(params.title.strip(), params.message, blocked=params.blocked)
        return done({"reported": True, "blocked": params.blocked})

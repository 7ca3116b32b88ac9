"""task_control: looks after agents and commands in the background."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


class Cursor(msgspec.Struct, forbid_unknown_fields=True):
    task_id: str


class TaskControlParams(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    action: Annotated[
        Literal["list", "status", "cancel", "background"],
        msgspec.Meta(description="background: a task that a call waits for goes on without it."),
    ]
    task_id: Annotated[str, msgspec.Meta(description="The task or command. Required except for list.")] = ""
    before: Annotated[
        Cursor | None, msgspec.Meta(description="For list: `next` of the last page, to see older ones.")
    ] = None
    limit: Annotated[
        int,
        msgspec.Meta(ge=1, le=MAX_LIMIT, description="For list: how many that have ended, 1 to 100. Default 20."),
    ] = DEFAULT_LIMIT


class TaskControl(Tool):
    """See to the agents and commands that you started and that go on in the background. list: those that run, and a
    page of those that ended, the newest first. status: one of them, with what it came to. cancel: end one.
    Results come by themselves: do not ask for them again and again."""

    name = "task_control"
    toolset = "agents"
    bundle = "task_control"
    effects = frozenset({Effect.STATE})
    hands = frozenset({"jobs"})
    bounds_repeats = True
    Params = TaskControlParams

    def resources(self, params: TaskControlParams, world: World) -> Sequence[Resource]:
        if params.action != "list" and not params.task_id:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, f"task_id: {params.action} needs one; list names them")
        return [Resource("state", "tasks", Effect.STATE)]

    async def run(self, params: TaskControlParams, ctx: ToolContext) -> Outcome:
        told: dict[str, Any]
        if params.action == "list":
            told = ctx.jobs.listing(params.before.task_id if params.before else "", params.limit)
        elif params.action == "status":
            told = ctx.jobs.status(params.task_id)
        elif params.action == "cancel":
            told = await ctx.jobs.cancel(params.task_id)
        else:
            told = ctx.jobs.promote(params.task_id)
        return done(told)

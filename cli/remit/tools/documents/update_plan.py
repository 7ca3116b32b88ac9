"""update_plan: the plan of the run, for those who watch it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import Step, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

MAX_STEPS = 50
MAX_STEP_CHARACTERS = 500
MAX_NOTE_CHARACTERS = 2000


class PlanStep(msgspec.Struct, forbid_unknown_fields=True):
    step: Annotated[
        str,
        msgspec.Meta(min_length=1, max_length=MAX_STEP_CHARACTERS, description="What is to be done, in a few words."),
    ]
    status: Annotated[
        Literal["pending", "in_progress", "completed"], msgspec.Meta(description="How far the step is.")
    ] = "pending"


class UpdatePlanParams(msgspec.Struct, forbid_unknown_fields=True):
    steps: Annotated[
        list[PlanStep], msgspec.Meta(max_length=MAX_STEPS, description="The whole plan, in order. Empty: no plan.")
    ]
    note: Annotated[
        str, msgspec.Meta(max_length=MAX_NOTE_CHARACTERS, description="Why the plan is as it is, or changed.")
    ] = ""


class UpdatePlan(Tool):
    """Record your plan, so that people who follow the run see what is done and what comes next.

    Give the whole plan each time: it replaces the one before. At most 50 steps of at most 500
    characters, a note of at most 2,000. Keep one step in_progress; several are accepted.
    This touches no files and no network, and does none of the work itself.
    """

    name = "update_plan"
    toolset = "documents"
    effects = frozenset({Effect.STATE})
    bounds = Bounds(seconds=10.0)
    repeatable = True
    harness = True
    Params = UpdatePlanParams

    def resources(self, params: UpdatePlanParams, world: World) -> Sequence[Resource]:
        return [Resource("state", "plan", Effect.STATE)]

    async def run(self, params: UpdatePlanParams, ctx: ToolContext) -> Outcome:
        for number, step in enumerate(params.steps, 1):
            if not step.step.strip():
                raise Failure(ErrorCode.INVALID_ARGUMENTS, f"step {number} of the plan is blank; say what it does")
        ctx.state.set_plan([Step(each.step, each.status) for each in params.steps], params.note)
        counts = Counter(each.status for each in params.steps)
        return done(
            {
                "steps": len(params.steps),
                "completed": counts["completed"],
                "in_progress": counts["in_progress"],
                "pending": counts["pending"],
            }
        )

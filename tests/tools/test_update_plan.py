from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Step, World
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.tools.documents.update_plan import UpdatePlan

NOWHERE = cast(World, None)
TOOL = UpdatePlan()


class Plan:
    """A run's state that keeps the plan."""

    def __init__(self) -> None:
        self.plans: list[tuple[list[Step], str]] = []

    def set_plan(self, steps: Sequence[Step], note: str) -> None:
        self.plans.append((list(steps), note))

    def propose_memory(self, text: str, tags: Sequence[str], reason: str) -> str:
        raise AssertionError

    def submit_output(self, value: Any) -> None:
        raise AssertionError


def call(arguments: Any, plan: Plan) -> Outcome:
    params = TOOL.parse(arguments if isinstance(arguments, str) else json.dumps(arguments))
    return asyncio.run(TOOL.run(params, CallContext("t1.c1", TOOL.name, granted_state=plan)))


def test_a_plan_is_recorded_whole() -> None:
    plan = Plan()
    steps = [
        {"step": "read the files", "status": "completed"},
        {"step": "count", "status": "in_progress"},
        {"step": "write report.md"},
    ]
    outcome = call({"steps": steps, "note": "counting now"}, plan)

    assert plan.plans == [
        (
            [Step("read the files", "completed"), Step("count", "in_progress"), Step("write report.md", "pending")],
            "counting now",
        )
    ]
    assert outcome.envelope() == {"ok": True, "data": {"steps": 3, "completed": 1, "in_progress": 1, "pending": 1}}
    assert json.loads(outcome.for_model()) == outcome.envelope()


def test_an_empty_plan_clears_it_and_several_steps_may_be_in_progress() -> None:
    plan = Plan()

    assert call({"steps": []}, plan).data == {"steps": 0, "completed": 0, "in_progress": 0, "pending": 0}
    assert call({"steps": [{"step": "a", "status": "in_progress"}] * 2}, plan).data["in_progress"] == 2
    assert len(plan.plans) == 2


@pytest.mark.parametrize(
    ("field", "passes", "fails"),
    [
        ("steps", {"steps": [{"step": "a"}] * 50}, {"steps": [{"step": "a"}] * 51}),
        ("step", {"steps": [{"step": "é" * 500}]}, {"steps": [{"step": "é" * 501}]}),
        ("note", {"steps": [], "note": "é" * 2000}, {"steps": [], "note": "é" * 2001}),
    ],
)
def test_the_limit_passes_and_one_more_is_refused(field: str, passes: Any, fails: Any) -> None:
    plan = Plan()
    assert call(passes, plan).ok

    with pytest.raises(Failure) as caught:
        call(fails, plan)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert field in caught.value.message
    assert len(plan.plans) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"steps": "a"},
        {"steps": [{"status": "pending"}]},
        {"steps": [{"step": ""}]},
        {"steps": [{"step": " \n"}]},
        {"steps": [{"step": "a", "status": "done"}]},
        {"steps": [{"step": "a", "owner": "me"}]},
        {"steps": [], "plan": []},
        "not json",
    ],
)
def test_what_is_no_plan_is_refused(arguments: Any) -> None:
    plan = Plan()

    with pytest.raises(Failure) as caught:
        call(arguments, plan)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert plan.plans == []


def test_it_touches_the_plan_and_nothing_else() -> None:
    assert TOOL.resources(TOOL.parse('{"steps": []}'), NOWHERE) == [Resource("state", "plan", Effect.STATE)]
    assert (TOOL.effects, TOOL.harness, TOOL.repeatable) == ({Effect.STATE}, True, True)
    assert TOOL.schema()["properties"]["steps"]["maxItems"] == 50

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import World
from remit.base.records import PlanWritten
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.tools.agents.plan import Plan

TOOL = Plan()


class Kept:
    """A run's state with a plan."""

    def __init__(self, content: str) -> None:
        self.content = content

    def plan_document(self) -> str:
        return self.content

    def write_plan_document(self, content: str) -> PlanWritten:
        self.content = content
        return PlanWritten(3, len(content), "")


def call(kept: Kept, **arguments: str) -> Outcome:
    params = TOOL.parse(json.dumps(arguments))
    return asyncio.run(TOOL.run(params, CallContext("t1.c1", TOOL.name, granted_state=cast(Any, kept))))


def test_the_plan_is_read_whole() -> None:
    outcome = call(Kept("# Plan"), action="read")
    assert (outcome.data, outcome.for_model()) == ({"content": "# Plan"}, "# Plan")


def test_a_written_plan_gets_a_receipt() -> None:
    kept = Kept("# Plan")
    outcome = call(kept, action="write", content="# Other")
    assert kept.content == "# Other"
    assert outcome.data == {"revision": 3, "bytes": 7}
    assert outcome.for_model() == "The plan is kept: revision 3, 7 bytes."


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        ({"action": "write"}, "content is missing"),
        ({"action": "read", "content": "x"}, "read takes no content"),
        ({"action": "patch"}, "action"),
        ({}, "action"),
        ({"action": "read", "path": "x"}, "path"),
    ],
)
def test_arguments_that_make_no_sense(arguments: dict[str, str], due: str) -> None:
    with pytest.raises(Failure, match=due) as seen:
        TOOL.parse(json.dumps(arguments))
    assert seen.value.code is ErrorCode.INVALID_ARGUMENTS


def test_it_touches_the_plan_alone() -> None:
    params = TOOL.parse('{"action": "read"}')
    assert TOOL.resources(params, cast(World, None)) == [Resource("state", "plan", Effect.STATE)]

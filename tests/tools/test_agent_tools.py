"""What the tools about agents take, and what they hand on."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Order, World
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.tools.agents.task import Task
from remit.tools.agents.task_control import TaskControl
from remit.tools.execution.shell import Shell
from remit.tools.harness.report_to_parent import ReportToParent

NOWHERE = cast(World, None)


class Kept:
    """Every grant of these tools; what was asked of them."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def delegate(self, order: Order) -> Outcome:
        self.asked.append(order)
        return done({})

    def report(self, title: str, message: str, *, blocked: bool) -> None:
        self.asked.append((title, message, blocked))

    def listing(self, before: str, limit: int) -> dict[str, Any]:
        self.asked.append((before, limit))
        return {"running": []}

    def start(self, label: str, description: str, work: Any) -> Outcome:
        self.asked.append((label, description))
        return done({"admitted": True})


def call(tool: Any, **arguments: Any) -> Kept:
    kept = cast(Any, Kept())
    params = tool.parse(json.dumps(arguments))
    tool.resources(params, NOWHERE)
    context = CallContext("t1.c1", tool.name, granted_agents=kept, granted_jobs=kept, granted_principal=kept)
    asyncio.run(tool.run(params, context))
    return cast(Kept, kept)


def test_an_order_says_what_was_asked_for() -> None:
    (order,) = call(Task("auto"), description=" count \n files", prompt="p", mode="plan", background=True).asked
    assert order == Order(description="count files", prompt="p", mode="plan", background=True)


@pytest.mark.parametrize(("execution", "offered"), [("sync", False), ("auto", True), ("async", False)])
def test_the_model_may_choose_the_background_where_there_is_a_choice(execution: Any, offered: bool) -> None:
    tool = Task(execution)
    assert ("background" in tool.spec().schema["properties"]) is offered
    assert ("receipt" in tool.spec().description) is (execution != "sync")
    if not offered:
        with pytest.raises(Failure, match="background"):
            tool.parse('{"description": "d", "background": true}')


def test_rules_know_an_agent_by_its_profile() -> None:
    tool = Task()
    for arguments, name in (({}, "builtin"), ({"profile": "reviewer"}, "reviewer")):
        params = tool.parse(json.dumps({"description": "d", **arguments}))
        assert tool.resources(params, NOWHERE) == [Resource("agent", name, Effect.AGENT)]


@pytest.mark.parametrize("limit", [1, 100])
def test_a_page_of_jobs_goes_back_from_its_cursor(limit: int) -> None:
    assert call(TaskControl(), action="list", before={"task_id": "a"}, limit=limit).asked == [("a", limit)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "list", "limit": 0},
        {"action": "list", "limit": 101},
        {"action": "list", "before": "a"},
        {"action": "dance"},
        {"action": "status"},
        {"action": "cancel"},
        {"action": "background"},
    ],
)
def test_what_cannot_be_asked_of_jobs(arguments: dict[str, Any]) -> None:
    with pytest.raises(Failure) as caught:
        call(TaskControl(), **arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS


def test_a_report_of_the_longest_title_is_handed_on() -> None:
    assert call(ReportToParent(), title="t" * 80, message="m").asked == [("t" * 80, "m", False)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": "t" * 81, "message": "m"},
        {"title": "t", "message": "m" * 20_001},
        {"title": "", "message": "m"},
        {"title": " ", "message": "m"},
        {"title": "t", "message": "\n"},
        {"message": "m"},
    ],
)
def test_what_is_no_report(arguments: dict[str, Any]) -> None:
    with pytest.raises(Failure) as caught:
        call(ReportToParent(), **arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("execution", "seconds", "goes_on"),
    [
        ("auto", 60, False),
        ("auto", 61, True),
        ("async", None, True),
        ("async", 1, True),
    ],
)
def test_a_command_goes_on_by_its_time(execution: Any, seconds: int | None, goes_on: bool) -> None:
    tool = Shell(execution, 60)
    arguments = {"command": "sleep 1"} | ({} if seconds is None else {"timeoutSec": seconds})
    if not goes_on:
        assert not tool._goes_on(tool.parse(json.dumps(arguments)))
        return
    kept = cast(Any, Kept())
    outcome = asyncio.run(tool.run(tool.parse(json.dumps(arguments)), CallContext("k", "shell", granted_jobs=kept)))
    assert outcome.data == {"admitted": True}
    assert kept.asked == [("sleep", "sleep 1")]


def test_a_command_without_a_time_of_its_own_is_waited_for() -> None:
    tool = Shell("auto", 60)
    assert not tool._goes_on(tool.parse('{"command": "sleep 1"}'))
    assert tool.parse('{"command": "sleep 1"}').seconds == 120

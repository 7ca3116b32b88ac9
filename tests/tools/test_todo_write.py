from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Todo, World
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.tools.agents.todo_write import TodoWrite

NOWHERE = cast(World, None)
TOOL = TodoWrite()


class Kept:
    """A run's state that keeps the todo lists."""

    def __init__(self) -> None:
        self.lists: list[list[Todo]] = []

    def set_todos(self, todos: Sequence[Todo]) -> None:
        self.lists.append(list(todos))


def call(arguments: Any, kept: Kept) -> Outcome:
    params = TOOL.parse(arguments if isinstance(arguments, str) else json.dumps(arguments))
    return asyncio.run(TOOL.run(params, CallContext("t1.c1", TOOL.name, granted_state=cast(Any, kept))))


def test_the_list_is_kept_whole_and_shortly_acknowledged() -> None:
    kept = Kept()
    todos = [
        {"content": "read", "status": "completed", "priority": "high"},
        {"content": "count", "status": "in_progress"},
        {"content": "ask", "status": "cancelled", "priority": "low"},
        {"content": "write"},
    ]
    outcome = call({"todos": todos}, kept)

    assert kept.lists == [
        [
            Todo("read", "completed", "high"),
            Todo("count", "in_progress", "medium"),
            Todo("ask", "cancelled", "low"),
            Todo("write", "pending", "medium"),
        ]
    ]
    assert outcome.data == {"todos": 4, "completed": 1, "in_progress": 1, "cancelled": 1, "pending": 1}
    assert outcome.for_model() == "The todo list is kept: 1 completed, 1 in_progress, 1 cancelled, 1 pending."


def test_an_empty_list_clears_it() -> None:
    kept = Kept()

    assert call({"todos": [{"content": "a"}]}, kept).ok
    cleared = call({"todos": []}, kept)
    assert (cleared.data, cleared.for_model()) == ({"todos": 0}, "The todo list is empty now.")
    assert kept.lists[-1] == []


@pytest.mark.parametrize(
    ("field", "passes", "fails"),
    [
        ("todos", {"todos": [{"content": "a"}] * 100}, {"todos": [{"content": "a"}] * 101}),
        ("content", {"todos": [{"content": "é" * 1000}]}, {"todos": [{"content": "é" * 1001}]}),
    ],
)
def test_the_limit_passes_and_one_more_is_refused(field: str, passes: Any, fails: Any) -> None:
    kept = Kept()
    assert call(passes, kept).ok

    with pytest.raises(Failure) as caught:
        call(fails, kept)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert field in caught.value.message
    assert len(kept.lists) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"todos": "a"},
        {"todos": [{"status": "pending"}]},
        {"todos": [{"content": ""}]},
        {"todos": [{"content": "a"}, {"content": " \n"}]},
        {"todos": [{"content": "a", "status": "done"}]},
        {"todos": [{"content": "a", "priority": "urgent"}]},
        {"todos": [{"content": "a", "owner": "me"}]},
        {"todos": [], "note": ""},
        "not json",
    ],
)
def test_what_is_no_list_is_refused(arguments: Any) -> None:
    kept = Kept()

    with pytest.raises(Failure) as caught:
        call(arguments, kept)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert kept.lists == []


def test_it_touches_the_list_and_nothing_else() -> None:
    assert TOOL.resources(TOOL.parse('{"todos": []}'), NOWHERE) == [Resource("state", "todos", Effect.STATE)]
    assert (TOOL.effects, TOOL.harness, TOOL.repeatable) == ({Effect.STATE}, False, True)
    assert TOOL.schema()["required"] == ["todos"]

"""todo_write: the list of what is to be done, kept by the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import Todo, TodoPriority, TodoStatus, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

MAX_TODOS = 100
MAX_CONTENT_CHARACTERS = 1000


class TodoItem(msgspec.Struct, forbid_unknown_fields=True):
    content: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CONTENT_CHARACTERS)]
    status: TodoStatus = "pending"
    priority: TodoPriority = "medium"


class TodoWriteParams(msgspec.Struct, forbid_unknown_fields=True):
    todos: Annotated[list[TodoItem], msgspec.Meta(max_length=MAX_TODOS, description="All items, in order.")]


class TodoWrite(Tool):
    """Keep a todo list for work of several steps. Each call gives the whole list, up to 100 items.

    Set an item in_progress before you begin it, completed as soon as it is done, cancelled if it is not needed.
    """

    name = "todo_write"
    toolset = "agents"
    notes = """\
An empty list clears it. An item has at most 1,000 characters. Not worth it for a task of one or two steps."""
    effects = frozenset({Effect.STATE})
    bounds = Bounds(seconds=10.0)
    repeatable = True
    Params = TodoWriteParams

    def resources(self, params: TodoWriteParams, world: World) -> Sequence[Resource]:
        return [Resource("state", "todos", Effect.STATE)]

    async def run(self, params: TodoWriteParams, ctx: ToolContext) -> Outcome:
        for number, each in enumerate(params.todos, 1):
            if not each.content.strip():
                raise Failure(ErrorCode.INVALID_ARGUMENTS, f"todo {number} is blank; say what is to be done")
        ctx.state.set_todos([Todo(each.content, each.status, each.priority) for each in params.todos])
        counts = Counter(each.status for each in params.todos)
        return done({"todos": len(params.todos), **counts}, text=_acknowledged(counts))


def _acknowledged(counts: Counter[TodoStatus]) -> str:
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"The todo list is kept: {told}." if told else "The todo list is empty now."

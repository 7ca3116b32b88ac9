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
    content: Annotated[
        str, msgspec.Meta(min_length=1, max_length=MAX_CONTENT_CHARACTERS, description="What is to be done.")
    ]
    status: Annotated[TodoStatus, msgspec.Meta(description="How far it is.")] = "pending"
    priority: Annotated[TodoPriority, msgspec.Meta(description="How much it matters.")] = "medium"


class TodoWriteParams(msgspec.Struct, forbid_unknown_fields=True):
    todos: Annotated[
        list[TodoItem], msgspec.Meta(max_length=MAX_TODOS, description="The updated todo list, whole and in order.")
    ]


class TodoWrite(Tool):
    """Create or update a todo list, to keep track of work that takes several steps.

    Give the whole list each time: it replaces the one before, and an empty one clears it. At most 100
    items of at most 1,000 characters. Set an item in_progress before you begin it and completed as
    soon as it is done, not several at the end; cancelled is for what turned out not to be needed.
    Not worth it for a task of one or two steps.
    """

    name = "todo_write"
    toolset = "agents"
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

"""What the tools that ask the graph of a tree have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import Hand, Tool

if TYPE_CHECKING:
    from remit.code.answers import Answers


class _Scoped(Protocol):
    """path: the directory whose tree is asked, "" the whole workspace."""

    @property
    def path(self) -> str: ...


class GraphTool(Tool):
    """A question to the graph of one tree, answered off the loop."""

    toolset = "code"
    bundle = "code graph"
    effects = frozenset({Effect.READ})
    bounds = Bounds(seconds=120.0)
    repeatable = True
    hands: ClassVar[frozenset[Hand]] = frozenset({"code"})

    def resources(self, params: _Scoped, world: World) -> Sequence[Resource]:
        return [world.tree(params.path or ".", Effect.READ)]

    async def run(self, params: Any, ctx: ToolContext) -> Outcome:
        outcome: Outcome = await ctx.in_thread(self.answer, params, ctx)
        return outcome

    def answer(self, params: Any, ctx: ToolContext) -> Outcome:
        """The answer; may block. Raises Failure."""
        raise NotImplementedError(type(self).__name__)


def answers_below(path: str, ctx: ToolContext) -> Answers:
    """The answers over the directory of a call, "": the whole workspace. Raises Failure(not_a_directory, ...)."""
    try:
        answers: Answers = ctx.code.answers(path or ".")
    except Failure as problem:
        if problem.code is not ErrorCode.NOT_A_DIRECTORY:
            raise
        above = path.rstrip("/").rpartition("/")[0] or "."
        raise Failure(
            ErrorCode.NOT_A_DIRECTORY,
            f"{shorten(path)} is no directory, and path is the directory to read: give {shorten(above)}, or leave it "
            "out for the whole workspace; 'path::name' as symbol means what one file holds, file_index outlines a file",
        ) from None
    return answers

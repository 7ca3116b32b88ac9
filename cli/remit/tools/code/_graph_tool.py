"""What the tools that ask the graph of a tree have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from remit.base.calls import Outcome
from remit.base.limits import Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Hand, Tool


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

"""A tool that does again what was recorded of it, and touches nothing but what the run itself owns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure, RemitError
from remit.base.messages import ToolSpec
from remit.base.ports import ToolContext, World
from remit.base.records import CallSettled
from remit.base.resources import Resource
from remit.engine.judging import FLOOR_REFUSALS
from remit.providers.recording import RecordedCall
from remit.tools.contract import Part, Tool

CHECK = "check"
OUTPUT = "structured_output"
OWN_KINDS = frozenset({"artifact", "state"})
"""Resources that lie in the run itself: tools that touch only these really run."""

AGENTS = "task"
OUTSIDE = frozenset({"propose_memory", AGENTS, "task_control"})
"""Tools whose state is the user's, of all runs, and those that have models asked: they never run when a recording is
played, unless it holds what those models said."""

READERS = frozenset({"tool_output"})
"""Tools that read what only tools which really ran have left."""

_OF_THE_MACHINE = frozenset({ErrorCode.TIMEOUT, ErrorCode.IO_ERROR, ErrorCode.CANCELLED, ErrorCode.INTERNAL})
"""Failures that say nothing of what was called."""


class Recorded(Protocol):
    """What a stand-in asks of the recording that is played."""

    def take(self, tool: str, arguments: str) -> RecordedCall | None: ...
    def charge(self, network_requests: int) -> None: ...
    def wrote(self, call: RecordedCall) -> None: ...
    def spent(self) -> RemitError: ...
    async def halt(self) -> None: ...
    def was_stopped(self) -> bool: ...


class Played(msgspec.Struct, frozen=True):
    """The arguments of a call, and what was recorded of it; None: nothing. params None: they make no sense
    without the secret that was redacted in them. really: the tool itself is called."""

    params: Any
    call: RecordedCall | None
    really: bool = False


class StandIn(Tool):
    """The same to the model and to the gate as the tool it stands in for. live: it stands in only for calls
    that cannot be made again, because a secret in them was redacted."""

    def __init__(self, tool: Tool, recorded: Recorded, *, live: bool = False) -> None:
        self._tool = self.stands_for = tool
        self._recorded = recorded
        self._live = live
        for fact in ("name", "toolset", "effects", "bounds", "repeatable", "bounds_repeats", "harness", "retained"):
            setattr(self, fact, getattr(tool, fact))
        if live:
            self.hands = tool.hands  # type: ignore[misc]

    def spec(self) -> ToolSpec:
        return self._tool.spec()

    def schema(self) -> dict[str, Any]:
        return self._tool.schema()

    def parse(self, arguments: str) -> Any:
        call = self._recorded.take(self.name, arguments)
        if self._live and not (call is not None and call.redacted):
            return Played(self._tool.parse(arguments), call, really=True)
        try:
            return Played(self._tool.parse(arguments), call)
        except Failure:
            if call is None or not call.redacted or call.decision is None:
                raise
            return Played(None, call)

    def resources(self, params: Played, world: World) -> Sequence[Resource]:
        call = params.call
        if params.really:
            return self._tool.resources(params.params, world)
        if call is None:
            # The comparison with the recording ends the run before anything comes of this.
            return ()
        error = call.outcome.error if call.outcome is not None else None
        floor = not call.resources and error is not None and error.code in FLOOR_REFUSALS
        if call.decision is not None and not floor:
            return call.resources
        if error is None:
            raise Failure(ErrorCode.INTERNAL, "the recording does not say what this call touches")
        raise _failed(error.code, error.message)

    def expand(self, params: Played) -> Sequence[Part]:
        return self._tool.expand(params.params) if params.params is not None else ()

    def join(self, params: Played, results: Sequence[CallSettled], max_bytes: int) -> Outcome:
        return self._tool.join(params.params, results, max_bytes)

    def producer(self, params: Played) -> str:
        return self._tool.producer(params.params) if params.params is not None else self.name

    async def run(self, params: Played, ctx: ToolContext) -> Outcome:
        call = params.call
        if params.really:
            done = await self._tool.run(params.params, ctx)
            if call is not None and call.outcome is None and self._recorded.was_stopped():
                await self._recorded.halt()
            return done
        assert call is not None
        outcome = call.outcome
        if outcome is None:
            await self._recorded.halt()
            raise AssertionError("a run that was halted goes on")
        self._recorded.charge(call.network_requests)
        self._recorded.wrote(call)
        code = outcome.error.code if outcome.error is not None else None
        if self._runs(call) and code not in _OF_THE_MACHINE:
            if not call.redacted:
                return await self._tool.run(params.params, ctx)
            await self._leave(params.params, outcome, ctx)
        if code is ErrorCode.BUDGET_SPENT:
            raise self._recorded.spent()
        if code is ErrorCode.INTERNAL:
            raise _failed(code, "")
        return msgspec.structs.replace(outcome, text=call.content) if outcome.ok else outcome

    async def _leave(self, params: Any, outcome: Outcome, ctx: ToolContext) -> None:
        """What a call leaves in the run, as far as it can without the secret that was in it: what comes of it
        is what was recorded, because sizes, digests and the fit to a schema may be others now."""
        if self.name == OUTPUT:
            ctx.state.submit_output(params, outcome.error.message if outcome.error is not None else "")
        elif params is not None:
            with suppress(Failure):
                await self._tool.run(params, ctx)

    def _runs(self, call: RecordedCall) -> bool:
        """Whether it leaves something in the run that has to be there again."""
        kinds = {each.kind for each in call.resources}
        return bool(kinds) and kinds <= OWN_KINDS and self.name not in OUTSIDE | READERS


class SendsAgain(StandIn):
    """Sends the agents of a recording that holds what they did."""

    def __init__(self, tool: Tool, recorded: Recorded) -> None:
        super().__init__(tool, recorded, live=True)

    def parse(self, arguments: str) -> Any:
        call = self._recorded.take(self.name, arguments)
        return Played(self.stands_for.parse(arguments), call, really=True)


def stood_for(tool: Tool | None) -> Tool | None:
    """The tool itself, where another stands in for it."""
    return tool.stands_for if isinstance(tool, StandIn) else tool


def _failed(code: ErrorCode, message: str) -> Exception:
    """A failure as the tool had it; a fault of remit itself is none that a tool may name."""
    if code is ErrorCode.INTERNAL:
        return RuntimeError("the tool broke here when the run was recorded")
    return Failure(code, message)

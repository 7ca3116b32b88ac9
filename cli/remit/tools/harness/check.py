"""check: one command of the task's `expect.checks`. Never offered to the model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import clip
from remit.tools.contract import Tool

SHOWN_BYTES = 2000


class CheckParams(msgspec.Struct, forbid_unknown_fields=True):
    command: str


class Check(Tool):
    """Runs one command of the task's checks in the workspace, without a shell; exit code 0 is success.
    A check judges, so that one which a crash interrupted may run again."""

    name = "check"
    toolset = "harness"
    effects = frozenset({Effect.EXECUTE, Effect.NETWORK})
    harness = True
    repeatable = True
    Params = CheckParams

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        # A little over the command's own limit: the process is ended by that, never by the gate.
        self.bounds = Bounds(seconds=seconds + 10)  # type: ignore[misc]

    def resources(self, params: CheckParams, world: World) -> Sequence[Resource]:
        return [Resource("command", params.command, Effect.EXECUTE)]

    async def run(self, params: CheckParams, ctx: ToolContext) -> Outcome:
        finished = await ctx.process.run(shlex.split(params.command), seconds=self._seconds, max_bytes=1 << 20)
        shown, _ = clip((finished.stdout + finished.stderr).decode("utf-8", "replace").strip(), SHOWN_BYTES)
        if finished.exit_code is None:
            raise Failure(ErrorCode.TIMEOUT, f"it did not end within {self._seconds:g} s; output: {shown or 'none'}")
        if finished.exit_code < 0:
            raise Failure(ErrorCode.COMMAND_FAILED, f"ended by signal {-finished.exit_code}; output: {shown or 'none'}")
        if finished.exit_code != 0:
            raise Failure(ErrorCode.COMMAND_FAILED, f"exit code {finished.exit_code}; output: {shown or 'none'}")
        return done({"exit_code": 0, "output": shown})

"""The calls of a turn that may run, together: readers share, writers are alone, each under its grants and bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from remit.base.calls import Call, Outcome, RuleRef, err
from remit.base.errors import BudgetSpent, ErrorCode, Failure, Refused, RemitError, Stopped
from remit.base.ports import Outputs
from remit.base.records import CallSettled, CallStarted
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.engine.heard import Heard
from remit.engine.judging import Checked, told_bug
from remit.engine.order import Order
from remit.engine.recorder import Recorder
from remit.engine.showing import Clip
from remit.tools.contract import Tool

MAX_PARALLEL = 8
MIN_RESULT_BYTES = 1000
MAX_RESULT_BYTES = 1 << 30


class Hands(Protocol):
    """Builds the grants of one call from exactly the resources policy saw."""

    def context(
        self, call: Call, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None
    ) -> CallContext: ...


class Execution:
    """Runs calls that were judged and settles them. batch_bytes: what all results of one turn together may take of
    the model's context window, None where that is unknown. outputs: keeps what the model is not shown, None where it
    has no tool to read that."""

    def __init__(
        self, hands: Hands, heard: Heard, recorder: Recorder, batch_bytes: int | None, outputs: Outputs | None
    ) -> None:
        self._hands = hands
        self._heard = heard
        self._recorder = recorder
        self._batch_bytes = batch_bytes
        self._clip = Clip(outputs, recorder.cleaned)
        self._slots = asyncio.Semaphore(MAX_PARALLEL)

    async def run_all(self, checked: Sequence[Checked]) -> None:
        """Readers share, writers are alone per resource; outcomes are settled in call order."""
        running: list[tuple[Checked, asyncio.Task[tuple[Outcome, float]] | None]] = []
        order = Order()
        share = self._share(max(1, sum(not each.call.parent for each in checked)))
        began = self._recorder.clock.monotonic()
        stop: RemitError | None = None
        try:
            for each in checked:
                running.append((each, None if each.joined else self._begin(each, order)))
            for each, task in running:
                if task is None:
                    self._settle_joined(each, self._recorder.clock.monotonic() - began, share)
                    continue
                try:
                    outcome, seconds = await task
                except RemitError as error:
                    # The limit or the disk ended this call and ends the run; its siblings finish first.
                    stop = stop or error
                    outcome, seconds = err(_code(error), self._why(each.call, error)), 0.0
                self.settle(each, outcome, seconds, MAX_RESULT_BYTES if each.call.parent else share)
        finally:
            await _cancel_all([task for _, task in running if task is not None])
        if stop is not None:
            raise stop

    def _share(self, calls: int) -> int:
        """Bytes of each result where a turn has that many calls."""
        return max(MIN_RESULT_BYTES, self._batch_bytes // calls) if self._batch_bytes else MAX_RESULT_BYTES

    def _why(self, call: Call, error: RemitError) -> str:
        """What the model reads of a call that ends the run: an agent it started can be taken up again."""
        jobs = self._recorder.state.jobs.values()
        return next((job.text for job in jobs if job.key == call.key and job.text), error.what)

    def _begin(self, checked: Checked, order: Order) -> asyncio.Task[tuple[Outcome, float]]:
        end = asyncio.Event()
        before = order.add(checked.resources if checked.outcome is None else (), end)
        return asyncio.create_task(self._in_order(checked, before, end))

    async def _in_order(
        self, checked: Checked, before: Sequence[asyncio.Event], end: asyncio.Event
    ) -> tuple[Outcome, float]:
        try:
            for other in before:
                await other.wait()
            if checked.outcome is not None:
                return checked.outcome, 0.0
            if checked.tool is not None and Effect.AGENT in checked.tool.effects:
                # Agents have a limit of their own, and would keep other calls waiting for long.
                return await self.run(checked)
            async with self._slots:
                return await self.run(checked)
        finally:
            end.set()

    async def run(self, checked: Checked) -> tuple[Outcome, float]:
        """One call under its grants and bounds. Expected failures become outcomes; a bug becomes
        `internal` for the model and a traceback in the journal."""
        if checked.outcome is not None:
            return checked.outcome, 0.0
        call, tool = checked.call, checked.tool
        assert tool is not None
        self._recorder.record(CallStarted(call.key), sync=not checked.quiet)
        context = self._hands.context(call, tool, checked.resources, checked.approved)
        began = self._recorder.clock.monotonic()
        try:
            async with asyncio.timeout(tool.bounds.seconds):
                outcome = await tool.run(checked.params, context)
        except Failure as failure:
            outcome = err(failure.code, failure.message)
        except TimeoutError:
            outcome = err(ErrorCode.TIMEOUT, f"{tool.name} did not end within {tool.bounds.seconds:g} s")
        except RemitError:
            raise
        except OSError as problem:
            outcome = err(ErrorCode.IO_ERROR, f"{tool.name}: {problem.strerror or problem}")
        except Exception:
            outcome = told_bug(self._recorder, call)
        finally:
            context.cancel()
        seconds = self._recorder.clock.monotonic() - began
        return await self._heard.after(checked.call, outcome, seconds), seconds

    def settle(self, checked: Checked, outcome: Outcome, seconds: float, max_bytes: int) -> None:
        self._recorder.settle(self.settled(checked, outcome, seconds, max_bytes), sync=not checked.quiet)

    def _settle_joined(self, checked: Checked, seconds: float, max_bytes: int) -> None:
        """A call whose parts have their outcomes."""
        opened, tool = self._recorder.state.opened(checked.call.key), checked.tool
        assert opened is not None and tool is not None
        results = [part.settled for part in opened.parts.values() if part.settled is not None]
        outcome = tool.join(checked.params, results, min(tool.bounds.output_bytes, max_bytes))
        self.settle(checked, outcome, seconds, max_bytes)

    def settled(self, checked: Checked, outcome: Outcome, seconds: float, max_bytes: int) -> CallSettled:
        """What is kept is what the model is sent: whole characters, within its bounds."""
        call, tool = checked.call, checked.tool
        outcome = self._heard.fitted(outcome)
        producer = tool.producer(checked.params) if tool and checked.params is not None else call.tool
        shown = self._clip.show(call, tool, producer, outcome, max_bytes, sync=not checked.quiet)
        took = round(seconds, 6)
        return CallSettled(call.key, call.id, call.tool, shown.outcome, shown.content, took, call.parent, shown.output)


def _code(error: RemitError) -> ErrorCode:
    """Of a call that ends the run."""
    kinds = {BudgetSpent: ErrorCode.BUDGET_SPENT, Refused: ErrorCode.DENIED, Stopped: ErrorCode.CANCELLED}
    return next((code for kind, code in kinds.items() if isinstance(error, kind)), ErrorCode.IO_ERROR)


async def _cancel_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

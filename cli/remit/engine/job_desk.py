"""Who deals with jobs from outside: the model by its tool, the client by control requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from remit.base.calls import Call, Outcome
from remit.base.errors import Failure
from remit.engine.client import Control, ControlFault
from remit.engine.jobs import Ending, Job, Jobs, detail, receipt, view
from remit.tools.contract import Tool

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


class JobsGrant:
    """base.ports.Jobs, for one call."""

    def __init__(self, jobs: Jobs, call: Call, tool: Tool) -> None:
        self._jobs = jobs
        self._call = call
        self._tool = tool

    def start(self, label: str, description: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        async def carry(job: Job) -> Ending:
            outcome = await work()
            return Ending("completed" if _succeeded(outcome) else "failed", outcome)

        job = self._jobs.start(
            "shell",
            self._call,
            self._tool,
            carry,
            label=f"shell-{label}",
            description=description,
            background=True,
            producer=label,
        )
        return receipt(job.facts)

    def listing(self, before: str, limit: int) -> dict[str, Any]:
        return listing(self._jobs, before, limit)

    def status(self, task_id: str) -> dict[str, Any]:
        return detail(self._jobs.known(task_id), self._jobs.running(task_id))

    async def cancel(self, task_id: str) -> dict[str, Any]:
        # The model is told here, so that a report would be the second time.
        cancelled = await self._jobs.cancel(task_id, silent=True)
        return {"cancelled": cancelled, **view(self._jobs.known(task_id), None)}

    def promote(self, task_id: str) -> dict[str, Any]:
        job = self._jobs.promote(task_id)
        return view(job.facts, job)


def controls(jobs: Jobs) -> Mapping[str, Control]:
    """The control requests of a client that are about jobs."""

    async def task_list(fields: Mapping[str, Any]) -> dict[str, Any]:
        limit = fields.get("limit", DEFAULT_LIMIT)
        before = fields.get("before") or ""
        before = before.get("task_id", "") if isinstance(before, Mapping) else before
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LIMIT:
            raise ControlFault(f"limit: expected 1 to {MAX_LIMIT}")
        return _asked(lambda: listing(jobs, str(before), limit))

    async def task_status(fields: Mapping[str, Any]) -> dict[str, Any]:
        name = _task_id(fields)
        return _asked(lambda: detail(jobs.known(name), jobs.running(name)))

    async def task_cancel(fields: Mapping[str, Any]) -> dict[str, Any]:
        name = _task_id(fields)
        _asked(lambda: {"known": jobs.known(name).task_id})
        cancelled = await jobs.cancel(name, silent=False)
        return {"cancelled": cancelled, **view(jobs.known(name), None)}

    async def task_promote(fields: Mapping[str, Any]) -> dict[str, Any]:
        name = _task_id(fields)

        def promote() -> dict[str, Any]:
            job = jobs.promote(name)
            return view(job.facts, job)

        return _asked(promote)

    async def stop_task(fields: Mapping[str, Any]) -> dict[str, Any]:
        name = _task_id(fields)
        _asked(lambda: {"known": jobs.known(name).task_id})
        if jobs.running(name) is not None:
            await jobs.cancel(name, silent=False)
        return {}

    async def background_tasks(fields: Mapping[str, Any]) -> dict[str, Any]:
        return {"tasks": [view(job.facts, job) for job in jobs.live() if job.facts.background]}

    return {
        "task_list": task_list,
        "task_status": task_status,
        "task_cancel": task_cancel,
        "task_promote": task_promote,
        "stop_task": stop_task,
        "background_tasks": background_tasks,
    }


def listing(jobs: Jobs, before: str, limit: int) -> dict[str, Any]:
    """Those that run, a page of those that ended, and the cursor of the next page. Raises Failure(not_found)."""
    page = jobs.history(before, limit + 1)
    more = len(page) > limit
    page = page[:limit]
    return {
        "running": [view(job.facts, job) for job in jobs.live()],
        "ended": [view(facts, None) for facts in page],
        "next": {"task_id": page[-1].task_id} if more else None,
    }


def _task_id(fields: Mapping[str, Any]) -> str:
    name = fields.get("task_id")
    if not isinstance(name, str) or not name:
        raise ControlFault("task_id: it is missing")
    return name


def _asked(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return answer()
    except Failure as failure:
        raise ControlFault(failure.message, failure.code.value) from None


def _succeeded(outcome: Outcome) -> bool:
    """A command that fails is a result, and not a success."""
    return outcome.ok and isinstance(outcome.data, dict) and outcome.data.get("exit_code") == 0

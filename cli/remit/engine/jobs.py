"""Work with a life of its own: agents and commands that a call began, and that may outlive it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal

import msgspec

from remit.base.calls import Call, Outcome, Retained, done, err
from remit.base.errors import INTERRUPTED, ErrorCode, Failure, RemitError, Stopped, Verdict
from remit.base.events import BackgroundTasks, TaskNotification, TaskStarted, TaskUpdated
from remit.base.lazy_pattern import lazy_pattern
from remit.base.records import REPORT, JobEnded, JobKind, JobPromoted, JobStarted, JobStatus, Noted, UserSaid
from remit.base.text import clip, shorten
from remit.engine.inbox import Inbox
from remit.engine.recorder import Recorder
from remit.engine.state import JobFacts
from remit.tools.contract import Tool

MAX_ID = 64
SUMMARY_BYTES = 400

_OTHER = lazy_pattern(r"[^a-z0-9]+")
_TASK_TYPES: dict[JobKind, Literal["local_agent", "local_bash"]] = {"agent": "local_agent", "shell": "local_bash"}
_WIRE_STATUS: dict[JobStatus, Literal["completed", "failed", "stopped"]] = {
    "completed": "completed",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "stopped",
}
_PATCH_STATUS = {"completed": "completed", "failed": "failed", "stopped": "killed"}

_FATAL = frozenset({Verdict.ENVIRONMENT, Verdict.STOPPED})
"""Ends of work in the background after which nothing can be told any more."""

Show = Callable[[Call, Tool, str, Outcome, bool], tuple[str, Retained | None]]
"""What the model is shown of the outcome of a call by a tool, and where it is kept whole. The text: what a kept
result is named after. The flag: keep it in any case."""


class Ending(msgspec.Struct, frozen=True):
    """What became of a job. error: ends the run as well."""

    status: JobStatus
    outcome: Outcome
    error: RemitError | None = None


class Job(msgspec.Struct):
    """One that lives in this process. Its facts are those of the journal."""

    facts: JobFacts
    tool: Tool
    producer: str
    promoted: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    work: asyncio.Future[Ending] | None = None
    task: asyncio.Task[Ending] | None = None
    """work: what is cancelled. task: sees to its end, and never is."""

    silent: bool = False
    waiting: bool = False
    figures: Callable[[], dict[str, int]] | None = None


class Jobs:
    """All jobs of the main agent. show: see Show. run_id: of the run. fatal: told of what ends the run. background:
    whether anything may go on without a call that waits for it. inbox: where reports go."""

    def __init__(
        self,
        recorder: Recorder,
        run_id: str,
        show: Show,
        fatal: Callable[[RemitError], None],
        *,
        background: bool,
    ) -> None:
        self._recorder = recorder
        self._run_id = run_id
        self._show = show
        self._fatal = fatal
        self._live: dict[str, Job] = {}
        self._opened = False
        self.background = background
        self.inbox = Inbox()
        self.inbox.expects = self.active

    # -- what there is -------------------------------------------------------------------------

    def active(self) -> bool:
        """Whether anything goes on in the background."""
        return any(job.facts.background for job in self._live.values())

    def facts(self, task_id: str) -> JobFacts | None:
        return self._recorder.state.jobs.get(task_id)

    def known(self, task_id: str) -> JobFacts:
        """Raises Failure(not_found)."""
        facts = self.facts(task_id)
        if facts is None:
            ids = ", ".join(list(self._recorder.state.jobs)[-20:]) or "none"
            raise Failure(ErrorCode.NOT_FOUND, f"there is no task {shorten(task_id)}; the tasks are: {ids}")
        return facts

    def running(self, task_id: str) -> Job | None:
        return self._live.get(task_id)

    def live(self) -> Iterator[Job]:
        yield from list(self._live.values())

    def history(self, before: str, limit: int) -> list[JobFacts]:
        """Those that ended, the newest first. before: only those that began earlier than this one."""
        ended = [facts for facts in self._recorder.state.jobs.values() if facts.task_id not in self._live]
        ids = [facts.task_id for facts in ended]
        if before:
            self.known(before)
            ended = ended[: ids.index(before)] if before in ids else []
        return list(reversed(ended))[:limit]

    # -- a job's life --------------------------------------------------------------------------

    def start(
        self,
        kind: JobKind,
        call: Call,
        tool: Tool,
        work: Callable[[Job], Awaitable[Ending]],
        *,
        label: str,
        description: str,
        background: bool,
        producer: str = "",
        task_id: str = "",
        **facts: Any,
    ) -> Job:
        """Begin. label: what its id is made of, where it has none yet. facts: further fields of JobStarted."""
        name = task_id or self._free_id(label)
        now = self._recorder.clock.now()
        started = JobStarted(name, kind, call.key, call.id, description, now, background, **facts)
        self._recorder.record(started)
        job = self._live[name] = Job(self._recorder.state.jobs[name], tool, producer or kind)
        told = TaskStarted(
            task_id=name,
            run_id=self._run_id,
            tool_use_id=call.id,
            description=description,
            task_type=_TASK_TYPES[kind],
            is_backgrounded=background,
        )
        if kind == "agent":
            told.subagent_type, told.spawn_depth, told.prompt = started.profile, 1, started.prompt
        self._recorder.emit(told)
        if background:
            self._tell_background()
        job.work = asyncio.ensure_future(work(job))
        job.task = asyncio.create_task(self._carry(job, job.work))
        job.task.add_done_callback(lambda task: self._ended(job, task))
        return job

    async def wait(self, job: Job) -> Ending | None:
        """Its end; None once it goes on in the background. A call that is cancelled takes its job along."""
        assert job.task is not None
        promoted = asyncio.create_task(job.promoted.wait())
        try:
            await asyncio.wait({job.task, promoted}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not job.facts.background:
                await self._stop(job, silent=True)
            raise
        finally:
            promoted.cancel()
        if not job.task.done():
            return None
        ending = job.task.result()
        if ending.error is not None:
            if isinstance(ending.error, Stopped):
                # The prompt ends: its other agents are not waited for.
                await self.halt()
            raise ending.error
        return ending

    def promote(self, task_id: str) -> Job:
        """A call no longer waits for it. Raises Failure(not_found, invalid_arguments)."""
        facts, job = self.known(task_id), self._live.get(task_id)
        if job is None or facts.background or not self.background:
            why = "has ended" if job is None else "is in the background already"
            why = why if self.background else "cannot: this run has no background"
            raise Failure(ErrorCode.INVALID_ARGUMENTS, f"task {task_id} {why}")
        self._recorder.record(JobPromoted(task_id))
        patch = {"is_backgrounded": True}
        self._recorder.emit(TaskUpdated(task_id=task_id, run_id=self._run_id, patch=patch))
        self._tell_background()
        job.promoted.set()
        return job

    async def cancel(self, task_id: str, *, silent: bool) -> bool:
        """End it and wait for that. False where it had ended. silent: the model is not told by a report. Raises
        Failure(not_found)."""
        self.known(task_id)
        job = self._live.get(task_id)
        if job is None:
            return False
        await self._stop(job, silent=silent)
        return True

    async def halt(self) -> None:
        """End all of them, and tell nobody but the stream."""
        jobs = list(self.live())
        for job in jobs:
            job.silent = True
            if job.work is not None:
                job.work.cancel()
        await asyncio.gather(*(job.task for job in jobs if job.task is not None), return_exceptions=True)

    def settle_lost(self) -> None:
        """Those of a process that died are interrupted, and never run again by themselves. The model is told of the
        ones in the background. Once is enough."""
        if self._opened:
            return
        self._opened = True
        for facts in list(self._recorder.state.jobs.values()):
            if facts.status == "running" and facts.task_id not in self._live:
                text = f"{_named(facts)} was interrupted when the process of the run died{marks(facts)}"
                self._settle(facts, "interrupted", text, None, report=facts.background, figures=None)
            elif facts.report:
                self._report(facts)

    def report(self, facts: JobFacts, title: str, message: str) -> None:
        """A word of an agent before its end."""
        text = f"Report of {_named(facts)}: {title}\n\n{message}"
        self.inbox.put(UserSaid(text, synthetic=True, reason=REPORT))

    # -- inside --------------------------------------------------------------------------------

    def _free_id(self, label: str) -> str:
        base = _OTHER.sub("-", label.lower()).strip("-")[: MAX_ID - 6].strip("-") or "task"
        name, number, taken = base, 1, self._recorder.state.jobs
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name

    async def _carry(self, job: Job, work: asyncio.Future[Ending]) -> Ending:
        try:
            ending = await work
        except asyncio.CancelledError:
            message = f"{_named(job.facts)} was cancelled{marks(job.facts)}"
            ending = Ending("cancelled", err(ErrorCode.CANCELLED, message))
        except Failure as failure:
            ending = Ending("failed", err(failure.code, failure.message))
        except RemitError as error:
            ending = Ending("failed", err(ErrorCode.TASK_FAILED, error.what), error)
        except Exception:
            # As with a call: a fault of ours ends the job, the journal has the details, and the run goes on.
            self._recorder.record(Noted("traceback", f"{job.facts.task_id}\n{traceback.format_exc()}"))
            message = f"{_named(job.facts)} failed by a fault of remit itself{marks(job.facts)}"
            ending = Ending("failed", err(ErrorCode.INTERNAL, message))
        self._end(job, ending)
        return ending

    def _end(self, job: Job, ending: Ending) -> None:
        facts = job.facts
        call = Call(facts.key, facts.call_id, job.tool.name, "{}")
        keep = facts.kind == "shell"
        text, kept = self._show(call, job.tool, job.producer, ending.outcome, keep)
        report = facts.background and not job.silent
        self._live.pop(facts.task_id, None)
        figures = job.figures() if job.figures is not None else None
        self._settle(facts, ending.status, text, kept, report=report, figures=figures)

    def _settle(
        self,
        facts: JobFacts,
        status: JobStatus,
        text: str,
        kept: Retained | None,
        *,
        report: bool,
        figures: dict[str, int] | None,
    ) -> None:
        now = self._recorder.clock.now()
        self._recorder.record(JobEnded(facts.task_id, status, text, now, report, kept))
        wire = _WIRE_STATUS[status]
        patch = {"status": _PATCH_STATUS[wire], "end_time": round(now * 1000)}
        self._recorder.emit(TaskUpdated(task_id=facts.task_id, run_id=self._run_id, patch=patch))
        self._recorder.emit(
            TaskNotification(
                task_id=facts.task_id,
                run_id=self._run_id,
                tool_use_id=facts.call_id,
                status=wire,
                output_file=kept.handle if kept else "",
                summary=clip(text, SUMMARY_BYTES)[0],
                usage=figures if figures is not None else msgspec.UNSET,
            )
        )
        if facts.background:
            self._tell_background()
        if report:
            self._report(facts)
        else:
            self.inbox.stir()

    def _report(self, facts: JobFacts) -> None:
        where = f"\n\n[all of it: {facts.output.handle}]" if facts.output else ""
        text = f"{_named(facts)} in the background {_WORDS[facts.status]}.\n\n{facts.text}{where}"
        said = UserSaid(text, synthetic=True, reason=REPORT, task=facts.task_id)
        self.inbox.put(said)

    def _ended(self, job: Job, task: asyncio.Task[Ending]) -> None:
        """What ends the run, where no call waits to hear of it."""
        problem = task.exception()
        if isinstance(problem, RemitError):
            self._fatal(problem)
            return
        error = None if problem is not None else task.result().error
        if job.facts.background and error is not None and error.verdict in _FATAL and error.kind != INTERRUPTED:
            self._fatal(error)

    async def _stop(self, job: Job, *, silent: bool) -> None:
        job.silent = silent
        assert job.work is not None and job.task is not None
        job.work.cancel()
        await asyncio.wait({job.task})

    def _tell_background(self) -> None:
        tasks = [
            {
                "task_id": job.facts.task_id,
                "task_type": _TASK_TYPES[job.facts.kind],
                "description": job.facts.description,
            }
            for job in self._live.values()
            if job.facts.background
        ]
        self._recorder.emit(BackgroundTasks(tasks=tasks))


_WORDS: dict[JobStatus, str] = {
    "running": "goes on",
    "completed": "is done",
    "failed": "failed",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
}


def _named(facts: JobFacts) -> str:
    what = "agent" if facts.kind == "agent" else "command"
    return f"{what} `{facts.task_id}` ({facts.description})"


def marks(facts: JobFacts) -> str:
    """What the model needs to name it by."""
    mode = f", mode: {facts.mode}" if facts.mode else ""
    return f"\n\n[task_id: {facts.task_id}{mode}]"


def receipt(facts: JobFacts) -> Outcome:
    """Admission is no success: the report says what became of it."""
    text = (
        f"{_named(facts)} goes on in the background. That is no result: a report comes by itself when it ends, so do "
        f"not wait or ask for it.{marks(facts)}"
    )
    return done({"task_id": facts.task_id, "admitted": True}, text)


def view(facts: JobFacts, job: Job | None) -> dict[str, Any]:
    """One job, without what it came to."""
    told: dict[str, Any] = {
        "task_id": facts.task_id,
        "kind": facts.kind,
        "description": facts.description,
        "status": "waiting" if job is not None and job.waiting else facts.status,
        "background": facts.background,
    }
    if facts.kind == "agent":
        told |= {"mode": facts.mode, "profile": facts.profile, "total_tokens": facts.tokens, "turns": facts.answers}
    return told


def detail(facts: JobFacts, job: Job | None) -> dict[str, Any]:
    """One job and what it came to."""
    told = view(facts, job)
    if facts.status != "running":
        told["result"] = facts.text
    if facts.output is not None:
        told["output_ref"] = facts.output.handle
    return told

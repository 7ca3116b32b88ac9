"""Agents that work for the main one: sent, waited for, taken up again, and what the main one is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import Any, Literal, Protocol

import msgspec

from remit.base.calls import Call, Outcome, done, err
from remit.base.errors import SIGINT_EXIT, ErrorCode, Failure, RemitError, Stopped, Verdict
from remit.base.events import Result, User
from remit.base.json_schema import schema_fault
from remit.base.ports import Order
from remit.base.records import Reported, UserSaid
from remit.base.spec import BUILTIN
from remit.base.text import shorten
from remit.engine.child import ChildRecorder, Errand
from remit.engine.finish import Finish, Unmet
from remit.engine.jobs import Ending, Job, Jobs, marks, receipt
from remit.engine.run import Run
from remit.engine.state import JobFacts
from remit.tools.contract import Tool

Execution = Literal["sync", "auto", "async"]

MODES = ("plan", "build")
"""From the narrow one to the wide one."""

CANCELLED = "cancelled"
BLOCKED = "blocked"


class Child(msgspec.Struct):
    """An agent, ready to work. close: let go of its journal."""

    run: Run
    recorder: ChildRecorder
    close: Callable[[], None]


class OpenChild(Protocol):
    def __call__(self, errand: Errand, mode: str, schema: dict[str, Any] | None, *, resumed: bool) -> Child:
        """An agent that was not there before, or one of an earlier call with all it said."""
        ...


class Agents:
    """profiles: the names of those there are. mode: of the main agent, as it stands. at_once: how many work at the
    same time, the others wait. execution: whether they are waited for. own_profile: of the main agent."""

    def __init__(
        self,
        jobs: Jobs,
        open_child: OpenChild,
        *,
        at_once: int,
        execution: Execution,
        mode: Callable[[], str],
        profiles: Collection[str],
        own_profile: str,
    ) -> None:
        self._jobs = jobs
        self._open = open_child
        self._slots = asyncio.Semaphore(at_once)
        self._execution = execution
        self._mode = mode
        self._profiles = {*profiles, own_profile, BUILTIN}
        self._own_profile = own_profile

    async def delegate(self, call: Call, tool: Tool, order: Order) -> Outcome:
        """See base.ports.Agents. Raises what ends the run: a refusal with on_deny fail, a full disk."""
        fresh = not order.task_id
        told = self._new(order) if fresh else self._known(order)
        background = self._jobs.background and (order.background or self._execution == "async")

        async def work(job: Job) -> Ending:
            return await self._work(job, order, resumed=not fresh)

        job = self._jobs.start(
            "agent",
            call,
            tool,
            work,
            label=order.description,
            task_id=order.task_id,
            description=order.description,
            background=background,
            producer="task",
            prompt=order.prompt,
            **told,
        )
        ending = None if background else await self._jobs.wait(job)
        return receipt(job.facts) if ending is None else ending.outcome

    # -- what is asked for ---------------------------------------------------------------------

    def _new(self, order: Order) -> dict[str, Any]:
        if not order.prompt.strip():
            raise Failure(ErrorCode.INVALID_ARGUMENTS, "prompt: a new task needs one; say what is to be done")
        profile = order.profile or self._own_profile
        if profile not in self._profiles:
            there = ", ".join(sorted(self._profiles))
            raise Failure(
                ErrorCode.INVALID_ARGUMENTS, f"profile: there is no {shorten(profile)}; the profiles are: {there}"
            )
        fault = schema_fault(order.schema) if order.schema is not None else ""
        if fault:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, f"output_schema: {fault}")
        # Never wider than the one that asks.
        mode = min(order.mode or self._mode(), self._mode(), key=MODES.index)
        return {"mode": mode, "profile": profile, "schema": order.schema}

    def _known(self, order: Order) -> dict[str, Any]:
        """A settled task goes on as what it was."""
        facts = self._jobs.known(order.task_id)
        if facts.kind != "agent":
            raise Failure(ErrorCode.INVALID_ARGUMENTS, f"task_id: {facts.task_id} is a command, and not an agent")
        if self._jobs.running(facts.task_id) is not None:
            what = f"task_id: {facts.task_id} is still at work; it can be taken up again when it has ended"
            raise Failure(ErrorCode.INVALID_ARGUMENTS, what)
        for name, given, kept in (("mode", order.mode, facts.mode), ("profile", order.profile, facts.profile)):
            if given and given != kept:
                what = f"{name}: {facts.task_id} keeps its {name} {kept!r}; leave it out"
                raise Failure(ErrorCode.INVALID_ARGUMENTS, what)
        if MODES.index(facts.mode) > MODES.index(self._mode()):
            what = f"task_id: {facts.task_id} worked in mode {facts.mode}, and this is mode {self._mode()}"
            raise Failure(ErrorCode.INVALID_ARGUMENTS, what)
        if order.schema is not None and order.schema != facts.schema:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, f"output_schema: {facts.task_id} keeps its own; leave it out")
        if facts.profile not in self._profiles:
            what = f"task_id: {facts.task_id} had the profile {facts.profile!r}, which this run does not know"
            raise Failure(ErrorCode.INVALID_ARGUMENTS, what)
        return {"mode": facts.mode, "profile": facts.profile, "schema": facts.schema}

    def profile_of(self, task_id: str) -> str:
        """The profile of a task, that of the main agent where there is none of that id."""
        facts = self._jobs.facts(task_id)
        return facts.profile if facts is not None and facts.profile else self._own_profile

    # -- at work -------------------------------------------------------------------------------

    async def _work(self, job: Job, order: Order, *, resumed: bool) -> Ending:
        job.waiting = self._slots.locked()
        async with self._slots:
            job.waiting = False
            with ExitStack() as stack:
                facts = job.facts
                errand = Errand(facts.task_id, facts.call_id, facts.description, facts.profile)
                child = self._open(errand, facts.mode, facts.schema, resumed=resumed)
                stack.callback(child.close)
                job.figures = child.recorder.figures
                result = await self._prompted(child, _said(facts, child, order.prompt))
                return _ending(facts, child, result)

    async def _prompted(self, child: Child, prompt: str) -> Result:
        said = UserSaid(prompt) if prompt.strip() else None
        if said is not None:
            content = [{"type": "text", "text": prompt}]
            told = User(message={"role": "user", "content": content}, timestamp=child.recorder.timestamp())
            child.recorder.emit(told)
        prompting = asyncio.create_task(child.run.prompt(said))
        try:
            return await asyncio.shield(prompting)
        except asyncio.CancelledError:
            child.run.stop(Stopped("the agent was cancelled", SIGINT_EXIT, kind=CANCELLED))
            await prompting
            raise


def _said(facts: JobFacts, child: Child, prompt: str) -> str:
    """What the agent is told. One that never came to hear its first prompt hears that too."""
    if child.recorder.state.user_turns or prompt == facts.prompt:
        return prompt
    return "\n\n".join(part for part in (facts.prompt, prompt) if part.strip())


class ChildFinish(Finish):
    """Ends an agent that said that it cannot go on."""

    def settled(self) -> bool:
        return bool(self._recorder.state.blocked) or super().settled()

    async def judge(self) -> None:
        blocked = self._recorder.state.blocked
        if blocked:
            raise Unmet([f"it is blocked: {blocked}"], kind=BLOCKED)
        await super().judge()


class PrincipalGrant:
    """base.ports.Principal"""

    def __init__(self, jobs: Jobs, task_id: str, recorder: ChildRecorder) -> None:
        self._jobs = jobs
        self._task_id = task_id
        self._recorder = recorder

    def report(self, title: str, message: str, *, blocked: bool) -> None:
        self._recorder.record(Reported(title, message, blocked))
        self._jobs.report(self._jobs.known(self._task_id), title, message)


class AgentsGrant:
    """base.ports.Agents, for one call."""

    def __init__(self, agents: Agents, call: Call, tool: Tool) -> None:
        self._agents = agents
        self._call = call
        self._tool = tool

    async def delegate(self, order: Order) -> Outcome:
        return await self._agents.delegate(self._call, self._tool, order)


FATAL = frozenset({Verdict.REFUSED, Verdict.ENVIRONMENT, Verdict.STOPPED, Verdict.BUDGET})
"""Ends of an agent that are ends of the run: rules say so, nothing can be written any more, or a limit that is that
of the run is spent. The time of an agent is its own."""


def _ending(facts: JobFacts, child: Child, result: Result) -> Ending:
    """What the main agent is told."""
    error = child.run.error
    data = {"task_id": facts.task_id, "mode": facts.mode, "profile": facts.profile, "turns": result.num_turns}
    if error is None:
        value = result.structured_output if facts.schema is not None else result.result
        text = f"{result.result or ''}{marks(facts)}"
        return Ending("completed", done({**data, "result": value}, text))
    message = f"the agent did not finish ({result.verdict}): {error.what}{_last(result)}{marks(facts)}"
    return Ending("failed", err(ErrorCode.TASK_FAILED, message), _fatal(error))


def _last(result: Result) -> str:
    return f"\n\nIts last words: {result.result}" if result.result else ""


def _fatal(error: RemitError) -> RemitError | None:
    ends = error.verdict in FATAL and error.kind != "seconds"
    # What an agent does otherwise than it was recorded is a difference of the run.
    return error if ends or error.kind == "replay" else None

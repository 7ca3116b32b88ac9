"""Work with a life of its own: names, ends, reports, and how it is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fakes.engine import Desk
from remit.base.calls import Call, done, err
from remit.base.errors import EnvironmentFault, ErrorCode, Failure, RemitError, Stopped
from remit.base.events import BackgroundTasks, TaskNotification, TaskUpdated
from remit.base.limits import Limits
from remit.base.records import JobEnded, JobStarted, Noted, Spent
from remit.engine.budget import Ledger
from remit.engine.child import ChildLedger
from remit.engine.inbox import Inbox
from remit.engine.jobs import Ending, Job, Jobs
from remit.tools.contract import Tool

CALL = Call("t1.c1", "call_1", "task", "{}")


class Plain(Tool):
    """Nothing."""

    name = "task"


class Bench:
    """Jobs at a desk."""

    def __init__(self, *, background: bool = True) -> None:
        self.desk = Desk("go")
        self.fatal: list[RemitError] = []
        self.jobs = Jobs(
            self.desk.recorder,
            "run",
            lambda call, tool, producer, outcome, keep: (outcome.for_model(), None),
            self.fatal.append,
            background=background,
        )

    def start(
        self,
        work: Callable[[Job], Awaitable[Ending]],
        label: str = "Count files!",
        *,
        background: bool = False,
        **facts: Any,
    ) -> Job:
        return self.jobs.start(
            "agent", CALL, Plain(), work, label=label, description="count files", background=background, **facts
        )

    def ends(self) -> list[tuple[str, str]]:
        return [(each.task_id, each.status) for each in self.desk.book.records if isinstance(each, JobEnded)]


async def fine(job: Job) -> Ending:
    return Ending("completed", done({"n": 3}))


async def forever(job: Job) -> Ending:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("Count Files", ["count-files", "count-files-2", "count-files-3"]),
        ("../etc/passwd", ["etc-passwd", "etc-passwd-2", "etc-passwd-3"]),
        ("Zählen ✓", ["z-hlen", "z-hlen-2", "z-hlen-3"]),
        ("✓✓", ["task", "task-2", "task-3"]),
        ("x" * 100, ["x" * 58, "x" * 58 + "-2", "x" * 58 + "-3"]),
    ],
)
def test_ids_are_plain_words_and_never_the_same(label: str, names: list[str]) -> None:
    async def scene() -> list[str]:
        bench = Bench()
        jobs = [bench.start(fine, label) for _ in range(3)]
        await asyncio.gather(*(bench.jobs.wait(job) for job in jobs))
        return [job.facts.task_id for job in jobs]

    assert asyncio.run(scene()) == names


def test_a_job_that_is_waited_for_is_told_to_its_call_alone() -> None:
    async def scene() -> None:
        bench = Bench()
        ending = await bench.jobs.wait(bench.start(fine))
        assert ending is not None and ending.outcome.data == {"n": 3}
        assert bench.ends() == [("count-files", "completed")]
        assert not len(bench.jobs.inbox)
        assert not bench.desk.heard.of(BackgroundTasks)

    asyncio.run(scene())


def test_a_job_in_the_background_holds_the_inbox_open_until_its_report() -> None:
    async def scene() -> None:
        bench = Bench()
        inbox = bench.jobs.inbox
        bench.start(fine, background=True)
        inbox.close()
        said = await inbox.next()
        assert said is not None and (said.synthetic, said.reason, said.task) == (True, "report", "count-files")
        assert await inbox.next() is None
        assert [len(event.tasks) for event in bench.desk.heard.of(BackgroundTasks)] == [1, 0]

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("problem", "code", "fatal"),
    [
        (Failure(ErrorCode.NOT_FOUND, "no"), "not_found", False),
        (ZeroDivisionError("x"), "internal", False),
        (EnvironmentFault("disk full"), "task_failed", True),
        (Stopped("gone", 141, kind="sigpipe"), "task_failed", True),
        (Stopped("interrupted", 130, kind="interrupted"), "task_failed", False),
    ],
)
def test_what_goes_wrong_ends_the_job_and_only_where_nothing_helps_the_run(
    problem: Exception, code: str, fatal: bool
) -> None:
    async def work(job: Job) -> Ending:
        raise problem

    async def scene() -> None:
        bench = Bench()
        job = bench.start(work, background=True)
        assert job.task is not None
        ending = await job.task
        assert ending.outcome.error is not None and ending.outcome.error.code.value == code
        await asyncio.sleep(0)
        assert bool(bench.fatal) is fatal
        assert bench.ends() == [("count-files", "failed")]
        assert any(isinstance(each, Noted) for each in bench.desk.book.records) is (code == "internal")

    asyncio.run(scene())


def test_an_error_that_ends_the_run_is_raised_where_a_call_waits() -> None:
    async def work(job: Job) -> Ending:
        return Ending("failed", err(ErrorCode.TASK_FAILED, "no"), EnvironmentFault("disk full"))

    async def scene() -> None:
        bench = Bench()
        with pytest.raises(EnvironmentFault):
            await bench.jobs.wait(bench.start(work))

    asyncio.run(scene())


@pytest.mark.parametrize("begun", [False, True])
def test_a_job_is_cancelled_also_before_it_began(begun: bool) -> None:
    async def scene() -> None:
        bench = Bench()
        bench.start(forever, background=True)
        if begun:
            await asyncio.sleep(0)
        assert await bench.jobs.cancel("count-files", silent=False)
        assert bench.ends() == [("count-files", "cancelled")]
        assert not bench.jobs.active()
        assert not await bench.jobs.cancel("count-files", silent=False)
        assert [event.status for event in bench.desk.heard.of(TaskNotification)] == ["stopped"]
        assert [event.patch["status"] for event in bench.desk.heard.of(TaskUpdated)] == ["killed"]
        assert len(bench.jobs.inbox) == 1

    asyncio.run(scene())


def test_a_call_that_is_cancelled_takes_its_job_along_and_no_other() -> None:
    async def scene() -> None:
        bench = Bench()
        bench.start(forever, "other", background=True)
        waiting = asyncio.create_task(bench.jobs.wait(bench.start(forever)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert bench.ends() == [("count-files", "cancelled")]
        assert bench.jobs.active()
        await bench.jobs.halt()
        assert bench.ends()[1:] == [("other", "cancelled")]
        assert not len(bench.jobs.inbox)

    asyncio.run(scene())


def test_a_promoted_job_is_let_go_once_and_goes_on() -> None:
    async def scene() -> None:
        bench = Bench()
        go = asyncio.Event()

        async def work(job: Job) -> Ending:
            await go.wait()
            return await fine(job)

        job = bench.start(work)
        waiting = asyncio.create_task(bench.jobs.wait(job))
        await asyncio.sleep(0)
        bench.jobs.promote("count-files")
        assert await waiting is None
        with pytest.raises(Failure, match="in the background already"):
            bench.jobs.promote("count-files")
        go.set()
        assert job.task is not None
        await job.task
        with pytest.raises(Failure, match="has ended"):
            bench.jobs.promote("count-files")
        assert len(bench.jobs.inbox) == 1

    asyncio.run(scene())


def test_nothing_is_promoted_where_there_is_no_background() -> None:
    async def scene() -> None:
        bench = Bench(background=False)
        job = bench.start(fine)
        with pytest.raises(Failure, match="no background"):
            bench.jobs.promote("count-files")
        await bench.jobs.wait(job)

    asyncio.run(scene())


def test_what_a_dead_process_left_is_settled_once() -> None:
    bench = Bench()
    for name, background in (("waited", False), ("alone", True)):
        bench.desk.recorder.record(JobStarted(name, "agent", "t1.c1", "call_1", "d", 1.0, background, mode="build"))
    bench.desk.recorder.record(JobStarted("told-late", "agent", "t1.c1", "call_1", "d", 1.0, True))
    bench.desk.recorder.record(JobEnded("told-late", "completed", "three", 2.0, report=True))
    for _ in range(2):
        bench.jobs.settle_lost()
    assert bench.ends()[1:] == [("waited", "interrupted"), ("alone", "interrupted")]
    assert [said.task for said in bench.jobs.inbox.take()] == ["alone", "told-late"]


def test_the_history_is_paged_from_the_newest_back() -> None:
    async def scene() -> None:
        bench = Bench()
        for number in range(5):
            await bench.jobs.wait(bench.start(fine, f"job {number}"))
        assert [facts.task_id for facts in bench.jobs.history("", 2)] == ["job-4", "job-3"]
        assert [facts.task_id for facts in bench.jobs.history("job-3", 9)] == ["job-2", "job-1", "job-0"]
        with pytest.raises(Failure, match="there is no task"):
            bench.jobs.history("never", 1)

    asyncio.run(scene())


def test_a_closed_inbox_that_expects_something_waits_for_it() -> None:
    async def scene() -> None:
        inbox, expected = Inbox(), True
        inbox.expects = lambda: expected
        inbox.close()
        waiting = asyncio.create_task(inbox.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        expected = False
        inbox.stir()
        assert await waiting is None

    asyncio.run(scene())


def test_what_agents_have_open_counts_for_all_others() -> None:
    whole = Ledger(Limits(calls=3))
    child = ChildLedger(whole)
    child.elsewhere = lambda: 2
    child.before_call(0)
    with pytest.raises(RemitError, match="calls = 3"):
        child.before_call(1)
    whole.calls = 1
    with pytest.raises(RemitError, match="calls = 3"):
        child.before_call(0)
    whole.elsewhere = lambda: 2
    with pytest.raises(RemitError, match="calls = 3"):
        whole.before_call(0)


def test_turns_of_agents_count_for_the_prompt_under_way() -> None:
    desk = Desk("go", limits=Limits(turns=2))
    for _ in range(2):
        desk.recorder.record(Spent("turns", 1))
    with pytest.raises(RemitError, match="turns = 2"):
        desk.state.ledger.before_request()

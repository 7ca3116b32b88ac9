"""A run that a program drives: lines in on one descriptor, prompt after prompt, until that is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from remit.base.errors import UsageFault, exit_code
from remit.base.events import Notice, Result
from remit.base.records import UserSaid
from remit.engine.client import Client, Control
from remit.engine.client_questions import ClientQuestions, Person
from remit.engine.inbox import Inbox
from remit.engine.job_desk import controls
from remit.engine.jobs import Jobs
from remit.engine.run import Run
from remit.engine.session import Session
from remit.stream.inbound import Asked, Line, LineReader, Replied, Said, Unreadable, Withdrawn
from remit.wiring.assembly import ReadyRun
from remit.wiring.implement import controls as implement_controls
from remit.wiring.permissions import Permissions


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How a client is served. answer_seconds: how long an answer of its is waited for. controls: requests that are
    served beside the built-in ones. unreadable: told of a line that makes no sense; where it says so, nothing more is
    read."""

    answer_seconds: float
    controls: Callable[[Client], Mapping[str, Control]] = lambda _: {}
    unreadable: Callable[[Unreadable], bool] = lambda _: False


async def serve(ready: ReadyRun, fd: int, new_id: Callable[[], str], manner: Manner) -> int:
    """Serve the client behind `fd` to its end; the exit code."""
    jobs = ready.jobs
    inbox = Inbox() if jobs is None else jobs.inbox
    client = Client(inbox, ready.recorder.emit, new_id, answer_seconds=manner.answer_seconds)
    client.attach(ready.run, ready.recorder)
    client.also_serve({**ready.ruling.controls(), **implement_controls(ready, client.say)})
    serve_jobs(ready, client)
    client.also_serve(manner.controls(client))
    ready.dispatch.client = client
    client.on_permissions = Permissions(
        ready.ruling,
        may_bypass=True,
        told=lambda text: client.tell(Notice(kind="permissions", text=text)),
        on_mode=lambda _: None,
    ).update
    if isinstance(ready.person, Person):
        ready.person.come(ClientQuestions(client))
    if ready.said is not None:
        inbox.put(ready.said)

    def ended(result: Result) -> None:
        ready.leave_status(result)
        if not len(inbox) and not (jobs is not None and jobs.active()):
            client.tell_state("idle")

    session = Session(
        ready.run,
        inbox,
        first=ready.run.unfinished,
        began=lambda: client.tell_state("running"),
        ended=ended,
    )
    ready.run.on_stop = session.wake
    listening = asyncio.create_task(_listen(LineReader(fd, asyncio.get_running_loop()), client, ready, manner))
    try:
        last = await session.serve()
    finally:
        listening.cancel()
    if last is None and ready.run.stopped is None:
        last = _unsaid(ready, client)
    return _exit_code(ready, last)


def _unsaid(ready: ReadyRun, client: Client) -> Result | None:
    """The result where no prompt came, None where the client wanted none."""
    try:
        client.hold_heard()
    except UsageFault as error:
        return ready.run.end_unsaid(error)
    return None


def serve_jobs(ready: ReadyRun, client: Client) -> None:
    """What goes on in the background is the client's to ask about and to end."""
    if ready.jobs is not None:
        client.also_serve(controls(ready.jobs))
        client.on_interrupt = Interrupted(ready.run, ready.jobs, client)


class Interrupted:
    """Ends what goes on in the background when the client interrupts."""

    def __init__(self, run: Run, jobs: Jobs, client: Client) -> None:
        self._run = run
        self._jobs = jobs
        self._client = client
        self._halting: asyncio.Task[None] | None = None

    def __call__(self) -> None:
        if self._jobs.active():
            self._halting = asyncio.create_task(self._halt())

    async def _halt(self) -> None:
        await self._jobs.halt()
        if not self._run.under_way:
            self._client.tell_state("idle")


def _exit_code(ready: ReadyRun, last: Result | None) -> int:
    if ready.run.stopped is not None:
        return exit_code(ready.run.stopped)
    return last.exit_code if last is not None else 0


async def _listen(reader: LineReader, client: Client, ready: ReadyRun, manner: Manner) -> None:
    try:
        async for line in reader.lines():
            if isinstance(line, Unreadable):
                text = f"a line of {line.size} bytes on stdin is passed over: {line.what}"
                client.tell(Notice(kind="input", text=text))
                if manner.unreadable(line):
                    break
            else:
                take(line, client)
    finally:
        client.leave()


def take(line: Line, client: Client) -> None:
    """What a line asks for."""
    match line:
        case Said(text, images, uuid, refused):
            client.say(UserSaid(text, images=images, uuid=uuid, refused=refused))
        case Asked(request_id, subtype, fields):
            client.serve(request_id, subtype, fields)
        case Replied(request_id, response, error):
            client.take_reply(request_id, response, error)
        case Withdrawn(request_id):
            client.withdraw(request_id)

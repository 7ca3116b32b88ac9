"""A run that a program drives: lines in on one descriptor, prompt after prompt, until that is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from remit.base.errors import exit_code
from remit.base.events import Notice, Result
from remit.base.records import UserSaid
from remit.engine.client import Client, Control
from remit.engine.inbox import Inbox
from remit.engine.session import Session
from remit.stream.inbound import Asked, Line, LineReader, Replied, Said, Unreadable, Withdrawn
from remit.wiring.ready import ReadyRun


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How a client is served. answer_seconds: how long an answer of its is waited for. controls: requests that are
    served beside the built-in ones. unreadable: told of a line that makes no sense; where it says so, nothing more is
    read."""

    answer_seconds: float
    controls: Callable[[Client], Mapping[str, Control]] = lambda _: {}
    unreadable: Callable[[Unreadable], bool] = lambda _: False


async def serve(ready: ReadyRun, fd: int, new_id: Callable[[], str], manner: Manner) -> int:
    """Serve the client behind `fd` to its end; the exit code."""
    inbox = Inbox()
    client = Client(ready.run, inbox, ready.recorder, new_id, answer_seconds=manner.answer_seconds)
    client.also_serve(ready.ruling.controls())
    client.also_serve(manner.controls(client))
    ready.dispatch.client = client

    def ended(result: Result) -> None:
        ready.leave_status(result)
        if not len(inbox):
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
    return _exit_code(ready, last)


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
        case Said(text, images, uuid):
            client.say(UserSaid(text, images=images, uuid=uuid))
        case Asked(request_id, subtype, fields):
            client.serve(request_id, subtype, fields)
        case Replied(request_id, response, error):
            client.take_reply(request_id, response, error)
        case Withdrawn(request_id):
            client.withdraw(request_id)

"""A session for a client of Claude Code: opened by what the client says first, then served to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from remit.base.errors import SIGINT_EXIT, RemitError, exit_code
from remit.base.events import Notice, Result
from remit.base.ports import Names
from remit.base.records import Record, UserSaid
from remit.engine.client import Client
from remit.engine.client_questions import ClientQuestions
from remit.engine.inbox import Inbox
from remit.engine.session import Session
from remit.stream.claude import ClaudeStream
from remit.stream.claude_end import NOT_STARTED
from remit.stream.inbound import LineReader, Said, Unreadable
from remit.wiring.assembly import ReadyRun
from remit.wiring.driven import serve_jobs, take
from remit.wiring.ports import Listeners, Ports
from remit.wiring.sdk_controls import Controls
from remit.wiring.sdk_opening import hold_place, open_run
from remit.wiring.sdk_plan import Plan
from remit.wiring.sdk_wishes import Wishes


class SdkSession:
    """One process of such a client. fault: told of an error that no run could tell of."""

    def __init__(
        self,
        plan: Plan,
        stream: ClaudeStream,
        names: Names,
        ports: Ports,
        fault: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._stream = stream
        self._ports = ports
        self._fault = fault
        self._inbox = Inbox()
        seconds = plan.settings.client_seconds
        self._client = Client(self._inbox, stream.emit, ports.new_uuid, answer_seconds=seconds, names=names)
        self._wishes = Wishes(plan, self._client)
        self._controls = Controls(plan, stream, self._client, self._wishes)
        self._client.also_serve(self._controls.table())
        self._client.on_permissions = self._controls.permit
        self._ready: ReadyRun | None = None
        self._bad = False
        self._stop: RemitError | None = None
        self._opening: asyncio.Task[bool] | None = None

    def stop(self, reason: RemitError) -> None:
        """End cleanly, from within the loop; the first reason counts. Before there is a run nothing is begun."""
        self._stop = self._stop or reason
        if self._ready is not None:
            self._ready.run.stop(self._stop)
        elif self._opening is not None:
            self._opening.cancel()

    def hold_deadline(self) -> None:
        """Raise BudgetSpent when the time of the run is over."""
        if self._ready is not None:
            self._ready.run.hold_deadline()

    async def serve(self, fd: int) -> int:
        """To the end; the exit code."""
        listening: asyncio.Task[None] | None = None
        if self._plan.prompt is None:
            listening = asyncio.create_task(self._listen(fd))
        else:
            self._inbox.put(UserSaid(self._plan.prompt))
            self._client.leave()
        try:
            return await self._serve()
        finally:
            if listening is not None:
                listening.cancel()
            if self._ready is not None:
                self._ready.close()

    async def _open(self) -> bool:
        """Whether there is a message to begin with, once all is said that goes before it."""
        if not await self._inbox.wait():
            return False
        await self._wishes.settle()
        return True

    async def _serve(self) -> int:
        self._opening = asyncio.create_task(self._open())
        await asyncio.wait({self._opening})
        if self._opening.cancelled():
            return _code(self._stop)
        if not self._opening.result() and self._bad:
            return 1
        try:
            if not self._opening.result():
                self._client.hold_heard()
                return 0
            self._ready = ready = self._start()
        except RemitError as error:
            return self._no_run(error)
        self._enter(ready)
        session = Session(ready.run, self._inbox, first=False, began=self._began, ended=self._ended)
        ready.run.on_stop = session.wake
        last = await session.serve()
        if ready.run.stopped is not None:
            return _code(ready.run.stopped)
        return int(self._bad or (last is not None and self._stream.failed))

    # -- opening -------------------------------------------------------------------------------

    def _start(self) -> ReadyRun:
        plan, stream = self._plan, self._stream
        hold_place(plan)
        tools = self._wishes.tools()
        ports = msgspec.structs.replace(
            self._ports,
            client=True,
            tools=tools,
            followers=(*self._ports.followers, self._follow),
            person=ClientQuestions(self._client) if plan.asks else None,
            original=stream.keep_original,
            names=self._client.names,
            response=self._controls.response,
        )
        stream.servers += [
            {"name": server.name, "status": server.status, "source": "sdk"} for server in self._wishes.servers.values()
        ]
        stream.agents += self._wishes.wanted.agents
        heard = Listeners([stream], (), partial=plan.partial)
        return open_run(plan, self._wishes.wanted, tools, heard, ports)

    def _no_run(self, error: RemitError) -> int:
        """An error before the first line of a run: stderr has it, and the client reads a result."""
        self._fault(error.what if error.kind == "no_session" else f"Error: {error}")
        self._stream.emit(
            Result(
                subtype="error_during_execution",
                is_error=True,
                verdict=error.verdict.value,
                exit_code=exit_code(error),
                duration_ms=0,
                duration_api_ms=0,
                num_turns=0,
                session_id=self._plan.place.session_id or self._ports.new_uuid(),
                uuid=self._ports.new_uuid(),
                errors=[str(error)],
                error_kind=NOT_STARTED,
            )
        )
        return 1

    def _enter(self, ready: ReadyRun) -> None:
        jobs = ready.jobs
        self._client.attach(ready.run, ready.recorder, None if jobs is None else jobs.inbox)
        self._inbox = self._inbox if jobs is None else jobs.inbox
        serve_jobs(ready, self._client)
        self._controls.enter(ready)
        for text in self._plan.notices:
            ready.run.tell(Notice(kind="settings", text=text))
        for notice in self._wishes.passed_over():
            ready.run.tell(notice)
        if self._stop is not None:
            ready.run.stop(self._stop)

    # -- while it lasts ------------------------------------------------------------------------

    def _began(self) -> None:
        self._client.tell_state("running")

    def _ended(self, result: Result) -> None:
        assert self._ready is not None
        self._ready.leave_status(result)
        for uuid in result.user_message_uuids:
            self._stream.tell(type="command_lifecycle", command_uuid=uuid, state="completed")
        jobs = self._ready.jobs
        if not len(self._inbox) and not (jobs is not None and jobs.active()):
            self._client.tell_state("idle")

    def _follow(self, record: Record) -> None:
        """A message of the client goes to the model."""
        if not isinstance(record, UserSaid) or record.synthetic:
            return
        if self._plan.replay:
            self._stream.tell_replay(record.text, record.uuid)
        if record.uuid:
            self._stream.tell(type="command_lifecycle", command_uuid=record.uuid, state="started")

    async def _listen(self, fd: int) -> None:
        reader = LineReader(fd, asyncio.get_running_loop())
        try:
            async for line in reader.lines():
                if isinstance(line, Unreadable):
                    self._refuse_line(line)
                    break
                if isinstance(line, Said) and line.uuid:
                    self._acknowledge(line)
                take(line, self._client)
        except RemitError as error:
            # What was said of the line could not be written.
            self.stop(error)
        finally:
            self._client.leave()

    def _acknowledge(self, said: Said) -> None:
        """A message with a uuid was heard, for the first time or again."""
        if not self._client.has_heard(said.uuid):
            self._stream.tell(type="command_lifecycle", command_uuid=said.uuid, state="queued")
        elif self._plan.replay:
            self._stream.tell_replay(said.text, said.uuid)

    def _refuse_line(self, line: Unreadable) -> None:
        """Their program ends on a line that it cannot read, once what came before is served; so does this one."""
        self._bad = True
        if "message of role user" in line.what:
            self._fault(f"Error: Expected message role 'user', got '{line.what.rpartition('not ')[2].strip(chr(39))}'")
        else:
            self._fault(
                f"Error parsing streaming input line (type=unknown, {line.size} chars): SyntaxError: {line.what}"
            )


def _code(stopped: RemitError | None) -> int:
    """Of a session that was stopped. SIGINT is how their clients end one that is well."""
    code = exit_code(stopped)
    return 0 if code == SIGINT_EXIT else code

"""The client program that drives a session: what it asks of us, and what we ask of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.calls import Call, Decision
from remit.base.claude_names import OurNames
from remit.base.errors import INTERRUPTED, SIGINT_EXIT, RemitError, Stopped, UsageFault
from remit.base.events import ControlCancel, ControlRequest, ControlResponse, Event, SessionState
from remit.base.ports import ClientWord, Names
from remit.base.records import UserSaid
from remit.engine.answer import wire_input
from remit.engine.inbox import Inbox
from remit.engine.recorder import Recorder
from remit.engine.run import Run

OUR_NAMES = OurNames()

ALLOWED_WITH = ("updatedInput", "updatedPermissions")
"""What may come with an allowance, and makes it none where it has another shape."""

Reply = dict[str, Any]
Control = Callable[[Mapping[str, Any]], Awaitable[Reply]]


class ControlFault(Exception):
    """A control request that is refused. code: a word for programs, or ""."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class NoAnswer(Exception):
    """The client did not answer, or with an error: the text says which."""


class Client:
    """Both directions of control, from before there is a run. emit: takes what is told to the client until then.
    answer_seconds: how long an answer is waited for. names: what it calls our tools."""

    def __init__(
        self,
        inbox: Inbox,
        emit: Callable[[Event], None],
        new_id: Callable[[], str],
        *,
        answer_seconds: float,
        names: Names = OUR_NAMES,
    ) -> None:
        self._run: Run | None = None
        self._inbox = inbox
        self._emit = emit
        self.names = names
        self.on_permissions: Callable[[Sequence[Any]], None] = lambda _: None
        """Told what rules the client wants from here on, together with an answer."""
        self.new_id = new_id
        self._answer_seconds = answer_seconds
        self._controls: dict[str, Control] = {"interrupt": self._interrupt}
        self._asked: dict[str, asyncio.Future[Reply]] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._uuids: set[str] = set()
        self._gone = False
        self._controlled = False
        self.asks_people: frozenset[str] = frozenset()
        """Tools whose calls a person has to see, whatever the client would allow by itself."""
        self.on_answers: Callable[[Mapping[str, Any]], None] = lambda _: None
        """Told of the input of such a call as the client gives it back."""
        self.on_allowed: Callable[[Call], None] = lambda _: None
        """Told of a call that the client was asked about and lets pass."""
        self.on_interrupt: Callable[[], None] = lambda: None
        """What else an interrupt ends."""

    def attach(self, run: Run, recorder: Recorder, inbox: Inbox | None = None) -> None:
        """There is a run: what is told from here on is told by it. inbox: its own, where messages go from here on."""
        self._run, self._emit = run, recorder.emit
        self._inbox.leave_out(recorder.state.uuids)
        self._uuids |= recorder.state.uuids
        if inbox is not None:
            self._inbox.pour(inbox)
            self._inbox = inbox

    @property
    def gone(self) -> bool:
        """Whether the client has closed its side."""
        return self._gone

    def hold_heard(self) -> None:
        """Where no prompt came: raises UsageFault, unless requests show that a client was there which wanted none."""
        if not self._controlled:
            raise UsageFault(
                "no prompt came on stdin",
                hint='a prompt is a line like {"type": "user", "message": {"role": "user", "content": "..."}}',
                kind="no_prompt",
            )

    def also_serve(self, controls: Mapping[str, Control]) -> None:
        """Serve further requests, by subtype; each gets the request's fields and gives the answer's, or raises
        ControlFault."""
        self._controls |= controls

    # -- what comes in -------------------------------------------------------------------------

    def has_heard(self, uuid: str) -> bool:
        """Whether a message of the session had this uuid: the same one, said again."""
        return uuid in self._uuids

    def say(self, said: UserSaid) -> None:
        """A prompt, or what joins the one under way. One that was said already is passed over."""
        if self.has_heard(said.uuid):
            return
        self._uuids |= {said.uuid} - {""}
        self._inbox.put(said)

    def serve(self, request_id: str, subtype: str, fields: Mapping[str, Any]) -> None:
        """Answer a request of the client, in a task of its own: an interrupt waits for nothing."""
        self._controlled = True
        task = asyncio.get_running_loop().create_task(self._serve(request_id, subtype, fields))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def take_reply(self, request_id: str, response: Reply, error: str) -> None:
        """The client's answer; one that nobody waits for is passed over."""
        waiting = self._asked.pop(request_id, None)
        if waiting is None or waiting.done():
            return
        if error:
            waiting.set_exception(NoAnswer(error))
        else:
            waiting.set_result(response)

    def withdraw(self, request_id: str) -> None:
        """The client will not answer this question."""
        self.take_reply(request_id, {}, "the client withdrew from the question")

    def leave(self) -> None:
        """The client has closed its side: nothing more comes, and no question of ours is answered."""
        self._gone = True
        for request_id in list(self._asked):
            self.take_reply(request_id, {}, "the client has closed its input")
        self._inbox.close()

    # -- what goes out -------------------------------------------------------------------------

    async def ask(self, subtype: str, fields: Reply, seconds: float | None = None) -> Reply:
        """A question and its answer. Raises NoAnswer."""
        if self._gone:
            raise NoAnswer("the client has closed its input")
        request_id = self.new_id()
        waiting = self._asked[request_id] = asyncio.get_running_loop().create_future()
        self.tell(ControlRequest(request_id=request_id, request={"subtype": subtype, **fields}))
        limit = self._answer_seconds if seconds is None else seconds
        try:
            return await asyncio.wait_for(waiting, limit)
        except TimeoutError:
            self.tell(ControlCancel(request_id=request_id))
            raise NoAnswer(f"the client did not answer within {limit:g} s") from None
        except asyncio.CancelledError:
            self.tell(ControlCancel(request_id=request_id))
            raise
        finally:
            self._asked.pop(request_id, None)

    def call(self, subtype: str, fields: Reply) -> None:
        """A question whose answer is not waited for."""
        self.tell(ControlRequest(request_id=self.new_id(), request={"subtype": subtype, **fields}))

    async def may_use(self, call: Call, decision: Decision, agent_id: str = "") -> ClientWord:
        """base.ports.Client"""
        given = wire_input(call.arguments)
        named = self.names.tool(call.tool, given)
        fields: Reply = {
            "tool_name": named,
            "display_name": named,
            "input": self.names.shown(call.tool, given),
            "tool_use_id": call.id,
            "decision_reason": self.names.told(call.tool, decision.rule.why),
        }
        fields |= {"agent_id": agent_id} if agent_id else {}
        fields |= {"requires_user_interaction": True} if call.tool in self.asks_people else {}
        self.tell_state("requires_action")
        try:
            reply = await self.ask("can_use_tool", fields)
        except NoAnswer as problem:
            return ClientWord(False, f"{named} needs a permission that could not be asked for: {problem}")
        finally:
            self.tell_state("running")
        word = self._word(call, reply)
        if word.allow:
            self.on_allowed(call)
        return word

    def tell_state(self, state: Any) -> None:
        self.tell(SessionState(state=state))

    def tell(self, event: Event) -> None:
        """The client reads no more, or the disk is full: that ends the session."""
        try:
            self._emit(event)
        except RemitError as error:
            if self._run is None:
                raise
            self._run.stop(error)

    # -- requests of the client ----------------------------------------------------------------

    async def _serve(self, request_id: str, subtype: str, fields: Mapping[str, Any]) -> None:
        answer: Reply
        try:
            control = self._controls.get(subtype)
            if control is None:
                raise ControlFault(f"Unsupported control request subtype: {subtype}")
            answer = {"subtype": "success", "request_id": request_id, "response": await control(fields)}
        except ControlFault as fault:
            answer = {"subtype": "error", "request_id": request_id, "error": fault.message}
            answer |= {"error_code": fault.code} if fault.code else {}
        except RemitError as error:
            answer = {"subtype": "error", "request_id": request_id, "error": str(error)}
        self.tell(ControlResponse(response=answer))

    async def _interrupt(self, fields: Mapping[str, Any]) -> Reply:
        """End the prompt under way; what waits in the inbox stays there."""
        reason = Stopped("interrupted by the client", SIGINT_EXIT, kind=INTERRUPTED)
        loop = asyncio.get_running_loop()
        # After the answer: the client hears first that it was understood.
        if self._run is not None:
            loop.call_soon(self._run.interrupt, reason)
        loop.call_soon(self.on_interrupt)
        return {"still_queued": []}

    def _word(self, call: Call, reply: Reply) -> ClientWord:
        match reply:
            case {"behavior": "allow", "updatedPermissions": [*updates]}:
                if updates:
                    self.on_permissions(updates)
                return self._word(call, {name: value for name, value in reply.items() if name != "updatedPermissions"})
            case {"behavior": "allow", "updatedInput": dict(changed)}:
                if call.tool in self.asks_people:
                    self.on_answers(changed)
                return ClientWord(True, arguments=self.changed(call, changed))
            case {"behavior": "allow"} if not any(reply.get(name) is not None for name in ALLOWED_WITH):
                return ClientWord(True)
            case {"behavior": "deny"}:
                message = reply.get("message")
                told = (
                    message
                    if isinstance(message, str) and message
                    else f"the client refused {self.names.tool(call.tool)}"
                )
                return ClientWord(False, told, interrupt=reply.get("interrupt") is True)
            case _:
                what = "needs a permission, and the client's answer says neither yes nor no"
                return ClientWord(False, f"{self.names.tool(call.tool)} {what}")

    def changed(self, call: Call, arguments: Mapping[str, Any]) -> str | None:
        """The client's arguments as those of the call; None where they are what it had."""
        had = wire_input(call.arguments)
        taken = self.names.taken(call.tool, arguments)
        if arguments == self.names.shown(call.tool, had) or taken == had:
            return None
        return msgspec.json.encode(taken).decode()

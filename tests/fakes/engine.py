"""The engine around one question: a model that answers by a function, and a journal in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec

from remit.base.calls import done
from remit.base.errors import RemitError
from remit.base.events import Event
from remit.base.limits import Limits
from remit.base.messages import BlockPart, CallBlock, Delta, Part, Request, StopPart, TextBlock, Usage, UsagePart
from remit.base.records import CallSettled, Record, UserSaid
from remit.base.spec import ModelSpec, Price
from remit.engine.emit import Emitter
from remit.engine.models import Model
from remit.engine.recorder import Recorder
from remit.engine.shelf import Shelf
from remit.engine.state import State

USAGE = Usage(10, 5)

Reply = Iterable[Part | RemitError]


def says(text: str, *, usage: Usage = USAGE, stop: Any = "end_turn") -> list[Part]:
    """An answer in text."""
    return [Delta(0, "text", text), BlockPart(0, TextBlock(text)), UsagePart(usage), StopPart(stop)]


def calls(*wanted: tuple[str, str, str], usage: Usage = USAGE) -> list[Part]:
    """An answer that calls tools: (id, tool, arguments) each."""
    blocks = [BlockPart(index, CallBlock(*each)) for index, each in enumerate(wanted)]
    return [*blocks, UsagePart(usage), StopPart("tool_use")]


class Talker:
    """A provider. answer: the parts for a request, the last of which may be an error to raise."""

    key_source = "none"

    def __init__(self, answer: Callable[[Request], Reply], name: str = "talker", model: str = "m") -> None:
        self.name, self.model = name, model
        self.asked: list[Request] = []
        self._answer = answer

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        self.asked.append(request)
        for part in self._answer(request):
            if isinstance(part, RemitError):
                raise part
            yield part

    async def close(self) -> None:
        """There is nothing to close."""


class Stopwatch:
    """A clock that stands still."""

    def now(self) -> float:
        return 1_800_000_000.0

    def monotonic(self) -> float:
        return 100.0


class Book:
    """A journal in memory. `read` gives its records through their JSON, as a resumed run sees them."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, record: Record, *, sync: bool = True) -> None:
        self.records.append(record)

    def read(self) -> State:
        """The state of a process that takes the run up."""
        state = State(Limits())
        for record in self.records:
            state.apply(msgspec.convert(msgspec.to_builtins(record), type(record)))
        return state


class Heard:
    """A listener that keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event, line: bytes) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class Desk:
    """A recorder with all it writes to."""

    def __init__(self, *prompts: str, limits: Limits | None = None) -> None:
        self.book, self.heard, self.state = Book(), Heard(), State(limits or Limits())
        emitter = Emitter([self.heard], [], msgspec.json.encode, "s", lambda: "u", Stopwatch())
        self.recorder = Recorder(self.book, self.state, emitter, Stopwatch())
        for prompt in prompts:
            self.recorder.record(UserSaid(prompt))

    @property
    def shelf(self) -> Shelf:
        """No tools."""
        return Shelf({}, {}, self.state, self.recorder.load)

    def settle(self, content: str = "ok") -> None:
        """Answer every open call."""
        for key, opened in list(self.state.open.items()):
            self.recorder.record(CallSettled(key, opened.call.id, opened.call.tool, done({}), content))


def model(talker: Talker, price: Price | None = None, **facts: Any) -> Model:
    """facts: fields of ModelSpec."""
    return Model(talker, ModelSpec(id=f"{talker.name}/{talker.model}", protocol="openai", **facts), price, True)

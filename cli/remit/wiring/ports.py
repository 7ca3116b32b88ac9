"""What a run takes from the outside: clocks, chance, and who hears its events."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.claude_names import OurNames
from remit.base.ports import Listener, Names, Questions, Response
from remit.base.records import Record
from remit.tools.contract import Tool


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class Ports(msgspec.Struct, frozen=True):
    """What a run takes from the outside, so that tests can stand in for the world. web_client: makes
    the guarded client of fetch tools from the allowed ports. resolver, connector: those of net.dial that the
    proxy of commands goes by, None: the system's. followers: hear of every journaled record, before
    anything else does. client: a program drives the run, and answers what the rules ask. tools: what it offers.
    person: who answers questions of the model, None: prepared answers do. original: told what a changed file held
    before, by the agent and the id of the call, and the name of the file; None: nobody is. names: what hooks are
    told that tools are called. response: how they are told of results, None: by the data of the outcome."""

    environ: Mapping[str, str]
    clock: SystemClock = msgspec.field(default_factory=SystemClock)
    new_uuid: Callable[[], str] = lambda: str(uuid.uuid4())
    random_bytes: Callable[[int], bytes] = os.urandom
    web_client: Callable[..., Any] | None = None
    resolver: Any = None
    connector: Any = None
    followers: tuple[Callable[[Record], None], ...] = ()
    client: bool = False
    tools: tuple[Tool, ...] = ()
    person: Questions | None = None
    original: Callable[[str, str, str, str], None] | None = None
    names: Names = OurNames()
    response: Response | None = None


class Listeners(msgspec.Struct, frozen=True):
    """Who hears the events. stdout: a failure there ends the run. partial: answers are told as they come."""

    stdout: Sequence[Listener] = ()
    beside: Sequence[Listener] = ()
    partial: bool = False

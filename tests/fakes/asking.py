"""Asking a provider without an engine, and a clock that nobody waits for."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from remit.base.errors import ProviderFault
from remit.base.messages import BlockPart, Message, Part, Request, StopPart, TextBlock, ToolSpec, UsagePart
from remit.providers.timing import Timing

START = 1_800_000_000.0  # 2027-01-15T08:00:00Z


class Slept:
    """A Timing whose sleeps only move its clock. chance: the value of every throw."""

    def __init__(self, chance: float = 0.0) -> None:
        self.waits: list[float] = []
        self.passed = 0.0
        self.timing = Timing(lambda: START + self.passed, lambda: self.passed, self._sleep, lambda: chance)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.passed += seconds


def user(text: str) -> Message:
    return Message("user", (TextBlock(text),))


def request(*messages: Message, tools: tuple[ToolSpec, ...] = (), **more: Any) -> Request:
    return Request(more.pop("model", "m"), more.pop("system", "Be brief."), messages or (user("hi"),), tools, **more)


class Heard(list[Part]):
    """The parts of one answer, up to the fault that ended it, if any."""

    fault: ProviderFault | None = None

    def blocks(self) -> list[Any]:
        return [part.block for part in self if isinstance(part, BlockPart)]

    def stop(self) -> str:
        stops = [part.reason for part in self if isinstance(part, StopPart)]
        assert len(stops) == 1 and isinstance(self[-1], StopPart)
        return stops[0]

    def usage(self) -> Any:
        return [part.usage for part in self if isinstance(part, UsagePart)][-1]

    def of(self, kind: type) -> list[Any]:
        return [part for part in self if isinstance(part, kind)]


async def hear(provider: Any, question: Request) -> Heard:
    heard = Heard()
    try:
        async with aclosing(provider.stream(question)) as parts:
            async for part in parts:
                heard.append(part)
    except ProviderFault as fault:
        heard.fault = fault
    return heard


def ask(provider: Any, *questions: Request) -> Heard:
    """Ask one question after the other; what the last one brought. The provider is closed."""

    async def run() -> Heard:
        try:
            for question in questions[:-1]:
                await hear(provider, question)
            return await hear(provider, questions[-1])
        finally:
            await provider.close()

    return asyncio.run(run())

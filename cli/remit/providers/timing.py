"""Clock, sleep and chance of a provider, handed in so that nobody has to wait for them in a test."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable

import msgspec


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


class Timing(msgspec.Struct, frozen=True):
    """now: Unix seconds. monotonic: seconds that never go back. sleep: seconds. chance: in [0, 1)."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = _sleep
    chance: Callable[[], float] = random.random

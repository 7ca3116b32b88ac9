"""Messages on their way to the model: prompts that wait for their turn, and what joins the one under way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from remit.base.records import UserSaid


class Mail(Protocol):
    """What a prompt under way is told between its turns."""

    def take(self) -> Sequence[UserSaid]:
        """What may join, in order; none of it waits any more."""
        ...


class NoMail:
    """Nobody writes."""

    def take(self) -> Sequence[UserSaid]:
        return ()


class Inbox:
    """Prompts that wait. While one is under way the next ones join it, each once; what is left when it ends
    becomes a prompt of its own."""

    def __init__(self) -> None:
        self._waiting: deque[UserSaid] = deque()
        self._changed = asyncio.Event()
        self._closed = False
        self.expects: Callable[[], bool] = lambda: False
        """Whether work goes on that will write: then a closed inbox is not the end."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def closed(self) -> bool:
        """Whether nothing comes any more."""
        return self._closed

    def put(self, said: UserSaid) -> None:
        self._waiting.append(said)
        self._changed.set()

    def close(self) -> None:
        """Nothing more will come; what waits is still served."""
        self._closed = True
        self._changed.set()

    def stir(self) -> None:
        """What is expected may have changed."""
        self._changed.set()

    def take(self) -> Sequence[UserSaid]:
        joined = []
        # A message that cannot be taken ends its own prompt, and not the one under way.
        while self._waiting and not self._waiting[0].refused:
            joined.append(msgspec.structs.replace(self._waiting.popleft(), joined=True))
        return joined

    def leave_out(self, uuids: Collection[str]) -> None:
        """None of the messages with these waits any more."""
        self._waiting = deque(said for said in self._waiting if said.uuid not in uuids)

    def pour(self, other: Inbox) -> None:
        """All of it goes to the other one."""
        while self._waiting:
            other.put(self._waiting.popleft())
        if self._closed:
            other.close()

    async def wait(self) -> bool:
        """Whether there is anything, once there is, or will be nothing."""
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return bool(self._waiting)

    async def next(self) -> UserSaid | None:
        """The next prompt; None once there will be none."""
        while not self._waiting:
            if self._closed and not self.expects():
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

"""A session served by one process: prompt after prompt, until there are no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from remit.base.events import Result
from remit.base.records import UserSaid
from remit.engine.inbox import Inbox
from remit.engine.run import Run


class Session:
    """Gives a run its prompts as they come. first: whether it has one of its own. began, ended: told of each prompt
    and result."""

    def __init__(
        self,
        run: Run,
        inbox: Inbox,
        *,
        first: bool,
        began: Callable[[], None] = lambda: None,
        ended: Callable[[Result], None] = lambda _: None,
    ) -> None:
        self._run = run
        self._inbox = inbox
        self._first = first
        self._began = began
        self._ended = ended
        self._waiting: asyncio.Task[UserSaid | None] | None = None
        run.mail = inbox

    async def serve(self) -> Result | None:
        """All prompts; the result of the last one, None where there was none. Never raises."""
        last: Result | None = None
        try:
            if self._first:
                last = await self._prompt(None)
            while self._run.stopped is None and (said := await self._next()) is not None:
                last = await self._prompt(said)
        finally:
            await self._run.close()
        return last

    def wake(self) -> None:
        """The run was stopped: wait for no further prompt."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def _prompt(self, said: UserSaid | None) -> Result:
        self._began()
        result = await self._run.prompt(said)
        self._ended(result)
        return result

    async def _next(self) -> UserSaid | None:
        self._waiting = asyncio.create_task(self._inbox.next())
        try:
            return await self._waiting
        except asyncio.CancelledError:
            return None
        finally:
            self._waiting = None

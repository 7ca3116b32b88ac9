"""The pieces of a stream, for as long as its server is not silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from remit.providers.failures import AttemptFailed


class Listener:
    """Takes pieces off a stream, and gives up once nothing that counts was heard for `seconds`.

    An answer may come in tens of thousands of pieces: one timer, set anew when it goes off too early, bounds
    all the waits, where a timeout for each costs as much as reading the piece."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], seconds: float) -> None:
        self._pieces = pieces
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._gave_up = False
        self._ends = False

    async def __aenter__(self) -> Listener:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._pieces.aclose()

    def heard(self) -> None:
        """What has just come counts."""
        self._last = self._loop.time()

    def expect_end(self, seconds: float) -> None:
        """From now on a silence of `seconds` is the end of the stream."""
        self._seconds, self._ends = min(seconds, self._seconds), True
        self.heard()
        if self._timer is not None:
            self._timer.cancel()
            self._set_timer()

    async def next(self) -> bytes | None:
        """The next piece, None at the end. Raises AttemptFailed."""
        task = asyncio.current_task(self._loop)
        assert task is not None
        if self._timer is None:
            self._set_timer()
        wanted_to_end = task.cancelling()
        self._waiting = task
        try:
            return await self._pieces.__anext__()
        except StopAsyncIteration:
            return None
        except asyncio.CancelledError:
            # As in asyncio.timeout: a silence only if nobody else wants the task to end.
            if self._gave_up and task.uncancel() <= wanted_to_end:
                if self._ends:
                    return None
                message = f"the server sent nothing for {self._seconds:g} s"
                raise AttemptFailed("network", message) from None
            raise
        finally:
            self._waiting = None

    async def drain(self, seconds: float) -> None:
        """Read the little that may follow what matters, so that the connection can serve another request."""
        try:
            async with asyncio.timeout(seconds):
                async for _ in self._pieces:
                    continue
        except (TimeoutError, AttemptFailed):
            return

    def _set_timer(self) -> None:
        self._timer = self._loop.call_at(self._last + self._seconds, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiting is None:
            # Whoever takes the pieces is busy with the last one; the next wait sets the timer.
            return
        if self._loop.time() < self._last + self._seconds:
            self._set_timer()
            return
        self._gave_up = True
        self._waiting.cancel()

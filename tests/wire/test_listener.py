from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest

from remit.providers.failures import AttemptFailed
from remit.providers.listener import Listener

SECONDS = 0.2


async def every(seconds: float, pieces: int, closed: list[bool] | None = None) -> AsyncGenerator[bytes, None]:
    try:
        for number in range(pieces):
            await asyncio.sleep(seconds)
            yield b"%d" % number
    finally:
        if closed is not None:
            closed.append(True)


async def silent() -> AsyncGenerator[bytes, None]:
    await asyncio.Event().wait()
    yield b""


def test_all_pieces_then_none() -> None:
    async def listen() -> list[bytes | None]:
        async with Listener(every(0, 3), SECONDS) as listener:
            return [await listener.next() for _ in range(5)]

    assert asyncio.run(listen()) == [b"0", b"1", b"2", None, None]


def test_silence_ends_the_wait_and_the_stream() -> None:
    closed: list[bool] = []

    async def listen() -> float:
        async with Listener(every(30, 1, closed), SECONDS) as listener:
            began = time.monotonic()
            with pytest.raises(AttemptFailed, match=r"the server sent nothing for 0\.2 s") as failed:
                await listener.next()
            took = time.monotonic() - began
        assert failed.value.kind == "network" and failed.value.retryable
        task = asyncio.current_task()
        assert task is not None and not task.cancelling()
        return took

    assert SECONDS * 0.9 <= asyncio.run(listen()) < 5
    assert closed == [True]


def test_pieces_that_do_not_count_are_silence() -> None:
    async def listen() -> int:
        count = 0
        async with Listener(every(SECONDS / 10, 1000), SECONDS) as listener:
            with pytest.raises(AttemptFailed):
                while await listener.next() is not None:
                    count += 1
        return count

    assert 1 <= asyncio.run(listen()) <= 10


def test_pieces_that_count_may_go_on_for_longer() -> None:
    async def listen() -> None:
        async with Listener(every(SECONDS / 4, 12), SECONDS) as listener:
            while await listener.next() is not None:
                listener.heard()

    asyncio.run(listen())


def test_the_time_between_waits_counts_but_is_not_cut_short() -> None:
    """Whoever takes the pieces may be slow; the silence is told at the next wait, not in the middle of that."""

    async def listen() -> None:
        async with Listener(every(0, 2), SECONDS) as listener:
            assert await listener.next() == b"0"
            listener.heard()
            await asyncio.sleep(SECONDS * 2)
            assert await listener.next() == b"1"
        async with Listener(silent(), SECONDS) as listener:
            await asyncio.sleep(SECONDS * 2)
            began = time.monotonic()
            with pytest.raises(AttemptFailed):
                await listener.next()
            assert time.monotonic() - began < SECONDS

    asyncio.run(listen())


def test_a_task_that_is_cancelled_ends_as_cancelled() -> None:
    async def listen(waiting: asyncio.Event) -> None:
        async with Listener(silent(), 30) as listener:
            waiting.set()
            await listener.next()

    async def cancel() -> None:
        waiting = asyncio.Event()
        task = asyncio.create_task(listen(waiting))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def test_a_cancel_at_the_moment_of_silence_is_a_cancel() -> None:
    async def listen() -> None:
        async with Listener(silent(), 0.01) as listener:
            task = asyncio.current_task()
            assert task is not None
            # Before the timer is set, so that it rings first, in the same turn of the loop.
            asyncio.get_running_loop().call_later(0.01, task.cancel)
            time.sleep(0.02)
            await listener.next()

    async def cancel() -> None:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(listen())

    asyncio.run(cancel())


def test_no_timer_is_left_behind() -> None:
    async def listen() -> None:
        async with Listener(every(0, 1), 0.05) as listener:
            await listener.next()
        # Were it still set, it would cancel the wait of another stream.
        async with Listener(every(0.1, 1), 30) as listener:
            assert await listener.next() == b"0"

    asyncio.run(listen())


def test_draining_ends_with_the_stream_or_with_its_time() -> None:
    async def listen() -> None:
        async with Listener(every(0, 3), 30) as listener:
            await listener.drain(5)
            assert await listener.next() is None
        began = time.monotonic()
        async with Listener(silent(), 30) as listener:
            await listener.drain(0.05)
        assert time.monotonic() - began < 5

    asyncio.run(listen())


def test_a_silence_where_the_end_is_expected_is_the_end() -> None:
    async def listen() -> tuple[bytes | None, float]:
        async with Listener(every(0, 1), 30) as listener:
            assert await listener.next() == b"0"
        async with Listener(silent(), 30) as listener:
            began = time.monotonic()
            listener.expect_end(0.1)
            return await listener.next(), time.monotonic() - began

    piece, took = asyncio.run(listen())
    assert piece is None and 0.09 <= took < 5


def test_an_end_is_never_waited_for_longer_than_anything_else() -> None:
    async def listen() -> float:
        async with Listener(silent(), 0.1) as listener:
            listener.expect_end(30)
            began = time.monotonic()
            assert await listener.next() is None
            return time.monotonic() - began

    assert asyncio.run(listen()) < 5

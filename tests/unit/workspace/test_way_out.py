"""What listens in a command's network namespace, and is served outside of it: taken, used, and let go of."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from remit.base.errors import BudgetSpent, Failure
from remit.base.resources import Effect, Resource
from remit.workspace.launcher_request import Jail
from remit.workspace.process import Confinement, ProcessGrant
from remit.workspace.sandbox_rights import may_mount

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is made of parts of Linux")

PORT = 20128


class OnlyNet(Confinement):
    """A network namespace and nothing else. net False: not even that."""

    def __init__(self, net: bool = True) -> None:
        self._net = net

    def jail(self) -> Jail:
        return Jail(
            user=not may_mount(),
            mounts=None,
            pid=False,
            proc=False,
            net=self._net,
            listen=0,
            capabilities=[],
            landlock=None,
            seccomp=[],
        )


class Door:
    """Says hello to whoever connects, and remembers who was there."""

    port = PORT
    environment: Mapping[str, str] = {"WAY_OUT": str(PORT)}
    refusals = ("a.example:80: no",)

    def __init__(self, *, spent: BudgetSpent | None = None, stops: bool = False) -> None:
        self.spent = spent
        self._stops = stops
        self.listeners: list[socket.socket] = []
        self.stop: Callable[[], None] = lambda: None
        self.met = 0
        self.arrived = asyncio.Event()

    def open(self, listener: socket.socket, stop: Callable[[], None]) -> None:
        assert not listener.get_inheritable()
        listener.setblocking(False)
        self.listeners.append(listener)
        self.stop = stop
        asyncio.get_running_loop().add_reader(listener, self._greet, listener)

    def _greet(self, listener: socket.socket) -> None:
        with listener.accept()[0] as client:
            client.send(b"hello")
        self.met += 1
        self.arrived.set()
        if self._stops:
            self.stop()

    async def close(self) -> None:
        for listener in self.listeners:
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
        self.listeners.clear()


READS = "exec 3<>/dev/tcp/127.0.0.1/$WAY_OUT && cat <&3"


async def shell(place: Path, line: str, door: Door | None, *, seconds: float = 20, net: bool = True) -> tuple[int, str]:
    said = bytearray()
    process = ProcessGrant(
        str(place), [Resource("command", line, Effect.EXECUTE)], {}, confinement=OnlyNet(net), way_out=door
    )
    try:
        finished = await process.shell(line, workdir=".", seconds=seconds, take=lambda _, data: said.extend(data))
    except Failure as failure:
        pytest.skip(f"this machine lends no network namespace: {failure.message}")
    assert finished.refused_hosts == (door.refusals if door is not None else ())
    return -99 if finished.exit_code is None else finished.exit_code, said.decode()


def test_a_command_meets_who_serves_it_again_and_again(tmp_path: Path) -> None:
    async def run() -> None:
        door = Door()
        for _ in range(3):
            assert await shell(tmp_path, READS, door) == (0, "hello")
            assert door.listeners == []
        assert door.met == 3

    asyncio.run(run())


def test_commands_at_the_same_time_have_their_own(tmp_path: Path) -> None:
    async def run() -> None:
        doors = [Door() for _ in range(4)]
        said = await asyncio.gather(
            *(shell(tmp_path, f"{READS} # {number}", door) for number, door in enumerate(doors))
        )
        assert said == [(0, "hello")] * 4
        assert [door.met for door in doors] == [1] * 4

    asyncio.run(run())


def test_nothing_is_left_open(tmp_path: Path) -> None:
    async def run() -> None:
        await shell(tmp_path, READS, Door())
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            await shell(tmp_path, READS, Door())
            await shell(tmp_path, ":", Door())
        assert len(os.listdir("/proc/self/fd")) <= before

    asyncio.run(run())


def test_a_cancelled_call_lets_go(tmp_path: Path) -> None:
    async def run() -> None:
        door = Door()
        task = asyncio.ensure_future(shell(tmp_path, f"{READS}; sleep 60", door))
        arrived = asyncio.ensure_future(door.arrived.wait())
        await asyncio.wait({task, arrived}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert door.listeners == []

    asyncio.run(run())


def test_a_limit_that_is_spent_on_the_way_ends_the_command_and_is_raised(tmp_path: Path) -> None:
    async def run() -> None:
        door = Door(spent=BudgetSpent("network_requests", "none is left"), stops=True)
        async with asyncio.timeout(20):
            with pytest.raises(BudgetSpent):
                await shell(tmp_path, f"{READS}; sleep 60", door)

    asyncio.run(run())


def test_without_a_network_namespace_nothing_listens(tmp_path: Path) -> None:
    async def run() -> None:
        door = Door()
        assert await shell(tmp_path, 'echo "[$WAY_OUT]"', door, net=False) == (0, "[]\n")
        assert door.met == 0 and door.listeners == []

    asyncio.run(run())


def test_without_a_way_out_nothing_listens(tmp_path: Path) -> None:
    async def run() -> None:
        code, said = await shell(tmp_path, f"exec 3<>/dev/tcp/127.0.0.1/{PORT}", None)
        assert code != 0 and "Connection refused" in said

    asyncio.run(run())

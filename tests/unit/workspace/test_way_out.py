"""What listens in a command's network namespace, and is served outside of it: taken, used, and let go of."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from fakes.programs import needs
from remit.base.errors import BudgetSpent, ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.workspace.launcher_request import Jail
from remit.workspace.process import KEPT_VARIABLES, SET_VARIABLES, Confinement, ProcessGrant
from remit.workspace.sandbox_door import door_argv
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


class Bubblewrap(Confinement):
    """That of the program bwrap. gives: what it is run by."""

    def __init__(self, *gives: str) -> None:
        self._gives = gives

    def door(self) -> Sequence[str]:
        return door_argv()

    def wrap(self, argv: Sequence[str], directory: str) -> Sequence[str]:
        options = ("--unshare-net", "--unshare-pid", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        return [*self._gives, needs("bwrap"), *options, "--chdir", directory, "--", *argv]


CONFINED: dict[str, Callable[[], Confinement]] = {"our own namespaces": OnlyNet, "bubblewrap": Bubblewrap}
BOTH = pytest.mark.parametrize("by", CONFINED)


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


async def shell(
    place: Path, line: str, door: Door | None, confinement: Confinement, *, seconds: float = 20
) -> tuple[int, str]:
    said = bytearray()
    process = ProcessGrant(
        str(place), [Resource("command", line, Effect.EXECUTE)], {}, confinement=confinement, way_out=door
    )
    try:
        finished = await process.shell(line, workdir=".", seconds=seconds, take=lambda _, data: said.extend(data))
    except Failure as failure:
        if not isinstance(confinement, OnlyNet):
            raise
        pytest.skip(f"this machine lends no network namespace: {failure.message}")
    assert finished.refused_hosts == (door.refusals if door is not None else ())
    return -99 if finished.exit_code is None else finished.exit_code, said.decode()


@BOTH
def test_a_command_meets_who_serves_it_again_and_again(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        door = Door()
        for _ in range(3):
            assert await shell(tmp_path, READS, door, CONFINED[by]()) == (0, "hello")
            assert door.listeners == []
        assert door.met == 3

    asyncio.run(run())


@BOTH
def test_commands_at_the_same_time_have_their_own(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        doors = [Door() for _ in range(4)]
        said = await asyncio.gather(
            *(shell(tmp_path, f"{READS} # {number}", door, CONFINED[by]()) for number, door in enumerate(doors))
        )
        assert said == [(0, "hello")] * 4
        assert [door.met for door in doors] == [1] * 4

    asyncio.run(run())


@BOTH
def test_nothing_is_left_open(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        await shell(tmp_path, READS, Door(), CONFINED[by]())
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            await shell(tmp_path, READS, Door(), CONFINED[by]())
            await shell(tmp_path, ":", Door(), CONFINED[by]())
        assert len(os.listdir("/proc/self/fd")) <= before

    asyncio.run(run())


@BOTH
def test_a_cancelled_call_lets_go(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        door = Door()
        task = asyncio.ensure_future(shell(tmp_path, f"{READS}; sleep 60", door, CONFINED[by]()))
        arrived = asyncio.ensure_future(door.arrived.wait())
        await asyncio.wait({task, arrived}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert door.listeners == []

    asyncio.run(run())


@BOTH
def test_a_limit_that_is_spent_on_the_way_ends_the_command_and_is_raised(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        door = Door(spent=BudgetSpent("network_requests", "none is left"), stops=True)
        async with asyncio.timeout(20):
            with pytest.raises(BudgetSpent):
                await shell(tmp_path, f"{READS}; sleep 60", door, CONFINED[by]())

    asyncio.run(run())


def test_without_a_network_namespace_nothing_listens(tmp_path: Path) -> None:
    async def run() -> None:
        door = Door()
        assert await shell(tmp_path, 'echo "[$WAY_OUT]"', door, OnlyNet(net=False)) == (0, "[]\n")
        assert door.met == 0 and door.listeners == []

    asyncio.run(run())


@BOTH
def test_without_a_way_out_nothing_listens(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        code, said = await shell(tmp_path, f"exec 3<>/dev/tcp/127.0.0.1/{PORT}", None, CONFINED[by]())
        assert code != 0 and "Connection refused" in said

    asyncio.run(run())


def declared(place: Path, line: str, confinement: Confinement, door: Door) -> ProcessGrant:
    resources = [Resource("command", line, Effect.EXECUTE)]
    return ProcessGrant(str(place), resources, {"GIVEN": "a b"}, confinement=confinement, way_out=door)


LEFT = """python3 -c '
import os, signal
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1])
ignored = int(next(line for line in open("/proc/%d/status" % os.getppid()) if line.startswith("SigIgn")).split()[1], 16)
print([number for number in (signal.SIGPIPE, signal.SIGXFSZ) if ignored >> number - 1 & 1])
'; echo; cat"""


@BOTH
def test_a_command_gets_nothing_of_what_made_its_way_out(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        line = shlex.join(["bash", "-c", LEFT])
        process = declared(tmp_path, line, CONFINED[by](), Door())
        finished = await process.run(shlex.split(line), seconds=20, max_bytes=10_000, stdin=b"told")
        assert finished.stdout.decode() == "[0, 1, 2]\n[]\n\ntold", finished.stderr

    asyncio.run(run())


@BOTH
def test_a_command_sees_the_variables_that_are_its_own(tmp_path: Path, by: str) -> None:
    async def run() -> None:
        finished = await declared(tmp_path, "env", CONFINED[by](), Door()).run(["env"], seconds=20, max_bytes=10_000)
        seen = dict(line.split("=", 1) for line in finished.stdout.decode().splitlines())
        kept = {name for name in KEPT_VARIABLES if name in os.environ}
        assert set(seen) == {*kept, "PATH", *SET_VARIABLES, "GIVEN", "WAY_OUT"}
        assert (seen["GIVEN"], seen["WAY_OUT"]) == ("a b", str(PORT))

    asyncio.run(run())


@pytest.mark.parametrize(
    ("gives", "command", "due"),
    [
        ([], "no-such-program", "No such file or directory; name a program that is on PATH"),
        (["sh", "-c", "echo odd; echo 'it cannot be' >&2; exit 3"], "true", "it cannot be; it was not run"),
        (["sh", "-c", ":"], "true", "exit code 0; it was not run"),
        (["bash", "-c", 'exec 20<&-; exec "$@"', "sh"], "true", "Bad file descriptor"),
        (["bash", "-c", 'exec 21<&-; exec "$@"', "sh"], "true", "Bad file descriptor"),
        (["bash", "-c", 'exec 20<>/dev/null; exec "$@"', "sh"], "true", "exit code 127"),
    ],
)
def test_what_does_not_lead_to_the_command_says_why(tmp_path: Path, gives: list[str], command: str, due: str) -> None:
    async def run() -> None:
        door = Door()
        process = declared(tmp_path, command, Bubblewrap(*gives), door)
        with pytest.raises(Failure, match=due) as caught:
            await process.run([command], seconds=20, max_bytes=100)
        assert caught.value.code is ErrorCode.COMMAND_FAILED
        assert door.listeners == []

    asyncio.run(run())


def test_a_command_of_any_size_is_led_to(tmp_path: Path) -> None:
    async def run() -> None:
        line = f"echo {'x' * 100_000} | wc -c"
        assert await shell(tmp_path, line, Door(), Bubblewrap()) == (0, "100001\n")

    asyncio.run(run())


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    """Two of one port, in the network that is not empty: that of this machine."""

    class Nowhere(Bubblewrap):
        def wrap(self, argv: Sequence[str], directory: str) -> Sequence[str]:
            return argv

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            door = Door()
            door.port = server.getsockname()[1]
            with pytest.raises(Failure, match="Address already in use"):
                await declared(tmp_path, "true", Nowhere(), door).run(["true"], seconds=20, max_bytes=100)

    asyncio.run(run())

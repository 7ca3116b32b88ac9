"""One command under the launcher, seen from our side: started, heard, ended."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import marshal
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import cache

import remit
from remit.workspace.launcher_request import Inside, Request
from remit.workspace.process_door import Door, Opened

DRAIN_SECONDS = 0.2
"""For output still in the pipes once all processes have ended."""

START_SECONDS = 30.0
"""For the launcher to start and to start a command."""

END_SECONDS = 8.0
"""For the launcher to end a tree that has to go: a little over what it takes itself."""

PIPE_BYTES = 1 << 20
"""What a command can print ahead of us, where the system lets a pipe hold as much."""

_F_SETPIPE_SZ = 1031
_REASON_BYTES = 500
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from remit.workspace.launcher import main; main(sys.argv[1:])"
)

Take = Callable[[int, bytes], None]
"""Gets the number of a stream (1 stdout, 2 stderr) and its next bytes."""


class NotStarted(Exception):
    """The command was not started. step: of the launcher. number: errno, 0 for none."""

    def __init__(self, step: str, number: int, text: str) -> None:
        super().__init__(step, number, text)
        self.step = step
        self.number = number
        self.text = text


class Ended:
    """How a command ended. code: its exit code, or minus the number of the signal that ended it.
    outlived: something it started could not be ended."""

    def __init__(self, code: int, outlived: bool = False) -> None:
        self.code = code
        self.outlived = outlived


class Launcher:
    """The launcher's process, started when it is first needed. It ends with us."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._pid = 0

    def hand_over(self, fds: list[int]) -> None:
        """Have a command served: its socket, stdout and stderr. The descriptors stay ours. Raises OSError."""
        for _ in range(2):
            if self._socket is None:
                self._socket = self._start()
            try:
                socket.send_fds(self._socket, [b"c"], fds)
                return
            except OSError:
                # It died, or was killed: the next one is as good.
                self.close()
        raise OSError(errno.EPIPE, "the launcher of commands does not stay alive")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            nulls = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
            os.set_inheritable(fd, True)
            # No thread of ours may start a process while it could take this descriptor along.
            argv = _argv(fd)
            self._pid = os.posix_spawn(argv[0], argv, _environment(), file_actions=nulls)
        return ours


@cache
def launcher() -> Launcher:
    """The one of this process."""
    return Launcher()


def _argv(fd: int) -> list[str]:
    """The command line of the launcher: remit itself, where that is one frozen program."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "__exec", str(fd)]
    above = os.path.dirname(os.path.dirname(os.path.abspath(remit.__file__)))
    return [sys.executable, "-I", "-S", "-c", _START, above, str(fd)]


def _environment() -> dict[str, str]:
    """That of the launcher itself: what its interpreter may need to be found, and nothing of ours."""
    return {name: value for name in ("LD_LIBRARY_PATH",) if (value := os.environ.get(name))}


def by_door(request: Request, argv: list[bytes], port: int) -> Request:
    """A request whose command line only leads to the command, `argv`, by way of `launcher_door`."""
    inside = Inside(port=port, argv=argv, environment=request["environment"])
    ours = {os.fsencode(name): os.fsencode(value) for name, value in _environment().items()}
    return {**request, "environment": ours, "inside": inside}


def _encode(request: Request) -> bytes:
    """As the launcher reads it."""
    body = marshal.dumps(dict(request))
    return len(body).to_bytes(4, "big") + body


def understood(said: str) -> Ended:
    """What the launcher said, once it has ended. Raises NotStarted."""
    group = -1
    for line in said.splitlines():
        word, _, rest = line.partition(" ")
        if word == "failed":
            step, number, text = rest.split(" ", 2)
            raise NotStarted(step, int(number), text)
        if word in ("exited", "outlived"):
            return Ended(os.waitstatus_to_exitcode(int(rest)), word == "outlived")
        if word == "started":
            group = int(rest)
    if group < 0:
        raise NotStarted("launcher", errno.EPIPE, "the launcher ended and said nothing")
    if group == 0:
        return Ended(-signal.SIGKILL)
    # The command, or somebody else, killed it, and with it went the command, but not all it started.
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)
    return Ended(-signal.SIGKILL, outlived=True)


class _Pipe(asyncio.Protocol):
    """One stream of output."""

    def __init__(self, take: Callable[[bytes], None], closed: Callable[[], None]) -> None:
        self._take = take
        self._closed = closed

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed()


class Launched:
    """A started command. Its end and the end of its pipes are two events: what outlives it may hold the
    pipes, and must not hold the call."""

    def __init__(self, control: socket.socket, request: Request, take: Take) -> None:
        self._control = control
        self._take = take
        self._said = bytearray()
        self._asked = False
        self._pipes: list[asyncio.BaseTransport] = []
        self._door: Door | None = None
        self._leads = "inside" in request
        self._before = b""
        self._open = 2
        self._closed = asyncio.get_running_loop().create_future()
        self._begun = asyncio.get_running_loop().create_future()
        self._talk = asyncio.ensure_future(self._converse(_encode(request)))

    @classmethod
    async def start(cls, request: Request, take: Take, opened: Opened | None = None) -> Launched:
        """opened: gets what listens in the command's network namespace. Raises OSError, ValueError when the launcher
        does not start."""
        ours, outputs, door = _hand_over(door=opened is not None)
        child = cls(ours, request, take)
        if door is not None and opened is not None:
            child._door = Door(door, opened, child.ask_to_end)
        try:
            for number, fd in enumerate(outputs, start=1):
                await child._listen(number, fd)
        except BaseException:
            await child.end()
            raise
        return child

    async def _listen(self, number: int, fd: int) -> None:
        def take(data: bytes) -> None:
            if self._leads and not (self._door and self._door.passed):
                self._before = (self._before + data)[-_REASON_BYTES:]
            self._take(number, data)

        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: _Pipe(take, self._one_closed), os.fdopen(fd, "rb", 0))
        self._pipes.append(transport)

    async def _converse(self, request: bytes) -> None:
        """Send the request and take what the launcher says, to its end and that of all processes."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            await loop.sock_sendall(self._control, request)
            self._asked = True
            while part := await loop.sock_recv(self._control, 4096):
                self._said += part
                if not self._begun.done() and b"\n" in self._said:
                    self._begun.set_result(None)

    def _one_closed(self) -> None:
        self._open -= 1
        if not self._open and not self._closed.done():
            self._closed.set_result(None)

    async def begun(self) -> None:
        """Wait until the command has been started, or will not be: a slow start is not its fault."""
        await asyncio.wait({self._begun, self._talk}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    async def ended(self, seconds: float) -> bool:
        """Wait until the command and all it started have ended; whether they did within the time."""
        done, _ = await asyncio.wait({self._talk}, timeout=seconds)
        return bool(done)

    def ask_to_end(self) -> None:
        """All processes get SIGTERM, and are killed when the grace is over."""
        if not self._asked:
            self.kill()
            return
        with contextlib.suppress(OSError):
            self._control.send(b"t")

    def kill(self) -> None:
        """All processes are killed at once."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    async def end(self) -> None:
        """Kill what is left, take the last of its output and let go of everything."""
        self.kill()
        await self.ended(END_SECONDS)
        self._talk.cancel()
        if self._door is not None:
            self._door.shut()
        if self._pipes:
            await asyncio.wait({self._closed}, timeout=DRAIN_SECONDS)
        for transport in self._pipes:
            transport.close()
        self._control.close()

    def outcome(self) -> Ended:
        """How it ended; after `end`. Raises NotStarted."""
        door = self._door
        ended = understood(_text((door.said if door is not None else b"") + self._said))
        if self._leads and not (door and door.passed) and ended.code >= 0:
            # What was to lead to the command did not, and has said why where the command would have spoken.
            raise NotStarted("door", 0, _text(self._before).strip().rpartition("\n")[2] or f"exit code {ended.code}")
        return ended


def _hand_over(*, door: bool = False) -> tuple[socket.socket, list[int], socket.socket | None]:
    """A command with nothing asked of it yet: our end of its socket, not blocking, of its outputs, and of its door
    where it gets one."""
    ours, theirs = socket.socketpair()
    inside, outside = socket.socketpair() if door else (None, None)
    with theirs, contextlib.ExitStack() as undo:
        undo.callback(ours.close)
        outputs, inputs = [], [theirs.fileno()]
        with contextlib.ExitStack() as given:
            if inside is not None and outside is not None:
                given.callback(inside.close)
                undo.callback(outside.close)
            for _ in range(2):
                read, write = os.pipe()
                given.callback(os.close, write)
                undo.callback(os.close, read)
                outputs.append(read)
                inputs.append(write)
                with contextlib.suppress(OSError):
                    fcntl.fcntl(write, _F_SETPIPE_SZ, PIPE_BYTES)
            launcher().hand_over(inputs if inside is None else [*inputs, inside.fileno()])
        undo.pop_all()
    ours.setblocking(False)
    return ours, outputs, outside


def launch_once(request: Request, seconds: float) -> tuple[Ended, bytes]:
    """Run a command that prints little to its end, without a loop; and how its stdout begins. For trying out how a
    command can be confined. Raises OSError, NotStarted."""
    control, outputs, door = _hand_over(door="inside" in request)
    said = bytearray()
    with control, door or contextlib.nullcontext(), contextlib.ExitStack() as after:
        for fd in outputs:
            # Not before: what cannot print fails.
            after.callback(os.close, fd)
        control.settimeout(seconds)
        try:
            control.sendall(_encode(request))
            while part := control.recv(4096):
                said += part
        except TimeoutError:
            raise NotStarted("launcher", errno.ETIMEDOUT, f"it did not end within {seconds:g} s") from None
        if door is not None:
            door.setblocking(False)
            with contextlib.suppress(OSError):
                while part := door.recv(4096):
                    said[:0] = part
        os.set_blocking(outputs[0], False)
        with contextlib.suppress(BlockingIOError):
            return understood(_text(said)), os.read(outputs[0], _REASON_BYTES)
        return understood(_text(said)), b""


def _text(said: bytes | bytearray) -> str:
    return said.decode("utf-8", "replace")

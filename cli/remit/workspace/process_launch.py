"""One command under the launcher, seen from our side: started, heard, ended."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

import remit
from remit.workspace.launcher_request import Request

DRAIN_SECONDS = 0.2
"""For output still in the pipes once all processes have ended."""

END_SECONDS = 8.0
"""For the launcher to end a tree that has to go: a little over what it takes itself."""

REAP_SECONDS = 1.0
"""For the system to take a killed process away."""

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


def launcher_argv(fd: int) -> list[str]:
    """The command line of the launcher: itself, in a program that is one frozen file."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "__exec", str(fd)]
    above = os.path.dirname(os.path.dirname(os.path.abspath(remit.__file__)))
    return [sys.executable, "-I", "-S", "-c", _START, above, str(fd)]


def _environment() -> dict[str, str]:
    """That of the launcher itself: what its interpreter may need to be found, and nothing of ours."""
    return {name: value for name in ("LD_LIBRARY_PATH",) if (value := os.environ.get(name))}


def encode(request: Request) -> bytes:
    """As the launcher reads it."""
    body = marshal.dumps(dict(request))
    return len(body).to_bytes(4, "big") + body


def understood(said: str, launcher_code: int | None) -> Ended:
    """What the launcher said, once it has ended. Raises NotStarted."""
    group = 0
    for line in said.splitlines():
        word, _, rest = line.partition(" ")
        if word == "failed":
            step, number, text = rest.split(" ", 2)
            raise NotStarted(step, int(number), text)
        if word in ("exited", "outlived"):
            return Ended(os.waitstatus_to_exitcode(int(rest)), word == "outlived")
        if word == "started":
            group = int(rest)
    if launcher_code is not None and launcher_code < 0:
        # The command, or somebody else, killed it, and with it went the command, but not all it started.
        if group > 1:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        return Ended(launcher_code, outlived=True)
    raise NotStarted("launcher", 0, f"the launcher ended with {launcher_code} and said nothing")


class Launched(asyncio.SubprocessProtocol):
    """A started command. Its end and the end of its pipes are two events: what outlives it may hold the
    pipes, and must not hold the call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, take: Take) -> None:
        self._take = take
        self._exited: asyncio.Future[None] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._open_pipes = {1, 2}
        self._said = bytearray()
        self._talk: asyncio.Future[None] = loop.create_future()
        self._asked = False
        self._control, self._theirs = socket.socketpair()
        self._control.setblocking(False)
        self._code: int | None = None

    @classmethod
    async def start(cls, request: Request, take: Take) -> Launched:
        """Raises OSError, ValueError when the launcher itself does not start. A cancelled start ends what it began."""
        loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(cls._spawn(loop, request, take))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Cancelled itself, the start would kill the launcher alone and wait for all that holds its pipes.
            with contextlib.suppress(OSError, ValueError):
                await (await starting).end()
            raise

    @classmethod
    async def _spawn(cls, loop: asyncio.AbstractEventLoop, request: Request, take: Take) -> Launched:
        child = cls(loop, take)
        try:
            with child._theirs as theirs:
                await loop.subprocess_exec(
                    lambda: child,
                    *launcher_argv(theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=(theirs.fileno(),),
                    cwd="/",
                    env=_environment(),
                    start_new_session=True,
                )
        except BaseException:
            child._control.close()
            raise
        child._talk = asyncio.ensure_future(child._converse(encode(request)))
        return child

    async def _converse(self, request: bytes) -> None:
        """Send the request and take what the launcher says, to the end."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            await loop.sock_sendall(self._control, request)
            self._asked = True
            while part := await loop.sock_recv(self._control, 4096):
                self._said += part

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._take(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open_pipes.discard(fd)
        if not self._open_pipes and not self._closed.done():
            self._closed.set_result(None)

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)

    async def ended(self, seconds: float) -> bool:
        """Wait until the command and all it started have ended; whether they did within the time."""
        return await _within(self._exited, seconds)

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
        if not await _within(self._exited, END_SECONDS):
            self._transport.kill()
            await _within(self._exited, REAP_SECONDS)
        await _within(self._closed, DRAIN_SECONDS)
        await asyncio.wait({self._talk}, timeout=REAP_SECONDS)
        self._talk.cancel()
        self._code = self._transport.get_returncode()
        self._transport.close()
        self._control.close()

    def outcome(self) -> Ended:
        """How it ended; after `end`. Raises NotStarted."""
        return understood(self._said.decode("utf-8", "replace"), self._code)


async def _within(event: asyncio.Future[None], seconds: float) -> bool:
    done, _ = await asyncio.wait({event}, timeout=seconds)
    return bool(done)


def launch_once(request: Request, seconds: float) -> tuple[Ended, str]:
    """Run a command to its end without a loop: how it ended, and its stderr. For trying out how a
    command can be confined. Raises OSError, NotStarted."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = subprocess.Popen(
                launcher_argv(theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                env=_environment(),
                start_new_session=True,
            )
        with process:
            ours.settimeout(seconds)
            said = bytearray()
            try:
                ours.sendall(encode(request))
                while part := ours.recv(4096):
                    said += part
            except TimeoutError:
                ours.close()
                raise NotStarted("launcher", errno.ETIMEDOUT, f"it did not end within {seconds:g} s") from None
            finally:
                if len(said) == 0:
                    process.kill()
            _, stderr = process.communicate()
    return understood(said.decode("utf-8", "replace"), process.returncode), stderr.decode("utf-8", "replace")

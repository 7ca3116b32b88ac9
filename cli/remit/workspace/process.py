"""Commands as child processes: no shell, a cleared environment, a group of their own that ends with the call."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Finished
from remit.base.resources import Resource
from remit.base.text import shorten

KEPT_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "TERM")
"""What a child sees of our environment; a key or a token never stands in one of these."""

GRACE_SECONDS = 2.0
"""Between the request to end and the kill."""

DRAIN_SECONDS = 0.2
"""For output still in the pipes once the command itself has ended."""

REAP_SECONDS = 1.0
"""For the system to take a killed process away."""


class ProcessGrant:
    """base.ports.Process for the declared commands.

    workspace: absolute directory to run in. commands: `command` resources; a call's argv must be one
    of their names, split as a shell splits words, else Failure(undeclared). environment: variables
    set on top of KEPT_VARIABLES.
    """

    def __init__(self, workspace: str, commands: Sequence[Resource], environment: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._allowed = {argv for resource in commands if (argv := _words(resource)) is not None}
        self._environment = dict(environment)

    async def run(self, argv: Sequence[str], *, seconds: float, max_bytes: int) -> Finished:
        """Run a declared command and wait for it, at most `seconds`.

        At most `max_bytes` of stdout and of stderr are kept, the first ones; the rest is read and let
        go. What it leaves running in its group is killed. When the call is cancelled the group is
        killed too. Raises Failure(undeclared, command_failed).
        """
        if tuple(argv) not in self._allowed:
            raise Failure(
                ErrorCode.UNDECLARED, f"the command {shorten(shlex.join(argv))} was not declared by this call"
            )
        child = await self._start(argv, max_bytes)
        try:
            exit_code = await child.wait(seconds)
            await child.drain()
        finally:
            await child.end()
        stdout, stderr = child.outputs
        return Finished(exit_code, bytes(stdout.data), bytes(stderr.data), stdout.truncated or stderr.truncated)

    async def _start(self, argv: Sequence[str], max_bytes: int) -> _Child:
        starting = asyncio.ensure_future(self._spawn(argv, max_bytes))
        try:
            return await asyncio.shield(starting)
        except (OSError, ValueError) as problem:
            raise _not_started(argv, problem) from None
        except asyncio.CancelledError:
            # Cancelled itself, the start would kill the command alone and wait for all that holds its pipes.
            with contextlib.suppress(OSError, ValueError):
                await (await starting).end()
            raise

    async def _spawn(self, argv: Sequence[str], max_bytes: int) -> _Child:
        """Raises OSError, ValueError."""
        kept = {name: value for name in KEPT_VARIABLES if (value := os.environ.get(name)) is not None}
        loop = asyncio.get_running_loop()
        _, child = await loop.subprocess_exec(
            lambda: _Child(loop, max_bytes),
            *argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._workspace,
            env=kept | self._environment,
            start_new_session=True,
        )
        return child


class _Output:
    """The first bytes of a stream; the rest is only known to have been there."""

    def __init__(self, max_bytes: int) -> None:
        self.data = bytearray()
        self.truncated = False
        self._max_bytes = max_bytes

    def take(self, chunk: bytes) -> None:
        room = self._max_bytes - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room


class _Child(asyncio.SubprocessProtocol):
    """A started command. Its end and the end of its pipes are two events: what it left running in the
    background holds the pipes open, and must not hold the call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, max_bytes: int) -> None:
        self.outputs = (_Output(max_bytes), _Output(max_bytes))
        self._exited: asyncio.Future[None] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._open_pipes = {1, 2}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        # The transport forgets the pid of a process it knows to have ended, but its group may live on.
        self._group = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.outputs[fd - 1].take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open_pipes.discard(fd)
        if not self._open_pipes and not self._closed.done():
            self._closed.set_result(None)

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)

    async def wait(self, seconds: float) -> int | None:
        """The exit code (minus the number of the signal that ended it), or None when its time was up."""
        if await _within(self._exited, seconds):
            return self._transport.get_returncode()
        self._signal(signal.SIGTERM)
        await _within(self._exited, GRACE_SECONDS)
        return None

    async def drain(self) -> None:
        """Take what is still in the pipes."""
        if self._exited.done():
            await _within(self._closed, DRAIN_SECONDS)

    async def end(self) -> None:
        """Kill what is left of the group and let go of the pipes."""
        self._signal(signal.SIGKILL)
        self._transport.close()
        await _within(self._exited, REAP_SECONDS)

    def _signal(self, number: signal.Signals) -> None:
        # Gone already; or no longer ours to signal, such as a program that changed its user.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)


async def _within(event: asyncio.Future[None], seconds: float) -> bool:
    done, _ = await asyncio.wait({event}, timeout=seconds)
    return bool(done)


def _words(resource: Resource) -> tuple[str, ...] | None:
    """The argv a declared command stands for; None for what is no command line."""
    if resource.kind != "command":
        return None
    try:
        return tuple(shlex.split(resource.name)) or None
    except ValueError:
        return None


def _not_started(argv: Sequence[str], problem: Exception) -> Failure:
    reason = getattr(problem, "strerror", None) or str(problem)
    return Failure(
        ErrorCode.COMMAND_FAILED,
        f"the command {shorten(shlex.join(argv))} could not be started: {reason}; "
        f"name a program that is on PATH, or an executable file of the workspace as ./name",
    )

"""Commands as child processes: a cleared environment, confined, and a tree that ends with the call."""

from __future__ import annotations

import errno
import os
import shlex
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from remit.base.errors import BudgetSpent, ErrorCode, Failure
from remit.base.limits import MIB
from remit.base.ports import Finished
from remit.base.resources import Resource
from remit.base.text import scrub, shorten
from remit.workspace.launcher_request import Jail, Request
from remit.workspace.names import HERE, normalise
from remit.workspace.process_launch import Ended, Launched, NotStarted, Take, by_door
from remit.workspace.process_output import Output
from remit.workspace.root import Root

KEPT_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "LANG", "LC_ALL", "TERM")
"""What a child sees of our environment; a key, a token or a proxy's password never stands in one of these."""

SET_VARIABLES = {"NO_COLOR": "1", "CLICOLOR": "0"}

GRACE_SECONDS = 2.0
"""Between the request to end and the kill."""

MAX_RAW_BYTES = 100 * MIB
"""Of stdout and stderr together; a command that prints more is killed."""

BASHES = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")

_TRIES = 5
_PASSING = frozenset({("mounts", errno.ENOENT), ("launcher", errno.EPIPE)})
_PATH = "/usr/local/bin:/usr/bin:/bin"
_STEPS = {
    "exec": "name a program that is on PATH, or an executable file of the workspace as ./name",
    "directory": "it was moved or replaced meanwhile; call the tool again",
}


class WayOut(Protocol):
    """What commands in a network namespace can connect to, on a port of their own loopback."""

    port: int
    environment: Mapping[str, str]

    @property
    def spent(self) -> BudgetSpent | None:
        """The limit that was reached on the way, which ends the run."""
        ...

    @property
    def refusals(self) -> tuple[str, ...]:
        """What the commands asked for in vain."""
        ...

    def open(self, listener: socket.socket, stop: Callable[[], None]) -> None:
        """Serve what connects to `listener`. stop: asks the command to end."""
        ...

    async def close(self) -> None: ...


class Confinement:
    """How commands are held: the jail, and what it adds to their environment. This one holds nothing."""

    environment: Mapping[str, str] = {}
    limits: Sequence[tuple[int, int]] = ()

    def jail(self) -> Jail | None:
        """How the next command is confined. Raises Failure(command_failed)."""
        return None

    def begin(self) -> None:
        """A command is about to run."""

    def end(self) -> tuple[str, ...]:
        """It has ended, and with it all that it started. Returns what of its doing was undone."""
        return ()

    def hidden(self, line: str, directory: str) -> tuple[str, ...]:
        """What a line names, as it stands there, of what the last command could not see."""
        return ()

    def wrap(self, argv: Sequence[str], directory: str) -> Sequence[str]:
        """The command line that runs `argv` in `directory`."""
        return argv

    def door(self) -> Sequence[str]:
        """What is to be wrapped in place of a command that gets a way out, and leads to it (`launcher_door`), where
        that is not for the jail to do."""
        return ()


class ProcessGrant:
    """base.ports.Process for the declared commands.

    workspace: absolute directory to run in. resources: those of the call. A command must be the name of a
    `command` resource, for `run` split as a shell splits words; a directory that of a `path` resource that leads to
    what policy saw. Else Failure(undeclared). environment: variables set on top of KEPT_VARIABLES.
    root: the workspace, for calls that name a directory. way_out: only where the confinement has a network
    namespace; None: nothing is reached. settle: called when a command and all that it started has ended; tells what
    was undone of its doing.
    """

    def __init__(
        self,
        workspace: str,
        resources: Sequence[Resource],
        environment: Mapping[str, str],
        *,
        confinement: Confinement | None = None,
        root: Root | None = None,
        filters: bool = True,
        way_out: WayOut | None = None,
        settle: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.filters = filters
        # A sandbox need not show the links that lead to it.
        self._workspace = os.path.realpath(workspace)
        self._lines = {resource.name for resource in resources if resource.kind == "command"}
        self._allowed = {argv for line in self._lines if (argv := _words(line)) is not None}
        self._places = {resource.name: resource for resource in resources if resource.kind == "path"}
        self._environment = dict(environment)
        self._confinement = confinement or Confinement()
        self._root = root
        self._way_out = way_out
        self._settle = settle

    async def run(self, argv: Sequence[str], *, seconds: float, max_bytes: int, stdin: bytes = b"") -> Finished:
        """Run a declared command without a shell and wait for it, at most `seconds`. stdin: what it finds there.

        At most `max_bytes` of stdout and of stderr are kept, the first and the newest ones. What it leaves
        running is killed, also when the call is cancelled. Raises Failure(undeclared, command_failed).
        """
        if tuple(argv) not in self._allowed:
            raise _undeclared(shlex.join(argv))
        outputs = (Output(max_bytes), Output(max_bytes))
        finished = await self._run(
            argv, self._workspace, None, seconds, lambda fd, data: outputs[fd - 1].take(data), stdin
        )
        stdout, stderr = outputs
        return Finished(
            exit_code=finished.exit_code,
            stdout=stdout.content(),
            stderr=stderr.content(),
            truncated=bool(stdout.left_out or stderr.left_out),
            timed_out=finished.timed_out,
            flooded=finished.flooded,
            outlived=finished.outlived,
            seconds=finished.seconds,
            stdout_bytes=stdout.total,
            stderr_bytes=stderr.total,
        )

    async def shell(self, command: str, *, workdir: str, seconds: float, take: Take) -> Finished:
        """Run a declared line in bash, without profile, and wait for it, at most `seconds`.

        workdir: "." or a declared directory. take: gets the bytes of the streams (1 stdout, 2 stderr) as they
        come; none are kept here. Otherwise as `run`.
        """
        if command not in self._lines:
            raise _undeclared(command)
        name, directory, identity = self._directory(workdir)
        argv = [find_bash(), "--noprofile", "--norc", "-c", command]
        finished = await self._run(argv, directory, identity, seconds, take)
        hidden = self._confinement.hidden(command, directory)
        return msgspec.structs.replace(finished, workdir=name, hidden=hidden)

    async def _run(
        self,
        argv: Sequence[str],
        directory: str,
        identity: tuple[int, int] | None,
        seconds: float,
        take: Take,
        stdin: bytes = b"",
    ) -> Finished:
        """What was not started for a passing reason is started again: a launcher that died, or a secret
        that another command was moving."""
        for attempt in range(_TRIES):
            self._confinement.begin()
            try:
                finished = await self._once(self._request(argv, directory, identity, stdin), seconds, take)
            except NotStarted as problem:
                if (problem.step, problem.number) not in _PASSING or attempt == _TRIES - 1:
                    raise _not_started(argv, problem) from None
                continue
            finally:
                undone = (*self._confinement.end(), *self._settle())
            return msgspec.structs.replace(finished, left_behind=undone)
        raise AssertionError("the last try returns or raises")

    async def _once(self, request: Request, seconds: float, take: Take) -> Finished:
        """Raises NotStarted, Failure, BudgetSpent."""
        began = time.monotonic()
        flood = _Flood(take)
        way_out = self._way_out
        try:
            launched = await Launched.start(
                request,
                flood.take,
                way_out.open if way_out is not None else None,
            )
        except (OSError, ValueError) as problem:
            raise NotStarted("launcher", 0, getattr(problem, "strerror", None) or str(problem)) from None
        try:
            flood.full = launched.kill
            await launched.begun()
            timed_out = not await launched.ended(seconds)
            if timed_out:
                launched.ask_to_end()
                await launched.ended(GRACE_SECONDS)
        finally:
            try:
                await launched.end()
            finally:
                if way_out is not None:
                    await way_out.close()
        finished = flood.finished(launched.outcome(), timed_out, time.monotonic() - began)
        if way_out is None:
            return finished
        if way_out.spent is not None:
            raise way_out.spent
        return msgspec.structs.replace(finished, refused_hosts=way_out.refusals)

    def _request(
        self, argv: Sequence[str], directory: str, identity: tuple[int, int] | None, stdin: bytes = b""
    ) -> Request:
        kept = {name: value for name in KEPT_VARIABLES if (value := os.environ.get(name)) is not None}
        environment = {"PATH": _PATH, **kept, **SET_VARIABLES, **self._environment, **self._confinement.environment}
        jail = self._confinement.jail()
        door = self._confinement.door() if self._way_out is not None else ()
        if self._way_out is not None and (door or (jail is not None and jail["net"])):
            environment |= self._way_out.environment
            if jail is not None:
                jail["listen"] = self._way_out.port
        request = Request(
            argv=_encoded(self._confinement.wrap(door or argv, directory)),
            environment={os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            directory=directory,
            identity=identity,
            grace=GRACE_SECONDS,
            limits=list(self._confinement.limits),
            jail=jail,
            stdin=stdin,
        )
        if self._way_out is None or not door:
            return request
        return by_door(request, _encoded(argv), self._way_out.port)

    def _directory(self, workdir: str) -> tuple[str, str, tuple[int, int] | None]:
        """The name of the directory to run in, its path, and what must be found there. Raises Failure."""
        name = normalise(self._root.relative(workdir) if self._root is not None else workdir)
        if name == HERE:
            return name, self._workspace, None
        declared = self._places.get(name)
        if declared is None or self._root is None:
            raise Failure(ErrorCode.UNDECLARED, f"the directory {shorten(workdir)} was not declared by this call")
        fd, found = self._root.open_directory(name)
        os.close(fd)
        if scrub(found.real) != declared.real:
            raise Failure(
                ErrorCode.FILE_CHANGED,
                f"{shorten(workdir)} leads elsewhere than when the rules were asked, nothing was run; "
                f"call the tool again",
            )
        return name, os.path.join(self._workspace, found.real), (found.info.st_dev, found.info.st_ino)


class _Flood:
    """Passes output on; once there is too much of it, `full` is called to stop it."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._totals = [0, 0]
        self.full: Callable[[], None] = lambda: None
        self.flooded = False

    def take(self, fd: int, data: bytes) -> None:
        self._totals[fd - 1] += len(data)
        self._take(fd, data)
        if sum(self._totals) > MAX_RAW_BYTES and not self.flooded:
            self.flooded = True
            self.full()

    def finished(self, ended: Ended, timed_out: bool, seconds: float) -> Finished:
        return Finished(
            exit_code=None if timed_out else ended.code,
            timed_out=timed_out,
            flooded=self.flooded,
            outlived=ended.outlived,
            seconds=seconds,
            stdout_bytes=self._totals[0],
            stderr_bytes=self._totals[1],
        )


def find_bash() -> str:
    """The program that runs lines of the shell. Raises Failure(command_failed) where there is none."""
    for path in BASHES:
        if os.access(path, os.X_OK):
            return path
    raise Failure(ErrorCode.COMMAND_FAILED, f"bash is not installed: none of {', '.join(BASHES)} is a program")


def _encoded(argv: Sequence[str]) -> list[bytes]:
    return [os.fsencode(word) for word in argv]


def _words(line: str) -> tuple[str, ...] | None:
    """The argv a declared command stands for; None for what is no command line."""
    try:
        return tuple(shlex.split(line)) or None
    except ValueError:
        return None


def _undeclared(line: str) -> Failure:
    return Failure(ErrorCode.UNDECLARED, f"the command {shorten(line)} was not declared by this call")


def _not_started(argv: Sequence[str], problem: NotStarted) -> Failure:
    hint = _STEPS.get(problem.step, f"it was not run, because it could not be confined (step: {problem.step})")
    return Failure(
        ErrorCode.COMMAND_FAILED,
        f"the command {shorten(shlex.join(argv))} could not be started: {problem.text}; {hint}",
    )

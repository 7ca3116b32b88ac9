"""A search program as a child process: no shell, no environment, bounded, and gone with the call."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB

MAX_OUTPUT_BYTES = 64 * MIB
"""Of one pipe; a program that says more is stopped there."""

DESCRIPTORS = "/proc/self/fd"
"""Where a process finds its own descriptors by name; without it there is no safe way to start a search."""

_POLL_SECONDS = 0.05
_CHUNK = 1 * MIB
_PIPE = 1 * MIB


class Child:
    """A started program; leaving the block kills it. directory: descriptor of where it runs.

    exit_code: None when it was stopped. stopped: why, if so. Raises Failure(command_failed) when it cannot
    be started.
    """

    def __init__(self, argv: Sequence[str], directory: int | None = None, pass_fds: Sequence[int] = ()) -> None:
        self.stopped: Literal["", "time", "entries"] = ""
        self.exit_code: int | None = None
        self.outputs = (bytearray(), bytearray())
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # The opened directory itself, not whatever has its name by then.
                cwd="/" if directory is None else f"{DESCRIPTORS}/{directory}",
                env={},
                pass_fds=pass_fds,
                pipesize=_PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise Failure(
                ErrorCode.COMMAND_FAILED, f"the search program {argv[0]} could not be started: {problem.strerror}"
            ) from None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pipe in self.pipes:
            pipe.close()

    @property
    def pipes(self) -> tuple[Any, Any]:
        return self.process.stdout, self.process.stderr

    @property
    def stdout(self) -> bytes:
        return bytes(self.outputs[0])

    @property
    def stderr(self) -> bytes:
        return bytes(self.outputs[1])

    def stop(self, why: Literal["time", "entries"]) -> None:
        self.stopped = self.stopped or why
        self.kill()

    def kill(self) -> None:
        """Kill it if it still runs, and take it from the system."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def collect(
    children: Sequence[Child],
    seconds: float,
    check: Callable[[], None],
    ended: Callable[[Child], None] = lambda _: None,
) -> None:
    """Take what the children say until all have ended, at most `seconds`. What `check` raises passes.
    ended: told of each child that said all it has to say, or was stopped, while the others go on."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for child in children:
            for pipe, output in zip(child.pipes, child.outputs, strict=True):
                selector.register(pipe, selectors.EVENT_READ, (child, output))
        while selector.get_map():
            check()
            if time.monotonic() > deadline:
                late = {id(key.data[0]): key.data[0] for key in selector.get_map().values()}
                for child in late.values():
                    child.stop("time")
                    ended(child)
                break
            for key, _ in selector.select(_POLL_SECONDS):
                chunk = os.read(key.fd, _CHUNK)
                child, output = key.data
                output += chunk
                if not chunk:
                    selector.unregister(key.fileobj)
                    if not any(each.data[0] is child for each in selector.get_map().values()):
                        ended(child)
                elif len(output) > MAX_OUTPUT_BYTES:
                    child.stop("entries")
    for child in children:
        code = child.process.wait()
        child.exit_code = None if child.stopped else code

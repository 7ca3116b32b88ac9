"""A search program as a child process: no shell, no environment, bounded, and gone with the call."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB

MAX_OUTPUT_BYTES = 64 * MIB
"""Of one pipe; a program that says more is stopped there."""

MAX_MEMORY_BYTES = 1024 * MIB
"""Of a program; a line is held whole, however long."""

DESCRIPTORS = "/proc/self/fd"
"""Where a process finds its own descriptors by name; without it there is no safe way to start a search."""

_POLL_SECONDS = 0.05
_CHUNK = 1 * MIB
_PIPE = 1 * MIB


class Child:
    """A started program; leaving the block kills it. directory: descriptor of where it runs. memory: bytes that
    it may take; more than that ends it.

    exit_code: None when it was stopped. stopped: why, if so. Raises Failure(command_failed) when it cannot
    be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        directory: int | None = None,
        pass_fds: Sequence[int] = (),
        memory: int = MAX_MEMORY_BYTES,
    ) -> None:
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
        if sys.platform == "linux":
            # It may have ended, or run as another user than the one this process began as.
            with contextlib.suppress(OSError):
                resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (memory, memory))

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


def collect(child: Child, seconds: float, check: Callable[[], None]) -> None:
    """Take what a child says until it has ended, or stop it after `seconds`. What `check` raises passes."""
    if not gather(child, seconds, check):
        child.stop("time")
    code = child.process.wait()
    child.exit_code = None if child.stopped else code


def gather(child: Child, seconds: float, check: Callable[[], None]) -> bool:
    """Take what a child says for at most `seconds`. True when that is all."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for pipe, output in zip(child.pipes, child.outputs, strict=True):
            selector.register(pipe, selectors.EVENT_READ, output)
        while selector.get_map():
            check()
            if time.monotonic() > deadline:
                return False
            for key, _ in selector.select(_POLL_SECONDS):
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif len(key.data) > MAX_OUTPUT_BYTES:
                    child.stop("entries")
    return True

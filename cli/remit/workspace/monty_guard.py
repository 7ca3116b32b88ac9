"""Sees to it that a worker of the interpreter ends with us, also where we are killed, and has no say on our stderr."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import suppress

_SHELL = "/bin/sh"
_MAY_RUN = 0x10
"""MFD_EXEC, which Linux since 6.3 wants to be told of; older ones do not know it."""

_WATCH = 'read -r worker; read -r end; kill -9 "$worker"'
"""Reads the worker's process id, waits for the end of its input, which is ours, and ends the worker."""


class WorkerGuard:
    """For one worker: `with WorkerGuard(worker) as program` around all of its life, since it knows it by its number
    alone. The worker is started by starting `program`: a script of ours in memory that tells the guard its
    process id and then becomes the worker. (The kernel's own signal at a parent's death is no help: it comes when
    the thread ends that started the worker.) Where the system lacks a part of this, `program` is the worker itself."""

    def __init__(self, worker: str) -> None:
        """worker: absolute path of the program."""
        self._worker = worker
        self._script = -1
        self._watch: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> str:
        if sys.platform.startswith("linux") and os.access(_SHELL, os.X_OK):
            with suppress(OSError):
                return self._start()
        return self._worker

    def __exit__(self, *_: object) -> None:
        if self._script >= 0:
            os.close(self._script)
        if self._watch is not None:
            self._watch.kill()
            with self._watch:
                pass

    def _start(self) -> str:
        self._watch = watch = subprocess.Popen(
            [_SHELL, "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            # A signal to all of us would end it before it had ended the worker.
            start_new_session=True,
        )
        assert watch.stdin is not None
        ours = f"/proc/{os.getpid()}/fd"
        script = (
            f"#!{_SHELL}",
            "exec 2>/dev/null",
            # What shells set of themselves.
            "unset PWD OLDPWD SHLVL",
            *_libraries(),
            f"echo $$ >{ours}/{watch.stdin.fileno()}",
            f'exec {shlex.quote(self._worker)} "$@"',
        )
        self._script = _in_memory("\n".join(script).encode())
        return f"{ours}/{self._script}"


def _libraries() -> list[str]:
    """Where the worker finds libraries that the one-file program brings along."""
    found = os.environ.get("LD_LIBRARY_PATH")
    return [f"export LD_LIBRARY_PATH={shlex.quote(found)}"] if found else []


def _in_memory(content: bytes) -> int:
    """A program that has no name in the file system, open for reading. Raises OSError."""
    if sys.platform != "linux":
        raise OSError
    try:
        fd = os.memfd_create("worker", os.MFD_CLOEXEC | _MAY_RUN)
    except OSError:
        fd = os.memfd_create("worker", os.MFD_CLOEXEC)
    try:
        os.write(fd, content)
        os.fchmod(fd, 0o500)
        # What is open for writing may not be run.
        script = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(fd)
    if os.access(f"/proc/self/fd/{script}", os.X_OK):
        return script
    os.close(script)
    raise PermissionError

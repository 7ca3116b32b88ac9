"""A run that is killed takes the worker of its scripts with it."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from fakes.cli import Home

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="where there is no /proc none is found")


def children(pid: int) -> list[tuple[int, str]]:
    """The child processes of all its threads, and the programs they run."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found.append(
                (int(child), os.path.basename(Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].decode()))
            )
    return found


def test_the_worker_ends_at_once_and_says_nothing(home: Home) -> None:
    code = "print('begun')\nn = 0\nwhile True:\n    n += 1"
    call = {"tool": "python_execution", "arguments": {"code": code, "timeoutSec": 30}}
    model = home.script({"calls": [call]}, {"text": "Done."})
    errors = home.path / "stderr"
    with (
        errors.open("wb") as stderr,
        home.started("run", "Go", "-m", model, "--tools", "python_execution", "-q", stderr=stderr) as process,
    ):
        workers: list[int] = []
        while not workers and process.poll() is None:
            workers = [pid for pid, program in children(process.pid) if program == "monty"]
        [worker] = workers
        others = [pid for pid, _ in children(process.pid) if pid != worker]
        watched = [os.pidfd_open(pid) for pid in (worker, *others)]
        process.kill()
        process.wait()
        for fd in watched:
            assert select.select([fd], [], [], 5)[0], "it goes on without the run"
            os.close(fd)
    assert errors.read_bytes() == b""

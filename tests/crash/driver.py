"""Runs a task as `remit run` does and kills itself, by SIGKILL, right after the Nth journal record.

    python driver.py N after|torn TASK MODEL OUT

`torn`: the record's line is cut first, as if the process had died while it was being written.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from remit import wiring
from remit.base.records import Record
from remit.config.flags import RunFlags
from remit.config.resolve import build_spec
from remit.config.settings import load_settings
from remit.tools.registry import tool_effects


class NoStdin:
    data = b""
    state = "none"


class Killer:
    """A follower of the journal that does not survive its Nth record."""

    def __init__(self, number: int, how: str, out: str) -> None:
        self._left = number
        self._how = how
        self._journal = os.path.join(out, "journal.jsonl")

    def __call__(self, record: Record) -> None:
        self._left -= 1
        if self._left:
            return
        if self._how == "torn":
            os.truncate(self._journal, os.path.getsize(self._journal) - 9)
        os.kill(os.getpid(), signal.SIGKILL)


def main(number: str, how: str, task: str, model: str, out: str) -> int:
    settings = load_settings(dict(os.environ))
    flags = RunFlags(task=task, model=model)
    spec = build_spec(flags, settings, tool_effects(), lambda wish: NoStdin(), os.getcwd())
    ports = wiring.Ports(dict(os.environ), followers=(Killer(int(number), how, out),))
    ready = wiring.start(spec, settings, out, wiring.Listeners(), ports)
    result = asyncio.run(ready.run.go())
    ready.close()
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""A client program of a run: sends lines, reads lines."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from fakes.cli import Home

Event = dict[str, Any]


class Driven:
    """A started run, driven. seen: all its lines so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.seen: list[Event] = []

    def send(self, line: Event | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def say(self, text: str, **more: Any) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": text}, **more})

    def ask(self, subtype: str, request_id: str = "r1", **fields: Any) -> None:
        request = {"subtype": subtype, **fields}
        self.send({"type": "control_request", "request_id": request_id, "request": request})

    def reply(self, request: Event, **answer: Any) -> None:
        response = {"subtype": "success", "request_id": request["request_id"], "response": answer}
        self.send({"type": "control_response", "response": response})

    def read(self) -> Event:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"stdout ended after {self.seen}"
        self.seen.append(json.loads(line))
        return self.seen[-1]

    def until(self, wanted: str | Callable[[Event], bool]) -> Event:
        """The next line of that type, or that fits."""
        while True:
            event = self.read()
            if event["type"] == wanted if isinstance(wanted, str) else wanted(event):
                return event

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self, seconds: float = 20) -> int:
        """Close stdin, read the rest; the exit code."""
        self.close()
        assert self.process.stdout is not None
        self.seen += [json.loads(line) for line in self.process.stdout]
        return self.process.wait(seconds)


@contextlib.contextmanager
def driven(home: Home, *args: str, **keys: Any) -> Iterator[Driven]:
    """`remit run ARGS` with lines both ways."""
    keys.setdefault("stderr", subprocess.DEVNULL)
    formats = ("--input-format", "stream-json", "--output-format", "stream-json")
    with home.started("run", *formats, *args, stdin=subprocess.PIPE, **keys) as process:
        yield Driven(process)

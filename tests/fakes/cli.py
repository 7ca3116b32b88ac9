"""The real command line in a process of its own, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REMIT = [sys.executable, "-m", "remit"]


@dataclass
class Ran:
    """A finished command line."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """stdout as JSON lines; every line must be one."""
        return [json.loads(line) for line in self.stdout.decode("utf-8").splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        """The one result line, which must be the last."""
        results = [event for event in self.events if event["type"] == "result"]
        assert len(results) == 1, self.stdout.decode() + self.stderr
        assert self.events[-1] == results[0]
        return results[0]


@dataclass
class Home:
    """A place for runs: a home directory, state and settings nobody else uses, and a workspace `work`."""

    path: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("home", "state", "config", "work"):
            (self.path / name).mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        self.environ = {
            **kept,
            "HOME": str(self.path / "home"),
            "REMIT_STATE_DIR": str(self.path / "state"),
            "REMIT_CONFIG_DIR": str(self.path / "config"),
            **self.environ,
        }

    @property
    def work(self) -> Path:
        return self.path / "work"

    def write(self, name: str, content: str | bytes) -> Path:
        """A file below the workspace."""
        target = self.work / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def script(self, *turns: dict[str, Any], name: str = "script.yaml", **keys: Any) -> str:
        """A script beside the workspace; the model name that plays it."""
        target = self.path / name
        # JSON is YAML.
        target.write_text(json.dumps({"version": 1, "turns": list(turns), **keys}), encoding="utf-8")
        return f"scripted/{target}"

    def task(self, name: str = "task.yaml", **keys: Any) -> str:
        """A task file beside the workspace; its path."""
        target = self.path / name
        target.write_text(json.dumps({"version": 1, "workspace": "work", **keys}), encoding="utf-8")
        return str(target)

    def popen(self, *args: str, environ: Mapping[str, str] = {}, **keys: Any) -> subprocess.Popen[bytes]:
        """Start `remit ARGS` in the workspace; stdin is empty unless given."""
        keys.setdefault("stdin", subprocess.DEVNULL)
        keys.setdefault("stdout", subprocess.PIPE)
        keys.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*REMIT, *args], cwd=self.work, env={**self.environ, **environ}, **keys)

    def run(self, *args: str, stdin: bytes = b"", seconds: float = 60, environ: Mapping[str, str] = {}) -> Ran:
        """Run `remit ARGS` in the workspace to its end."""
        process = self.popen(*args, environ=environ, stdin=subprocess.PIPE)
        try:
            stdout, stderr = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return Ran(process.returncode, stdout, stderr.decode("utf-8", "replace"))

    def stream(self, *args: str, **keys: Any) -> Ran:
        """`remit run ARGS` with the event stream on stdout."""
        return self.run("run", "--output-format", "stream-json", *args, **keys)

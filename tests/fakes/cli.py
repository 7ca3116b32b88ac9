"""The real command line in a process of its own, in a home of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REMIT = [given] if (given := os.environ.get("REMIT_TEST_BINARY")) else [sys.executable, "-m", "remit"]
"""What the tests run: the source, or the one-file program that the variable names."""

UNPACKED = {"XDG_CACHE_HOME": str(Path(given).resolve().parent / "unpacked")} if given else {}
"""The one-file program unpacks itself once for all homes."""


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


def lines(path: Path) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def journal(run_dir: Path, kind: str = "") -> list[dict[str, Any]]:
    """The records of a run, or those of one kind."""
    records = lines(run_dir / "journal.jsonl")
    return [record for record in records if not kind or record["type"] == kind]


def prompts(run_dir: Path) -> list[dict[str, Any]]:
    """What the user said, without what the harness put in."""
    return [record for record in journal(run_dir, "user_said") if not record["synthetic"]]


def ended(run_dir: Path, code: int) -> dict[str, Any]:
    """The result of a run that ended: the same in the journal, in `events.jsonl`, in `run.json` and in
    the exit code of its process, each of them once and last."""
    last = journal(run_dir)[-1]
    told = lines(run_dir / "events.jsonl")[-1]
    status = json.loads((run_dir / "run.json").read_text())
    assert last["type"] == "prompt_ended" and told["type"] == "result"
    assert last["exit_code"] == told["exit_code"] == status["exit_code"] == code
    assert last["verdict"] == told["verdict"] == status["verdict"] == status["status"]
    assert last["resumable"] == told["resumable"] == status["resumable"]
    return told


def settled(run_dir: Path) -> list[tuple[str, str, bool]]:
    """The calls of a run in the order in which they were settled: (key, tool, ok) each."""
    return [(each["key"], each["tool"], each["outcome"]["ok"]) for each in journal(run_dir, "call_settled")]


def reads(path: str, turns: int, at_once: int = 1) -> list[dict[str, Any]]:
    """Turns of a script that read a whole file again and again, in words that are never quite the same."""
    return [
        {"calls": [{"tool": "read_file", "arguments": {"path": path, "limit": 60_000 + turn}}] * at_once}
        for turn in range(turns)
    ]


def _on(machine: str) -> list[str]:
    return [sys.executable, "-c", machine] if machine else []


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
            **UNPACKED,
            "HOME": str(self.path / "home"),
            "REMIT_STATE_DIR": str(self.path / "state"),
            "REMIT_CACHE_DIR": str(self.path / "cache"),
            "REMIT_CONFIG_DIR": str(self.path / "config"),
            **self.environ,
        }

    @property
    def work(self) -> Path:
        return self.path / "work"

    @property
    def out(self) -> Path:
        """A place for the one run of a test, beside the workspace: `-o {home.out}`."""
        return self.path / "out"

    @property
    def runs(self) -> list[Path]:
        """The run directories and pointers below the state directory."""
        place = self.path / "state" / "runs"
        return sorted(place.iterdir()) if place.exists() else []

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

    def task(self, file: str = "task.yaml", /, **keys: Any) -> str:
        """A task file beside the workspace; its path."""
        target = self.path / file
        target.write_text(json.dumps({"version": 1, "workspace": "work", **keys}), encoding="utf-8")
        return str(target)

    def ported(self, world: str, *args: str, machine: str = "") -> Ran:
        """`remit run ARGS` with the event stream on stdout and a world of `fakes.ported` behind its ports. machine: one
        of `fakes.hardened`."""
        command = [*_on(machine), sys.executable, str(Path(__file__).with_name("ported.py")), world, *args]
        done = subprocess.run(
            command, cwd=self.work, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def popen(
        self, *args: str, environ: Mapping[str, str] = {}, machine: str = "", **keys: Any
    ) -> subprocess.Popen[bytes]:
        """Start `remit ARGS`, in the workspace unless told otherwise; stdin is empty unless given. machine: one of
        `fakes.hardened`."""
        keys.setdefault("cwd", self.work)
        keys.setdefault("stdin", subprocess.DEVNULL)
        keys.setdefault("stdout", subprocess.PIPE)
        keys.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*_on(machine), *REMIT, *args], env={**self.environ, **environ}, **keys)

    @contextlib.contextmanager
    def started(self, *args: str, **keys: Any) -> Iterator[subprocess.Popen[bytes]]:
        """`popen` for tests that act while it runs; whatever happens, it is gone afterwards."""
        with self.popen(*args, **keys) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def run(self, *args: str, stdin: bytes = b"", seconds: float = 60, **keys: Any) -> Ran:
        """Run `remit ARGS` to its end; keys as those of `popen`."""
        process = self.popen(*args, stdin=subprocess.PIPE, **keys)
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

"""`remit-sdk` in a process of its own, and the official client in front of it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fakes.cli import Home, Ran
from fakes.driving import Driven

ENTRY = "from remit.__main__ import main_sdk; main_sdk()"
STREAM = ("--output-format", "stream-json", "--verbose")
SCRIPTED = "scripted"


def run(home: Home, *args: str, stdin: bytes = b"", environ: dict[str, str] | None = None) -> Ran:
    """`remit-sdk ARGS` to its end."""
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, *args],
        cwd=home.work,
        env={**home.environ, **(environ or {})},
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


@contextlib.contextmanager
def sdk(home: Home, *args: str, environ: dict[str, str] | None = None) -> Iterator[Driven]:
    """`remit-sdk ARGS` with lines both ways; whatever happens, it is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY, *STREAM, "--input-format", "stream-json", *args],
        cwd=home.work,
        env={**home.environ, **(environ or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield Driven(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


def program(home: Home) -> Path:
    """The entry point as a file that can be started by its path."""
    path = home.path / "remit-sdk"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{ENTRY}' \"$@\"\n")
    path.chmod(0o755)
    return path


def options(home: Home, model: str, **keys: Any) -> Any:
    """Options of the official client for a run in this home."""
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions(cli_path=program(home), cwd=home.work, env=dict(home.environ), model=model, **keys)

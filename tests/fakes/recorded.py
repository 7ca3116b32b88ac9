"""Recordings of runs, for tests that play them: whole, cut, and tampered with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fakes.cli import Home, Ran, lines

VOLATILE = {
    "session_id",
    "uuid",
    "run_id",
    "run_dir",
    "timestamp",
    "seconds",
    "duration_ms",
    "duration_api_ms",
    "provider",
    "scripted",
    "apiKeySource",
    "resumable",
    "layers",
}
"""What a played run does not share with the recorded one: ids, times, places, who was asked, and what held
commands."""


def told(ran: Ran) -> list[Any]:
    """The event stream without what is volatile."""
    return [_stable(event) for event in ran.events]


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stable(item) for key, item in value.items() if key not in VOLATILE}
    return [_stable(item) for item in value] if isinstance(value, list) else value


def record(home: Home, *args: str, code: int = 0, **keys: Any) -> tuple[Path, Ran]:
    """`remit run ARGS`, recorded; the recording and the run."""
    path = home.path / "recording.jsonl"
    ran = home.stream(*args, "--record", str(path), "-o", str(home.out), **keys)
    assert ran.code == code, ran.stderr
    return path, ran


def play(home: Home, path: Path, *args: str, **keys: Any) -> Ran:
    """`remit replay PATH ARGS` with the event stream on stdout, its directory made anew."""
    place = home.path / "played"
    shutil.rmtree(place, ignore_errors=True)
    return home.run("replay", str(path), "--output-format", "stream-json", "-o", str(place), *args, **keys)


def tamper(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> Path:
    """A copy of the recording whose lines went through `change`."""
    changed = lines(path)
    change(changed)
    copy = path.with_name("tampered.jsonl")
    copy.write_text("".join(json.dumps(line) + "\n" for line in changed))
    return copy


def differs(ran: Ran) -> str:
    """What a run was ended by that differs from its recording."""
    assert ran.code == 5, ran.stdout.decode() + ran.stderr
    assert ran.result["error_kind"] == "replay"
    [error] = ran.result["errors"]
    return str(error)

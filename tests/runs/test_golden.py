"""Whole runs as data: a directory of `golden/` is a task, a script, a workspace, and what comes of them.

    task.yaml  script.yaml  work/     as a user would have them
    args                              more arguments, one a line
    expected.jsonl                    the events, then a last line with exit code and artifacts

`REMIT_TEST_UPDATE=1 pytest tests/runs/test_golden.py` writes expected.jsonl anew: read the difference.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, lines

CASES = Path(__file__).parent / "golden"
EXPECTED = "expected.jsonl"
UPDATE = os.environ.get("REMIT_TEST_UPDATE") == "1"

CHANCE = {"session_id", "uuid", "timestamp", "run_id", "remit_version", "mark"}
"""Their values differ from run to run or release to release."""

PROPOSAL = re.compile(r'(?:(?<="id":")|^)[0-9a-f]{10}(?="|$)')
"""The id of a memory proposal, which derives from the run's."""

TIMES = {"duration_ms", "duration_api_ms", "seconds"}


def filtered(value: Any, replace: dict[str, str], name: str = "") -> Any:
    """The value without what chance, the clock and the place decide."""
    if name in CHANCE and isinstance(value, str):
        return f"<{name}>"
    if name in TIMES and isinstance(value, int | float):
        return f"<{name}>"
    if isinstance(value, str):
        for seen, shown in replace.items():
            value = value.replace(seen, shown)
        return PROPOSAL.sub("<id>", value)
    if isinstance(value, dict):
        # The limits of the init event are the task's own, not the clock's.
        return {key: item if name == "limits" else filtered(item, replace, key) for key, item in value.items()}
    if isinstance(value, list):
        return [filtered(item, replace) for item in value]
    return value


def observed(ran: Ran, place: Path) -> Iterator[dict[str, Any]]:
    """What a case is held to, a line each."""
    for event in ran.events:
        yield filtered(event, {f"{place}/": "", str(place): "<case>"})
    folder = place / "out" / "artifacts"
    artifacts = {path.name: path.read_text() for path in sorted(folder.iterdir())} if folder.exists() else {}
    yield {"type": "exit", "code": ran.code, "artifacts": artifacts}


@pytest.mark.parametrize(
    "case", [path for path in sorted(CASES.iterdir()) if path.is_dir()], ids=lambda path: path.name
)
def test_run(case: Path, home: Home) -> None:
    place = home.path / "case"
    shutil.copytree(case, place)
    (place / "work").mkdir(exist_ok=True)
    more = (case / "args").read_text().splitlines() if (case / "args").exists() else []
    # What confines commands is the machine's affair, and would be in every line of events.
    environ = {"PWD": str(place), "REMIT_SANDBOX": "off"}
    ran = home.stream("-t", "task.yaml", "-m", "scripted/script.yaml", "-o", "out", *more, environ=environ, cwd=place)
    assert ran.result == ended(place / "out", ran.code)
    assert "Traceback" not in ran.stderr
    seen = list(observed(ran, place))
    if UPDATE:
        (case / EXPECTED).write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in seen))
    assert seen == lines(case / EXPECTED)

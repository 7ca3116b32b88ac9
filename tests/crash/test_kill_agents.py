"""Kill -9 after a step of a run whose agent works, then `remit resume`: it ends, and what was spent still counts."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, journal

DRIVER = Path(__file__).with_name("driver.py")
COUNTED = {"input": 10, "output": 5}
RECORDS = 50
"""Of the run and its agent together, and a few more: a kill past the end finds it finished."""


def turn(**keys: Any) -> dict[str, Any]:
    return {"usage": COUNTED, **keys}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return turn(calls=[{"tool": tool, "arguments": arguments}])


@pytest.mark.parametrize("number", range(2, RECORDS, 3))
def test_a_run_that_died_while_its_agent_worked_ends(tmp_path: Path, number: int) -> None:
    home = Home(tmp_path)
    home.write("a.txt", "hello\n")
    model = home.script(
        call("task", description="count files", prompt="FIRST"),
        call("task", description="go on", task_id="count-files"),
        turn(text="Done."),
        agents=[
            {
                "when": "FIRST",
                "turns": [
                    call("read_file", path="a.txt"),
                    call("write_artifact", name="report.md", content="# Report\n"),
                    turn(text="three"),
                ],
            }
        ],
    )
    task = home.task(prompt="go", tools=dict.fromkeys(("task", "read_file", "write_artifact"), "auto"))
    command = [sys.executable, str(DRIVER), str(number), "after", task, model, str(home.out)]
    died = subprocess.run(command, cwd=home.work, env=home.environ, capture_output=True, timeout=60, check=False)
    assert died.returncode in {0, -signal.SIGKILL}, died.stderr.decode()
    if journal(home.out)[-1]["type"] != "prompt_ended":
        ran = home.run("resume", str(home.out))
        assert ran.code == 0, ran.stderr
    result = journal(home.out, "prompt_ended")[-1]["result"]
    booked, own = journal(home.out, "agent_answered"), journal(home.out, "answered")
    assert result["spent"]["tokens"] == 15 * (len(booked) + len(own))
    assert result["modelUsage"]["scripted/scripted"]["requests"] == len(booked) + len(own)
    place = home.out / "tasks" / "count-files"
    if place.exists():
        answered = len(journal(place, "answered"))
        # Booked first: an answer whose record the kill cut off was paid for, and is asked for again.
        assert answered <= len(booked) <= answered + 1
    spent_calls = sum(each["amount"] for each in journal(home.out, "spent") if each["limit"] == "calls")
    assert result["spent"]["calls"] == spent_calls + len(journal(home.out, "call_settled"))
    if result["artifacts"]:
        assert (home.out / "artifacts" / "report.md").read_text() == "# Report\n"
    jobs = {each["task_id"]: each["status"] for each in journal(home.out, "job_ended")}
    assert set(jobs) == {each["task_id"] for each in journal(home.out, "job_started")}
    assert result["verdict"] == "done"

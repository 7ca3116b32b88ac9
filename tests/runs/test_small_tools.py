"""The small tools of the `execution` and `agents` toolsets in whole runs."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, ended, journal

DONE = {"text": "Done."}


def calls(tool: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": each} for each in arguments]}


def outcomes(out: Path) -> list[dict[str, Any]]:
    return [record["outcome"] for record in journal(out, "call_settled")]


# -- python_execution --------------------------------------------------------------------------


def test_scripts_run_without_an_ask_and_the_model_reads_their_values(home: Home) -> None:
    scripts = [{"code": f"import math\nprint('n', {n})\nmath.factorial({n})"} for n in (3, 4, 5)]
    model = home.script(calls("python_execution", *scripts), DONE)
    ran = home.stream("go", "-m", model, "--tools", "python_execution", "-o", str(home.out))

    assert ran.code == 0, ran.stderr
    assert [each["data"]["value"] for each in outcomes(home.out)] == [6, 24, 120]
    assert journal(home.out, "call_settled")[0]["content"] == "value: 6\nstdout:\nn 3"
    assert journal(home.out, "call_checked")[0]["decision"]["decide"] == "auto"


@pytest.mark.parametrize("worker", ["absent", "plain"])
def test_without_a_worker_the_tool_is_not_offered_and_the_reason_told(home: Home, worker: str) -> None:
    home.write("plain", "no program")
    environ = {"REMIT_PYTHON_WORKER": str(home.work / worker)}
    model = home.script(calls("python_execution", {"code": "1"}), DONE)
    flags = ["-m", model, "--tools", "python_execution", "-o", str(home.out)]
    ran = home.stream("go", *flags, environ=environ)

    init = ran.events[0]
    assert init["tools"] == []
    assert init["withheld_tools"] == {"python_execution": f"{home.work / worker} is no program that can be run"}
    assert "not offered: python_execution" in ran.stderr
    assert outcomes(home.out)[0]["error"]["code"] == "denied"
    listed = json.loads(home.run("tools", "--json", "--tools", "python_execution", environ=environ).stdout)
    (entry,) = [each for each in listed if each["name"] == "python_execution"]
    assert (entry["state"], entry["reason"]) == ("off", f"{home.work / worker} is no program that can be run")


def test_no_worker_outlives_a_run_that_is_stopped_in_the_middle_of_a_script(home: Home) -> None:
    model = home.script(calls("python_execution", {"code": "while True:\n    pass", "timeoutSec": 30}), DONE)
    with home.started("run", "go", "-m", model, "--tools", "python_execution", "-o", str(home.out)) as process:
        until = time.monotonic() + 30
        while not (workers := children(process.pid)):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    ended(home.out, 143)
    until = time.monotonic() + 10
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < until
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """The workers of that process."""
    found = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(word) for word in listed.read_text().split()]
    return [child for child in found if alive(child)]


def alive(pid: int) -> bool:
    try:
        return b"monty" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


# -- execution_environment ---------------------------------------------------------------------


@pytest.fixture
def machine(home: Home) -> Home:
    """A machine that has two programs, which tell where they ran."""
    place = home.path / "bin"
    place.mkdir()
    for name in ("git", "node"):
        (place / name).write_text(f"#!/bin/sh\npwd >> {home.path}/ran-{name}\necho {name} 4.5.6\n")
        (place / name).chmod(0o755)
    home.environ["PATH"] = os.pathsep.join((str(home.work), str(place)))
    # Confined they could not tell.
    home.environ["REMIT_SANDBOX"] = "off"
    return home


def inspected(home: Home, *flags: str, tick: str = "auto") -> dict[str, Any]:
    task = home.task(prompt="go", tools={"execution_environment": tick})
    model = home.script(calls("execution_environment", {}), DONE)
    ran = home.stream("-t", task, "-m", model, "-o", str(home.out), *flags)
    assert ran.code == 0, ran.stderr
    return outcomes(home.out)[0]


def ran(home: Home) -> set[str]:
    return {path.name.removeprefix("ran-") for path in home.path.glob("ran-*")}


def test_a_tick_lets_the_probes_run_and_not_in_the_workspace(machine: Home) -> None:
    machine.write("uv.lock", "")
    outcome = inspected(machine)

    assert outcome["data"]["refused"] == []
    assert outcome["data"]["lockfiles"] == ["uv.lock"]
    assert ran(machine) == {"git", "node"}
    assert (machine.path / "ran-git").read_text() == "/\n"
    assert str(machine.path) not in json.dumps(outcome)


def test_a_rule_on_a_command_takes_just_that_probe_out(machine: Home) -> None:
    outcome = inspected(machine, "--deny", "execution_environment:node *")

    assert outcome["ok"]
    assert outcome["data"]["refused"] == ["node --version"]
    assert ran(machine) == {"git"}


def test_an_ask_that_nobody_can_answer_runs_nothing(machine: Home) -> None:
    outcome = inspected(machine, tick="ask")

    assert outcome["error"]["code"] == "denied"
    assert ran(machine) == set()


def test_an_approval_of_the_call_covers_its_probes(machine: Home) -> None:
    approvals = machine.path / "approvals.toml"
    approvals.write_text(
        'version = 1\n[[approval]]\ntool = "execution_environment"\npath = "."\ndecide = "allow"\nwhy = "looked at"\n'
    )
    outcome = inspected(machine, "-a", str(approvals), tick="ask")

    assert outcome["data"]["refused"] == []
    assert ran(machine) == {"git", "node"}


# -- todo_write --------------------------------------------------------------------------------


def test_the_todo_list_is_told_and_survives_a_resume(home: Home) -> None:
    first = [{"content": "read", "status": "in_progress", "priority": "high"}, {"content": "write"}]
    last = [{"content": "read", "status": "completed"}, {"content": "write", "status": "in_progress"}]
    model = home.script(calls("todo_write", {"todos": first}), calls("todo_write", {"todos": last}), DONE)
    flags = ["-m", model, "--tools", "todo_write", "-o", str(home.out)]
    ran = home.stream("go", "--max-turns", "1", *flags)

    assert ran.code == 7
    kept = [
        {"content": "read", "status": "in_progress", "priority": "high"},
        {"content": "write", "status": "pending", "priority": "medium"},
    ]
    assert [event["todos"] for event in ran.events if event.get("subtype") == "todos"] == [kept]
    assert "todos: 0 of 2 done; now: read" in ran.stderr
    assert [record["todos"] for record in journal(home.out, "todos_set")] == [kept]

    again = home.run("resume", str(home.out), "--max-turns", "9", "--output-format", "stream-json")
    assert again.code == 0, again.stderr
    told = [event["todos"] for event in again.events if event.get("subtype") == "todos"]
    assert [[item["status"] for item in todos] for todos in told] == [["completed", "in_progress"]]
    assert len(journal(home.out, "todos_set")) == 2

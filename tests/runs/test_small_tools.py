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


# -- question ----------------------------------------------------------------------------------

ANSWERS = """version = 1
[[answer]]
question = "Which database*"
choose = ["SQLite"]
uses = 1
"""
ASKED = {
    "questions": [
        {
            "question": "Which database do you want?",
            "header": "Database",
            "options": [{"label": "PostgreSQL", "description": "a server"}, {"label": "SQLite"}],
        },
        {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}]},
    ]
}


def test_questions_are_answered_from_the_approvals_file(home: Home) -> None:
    answers = home.write("a.toml", ANSWERS)
    model = home.script(calls("question", ASKED), calls("question", ASKED, {"questions": []}), DONE)
    ran = home.stream("go", "-m", model, "--tools", "question", "-a", str(answers), "-o", str(home.out))

    assert ran.code == 0 and ran.events[0]["tools"] == ["question", "tool_output"]
    first, again, odd = journal(home.out, "call_settled")
    assert first["content"] == "Database: SQLite\nColour: (no answer)"
    assert [(each["answer"], each["where"]) for each in first["outcome"]["data"]["answers"]] == [
        (["SQLite"], f"{answers}:2"),
        ([], ""),
    ]
    assert again["outcome"]["error"]["code"] == "unanswered"
    assert f"Database: {answers}:2 was for 1 use(s), which are spent" in again["outcome"]["error"]["message"]
    assert odd["outcome"]["error"]["code"] == "invalid_arguments"
    assert f"note: Database (t1.c1) is answered by {answers}:2: SQLite" in ran.stderr


@pytest.mark.parametrize("text", ["", "version = 1\n"], ids=["no file", "no answers"])
def test_without_answers_no_question_can_be_asked(home: Home, text: str) -> None:
    flags = ["-a", str(home.write("a.toml", text))] if text else []
    model = home.script(calls("question", ASKED), DONE)
    ran = home.stream("go", "-m", model, "--tools", "question", *flags, "-o", str(home.out))
    assert ran.events[0]["tools"] == []
    assert "nobody is there to answer" in ran.events[0]["withheld_tools"]["question"]
    assert outcomes(home.out)[0]["error"]["code"] == "denied"
    listed = json.loads(home.run("tools", "--json", "--tools", "question", *flags).stdout)
    (entry,) = [each for each in listed if each["name"] == "question"]
    assert entry["state"] == "off" and "nobody is there to answer" in entry["reason"]


# -- defaults ----------------------------------------------------------------------------------


def test_a_prompt_alone_offers_reading_and_nothing_else(home: Home) -> None:
    home.write("a.md", "A\n")
    model = home.script(calls("file_read", {"filePath": "a.md"}), calls("file_write", {"filePath": "b"}), DONE)
    ran = home.stream("go", "-m", model, "-o", str(home.out))
    offered = ran.events[0]["tools"]
    code = [name for name in offered if name.startswith("code_")]
    assert [name for name in offered if name not in code] == [
        "file_read",
        "file_glob",
        "file_grep",
        "file_index",
        "todo_write",
        "tool_output",
    ]
    read, written = outcomes(home.out)
    assert read["ok"] and written["error"]["code"] == "unknown_tool"


# -- shell -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("execution", "offered"), [("sync", True), ("auto", True), ("async", False)])
def test_a_shell_that_only_works_in_the_background_is_not_offered(home: Home, execution: str, offered: bool) -> None:
    (home.path / "config" / "remit.toml").write_text(f'[shell]\nexecution = "{execution}"\n')
    listed = json.loads(home.run("tools", "--json", "--tools", "shell=auto").stdout)
    (entry,) = [each for each in listed if each["name"] == "shell"]
    assert entry["state"] == ("on" if offered else "off")
    assert offered or entry["reason"].startswith("`[shell] execution` is async, and this run has no background")

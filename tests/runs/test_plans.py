"""The plan of a session: made, revised, carried out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, journal, prompts
from fakes.driving import driven

DONE = {"text": "Done."}
PLAN = "# The plan\n\n1. Write a.txt.\n"
READ = {"calls": [{"tool": "plan", "arguments": {"action": "read"}}]}
WRITE_FILE = {"calls": [{"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}]}
TOOLS = ("--tools", "file_read,file_write=auto")


def plan(content: str = PLAN) -> dict[str, Any]:
    return {"calls": [{"tool": "plan", "arguments": {"action": "write", "content": content}}]}


def made(home: Home, *more: dict[str, Any]) -> Path:
    """A session with a plan; its directory."""
    ran = home.stream("-m", home.script(plan(), DONE, *more), *TOOLS, "--mode", "plan", "-o", str(home.out), "plan it")
    assert ran.code == 0, ran.stderr
    assert "plan" in ran.events[0]["tools"]
    return home.out


def results(directory: Path, tool: str = "plan") -> list[str]:
    return [each["content"] for each in journal(directory, "call_settled") if each["tool"] == tool]


def test_planning_writes_the_plan_and_nothing_else(home: Home) -> None:
    out = made(home)
    assert (out / "plan.md").read_text() == PLAN
    assert results(out) == [f"The plan is kept: revision 1, {len(PLAN)} bytes."]
    assert [each["revision"] for each in journal(out, "plan_written")] == [1]


def test_without_a_plan_the_tool_is_off(home: Home) -> None:
    ran = home.stream("-m", home.script(DONE), "--tools", "plan", "go")
    assert ran.events[0]["withheld_tools"]["plan"] == "it requires a session plan"
    listed = json.loads(home.run("tools", "--json", "--tools", "plan").stdout)
    entry = next(each for each in listed if each["name"] == "plan")
    assert (entry["state"], entry["reason"]) == ("off", "it requires a session plan")


def test_the_plan_is_carried_out_in_its_session(home: Home) -> None:
    out = made(home)
    script = home.script(plan(), DONE, WRITE_FILE, READ, plan("# Revised"), DONE)
    ran = home.stream("--implement", str(out), "-m", script)
    assert ran.code == 0, ran.stderr
    assert ran.events[0]["permissionMode"] == "default"
    assert (home.work / "a.txt").read_text() == "A"
    said = [each["text"] for each in journal(out, "user_said")]
    assert f"Implement this session's plan.\n\n{PLAN}" in said
    assert said[-1].startswith("Plan mode is over")
    assert results(out)[1:] == [PLAN, "The plan is kept: revision 2, 9 bytes."]
    back = home.run("resume", str(out), "again", "-m", home.script(DONE))
    assert back.code in (0, 5)
    assert (out / "plan.md").read_text() == "# Revised"


def test_the_plan_moves_to_a_new_session(home: Home) -> None:
    old = made(home)
    new = home.path / "new"
    ran = home.stream("--implement", str(old), "--clear", "-o", str(new), "-m", home.script(WRITE_FILE, READ, DONE))
    assert ran.code == 0, ran.stderr
    assert (new / "plan.md").read_text() == PLAN and not (old / "plan.md").exists()
    assert results(new) == [PLAN]
    assert [each["text"] for each in prompts(new)] == [f"Implement this session's plan.\n\n{PLAN}"]
    assert journal(old, "plan_moved")[0]["run_id"] == ran.events[0]["run_id"]
    again = home.stream("--implement", str(old), "-m", home.script(DONE))
    assert again.code == 2 and "has no plan" in again.stderr


@pytest.mark.parametrize("clear", [(), ("--clear",)])
def test_a_plan_that_cannot_be_read_starts_nothing(home: Home, clear: tuple[str, ...]) -> None:
    out = made(home)
    (out / "plan.md").write_bytes(b"\xff")
    before = (out / "journal.jsonl").read_bytes()
    runs = len(home.runs)
    ran = home.stream("--implement", str(out), *clear, "-m", home.script(DONE))
    assert ran.code == 2 and "the plan is not UTF-8" in ran.stderr
    assert (out / "journal.jsonl").read_bytes() == before
    assert (len(home.runs), (out / "plan.md").read_bytes()) == (runs, b"\xff")


@pytest.mark.parametrize(
    ("args", "due"),
    [
        (("--implement", "last", "now"), "the plan is the prompt"),
        (("--clear", "go"), "there is no plan to move"),
        (("--implement", "last", "-c"), "it names its session itself"),
        (("--implement", "last", "--mode", "plan"), "not carried out in plan mode"),
        (("--implement", "last", "-o", "x"), "a session that is taken up has that already"),
    ],
)
def test_flags_of_plans_that_contradict_one_another(home: Home, args: tuple[str, ...], due: str) -> None:
    made(home)
    ran = home.stream("-m", home.script(DONE), *args)
    assert ran.code == 2 and due in ran.stderr


def test_a_fork_has_a_copy_of_the_plan(home: Home) -> None:
    old = made(home)
    new = home.path / "new"
    ran = home.stream("--resume", str(old), "--fork", "-o", str(new), "-m", home.script(plan(), DONE, READ, DONE), "go")
    assert ran.code == 0, ran.stderr
    assert results(new) == [PLAN]
    assert (old / "plan.md").exists()


def test_a_client_has_the_plan_carried_out(home: Home) -> None:
    script = home.script(plan(), DONE, WRITE_FILE, DONE)
    with driven(home, "-m", script, *TOOLS, "-o", str(home.out)) as session:
        session.ask("implement")
        assert "has no plan" in session.until("control_response")["response"]["error"]
        session.ask("set_permission_mode", mode="plan")
        session.until("control_response")
        session.ask("implement")
        assert "nothing was written yet" in session.until("control_response")["response"]["error"]
        session.end()
    other = home.path / "other"
    with driven(home, "-m", script, *TOOLS, "-o", str(other), "--mode", "plan") as session:
        session.say("plan it")
        session.until("result")
        session.ask("implement", clear=True)
        assert "--clear" in session.until("control_response")["response"]["error"]
        session.ask("implement")
        assert session.until("control_response")["response"]["response"] == {"bytes": len(PLAN)}
        session.until("result")
        assert session.end() == 0
    assert (home.work / "a.txt").exists()


def test_a_run_that_is_done_without_a_plan_owes_it(home: Home) -> None:
    ran = home.stream("-m", home.script(DONE, plan(), DONE), *TOOLS, "--mode", "plan", "-o", str(home.out), "plan it")
    assert (ran.code, ran.result["verdict"], ran.result["error_kind"]) == (3, "unmet", "plan")
    assert ran.result["unmet"] == ["no plan was written"]
    # Another word, and it is written.
    more = home.stream("--resume", str(home.out), "-m", home.script(DONE, plan(), DONE), "write it")
    assert (more.code, (home.out / "plan.md").read_text()) == (0, PLAN), more.stderr


def test_a_plan_written_by_hand_counts(home: Home) -> None:
    ran = home.stream("-m", home.script(DONE, DONE), *TOOLS, "--mode", "plan", "-o", str(home.out), "plan it")
    assert ran.code == 3
    (home.out / "plan.md").write_text(PLAN)
    assert home.stream("--resume", str(home.out), "-m", home.script(DONE, DONE), "look again").code == 0


def test_no_plan_is_owed_where_none_can_be_written(home: Home) -> None:
    script, never = home.script(DONE), ("--disallowed-tools", "plan")
    assert home.stream("-m", script, *TOOLS, *never, "--mode", "plan", "look").code == 0


def test_a_driven_session_owes_no_plan(home: Home) -> None:
    with driven(home, "-m", home.script(DONE), *TOOLS, "-o", str(home.out), "--mode", "plan") as session:
        session.say("think")
        assert session.until("result")["verdict"] == "done"

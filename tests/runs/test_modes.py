"""Runs in the modes, and modes that change while a session lasts."""

from __future__ import annotations

import json

import pytest

from fakes.cli import Home, journal
from fakes.driving import driven

DONE = {"text": "Done."}
WRITE = {"calls": [{"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}]}
WRITE_MORE = {"calls": [{"tool": "file_write", "arguments": {"filePath": "b.txt", "content": "B"}}]}
MODES = ("--mode", "--permission-mode")


def shell(line: str) -> dict[str, object]:
    return {"calls": [{"tool": "shell", "arguments": {"command": line}}]}


@pytest.mark.parametrize("flag", MODES)
def test_a_run_in_plan_mode_changes_nothing(home: Home, flag: str) -> None:
    script = home.script(shell("echo x > a.txt"), shell("ls"), WRITE, DONE)
    ran = home.stream(
        "-m", script, "-o", str(home.out), "--tools", "shell=auto,file_write=auto,file_read", flag, "plan", "look"
    )
    assert (ran.code, ran.result["unmet"]) == (3, ["no plan was written"])
    init = ran.events[0]
    assert init["permissionMode"] == "plan"
    assert init["tools"] == ["shell", "file_read", "plan", "tool_output"]
    assert "plan mode changes nothing but the plan" in init["withheld_tools"]["file_write"]
    assert [each["source"] for each in ran.result["permission_denials"]] == ["plan", "plan"]
    assert not (home.work / "a.txt").exists()
    told = [event for event in ran.events if event.get("isSynthetic")]
    assert [event["message"]["content"][0]["text"][:10] for event in told] == ["Plan mode:"]


def test_the_task_file_names_a_mode_and_the_flag_another(home: Home) -> None:
    task = home.task(prompt="go", tools={"shell": "auto"}, mode="plan")
    ran = home.stream("-t", task, "-m", home.script(shell("touch a.txt"), DONE))
    assert ran.events[0]["permissionMode"] == "plan"
    assert not (home.work / "a.txt").exists()
    ran = home.stream("-t", task, "-m", home.script(shell("touch a.txt"), DONE), "--mode", "build")
    assert ran.events[0]["permissionMode"] == "default"
    assert (home.work / "a.txt").exists()


def test_what_the_task_promises_is_not_due_in_plan_mode(home: Home) -> None:
    expect = {"artifacts": ["report.md"], "checks": ["false"]}
    task = home.task(prompt="go", tools={"write_artifact": "auto"}, expect=expect)
    plan = {"calls": [{"tool": "plan", "arguments": {"action": "write", "content": "# Report"}}]}
    assert home.stream("-t", task, "-m", home.script(plan, DONE), "--mode", "plan").code == 0
    assert home.stream("-t", task, "-m", home.script(DONE)).code == 3


@pytest.mark.parametrize(("mode", "code"), [("acceptEdits", True), ("bypassPermissions", True), ("dontAsk", False)])
def test_a_run_in_a_permission_mode(home: Home, mode: str, code: bool) -> None:
    script = home.script(WRITE, DONE)
    flags = ("--on-ask", "stop", "--permission-mode", mode)
    ran = home.stream("-m", script, "--tools", "file_write=ask", *flags, "go")
    assert ran.code == 0
    assert (home.work / "a.txt").exists() == code


def test_what_a_mode_offers_is_told_without_a_run(home: Home) -> None:
    flags = ["--tools", "file_read,file_write,shell=auto,plan", "--mode", "plan"]
    listed = json.loads(home.run("tools", "--json", *flags).stdout)
    asked = json.loads(home.run("prompt", "--json", *flags).stdout)
    begun = home.stream("Look.", "-m", home.script({"text": "Seen."}), *flags).events[0]
    on = {each["name"] for each in listed if each["state"] == "on"}
    assert on == {each["name"] for each in asked["tools"]} == set(begun["tools"])
    assert "plan" in on and "file_write" not in on
    why = next(each["reason"] for each in listed if each["name"] == "file_write")
    assert why == begun["withheld_tools"]["file_write"]


def test_explain_names_the_rule_of_the_mode(home: Home) -> None:
    call = ("policy", "explain", "shell", "command=rm x", "--tools", "shell")
    ran = home.run(*call, "--mode", "plan", "--json")
    told = json.loads(ran.stdout)
    assert told["decision"]["decide"] == "deny"
    assert told["decision"]["rule"]["where"].startswith("plan.toml:")
    ran = home.run("policy", "explain", "file_write", "filePath=a", "content=b", "--permission-mode", "acceptEdits")
    assert "auto: file_write on path a" in ran.stdout.decode()
    assert "mode accept_edits.toml:" in ran.stdout.decode()
    ran = home.run("policy", "explain", "file_read", "filePath=a", "--mode", "plan")
    assert "plan.toml:5 (lets others speak): looking around" in ran.stdout.decode()


def test_a_client_changes_the_mode(home: Home) -> None:
    script = home.script(WRITE, DONE, WRITE_MORE, DONE, shell("touch c.txt"), DONE)
    tools = ("--tools", "file_write=ask,shell=ask")
    with driven(home, "-m", script, "-o", str(home.out), *tools, "--mode", "plan") as session:
        session.say("plan it")
        init = session.until(lambda event: event.get("subtype") == "init")
        assert init["permissionMode"] == "plan"
        assert "file_write" in init["tools"]
        assert session.until("result")["permission_denials"][0]["source"] == "plan"
        session.ask("set_permission_mode", mode="acceptEdits")
        changed = session.until(lambda event: event.get("permissionMode") == "acceptEdits")
        assert changed["subtype"] == "status"
        assert session.until("control_response")["response"]["response"] == {"mode": "acceptEdits"}
        session.say("do it")
        assert session.until("result")["permission_denials"] == []
        session.ask("set_permission_mode", mode="dontAsk")
        session.say("more")
        assert session.until("result")["permission_denials"][0]["decision"] == "ask"
        session.ask("set_permission_mode", mode="nonsense")
        assert "the modes are default, plan" in session.until("control_response")["response"]["error"]
        assert session.end() == 0
    assert not [event for event in session.seen if event["type"] == "control_request"]
    assert (home.work / "b.txt").exists() and not (home.work / "a.txt").exists()
    rules = journal(home.out, "rules_changed")
    assert [(each["number"], each["mode"], each["who"]) for each in rules] == [
        (2, "acceptEdits", "client"),
        (3, "dontAsk", "client"),
    ]
    told = [each["text"][:9] for each in journal(home.out, "user_said") if each["reason"] == "mode"]
    assert told == ["Plan mode", "Plan mode"]


def test_a_resumed_session_goes_on_in_its_mode(home: Home) -> None:
    first = home.script(shell("sleep 60"), DONE)
    with driven(home, "-m", first, "-o", str(home.out), "--tools", "file_write,shell") as session:
        session.ask("set_permission_mode", mode="plan")
        session.until("control_response")
        session.say("go")
        session.until("assistant")
        session.process.kill()
        session.process.wait(20)
    ran = home.run("resume", str(home.out), "-m", home.script(DONE, WRITE, DONE), "--output-format", "stream-json")
    assert ran.events[0]["permissionMode"] == "plan"

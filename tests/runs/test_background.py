"""Agents and commands in the background of a run that a program drives."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fakes.cli import Home, journal
from fakes.driving import Driven, Event, driven

DONE = {"text": "Done."}
SOON = 1.0
"""Seconds in which an interrupt is over, with room for a busy machine; the bench holds it to 200 ms."""


def task(prompt: str, description: str = "count files", **more: Any) -> dict[str, Any]:
    return {"tool": "task", "arguments": {"description": description, "prompt": prompt, **more}}


def control(action: str, **more: Any) -> dict[str, Any]:
    return {"calls": [{"tool": "task_control", "arguments": {"action": action, **more}}]}


def shell(command: str, seconds: int = 900) -> dict[str, Any]:
    return {"tool": "shell", "arguments": {"command": command, "timeoutSec": seconds}}


def agent(when: str, *turns: dict[str, Any]) -> dict[str, Any]:
    return {"when": when, "turns": list(turns)}


@contextlib.contextmanager
def session(home: Home, *turns: dict[str, Any], agents: Sequence[Any] = (), **keys: Any) -> Iterator[Driven]:
    script = home.script(*turns, agents=list(agents))
    with driven(home, "-m", script, "--tools", "task=auto,shell=auto", "-o", str(home.out), **keys) as started:
        yield started


def of(kind: str) -> Any:
    """Whether an event is of this subtype."""
    return lambda event: event.get("subtype") == kind


def tool_result(started: Driven) -> str:
    """The next result that the main agent is given."""

    def is_result(event: Event) -> bool:
        return event["type"] == "user" and "agent_id" not in event and "tool_use_result" in event

    content = started.until(is_result)["message"]["content"][0]["content"]
    assert isinstance(content, str)
    return content


def results(started: Driven) -> list[Event]:
    return [event for event in started.seen if event["type"] == "result"]


def reports(home: Home) -> list[Event]:
    return [each for each in journal(home.out, "user_said") if each["reason"] == "report"]


def test_the_result_of_an_agent_begins_a_prompt_of_its_own(home: Home) -> None:
    turns = ({"calls": [task("FIRST", background=True)]}, {"text": "I go on."}, {"text": "So it is three."})
    with session(home, *turns, agents=[agent("FIRST", {"text": "three", "delay": 0.5})]) as started:
        started.say("count")
        assert "That is no result" in tool_result(started)
        first = started.until("result")
        assert "origin" not in first
        started.until(of("init"))
        second = started.until("result")
        assert started.end() == 0
    assert second["origin"] == {"kind": "task-notification"}
    assert second["result"] == "So it is three."
    (report,) = reports(home)
    assert (report["joined"], report["task"]) == (False, "count-files")
    assert report["text"].startswith("agent `count-files` (count files) in the background is done.\n\nthree")
    shown = [event for event in started.seen if event["type"] == "user" and event.get("isSynthetic")]
    assert [event["message"]["content"][0]["text"] for event in shown] == [report["text"]]
    kinds = [event["subtype"] for event in started.seen if event.get("subtype", "").startswith(("task_", "background"))]
    assert kinds == [
        "task_started",
        "background_tasks_changed",
        "task_updated",
        "task_notification",
        "background_tasks_changed",
    ]


def test_a_report_joins_the_prompt_under_way(home: Home) -> None:
    turns = (
        {"calls": [task("FIRST", background=True)]},
        {"calls": [shell("until [ -e go ]; do sleep 0.05; done", 60)]},
        {"text": "three, then", "expect_prompt": "is done"},
    )
    with session(home, *turns, agents=[agent("FIRST", {"text": "three"})]) as started:
        started.say("count")
        started.until(of("task_notification"))
        home.write("go", "")
        assert started.until("result")["result"] == "three, then"
        assert started.end() == 0
    assert len(results(started)) == 1
    assert [report["joined"] for report in reports(home)] == [True]


def test_the_end_of_stdin_waits_for_what_goes_on(home: Home) -> None:
    turns = ({"calls": [task("FIRST", background=True)]}, {"text": "I go on."}, {"text": "three"})
    with session(home, *turns, agents=[agent("FIRST", {"text": "three", "delay": 1.0})]) as started:
        started.say("count")
        assert started.end() == 0
    assert [result["result"] for result in results(started)] == ["I go on.", "three"]


def test_an_agent_reports_before_its_end(home: Home) -> None:
    report = {"tool": "report_to_parent", "arguments": {"title": "found", "message": "it is in a.txt"}}
    turns = (
        {"calls": [task("FIRST", background=True)]},
        {"calls": [shell("until [ -e go ]; do sleep 0.05; done", 60)]},
        {"text": "thanks", "expect_prompt": "it is in a.txt"},
    )
    with session(home, *turns, agents=[agent("FIRST", {"calls": [report]}, {"text": "three"})]) as started:
        started.say("count")
        started.until(of("task_notification"))
        home.write("go", "")
        assert started.until("result")["result"] == "thanks"
        assert started.end() == 0
    first, second = reports(home)
    assert first["text"] == "Report of agent `count-files` (count files): found\n\nit is in a.txt"
    assert second["task"] == "count-files"


def test_an_agent_that_is_blocked_has_failed(home: Home) -> None:
    report = {"tool": "report_to_parent", "arguments": {"title": "stuck", "message": "no key", "blocked": True}}
    turns = ({"calls": [task("FIRST")]}, DONE, DONE)
    with session(home, *turns, agents=[agent("FIRST", {"calls": [report]})]) as started:
        started.say("count")
        error = json.loads(tool_result(started))["error"]
        assert started.end() == 0
    assert error["code"] == "task_failed"
    assert "it is blocked: no key" in error["message"]


def test_a_command_with_much_time_goes_on_and_its_output_is_kept(home: Home) -> None:
    turns = (
        {"calls": [shell("until [ -e go ]; do sleep 0.05; done; seq 30000; exit 3")]},
        {"text": "I go on."},
        {"text": "it failed", "expect_prompt": "[all of it: output-until]"},
    )
    with session(home, *turns) as started:
        started.say("run it")
        assert "[task_id: shell-until]" in tool_result(started)
        started.until("result")
        home.write("go", "")
        assert started.until(of("task_notification"))["status"] == "failed"
        assert started.end() == 0
    (report,) = reports(home)
    assert "exit code 3" in report["text"]
    assert (home.out / "outputs" / "output-until.txt").read_text().endswith("29999\n30000")


def test_a_command_with_as_much_time_as_the_threshold_is_waited_for(home: Home) -> None:
    with session(
        home, {"calls": [shell("echo here", 120), {"tool": "shell", "arguments": {"command": "echo too"}}]}, DONE
    ) as started:
        started.say("run it")
        assert "exit code 0\nhere" in tool_result(started)
        assert "exit code 0\ntoo" in tool_result(started)
        assert started.end() == 0


def test_the_model_looks_after_what_goes_on(home: Home) -> None:
    turns = (
        {"calls": [task("FIRST", background=True), task("FIRST", background=True)]},
        control("list"),
        control("cancel", task_id="count-files"),
        control("status", task_id="count-files"),
        control("cancel", task_id="count-files-2"),
        control("list", limit=1),
        control("list", limit=1, before={"task_id": "count-files-2"}),
        control("status", task_id="never"),
        control("status"),
        DONE,
    )
    with session(home, *turns, agents=[agent("FIRST", {"text": "late", "delay": 60})]) as started:
        started.say("count")
        told = [json.loads(text) for text in (tool_result(started) for _ in range(10)) if text.startswith("{")]
        assert started.end() == 0
    listed, cancelled, status, _, page, older, unknown, missing = told
    assert [job["task_id"] for job in listed["data"]["running"]] == ["count-files", "count-files-2"]
    assert cancelled["data"]["cancelled"] is True
    assert status["data"]["status"] == "cancelled"
    assert [job["task_id"] for job in page["data"]["ended"]] == ["count-files-2"]
    assert page["data"]["next"] == {"task_id": "count-files-2"}
    assert [job["task_id"] for job in older["data"]["ended"]] == ["count-files"]
    assert older["data"]["next"] is None
    assert unknown["error"]["code"] == "not_found"
    assert missing["error"]["code"] == "invalid_arguments"
    # What the model ended itself it is not told of again.
    assert not reports(home)


def test_the_client_looks_after_what_goes_on(home: Home) -> None:
    turns = ({"calls": [task("FIRST", background=True)]}, {"text": "I go on."}, {"text": "I see."})
    with session(home, *turns, agents=[agent("FIRST", {"text": "late", "delay": 60})]) as started:
        started.say("count")
        started.until("result")

        def asked(subtype: str, **fields: Any) -> Any:
            started.ask(subtype, **fields)
            response = started.until("control_response")["response"]
            return response.get("response", response)

        assert [job["task_id"] for job in asked("task_list")["running"]] == ["count-files"]
        assert asked("task_status", task_id="count-files")["status"] == "running"
        assert [job["task_id"] for job in asked("background_tasks")["tasks"]] == ["count-files"]
        assert asked("task_promote", task_id="count-files")["subtype"] == "error"
        assert asked("task_status", task_id="never")["subtype"] == "error"
        assert asked("task_list", limit=0)["subtype"] == "error"
        assert asked("stop_task", task_id="never")["subtype"] == "error"
        assert asked("stop_task", task_id="count-files") == {}
        assert started.until("result")["result"] == "I see."
        assert started.end() == 0
    assert "was cancelled" in reports(home)[0]["text"]


def test_a_task_that_is_waited_for_is_let_go_without_a_new_start(home: Home) -> None:
    turns = ({"calls": [task("FIRST")]}, {"text": "I go on."}, {"text": "three it is"})
    with session(home, *turns, agents=[agent("FIRST", {"text": "three", "delay": 1.0})]) as started:
        started.say("count")
        started.until(lambda event: event.get("agent_id") == "count-files")
        started.ask("task_promote", task_id="count-files")
        assert "That is no result" in tool_result(started)
        assert started.until("result")["result"] == "I go on."
        assert started.until("result")["result"] == "three it is"
        assert started.end() == 0
    assert len(journal(home.out, "job_started")) == 1
    assert len(journal(home.out / "tasks" / "count-files", "turn_started")) == 1


def test_an_interrupt_ends_agents_that_are_waited_for_and_others(home: Home) -> None:
    turns = ({"calls": [task("FIRST", background=True), task("FIRST")]}, {"text": "later"})
    with session(home, *turns, agents=[agent("FIRST", {"text": "late", "delay": 60})]) as started:
        started.say("count")
        for _ in range(2):
            started.until(lambda event: bool(event.get("agent_id")))
        began = time.monotonic()
        started.ask("interrupt")
        started.until("control_response")
        assert time.monotonic() - began < SOON
        assert started.until("result")["error_kind"] == "interrupted"
        assert time.monotonic() - began < 5 * SOON
        started.say("go on")
        assert started.until("result")["result"] == "later"
        assert started.end() == 0
    assert [each["status"] for each in journal(home.out, "job_ended")] == ["cancelled", "cancelled"]
    assert not reports(home)


def test_an_interrupt_between_prompts_ends_what_goes_on(home: Home) -> None:
    turns = ({"calls": [task("FIRST", background=True)]}, {"text": "I go on."})
    with session(home, *turns, agents=[agent("FIRST", {"text": "late", "delay": 60})]) as started:
        started.say("count")
        started.until("result")
        started.ask("interrupt")
        started.until(of("task_notification"))
        started.until(lambda event: event.get("state") == "idle")
        assert started.end() == 0
    assert not reports(home)


def test_sigterm_leaves_no_command_of_the_background_behind(home: Home) -> None:
    seconds = f"{400 + os.getpid() / 1e7:.7f}"
    turns = ({"calls": [shell(f"setsid sleep {seconds} & echo > started; wait")]}, {"text": "I go on."})
    with session(home, *turns) as started:
        started.say("run it")
        started.until("result")
        wait_for(home.work / "started")
        while not running(seconds):
            time.sleep(0.02)
        started.process.send_signal(signal.SIGTERM)
        assert started.process.wait(20) == 143
    assert not running(seconds)
    assert [each["status"] for each in journal(home.out, "job_ended")] == ["cancelled"]


def test_a_kill_interrupts_what_went_on_and_the_model_is_told(home: Home) -> None:
    turns = (
        {"calls": [task("FIRST", background=True)]},
        {"calls": [shell("sleep 60", 100)]},
        {"text": "it was lost", "expect_prompt": "was interrupted when the process of the run died"},
    )
    with session(home, *turns, agents=[agent("FIRST", {"text": "late", "delay": 60})]) as started:
        started.say("count")
        tool_result(started)
        while not any(each["key"] == "t2.c1" for each in journal(home.out, "call_started")):
            time.sleep(0.05)
        started.process.kill()
        started.process.wait()
    ran = home.run("resume", str(home.out), "--output-format", "stream-json")
    assert ran.code == 0, ran.stderr
    assert ran.result["result"] == "it was lost"
    assert [each["status"] for each in journal(home.out, "job_ended")] == ["interrupted"]
    assert [report["task"] for report in reports(home)] == ["count-files"]


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.02)


def running(argument: str) -> bool:
    """Whether any `sleep` of this machine has this among its arguments."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = place.read_bytes().split(b"\0")
            if words[0] == b"sleep" and argument.encode() in words:
                return True
    return False

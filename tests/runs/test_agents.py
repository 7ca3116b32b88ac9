"""Runs that have agents work for them: what those may, what they cost, and what is left when they die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, journal, lines, prompts

DONE = {"text": "Done."}
COUNTED = {"input": 10, "output": 5}


def task(prompt: str, description: str = "count files", **more: Any) -> dict[str, Any]:
    """A call of task, whose agent the script knows by its prompt."""
    return {"tool": "task", "arguments": {"description": description, "prompt": prompt, **more}}


def again(task_id: str, **more: Any) -> dict[str, Any]:
    return {"tool": "task", "arguments": {"description": "go on", "task_id": task_id, **more}}


def agent(when: str, *turns: dict[str, Any]) -> dict[str, Any]:
    return {"when": when, "turns": list(turns)}


def results(ran: Ran) -> list[str]:
    """What the main agent is told of its calls, in their order."""
    return [
        event["message"]["content"][0]["content"]
        for event in ran.events
        if event["type"] == "user" and "agent_id" not in event and event["message"]["content"][0].get("tool_use_id")
    ]


def play(home: Home, *turns: dict[str, Any], agents: list[Any], tools: str = "", args: tuple[str, ...] = ()) -> Ran:
    script = home.script(*turns, agents=agents)
    ticks = ("--tools", f"task=auto,{tools}" if tools else "task=auto")
    return home.stream("-m", script, *ticks, "-o", str(home.out), *args, "go")


def test_agents_work_side_by_side_and_their_lines_say_whose_they_are(home: Home) -> None:
    home.write("a.txt", "hello\n")
    ran = play(
        home,
        {"calls": [task("FIRST"), task("SECOND")]},
        DONE,
        agents=[
            agent("FIRST", {"calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]}, {"text": "it is a"}),
            agent("SECOND", {"text": "it is b"}),
        ],
        tools="read_file=auto",
    )
    assert ran.code == 0
    assert results(ran) == [
        "it is a\n\n[task_id: count-files, mode: build]",
        "it is b\n\n[task_id: count-files-2, mode: build]",
    ]
    own = [event for event in ran.events if event.get("agent_id") == "count-files" and event["type"] != "system"]
    assert {event["parent_tool_use_id"] for event in own} == {"call_1_1"}
    assert {event["task_description"] for event in own} == {"count files"}
    assert [event["type"] for event in own] == ["user", "assistant", "user", "assistant"]
    kinds = [event["subtype"] for event in ran.events if event.get("task_id") == "count-files-2"]
    assert kinds == ["task_started", "task_updated", "task_notification"]
    assert journal(home.out / "tasks" / "count-files", "prompt_ended")[0]["verdict"] == "done"
    assert lines(home.out / "events.jsonl") == ran.events


def test_what_an_agent_takes_counts_against_the_limits_of_the_run(home: Home) -> None:
    read = {"calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}], "usage": COUNTED}
    ran = play(
        home,
        {"calls": [task("FIRST")], "usage": COUNTED},
        {**DONE, "usage": COUNTED},
        agents=[agent("FIRST", read, {"text": "a", "usage": COUNTED})],
        tools="read_file=auto",
    )
    spent = ran.result["spent"]
    assert (spent["turns"], spent["tokens"], spent["calls"]) == (4, 60, 2)
    assert ran.result["num_turns"] == 2
    assert ran.result["usage"]["input_tokens"] == 20
    assert ran.result["modelUsage"]["scripted/scripted"]["inputTokens"] == 40


@pytest.mark.parametrize(("flag", "enough"), [("--max-turns", 5), ("--max-calls", 3), ("--max-tokens", 61)])
def test_a_limit_holds_across_all_agents(home: Home, flag: str, enough: int) -> None:
    def run(limit: int) -> Ran:
        read = {"calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}], "usage": COUNTED}
        other = {"calls": [{"tool": "read_file", "arguments": {"path": "b.txt"}}]}
        return play(
            home,
            {"calls": [task("FIRST")], "usage": COUNTED},
            {**DONE, "usage": COUNTED},
            agents=[agent("FIRST", read, {**other, "usage": COUNTED}, {"text": "a", "usage": COUNTED})],
            tools="read_file=auto",
            args=(flag, str(limit)),
        )

    assert run(enough).code == 0
    cut = run(enough - 1)
    assert (cut.code, cut.result["verdict"]) == (7, "budget")


def test_an_agent_has_the_tools_of_the_main_one_and_no_others(home: Home) -> None:
    write = {"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}
    ran = play(
        home,
        {"calls": [task("FIRST")]},
        DONE,
        agents=[agent("FIRST", {"calls": [task("nested"), write]}, {"text": "no"})],
        tools="read_file=auto",
    )
    told = [event["tool_use_result"] for event in ran.events if event.get("agent_id") and event.get("tool_use_result")]
    assert [each["error"]["code"] for each in told] == ["denied", "unknown_tool"]
    assert not (home.work / "a.txt").exists()


def test_rules_hold_for_agents_and_their_decisions_are_kept(home: Home) -> None:
    write = {"tool": "file_write", "arguments": {"filePath": "secret/a.txt", "content": "A"}}
    allowed = {"tool": "file_write", "arguments": {"filePath": "open/a.txt", "content": "A"}}
    ran = play(
        home,
        {"calls": [task("FIRST")]},
        DONE,
        agents=[agent("FIRST", {"calls": [write, allowed]}, {"text": "done"})],
        tools="file_write=auto",
        args=("--deny", "file_write:path=secret/**"),
    )
    assert ran.code == 0
    assert not (home.work / "secret").exists()
    assert (home.work / "open" / "a.txt").read_text() == "A"
    decided = [(each.get("agent", ""), each["allowed"]) for each in lines(home.out / "decisions.jsonl")]
    assert decided == [("", True), ("count-files", False), ("count-files", True)]


def test_an_agent_in_plan_mode_changes_nothing(home: Home) -> None:
    home.write("a.txt", "hello\n")
    calls = [
        {"tool": "file_write", "arguments": {"filePath": "b.txt", "content": "B"}},
        {"tool": "shell", "arguments": {"command": "touch c.txt"}},
        {"tool": "file_read", "arguments": {"filePath": "a.txt"}},
    ]
    ran = play(
        home,
        {"calls": [task("FIRST", mode="plan")]},
        DONE,
        agents=[agent("FIRST", {"calls": calls}, {"text": "read it"})],
        tools="file_write=auto,shell=auto,file_read=auto",
    )
    assert results(ran) == ["read it\n\n[task_id: count-files, mode: plan]"]
    told = [event["tool_use_result"]["ok"] for event in ran.events if event.get("tool_use_result")]
    assert told == [False, False, True, True]
    assert sorted(path.name for path in home.work.iterdir()) == ["a.txt"]


def test_agents_of_a_session_that_plans_plan_too_and_only_read_its_plan(home: Home) -> None:
    def plan(**arguments: Any) -> dict[str, Any]:
        return {"tool": "plan", "arguments": arguments}

    ran = play(
        home,
        {"calls": [plan(action="write", content="First this.")]},
        {"calls": [task("FIRST")]},
        {"calls": [task("FIRST", mode="build")]},
        DONE,
        agents=[
            agent("FIRST", {"calls": [plan(action="read"), plan(action="write", content="No.")]}, {"text": "read"})
        ],
        args=("--mode", "plan"),
    )
    _, first, second = results(ran)
    assert first == "read\n\n[task_id: count-files, mode: plan]"
    assert second == "read\n\n[task_id: count-files-2, mode: plan]"
    own = [
        event["message"]["content"][0]["content"]
        for event in ran.events
        if event.get("agent_id") == "count-files" and event["type"] == "user" and "tool_use_result" in event
    ]
    assert own[0] == "First this."
    assert "only the main agent replaces the plan" in own[1]
    assert (home.out / "plan.md").read_text() == "First this."


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_schema_makes_the_result_json_after_two_corrections(home: Home) -> None:
    ran = play(
        home,
        {"calls": [task("FIRST", output_schema=SCHEMA)]},
        DONE,
        agents=[
            agent(
                "FIRST",
                {"text": "three"},
                {"text": "3 of them"},
                {"calls": [{"tool": "structured_output", "arguments": {"n": 3}}]},
            )
        ],
    )
    assert results(ran) == ['{"n":3}\n\n[task_id: count-files, mode: build]']


def test_an_agent_that_never_fits_the_schema_has_failed(home: Home) -> None:
    ran = play(
        home,
        {"calls": [task("FIRST", output_schema=SCHEMA)]},
        DONE,
        agents=[agent("FIRST", {"text": "three", "repeat": 3})],
    )
    assert ran.code == 0
    error = json.loads(results(ran)[0])["error"]
    assert error["code"] == "task_failed"
    assert "[task_id: count-files, mode: build]" in error["message"]


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        ({"prompt": " "}, "invalid_arguments", "a new task needs one"),
        ({"prompt": "TRY", "profile": "nobody"}, "invalid_arguments", "the profiles are: builtin"),
        ({"prompt": "TRY", "mode": "god"}, "invalid_arguments", "mode"),
        ({"prompt": "TRY", "output_schema": {"type": "nonsense"}}, "invalid_arguments", "output_schema"),
        ({"prompt": "TRY", "background": True}, "invalid_arguments", "background"),
        ({"prompt": "TRY", "description": " "}, "invalid_arguments", "description"),
        ({"prompt": "TRY", "description": "x" * 201}, "invalid_arguments", "description"),
        ({"task_id": "never"}, "not_found", "there is no task 'never'"),
    ],
)
def test_what_cannot_be_asked_for(home: Home, arguments: dict[str, Any], code: str, what: str) -> None:
    call = {"tool": "task", "arguments": {"description": "try it", **arguments}}
    ran = play(home, {"calls": [call]}, DONE, agents=[agent("TRY", DONE)])
    error = json.loads(results(ran)[0])["error"]
    assert error["code"] == code
    assert what in error["message"]


def test_a_settled_task_goes_on_with_all_it_said_and_as_what_it_was(home: Home) -> None:
    ran = play(
        home,
        {"calls": [task("FIRST", mode="plan")]},
        {"calls": [again("count-files", prompt="and now?")]},
        {"calls": [again("count-files", prompt="more", mode="build")]},
        {"calls": [again("count-files", prompt="more", profile="other")]},
        DONE,
        agents=[agent("FIRST", {"text": "three"}, {"text": "four", "expect_prompt": "and now?"})],
    )
    first, second, third, fourth = results(ran)
    assert first.startswith("three") and second == "four\n\n[task_id: count-files, mode: plan]"
    assert "keeps its mode 'plan'" in third
    assert "keeps its profile 'builtin'" in fourth
    said = prompts(home.out / "tasks" / "count-files")
    assert [each["text"] for each in said] == ["FIRST", "and now?"]


def test_no_more_agents_than_set_work_at_once(home: Home) -> None:
    (home.path / "config" / "remit.toml").write_text("[agent]\ntask_max_concurrent = 2\n")
    ran = play(
        home,
        {"calls": [task(f"AGENT {number}") for number in range(4)]},
        DONE,
        agents=[agent("AGENT", {"text": "a", "delay": 0.2})],
    )
    assert ran.code == 0
    order = [
        "begin" if event["type"] == "user" else "end"
        for event in ran.events
        if event.get("agent_id") and event["type"] in ("user", "assistant")
    ]
    at_once = [order[: index + 1].count("begin") - order[: index + 1].count("end") for index in range(len(order))]
    assert max(at_once) == 2
    assert order.count("end") == 4


def test_eight_agents_take_little_longer_than_one(home: Home) -> None:
    ran = play(
        home,
        {"calls": [task(f"AGENT {number}") for number in range(8)]},
        DONE,
        agents=[agent("AGENT", {"text": "a", "delay": 1.0})],
    )
    assert ran.code == 0
    # One after the other they would take eight seconds; the bench holds them to far less.
    assert 1.0 <= ran.result["duration_ms"] / 1000 < 5.0


def test_on_deny_fail_ends_the_run_for_a_refusal_of_an_agent(home: Home) -> None:
    write = {"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}
    ran = play(
        home,
        {"calls": [task("FIRST")]},
        DONE,
        agents=[agent("FIRST", {"calls": [write]}, {"text": "done"})],
        tools="file_write=auto",
        args=("--deny", "file_write", "--on-deny", "fail"),
    )
    assert (ran.code, ran.result["verdict"]) == (4, "refused")


def test_an_agent_that_stops_on_an_ask_goes_on_once_it_is_answered(home: Home) -> None:
    write = {"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}
    ran = play(
        home,
        {"calls": [task("FIRST")]},
        {"calls": [again("count-files")]},
        DONE,
        agents=[agent("FIRST", {"calls": [write]}, {"text": "written"})],
        tools="file_write=ask",
        args=("--on-ask", "stop"),
    )
    assert (ran.code, ran.result["error_kind"]) == (4, "asked")
    asked = next(event for event in ran.events if event.get("subtype") == "permission_asked")
    assert asked["agent_id"] == "count-files"
    assert "[task_id: count-files, mode: build]" in results(ran)[0]
    approvals = home.path / "approvals.toml"
    approvals.write_text(f"version = 1\n{asked['approval']}")
    gone_on = home.run("resume", str(home.out), "-a", str(approvals), "--output-format", "stream-json")
    assert gone_on.code == 0, gone_on.stderr
    assert results(gone_on) == ["written\n\n[task_id: count-files, mode: build]"]
    assert (home.work / "a.txt").read_text() == "A"


def test_artifacts_of_agents_are_those_of_the_run(home: Home) -> None:
    def write(text: str) -> dict[str, Any]:
        return {"calls": [{"tool": "write_artifact", "arguments": {"name": f"{text}.md", "content": text}}]}

    ran = play(
        home,
        {"calls": [task("FIRST"), task("SECOND")]},
        DONE,
        agents=[agent("FIRST", write("one"), DONE), agent("SECOND", write("two"), DONE)],
        tools="write_artifact=auto",
    )
    assert {each["name"] for each in ran.result["artifacts"]} == {"one.md", "two.md"}
    assert (home.out / "artifacts" / "one.md").read_text() == "one"
    assert (home.out / "artifacts" / "two.md").read_text() == "two"
    assert ran.result["spent"]["artifacts_total_bytes"] == 6


def test_a_task_that_is_never_waited_for_is_not_offered_where_nothing_drives_the_run(home: Home) -> None:
    (home.path / "config" / "remit.toml").write_text('[agent]\ntask_execution = "async"\n')
    ran = play(home, {"calls": [task("FIRST")]}, DONE, agents=[agent("FIRST", DONE)], tools="task_control=auto")
    withheld = next(event for event in ran.events if event.get("subtype") == "init")["withheld_tools"]
    assert "has no background" in withheld["task"]
    assert "has no background" in withheld["task_control"]


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 30
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, f"{text} never came into {path}"
        time.sleep(0.02)


def killed_in_agent(home: Home) -> str:
    """A run that dies while its agent waits for its second answer; the model that plays it."""
    home.write("a.txt", "hello\n")
    read = {"calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}], "usage": COUNTED}
    script = home.script(
        {"calls": [task("FIRST")], "usage": COUNTED},
        {"calls": [again("count-files")], "usage": COUNTED},
        {**DONE, "usage": COUNTED},
        agents=[agent("FIRST", read, {"text": "hello it is", "delay": 2.0, "usage": COUNTED})],
    )
    args = ("run", "-m", script, "--tools", "task=auto,read_file=auto", "-o", str(home.out), "go")
    with home.started(*args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(home.out / "tasks" / "count-files" / "journal.jsonl", '"turn_started","turn":2')
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return script


def test_after_a_kill_the_task_is_interrupted_and_goes_on_by_its_id(home: Home) -> None:
    killed_in_agent(home)
    ran = home.run("resume", str(home.out), "--output-format", "stream-json")
    assert ran.code == 0, ran.stderr
    first, second = results(ran)
    assert "interrupted" in first and "task_id count-files, mode build" in first
    assert second == "hello it is\n\n[task_id: count-files, mode: build]"
    spent = ran.result["spent"]
    # The second request of the agent was made twice, and answered once.
    assert (spent["turns"], spent["tokens"]) == (6, 75)
    ended = [(each["task_id"], each["status"]) for each in journal(home.out, "job_ended")]
    assert ended == [("count-files", "interrupted"), ("count-files", "completed")]


def running(argument: str) -> bool:
    """Whether any process of this machine has this among its arguments."""
    found = False
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = place.read_bytes().split(b"\0")
            found = found or (words[:1] == [b"sleep"] and argument.encode() in words)
    return found


def test_sigterm_ends_agents_and_all_they_started(home: Home) -> None:
    # Known by its arguments: inside a sandbox it has another number.
    seconds = f"{300 + os.getpid() / 1e7:.7f}"
    command = f"setsid sleep {seconds} & echo > started; wait"
    script = home.script(
        {"calls": [task("FIRST"), task("SECOND")]},
        agents=[
            agent("FIRST", {"calls": [{"tool": "shell", "arguments": {"command": command}}]}),
            agent("SECOND", {"text": "late", "delay": 60.0}),
        ],
    )
    args = ("run", "-m", script, "--tools", "task=auto,shell=auto", "-o", str(home.out), "go")
    with home.started(*args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(home.work / "started", "\n")
        while not running(seconds):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143
    assert not running(seconds)
    assert {each["status"] for each in journal(home.out, "job_ended")} == {"cancelled"}


def recorded(home: Home, *turns: dict[str, Any], agents: list[Any], **more: Any) -> tuple[Ran, str]:
    recording = str(home.path / "run.jsonl")
    ran = play(home, *turns, agents=agents, args=("--record", recording, *more.pop("args", ())), **more)
    assert ran.code == 0, ran.stderr
    return ran, recording


READ = {"calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}], "usage": COUNTED}
WRITE = {"calls": [{"tool": "write_artifact", "arguments": {"name": "a.md", "content": "# A"}}]}


@pytest.mark.parametrize("live", [(), ("--live-tools",)])
def test_a_recorded_run_is_played_with_its_agents(home: Home, live: tuple[str, ...]) -> None:
    home.write("a.txt", "hello\n")
    ran, recording = recorded(
        home,
        {"calls": [task("FIRST"), task("SECOND")]},
        {"calls": [again("count-files", prompt="FIRST, further")]},
        DONE,
        agents=[
            agent("FIRST", READ, {"text": "one"}, {"text": "more of one"}),
            agent("SECOND", WRITE, {"text": "two"}),
        ],
        tools="read_file=auto,write_artifact=auto",
    )
    again_at = home.path / "again"
    played = home.run("replay", recording, *live, "--output-format", "stream-json", "-o", str(again_at))
    assert played.code == 0, played.stderr
    assert results(played) == results(ran)
    assert (again_at / "artifacts" / "a.md").read_text() == "# A"
    theirs = [event["type"] for event in played.events if event.get("agent_id")]
    assert sorted(theirs) == sorted(event["type"] for event in ran.events if event.get("agent_id"))
    assert played.result["spent"]["tokens"] == ran.result["spent"]["tokens"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: line.get("agent") and line.get("call"), "the call count-files.t1.c1 (read_file)"),
        (lambda line: line.get("agent") and line.get("request"), "is not the recorded one"),
    ],
)
def test_what_an_agent_does_otherwise_ends_the_replay(home: Home, change: Any, said: str) -> None:
    home.write("a.txt", "hello\n")
    _, recording = recorded(
        home,
        {"calls": [task("FIRST")]},
        DONE,
        agents=[agent("FIRST", READ, {"text": "one"})],
        tools="read_file=auto",
    )
    recorded_lines = lines(Path(recording))
    changed = next(line for line in recorded_lines if change(line))
    if "call" in changed:
        changed["call"]["content"] = "something else"
    else:
        changed["request"]["system"] += " Else."
    Path(recording).write_text("".join(json.dumps(line) + "\n" for line in recorded_lines))
    flags = () if "request" in changed else ("--live-tools",)
    played = home.run("replay", recording, *flags, "--output-format", "stream-json")
    assert played.code == 5
    assert said in played.stderr


def test_a_recording_that_lacks_what_agents_did_gives_their_results(home: Home) -> None:
    """As one of an earlier version does."""
    ran, recording = recorded(home, {"calls": [task("FIRST")]}, DONE, agents=[agent("FIRST", {"text": "one"})])
    kept = [line for line in lines(Path(recording)) if "agent" not in line]
    kept[0]["remit_recording"] = 2
    Path(recording).write_text("".join(json.dumps(line) + "\n" for line in kept))
    played = home.run("replay", recording, "--output-format", "stream-json")
    assert played.code == 0, played.stderr
    assert results(played) == results(ran)


def test_a_recording_is_the_model_of_agents_too(home: Home) -> None:
    home.write("a.txt", "hello\n")
    turns = [{"calls": [task("FIRST")]}, DONE]
    agents = [agent("FIRST", READ, {"text": "one"})]
    ran, recording = recorded(home, *turns, agents=agents, tools="read_file=auto")
    flags = ("--tools", "task=auto,read_file=auto", "go")
    played = home.stream("-m", f"replay/{recording}", *flags)
    assert played.code == 0, played.stderr
    assert results(played) == results(ran)


def test_a_recording_of_agents_that_were_stopped_is_played_up_to_there(home: Home) -> None:
    home.write("a.txt", "hello\n")
    recording = str(home.path / "run.jsonl")
    slow = {"text": "never", "delay": 30}
    agents = [agent("FIRST", READ, slow), agent("SECOND", slow)]
    script = home.script({"calls": [task("FIRST"), task("SECOND")]}, DONE, agents=agents)
    args = (
        "run",
        "-m",
        script,
        "--tools",
        "task=auto,read_file=auto",
        "--record",
        recording,
        "-o",
        str(home.out),
        "go",
    )
    settled = home.out / "tasks" / "count-files" / "journal.jsonl"
    with home.started(*args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(settled, "call_settled")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143
    played = home.run("replay", recording)
    assert played.code == 5
    assert "the recorded run was stopped here: stopped by SIGTERM" in played.stderr


def test_a_limit_that_agents_reached_ends_the_replay_too(home: Home) -> None:
    home.write("a.txt", "hello\n")
    recording = str(home.path / "run.jsonl")
    ran = play(
        home,
        {"calls": [task("FIRST")]},
        DONE,
        agents=[agent("FIRST", READ, {"text": "one"})],
        tools="read_file=auto",
        args=("--record", recording, "--max-turns", "2"),
    )
    assert ran.code == 7
    played = home.run("replay", recording)
    assert (played.code, "the limit turns = 2 is spent" in played.stderr) == (7, True)


LONG = {"tool": "shell", "arguments": {"command": "sleep 60"}}
LATE = {"text": "never", "delay": 60}
BESIDE = {
    "a call that had an end": ([READ["calls"][0], LONG], []),
    "an agent that had an end": ([task("FIRST"), LONG], [agent("FIRST", READ, {"text": "one"})]),
    "an agent that waits as well": ([task("FIRST"), LONG], [agent("FIRST", READ, LATE)]),
    "an agent that came further": (
        [task("FIRST"), task("SECOND")],
        [agent("FIRST", LATE), agent("SECOND", READ, {"calls": [LONG]})],
    ),
}
"""What the time limit ends, and what was done beside it until then."""


@pytest.mark.parametrize("case", BESIDE)
def test_a_time_limit_ends_a_replay_after_all_that_was_done_until_then(case: str, home: Home) -> None:
    calls, agents = BESIDE[case]
    home.write("a.txt", "hello\n")
    recording = str(home.path / "run.jsonl")
    args = ("--record", recording, "--max-seconds", "2")
    ran = play(home, {"calls": calls}, DONE, agents=agents, tools="read_file=auto,shell=auto", args=args)
    assert ran.code == 7, ran.stderr
    played = home.run("replay", recording, "--output-format", "stream-json")
    assert (played.code, played.result["errors"]) == (7, ["the limit seconds = 2 is spent"]), played.stderr
    assert results(played) == results(ran)
    assert played.result["counts"] == ran.result["counts"]


def ended_by_time(home: Home, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of a recording in which these calls of one turn were made."""
    home.write("a.txt", "hello\n")
    args = ("--record", str(home.path / "run.jsonl"), "--max-seconds", "2")
    agents = [agent("FIRST", READ, LATE)]
    ran = play(home, {"calls": list(calls)}, DONE, agents=agents, tools="read_file=auto,shell=auto", args=args)
    assert ran.code == 7, ran.stderr
    return lines(home.path / "run.jsonl")


def replayed(home: Home, recording: list[dict[str, Any]]) -> Ran:
    changed = home.path / "changed.jsonl"
    changed.write_text("".join(json.dumps(line) + "\n" for line in recording))
    return home.run("replay", str(changed), "--output-format", "stream-json")


def test_a_replay_that_is_to_end_ends_at_a_difference_too(home: Home) -> None:
    recording = ended_by_time(home, LONG, task("FIRST"))
    for line in recording:
        if line.get("agent") and "call" in line:
            line["call"]["resources"] = []
    played = replayed(home, recording)
    assert played.code == 5
    assert "the call count-files.t1.c1 (read_file) is not judged as it was recorded" in played.stderr


def test_a_replay_that_is_to_end_does_not_wait_for_what_cannot_come(home: Home) -> None:
    recording = ended_by_time(home, READ["calls"][0], LONG)
    first, second = (line["call"] for line in recording if "call" in line)
    # A call is settled after those before it, and the first has no end now.
    second |= {"outcome": first.pop("outcome"), "content": first.pop("content")}
    played = replayed(home, recording)
    assert played.code == 5
    assert "the run ended without the recorded call(s) t1.c2" in played.stderr

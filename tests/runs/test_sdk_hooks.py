"""Hooks of a session of `remit-sdk`: callbacks of the client and commands of settings, on every step."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home
from fakes.sdk import STREAM, options, run, sdk

client = pytest.importorskip("claude_agent_sdk", reason="the official client is part of the extra `dev`")

DONE = {"text": "Done."}
WRITE = {"calls": [{"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}]}
AGENT = {"calls": [{"tool": "task", "arguments": {"description": "look", "prompt": "LOOK"}}]}
READ = {"calls": [{"tool": "file_read", "arguments": {"filePath": "a.txt"}}]}


def callbacks(home: Home, model: str, answers: dict[str, Any], *events: str, **keys: Any) -> tuple[Any, list[Any]]:
    """The last result, and what callbacks were told, by the official client. answers: by event."""
    seen: list[Any] = []

    async def hook(given: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append(given)
        return answers.pop(given["hook_event_name"], {})

    async def talk() -> Any:
        hooks = {event: [client.HookMatcher(hooks=[hook])] for event in events}
        given = options(home, model, hooks=hooks, **keys)
        async with asyncio.timeout(60), client.ClaudeSDKClient(given) as connected:
            await connected.query("go")
            return [message async for message in connected.receive_response()]

    messages = asyncio.run(talk())
    return messages, seen


def test_agents_begin_and_end_and_call_with_their_names(home: Home) -> None:
    home.write("a.txt", "A\n")
    model = home.script(AGENT, DONE, agents=[{"when": "LOOK", "turns": [READ, {"text": "seen"}, {"text": "again"}]}])
    block = {"SubagentStop": {"decision": "block", "reason": "look again"}}
    events = ("SubagentStart", "PreToolUse", "SubagentStop")
    messages, seen = callbacks(home, model, block, *events, allowed_tools=["Agent"])
    assert messages[-1].result == "Done."
    told = [(each["hook_event_name"], each.get("tool_name"), each.get("agent_id")) for each in seen]
    assert told == [
        ("PreToolUse", "Agent", None),
        ("SubagentStart", None, "look"),
        ("PreToolUse", "Read", "look"),
        ("SubagentStop", None, "look"),
        ("SubagentStop", None, "look"),
    ]
    first, second = seen[3:]
    assert (first["stop_hook_active"], second["stop_hook_active"]) == (False, True)
    assert (first["last_assistant_message"], second["last_assistant_message"]) == ("seen", "again")
    assert Path(first["agent_transcript_path"]).name == "journal.jsonl" and first["agent_type"]


def test_an_agent_that_a_hook_refuses(home: Home) -> None:
    model = home.script(AGENT, DONE, agents=[{"when": "LOOK", "turns": [{"text": "seen"}]}])
    refusal = {"SubagentStart": {"decision": "block", "reason": "no agents today"}}
    messages, _ = callbacks(home, model, refusal, "SubagentStart", allowed_tools=["Agent"])
    blocks = [block for message in messages for block in getattr(message, "content", None) or ()]
    [told] = [block for block in blocks if isinstance(block, client.ToolResultBlock)]
    assert told.is_error and "no agents today" in str(told.content)


ECHO = {"calls": [{"tool": "shell", "arguments": {"command": "echo secret > b.txt; cat b.txt"}}]}


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {event: {"hookSpecificOutput": {"hookEventName": event, **fields}}}


def results(messages: list[Any]) -> list[Any]:
    blocks = [block for message in messages for block in getattr(message, "content", None) or ()]
    return [block for block in blocks if isinstance(block, client.ToolResultBlock)]


@pytest.mark.parametrize(
    "answer",
    [
        specific("PreToolUse", permissionDecision="bogus"),
        specific("PreToolUse", permissionDecision="defer"),
        {"PreToolUse": {"hookSpecificOutput": "x"}},
        {"PreToolUse": {"decision": "nope"}},
        {"PreToolUse": {"hookSpecificOutput": {"hookEventName": "Stop"}}},
    ],
)
def test_an_answer_that_makes_no_sense_refuses_the_call(home: Home, answer: dict[str, Any]) -> None:
    messages, _ = callbacks(home, home.script(ECHO, DONE), answer, "PreToolUse", allowed_tools=["Bash"])
    [told] = results(messages)
    assert told.is_error and "PreToolUse:Bash hook error: the hook failed: its answer" in str(told.content)
    assert not (home.work / "b.txt").exists() and messages[-1].result == "Done."


def test_what_stops_the_prompt_stops_it_before_the_call(home: Home) -> None:
    answer = {"PreToolUse": {"continue_": False, "stopReason": "enough for today"}}
    messages, _ = callbacks(home, home.script(ECHO, DONE), answer, "PreToolUse", allowed_tools=["Bash"])
    [told] = results(messages)
    assert told.is_error and "enough for today" in str(told.content) and not (home.work / "b.txt").exists()
    [said] = [each.data for each in messages if getattr(each, "subtype", "") == "informational"]
    assert said["content"] == "a hook ended the prompt: enough for today"
    end = messages[-1]
    assert (end.subtype, end.is_error, end.terminal_reason, end.result) == ("success", False, "hook_stopped", "")


def test_hooks_that_never_let_the_model_end_leave_its_last_text(home: Home) -> None:
    async def hook(given: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"decision": "block", "reason": "go on"}

    async def talk() -> Any:
        model = home.script(*({"text": f"say {number}"} for number in range(1, 23)))
        given = options(home, model, hooks={"Stop": [client.HookMatcher(hooks=[hook])]})
        async with asyncio.timeout(60), client.ClaudeSDKClient(given) as connected:
            await connected.query("go")
            return [message async for message in connected.receive_response()][-1]

    end = asyncio.run(talk())
    assert (end.subtype, end.terminal_reason, end.result) == ("success", "stop_hook_prevented", "say 21")


@pytest.mark.parametrize("ticked", [True, False])
def test_the_reason_of_a_hook_that_asks_is_told_to_who_is_asked(home: Home, ticked: bool) -> None:
    asked: list[Any] = []

    async def allow(tool: str, given: dict[str, Any], context: Any) -> Any:
        asked.append(context.decision_reason)
        return client.PermissionResultAllow()

    answer = specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="who knows")
    keys = {"can_use_tool": allow, "permission_mode": "acceptEdits" if ticked else "default"}
    callbacks(home, home.script(WRITE, DONE), answer, "PreToolUse", **keys)
    assert asked == ["who knows"] and (home.work / "a.txt").exists()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"stdout": "[gone]", "stderr": "", "interrupted": False}, ["[gone]"]),
        ("[gone]", ["[gone]"]),
        (
            {"output": "[gone]"},
            ["exit code 0\nsecret", "stays: what a hook puts in its place has not the shape of such results"],
        ),
    ],
)
def test_a_hook_puts_something_in_the_place_of_a_result(home: Home, value: Any, said: list[str]) -> None:
    answer = specific("PostToolUse", updatedToolOutput=value)
    messages, [seen] = callbacks(home, home.script(ECHO, DONE), answer, "PostToolUse", allowed_tools=["Bash"])
    assert seen["tool_response"]["stdout"].strip() == "secret" and seen["tool_response"]["interrupted"] is False
    [told] = results(messages)
    assert str(told.content).strip() == said[0]
    notices = [each.data["content"] for each in messages if getattr(each, "subtype", "") == "informational"]
    assert all(any(text in notice for notice in notices) for text in said[1:])


@pytest.mark.parametrize("call", [READ, WRITE, ECHO])
def test_hooks_are_told_of_a_result_as_its_line_tells_it(home: Home, call: dict[str, Any]) -> None:
    home.write("a.txt", "A\n")
    tools = ["Bash", "Write", "Read"]
    calls = [READ, WRITE] if call is WRITE else [call]
    messages, seen = callbacks(home, home.script(*calls, DONE), {}, "PostToolUse", allowed_tools=tools)
    lines = [each.tool_use_result for each in messages if getattr(each, "tool_use_result", None)]
    assert [each["tool_response"] for each in seen] == lines and lines


def test_people_hear_what_a_callback_says_and_that_it_was_heard(home: Home) -> None:
    answer = {"PreToolUse": {"systemMessage": "take care"}}
    messages, _ = callbacks(home, home.script(READ, DONE), answer, "PreToolUse", include_hook_events=True)
    told = [message for message in messages if "hook" in str(getattr(message, "subtype", ""))]
    assert [(each.subtype, each.data["hook_name"]) for each in told] == [
        ("hook_started", "PreToolUse:Read"),
        ("hook_response", "PreToolUse:Read"),
    ]
    assert told[0].data["hook_id"] == told[1].data["hook_id"] and told[1].data["outcome"] == "success"
    said = [each.data["content"] for each in messages if getattr(each, "subtype", "") == "informational"]
    assert said == ["take care"]


@pytest.mark.parametrize("matcher", ["Task", "Agent", "Task|Bash"])
def test_a_matcher_may_have_any_name_of_a_tool(home: Home, matcher: str) -> None:
    model = home.script(AGENT, DONE, agents=[{"when": "LOOK", "turns": [{"text": "seen"}]}])
    refusal = specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no agents")["PreToolUse"]

    async def hook(given: Any, tool_use_id: str | None, context: Any) -> Any:
        return refusal

    async def talk() -> Any:
        hooks = {"PreToolUse": [client.HookMatcher(matcher=matcher, hooks=[hook])]}
        given = options(home, model, hooks=hooks, allowed_tools=["Agent"])
        async with asyncio.timeout(60), client.ClaudeSDKClient(given) as connected:
            await connected.query("go")
            return [message async for message in connected.receive_response()]

    [told] = results(asyncio.run(talk()))
    assert told.is_error and "no agents" in str(told.content)
    settings = hooks(("PreToolUse", matcher, "echo no agents >&2; exit 2"))
    ran = run(home, "go", *STREAM, "--model", model, "--settings", settings, "--allowedTools", "Task")
    assert "no agents" in json.dumps([line for line in ran.events if line["type"] == "user"])


def test_somebody_is_asked_and_hooks_hear_of_it(home: Home) -> None:
    async def allow(tool: str, given: dict[str, Any], context: Any) -> Any:
        return client.PermissionResultAllow()

    _, [seen] = callbacks(home, home.script(WRITE, DONE), {}, "Notification", can_use_tool=allow)
    assert seen["message"] == "Claude needs your permission to use Write"
    assert seen["notification_type"] == "permission_prompt"


def hooks(*entries: tuple[str, str, str]) -> str:
    """`--settings` with hooks. entries: event, matcher and command."""
    told: dict[str, list[Any]] = {}
    for event, matcher, command in entries:
        told.setdefault(event, []).append({"matcher": matcher, "hooks": [{"type": "command", "command": command}]})
    return json.dumps({"hooks": told})


def teller(home: Home, answer: str = "") -> str:
    """A command that keeps what it is told, and prints an answer."""
    program = home.path / "tell.py"
    program.write_text(
        f"import sys\nopen({str(home.path / 'told')!r}, 'a').write(sys.stdin.read())\nprint({answer!r})\n"
    )
    return f"{sys.executable} {program}"


def told(home: Home) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home.path / "told").read_text().splitlines()]


def test_commands_of_settings_hear_of_every_step(home: Home) -> None:
    tell = teller(home)
    steps = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    settings = hooks(*((event, "Write" if "Tool" in event else "", tell) for event in steps))
    args = ("--settings", settings, "--permission-mode", "acceptEdits", "--include-hook-events")
    ran = run(home, "go", *STREAM, "--model", home.script(WRITE, READ, DONE), *args)
    assert (ran.code, ran.stderr) == (0, "")
    heard = told(home)
    assert [each["hook_event_name"] for each in heard] == list(steps)
    assert heard[0]["source"] == "startup"
    assert (heard[2]["tool_name"], heard[2]["tool_input"]["file_path"]) == ("Write", str(home.work / "a.txt"))
    lines = [line for line in ran.events if line.get("subtype") == "hook_response"]
    assert [line["hook_name"] for line in lines] == [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse:Write",
        "PostToolUse:Write",
        "Stop",
    ]
    assert ran.events[-1]["type"] == "result"


def test_a_command_changes_a_call_under_the_names_of_the_client(home: Home) -> None:
    changed = {"file_path": str(home.work / "b.txt"), "content": "B"}
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}}
    settings = hooks(("PreToolUse", "Write|Edit", teller(home, json.dumps(answer))))
    args = ("--settings", settings, "--permission-mode", "acceptEdits")
    ran = run(home, "go", *STREAM, "--model", home.script(WRITE, DONE), *args)
    assert ran.code == 0 and (home.work / "b.txt").read_text() == "B"
    assert not any("hook_" in str(line.get("subtype")) for line in ran.events)


def test_what_a_hook_says_of_the_session_goes_to_the_model(home: Home) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "it is Friday"}}
    settings = hooks(("SessionStart", "startup", teller(home, json.dumps(answer))))
    with sdk(home, "--model", home.script(DONE, DONE), "--settings", settings) as session:
        for text in ("one", "two"):
            session.say(text)
            session.until("result")
        assert session.end() == 0
    said = [line["message"]["content"][0]["text"] for line in session.seen if line.get("isSynthetic")]
    assert said == ["it is Friday"] and len(told(home)) == 1


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreToolUse"])
def test_a_command_that_fails_refuses_the_step(home: Home, event: str) -> None:
    args = ("--settings", hooks((event, "", "exit 7")), "--permission-mode", "acceptEdits")
    ran = run(home, "go", *STREAM, "--model", home.script(WRITE, DONE), *args)
    assert not (home.work / "a.txt").exists()
    assert ran.code == (0 if event == "PreToolUse" else 1)
    assert f"{event}" in json.dumps(ran.events) and "exit code 7" in json.dumps(ran.events)


def test_a_session_that_is_taken_up_again_is_told_so(home: Home) -> None:
    settings, script = hooks(("SessionStart", "resume", teller(home))), home.script(DONE, DONE)
    first = run(home, "go", *STREAM, "--model", script, "--settings", settings)
    run(home, "go", *STREAM, "--model", script, "--settings", settings, f"--resume={first.events[0]['session_id']}")
    assert [each["source"] for each in told(home)] == ["resume"]


def test_no_tool_writes_what_a_line_of_settings_runs(home: Home) -> None:
    home.write("a.txt", "exit 0\n")
    args = ("--settings", hooks(("Stop", "", "sh $CLAUDE_PROJECT_DIR/a.txt")), "--permission-mode", "acceptEdits")
    ran = run(home, "go", *STREAM, "--model", home.script(READ, WRITE, DONE), *args)
    assert ran.code == 0 and (home.work / "a.txt").read_text() == "exit 0\n"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ([], "hooks: expected an object of events"),
        ({"Stop": {}}, "hooks.Stop: expected a list of objects"),
        ({"Stop": [{}]}, "hooks.Stop[0]: expected a list of objects"),
        ({"Stop": [{"matcher": "(", "hooks": []}]}, "the matcher '(' is no pattern"),
        ({"Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}, "only hooks of type command"),
        ({"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 3601}]}]}, "timeout: expected seconds"),
    ],
)
def test_hooks_that_cannot_be_run_end_the_start(home: Home, given: Any, what: str) -> None:
    ran = run(home, "go", "--model", home.script(DONE), "--settings", json.dumps({"hooks": given}))
    assert ran.code == 1 and what in ran.stderr


def test_steps_that_never_come_are_told(home: Home) -> None:
    ran = run(home, "go", "--model", home.script(DONE), "--settings", hooks(("WorktreeCreate", "", "true")))
    assert ran.code == 0 and "hooks.WorktreeCreate has no effect" in ran.stderr
    with sdk(home, "--model", home.script(DONE)) as session:
        session.ask("initialize", hooks={"PermissionRequest": [{"hookCallbackIds": ["c"]}]})
        session.say("go")
        session.until("result")
        assert session.end() == 0
    [said] = [line["content"] for line in session.seen if line.get("kind") == "hooks"]
    assert said == "callbacks for PermissionRequest are never called: there is no such step here"


def test_the_end_of_a_session_is_told_to_a_client_that_has_closed_its_side(home: Home) -> None:
    """It is how clients end a session; no answer is waited for."""
    with sdk(home, "--model", home.script(DONE)) as session:
        session.ask("initialize", hooks={"SessionEnd": [{"hookCallbackIds": ["at-end"]}]})
        session.say("go")
        session.until("result")
        assert session.end() == 0
    request = session.seen[-1]["request"]
    assert (request["callback_id"], request["input"]["hook_event_name"]) == ("at-end", "SessionEnd")
    assert request["input"]["reason"] == "other"


def test_the_official_client_hears_of_the_end(home: Home) -> None:
    heard = []

    async def at_end(told: Any, tool_use_id: Any, context: Any) -> Any:
        heard.append(told["hook_event_name"])
        return {}

    async def go() -> list[Any]:
        made = options(home, home.script(DONE), hooks={"SessionEnd": [client.HookMatcher(hooks=[at_end])]})
        return [message async for message in client.query(prompt="go", options=made)]

    assert asyncio.run(go())[-1].result == "Done."
    assert heard == ["SessionEnd"]

"""Agents and work in the background as clients of `remit-sdk` see them."""

from __future__ import annotations

import json

from fakes.cli import Home
from fakes.sdk import run, sdk


def test_agents_are_told_under_their_calls_and_their_results_begin_turns(home: Home) -> None:
    home.write("a.txt", "hello\n")
    read = {"calls": [{"tool": "file_read", "arguments": {"filePath": "a.txt"}}]}
    waited = {"tool": "task", "arguments": {"description": "read it", "prompt": "FIRST"}}
    alone = {"tool": "task", "arguments": {"description": "read on", "prompt": "SECOND", "background": True}}
    model = home.script(
        {"calls": [waited, alone]},
        {"text": "I go on."},
        {"text": "That was it."},
        agents=[
            {"when": "FIRST", "turns": [read, {"text": "hello"}]},
            {"when": "SECOND", "turns": [{"text": "more", "delay": 1.0}]},
        ],
    )
    message = {"type": "user", "message": {"role": "user", "content": "go"}}
    formats = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
    args = ("--model", model, "--permission-mode", "bypassPermissions")
    ran = run(home, *formats, *args, stdin=json.dumps(message).encode() + b"\n", environ={"IS_SANDBOX": "1"})
    assert ran.code == 0, ran.stderr
    own = [event for event in ran.events if event.get("agent_id") == "read-it"]
    assert [event["type"] for event in own] == ["user", "assistant", "user", "assistant"]
    assert {event["parent_tool_use_id"] for event in own} == {"call_1_1"}
    assert own[1]["message"]["content"][0]["name"] == "Read"
    asked = [event["message"]["content"][0] for event in ran.events if event["type"] == "assistant"]
    calls = [block for block in asked if block["type"] == "tool_use" and block["name"] == "Agent"]
    assert [block["input"].get("run_in_background") for block in calls] == [None, True]
    first, second = (event for event in ran.events if event["type"] == "result")
    assert "origin" not in first
    # The lines of agents are no turns of the main one.
    assert (first["result"], first["num_turns"]) == ("I go on.", 3)
    assert (second["result"], second["origin"]) == ("That was it.", {"kind": "task-notification"})
    kinds = {event.get("subtype") for event in ran.events}
    assert {"task_started", "task_progress", "task_updated", "task_notification", "background_tasks_changed"} <= kinds


def test_agents_ask_the_model_that_the_client_changed_to(home: Home) -> None:
    order = {"tool": "task", "arguments": {"description": "read it", "prompt": "FIRST"}}
    other = home.script(
        {"text": "unused"},
        {"calls": [order]},
        {"text": "other"},
        agents=[{"when": "FIRST", "turns": [{"text": "by the other"}]}],
        name="other.yaml",
    )
    bypass = ("--permission-mode", "bypassPermissions")
    with sdk(home, "--model", home.script({"text": "one"}), *bypass, environ={"IS_SANDBOX": "1"}) as session:
        session.say("go")
        session.until("result")
        session.ask("set_model", model=other)
        session.say("go")
        assert session.until("result")["result"] == "other"
        assert session.end() == 0
    own = [event for event in session.seen if event.get("agent_id") == "read-it" and event["type"] == "assistant"]
    assert [event["message"]["content"] for event in own] == [[{"type": "text", "text": "by the other"}]]

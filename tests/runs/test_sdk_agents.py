"""Agents and work in the background as clients of `remit-sdk` see them."""

from __future__ import annotations

import json

import pytest

from fakes.cli import Home
from fakes.driving import Driven
from fakes.model_server import ModelServer, calls, text
from fakes.sdk import STREAM, run, sdk


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


AGENTS = {
    "helper": {"description": "Reads files.", "prompt": "You are HELPER.", "tools": ["Read", "Glob", "Nope"]},
    "all": {"description": "Does all.", "prompt": "You are ALL.", "model": "inherit", "disallowedTools": ["Bash"]},
    "poor": {"description": "No prompt."},
    "builtin": {"description": "x", "prompt": "y"},
    "more": {"description": "x", "prompt": "y", "maxTurns": 3, "model": "no/where"},
}
PROVIDERS = """\
version = 1
[mine]
protocol = "openai"
base_url = "URL"
purposes = { best = "big", fast = "small" }
[[mine.models]]
id = "main"
[[mine.models]]
id = "big"
[[mine.models]]
id = "small"
"""


def sent(home: Home, agents: object, kind: str, *, flag: bool = False) -> tuple[Driven, ModelServer]:
    """A session whose model sends an agent of that kind."""
    order = {"description": "help", "prompt": "Look.", "subagent_type": kind}
    with ModelServer([calls(("call_1", "Agent", json.dumps(order))), text("seen"), text("done")]) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        given = ("--agents", json.dumps(agents)) if flag else ()
        bypass = ("--permission-mode", "bypassPermissions")
        with sdk(home, "--model", "mine/main", *bypass, *given, environ={"IS_SANDBOX": "1"}) as session:
            if not flag:
                session.ask("initialize", agents=agents)
                session.until("control_response")
            session.say("go")
            result = session.until("result")
            assert result.get("result") == "done", result
            assert session.end() == 0
    return session, server


def offered(server: ModelServer, number: int) -> set[str]:
    return {tool["function"]["name"] for tool in server.requests[number].body.get("tools", ())}


@pytest.mark.parametrize("flag", [False, True])
def test_agents_that_a_client_defines(home: Home, flag: bool) -> None:
    session, server = sent(home, AGENTS, "helper", flag=flag)
    main, agent, _ = server.requests
    assert "You are HELPER." in main.body["messages"][0]["content"] + agent.body["messages"][0]["content"]
    assert "You are HELPER." in agent.body["messages"][0]["content"]
    assert "Reads files." in json.dumps(main.body["tools"])
    assert {"file_read", "file_glob"} <= offered(server, 1)
    assert not {"shell", "file_write", "file_edit", "file_grep", "webfetch"} & offered(server, 1)
    told = [line["content"] for line in session.seen if line.get("subtype") == "informational"]
    where = "--agents" if flag else "agents of initialize"
    assert [line.removeprefix(f"{where}: agent ") for line in told] == [
        "'helper': tools: there is no 'Nope' for agents",
        "'poor' is left out: prompt: expected a text",
        "'builtin' is left out: the name is that of agents that have no other",
        "'more': maxTurns: that has no effect here",
    ]
    assert next(line["agents"] for line in session.seen if line.get("subtype") == "init") == ["helper", "all", "more"]


def test_an_agent_without_a_list_has_the_tools_of_the_session_but_those_that_are_gone(home: Home) -> None:
    _, server = sent(home, AGENTS, "all")
    assert "shell" in offered(server, 0) and "shell" not in offered(server, 1)
    assert {"file_read", "file_grep", "file_write"} <= offered(server, 1)


@pytest.mark.parametrize(
    ("model", "asked"),
    [("opus", "big"), ("haiku", "small"), ("sonnet", "main"), ("inherit", "main"), ("mine/big", "big")],
)
def test_models_of_agents(home: Home, model: str, asked: str) -> None:
    _, server = sent(home, {"one": {"description": "x", "prompt": "y", "model": model}}, "one")
    assert [request.body["model"] for request in server.requests] == ["main", asked, "main"]


@pytest.mark.parametrize("agents", [[], "x", {"one": 3}, {"one": {"description": "x", "prompt": "y", "tools": "Read"}}])
def test_agents_that_make_no_sense_are_told(home: Home, agents: object) -> None:
    ran = run(home, "go", "--output-format", "stream-json", "--verbose", "--model", home.script({"text": "fine"}),
              "--agents", json.dumps(agents))  # fmt: skip
    assert ran.events[-1]["result"] == "fine"
    told = [line["content"] for line in ran.events if line.get("subtype") == "informational"]
    assert len(told) == 1 and told[0].startswith("--agents: ")


@pytest.mark.parametrize("name", ["Task", "Agent", "task"])
def test_rules_for_agents_hold_under_every_name(home: Home, name: str) -> None:
    order = {"tool": "task", "arguments": {"description": "look", "prompt": "LOOK"}}
    turns = ({"calls": [order]}, {"text": "done"})
    script = home.script(*turns, agents=[{"when": "LOOK", "turns": [{"text": "seen"}]}])

    def ran(*args: str) -> tuple[bool, bool]:
        """Whether the tool is listed, and whether an agent was sent."""
        lines = run(home, "go", *STREAM, "--model", script, *args).events
        return "Task" in lines[0]["tools"], any(line.get("agent_id") for line in lines)

    deny = json.dumps({"permissions": {"allow": ["Task"], "deny": [name]}})
    assert ran("--allowedTools", name) == (True, True)
    assert ran("--disallowedTools", name, "--allowedTools", "Agent") == (False, False)
    assert ran("--settings", deny)[1] is False

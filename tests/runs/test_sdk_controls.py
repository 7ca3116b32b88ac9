"""Requests that clients of `remit-sdk` send between their messages: each has an answer, or a reason why not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fakes.cli import Home
from fakes.driving import Driven
from fakes.sdk import options, sdk
from remit.wiring.sdk_answers import REFUSED

client = pytest.importorskip("claude_agent_sdk", reason="the official client is part of the extra `dev`")

DONE = {"text": "Done."}


def answer(session: Driven, subtype: str, **fields: Any) -> dict[str, Any]:
    session.ask(subtype, **fields)
    response: dict[str, Any] = session.until("control_response")["response"]
    return response


@pytest.mark.parametrize("subtype", sorted(REFUSED))
def test_what_is_not_served_is_refused_with_a_reason(home: Home, subtype: str) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        response = answer(session, subtype)
        assert session.end() == 0
    assert (response["subtype"], response["error"]) == ("error", REFUSED[subtype])


def test_what_there_is_to_choose_from(home: Home) -> None:
    with sdk(home, "--model", home.script(DONE), environ={"ANTHROPIC_API_KEY": "k"}) as session:
        told = answer(session, "initialize")["response"]
        assert told["account"] == {"apiKeySource": "ANTHROPIC_API_KEY"}
        assert (told["commands"], told["agents"]) == ([], [])
        assert [each["value"] for each in told["models"]] == ["default", "sonnet", "opus", "haiku"]
        assert answer(session, "list_models")["response"] == {"models": told["models"]}
        assert answer(session, "get_binary_version")["response"] == {"version": told["claude_code_version"]}
        assert session.end() == 0


def test_a_plan_is_carried_out_on_request(home: Home) -> None:
    plan = {"calls": [{"tool": "plan", "arguments": {"action": "write", "content": "# Do it\n"}}]}
    script = home.script(plan, DONE, {"text": "It is done."})
    args = ("--tools", "plan,Write", "--permission-mode", "plan")
    with sdk(home, "--model", script, *args) as session:
        assert "has no plan" in answer(session, "implement")["error"]
        session.say("plan it")
        session.until("result")
        refused = answer(session, "implement", clear=True)
        assert "--implement" in refused["error"] and "--clear" in refused["error"]
        session.ask("implement")
        assert session.until("control_response")["response"]["subtype"] == "success"
        assert session.until("result")["result"] == "It is done."
        assert session.end() == 0
    modes = [line["permissionMode"] for line in session.seen if line.get("subtype") == "init"]
    assert modes == ["plan", "default"]


def test_work_that_is_waited_for_goes_to_the_background(home: Home) -> None:
    waited = {"calls": [{"tool": "task", "arguments": {"description": "wait", "prompt": "WAIT"}}]}
    slow = {"when": "WAIT", "turns": [{"text": "late", "delay": 20.0}]}
    script = home.script(waited, {"text": "I go on."}, DONE, agents=[slow])
    with sdk(home, "--model", script, "--allowedTools", "Agent") as session:
        session.say("go")
        started = session.until(lambda line: line.get("subtype") == "task_started")
        assert answer(session, "background_tasks", tool_use_id="nobody")["response"] == {"backgrounded": False}
        named = started["tool_use_id"]
        assert answer(session, "background_tasks", tool_use_id=named)["response"] == {"backgrounded": True}
        assert answer(session, "background_tasks")["response"] == {"backgrounded": False}
        assert session.until("result")["result"] == "I go on."
        assert "nobody" in answer(session, "stop_task", task_id="nobody")["error"]
        session.ask("stop_task", task_id=started["task_id"])
        stopped = session.until(lambda line: line.get("subtype") == "task_notification")
        assert (stopped["task_id"], stopped["status"]) == (started["task_id"], "stopped")
        session.close()
        session.process.wait(20)


def test_how_much_to_think_stays_where_it_is_not_named(home: Home) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        assert answer(session, "set_max_thinking_tokens", thinking_display="omitted")["subtype"] == "success"
        assert session.end() == 0


def test_a_second_initialize_names_the_callbacks_anew(home: Home) -> None:
    def hooks(callback: str) -> dict[str, Any]:
        return {"UserPromptSubmit": [{"matcher": None, "hookCallbackIds": [callback]}]}

    with sdk(home, "--model", home.script(DONE, DONE, DONE)) as session:
        asked = []
        for callback in ("", "one", "two"):
            answer(session, "initialize", hooks=hooks(callback) if callback else None)
            session.say("go")
            line = session.until(lambda line: line["type"] in ("control_request", "result"))
            if line["type"] == "control_request":
                asked.append(line["request"]["callback_id"])
                session.reply(line)
                session.until("result")
        assert session.end() == 0
    assert asked == ["one", "two"]


def test_every_method_of_the_official_client_is_answered(home: Home) -> None:
    async def talk() -> dict[str, Any]:
        told: dict[str, Any] = {}
        async with client.ClaudeSDKClient(options(home, home.script(DONE))) as connected:
            await connected.query("go")
            async for _ in connected.receive_response():
                pass
            told["info"] = await connected.get_server_info()
            told["mcp"] = await connected.get_mcp_status()
            told["usage"] = await connected.get_context_usage()
            await connected.set_permission_mode("acceptEdits")
            await connected.set_model(None)
            for name, wanted in (
                ("stop", connected.stop_task("nobody")),
                ("rewind_files", connected.rewind_files("u-1")),
                ("reconnect", connected.reconnect_mcp_server("x")),
                ("toggle", connected.toggle_mcp_server("x", False)),
            ):
                with pytest.raises(Exception) as problem:  # the class is the client's
                    await wanted
                told[name] = str(problem.value)
        return told

    async def within() -> dict[str, Any]:
        async with asyncio.timeout(60):
            return await talk()

    told = asyncio.run(within())
    assert told["info"]["models"][0]["value"] == "default"
    assert told["mcp"] == {"mcpServers": []}
    assert "nobody" in told["stop"]
    assert told["rewind_files"].startswith("File rewinding is not enabled. remit does not support it")
    assert told["reconnect"] == told["toggle"] == "Server not found: x"


def test_wishes_that_change_nothing_are_told(home: Home) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        answer(session, "initialize", skills=["one"], toolAliases={})
        session.say("go")
        session.until("result")
        assert session.end() == 0
    [told] = [line["content"] for line in session.seen if line.get("subtype") == "informational"]
    assert told == "skills of initialize: that has no effect here"


@pytest.mark.parametrize("usage", [{}, {"usage": {"input": 7, "output": 3}}, {"usage": {"input": 90_000, "output": 9}}])
def test_what_the_window_holds_adds_up(home: Home, usage: dict[str, Any]) -> None:
    """Whatever the server tells of usage: messages are counted, and more of them count for more."""
    words = {"text": "many words " * 400}
    with sdk(home, "--model", home.script({**DONE, **usage}, {**words, **usage})) as session:
        seen = []
        for _ in range(2):
            session.say("hello")
            session.until("result")
            told = answer(session, "get_context_usage")["response"]
            assert sum(each["tokens"] for each in told["categories"]) == told["totalTokens"] > 0
            seen.append({each["name"]: each["tokens"] / told["totalTokens"] for each in told["categories"]})
        assert session.end() == 0
    assert 0 < seen[0]["Messages"] < seen[1]["Messages"]


def test_a_task_that_is_not_there_cannot_be_stopped(home: Home) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        before = answer(session, "stop_task", task_id="t")
        session.say("hello")
        session.until("result")
        after = answer(session, "stop_task", task_id="t")
        assert session.end() == 0
    assert [each["subtype"] for each in (before, after)] == ["error", "error"]
    assert "no task 't'" in before["error"] and "no task 't'" in after["error"]


def test_that_no_file_is_read_for_a_client_is_told_once(home: Home) -> None:
    """Its method takes the error for a file that is not there."""
    with sdk(home, "--model", home.script(DONE)) as session:
        session.say("go")
        session.until("result")
        for _ in range(2):
            assert answer(session, "read_file", path="a.txt")["subtype"] == "error"
        assert session.end() == 0
    assert sum("read_file" in line.get("content", "") for line in session.seen) == 1

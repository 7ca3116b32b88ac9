"""Plan mode for clients of `remit-sdk`: a plan is handed in, and the client approves it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fakes.cli import Home
from fakes.driving import Driven
from fakes.sdk import options, sdk

client = pytest.importorskip("claude_agent_sdk", reason="the official client is part of the extra `dev`")

PLAN = "# The plan\n\nWrite a.txt.\n"
HAND_IN = {"calls": [{"tool": "plan", "arguments": {"action": "write", "content": PLAN}}]}
THEIRS = {"calls": [{"tool": "ExitPlanMode", "arguments": {"plan": PLAN}}]}
LOOK = {"calls": [{"tool": "plan", "arguments": {"action": "read"}}]}
WRITE = {"calls": [{"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}]}
DONE = {"text": "Done."}
ASKED = ("--permission-prompt-tool", "stdio", "--permission-mode", "plan")


def called(session: Driven) -> list[dict[str, Any]]:
    blocks = [block for line in session.seen if line["type"] == "assistant" for block in line["message"]["content"]]
    return [{"name": block["name"], "input": block["input"]} for block in blocks if block["type"] == "tool_use"]


def result(session: Driven) -> dict[str, Any]:
    line = session.until(lambda line: line["type"] == "user" and not line.get("isSynthetic"))
    block: dict[str, Any] = line["message"]["content"][0]
    return block


def modes(session: Driven) -> list[str]:
    return [line["permissionMode"] for line in session.seen if line.get("permissionMode")]


@pytest.mark.parametrize("said", [HAND_IN, THEIRS])
def test_a_plan_that_is_approved_ends_plan_mode(home: Home, said: dict[str, Any]) -> None:
    args = ("--allowedTools", "Write", "--model", home.script(WRITE, said, WRITE, DONE))
    with sdk(home, *ASKED, *args) as session:
        session.say("plan it")
        assert result(session)["is_error"]
        request = session.until("control_request")
        asked = request["request"]
        assert (asked["subtype"], asked["tool_name"]) == ("can_use_tool", "ExitPlanMode")
        assert asked["input"] == {"plan": PLAN} and asked["requires_user_interaction"]
        session.reply(request, behavior="allow", updatedInput=asked["input"])
        assert "The plan is kept" in result(session)["content"]
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0
    assert {"name": "ExitPlanMode", "input": {"plan": PLAN}} in called(session)
    assert modes(session) == ["plan", "default"]
    assert (home.work / "a.txt").read_text() == "A"


def test_a_plan_that_is_refused_leaves_the_session_planning(home: Home) -> None:
    args = ("--allowedTools", "Write", "--model", home.script(HAND_IN, WRITE, DONE))
    with sdk(home, *ASKED, *args) as session:
        session.say("plan it")
        session.reply(session.until("control_request"), behavior="deny", message="Think of tests first.")
        assert result(session) | {"tool_use_id": ""} == {
            "type": "tool_result",
            "tool_use_id": "",
            "content": "Think of tests first.",
            "is_error": True,
        }
        told = session.until("result")
        assert session.end() == 0
    assert told["permission_denials"][0]["tool_name"] == "ExitPlanMode"
    assert modes(session) == ["plan"]
    assert not (home.work / "a.txt").exists()


def test_the_client_says_what_comes_after_the_plan(home: Home) -> None:
    with sdk(home, *ASKED, "--model", home.script(HAND_IN, WRITE, LOOK, DONE)) as session:
        session.say("plan it")
        mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        edited = {"plan": "# Another"}
        session.reply(
            session.until("control_request"), behavior="allow", updatedInput=edited, updatedPermissions=[mode]
        )
        session.until("result")
        assert session.end() == 0
    assert modes(session) == ["plan", "acceptEdits"]
    assert (home.work / "a.txt").exists()
    # To look at the plan is another thing: it is shown as what it is, and asks nobody.
    assert called(session)[-1] == {"name": "plan", "input": {"action": "read"}}
    results = [line["message"]["content"][0].get("content") for line in session.seen if line["type"] == "user"]
    assert "# Another" in results


def test_without_a_client_that_answers_a_plan_is_kept(home: Home) -> None:
    with sdk(home, "--permission-mode", "plan", "--model", home.script(HAND_IN, DONE)) as session:
        session.say("plan it")
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0
    assert called(session) == [{"name": "ExitPlanMode", "input": {"plan": PLAN}}]
    assert modes(session) == ["plan"]


def test_the_official_client_is_asked(home: Home) -> None:
    asked = []

    async def may(name: str, given: dict[str, Any], context: Any) -> Any:
        asked.append((name, given))
        return client.PermissionResultAllow()

    async def go() -> Any:
        made = options(home, home.script(HAND_IN, WRITE, DONE), permission_mode="plan", can_use_tool=may)
        async with client.ClaudeSDKClient(made) as connected:
            await connected.query("plan it")
            return [message async for message in connected.receive_response()][-1]

    assert asyncio.run(go()).result == "Done."
    assert [name for name, _ in asked] == ["ExitPlanMode", "Write"] and asked[0][1] == {"plan": PLAN}
    assert (home.work / "a.txt").exists()

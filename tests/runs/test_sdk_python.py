"""The official Python client drives `remit-sdk` as it drives the program it was made for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest

from fakes.cli import Home
from fakes.sdk import options

sdk = pytest.importorskip("claude_agent_sdk", reason="the official client is part of the extra `dev`")

DONE = {"text": "Done."}
LIMIT = 60


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments}]}


WRITE = call("file_write", filePath="a.txt", content="A")


def go(work: Coroutine[Any, Any, Any]) -> Any:
    async def within() -> Any:
        async with asyncio.timeout(LIMIT):
            return await work

    return asyncio.run(within())


async def ask(prompt: Any, given: Any) -> list[Any]:
    return [message async for message in sdk.query(prompt=prompt, options=given)]


async def one(text: str) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, "session_id": "x"}


def blocks(messages: list[Any], kind: type) -> list[Any]:
    contents = (message.content for message in messages if isinstance(getattr(message, "content", None), list))
    return [block for content in contents for block in content if isinstance(block, kind)]


def result(messages: list[Any]) -> Any:
    assert isinstance(messages[-1], sdk.ResultMessage), messages
    return messages[-1]


async def collected(client: Any) -> list[Any]:
    return [message async for message in client.receive_response()]


def test_a_question_and_its_answer(home: Home) -> None:
    home.write("a.txt", "hello\n")
    script = home.script(call("file_read", filePath="a.txt"), {"text": "It says hello."})
    messages = go(ask("what is in a.txt?", options(home, script)))
    assert messages[0].subtype == "init"
    assert messages[0].data["tools"][:3] == ["Read", "Write", "Edit"]
    [used] = blocks(messages, sdk.ToolUseBlock)
    assert (used.name, used.input) == ("Read", {"file_path": str(home.work / "a.txt")})
    [told] = blocks(messages, sdk.ToolResultBlock)
    assert "hello" in told.content and not told.is_error
    last = result(messages)
    assert (last.subtype, last.is_error, last.result, last.num_turns) == ("success", False, "It says hello.", 2)


def test_a_client_of_several_turns(home: Home) -> None:
    async def talk() -> list[str]:
        async with sdk.ClaudeSDKClient(options(home, home.script({"text": "one"}, {"text": "two"}))) as client:
            answers = []
            for text in ("first", "second"):
                await client.query(text)
                answers.append(result(await collected(client)).result)
            return answers

    assert go(talk()) == ["one", "two"]


Verdict = Callable[[str, dict[str, Any], Any], Awaitable[Any]]


def permitted(home: Home, verdict: Verdict) -> list[Any]:
    return go(ask(one("write"), options(home, home.script(WRITE, DONE), can_use_tool=verdict)))


def test_a_permission_that_is_given(home: Home) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def allow(tool: str, given: dict[str, Any], context: Any) -> Any:
        seen.append((tool, given))
        return sdk.PermissionResultAllow()

    messages = permitted(home, allow)
    assert seen == [("Write", {"file_path": str(home.work / "a.txt"), "content": "A"})]
    assert (home.work / "a.txt").read_text() == "A"
    assert result(messages).permission_denials == []


def test_a_permission_that_is_refused(home: Home) -> None:
    async def deny(tool: str, given: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultDeny(message="not here")

    messages = permitted(home, deny)
    [told] = blocks(messages, sdk.ToolResultBlock)
    assert (told.content, told.is_error) == ("not here", True)
    [denial] = result(messages).permission_denials
    assert (denial["tool_name"], denial["tool_input"]["content"]) == ("Write", "A")
    assert not (home.work / "a.txt").exists()


def test_a_permission_for_another_input(home: Home) -> None:
    async def change(tool: str, given: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultAllow(updated_input={**given, "file_path": str(home.work / "b.txt")})

    permitted(home, change)
    assert not (home.work / "a.txt").exists() and (home.work / "b.txt").read_text() == "A"


def test_a_refusal_that_interrupts(home: Home) -> None:
    async def deny(tool: str, given: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultDeny(message="stop", interrupt=True)

    async def talk() -> list[Any]:
        given = options(home, home.script(WRITE, DONE), can_use_tool=deny)
        async with sdk.ClaudeSDKClient(given) as client:
            await client.query("write")
            return await collected(client)

    last = result(go(talk()))
    assert (last.subtype, last.is_error) == ("error_during_execution", True)


def test_rules_that_come_with_a_permission(home: Home) -> None:
    asked: list[str] = []

    async def allow(tool: str, given: dict[str, Any], context: Any) -> Any:
        asked.append(given["content"])
        rule = sdk.PermissionUpdate(
            type="addRules",
            rules=[sdk.types.PermissionRuleValue(tool_name="Write", rule_content=None)],
            behavior="allow",
            destination="session",
        )
        return sdk.PermissionResultAllow(updated_permissions=[rule])

    second = call("file_write", filePath="b.txt", content="B")
    go(ask(one("write"), options(home, home.script(WRITE, second, DONE), can_use_tool=allow)))
    assert asked == ["A"]
    assert (home.work / "b.txt").read_text() == "B"


@pytest.mark.parametrize(
    ("mode", "written"), [("default", False), ("acceptEdits", True), ("plan", False), ("dontAsk", False)]
)
def test_permission_modes(home: Home, mode: Any, written: bool) -> None:
    messages = go(ask("write", options(home, home.script(WRITE, DONE), permission_mode=mode)))
    assert (home.work / "a.txt").exists() is written
    assert len(result(messages).permission_denials) == (not written)
    assert messages[0].data["permissionMode"] == mode


def test_a_mode_that_is_set_on_the_way(home: Home) -> None:
    async def talk() -> list[Any]:
        second = call("file_write", filePath="b.txt", content="B")
        async with sdk.ClaudeSDKClient(options(home, home.script(WRITE, DONE, second, DONE))) as client:
            await client.query("write")
            await collected(client)
            await client.set_permission_mode("acceptEdits")
            await client.query("write")
            return await collected(client)

    go(talk())
    assert not (home.work / "a.txt").exists() and (home.work / "b.txt").exists()


def test_an_interrupt(home: Home) -> None:
    async def talk() -> tuple[Any, Any]:
        sleep = call("shell", command="sleep 60")
        given = options(home, home.script(sleep, {"text": "still here"}), allowed_tools=["Bash"])
        async with sdk.ClaudeSDKClient(given) as client:
            await client.query("sleep")
            async for message in client.receive_messages():
                if isinstance(message, sdk.AssistantMessage):
                    break
            await client.interrupt()
            stopped = result(await collected(client))
            await client.query("and now")
            return stopped, result(await collected(client))

    stopped, after = go(talk())
    assert (stopped.subtype, stopped.is_error) == ("error_during_execution", True)
    assert after.result == "still here"


def test_too_many_turns(home: Home) -> None:
    home.write("a.txt", "A\n")
    script = home.script(call("file_read", filePath="a.txt"), DONE)
    messages: list[Any] = []

    async def talk() -> None:
        async for message in sdk.query(prompt="read", options=options(home, script, max_turns=1)):
            messages.append(message)

    with pytest.raises(Exception, match="maximum number of turns"):
        go(talk())
    last = result(messages)
    assert (last.subtype, last.errors) == ("error_max_turns", ["Reached maximum number of turns (1)"])


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_structured_output(home: Home) -> None:
    script = home.script(call("structured_output", n="x"), call("structured_output", n=3))
    given = options(home, script, output_format={"type": "json_schema", "schema": SCHEMA})
    messages = go(ask("count", given))
    last = result(messages)
    assert (last.structured_output, last.result, last.num_turns) == ({"n": 3}, '{"n":3}', 3)
    refused, _ = blocks(messages, sdk.ToolResultBlock)
    assert refused.content.startswith("Output does not match required schema: /n")
    assert {block.name for block in blocks(messages, sdk.ToolUseBlock)} == {"StructuredOutput"}


def test_a_session_is_taken_up_again_and_forked(home: Home) -> None:
    script = home.script(*[{"text": text} for text in ("one", "two", "three", "four")])
    first = result(go(ask("first", options(home, script))))
    second = result(go(ask("second", options(home, script, resume=first.session_id))))
    assert (second.session_id, second.result) == (first.session_id, "two")
    forked = result(go(ask("third", options(home, script, resume=first.session_id, fork_session=True))))
    assert forked.session_id != first.session_id and forked.result == "three"
    third = result(go(ask("third", options(home, script, continue_conversation=True))))
    assert (third.session_id, third.result) == (forked.session_id, "four")


def test_a_session_that_is_not_there(home: Home) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(Exception, match="No conversation found"):
        go(ask("go on", options(home, home.script(DONE), resume=unknown)))


def test_a_model_that_cannot_be_used(home: Home) -> None:
    script = home.script({"error": {"kind": "auth", "message": "bad key"}})
    messages: list[Any] = []

    async def talk() -> None:
        async for message in sdk.query(prompt="go", options=options(home, script)):
            messages.append(message)

    with pytest.raises(Exception, match="bad key"):
        go(talk())
    answer = next(message for message in messages if isinstance(message, sdk.AssistantMessage))
    assert (answer.error, answer.model) == ("authentication_failed", "<synthetic>")
    assert result(messages).is_error


def hooked(home: Home, event: str, answer: dict[str, Any], *turns: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    seen: list[Any] = []

    async def hook(given: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append(given)
        return answer if len(seen) == 1 else {}

    async def talk() -> list[Any]:
        given = options(
            home,
            home.script(*turns),
            hooks={event: [sdk.HookMatcher(matcher="Write" if "Tool" in event else None, hooks=[hook])]},
            allowed_tools=["Write"],
        )
        async with sdk.ClaudeSDKClient(given) as client:
            await client.query("write")
            return await collected(client)

    return go(talk()), seen


def test_a_hook_refuses_a_call(home: Home) -> None:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}
    messages, [seen] = hooked(home, "PreToolUse", {"hookSpecificOutput": said}, WRITE, DONE)
    [told] = blocks(messages, sdk.ToolResultBlock)
    assert told.content == "PreToolUse:Write hook error: no" and told.is_error
    assert (seen["hook_event_name"], seen["tool_name"]) == ("PreToolUse", "Write")
    assert seen["tool_input"]["content"] == "A"
    assert not (home.work / "a.txt").exists()


def test_a_hook_changes_a_call(home: Home) -> None:
    changed = {"file_path": str(home.work / "b.txt"), "content": "B"}
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": changed}
    hooked(home, "PreToolUse", {"hookSpecificOutput": said}, WRITE, DONE)
    assert not (home.work / "a.txt").exists() and (home.work / "b.txt").read_text() == "B"


def test_a_hook_adds_to_a_result_and_to_a_prompt(home: Home) -> None:
    for event in ("PostToolUse", "UserPromptSubmit"):
        said = {"hookEventName": event, "additionalContext": f"context of {event}"}
        messages, [seen] = hooked(home, event, {"hookSpecificOutput": said}, WRITE, DONE)
        told = [block.text for block in blocks(messages, sdk.TextBlock)]
        assert f"context of {event}" in told
        assert seen["hook_event_name"] == event
        (home.work / "a.txt").unlink()


def test_a_hook_has_the_model_go_on(home: Home) -> None:
    messages, seen = hooked(home, "Stop", {"decision": "block", "reason": "not yet"}, {"text": "one"}, {"text": "two"})
    assert result(messages).result == "two"
    assert [each["stop_hook_active"] for each in seen] == [False, True]
    assert seen[0]["last_assistant_message"] == "one"


def test_a_hook_ends_the_prompt(home: Home) -> None:
    messages, _ = hooked(home, "PostToolUse", {"continue_": False, "stopReason": "enough"}, WRITE, DONE)
    last = result(messages)
    assert (last.subtype, last.is_error, last.result) == ("success", False, "")


def test_a_hook_withholds_a_prompt(home: Home) -> None:
    messages, _ = hooked(home, "UserPromptSubmit", {"decision": "block", "reason": "no such talk"}, DONE)
    assert not blocks(messages, sdk.ToolUseBlock)
    assert result(messages).is_error


def test_tools_that_live_in_the_client(home: Home) -> None:
    @sdk.tool("add", "Add two numbers", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    @sdk.tool("fail", "Fail", {})
    async def fail(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "it broke"}], "is_error": True}

    server = sdk.create_sdk_mcp_server("demo", tools=[add, fail])
    script = home.script(
        call("mcp__demo__add", a=2, b=3),
        call("mcp__demo__add", a="two", b=3),
        call("mcp__demo__fail"),
        DONE,
    )
    given = options(home, script, mcp_servers={"demo": server}, allowed_tools=["mcp__demo"])
    messages = go(ask(one("add"), given))
    init = next(message for message in messages if getattr(message, "subtype", "") == "init")
    assert init.data["mcp_servers"] == [{"name": "demo", "status": "connected", "source": "sdk"}]
    assert {"mcp__demo__add", "mcp__demo__fail"} <= set(init.data["tools"])
    right, wrong, failed = blocks(messages, sdk.ToolResultBlock)
    assert right.content == [{"type": "text", "text": "5"}]
    assert wrong.is_error and "/a" in wrong.content
    assert failed.is_error and failed.content == "it broke"


def test_a_tool_of_the_client_is_asked_for(home: Home) -> None:
    @sdk.tool("add", "Add", {"a": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("nobody allowed this")

    server = sdk.create_sdk_mcp_server("demo", tools=[add])
    given = options(home, home.script(call("mcp__demo__add", a=1), DONE), mcp_servers={"demo": server})
    [denial] = result(go(ask(one("add"), given))).permission_denials
    assert denial["tool_name"] == "mcp__demo__add"


def test_an_answer_as_it_comes(home: Home) -> None:
    given = options(home, home.script(WRITE, DONE), include_partial_messages=True, allowed_tools=["Write"])
    messages = go(ask("write", given))
    events = [message.event for message in messages if isinstance(message, sdk.StreamEvent)]
    kinds = [event["type"] for event in events]
    assert kinds.count("message_start") == kinds.count("message_stop") == 2
    text = "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
    assert text == "Done."
    [started] = [event for event in events if event.get("content_block", {}).get("type") == "tool_use"]
    assert started["content_block"]["name"] == "Write"


def test_the_system_prompt_reaches_the_model(home: Home) -> None:
    given = options(home, home.script(DONE), system_prompt={"type": "preset", "preset": "claude_code", "append": "Hi"})
    assert result(go(ask("go", given))).result == "Done."


def test_no_structured_output_is_a_failure(home: Home) -> None:
    given = options(home, home.script(DONE, DONE, DONE), output_format={"type": "json_schema", "schema": SCHEMA})

    async def talk() -> list[Any]:
        async with sdk.ClaudeSDKClient(given) as client:
            await client.query("count")
            return await collected(client)

    last = result(go(talk()))
    assert (last.subtype, last.is_error) == ("error_max_structured_output_retries", True)
    assert last.structured_output is None and last.errors == ["no structured output was given"]


def test_servers_and_usage_on_request(home: Home) -> None:
    async def talk() -> tuple[Any, Any]:
        async with sdk.ClaudeSDKClient(options(home, home.script(DONE))) as client:
            await client.query("go")
            await collected(client)
            return await client.get_mcp_status(), await client.get_context_usage()

    servers, usage = go(talk())
    assert servers == {"mcpServers": []}
    parts = {each["name"]: each["tokens"] for each in usage["categories"]}
    assert parts["Messages"] > 0 and parts["System prompt and tools"] > 100
    assert usage["totalTokens"] == sum(parts.values())

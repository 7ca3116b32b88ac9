"""Going on from an earlier message of a session, by the official client and by the flags it passes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from fakes.cli import Home
from fakes.model_server import ModelServer, calls, text
from fakes.sdk import STREAM, options, run, sdk

client = pytest.importorskip("claude_agent_sdk", reason="the official client is part of the extra `dev`")

PROVIDERS = """\
version = 1
[mine]
protocol = "openai"
base_url = "URL"
[[mine.models]]
id = "thinks"
"""
READ = ("call_1", "file_read", '{"filePath": "a.txt"}')
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def ask(given: Any, prompt: str) -> list[Any]:
    async def talk() -> list[Any]:
        async with asyncio.timeout(60):
            return [message async for message in client.query(prompt=prompt, options=given)]

    return asyncio.run(talk())


def prompts(server: ModelServer) -> list[str]:
    """The texts of the last request, but for the system prompt and what is told before the first one."""
    messages = server.requests[-1].body["messages"][1:]
    return [(message.get("content") or "(calls)").rpartition("</environment>\n")[2] for message in messages]


@pytest.mark.parametrize("fork", [True, False])
def test_the_official_client_goes_back_to_an_answer(home: Home, fork: bool) -> None:
    with ModelServer([text("one"), text("two"), text("other two"), text("three")]) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        first = ask(options(home, "mine/thinks"), "first")
        session = first[-1].session_id
        ask(options(home, "mine/thinks", resume=session), "second")
        [answer] = [message for message in first if isinstance(message, client.AssistantMessage)]
        given = options(home, "mine/thinks", resume=session, fork_session=fork, resume_session_at=answer.uuid)
        other = ask(given, "another second")
        assert other[-1].result == "other two"
        assert prompts(server) == ["first", "one", "another second"]
        assert (other[-1].session_id == session) is not fork
        ask(options(home, "mine/thinks", resume=other[-1].session_id), "third")
        assert prompts(server) == ["first", "one", "another second", "other two", "third"]


def test_a_point_may_lie_before_an_earlier_one(home: Home) -> None:
    with ModelServer([text(str(number)) for number in range(5)]) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        first = ask(options(home, "mine/thinks"), "a")
        second = ask(options(home, "mine/thinks", resume=first[-1].session_id), "b")
        uuids = [message.uuid for message in (*first, *second) if isinstance(message, client.AssistantMessage)]
        for uuid in reversed(uuids):
            given = options(home, "mine/thinks", resume=first[-1].session_id, resume_session_at=uuid)
            ask(given, "c")
        assert prompts(server) == ["a", "0", "c"]


def test_a_result_is_a_point_too_and_calls_without_one_are_told(home: Home) -> None:
    home.write("a.txt", "the text\n")
    with ModelServer([calls(READ), text("read"), text("again"), text("once more")]) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        lines = run(home, *STREAM, "--model", "mine/thinks", "go").events
        uuids = {line["type"]: line["uuid"] for line in reversed(lines) if "uuid" in line}
        for kind, seen in (("user", "the text"), ("assistant", "This call has no result")):
            args = (f"--resume={lines[0]['session_id']}", "--fork-session", f"--resume-session-at={uuids[kind]}")
            assert run(home, *STREAM, "--model", "mine/thinks", *args, "on").code == 0
            told = prompts(server)
            assert told[0] == "go" and seen in told[2] and len(told) == 4


def dropped(home: Home, drops: str) -> Any:
    """What is told where two prompts, u-2 and u-3, come behind the point."""
    script = home.script(*[{"text": str(number)} for number in range(4)])
    with sdk(home, "--model", script) as session:
        for number in (1, 2, 3):
            session.say("go", uuid=f"u-{number}")
            session.until("result")
            if number == int(drops[0]):
                point = next(line["uuid"] for line in reversed(session.seen) if line["type"] == "assistant")
        assert session.end() == 0
    args = (f"--resume={session.seen[-1]['session_id']}", f"--resume-session-at={point}")
    return run(home, *STREAM, "--model", script, *args, f"--resume-drops-turn=u-{drops[1]}", "on")


def test_no_more_is_left_out_than_is_meant(home: Home) -> None:
    assert dropped(home, "23").code == 0
    refused = dropped(home, "12")
    assert refused.code == 1
    assert refused.stderr.startswith("Resume rejected by --resume-drops-turn: message u-3 would be left out")
    [line] = refused.events
    assert (line["subtype"], line["num_turns"]) == ("error_during_execution", 0)


def test_a_message_that_is_not_there(home: Home) -> None:
    script = home.script({"text": "one"})
    session = run(home, *STREAM, "--model", script, "go").events[0]["session_id"]
    ran = run(home, *STREAM, "--model", script, f"--resume={session}", f"--resume-session-at={UNKNOWN}", "on")
    assert (ran.code, ran.stderr) == (1, f"No message found with message.uuid of: {UNKNOWN}\n")
    assert json.loads(ran.stdout)["errors"] == [f"No message found with message.uuid of: {UNKNOWN}"]


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--resume-session-at", UNKNOWN), "Error: --resume-session-at needs --resume or --continue."),
        (("--resume=",), "Error: --resume needs the id of a session."),
        (("--continue", "--resume-drops-turn", UNKNOWN), "Error: --resume-drops-turn needs --resume-session-at."),
    ],
)
def test_flags_that_need_another(home: Home, args: tuple[str, ...], what: str) -> None:
    ran = run(home, "go", *args)
    assert (ran.code, ran.stdout, ran.stderr) == (1, b"", f"{what}\n")

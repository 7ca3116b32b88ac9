"""Whole runs against a server that speaks Chat Completions, on loopback."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal, lines, settled
from fakes.model_server import (
    Cut,
    ModelServer,
    Received,
    Reply,
    calls,
    delta,
    event,
    refusal,
    stream,
    text,
    usage,
)

KEY = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"
AT_ONCE = {"REMIT_RETRY_SECONDS": "0"}


def ask(home: Home, url: str, *more: str, **environ: str) -> Ran:
    """A run with this server as its model, everything checked that holds for each of them."""
    ran = home.stream(
        "Go", "-m", "openai/m", "--tools", "list_files,read_file,search_files", "-o", str(home.out), *more,
        environ={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, **environ},
    )  # fmt: skip
    assert ran.result == ended(home.out, ran.code)
    assert "Traceback" not in ran.stderr
    assert_no_key(home, ran)
    return ran


def assert_no_key(home: Home, ran: Ran) -> None:
    assert KEY.encode() not in ran.stdout and KEY not in ran.stderr
    holding = [path for path in home.path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == []


def test_a_run_with_parallel_calls(home: Home) -> None:
    home.write("a.md", "A\n")
    home.write("b.md", "B\n")
    wanted = [
        ("call_a", "read_file", '{"path": "a.md"}'),
        ("call_b", "read_file", '{"path": "b.md"}'),
        ("call_a", "read_file", '{"path": "missing.md"}'),
        ("", "list_files", ""),
    ]
    with ModelServer([calls(*wanted), text("Do", "ne.")]) as server:
        ran = ask(home, server.url)
        first, second = (request.body for request in server.requests)
    assert (ran.code, ran.result["result"], ran.events[0]["apiKeySource"]) == (0, "Done.", "OPENAI_API_KEY")
    assert ran.result["usage"]["input_tokens"] == 20 and ran.result["usage"]["output_tokens"] == 10
    assert {tool["function"]["name"] for tool in first["tools"]} == {
        "list_files",
        "read_file",
        "search_files",
        "update_plan",
    }
    assert first["messages"][-1] == {"role": "user", "content": "Go"}
    assert second["messages"][: len(first["messages"])] == first["messages"]
    answer, *results = second["messages"][len(first["messages"]) :]
    ids = [each["id"] for each in answer["tool_calls"]]
    assert ids[:2] == ["call_a", "call_b"] and len(set(ids)) == 4 and all(ids)
    assert [(each["role"], each["tool_call_id"]) for each in results] == [("tool", each) for each in ids]
    assert [json.loads(each["content"])["ok"] for each in results] == [True, True, False, True]
    assert [ok for _, _, ok in settled(home.out)] == [True, True, False, True]


def test_a_retry_is_told(home: Home) -> None:
    with ModelServer([refusal(503, message=f"busy, dear {KEY}"), text("Done.")]) as server:
        ran = ask(home, server.url)
        assert len(server.requests) == 2
    assert ran.code == 0 and ran.result["counts"]["retry"] == 1
    [retry] = [each for each in ran.events if each.get("subtype") == "api_retry"]
    assert (retry["attempt"], retry["error_status"]) == (1, 503)
    assert "busy, dear [redacted]" in retry["error"] and 0 < retry["retry_delay_ms"] <= 2000
    assert journal(home.out, "noted")[0]["kind"] == "retry"


FAILURES: dict[str, tuple[Reply, int, str, str]] = {
    "auth": (refusal(401, message=f"Incorrect API key provided: {KEY}"), 5, "auth", "OPENAI_API_KEY"),
    "forbidden": (refusal(403), 5, "auth", "OPENAI_API_KEY"),
    "bad request": (refusal(400, message="no such field"), 5, "bad_request", "no such field"),
    "too long": (
        refusal(400, message="This model's maximum context length is 8 tokens", code="context_length_exceeded"),
        5,
        "context_overflow",
        "maximum context length",
    ),
    "overloaded": (refusal(503), 6, "overloaded", ""),
    "garbage": (Reply([b"data: {not json\n\n"]), 5, "malformed", ""),
    "no events": (Reply([b"<<<>>>\n\n"]), 5, "network", ""),
    "a web page": (Reply([b"<html>"], headers={"content-type": "text/html"}), 5, "malformed", "web page"),
    "cut before": (Reply([Cut()]), 5, "network", ""),
    "cut in a word": (stream(delta({"content": "I thi"}), Cut(), done=False), 5, "cut", "in a row"),
    "cut in a call": (Reply([*calls(("c", "list_files", '{"path": "."}')).steps[:2], Cut()]), 5, "cut", ""),
    "error in the stream": (
        stream(delta({"content": "I thi"}), {"error": {"message": "exploded", "code": 500}}),
        5,
        "cut",
        "in a row",
    ),
    "no reason to stop": (Reply([event(delta({"content": "I thi"}))]), 5, "cut", ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_model_that_fails(home: Home, name: str) -> None:
    reply, code, kind, said = FAILURES[name]
    with ModelServer(lambda _: reply) as server:
        ran = ask(home, server.url, **AT_ONCE)
        # What broke off with a text is continued three times, and what broke off with nothing asked again twice.
        assert len(server.requests) == {"cut": 3 if name == "cut in a call" else 4}.get(kind, 1)
    assert (ran.code, ran.result["error_kind"]) == (code, kind), ran.result["errors"]
    assert said in " ".join([*ran.result["errors"], ran.result["hint"]])
    kept = "I thi" * 4 if kind == "cut" and name != "cut in a call" else ""
    assert ran.result["resumable"] and ran.result.get("result", "") == kept
    # What was asked stands in the journal, and the next process asks it again.
    with ModelServer([text("Done.")]) as server:
        again = home.run("resume", str(home.out), environ={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY})
        assert (again.code, again.stdout.decode()) == (0, f"{kept}Done.\n")
        roles = [message["role"] for message in server.requests[0].body["messages"]]
        assert roles == ["system", "user", *["assistant", "user"] * (4 if kept else 0)]


def test_a_rate_limit_past_the_budget(home: Home) -> None:
    before = datetime.now(UTC)
    with ModelServer([refusal(429, {"retry-after": "3600"})]) as server:
        ran = ask(home, server.url)
        assert len(server.requests) == 1
    assert (ran.code, ran.result["verdict"], ran.result["error_kind"]) == (6, "busy", "rate_limited")
    lifted = datetime.fromisoformat(ran.result["resets_at"])
    assert 3590 <= (lifted - before).total_seconds() <= 3700
    assert ran.result["resets_at"] in ran.stderr


def test_nobody_listens(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        url = f"http://127.0.0.1:{place.getsockname()[1]}/v1"
    ran = ask(home, url, **AT_ONCE)
    assert (ran.code, ran.result["error_kind"]) == (5, "network")
    assert url in ran.result["hint"]


def test_no_key_and_no_server(home: Home) -> None:
    ran = home.stream("Go", "-m", "openai/m", "-o", str(home.out))
    assert (ran.code, ran.result["verdict"], ran.result["error_kind"]) == (8, "preflight", "no_key")
    assert "OPENAI_API_KEY" in ran.stderr and not home.out.exists()


# -- recording ---------------------------------------------------------------------------------


PASSING = {"uuid", "session_id", "timestamp", "seconds", "sha256"}


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in PASSING}
    return [plain(item) for item in value] if isinstance(value, list) else value


def told(run_dir: Path) -> list[Any]:
    """The events of a run without what differs from run to run."""
    *events, result = lines(run_dir / "events.jsonl")
    same = ("subtype", "verdict", "result", "num_turns", "usage", "counts", "permission_denials", "artifacts", "unmet")
    return [plain(each) for each in events[1:]] + [{name: plain(result.get(name)) for name in same}]


def secretive(request: Received) -> Reply:
    """Reads, is refused, writes, and repeats a key that it saw."""
    turn = sum(message["role"] == "assistant" for message in request.body["messages"])
    return [
        calls(("a", "read_file", '{"path": "a.md"}'), ("b", "fetch_url", '{"url": "https://example.com/"}')),
        calls(("c", "write_artifact", '{"name": "r.md", "content": "R"}')),
        stream(delta({"content": "Done."}), delta(finish_reason="stop"), usage(30, 4, cached=10)),
    ][turn]


def test_a_recorded_run_plays_again_offline(home: Home) -> None:
    home.write("a.md", "first line\nsecond line\n")
    recording = home.path / "recording.jsonl"
    task = home.task(
        prompt="Go",
        tools={"read_file": "auto", "write_artifact": "auto", "fetch_url": {"decide": "auto", "hosts": ["a.example"]}},
    )
    with ModelServer(secretive) as server:
        ran = home.stream(
            "-t", task, "-m", "openai/m", "-o", str(home.out), "--record", str(recording),
            environ={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY},
        )  # fmt: skip
    assert ran.result == ended(home.out, 0)
    assert_no_key(home, ran)

    again = home.path / "again"
    replayed = home.stream("-t", task, "-m", f"replay/{recording}", "-o", str(again))
    assert replayed.result == ended(again, 0)
    assert told(again) == told(home.out)
    init = replayed.events[0]
    assert (init["provider"], init["model"], init["scripted"]) == ("replay", "m", True)
    assert (again / "artifacts" / "r.md").read_text() == "R"

    home.write("a.md", "first line\nsecond lime\n")
    other = home.path / "other"
    differing = home.stream("-t", task, "-m", f"replay/{recording}", "-o", str(other))
    result = ended(other, 5)
    assert differing.result == result and result["error_kind"] == "replay"
    [error] = result["errors"]
    assert "request 2 is not the recorded one" in error
    assert "- recorded:" in error and "second line" in error and "+ now:" in error and "second lime" in error
    assert not (other / "artifacts" / "r.md").exists()

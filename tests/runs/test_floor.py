"""What holds wherever a run stands: its own files, the place it was started from, its checks."""

from __future__ import annotations

import asyncio
import json

import pytest

from fakes.cli import Home, Ran
from fakes.web import Names, ToLoopback, redirect, response, serve
from remit.base.resources import Effect, Resource
from remit.net.client import WebClient, WebGrant


def results(ran: Ran) -> list[dict[str, object]]:
    return [event["tool_use_result"] for event in ran.events if event["type"] == "user"]


def test_a_run_in_the_workspace_does_not_read_its_own_files(home: Home) -> None:
    home.write("notes.txt", "needle\n")
    calls = [
        {"tool": "read_file", "arguments": {"path": "out/run.json"}},
        {"tool": "list_files", "arguments": {"recursive": True}},
        {"tool": "search_files", "arguments": {"query": "needle"}},
    ]
    tools = ["--tools", "read_file,list_files,search_files"]
    ran = home.stream("go", "-m", home.script({"calls": calls}, {"text": "done"}), *tools, "-o", "out")
    read, listed, found = results(ran)
    assert read["error"]["code"] == "denied"  # type: ignore[index]
    assert "belongs to remit itself" in read["error"]["message"]  # type: ignore[index]
    names = [entry["path"] for entry in listed["data"]["entries"]]  # type: ignore[index]
    assert names == ["notes.txt", "out", "out/artifacts"]
    assert [hit["file"] for hit in found["data"]["matches"]] == ["notes.txt"]  # type: ignore[index]


def test_a_run_is_resumed_from_anywhere(home: Home) -> None:
    (home.work / "script.json.yaml").write_text(
        json.dumps({"version": 1, "turns": [{"calls": [{"tool": "list_files", "arguments": {}}]}, {"text": "done"}]})
    )
    first = home.run(
        "run", "go", "-m", "scripted/script.json.yaml", "--tools", "list_files", "-o", "out", "--max-turns", "1"
    )
    assert first.code == 7, first.stderr
    elsewhere = home.path / "elsewhere"
    elsewhere.mkdir()
    again = home.run("resume", str(home.work / "out"), "--max-turns", "2", cwd=elsewhere)
    assert (again.code, again.stdout) == (0, b"done\n"), again.stderr


RULE = '[[rule]]\ntools = ["check"]\ncommand = "true"\ndecide = "{}"\nwhy = "a person looks first"\n'


@pytest.mark.parametrize(("decide", "flag"), [("ask", "--on-ask=stop"), ("deny", "--on-deny=fail")])
def test_a_check_that_is_refused_ends_the_run_as_any_call_does(home: Home, decide: str, flag: str) -> None:
    (home.path / "policy.toml").write_text("version = 1\n" + RULE.format(decide))
    task = home.task(prompt="go", expect={"checks": ["true"]})
    args = ("-t", task, "-m", home.script({"text": "done"}), "-p", str(home.path / "policy.toml"))
    ran = home.stream(*args, flag, "-o", "out")
    assert (ran.code, ran.result["verdict"], ran.result["resumable"]) == (4, "refused", True), ran.stderr
    assert "Do not repeat" not in json.dumps(ran.result)
    if decide == "ask":
        (waiting,) = ran.result["pending"]
        (home.path / "answers.toml").write_text("version = 1\n" + waiting["approval"])
        resumed = home.run("resume", "out", "-a", str(home.path / "answers.toml"))
        assert resumed.code == 0, resumed.stderr


def test_a_redirect_that_the_rules_treat_differently_is_told_and_not_followed() -> None:
    asked: list[str] = []

    def may_follow(url: str) -> bool:
        asked.append(url)
        return "/private/" not in url

    async def fetch(path: str) -> tuple[str, int]:
        answers = {"/a": redirect("/b"), "/b": redirect("/private/x"), "/private/x": response(b"secret")}
        async with serve(answers) as site:
            client = WebClient(resolver=Names(), dialer=ToLoopback(site.port))
            url = f"http://site.example{path}"
            grant = WebGrant(client, [Resource("url", url, Effect.NETWORK)], lambda: None, may_follow)
            page = await grant.get(url)
            return page.redirect_to, len(site.requests)

    assert asyncio.run(fetch("/a")) == ("http://site.example/private/x", 2)
    assert asked == ["http://site.example/b", "http://site.example/private/x"]

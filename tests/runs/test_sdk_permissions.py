"""Permissions that a client of `remit-sdk` gives, takes back and changes along with its answers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fakes.cli import Home
from fakes.driving import Driven
from fakes.sdk import run, sdk

DONE = {"text": "Done."}
ASKED = ("--permission-prompt-tool", "stdio")


def write(name: str) -> dict[str, Any]:
    return {"calls": [{"tool": "file_write", "arguments": {"filePath": name, "content": "x"}}]}


def rules(kind: str, behavior: str, *names: str, place: str = "session") -> dict[str, Any]:
    return {"type": kind, "behavior": behavior, "rules": [rule(name) for name in names], "destination": place}


def rule(name: str) -> dict[str, str]:
    tool, specified, content = name.partition("(")
    return {"toolName": tool, "ruleContent": content[:-1]} if specified else {"toolName": tool}


def answered(home: Home, names: str, *updates: list[dict[str, Any]], args: tuple[str, ...] = ()) -> tuple[str, Driven]:
    """The files that were asked about of those that are written one after another. updates: with the answers."""
    script = home.script(*[write(name) for name in names], DONE)
    asked, given = "", iter(updates)
    with sdk(home, "--model", script, *ASKED, *args) as session:
        session.say("write")
        while True:
            line = session.until(lambda line: line["type"] in ("control_request", "result"))
            if line["type"] == "result":
                break
            asked += line["request"]["input"]["file_path"][-1]
            session.reply(line, behavior="allow", updatedPermissions=next(given, []))
        assert session.end() == 0
    return asked, session


def notices(session: Driven) -> list[str]:
    return [line["content"] for line in session.seen if line.get("kind") == "permissions"]


ALLOW = rules("addRules", "allow", "Write")


@pytest.mark.parametrize(
    ("updates", "asked"),
    [
        ([ALLOW], "a"),
        ([rules("addRules", "allow", "Write(b)", "Write(c)")], "ad"),
        ([ALLOW, rules("addRules", "ask", "Write(c)")], "ac"),
        ([ALLOW, rules("removeRules", "allow", "Write")], "abcd"),
        ([rules("addRules", "ask", "Write(c)"), ALLOW, rules("replaceRules", "ask")], "a"),
        ([ALLOW, rules("replaceRules", "allow", "Write(b)")], "acd"),
        ([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}], "a"),
    ],
)
def test_rules_and_modes_that_come_with_an_answer(home: Home, updates: list[dict[str, Any]], asked: str) -> None:
    told, session = answered(home, "abcd", updates)
    assert told == asked
    assert not notices(session)


def test_a_refusal_that_is_taken_back(home: Home) -> None:
    deny = rules("addRules", "deny", "Write(b)")
    told, _ = answered(home, "abc", [deny], [rules("removeRules", "deny", "Write(b)")])
    assert told == "ac"
    assert not (home.work / "b").exists()


def test_what_was_refused_at_the_start_stays_so(home: Home) -> None:
    updates = [ALLOW, rules("addRules", "ask", "Write(b)"), rules("removeRules", "deny", "Write(b)")]
    asked, _ = answered(home, "ab", updates, args=("--disallowedTools", "Write(b)"))
    assert asked == "a" and not (home.work / "b").exists()


def test_what_is_to_be_kept_in_files_holds_for_the_session_and_is_told(home: Home) -> None:
    asked, session = answered(home, "ab", [rules("addRules", "allow", "Write(b)", place="localSettings")])
    assert asked == "a"
    [told] = notices(session)
    assert told == (
        "addRules: it holds for this session only: no file is written for localSettings; "
        "to keep it start with --allow 'Write(b)'"
    )


@pytest.mark.parametrize(
    ("update", "why"),
    [
        (rules("replaceRules", "allow", "Write", place="userSettings"), "the rules of userSettings are not this"),
        (rules("removeRules", "allow", "Write", place="projectSettings"), "the rules of projectSettings are not this"),
        (rules("addRules", "allow", "Write", place="moon"), "there is no destination 'moon'"),
        (rules("addRules", "maybe", "Write"), "needs rules, and a behavior of allow, deny, ask"),
        (rules("addRules", "allow", "Nothing"), "unknown tool"),
        ({"type": "addRules", "behavior": "allow"}, "needs rules"),
        ({"type": "addRules", "behavior": "allow", "rules": [{}]}, "a rule needs a toolName"),
        ({"type": "setMode", "mode": "bypassPermissions"}, "was not launched with it"),
        ({"type": "addDirectories", "directories": ["/srv"]}, "addDirectories: directories are named at the start"),
        ({"type": "dance"}, "dance is not done here"),
        ("nonsense", "None is not done here"),
    ],
)
def test_an_update_that_cannot_be_done_changes_nothing_and_is_told(home: Home, update: Any, why: str) -> None:
    asked, session = answered(home, "ab", [update])
    assert asked == "ab"
    [told] = notices(session)
    assert told.startswith("a permission update is passed over: ") and why in told


def test_tools_of_servers_are_named_one_by_one_or_together(home: Home) -> None:
    call = {"calls": [{"tool": "mcp__demo__add", "arguments": {}}]}
    tools = [{"name": "add", "inputSchema": {"type": "object"}}, {"name": "take", "inputSchema": {"type": "object"}}]
    config = json.dumps({"mcpServers": {"demo": {"type": "sdk"}}})
    for args, ran, listed in (
        (("--allowedTools", "mcp__demo__*"), True, 2),
        (("--allowedTools", "mcp__demo"), True, 2),
        (("--allowedTools", "mcp__demo__a*"), True, 2),
        (("--allowedTools", "mcp__demo__t*"), False, 2),
        (("--allowedTools", "mcp__demo", "--disallowedTools", "mcp__demo__add"), False, 1),
        (("--allowedTools", "mcp__demo", "--disallowedTools", "mcp__demo__*"), False, 0),
        (("--allowedTools", "mcp__demo", "--disallowedTools", "mcp__demo"), False, 0),
        (("--allowedTools", "mcp__demo", "--settings", '{"permissions": {"deny": ["mcp__demo__*"]}}'), False, 2),
    ):
        with sdk(home, "--model", home.script(call, DONE), "--mcp-config", config, *args) as session:
            session.say("add")
            called = False
            while (line := session.until(lambda line: line["type"] in ("control_request", "result")))[
                "type"
            ] != "result":
                message = line["request"]["message"]
                called = called or message["method"] == "tools/call"
                content = {"content": [{"type": "text", "text": "5"}]} if called else {}
                found = {"tools": tools} if message["method"] == "tools/list" else content
                session.reply(line, mcp_response={"result": found, "id": message.get("id")})
            assert session.end() == 0
        init = next(line for line in session.seen if line.get("subtype") == "init")
        assert (args, called, len([name for name in init["tools"] if "mcp__" in name])) == (args, ran, listed)


ODD = [{"name": name, "inputSchema": {"type": "object"}} for name in ("add.one", "add one", "t\u00e4ke")]


@pytest.mark.parametrize(
    ("args", "ran"),
    [
        (("--allowedTools", "mcp__my_demo_v1"), True),
        (("--allowedTools=mcp__my demo.v1__add.one",), True),
        (("--allowedTools=Read mcp__my demo.v1__add.one Bash",), True),
        (("--allowedTools=mcp__my demo.v1__add one",), False),
        (("--allowedTools", "mcp__my_demo.v1__add.one"), True),
        (("--allowedTools", "mcp__my_demo_v1", "--disallowedTools", "mcp__my_demo.v1__add.one"), False),
    ],
)
def test_tools_of_servers_are_named_as_models_take_names(home: Home, args: tuple[str, ...], ran: bool) -> None:
    call = {"calls": [{"tool": "mcp__my_demo_v1__add_one", "arguments": {}}]}
    config = json.dumps({"mcpServers": {"my demo.v1": {"type": "sdk"}}})
    asked = []
    with sdk(home, "--model", home.script(call, DONE), "--mcp-config", config, *args) as session:
        session.say("add")
        while (line := session.until(lambda line: line["type"] in ("control_request", "result")))["type"] != "result":
            message = line["request"]["message"]
            if message["method"] == "tools/call":
                asked.append(message["params"]["name"])
            found = {"tools": ODD} if message["method"] == "tools/list" else {"content": []}
            session.reply(line, mcp_response={"result": found, "id": message.get("id")})
        assert session.end() == 0
    assert asked == (["add.one"] if ran else [])
    init = next(line for line in session.seen if line.get("subtype") == "init")
    names = [name for name in init["tools"] if name.startswith("mcp__")]
    # A refusal that may mean several means all of them.
    assert set(names) >= {"mcp__my_demo_v1__t_ke"} | ({"mcp__my_demo_v1__add_one_2"} if len(args) < 3 else set())
    assert all(re.fullmatch(r"[\w-]+", name, re.ASCII) for name in names)


def test_permissions_of_settings(home: Home) -> None:
    permissions = {"allow": ["Write"], "ask": ["Write(b)"], "deny": ["Write(c)"], "additional": []}
    settings = json.dumps({"permissions": permissions, "theme": "dark"})
    asked, _ = answered(home, "abc", args=("--settings", settings))
    assert asked == "b" and not (home.work / "c").exists()
    ran = run(home, "x", "--settings", settings, "--model", home.script(DONE))
    assert ran.stderr == "remit-sdk: of --settings, theme, permissions.additional has no effect\n"


def test_the_mode_of_settings_gives_way_to_the_flag(home: Home) -> None:
    settings = json.dumps({"permissions": {"defaultMode": "acceptEdits"}})
    assert answered(home, "a", args=("--settings", settings))[0] == ""
    assert answered(home, "a", args=("--settings", settings, "--permission-mode", "default"))[0] == "a"


@pytest.mark.parametrize(
    ("permissions", "what"),
    [
        ({"deny": "Write"}, "permissions.deny: expected a list"),
        ({"defaultMode": "odd"}, "permissions.defaultMode: exp"),
    ],
)
def test_settings_that_cannot_be_read_are_no_settings(home: Home, permissions: dict[str, Any], what: str) -> None:
    ran = run(home, "x", "--settings", json.dumps({"permissions": permissions}), "--model", home.script(DONE))
    assert ran.code == 1 and what in ran.stderr

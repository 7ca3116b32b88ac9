"""Whole runs whose requests leave tools out until they are needed, and runs that keep tools off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.cli import Home, ended, journal, settled
from fakes.model_server import ModelServer, Received, Reply, calls, text

CODING = "file_read,file_write=auto,file_edit=auto,file_glob,file_grep,file_index,shell=ask,todo_write"
CODE = ["code_map", "code_context", "code_refs", "code_impact", "code_expand"]


def ask(home: Home, url: str, *more: str, tools: str = CODING, **environ: str) -> Any:
    return home.stream(
        "Go", "-m", "openai/m", "--tools", tools, "--on-ask", "stop", "-o", str(home.out), *more,
        environ={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-x", **environ},
    )  # fmt: skip


def offered(request: Received) -> list[str]:
    return [tool["function"]["name"] for tool in request.body.get("tools", ())]


def searched(query: str) -> Reply:
    return calls(("s", "tool_search", json.dumps({"query": query})))


def test_a_search_brings_in_a_bundle_for_good(home: Home) -> None:
    home.write("a.py", "def area(): pass\n")
    with ModelServer([searched("symbol references"), calls(("c", "code_map", "{}")), text("Done.")]) as server:
        ran = ask(home, server.url, tools="file_read,file_index," + ",".join(CODE))
    ended(home.out, 0)
    first, second, third = server.requests
    assert offered(first) == ["file_read", "tool_search"]
    assert offered(second) == ["file_read", *CODE, "tool_search"] == offered(third)
    assert [record["tools"] for record in journal(home.out, "tools_loaded")] == [CODE]
    told = [event["text"] for event in ran.events if event.get("kind") == "tools_loaded"]
    assert len(told) == 1 and "code_refs" in told[0]


def test_a_direct_call_is_made_and_brings_the_tool_in(home: Home) -> None:
    home.write("a.py", "def area(): pass\n")
    with ModelServer([calls(("c", "file_index", '{"path": "a.py"}')), text("Done.")]) as server:
        ask(home, server.url)
    ended(home.out, 0)
    assert settled(home.out) == [("t1.c1", "file_index", True)]
    first, second = map(offered, server.requests)
    assert "file_index" not in first and first[-1] == "tool_search"
    assert second[-1] == "file_index", "nothing is left to search for"


def test_tool_output_comes_in_with_the_first_cut_result(home: Home) -> None:
    home.write("big.txt", "word " * 12_000)
    home.write("more.txt", "".join(f"line {number}\n" for number in range(9_000)))
    with ModelServer([calls(("c", "file_read", '{"filePath": "more.txt"}')), text("Done.")]) as server:
        ask(home, server.url)
    ended(home.out, 0)
    first, second = map(offered, server.requests)
    assert "tool_output" not in first and "tool_output" in second


def test_a_large_model_gets_all_at_once(home: Home) -> None:
    purposes = 'version = 1\n[openai]\npurposes = {best = "m"}\n'
    (home.path / "config" / "providers.toml").write_text(purposes)
    with ModelServer([text("Done.")]) as server:
        ask(home, server.url)
    assert {"file_index", "tool_output"} <= set(offered(server.requests[0]))
    assert "tool_search" not in offered(server.requests[0])


@pytest.mark.parametrize(
    ("setting", "more", "whole"),
    [
        ("never", (), True),
        ("always", (), False),
        ("auto", ("--allowed-tools", "file_read,file_index,tool_output"), True),
    ],
)
def test_who_decides(home: Home, setting: str, more: tuple[str, ...], whole: bool) -> None:
    (home.path / "config" / "remit.toml").write_text(f'[agent]\ndefer_builtin_tools = "{setting}"\n')
    with ModelServer([text("Done.")]) as server:
        ask(home, server.url, *more)
    assert ({"file_index", "tool_output"} <= set(offered(server.requests[0]))) is whole
    assert ("tool_search" in offered(server.requests[0])) is not whole


def test_no_word_fits_and_an_empty_query(home: Home) -> None:
    with ModelServer([searched("zebra"), searched(" "), text("Done.")]) as server:
        ask(home, server.url)
    assert [ok for _, _, ok in settled(home.out)] == [True, False]
    shown = [each["content"] for each in journal(home.out, "call_settled")]
    assert "No tool fits" in shown[0] and "file_index" in shown[0]
    assert offered(server.requests[2]) == offered(server.requests[0])


def test_a_resumed_run_has_what_was_loaded(home: Home) -> None:
    home.write("a.py", "def area(): pass\n")
    environ: dict[str, str] = {"OPENAI_API_KEY": "sk-x"}
    with ModelServer([searched("file_index"), calls(("c", "shell", '{"command": "true"}'))]) as server:
        ask(home, server.url)
        ended(home.out, 4)
    approvals = home.path / "approvals.toml"
    entry = '[[approval]]\ntool = "shell"\ncommand = "true"\ndecide = "deny"\nwhy = "no"\n'
    approvals.write_text(f"version = 1\n{entry}")
    with ModelServer([text("Done.")]) as later:
        home.run("resume", str(home.out), "-a", str(approvals), environ={**environ, "OPENAI_BASE_URL": later.url})
    assert offered(later.requests[0]) == offered(server.requests[1])
    assert "file_index" in offered(later.requests[0])
    assert len(journal(home.out, "tools_loaded")) == 1


def test_a_recorded_run_with_loads_is_played(home: Home) -> None:
    home.write("a.py", "def area(): pass\n")
    tape = home.path / "tape.jsonl"
    script = [searched("file_index"), calls(("c", "file_index", '{"path": "a.py"}')), text("Done.")]
    with ModelServer(script) as server:
        ask(home, server.url, "--record", str(tape), tools="file_read,file_index," + ",".join(CODE))
    ended(home.out, 0)
    for live in ((), ("--live-tools",)):
        ran = home.run("replay", str(tape), *live, "-o", str(home.path / f"played{len(live)}"))
        assert ran.code == 0, ran.stderr


# -- lists ---------------------------------------------------------------------------------------


def tools(home: Home, *args: str) -> dict[str, dict[str, Any]]:
    ran = home.run("tools", "--json", *args)
    assert ran.code == 0, ran.stderr
    return {entry["name"]: entry for entry in json.loads(ran.stdout)}


def test_disabled_tools_are_off(home: Home) -> None:
    (home.path / "config" / "remit.toml").write_text('[agent]\ndisabled_tools = ["shell", "tool_output"]\n')
    listed = tools(home, "--tools", "shell=auto,file_read")
    assert listed["shell"]["state"] == "off" and "remit.toml:2" in listed["shell"]["reason"]
    assert listed["tool_output"]["state"] != "off", "it stays whatever the lists say"
    listed = tools(home, "--tools", "file_read,file_glob", "--disallowed-tools", "file_glob")
    assert listed["file_glob"]["state"] == "off" and "--disallowed-tools" in listed["file_glob"]["reason"]
    listed = tools(home, "--tools", "file_read,file_glob", "--allowed-tools", "file_glob")
    assert listed["file_read"]["state"] == "off" and "not in --allowed-tools" in listed["file_read"]["reason"]


def test_a_call_of_a_disabled_tool_says_why(home: Home) -> None:
    script = home.script({"calls": [{"tool": "file_read", "arguments": {"filePath": "a"}}]}, {"text": "Done."})
    home.stream("Go", "-m", script, "--disallowed-tools", "file_read", "-o", str(home.out))
    [call] = journal(home.out, "call_settled")
    assert "--disallowed-tools" in call["content"]


def test_a_project_can_only_take_away(home: Home) -> None:
    rule = '[[rule]]\ntools = ["shell"]\ndecide = "deny"\nwhy = "not here"\n'
    home.write(".remit/policy.toml", f"version = 1\n{rule}")
    assert tools(home, "--tools", "shell=auto")["shell"]["state"] == "off"


@pytest.mark.parametrize(
    "args",
    [
        ("--disallowed-tools", "shel"),
        ("--allowed-tools", "shel"),
    ],
)
def test_unknown_names_end_the_start(home: Home, args: tuple[str, str]) -> None:
    ran = home.run("run", "Go", "-m", home.script({"text": "Done."}), *args)
    assert ran.code == 2 and "unknown tool 'shel'" in ran.stderr and "shell" in ran.stderr


def test_unknown_names_in_the_settings(home: Home) -> None:
    (home.path / "config" / "remit.toml").write_text('[agent]\ndisabled_tools = ["shel"]\n')
    ran = home.run("run", "Go", "-m", home.script({"text": "Done."}))
    assert ran.code == 2 and "remit.toml:2" in ran.stderr and "did you mean" in ran.stderr


def test_allowed_tools_must_be_ticked(home: Home) -> None:
    ran = home.run("run", "Go", "-m", home.script({"text": "Done."}), "--allowed-tools", "shell")
    assert ran.code == 2 and "shell is not ticked" in ran.stderr


# -- what is shown -------------------------------------------------------------------------------


def test_prompt_and_tools_show_what_the_model_gets(home: Home) -> None:
    with ModelServer([text("Done.")]) as server:
        ask(home, server.url)
    [request] = server.requests
    ticks = ("-m", "openai/m", "--tools", CODING, "--on-ask", "stop")
    told = home.run("prompt", *ticks)
    system, said = (message["content"] for message in request.body["messages"][:2])
    before, mark, _ = said.partition("</environment>\n")
    assert told.stdout.decode() == f"{system}\n\n{before}{mark}"
    shown = json.loads(home.run("prompt", "--json", *ticks).stdout)
    sent = [tool["function"] for tool in request.body["tools"]]
    assert shown["tools"] == [
        {"name": tool["name"], "description": tool["description"], "schema": tool["parameters"]} for tool in sent
    ]
    listed = tools(home, *ticks)
    states = {name: entry["state"] for name, entry in listed.items()}
    assert [name for name, state in states.items() if state == "on"] == sorted(offered(request), key=list(states).index)
    assert states["file_index"] == states["tool_output"] == "lazy"
    assert "small" in listed["file_index"]["reason"]


@pytest.mark.parametrize(
    ("flags", "on"),
    [
        (["--tools", "Read,Bash=auto"], {"file_read", "shell"}),
        (["--tools", "file_read,read_file,shell=auto", "--allowed-tools", "Read"], {"file_read", "read_file"}),
        (["--tools", "file_read,read_file,shell=auto", "--disallowed-tools", "Read"], {"shell"}),
        (["--tools", "file_edit,file_write", "--allowed-tools", "MultiEdit"], {"file_edit"}),
    ],
)
def test_names_of_claude_code_stand_for_ours(home: Home, flags: list[str], on: set[str]) -> None:
    states = {name: entry["state"] for name, entry in tools(home, *flags).items()}
    assert {name for name, state in states.items() if state == "on"} - {"tool_output", "update_plan"} == on


@pytest.mark.parametrize(
    ("flag", "name", "message"),
    [
        ("--allowed-tools", "Task", "task is not ticked"),
        ("--tools", "NotebookEdit", "unknown tool 'NotebookEdit'"),
        (
            "--allowed-tools",
            "Bash(git log:*)",
            "Bash is `shell` here; what it may do is a rule, as in --allow 'Bash(git log:*)'",
        ),
    ],
)
def test_a_name_of_claude_code_that_cannot_be_taken(home: Home, flag: str, name: str, message: str) -> None:
    ran = home.run("run", "go", "-m", home.script({"text": "x"}), flag, name)
    assert ran.code == 2
    assert message in ran.stderr

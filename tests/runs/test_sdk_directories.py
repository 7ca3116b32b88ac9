"""`--add-dir`: further directories that the tools of a session read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, journal
from fakes.model_server import ModelServer, text
from fakes.sdk import STREAM, run

DONE = {"text": "Done."}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments}]}


@pytest.fixture
def other(home: Home) -> str:
    """A directory beside the workspace: a.txt, sub/b.txt, secret.txt, and a link that leads out of it."""
    folder = home.path / "other"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\n")
    (folder / "sub" / "b.txt").write_text("beta\n")
    (folder / "secret.txt").write_text("secret words\n")
    (home.path / "outside.txt").write_text("outside\n")
    (folder / "out.txt").symlink_to(home.path / "outside.txt")
    return os.path.realpath(folder)


def told(home: Home, turn: dict[str, Any], *args: str) -> tuple[str, bool]:
    """The result of a call, and whether it is an error."""
    ran = run(home, "go", *STREAM, "--model", home.script(turn, DONE), *args)
    [block] = next(event for event in ran.events if event["type"] == "user")["message"]["content"]
    return block["content"], block.get("is_error", False)


def test_files_of_a_further_directory_are_read_listed_and_searched(home: Home, other: str) -> None:
    given = ("--add-dir", other)
    assert "alpha" in told(home, call("file_read", filePath=f"{other}/a.txt"), *given)[0]
    found = told(home, call("file_glob", pattern="**/*.txt", path=other), *given)[0]
    assert {"a.txt", "b.txt"} <= {os.path.basename(line.strip()) for line in found.splitlines()}
    assert "beta" in told(home, call("file_grep", pattern="bet.", path=other), *given)[0]
    assert "beta" in told(home, call("file_read", filePath=f"{other}/./sub//b.txt"), *given)[0]


def test_the_client_sees_the_whole_name(home: Home, other: str) -> None:
    read = call("file_read", filePath=f"{other}/a.txt")
    ran = run(home, "go", *STREAM, "--model", home.script(read, DONE), "--add-dir", other)
    assert ran.events[0]["additional_directories"] == [other]
    result = next(event for event in ran.events if event["type"] == "user")["tool_use_result"]
    assert result["file"]["filePath"] == f"{other}/a.txt"


def test_it_is_named_by_a_link_too_and_from_the_working_directory(home: Home, other: str) -> None:
    link = home.path / "link"
    link.symlink_to(other)
    for name in (str(link), "../link"):
        assert "alpha" in told(home, call("file_read", filePath=f"{link}/a.txt"), "--add-dir", name)[0]
        assert "alpha" in told(home, call("file_read", filePath=f"{other}/a.txt"), "--add-dir", name)[0]


@pytest.mark.parametrize(
    "name",
    ["{other}/../outside.txt", "{other}/out.txt", "{other}x/a.txt", "/etc/passwd", "{other}"],
)
def test_nothing_else_is_reached_by_it(home: Home, other: str, name: str) -> None:
    os.makedirs(f"{other}x")
    with open(f"{other}x/a.txt", "w") as file:
        file.write("outside\n")
    content, failed = told(home, call("file_read", filePath=name.format(other=other)), "--add-dir", other)
    assert "outside" not in content.replace("outside of", "") or failed
    assert failed or name == "{other}"
    assert "root:" not in content


def test_without_the_flag_it_is_closed(home: Home, other: str) -> None:
    assert told(home, call("file_read", filePath=f"{other}/a.txt"))[1]
    assert told(home, call("file_grep", pattern="alpha", path=other))[1]


def test_a_tree_of_the_workspace_does_not_hold_it(home: Home, other: str) -> None:
    home.write("a.txt", "here\n")
    content, _ = told(home, call("file_grep", pattern="alpha|here", path="."), "--add-dir", other)
    assert "here" in content and "alpha" not in content


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize(
    "turn",
    [
        lambda other: call("file_write", filePath=f"{other}/a.txt", content="x"),
        lambda other: call("file_edit", filePath=f"{other}/a.txt", oldString="alpha", newString="x"),
    ],
    ids=["write", "edit"],
)
def test_nothing_is_written_there(home: Home, other: str, mode: str, turn: Any) -> None:
    args = ("--add-dir", other, "--permission-mode", mode)
    ran = run(home, "go", *STREAM, "--model", home.script(turn(other), DONE), *args, environ={"IS_SANDBOX": "1"})
    assert "files are only read" in json.dumps(ran.events)
    with open(f"{other}/a.txt") as file:
        assert file.read() == "alpha\n"


def test_rules_hold_there_also_for_other_names_of_a_file(home: Home, other: str) -> None:
    os.link(f"{other}/secret.txt", f"{other}/public.txt")
    given = ("--add-dir", other, "--disallowedTools", f"Read(/{other}/secret.txt),Grep(/{other}/secret.txt)")
    for name in ("secret.txt", "public.txt"):
        content, failed = told(home, call("file_read", filePath=f"{other}/{name}"), *given)
        assert failed and "secret words" not in content
    content, _ = told(home, call("file_grep", pattern="words|alpha", path=other), *given)
    assert "alpha" in content and "secret words" not in content


def test_settings_name_directories_too_and_what_is_not_there_is_told(home: Home, other: str) -> None:
    settings = json.dumps({"permissions": {"additionalDirectories": [other, "/nowhere"]}})
    read = call("file_read", filePath=f"{other}/a.txt")
    ran = run(home, "go", *STREAM, "--model", home.script(read, DONE), "--settings", settings)
    assert ran.events[0]["additional_directories"] == [other]
    assert ran.stderr == "remit-sdk: --add-dir /nowhere has no effect: there is no such directory\n"


def test_no_other_name_in_the_working_directory_shows_what_a_rule_withholds(home: Home, other: str) -> None:
    os.link(f"{other}/secret.txt", home.work / "mine.txt")
    rules = f"Read(/{other}/secret.txt),Write(/{other}/secret.txt)"
    given = ("--add-dir", other, "--disallowedTools", rules, "--permission-mode", "acceptEdits")
    for turn in (call("file_read", filePath="mine.txt"), call("file_write", filePath="mine.txt", content="x")):
        content, failed = told(home, turn, *given)
        assert failed and "secret words" not in content


def test_the_model_is_told_where_it_may_read(home: Home, other: str) -> None:
    providers = 'version = 1\n[mine]\nprotocol = "openai"\nbase_url = "URL"\n[[mine.models]]\nid = "m"\n'
    with ModelServer([text("Done.")]) as server:
        (home.path / "config" / "providers.toml").write_text(providers.replace("URL", server.url))
        assert run(home, "go", "--model", "mine/m", "--add-dir", other).code == 0
        assert f'never write there: "{other}"' in server.requests[0].body["messages"][0]["content"]


def instructions_of(home: Home, *args: str) -> tuple[list[str], list[str]]:
    """What files say that the session began with, and what was told of settings."""
    ran = run(home, "go", *STREAM, "--model", home.script(DONE), *args)
    assert ran.code == 0, ran.stderr
    directory = Path(ran.events[0]["run_dir"])
    said = [each["text"] for each in journal(directory, "user_said") if each["reason"] == "instructions"]
    return said, [line["content"] for line in ran.events if line.get("kind") == "settings"]


@pytest.mark.parametrize(
    ("args", "scopes", "told"),
    [
        ((), ["user", "project"], 2),
        (("--setting-sources=user,project,local",), ["user", "project"], 2),
        (("--setting-sources=project",), ["project"], 1),
        (("--setting-sources", "local"), [], 1),
        (("--setting-sources=user",), ["user"], 0),
        (("--setting-sources=",), [], 0),
        (("--tools", ""), [], 2),
    ],
)
def test_a_session_begins_with_the_instructions_of_its_sources(
    home: Home, args: tuple[str, ...], scopes: list[str], told: int
) -> None:
    """And settings of that program are not read, which is told."""
    home.write("CLAUDE.md", "Speak of the project.")
    (home.path / "config" / "AGENTS.md").write_text("Speak of the user.")
    for name in ("settings.json", "settings.local.json"):
        home.write(f".claude/{name}", '{"permissions": {"allow": ["Bash"]}}')
    said, notices = instructions_of(home, *args)
    assert [scope for scope in ("user", "project") if f"Speak of the {scope}." in "".join(said)] == scopes
    assert sum(".claude/settings" in each for each in "".join(notices).split(",")) == told
    assert len(notices) == bool(told)

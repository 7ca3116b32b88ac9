"""System prompts of the user's own, and profiles that say how tools are loaded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.cli import Home, journal
from fakes.model_server import ModelServer, text
from remit.config.profiles import GROUPS, MAX_BYTES
from remit.engine.prompt import RULES
from remit.tools import registry

TICKS = "file_read,file_glob,file_grep,file_index,todo_write,code_map"
HEAD = """---
description: looks at things
tools:
  default: lazy
  groups: {files: eager}
  overrides: {file_grep: disabled, file_index: lazy}
---
"""


def profile(home: Home, content: str, name: str = "look") -> None:
    place = home.path / "config" / "system-prompts"
    place.mkdir(exist_ok=True)
    (place / f"{name}.md").write_text(content)


def asked(home: Home, *more: str, ticks: str = TICKS) -> dict[str, Any]:
    """The body of the one request of a run."""
    with ModelServer([text("Done.")]) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x"}
        ran = home.stream("Go", "-m", "openai/m", "--tools", ticks, "-o", str(home.out), *more, environ=environ)
    assert ran.code == 0, ran.stderr
    return server.requests[0].body


def system(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def listed(home: Home, *args: str) -> dict[str, dict[str, Any]]:
    ran = home.run("tools", "--json", *args)
    assert ran.code == 0, ran.stderr
    return {entry["name"]: entry for entry in json.loads(ran.stdout)}


def test_the_groups_are_the_toolsets() -> None:
    assert GROUPS == registry.TOOLSETS


def test_a_profile_has_its_say_in_words_and_tools(home: Home) -> None:
    profile(home, f"{HEAD}Look closely.\n")
    body = asked(home, "--system-prompt-profile", "look")
    assert system(body) == f"{RULES}\n\nLook closely."
    assert names(body) == ["file_read", "file_glob", "tool_search"]
    assert "file_grep" not in json.dumps(body["tools"])
    states = listed(home, "-m", "openai/m", "--tools", TICKS, "--system-prompt-profile", "look")
    assert states["file_grep"]["state"] == "off" and "disabled by the profile look" in states["file_grep"]["reason"]
    assert states["todo_write"]["state"] == "lazy" and "profile look" in states["todo_write"]["reason"]
    assert states["file_read"]["state"] == "on"


def test_a_lazy_tool_of_a_profile_stays_lazy_for_allowed_tools(home: Home) -> None:
    profile(home, HEAD)
    body = asked(home, "--system-prompt-profile", "look", "--allowed-tools", "file_read,todo_write")
    assert names(body) == ["file_read", "tool_search"]


def test_a_profile_turns_nothing_on(home: Home) -> None:
    profile(home, "---\ntools: {default: eager}\n---\n")
    flags = ("--system-prompt-profile", "look", "--disallowed-tools", "file_grep")
    body = asked(home, *flags, ticks="file_read,file_grep,code_map")
    assert names(body) == ["file_read", "code_map"]


def test_a_custom_layout_and_words_of_one_run(home: Home) -> None:
    profile(home, "---\nlayout: custom\n---\nBe a critic.\n")
    assert system(asked(home, "--system-prompt-profile", "look", "--append-system-prompt", "Be kind.")) == (
        "Be a critic.\n\nBe kind."
    )


@pytest.mark.parametrize("way", ["flag", "file"])
def test_a_system_prompt_in_place_of_ours(home: Home, way: str) -> None:
    home.write("system.txt", "Be brief.\n")
    flags = ("--system-prompt", "Be brief.") if way == "flag" else ("--system-prompt-file", "system.txt")
    assert system(asked(home, *flags)) == "Be brief."


def test_builtin_is_no_profile(home: Home) -> None:
    assert system(asked(home, "--system-prompt-profile", "builtin")) == RULES


def test_a_profile_is_part_of_what_a_resume_goes_by(home: Home) -> None:
    profile(home, HEAD)
    asked(home, "--system-prompt-profile", "look")
    [started] = journal(home.out, "run_started")
    assert started["spec"]["profile"]["overrides"] == {"file_grep": "disabled", "file_index": "lazy"}
    assert any(path.endswith("system-prompts/look.md") for path in started["spec"]["files"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("---\ntools: {}\n", "look.md:1: its head does not end"),
        ("---\ntolls: {}\n---\n", "look.md:2"),
        ("---\nlayout: sideways\n---\n", "look.md:2"),
        ("---\ntools:\n  groups: {web: lazy}\n---\n", "look.md:3"),
        ("---\ntools:\n  groups:\n    files: on\n---\n", "look.md:4"),
        ("---\ntools:\n  overrides: {shel: lazy}\n---\n", "look.md:3"),
        ("---\ntools:\n  overrides: {file_*: lazy}\n---\n", "look.md:3"),
        ("---\ntools:\n  overrides: {tool_output: disabled}\n---\n", "look.md:3"),
        ("---\nlayout: custom\nlayout: overlay\n---\n", "look.md:3"),
        ("x" * (MAX_BYTES + 1), "look.md"),
    ],
)
def test_what_is_wrong_with_a_profile(home: Home, content: str, said: str) -> None:
    profile(home, content)
    ran = home.run("run", "Go", "-m", home.script({"text": "Done."}), "--system-prompt-profile", "look")
    assert ran.code == 2 and said in ran.stderr, ran.stderr
    assert home.run("tools", "--system-prompt-profile", "look").code == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--system-prompt-profile", "missing"), "there is no profile missing"),
        (("--system-prompt-profile", "../look"), "no name of a profile"),
        (("--system-prompt-profile", "x" * 65), "no name of a profile"),
        (("--system-prompt", " "), "the system prompt is empty"),
        (("--system-prompt", "a", "--system-prompt-file", "b"), "give one of them"),
    ],
)
def test_what_is_no_system_prompt(home: Home, flags: tuple[str, ...], said: str) -> None:
    profile(home, "Look.\n")
    ran = home.run("run", "Go", "-m", home.script({"text": "Done."}), *flags)
    assert ran.code == 2 and said in ran.stderr


def test_a_profile_of_just_that_size_is_read(home: Home) -> None:
    profile(home, "x" * MAX_BYTES)
    assert system(asked(home, "--system-prompt-profile", "look")).endswith("\n\n" + "x" * MAX_BYTES)

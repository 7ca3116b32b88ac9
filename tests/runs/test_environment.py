"""What the model of a run on code is told of where and when it works."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, journal, lines
from fakes.model_server import ModelServer, text
from fakes.recorded import play, record, told
from fakes.speaking import speaking
from remit.base.messages import Usage

DONE = {"text": "Done."}
EAST, WEST = {"TZ": "AAA-14"}, {"TZ": "AAA+12"}
"""Places that never have the same date."""

PROVIDERS = """\
version = 1
[mine]
protocol = "openai"
base_url = "URL"
[[mine.models]]
id = "m"
"""


def said(place: Path) -> list[str]:
    """What a session was told of it."""
    return [each["text"] for each in journal(place, "user_said") if each["reason"] == "environment"]


def date(place: Path) -> str:
    """As the model was told it last."""
    known = [each["environment"] for each in journal(place, "user_said") if each["environment"]]
    return str(known[-1]["date"])


def begun(home: Home, *flags: str, **keys: Any) -> None:
    ran = home.stream("Go", "-m", home.script(DONE, DONE, DONE), "-o", str(home.out), *flags, **keys)
    assert ran.code == 0, ran.stderr
    assert not [event for event in ran.events if event.get("isSynthetic")], "it is no event"


def continued(home: Home, *flags: str, **keys: Any) -> None:
    ran = home.stream("And on", "--resume", str(home.out), *flags, **keys)
    assert ran.code == 0, ran.stderr


def test_the_first_request_holds_it_before_the_prompt(home: Home) -> None:
    home.write(".git/HEAD", "ref: refs/heads/main\n")
    with ModelServer([text("Done.")]) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        ran = home.stream("Go", "-m", "mine/m", "-o", str(home.out), environ=EAST)
    assert ran.code == 0, ran.stderr
    [system, asked] = server.requests[0].body["messages"]
    assert asked["content"] == (
        f"<environment>\nWorking directory: {home.work}\nPlatform: {platform.system()} {platform.machine()}\n"
        f"Date: {date(home.out)}\nGit branch: main\n</environment>\nGo"
    )
    assert str(home.work) not in system["content"]


def test_it_comes_behind_what_files_say_and_without_that_too(home: Home) -> None:
    home.write("AGENTS.md", "Here.")
    ran = home.stream("Go", "-m", home.script(DONE), "-o", str(home.out))
    assert ran.code == 0, ran.stderr
    reasons = [each["reason"] for each in journal(home.out, "user_said")]
    assert reasons == ["instructions", "environment", ""]
    begun(home, "--no-instructions")
    assert [each["reason"] for each in journal(home.out, "user_said")] == ["environment", ""]


@pytest.mark.parametrize("tools", ["read_file,list_files,write_artifact", ""])
def test_a_run_on_documents_is_not_told(home: Home, tools: str) -> None:
    begun(home, "--tools", tools)
    assert said(home.out) == []
    shown = home.run("prompt", "--tools", tools, "--json")
    assert json.loads(shown.stdout)["environment"] == ""


def test_remit_prompt_shows_it(home: Home) -> None:
    begun(home, environ=EAST)
    [text] = said(home.out)
    assert home.run("prompt", environ=EAST).stdout.decode().endswith(f"\n\n{text}\n")
    assert json.loads(home.run("prompt", "--json", environ=EAST).stdout)["environment"] == text


def test_a_session_on_another_day_hears_the_date_alone(home: Home) -> None:
    begun(home, environ=EAST)
    continued(home, environ=EAST)
    assert len(said(home.out)) == 1
    continued(home, environ=WEST)
    first, then = said(home.out)
    assert then == f"<changed-environment>\nDate: {date(home.out)}\n</changed-environment>"
    assert date(home.out) not in first
    reasons = [each["reason"] for each in journal(home.out, "user_said")]
    assert reasons == ["environment", "", "", "environment", ""], "before the prompt"
    assert [each["spec"] for each in journal(home.out, "run_resumed")] == [None, None]


def test_a_session_elsewhere_hears_of_the_directory_and_the_branch(home: Home) -> None:
    home.write(".git/HEAD", "ref: refs/heads/main\n")
    begun(home, environ=EAST)
    home.write(".git/HEAD", "ref: refs/heads/side\n")
    continued(home, environ=EAST)
    other = home.path / "other"
    other.mkdir()
    continued(home, "-C", str(other), environ=EAST)
    assert said(home.out)[1:] == [
        "<changed-environment>\nGit branch: side\n</changed-environment>",
        f"<changed-environment>\nWorking directory: {other}\nGit branch: none\n</changed-environment>",
    ]


def test_a_copy_knows_what_its_origin_was_told(home: Home) -> None:
    begun(home, environ=EAST)
    for place, environ, more in ((home.path / "same", EAST, 0), (home.path / "later", WEST, 1)):
        flags = ("--resume", str(home.out), "--fork", "-o", str(place))
        ran = home.stream("And on", *flags, environ=environ)
        assert ran.code == 0, ran.stderr
        assert len(said(place)) == more
        [copied] = journal(place, "session_forked")
        assert copied["environment"]["directory"] == str(home.work)
    assert said(home.path / "later")[0].startswith("<changed-environment>\nDate: ")


def test_a_run_that_was_stopped_hears_it_with_its_next_request(home: Home) -> None:
    read = {"calls": [{"tool": "file_read", "arguments": {"filePath": "a.txt"}}]}
    home.write("a.txt", "a\n")
    script = home.script(read, DONE)
    ran = home.stream("Go", "-m", script, "-o", str(home.out), "--max-turns", "1", environ=EAST)
    assert ran.code == 7
    back = home.run("resume", str(home.out), "--max-turns", "5", environ=WEST)
    assert back.code == 0, back.stderr
    kinds = [each["type"] for each in journal(home.out)]
    assert len(said(home.out)) == 2 and date(home.out) in said(home.out)[1]
    later = len(kinds) - 1 - kinds[::-1].index("user_said")
    assert kinds[later - 1] == "run_resumed" and kinds[later + 1] == "turn_started"


def test_a_recording_is_played_on_any_day(home: Home) -> None:
    home.write(".git/HEAD", "ref: refs/heads/main\n")
    home.write("a.txt", "a\n")
    script = home.script({"calls": [{"tool": "file_read", "arguments": {"filePath": "a.txt"}}]}, DONE)
    path, ran = record(home, "Go", "-m", script, environ=EAST)
    home.write(".git/HEAD", "ref: refs/heads/side\n")
    for flags in ((), ("--live-tools", "-C", str(home.work))):
        played = play(home, path, *flags, environ=WEST)
        assert played.code == 0, played.stderr
        assert told(played) == told(ran)
        assert said(home.path / "played") == said(home.out)
    model = home.stream("Go", "-m", f"replay/{path}", "-o", str(home.path / "again"), environ=WEST)
    assert model.code == 0, model.stderr
    assert said(home.path / "again") == said(home.out)


def test_it_stays_when_older_turns_are_summed_up(home: Home) -> None:
    say, used = speaking("openai").say, Usage(9000, 5)
    replies = [say("One."), say("Two. " * 2000, usage=used), say("# Objective\nGo."), say("Three.")]
    with ModelServer(replies) as server:
        window = PROVIDERS.replace("URL", server.url) + "context_window = 10000\n"
        (home.path / "config" / "providers.toml").write_text(window)
        ran = home.stream("First", "-m", "mine/m", "-o", str(home.out), environ=EAST)
        assert ran.code == 0, ran.stderr
        for place in (WEST, WEST):
            ran = home.stream("And on", "--resume", str(home.out), environ=place)
            assert ran.code == 0, ran.stderr
    assert journal(home.out, "compacted")
    opening = server.requests[-1].body["messages"][1]["content"]
    assert f"\nDate: {date(home.out)}\n</environment>\nFirst" in opening and "# Objective" in opening
    assert len(said(home.out)) == 2


def test_agents_are_told_it_too(home: Home) -> None:
    task = {"tool": "task", "arguments": {"description": "look", "prompt": "LOOK"}}
    later = {"tool": "task", "arguments": {"description": "look", "prompt": "MORE", "task_id": "look"}}
    agents = [{"when": "LOOK", "turns": [{"text": "seen"}, {"text": "more"}]}]
    script = home.script({"calls": [task]}, DONE, {"calls": [later]}, DONE, agents=agents)
    ran = home.stream("Go", "-m", script, "--tools", "task=auto", "-o", str(home.out), environ=EAST)
    assert ran.code == 0, ran.stderr
    agent = home.out / "tasks" / "look"
    assert said(agent) == said(home.out)
    continued(home, environ=WEST)
    assert said(agent) == said(home.out) and len(said(agent)) == 2
    assert [each["reason"] for each in journal(agent, "user_said")] == ["environment", "", "environment", ""]


def test_a_client_hears_nothing_of_it(home: Home) -> None:
    lines_in = b'{"type":"user","message":{"role":"user","content":"Go"}}\n'
    flags = ("--input-format", "stream-json", "-m", home.script(DONE), "-o", str(home.out))
    ran = home.stream(*flags, stdin=lines_in)
    assert ran.code == 0, ran.stderr
    assert len(said(home.out)) == 1
    assert not [event for event in (*ran.events, *lines(home.out / "events.jsonl")) if event["type"] == "user"]


def test_a_name_of_a_directory_cannot_say_more_than_a_name(home: Home) -> None:
    place = home.work / "a\nDate: never"
    place.mkdir()
    begun(home, "-C", str(place))
    [text] = said(home.out)
    assert text.splitlines()[1] == f"Working directory: {home.work}/a\\nDate: never"


def test_no_git_is_run(home: Home) -> None:
    home.write(".git/HEAD", "ref: refs/heads/main\n")
    fake = home.write("bin/git", f"#!/bin/sh\ntouch {home.path}/ran\n")
    fake.chmod(0o755)
    begun(home, environ={"PATH": f"{fake.parent}:{os.environ['PATH']}"})
    assert "Git branch: main" in said(home.out)[0] and not (home.path / "ran").exists()

"""Batches in whole runs: asked about, recorded, played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, ended, journal, lines, settled
from fakes.recorded import differs, play, record, tamper, told

DONE = {"text": "Done."}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def batch(*entries: dict[str, Any]) -> dict[str, Any]:
    return call("batch", tool_calls=list(entries))


def test_an_ask_within_a_batch_stops_and_goes_on_with_the_pasted_approvals(home: Home) -> None:
    home.write("a.md", "A\n")
    parts = batch(
        {"tool": "write_artifact", "name": "first.md", "content": "1"},
        {"tool": "read_file", "path": "a.md"},
    )
    task = home.task(prompt="Go", tools={"batch": "auto", "write_artifact": "auto", "read_file": "ask"}, on_ask="stop")
    ran = home.stream("-t", task, "-m", home.script({"calls": [parts]}, DONE), "-o", str(home.out))
    result = ended(home.out, 4)
    assert [each["resource"] for each in result["pending"]] == ["a.md"]
    assert settled(home.out) == [] and not (home.out / "artifacts" / "first.md").exists()

    printed = ran.stderr[ran.stderr.index("version = 1\n") :].split("\nnext: ")[0]
    answers = home.write("answers.toml", printed)
    done = home.run("resume", str(home.out), "-a", str(answers), "--output-format", "stream-json")
    assert done.result == ended(home.out, 0), done.stderr
    assert settled(home.out) == [
        ("t1.c1.b1", "write_artifact", True),
        ("t1.c1.b2", "read_file", True),
        ("t1.c1", "batch", True),
    ]
    assert len(journal(home.out, "call_expanded")) == 1
    decided = lines(home.out / "decisions.jsonl")[-1]
    assert (decided["call"], decided["allowed"], decided["approval"]) == ("t1.c1.b2", True, f"{answers}:4")


@pytest.mark.parametrize("live", [(), ("--live-tools",)], ids=["stand-ins", "live"])
def test_a_batch_is_played_as_it_was_recorded(live: tuple[str, ...], home: Home) -> None:
    home.write("a.md", "A\n")
    home.write("b.md", "B\n")
    turn = {
        "calls": [
            batch(
                {"tool": "read_file", "path": "a.md"},
                {"tool": "write_artifact", "name": "r.md", "content": "R"},
                {"tool": "read_file", "path": "missing.md"},
                {"tool": "nothing"},
            ),
            call("read_file", path="a.md"),
            batch({"tool": "read_file", "path": "b.md"}, {"tool": "read_file", "path": "a.md"}),
        ]
    }
    task = home.task(prompt="Go", tools=dict.fromkeys(("batch", "read_file", "write_artifact"), "auto"))
    path, ran = record(home, "-t", task, "-m", home.script(turn, DONE))
    recorded = [each["call"]["key"] for each in lines(path) if "call" in each]
    keys = ["t1.c1.b1", "t1.c1.b2", "t1.c1.b3", "t1.c1.b4", "t1.c1", "t1.c2", "t1.c3.b1", "t1.c3.b2", "t1.c3"]
    assert recorded == keys
    played = play(home, path, *live)
    assert played.code == 0, played.stderr
    assert told(played) == told(ran)
    assert (home.path / "played" / "artifacts" / "r.md").read_text() == "R"

    def other(changed: list[dict[str, Any]]) -> None:
        part = next(each["call"] for each in changed if each.get("call", {}).get("key") == "t1.c3.b1")
        part["outcome"]["data"]["content"] = "C\n"
        part["content"] = json.dumps(part["outcome"])

    if live:
        assert "t1.c3.b1 (read_file) did not end as it was recorded" in differs(play(home, tamper(path, other), *live))

"""A resume goes by what the files of a run said when it started, unless it is told to read them again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fakes.cli import Home, Ran, ended, journal

LIST = {"calls": [{"tool": "list_files", "arguments": {}}]}
READ = {"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]}
DONE = {"text": "Done."}


def rules(decide: str) -> str:
    return f'version = 1\n[[rule]]\ntools = ["read_file"]\ndecide = "{decide}"\nwhy = "it says {decide}"\n'


def stopped(home: Home) -> Path:
    """A run that spent its turns before it read `a.md`; its task, its rules and its prompt are files."""
    home.write("a.md", "A\n")
    home.write("rules.toml", rules("auto"))
    home.write("prompt.txt", "Read it.")
    task = home.task(tools={"list_files": "auto", "read_file": "auto"}, limits={"turns": 1})
    flags = ["-t", task, "-p", "rules.toml", "--prompt-file", "prompt.txt"]
    ran = home.stream(*flags, "-m", home.script(LIST, READ, DONE), "-o", str(home.out))
    assert ran.result == ended(home.out, 7)
    return home.out


def resumed(home: Home, *flags: str) -> Ran:
    return home.run("resume", str(home.out), *flags, "--output-format", "stream-json")


def read_ok(home: Home) -> bool:
    [settled] = [record for record in journal(home.out, "call_settled") if record["tool"] == "read_file"]
    return bool(settled["outcome"]["ok"])


@pytest.mark.parametrize("reload", [False, True])
def test_a_changed_file_is_said_and_used_only_when_told(home: Home, reload: bool) -> None:
    stopped(home)
    home.write("rules.toml", rules("deny"))
    home.write("prompt.txt", "Something else.")
    ran = resumed(home, "--max-turns", "9", *(["--reload"] if reload else []))
    assert ran.result == ended(home.out, 0), ran.stderr
    told = [line for line in ran.stderr.splitlines() if "since the run started" in line]
    assert len(told) == 2 and any(str(home.work / "rules.toml") in line for line in told)
    used = "its present text is used" if reload else "the run goes on with what it said then"
    assert all(used in line for line in told)
    assert read_ok(home) is not reload
    # What was said to the model stays said.
    assert [record["text"] for record in journal(home.out, "user_said")] == ["Read it."]


def test_files_that_did_not_change_are_not_spoken_of(home: Home) -> None:
    stopped(home)
    ran = resumed(home, "--max-turns", "9", "--reload")
    assert ran.result == ended(home.out, 0)
    assert "since the run started" not in ran.stderr and read_ok(home)


def test_a_file_that_is_gone(home: Home) -> None:
    stopped(home)
    (home.work / "rules.toml").unlink()
    again = resumed(home, "--max-turns", "9", "--reload")
    assert (again.code, again.result["verdict"]) == (2, "usage")
    assert "rules.toml" in again.result["errors"][0]
    ran = resumed(home, "--max-turns", "9")
    assert ran.result == ended(home.out, 0)
    assert f"{home.work / 'rules.toml'} is gone or unreadable since the run started" in ran.stderr
    assert read_ok(home)


def test_reload_takes_limits_and_promises_of_the_task_as_it_is_now(home: Home) -> None:
    stopped(home)
    ticks = dict.fromkeys(("list_files", "read_file", "write_artifact"), "auto")
    home.task(tools=ticks, limits={"turns": 9}, expect={"artifacts": ["r.md"]})
    ran = resumed(home, "--reload")
    assert ran.result == ended(home.out, 3)
    assert ran.result["unmet"] == ["artifact r.md was not written"]


def test_another_model_takes_over(home: Home) -> None:
    stopped(home)
    ended_by = home.script(LIST, {"text": "Said by another."}, name="other.yaml", model="other")
    ran = resumed(home, "-m", ended_by, "--max-turns", "9")
    assert ran.result == ended(home.out, 0)
    assert ran.result["result"] == "Said by another." and ran.events[0]["model"] == "other"
    assert set(ran.result["modelUsage"]) == {"scripted/scripted", "scripted/other"}


def test_a_run_directory_may_move(home: Home) -> None:
    stopped(home)
    moved = home.path / "elsewhere"
    shutil.move(home.out, moved)
    ran = home.run("resume", str(moved), "--max-turns", "9", "--output-format", "stream-json")
    assert ran.result == ended(moved, 0)
    assert ran.result["run_dir"] == str(moved)

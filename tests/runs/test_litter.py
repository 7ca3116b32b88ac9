"""What a killed run leaves on disk, and who clears it away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.cli import Home
from remit.store.leavings import FOLDER, Leavings
from remit.workspace.sandbox_git import GIT_NOTE, Repositories

STRAY = ".remit-0123456789abcdef.tmp"
LOOKS = [
    ("list_files", {"path": "."}),
    ("file_read", {"filePath": "."}),
    ("file_index", {"path": "."}),
    ("file_glob", {"pattern": "**"}),
    ("file_glob", {"pattern": ".remit-*"}),
    ("file_grep", {"pattern": "stray"}),
    ("search_files", {"query": "stray"}),
]


@pytest.mark.parametrize(("tool", "arguments"), LOOKS, ids=[f"{tool} {each}" for tool, each in LOOKS])
def test_what_was_left_is_not_shown(home: Home, tool: str, arguments: dict[str, str]) -> None:
    home.write(f"sub/{STRAY}", "stray")
    home.write(STRAY, "stray")
    home.write("a.txt", "a")
    model = home.script({"calls": [{"tool": tool, "arguments": arguments}]}, {"text": "Done."})
    done = home.stream("Go", "-m", model, "--tools", tool)
    [result] = [event for event in done.events if event["type"] == "user"]
    assert not result["message"]["content"][0].get("is_error"), result
    assert STRAY not in str(result["message"]) and '"withheld":1' not in result["message"]["content"][0]["content"]
    assert (home.work / STRAY).exists()


def dead(home: Home, *notes: tuple[str, Path]) -> None:
    """As if a process that noted these had been killed."""
    leavings = Leavings(str(home.path / "state"))
    for kind, path in notes:
        leavings.note(kind, str(path.resolve()))  # type: ignore[arg-type]
    [note] = (home.path / "state" / FOLDER).iterdir()
    kept = note.read_bytes()
    leavings.close()
    note.write_bytes(kept)


def test_the_next_run_clears_away_what_was_left(home: Home) -> None:
    stray, kept = home.write(f"sub/{STRAY}", "stray"), home.write("sub/.remit-mine.tmp", "mine")
    private = home.path / "remit-private"
    (private / "tmp" / "deep").mkdir(parents=True)
    (private / "tmp" / "deep" / "file").write_text("x")
    dead(home, ("unfinished", home.work / "sub"), ("private", private))
    assert home.run("run", "Go", "-m", home.script({"text": "hi"})).code == 0
    assert not stray.exists() and not private.exists() and kept.exists()
    assert not os.listdir(home.path / "state" / FOLDER)


def test_the_next_run_puts_aside_what_commands_would_have_git_run(home: Home) -> None:
    store = home.work / ".git"
    store.mkdir()
    private = home.path / "remit-private"
    private.mkdir()
    repositories = Repositories([str(store)], str(private / GIT_NOTE))
    repositories.begin([str(home.work)])
    (store / "commondir").write_text("../evil")
    home.write("new/.git/config", "[core]\n\tfsmonitor = evil\n")
    repositories.close()
    dead(home, ("private", private))
    assert home.run("run", "Go", "-m", home.script({"text": "hi"})).code == 0
    assert not (store / "commondir").exists() and not (home.work / "new" / ".git" / "config").exists()
    assert not private.exists()


def test_a_run_whose_commands_are_confined_is_killed_and_the_next_one_tidies(home: Home, tmp_path: Path) -> None:
    temp = tmp_path / "temp"
    temp.mkdir()
    flags = ("--tools", "shell=auto", "--output-format", "stream-json")
    call = {"tool": "shell", "arguments": {"command": "echo up; sleep 600", "timeoutSec": 900}}
    model = home.script({"calls": [call]}, {"text": "Done."})
    environ = {"TMPDIR": str(temp)}
    with home.started("run", "Go", "-m", model, *flags, environ=environ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if b'"tool_use"' in line:
                break
        assert len([each for each in temp.iterdir() if each.name.startswith("remit-")]) == 1
        process.kill()
        process.wait()
    assert list(temp.iterdir())
    assert home.run("run", "Go", "-m", home.script({"text": "hi"}), environ=environ).code == 0
    assert not list(temp.iterdir())


def test_a_run_that_edits_leaves_no_word_of_it(home: Home) -> None:
    write = {"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "a"}}
    model = home.script({"calls": [write]}, {"text": "Done."})
    assert home.run("run", "Go", "-m", model, "--tools", "file_write=auto").code == 0
    assert (home.work / "a.txt").read_text() == "a" and not os.listdir(home.path / "state" / FOLDER)

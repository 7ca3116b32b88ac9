"""The file tools in whole runs: what they change, what rules keep from them, and what a resumed run still knows."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, ended, journal, settled

DRIVER = Path(__file__).parents[1] / "crash" / "driver.py"
DONE = {"text": "Done."}
TOOLS = dict.fromkeys(("file_read", "file_write", "file_edit", "file_apply_patch"), "auto")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def turn(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"calls": list(calls)}


def edit(old: str, new: str, path: str = "a.py") -> dict[str, Any]:
    return call("file_edit", filePath=path, oldString=old, newString=new)


def patch(*lines: str) -> dict[str, Any]:
    return call("file_apply_patch", patchText="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def refused(out: Path) -> list[tuple[str, str]]:
    """(key, code) of the calls that failed."""
    outcomes = [(each["key"], each["outcome"]) for each in journal(out, "call_settled")]
    return [(key, outcome["error"]["code"]) for key, outcome in outcomes if not outcome["ok"]]


def test_reading_writing_editing_and_patching(home: Home) -> None:
    """Calls of one turn that write one file come one after the other, and know of each other."""
    home.write("a.py", "one = 1\r\ntwo = 2\r\n")
    script = home.script(
        turn(call("file_read", filePath="a.py"), call("file_read", filePath=".")),
        turn(
            edit("one = 1", "one = 10"),
            edit("two = 2", "two = 20"),
            call("file_write", filePath="n/b.py", content="b\n"),
        ),
        turn(
            patch(
                "*** Update File: a.py",
                " one = 10",
                "+half",
                "*** Update File: n/b.py",
                "*** Move to: c.py",
                "-b",
                "+c",
            )
        ),
        turn(call("file_read", filePath="c.py")),
        DONE,
    )
    ran = home.stream("-t", home.task(prompt="Go", tools=TOOLS), "-m", script, "-o", str(home.out))
    assert ran.code == 0, ran.stderr
    assert all(ok for _, _, ok in settled(home.out)), refused(home.out)
    assert (home.work / "a.py").read_bytes() == b"one = 10\r\nhalf\r\ntwo = 20\r\n"
    assert (home.work / "c.py").read_bytes() == b"c\n"
    assert not (home.work / "n/b.py").exists()
    shown = [each["content"] for each in journal(home.out, "call_settled")]
    assert shown[0] == "1: one = 1\n2: two = 2\n3: \n[line ends CRLF]\n"
    assert shown[2].startswith("edited a.py: +1 -1 lines\n")
    assert shown[-1] == "1: c\n2: \n"


def test_rules_hold_for_every_path_of_a_call(home: Home) -> None:
    """What may not be written is not, by whatever name; and a patch of which one part is refused does nothing."""
    home.write("a.py", "a\n")
    home.write(".env", "KEY=1\n")
    home.write("docs/x.md", "x\n")
    home.write(".remit/policy.toml", "version = 1\n")
    (home.work / "link").symlink_to(".env")
    script = home.script(
        turn(call("file_write", filePath=".remit/policy.toml", content="x")),
        turn(call("file_write", filePath="sub/.env", content="x")),
        turn(edit("KEY=1", "KEY=2", "link")),
        turn(patch("*** Update File: a.py", "-a", "+b", "*** Delete File: docs/x.md")),
        turn(patch("*** Update File: a.py", "*** Move to: docs/y.py", "-a", "+b")),
        turn(call("file_write", filePath="sub/.GIT/hooks/pre-commit", content="x")),
        turn(call("file_read", filePath=str(home.work / ".env"))),
        turn(call("file_write", filePath="../out.txt", content="x")),
        DONE,
    )
    task = home.task(prompt="Go", tools=TOOLS)
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out), "--deny", "file_apply_patch:path=docs/**")
    assert ran.code == 0, ran.stderr
    codes = [code for _, code in refused(home.out)]
    assert codes == ["denied"] * 7 + ["path_refused"]
    assert (home.work / "a.py").read_text() == "a\n"
    assert (home.work / ".env").read_text() == "KEY=1\n"
    assert (home.work / ".remit/policy.toml").read_text() == "version = 1\n"
    assert not (home.path / "out.txt").exists()


def test_writing_is_asked_for_unless_it_is_allowed(home: Home) -> None:
    script = home.script(turn(call("file_write", filePath="a", content="x")), DONE)
    task = home.task(prompt="Go", tools={**TOOLS, "file_write": "ask"}, on_ask="stop")
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out))
    assert ran.code == 4
    entry = next(event["approval"] for event in ran.events if event.get("subtype") == "permission_asked")
    (home.path / "approvals.toml").write_text(f"version = 1\n{entry}")
    assert 'path = "a"' in entry
    resumed = home.run("resume", str(home.out), "-a", str(home.path / "approvals.toml"))
    assert resumed.code == 0, resumed.stderr
    assert (home.work / "a").read_text() == "x"


STALE = [
    turn(call("file_read", filePath="a.py")),
    turn(edit("one", "1")),
    turn(call("file_read", filePath="a.py", limit=100)),
    turn(edit("one", "uno")),
    DONE,
]


@pytest.mark.parametrize("how", ["after", "torn"])
def test_a_resumed_run_knows_what_it_had_read(tmp_path: Path, how: str) -> None:
    """It dies after it has read a file, the file changes, and the edit that follows is refused once."""
    numbers = {}
    for attempt in ("whole", "killed"):
        place = tmp_path / attempt
        place.mkdir()
        home = Home(place)
        home.write("a.py", "one\ntwo\n")
        task, model, out = home.task(prompt="Go", tools=TOOLS), home.script(*STALE), home.out
        number = numbers.get("read", 1000)
        command = [sys.executable, str(DRIVER), str(number), how, task, model, str(out)]
        done = subprocess.run(command, cwd=home.work, env=home.environ, capture_output=True, timeout=60, check=False)
        if attempt == "whole":
            assert done.returncode == 0, done.stderr.decode()
            kinds = [record["type"] for record in journal(out)]
            # Torn: the record after it is lost, and no more than that.
            numbers["read"] = kinds.index("call_settled") + 1 + (how == "torn")
            assert (home.work / "a.py").read_text() == "uno\ntwo\n" or refused(out)
            continue
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        home.write("a.py", "one\ntwo\nthree\n")
        resumed = home.run("resume", str(out))
        assert resumed.code == 0, resumed.stderr
        assert ended(out, 0)["verdict"] == "done"
        assert refused(out) == [("t2.c1", "file_changed")]
        assert (home.work / "a.py").read_text() == "uno\ntwo\nthree\n"

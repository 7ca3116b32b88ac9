"""Source in whole runs: outlines by what it defines, and what is kept of it."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.cli import Home, journal, settled

DONE = {"text": "Done."}


def turn(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments}]}


def test_an_outline_by_what_a_file_defines(home: Home) -> None:
    home.write("a.py", "import os\n\n\ndef one(part: int) -> str:\n    return os.sep\n")
    home.write("b.txt", "text\n")
    script = home.script(turn("file_index", path="a.py"), turn("file_index", path="b.txt"), DONE)
    task = home.task(prompt="Go", tools={"file_index": "auto"})
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out))
    assert ran.code == 0, ran.stderr
    assert [each["content"] for each in journal(home.out, "call_settled")] == [
        "imports [1]\n  os [1]\nfunctions [4-5]\n  def one(part: int) -> str [4-5]\n",
        "lines [1]\n  text [1]\n",
    ]


def test_what_is_kept_is_remits_own(home: Home) -> None:
    """Neither tools nor commands get to see it, wherever it lies."""
    home.environ["REMIT_CACHE_DIR"] = str(home.work / "kept")
    kept = home.write("kept/facts-1.db", "as it was")
    command = "cat kept/facts-1.db; echo other > kept/facts-1.db; echo more > kept/more"
    script = home.script(turn("file_read", filePath="kept/facts-1.db"), turn("shell", command=command), DONE)
    task = home.task(prompt="Go", tools={"file_read": "auto", "shell": "auto"})
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out))
    assert settled(home.out)[0][2] is False
    missing = {name: layer for name, layer in ran.events[0]["layers"].items() if layer.startswith("not held")}
    if missing:
        pytest.skip(f"this machine cannot confine commands: {missing}")
    assert "as it was" not in journal(home.out, "call_settled")[1]["content"]
    assert kept.read_text() == "as it was"
    assert not (home.work / "kept" / "more").exists()

"""What people see of a run on their terminal."""

from __future__ import annotations

import os
import pty
import subprocess

from fakes.cli import REMIT, Home


def on_terminal(home: Home, *args: str) -> str:
    ours, theirs = pty.openpty()
    environ = {**home.environ, "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(
        [*REMIT, "run", *args], cwd=home.work, env=environ, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        assert process.wait(30) == 0
    os.close(ours)
    return seen.decode()


def test_a_terminal_says_where_the_run_stands(home: Home) -> None:
    wait = {"calls": [{"tool": "shell", "arguments": {"command": "sleep 1.5"}}]}
    seen = on_terminal(home, "go", "-m", home.script(wait, {"text": "Done."}), "--tools", "shell=auto")
    assert "turn 1, shell, " in seen
    # What was drawn is taken away before the next line, and nothing of it is left at the end.
    assert seen.rindex("turn 1") < seen.rindex("\x1b[K") < seen.index("done (exit 0)")


def test_verbose_tells_words_and_results(home: Home) -> None:
    home.write("a.md", "text")
    turns = [
        {"text": "I look.\nClosely.", "calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]},
        {"text": "Done."},
    ]
    ran = home.run("run", "go", "-m", home.script(*turns), "--tools", "read_file", "-v")
    assert "| I look.\n| Closely.\n" in ran.stderr
    assert "  read_file: ok, " in ran.stderr
    plain = home.run("run", "go", "-m", home.script(*turns), "--tools", "read_file")
    assert "I look" not in plain.stderr
    assert "\x1b" not in plain.stderr

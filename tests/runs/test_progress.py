"""What people see of a run on their terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import termios

import pytest

from fakes.cli import REMIT, Home


def on_terminal(home: Home, *args: str, stdout: int | None = None, term: str = "xterm", columns: int = 80) -> str:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    environ = {**home.environ, "TERM": term}
    with subprocess.Popen(
        [*REMIT, "run", *args],
        cwd=home.work,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
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


def left_of(seen: str) -> list[str]:
    """The rows that stand on the terminal in the end."""
    rows = []
    for line in re.sub(r"\x1b\[\d*m", "", seen).split("\r\n"):
        row = ""
        for part in re.split(r"(\r|\x1b\[K)", line):
            # Wherever the line is cleared, it is from its beginning.
            row = "" if part in ("\r", "\x1b[K") else row + part
        rows.append(row)
    return rows


SLOW = {"delay": 1.3, "text": "# Heading\n\nThe answer."}


@pytest.mark.parametrize("columns", [20, 80])
@pytest.mark.parametrize("flags", [[], ["-v"], ["--output-format", "json"], ["--output-format", "stream-json"]])
def test_what_comes_to_stdout_has_lines_of_its_own(flags: list[str], columns: int, home: Home) -> None:
    seen = on_terminal(home, "go", "-m", home.script(SLOW), *flags, columns=columns)
    assert "turn 1, 0 tokens" in seen
    rows = left_of(seen)
    assert not [row for row in rows if "0 tokens" in row]
    if "--output-format" in flags:
        assert [json.loads(row)["type"] for row in rows if row.startswith("{")][-1] == "result"
    else:
        assert rows.index("# Heading") == rows.index("The answer.") - 2


def test_where_stdout_is_kept_the_line_stays_until_the_end(home: Home) -> None:
    target = home.path / "stdout"
    with target.open("wb") as file:
        seen = on_terminal(home, "go", "-m", home.script(SLOW), "--output-format", "stream-json", stdout=file.fileno())
    assert "turn 1, 0 tokens" in seen and not [row for row in left_of(seen) if "0 tokens" in row]
    assert json.loads(target.read_text().splitlines()[-1])["type"] == "result"


def test_a_terminal_that_cannot_clear_lines_has_none_of_it(home: Home) -> None:
    seen = on_terminal(home, "go", "-m", home.script(SLOW), term="dumb")
    assert "0 tokens" not in seen and "\x1b" not in seen


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

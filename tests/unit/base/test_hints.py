"""Hints of error texts name tools that the model is offered."""

from __future__ import annotations

from pathlib import Path

import pytest

import remit
from remit.base.claude_names import told_text
from remit.base.hints import CLAUSE, HINTED, fitting_hints

MISSING = "a.txt does not exist; list_files shows what does"


@pytest.mark.parametrize(
    ("text", "tools", "told"),
    [
        (MISSING, {"list_files"}, MISSING),
        (MISSING, {"file_glob", "file_read"}, "a.txt does not exist; file_glob shows what does"),
        (MISSING, {"file_read"}, "a.txt does not exist"),
        ("a is a directory; read_file reads a file; b", {"file_read"}, "a is a directory; file_read reads a file; b"),
        ("a is a directory; read_file reads a file; b", set(), "a is a directory; b"),
        ("no; max_bytes limits this", set(), "no; max_bytes limits this"),
        ("no", set(), "no"),
    ],
)
def test_another_is_named_or_none(text: str, tools: set[str], told: str) -> None:
    assert fitting_hints(text, tools) == told


def test_every_tool_of_a_hint_is_known() -> None:
    root = Path(remit.__file__).parent
    tools = {path.stem for path in root.glob("tools/*/*.py")}
    texts = [path.read_text() for room in ("tools", "workspace", "net") for path in root.glob(f"{room}/**/*.py")]
    named = {found[1] for text in texts for found in CLAUSE.finditer(text)}
    assert (named & tools) <= HINTED and "list_files" in named


@pytest.mark.parametrize(
    ("tool", "text", "told"),
    [
        (
            "file_read",
            "file_read: a.txt does not exist; file_glob shows what does",
            "Read: a.txt does not exist; Glob shows what does",
        ),
        ("file_read", "docs/file_read.md does not exist", "docs/file_read.md does not exist"),
        ("shell", "shell on rm x is denied: the shell is old", "Bash on rm x is denied: the shell is old"),
        ("shell", "the task ticks shell as ask", "the task ticks Bash as ask"),
        ("write_artifact", "write_artifact: no; file_read shows it", "write_artifact: no; Read shows it"),
    ],
)
def test_a_text_for_a_client_names_tools_as_it_does(tool: str, text: str, told: str) -> None:
    assert told_text(tool, text) == told

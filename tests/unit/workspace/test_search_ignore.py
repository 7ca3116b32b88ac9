"""The patterns of .gitignore against git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.workspace.search_ignore import MAX_FILE_BYTES, read_ignore

GIT = shutil.which("git")


@pytest.mark.parametrize(
    ("lines", "path", "word"),
    [
        ("*.log", "a/b.log", True),
        ("*.log\n!b.log", "a/b.log", False),
        ("!b.log\n*.log", "a/b.log", True),
        ("/a", "a", True),
        ("/a", "b/a", None),
        ("a/b", "a/b", True),
        ("a/b", "x/a/b", None),
        ("**/a/b", "x/a/b", True),
        ("a/**", "a/x/y", True),
        ("a/**", "a", None),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a", "x/a", True),
        ("a/", "a", None),
        ("# a", "# a", None),
        ("\\# a", "# a", True),
        ("\\!a", "!a", True),
        ("a  ", "a", True),
        ("a\\ ", "a ", True),
        ("a\r", "a", True),
        ("[ab]", "b", True),
        ("[!ab]", "b", None),
        ("[^ab]", "c", True),
        ("[a-c]x", "bx", True),
        ("[]]", "]", True),
        ("[[:digit:]]", "7", True),
        ("[[:digit:]]", "a", None),
        ("a[", "a[", None),
        ("a\\", "a\\", None),
        ("?", "é", None),
        ("??", "é", True),
        ("", "a", None),
        ("/", "a", None),
        ("!", "a", None),
        ("\ufeff*.log", "a.log", True),
    ],
)
def test_what_is_ignored(lines: str, path: str, word: bool | None) -> None:
    rules = read_ignore(lines.encode())
    assert rules.ignores(path, is_directory=False) is word
    lead, slash, base = path.rpartition("/")
    assert word is None or rules.touched(lead + slash, [base])


def test_directories_only() -> None:
    rules = read_ignore(b"build/")
    assert rules.ignores("x/build", is_directory=True) is True
    assert rules.ignores("x/build", is_directory=False) is None


def test_a_long_file_is_read_in_part() -> None:
    rules = read_ignore(b"#" * (MAX_FILE_BYTES - 3) + b"\na\nb\n")
    assert rules.ignores("a", is_directory=False) is True
    assert rules.ignores("b", is_directory=False) is None


def test_no_pattern_takes_long() -> None:
    rules = read_ignore(b"*a*a*a*a*a*a*a*a*a*a*a*b\n**/a/**/a/**/a/**/a/**/b\n[a]*[a]*[a]*[a]*[a]*b\n")
    began = time.process_time()
    assert rules.ignores("a/" * 500 + "a" * 250, is_directory=False) is None
    assert time.process_time() - began < 1


PARTS = ["a", "b", "ab", "a.b", "*", "?", "**", "a*", "*b", "[ab]", "[!a]", "a?b", "*.b", "\\a"]
patterns = st.builds(
    lambda keep, lead, parts, tail: keep + lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " "]),
)
names = st.lists(st.sampled_from(["a", "b", "ab", "a.b", "ba", "axb"]), min_size=1, max_size=3)


@pytest.mark.skipif(GIT is None, reason="git is not installed")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(patterns, min_size=1, max_size=4), st.lists(names, min_size=1, max_size=6))
def test_against_git(tmp_path: Path, lines: list[str], paths: list[list[str]]) -> None:
    assert GIT is not None
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1"}
    if not (tmp_path / ".git").exists():
        subprocess.run([GIT, "init", "-q", "."], cwd=tmp_path, env=environment, check=True)
    text = "\n".join(lines).encode()
    (tmp_path / ".gitignore").write_bytes(text)
    rules = read_ignore(text)

    def ignored(parts: list[str]) -> bool:
        """As a walk comes to it: what lies in an ignored directory is ignored, whatever takes it back."""
        above = (bool(rules.ignores("/".join(parts[:depth]), True)) for depth in range(1, len(parts)))
        return any(above) or bool(rules.ignores("/".join(parts), False))

    asked = b"".join("/".join(parts).encode() + b"\0" for parts in paths)
    command = [GIT, "check-ignore", "--no-index", "-z", "--stdin"]
    # It ends with 1 where nothing is ignored.
    said = subprocess.run(command, cwd=tmp_path, env=environment, input=asked, capture_output=True, check=False)
    assert said.returncode in (0, 1), said.stderr
    by_git = {name.decode() for name in said.stdout.split(b"\0") if name}
    assert {"/".join(parts) for parts in paths if ignored(parts)} == by_git

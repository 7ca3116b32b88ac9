"""Which files git tracks, told from indexes that git itself writes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fakes.programs import needs
from remit.workspace.git_index import MAX_BYTES, tracked


def git(top: Path, *words: str) -> None:
    needs("git")
    subprocess.run(["git", "-C", str(top), *words], check=True, capture_output=True)


def repository(top: Path, *names: str) -> None:
    git(top, "init", "-q")
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    git(top, "add", "-f", ".")


@pytest.mark.parametrize(
    ("name", "folder", "seen"),
    [
        (".env", False, True),
        ("a/.env", False, True),
        ("a", True, True),
        ("b/.aws", True, True),
        ("b", True, True),
        ("b/.env", False, False),
        ("c.env", False, False),
        ("a/.en", False, False),
        (".aws", True, False),
    ],
)
def test_what_is_tracked(tmp_path: Path, name: str, folder: bool, seen: bool) -> None:
    repository(tmp_path, ".env", "a/.env", "abc.env", "b/.aws/config")
    place = str(tmp_path / name)
    assert tracked(str(tmp_path / ".git"), [(place, folder)]) == ([place] if seen else [])


def test_entries_with_more_flags(tmp_path: Path) -> None:
    repository(tmp_path, "x")
    (tmp_path / ".env").write_text("x")
    git(tmp_path, "add", "-N", ".env")
    git(tmp_path, "update-index", "--skip-worktree", "x")
    places = [(str(tmp_path / name), False) for name in (".env", "x")]
    assert tracked(str(tmp_path / ".git"), places) == [path for path, _ in places]


def test_what_lies_elsewhere_is_not_tracked(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    repository(tmp_path / "inner", ".env")
    assert tracked(str(tmp_path / "inner" / ".git"), [(str(tmp_path / ".env"), False)]) == []
    assert tracked(str(tmp_path / ".git"), [(str(tmp_path / ".env"), False)]) == []


@pytest.mark.parametrize(("size", "seen"), [(MAX_BYTES, True), (MAX_BYTES + 1, False)])
def test_an_index_is_looked_at_up_to_a_size(tmp_path: Path, size: int, seen: bool) -> None:
    repository(tmp_path, ".env")
    os.truncate(tmp_path / ".git" / "index", size)
    assert bool(tracked(str(tmp_path / ".git"), [(str(tmp_path / ".env"), False)])) is seen


def test_packed_names_are_not_read(tmp_path: Path) -> None:
    repository(tmp_path, ".env")
    git(tmp_path, "update-index", "--index-version", "4")
    assert tracked(str(tmp_path / ".git"), [(str(tmp_path / ".env"), False)]) == []

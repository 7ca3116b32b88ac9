"""Copies of examples: one for all runs, which no run has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.commands.example_copy import kept_copy


@pytest.fixture
def example(tmp_path: Path) -> Path:
    place = tmp_path / "program" / "sales"
    (place / "docs").mkdir(parents=True)
    (place / "task.yaml").write_text("version: 1\n")
    (place / "docs" / "a.md").write_text("A\n")
    return place


def test_one_copy_serves_every_run(example: Path, tmp_path: Path) -> None:
    kept = tmp_path / "data" / "kept"
    first, second = (kept_copy(str(example), str(kept)) for _ in range(2))
    assert first == second and Path(first).name == "sales"
    assert Path(first, "docs", "a.md").read_text() == "A\n"
    assert [each.name for each in kept.iterdir()] == [Path(first).parent.name]
    assert kept.stat().st_mode & 0o077 == 0


def test_another_version_has_another_copy(example: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first = kept_copy(str(example), str(kept))
    (example / "docs" / "a.md").write_text("B\n")
    second = kept_copy(str(example), str(kept))
    assert [Path(each, "docs", "a.md").read_text() for each in (first, second)] == ["A\n", "B\n"]


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_a_copy_that_was_changed_is_left_and_not_used(change: str, example: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first = Path(kept_copy(str(example), str(kept)))
    if change == "edited":
        (first / "task.yaml").write_text("version: 1\nprompt: another\n")
    elif change == "added":
        (first / "more.md").write_text("")
    else:
        (first / "task.yaml").unlink()
    there = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    second = Path(kept_copy(str(example), str(kept)))
    assert second != first and (second / "task.yaml").read_text() == "version: 1\n"
    assert {path: path.read_bytes() for path in first.rglob("*") if path.is_file()} == there


def test_without_a_place_it_lies_among_temporary_files(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    copy = kept_copy(str(example), str(tmp_path / "file" / "kept"))
    assert Path(copy).is_relative_to(tmp_path / "temp") and Path(copy, "task.yaml").is_file()

"""Generated files: in step with the program, and said to be stale when they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.cli import Home
from remit.commands.generate import RUN_FLAGS, TASK_SCHEMA, USAGE, differences, generated, main, present
from remit.commands.manual import PAGES

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with everything in step."""
    (tmp_path / "pyproject.toml").touch()
    assert main([str(tmp_path)]) == 0
    return tmp_path


def test_the_repository_is_in_step() -> None:
    assert differences(generated(), present(str(ROOT))) == []


def test_writes_every_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} - {"pyproject.toml"}
    scripts = {"completions/_remit", "completions/remit.bash", "completions/remit.fish"}
    assert names == {*scripts, *(f"man/{file}" for file in PAGES), TASK_SCHEMA, RUN_FLAGS}
    assert main(["--check", str(root)]) == 0
    assert capsys.readouterr().out == ""


def test_a_stale_file_is_named_with_what_differs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = root / "man" / "remit-run.1"
    page.write_text(page.read_text(encoding="utf-8").replace("Model requests.", "Requests."), encoding="utf-8")
    assert main(["--check", str(root)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "man/remit-run.1: stale"
    assert "    -Requests." in said
    assert "    +Model requests." in said
    assert said[-1] == f"write them anew: python -m remit.commands.generate {root}"


def test_a_long_difference_is_cut(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "man" / "remit.1").write_text("", encoding="utf-8")
    assert main(["--check", str(root)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 1 + 12 + 1


def test_missing_and_foreign_files_are_out_of_step(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "completions" / "_remit").unlink()
    (root / "man" / "remit-old.1").touch()
    assert main(["--check", str(root)]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [
        "completions/_remit: missing",
        "man/remit-old.1: not made by this program; remove it",
    ]


def test_nothing_generated_yet_is_all_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out.count(": missing\n") == 3 + len(PAGES) + 2


@pytest.mark.parametrize("argv", [[], ["a", "b"], ["--check"], ["--chekc"]])
def test_a_bad_command_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err == f"{USAGE}\n"


def test_another_directory_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "there is no pyproject.toml" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_same_from_every_process(root: Path) -> None:
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-m", "remit.commands.generate", "--check", str(root)],
            env={**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": "40", "HOME": "/nonexistent", "LC_ALL": "C"},
            check=True,
        )


def test_the_kept_schema_is_the_one_that_is_printed(tmp_path: Path) -> None:
    assert Home(tmp_path).run("task", "schema").stdout == (ROOT / TASK_SCHEMA).read_bytes()

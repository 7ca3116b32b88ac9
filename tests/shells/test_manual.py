"""The manual as real formatters read it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fakes.programs import needs
from remit.commands.manual import PAGES
from remit.commands.manual.page import roff


def source_of(file: str, directory: Path) -> Path:
    path = directory / file
    path.write_text(roff(PAGES[file](), "0.1.0"), encoding="ascii")
    return path


@pytest.mark.parametrize("file", PAGES)
def test_mandoc_has_no_complaint(file: str, tmp_path: Path) -> None:
    mandoc = needs("mandoc")
    ran = subprocess.run(
        [mandoc, "-T", "lint", "-W", "warning", source_of(file, tmp_path)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("file", PAGES)
def test_man_shows_every_section(file: str, tmp_path: Path) -> None:
    man = needs("man")
    ran = subprocess.run(
        [man, "--warnings", "-l", source_of(file, tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANPAGER": "cat", "MANWIDTH": "100"},
    )
    assert ran.stderr == ""
    page = PAGES[file]()
    lines = ran.stdout.splitlines()
    for section in page.sections:
        assert section.title in lines
    assert any(line.split()[:1] == [page.name] for line in lines), "the NAME line"

"""The line that says where a run stands, and what stays of it on a terminal."""

from __future__ import annotations

import os
import pty

import pytest

from remit.stream.human import Human
from remit.stream.progress import CLEAR, Standing, progress_line

STANDING = Standing(3, 12_345, 0.5, True, 75.0)


@pytest.mark.parametrize(
    ("standing", "running", "line"),
    [
        (STANDING, [], "turn 3, 12,345 tokens, $0.5000, 1:15 min"),
        (STANDING, ["shell"], "turn 3, shell, 12,345 tokens, $0.5000, 1:15 min"),
        (STANDING, ["shell", "file_read", "x"], "turn 3, shell and 2 more, 12,345 tokens, $0.5000, 1:15 min"),
        (STANDING._replace(usd_known=False), [], "turn 3, 12,345 tokens, $0.5000 and more, 1:15 min"),
        (STANDING._replace(usd=0.0, usd_known=False, seconds=9.9), [], "turn 3, 12,345 tokens, 9 s"),
    ],
)
def test_the_line(standing: Standing, running: list[str], line: str) -> None:
    assert progress_line(standing, running, 200) == line


def test_it_never_wraps() -> None:
    assert len(progress_line(STANDING, ["a" * 100], 20)) == 19


def test_it_is_drawn_anew_and_taken_away() -> None:
    ours, theirs = pty.openpty()
    try:
        human = Human(theirs, live=True)
        human.show(STANDING)
        human.show(STANDING)
        human.clear()
        human.clear()
        os.write(theirs, b"over")
        drawn = b""
        # A terminal hands on what is written in pieces.
        while b"over" not in drawn:
            drawn += os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
    assert drawn.decode().partition("over")[0] == f"{CLEAR}turn 3, 12,345 tokens, $0.5000, 1:15 min{CLEAR}"


@pytest.mark.parametrize(("quiet", "live"), [(True, True), (False, False)])
def test_it_is_for_terminals_that_want_it(quiet: bool, live: bool) -> None:
    ours, theirs = os.pipe()
    try:
        Human(theirs, quiet=quiet, live=live).show(STANDING)
        os.close(theirs)
        assert os.read(ours, 4096) == b""
    finally:
        os.close(ours)

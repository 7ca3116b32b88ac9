"""The line that says where a run stands, and what stays of it on a terminal."""

from __future__ import annotations

import os
import pty
import termios

import pytest

from remit.base.events import Assistant, Result
from remit.stream.human import Human
from remit.stream.progress import CLEAR, Standing, progress_line

STANDING = Standing(3, 12_345, 0.5, True, 75.0)
CALL = Assistant(message={"content": [{"type": "tool_use", "id": "c1", "name": "a\x1bb\x1bc\x1bd\x1b", "input": {}}]})
RESULT = Result(
    subtype="success", is_error=False, verdict="done", exit_code=0, duration_ms=1, duration_api_ms=1, num_turns=1
)


def until_over(terminal: int) -> bytes:
    """What was drawn until "over": a terminal hands on what is written in pieces."""
    drawn = b""
    while b"over" not in drawn:
        drawn += os.read(terminal, 4096)
    return drawn


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
        drawn = until_over(ours)
    finally:
        os.close(ours)
        os.close(theirs)
    assert drawn.decode().partition("over")[0] == f"{CLEAR}turn 3, 12,345 tokens, $0.5000, 1:15 min{CLEAR}"


def test_control_characters_in_the_name_of_a_tool_do_not_make_it_wrap() -> None:
    ours, theirs = pty.openpty()
    try:
        termios.tcsetwinsize(theirs, (24, 30))
        human = Human(theirs, live=True)
        human.on_event(CALL, b"")
        human.show(STANDING)
        os.write(theirs, b"over")
        drawn = until_over(ours)
    finally:
        os.close(ours)
        os.close(theirs)
    line = drawn.decode().rpartition(CLEAR)[2].removesuffix("over")
    assert line == r"turn 3, a\x1bb\x1bc\x1bd\x1b,"


def test_after_the_result_it_is_not_drawn() -> None:
    ours, theirs = os.pipe()
    try:
        human = Human(theirs, live=True)
        human.on_event(RESULT, b"")
        told = os.read(ours, 4096)
        human.show(STANDING)
        human.on_event(CALL, b"")
        human.show(STANDING)
        os.close(theirs)
        assert told.startswith(b"done (exit 0)")
        # A further prompt of the session has begun.
        assert os.read(ours, 4096).count(b"turn 3") == 1
    finally:
        os.close(ours)


@pytest.mark.parametrize(("quiet", "live"), [(True, True), (False, False)])
def test_it_is_for_terminals_that_want_it(quiet: bool, live: bool) -> None:
    ours, theirs = os.pipe()
    try:
        Human(theirs, quiet=quiet, live=live).show(STANDING)
        os.close(theirs)
        assert os.read(ours, 4096) == b""
    finally:
        os.close(ours)

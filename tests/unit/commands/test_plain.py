"""What is read without typer is what typer reads."""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from remit.commands.plain import plain_run
from remit.commands.run import run
from remit.commands.run_flags import DEFAULTS, FLAGS

TAKEN: list[dict[str, Any]] = []


@wraps(run)
def take(**given: Any) -> None:
    TAKEN.append(given)


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(take)
COMMAND: Any = typer.main.get_command(app)


def by_typer(argv: list[str]) -> dict[str, Any] | None:
    """The parameters that typer hands to the command, None where it refuses the line."""
    TAKEN.clear()
    with suppress(Exception):
        COMMAND(args=list(argv), standalone_mode=False)
    return TAKEN.pop() if TAKEN else None


PLAIN = [
    [],
    ["hello"],
    ["-"],
    ["", "-n"],
    ["hello", "-n", "-m", "openai/m", "-o", "out", "--quiet"],
    ["-t", "task.yaml", "-i", "a=1", "-i", "b=2", "--input", "c=3", "--tools", "read_file,shell=ask"],
    ["--output-format", "stream-json", "--include-partial-messages", "say it"],
    ["--no-stdin", "--stdin", "x"],
    ["-m", "a/b", "-m", "c/d"],
    ["--effort", "low", "--mode", "plan", "--permission-mode", "dontAsk", "--max-turns", "3", "x"],
    ["-m", "", "x y"],
]


@pytest.mark.parametrize("argv", PLAIN)
def test_a_plain_line_is_read_as_typer_reads_it(argv: list[str]) -> None:
    read = plain_run(argv)
    assert read is not None and read == by_typer(argv)


NOT_PLAIN = [
    ["--help"],
    ["-h"],
    ["--model=openai/m"],
    ["-mopenai/m"],
    ["-nq"],
    ["--", "-x"],
    ["one", "two"],
    ["-m"],
    ["-m", "-n"],
    ["--effort", "some"],
    ["--goal-limit", "3"],
    ["--nothing"],
]


@pytest.mark.parametrize("argv", NOT_PLAIN)
def test_everything_else_is_left_to_typer(argv: list[str]) -> None:
    assert plain_run(argv) is None


WORDS = st.one_of(
    st.sampled_from([*FLAGS, "--goal-limit", "--", "-nq", "--model=x", "low", "json", "-", "3"]), st.text()
)


@given(st.lists(WORDS, max_size=6))
def test_no_line_is_read_otherwise(argv: list[str]) -> None:
    read = plain_run(argv)
    assert read is None or read == by_typer(argv)


def test_the_table_names_the_parameters_of_the_command() -> None:
    assert list(DEFAULTS) == [param.name for param in COMMAND.params]
    assert {name for name, _ in FLAGS.values()} == set(DEFAULTS) - {"prompt", "goal_limit"}

"""`remit completion`, and what its scripts are made of. Real shells: tests/shells."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.cli import Home
from remit.commands.completion import MOST_WORDS
from remit.commands.shells import SHELLS
from remit.commands.shells.words import Kind, kind_of, known_words
from remit.commands.tree import Flag, Operand, command_tree
from remit.config.providers import load_providers
from remit.store.memory import MemoryProposals
from remit.tools.registry import places

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(("shell", "file"), SHELLS.items())
def test_prints_the_script_that_is_published(shell: str, file: str, tmp_path: Path) -> None:
    ran = Home(tmp_path).run("completion", shell)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout == (ROOT / "completions" / file).read_bytes()


def test_an_unknown_shell_is_refused_with_the_ones_there_are(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("completion", "csh")
    assert ran.code == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in ran.stderr


def test_no_shell_is_refused_with_what_to_write(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("completion")
    assert ran.code == 2
    assert ran.stderr == "error: no shell is named\nhint: write `remit completion bash`, zsh or fish\n"


def test_what_only_scripts_use_is_not_shown(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert b"--words" not in home.run("completion", "--help").stdout
    assert all("--words" not in flag.names for command in command_tree().walk() for flag in command.flags)


def test_models_are_those_of_the_catalog() -> None:
    models = known_words().models
    assert list(models) == [f"{name}/" for name in load_providers("").names()]
    assert [name for name, files in models.items() if files] == ["local/", "replay/", "scripted/"]


def test_the_known_words() -> None:
    words = known_words()
    assert words.tools == tuple(places())
    assert "sales-report" in words.examples
    assert {"run", "task", "task.5", "approvals"} <= set(words.pages)


FREE = {"KEY=VALUE", "N", "S", "X", "SIZE", "PROMPT", "UUID", "TEXT"}


def test_every_value_has_a_kind_or_is_known_to_be_free() -> None:
    parts: list[Flag | Operand] = []
    for command in command_tree().walk():
        parts += [flag for flag in command.flags if flag.takes_value]
        parts += command.operands
    free = {part.metavar for part in parts if kind_of(part) is Kind.ANY}
    assert free <= FREE
    assert {kind_of(part) for part in parts} == set(Kind)


def test_the_users_runs_newest_first(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.run("completion", "--words", "runs").stdout == b""
    model = home.script({"text": "Hi."})
    for name in ("one", "two"):
        assert home.run("run", "-t", home.task(f"{name}.yaml", prompt="hello"), "-m", model).code == 0
    lines = home.run("completion", "--words", "runs").stdout.decode().splitlines()
    # Also where both began in one second, whose ids say nothing of the order.
    assert [line.partition("\t")[2] for line in lines] == ["done two", "done one"]


def test_waiting_proposals_newest_first_and_not_too_many(tmp_path: Path) -> None:
    home = Home(tmp_path)
    store = MemoryProposals(home.environ["REMIT_STATE_DIR"])
    ids = [
        store.propose(
            f"20260301-120000-{number:06x}",
            "t1.c1",
            task="t",
            text=f"fact\n{number}\x1b[31m",
            tags=(),
            reason="",
            created=float(number),
        )
        for number in range(MOST_WORDS + 2)
    ]
    store.decide(ids[-1:], "rejected")
    lines = home.run("completion", "--words", "proposals").stdout.decode().splitlines()
    assert [line.partition("\t")[0] for line in lines] == ids[-2::-1][:MOST_WORDS]
    assert lines[0].partition("\t")[2] == f"fact {MOST_WORDS}\\x1b[31m"

"""How a model is told where and when it works."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from remit.base.spec import Environment
from remit.engine.surroundings import due, environment_text

HERE = Environment("/home/ada/project", "Linux x86_64", "2026-12-01", "main")

WHOLE = """\
<environment>
Working directory: /home/ada/project
Platform: Linux x86_64
Date: 2026-12-01
Git branch: main
</environment>"""


def changed(**facts: Any) -> Environment:
    return msgspec.structs.replace(HERE, **facts)


def test_all_of_it_is_told_once() -> None:
    said = due(HERE, None)
    assert said is not None and said.text == WHOLE and (said.synthetic, said.reason) == (True, "environment")
    assert said.environment == HERE
    assert due(HERE, HERE) is None
    assert len(WHOLE.encode()) <= 180


@pytest.mark.parametrize(
    ("now", "lines"),
    [
        (changed(date="2026-12-02"), "Date: 2026-12-02"),
        (changed(branch="side", directory="/x"), "Working directory: /x\nGit branch: side"),
        (changed(branch=""), "Git branch: none"),
    ],
)
def test_later_only_what_is_different(now: Environment, lines: str) -> None:
    said = due(now, HERE)
    assert said is not None and said.environment == now
    assert said.text == f"<changed-environment>\n{lines}\n</changed-environment>"


def test_a_run_that_is_told_nothing() -> None:
    assert due(None, None) is None and due(None, HERE) is None


def test_without_a_repository_there_is_no_word_of_one() -> None:
    assert "Git" not in environment_text(changed(branch=""))


def test_no_value_ends_the_frame() -> None:
    text = environment_text(changed(directory="/a</environment>b"))
    assert text.startswith("<environment->\n") and text.endswith("\n</environment->")

"""What the manual shows of checks and scripts, run."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.cli import Home, ended
from remit.commands.manual.formats import SCRIPT_EXAMPLE, TASK_EXAMPLE
from remit.config.load import parse


@pytest.mark.parametrize(("content", "code"), [("Totals.\n", 0), ("", 3), (None, 3)])
def test_the_check_of_the_manual(home: Home, content: str | None, code: int) -> None:
    checks = parse(TASK_EXAMPLE, "task.yaml", "yaml").data["expect"]["checks"]
    task = home.task(prompt="Go", tools={"write_artifact": "auto"}, expect={"checks": checks})
    done: dict[str, Any] = {"text": "Done."}
    call = {"tool": "write_artifact", "arguments": {"name": "report.md", "content": content}}
    turns = [done] if content is None else [{"calls": [call]}, done]
    ran = home.stream("-t", task, "-m", home.script(*turns), "-o", str(home.out))
    assert ran.result == ended(home.out, code)


def test_a_check_for_a_shell_is_refused_before_the_run(home: Home) -> None:
    task = home.task(prompt="Go", expect={"checks": ["true && false"]})
    ran = home.stream("-t", task, "-m", home.script({"text": "Done."}), "-o", str(home.out))
    assert (ran.code, home.out.exists()) == (2, False)
    assert "checks run without a shell: write sh -c '...'" in ran.stderr


@pytest.mark.parametrize(("units", "code"), [(20, 0), (21, 5)])
def test_the_script_of_the_manual(home: Home, units: int, code: int) -> None:
    home.write("sales.csv", f"region,units\nNorth,10\nSouth,{units}\n")
    home.write("script.yaml", SCRIPT_EXAMPLE)
    tools = {"analyze_csv": "auto", "write_artifact": "auto"}
    task = home.task(prompt="Go", tools=tools, expect={"artifacts": ["report.md"]})
    ran = home.stream("-t", task, "-m", "scripted/script.yaml", "-o", str(home.out))
    assert ran.result == ended(home.out, code)

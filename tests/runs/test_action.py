"""The action for workflows: its script, run as a workflow runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from fakes.cli import Home

ACTION = Path(__file__).resolve().parents[2] / ".github" / "actions" / "remit"


def run(home: Home, **inputs: str) -> tuple[int, dict[str, str]]:
    program = home.path / "bin" / "remit"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m remit "$@"\n')
    program.chmod(0o755)
    output = home.path / "output"
    output.write_text("")
    names = ("REMIT_TASK", "REMIT_PROMPT", "REMIT_RUN_MODEL", "REMIT_POLICY", "REMIT_APPROVALS", "REMIT_ARGUMENTS")
    environ = {
        **home.environ,
        **dict.fromkeys(names, ""),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(home.path / "summary"),
        "REMIT_OUT_DIR": str(home.out),
        **inputs,
    }
    ran = subprocess.run([ACTION / "run.sh"], cwd=home.work, env=environ, capture_output=True, check=False)
    values: dict[str, str] = {}
    lines = iter(output.read_text().splitlines())
    for line in lines:
        name, mark = line.split("<<")
        values[name] = "\n".join(iter(lambda mark=mark: next(lines), mark))  # type: ignore[misc]
    return ran.returncode, values


def test_a_run_that_is_done(home: Home) -> None:
    script = home.script({"text": "All\nwell <<x"})
    code, values = run(home, REMIT_RUN_MODEL=script, REMIT_PROMPT="-x is a prompt", REMIT_ARGUMENTS="--max-turns\n3")
    assert (code, values["verdict"], values["exit-code"], values["result"]) == (0, "done", "0", "All\nwell <<x")
    assert values["run-id"]
    assert (home.out / "run.json").is_file()
    assert "done (exit 0)" in (home.path / "summary").read_text()


def test_a_run_that_is_not_keeps_its_exit_code(home: Home) -> None:
    task = home.task(prompt="Go.", tools={}, expect={"checks": ["false"]})
    code, values = run(home, REMIT_TASK=task, REMIT_RUN_MODEL=home.script({"text": "ok"}))
    assert (code, values["verdict"]) == (3, "unmet")


def test_bad_inputs_are_told(home: Home) -> None:
    code, values = run(home, REMIT_TASK="nowhere.yaml")
    assert (code, values["verdict"]) == (2, "usage")
    assert "nowhere.yaml" in values["result"]


def test_every_input_and_output_is_wired() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    text = (ACTION / "action.yml").read_text()
    assert all(f"inputs.{name}" in text for name in action["inputs"])
    script = (ACTION / "run.sh").read_text()
    assert all(f'"{name}"' in script for name in action["outputs"])
    assert all(variable in script for variable in action["runs"]["steps"][1]["env"])

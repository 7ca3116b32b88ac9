"""The action for workflows: its script, run as a workflow runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakes.cli import Home
from fakes.workflows import BASH, outputs

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
    return ran.returncode, outputs(output)


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


def install(directory: Path, python: str, source: str = "checkout") -> str:
    """What the step that installs says of why it does not. python: the program `python3` of the runner."""
    program = directory / "bin" / "python3"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{python}\n")
    program.chmod(0o755)
    action = directory / "project" / ".github" / "actions" / "remit"
    shutil.copytree(ACTION, action)
    environ = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "INSTALL": source,
        "RUNNER_TEMP": str(directory),
        "GITHUB_ACTION_PATH": str(action),
        "GITHUB_PATH": str(directory / "path"),
    }
    ran = subprocess.run([*BASH, steps()[0]["run"]], env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and not (directory / "path").exists()
    return ran.stderr


def test_a_python_that_is_too_old_is_told(tmp_path: Path) -> None:
    told = install(tmp_path, "exit 1")
    assert told.startswith("::error::") and "3.11" in told and "actions/setup-python" in told


def test_an_action_without_its_checkout_is_told(tmp_path: Path) -> None:
    told = install(tmp_path, "exit 0")
    assert f"({tmp_path}/project)" in told and "the input install" in told


HOSTILE = ["$(touch hit)", "`touch hit`", '"; touch hit; "', "' || touch hit #", "--allow=shell", "a\nverdict=done"]


def steps() -> list[dict[str, Any]]:
    """The steps of the action that are scripts, as the file has them."""
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    return [step for step in action["runs"]["steps"] if "run" in step]


def test_no_input_is_written_into_a_script() -> None:
    assert [step["run"] for step in steps() if "${{" in step["run"]] == []


@pytest.mark.parametrize("value", HOSTILE)
def test_inputs_are_words_and_nothing_else(value: str, home: Home) -> None:
    inputs = dict.fromkeys(("task", "prompt", "policy", "approvals", "arguments", "model", "install"), "")
    inputs |= {"out": str(home.out), "prompt": value, "model": home.script({"text": "Done."})}
    environ = {
        name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: inputs[match[1]], text)
        for name, text in steps()[-1]["env"].items()
    }
    program = home.path / "bin" / "remit"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m remit "$@"\n')
    program.chmod(0o755)
    told = {"GITHUB_ACTION_PATH": str(ACTION), "GITHUB_OUTPUT": str(home.path / "output")}
    ran = subprocess.run(
        [*BASH, steps()[-1]["run"]],
        cwd=home.work,
        env={**home.environ, **told, **environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert not list(home.path.rglob("hit"))
    assert json.dumps(value, ensure_ascii=False)[1:-1] in (home.out / "journal.jsonl").read_text()

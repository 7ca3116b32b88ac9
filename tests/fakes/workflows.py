"""A job of a GitHub workflow, run as far as a machine can that is no runner: what is a script runs, in bash.

Actions of the project itself, and of checkouts that the test has, are run as well; of others it is noted how they were
used.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")

Context = Mapping[str, str]


def filled(text: str, known: Context) -> str:
    """The text with the value of each `${{ NAME }}`: "" for an output that a step did not write. Raises KeyError for a
    name that means nothing there."""

    def value(match: re.Match[str]) -> str:
        return known.get(match[1], "") if match[1].startswith("steps.") else known[match[1]]

    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", value, text)


@dataclass
class Job:
    """project: the working directory. temp: of the runner. environ: of the machine. secrets: of the repository.
    elsewhere: actions of other repositories, by what a step `uses`."""

    project: Path
    temp: Path
    environ: dict[str, str]
    secrets: dict[str, str] = field(default_factory=dict)
    elsewhere: dict[str, Path] = field(default_factory=dict)
    printed: str = ""
    used: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failed: bool = False

    def run(self, steps: list[dict[str, Any]]) -> None:
        self._steps(steps, {f"secrets.{name}": value for name, value in self.secrets.items()}, {})

    def _steps(self, steps: list[dict[str, Any]], known: Context, environ: Context) -> Context:
        """What is known when these steps are through: outputs by `steps.ID.outputs.NAME`."""
        known = dict(known)
        for step in steps:
            if not self._due(str(step.get("if", "")), known):
                continue
            own = {name: filled(str(value), known) for name, value in step.get("env", {}).items()}
            outputs = self._step(step, known, {**environ, **own})
            known |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
        return known

    def _due(self, condition: str, known: Context) -> bool:
        parts = [part.strip() for part in condition.split("&&") if part.strip()]
        if self.failed and "always()" not in parts:
            return False
        return all(self._holds(part, known) for part in parts if part != "always()")

    def _holds(self, part: str, known: Context) -> bool:
        name, _, value = part.partition(" != ")
        return known[name] != value.strip("'")

    def _step(self, step: dict[str, Any], known: Context, environ: Context) -> Context:
        given = {name: filled(str(value), known) for name, value in step.get("with", {}).items()}
        if "run" in step:
            return self._script(step["run"], environ)
        name = step["uses"]
        place = self.project / name if name.startswith("./") else self.elsewhere.get(name)
        if place is None:
            self.used.append((name, given))
            return {}
        assert name in self.elsewhere or any(used.startswith("actions/checkout@") for used, _ in self.used)
        return self._action(place, given, environ)

    def _action(self, place: Path, given: Context, environ: Context) -> Context:
        """The steps of a composite action; its outputs. It sees its inputs, and nothing of the workflow's."""
        action = yaml.safe_load((place / "action.yml").read_text())
        assert set(given) <= set(action["inputs"])
        inputs = {f"inputs.{name}": str(each.get("default", "")) for name, each in action["inputs"].items()}
        inputs |= {f"inputs.{name}": value for name, value in given.items()}
        known = self._steps(action["runs"]["steps"], inputs, {**environ, "GITHUB_ACTION_PATH": str(place)})
        return {name: filled(each["value"], known) for name, each in action.get("outputs", {}).items()}

    def _script(self, script: str, environ: Context) -> Context:
        files = {name: self.temp / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        told = {name: str(file) for name, file in files.items()} | {"RUNNER_TEMP": str(self.temp)}
        ran = subprocess.run(
            [*BASH, script],
            cwd=self.project,
            env={**self.environ, **told, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.printed += ran.stdout
        self.failed = self.failed or ran.returncode != 0
        for place in files["GITHUB_PATH"].read_text().splitlines():
            self.environ["PATH"] = place + os.pathsep + self.environ["PATH"]
        return outputs(files["GITHUB_OUTPUT"])


def outputs(file: Path) -> dict[str, str]:
    """What a step wrote to $GITHUB_OUTPUT, in blocks between marks."""
    values: dict[str, str] = {}
    lines = iter(file.read_text().splitlines())
    for line in lines:
        name, mark = line.split("<<")
        values[name] = "\n".join(iter(lambda mark=mark: next(lines), mark))  # type: ignore[misc]
    return values

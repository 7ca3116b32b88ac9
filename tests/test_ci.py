"""The templates of the README for CI and cron, run in a project that is made as the README says."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakes.cli import Home
from fakes.model_server import ModelServer, Received, Reply, calls, text
from fakes.programs import needs
from fakes.workflows import BASH, Job
from readme_blocks import README, blocks
from remit.commands.manual.guides import FETCH

ROOT = README.parent
BLOCKS, FILES = blocks("block"), blocks("file")
WORKFLOW: dict[Any, Any] = yaml.safe_load(FILES[".github/workflows/weekly.yml"])
GITLAB: dict[str, Any] = yaml.safe_load(FILES[".gitlab-ci.yml"])["weekly-report"]
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["report"]["steps"]
ACTION = Path(".github", "actions", "remit")
NOT_COMMITTED = shutil.ignore_patterns(
    *(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "out", "dist", "node_modules", "_grammars")
)
KEY = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"
FIGURES = {"orders": 9, "from": "2026-01-01", "to": "2026-03-31", "units": 9, "revenue": 9.5, "median_order": 1}


def answer(request: Received) -> Reply:
    """What a model would say to the example: the report and its figures, then that it is done."""
    assert request.headers["authorization"] == f"Bearer {KEY}"
    if request.body["messages"][-1]["role"] == "tool":
        return text("Done.")
    return calls(
        ("a", "write_artifact", json.dumps({"name": "report.md", "content": "# Sales\n"})),
        ("b", "structured_output", json.dumps(FIGURES)),
    )


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def project(home: Home) -> Path:
    """A repository with remit's checkout as `tools/remit`, and the task of the README."""
    shutil.copytree(ROOT, home.work / "tools" / "remit", ignore=NOT_COMMITTED)
    assert home.run("task", "new", "sales", "--example", "sales-report").code == 0
    return home.work


def machine(home: Home, server: ModelServer) -> dict[str, str]:
    """The environment of a runner: a Python of its own comes first, and the service lies on loopback."""
    python = home.path / "python"
    subprocess.run([sys.executable, "-m", "venv", python], check=True)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    path = f"{python / 'bin'}{os.pathsep}{os.defpath}"
    return {**kept, "HOME": home.environ["HOME"], "PATH": path, "OPENAI_BASE_URL": server.url}


def done(out: Path) -> None:
    status = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert (status["verdict"], status["exit_code"]) == ("done", 0)
    assert (out / "artifacts" / "report.md").read_text() == "# Sales\n"


# -- what is written -----------------------------------------------------------------------------


def test_no_script_has_an_expression_in_it() -> None:
    assert [step for step in STEPS if "${{" in step.get("run", "")] == []


def test_the_workflow_uses_what_the_action_has() -> None:
    action = yaml.safe_load((ROOT / ACTION / "action.yml").read_text())
    [step] = [step for step in STEPS if step.get("uses", "").startswith("./")]
    assert step["uses"] == f"./tools/remit/{ACTION}"
    assert set(step["with"]) <= set(action["inputs"])
    used = re.findall(rf"steps\.{step['id']}\.outputs\.([a-z-]+)", FILES[".github/workflows/weekly.yml"])
    assert used and set(used) <= set(action["outputs"])


def test_every_week_and_not_with_every_push() -> None:
    # YAML takes `on` for true.
    triggers = WORKFLOW[True]
    assert triggers["schedule"] == [{"cron": "0 6 * * 1"}] and set(triggers) == {"schedule", "workflow_dispatch"}
    assert GITLAB["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "schedule"'}]
    assert FILES["crontab"].splitlines()[-1].startswith("0 6 * * 1 ")


def test_what_is_cached_is_what_pip_keeps() -> None:
    project = "$CI_PROJECT_DIR/"
    assert [project + path for path in GITLAB["cache"]["paths"]] == [GITLAB["variables"]["PIP_CACHE_DIR"]]


# -- GitHub --------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_workflow(home: Home, project: Path, server: ModelServer) -> None:
    temp = home.path / "runner"
    temp.mkdir()
    job = Job(project, temp, machine(home, server), secrets={"OPENAI_API_KEY": KEY})
    job.run(STEPS)
    assert not job.failed, job.printed
    assert job.printed.splitlines()[-1] == "done for 0.000005 dollars"
    assert [name for name, _ in job.used] == [
        "actions/checkout@v4",
        "actions/setup-python@v5",
        "actions/upload-artifact@v4",
    ]
    done(project / job.used[-1][1]["path"])
    assert KEY not in job.printed


@pytest.mark.heavy
def test_the_action_of_another_repository(home: Home, server: ModelServer) -> None:
    """The runner keeps it in a place of its own, the whole repository, outside of the project."""
    place = home.path / "_actions" / "OWNER" / "remit" / "REF"
    shutil.copytree(ROOT, place, ignore=NOT_COMMITTED)
    assert home.run("task", "new", "sales", "--example", "sales-report").code == 0
    name = f"OWNER/remit/{ACTION}@REF"
    assert name in README.read_text(encoding="utf-8")
    steps = [{**step, "uses": name} if step.get("uses", "").startswith("./") else step for step in STEPS]
    temp = home.path / "runner"
    temp.mkdir()
    elsewhere = {name: place / ACTION}
    job = Job(home.work, temp, machine(home, server), secrets={"OPENAI_API_KEY": KEY}, elsewhere=elsewhere)
    job.run(steps)
    assert not job.failed, job.printed
    done(home.work / job.used[-1][1]["path"])


def test_a_job_whose_task_is_not_met_fails_and_keeps_the_run(home: Home, server: ModelServer) -> None:
    """With a remit that is on the PATH already."""
    assert home.run("task", "new", "sales", "--example", "sales-report").code == 0
    task = home.work / "sales" / "task.yaml"
    task.write_text(task.read_text().replace("[report.md]", "[other.md]"))
    program = home.path / "bin" / "remit"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m remit "$@"\n')
    program.chmod(0o755)
    environ = {**home.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "OPENAI_BASE_URL": server.url}
    name = f"./tools/remit/{ACTION}"
    shutil.copytree(ROOT / ACTION, home.work / name)
    steps = [{**step, "with": {**step["with"], "install": ""}} if step.get("uses") == name else step for step in STEPS]
    job = Job(home.work, home.path, environ, secrets={"OPENAI_API_KEY": KEY})
    job.run(steps)
    assert job.failed and job.printed.splitlines()[-1] == "unmet for 0.000009 dollars"
    status = json.loads((home.work / job.used[-1][1]["path"] / "run.json").read_text())
    assert (status["verdict"], status["exit_code"]) == ("unmet", 3)


# -- GitLab --------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_job_of_gitlab(home: Home, project: Path, server: ModelServer) -> None:
    environ = {**machine(home, server), "OPENAI_API_KEY": KEY, "CI_PROJECT_DIR": str(project)}
    for name, value in GITLAB["variables"].items():
        environ[name] = value.replace("$CI_PROJECT_DIR", str(project))
    ran = subprocess.run(
        [*BASH, "\n".join(GITLAB["script"])], cwd=project, env=environ, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    [kept] = GITLAB["artifacts"]["paths"]
    done(project / kept)


# -- cron ----------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_crontab(home: Home, project: Path, server: ModelServer) -> None:
    """By `sh`, with the environment that cron gives: no key, no more of a PATH than this."""
    setup = {**machine(home, server), "OPENAI_API_KEY": KEY}
    ran = subprocess.run([*BASH, placed(BLOCKS["cron-setup"], project)], env=setup, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    kept = Path(home.environ["HOME"], ".config", "remit", "auth.toml")
    assert KEY in kept.read_text() and stat.S_IMODE(kept.stat().st_mode) == 0o600
    (kept.parent / "providers.toml").write_text(f'version = 1\n[openai]\nbase_url = "{server.url}"\n')

    *settings, line = placed(FILES["crontab"], project).splitlines()
    command = line.split(None, 5)[5]
    assert "%" not in command, "cron would end the line there"
    environ = {"HOME": home.environ["HOME"], "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "me"}
    environ |= dict(setting.split("=", 1) for setting in settings)
    ran = subprocess.run(["/bin/sh", "-c", command], cwd=environ["HOME"], env=environ, capture_output=True, check=False)
    assert (ran.returncode, json.loads(ran.stdout), ran.stderr) == (0, FIGURES, b"")
    done(project / "out")

    # What cron mails when it does not work: what was wrong, and the exit code.
    (project / "sales" / "task.yaml").write_text("version: 2\n")
    ran = subprocess.run(["/bin/sh", "-c", command], cwd=environ["HOME"], env=environ, capture_output=True, check=False)
    assert ran.stdout == b"exit code 2\n" and b"sales/task.yaml" in ran.stderr


def placed(script: str, project: Path) -> str:
    assert "/srv/shop" in script
    return script.replace("/srv/shop", str(project))


# -- the one file --------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
def test_the_one_file_is_fetched_and_checked(whole: bool, tmp_path: Path) -> None:
    needs("curl")
    source = tmp_path / "kept"
    source.write_text("#!/bin/sh\necho here\n")
    digest = hashlib.sha256(source.read_bytes() if whole else b"another").hexdigest()
    work = tmp_path / "work"
    work.mkdir()
    environ = {"PATH": os.defpath, "REMIT_URL": source.as_uri(), "REMIT_SHA256": digest}
    ran = subprocess.run([*BASH, FETCH + "./remit"], cwd=work, env=environ, capture_output=True, check=False)
    assert (ran.returncode == 0, b"here" in ran.stdout) == (whole, whole)
    assert os.access(work / "remit", os.X_OK) is whole

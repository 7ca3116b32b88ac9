"""Every console block of the README runs, and every file it shows is the file there is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.cli import Home
from fakes.programs import needs
from readme_blocks import README, blocks
from remit.base.errors import EXIT_CODES, SIGHUP_EXIT, SIGINT_EXIT, SIGPIPE_EXIT, SIGTERM_EXIT
from remit.commands.manual import PAGES, find_page
from remit.commands.manual.page import plain

ROOT = README.parent
TEXT = README.read_text(encoding="utf-8")
FILES = blocks("file")
BLOCKS = blocks("block")
TOUR = ("new", "run", "policy", "pipe", "stream", "driven", "replay")
"""The blocks that a reader pastes one after the other; `report` and `test` stand for themselves, `cron-setup` is tried
with the other templates, in test_ci.py."""


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.CompletedProcess[str]]:
    """Each block of the tour, run in one shell directory in their order."""
    home = Home(tmp_path_factory.mktemp("readme"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = {}
    for name in TOUR:
        for file in ("policy.toml", "answer.yaml"):
            (home.work / file).write_text(FILES[file], encoding="utf-8")
        ran[name] = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", BLOCKS[name]],
            cwd=home.work,
            env={**home.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    return ran


def test_every_console_block_is_known() -> None:
    assert set(BLOCKS) == {"report", "test", "cron-setup", *TOUR}
    # A block without a name would be one that no test runs or compares.
    assert re.findall(r"(?<!-->)\n```\w+\n(.*?)```", TEXT, re.DOTALL) == []


def test_it_can_be_read_on_a_terminal() -> None:
    assert [line for line in TEXT.splitlines() if len(line) > 120] == []
    assert len(TEXT.splitlines()) <= 330


def test_it_names_pages_there_are() -> None:
    named = set(re.findall(r"remit man ([a-z][a-z.0-9]*)", TEXT))
    assert named >= {"run", "task.5", "policy.5", "sandbox", "profiles", "agents", "install", "sdk"}
    assert {page for page in named if not find_page(page)} == set()


def test_nothing_has_remit_fetched_from_a_package_index() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "cli").rglob("*.py")]
    pages = [plain(build()) for build in PAGES.values()]
    assert [text for text in (TEXT, *sources, *pages) if re.search(r"install [^\n.]*['\"]?\bremit\[", text)] == []


def test_the_task_is_started_and_checked(tour: dict[str, subprocess.CompletedProcess[str]]) -> None:
    assert tour["new"].returncode == 0, tour["new"].stderr
    assert "sales/task.yaml: OK" in tour["new"].stdout


def test_a_run_is_recorded_and_played_again(tour: dict[str, subprocess.CompletedProcess[str]]) -> None:
    assert tour["replay"].returncode == 0, tour["replay"].stderr
    assert tour["replay"].stdout.endswith("as recorded\n")


def test_the_task_file_shown_is_that_of_the_example() -> None:
    assert FILES["sales/task.yaml"] == (ROOT / "cli/remit/examples/sales-report/task.yaml").read_text(encoding="utf-8")


def test_the_report_is_written(tour: dict[str, subprocess.CompletedProcess[str]]) -> None:
    assert tour["run"].returncode == 0, tour["run"].stderr
    assert "**14,883.65** in revenue for 804 units" in tour["run"].stdout
    assert '"status": "done"' in tour["run"].stdout


def test_the_rules_are_checked_and_explained(tour: dict[str, subprocess.CompletedProcess[str]]) -> None:
    assert tour["policy"].returncode == 0, tour["policy"].stderr
    assert "policy.toml:2" in tour["policy"].stdout and "policy.toml:7" in tour["policy"].stdout


def test_a_pipe_is_answered(tour: dict[str, subprocess.CompletedProcess[str]]) -> None:
    assert tour["pipe"].stdout == "sda1: it is 97 % full.\n", tour["pipe"].stderr


def test_the_stream_ends_in_one_result(tour: dict[str, subprocess.CompletedProcess[str]]) -> None:
    needs("jq")
    assert tour["stream"].stdout == "done\t0\treport.md\n", tour["stream"].stderr


def test_a_prompt_comes_as_a_line(tour: dict[str, subprocess.CompletedProcess[str]]) -> None:
    needs("jq")
    assert tour["driven"].stdout == "sda1: it is 97 % full.\n", tour["driven"].stderr


def test_the_exit_codes_are_those_there_are() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", TEXT, re.MULTILINE)
    assert {verdict: int(code) for code, verdict in rows} == {v.value: c for v, c in EXIT_CODES.items()}
    assert f"| {SIGINT_EXIT}, {SIGTERM_EXIT}, {SIGHUP_EXIT}, {SIGPIPE_EXIT} | stopped |" in TEXT


@pytest.mark.heavy
def test_the_first_command_works_in_a_fresh_clone(tmp_path: Path) -> None:
    clone = tmp_path / "remit"
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "out")
    shutil.copytree(ROOT, clone, ignore=ignored)
    (tmp_path / "home").mkdir()
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    environ = {**kept, "HOME": str(tmp_path / "home"), "PATH": os.defpath + os.pathsep + os.environ["PATH"]}
    command = BLOCKS["report"].replace("python3 ", f"{sys.executable} ", 1)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=clone,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "# Sales, 1 January to 31 March 2026" in done.stdout
    status = json.loads((clone / "out" / "run.json").read_text(encoding="utf-8"))
    assert (status["verdict"], status["exit_code"]) == ("done", 0)

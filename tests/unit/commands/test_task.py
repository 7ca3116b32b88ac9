from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from remit.base.errors import EnvironmentFault, Faults, RemitError, UsageFault, exit_code
from remit.base.resources import Effect
from remit.commands.task import app, checked, example_names, started
from remit.config.schema import task_schema

EFFECTS = {"read_file": frozenset({Effect.READ}), "fetch_url": frozenset({Effect.NETWORK})}


def run(*arguments: str) -> tuple[str, BaseException | None]:
    result = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    return result.stdout, result.exception


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    root = tmp_path / "examples"
    for name, files in {
        "sales-report": ["task.yaml", "script.yaml", "data/sales.csv", "__pycache__/x.pyc"],
        "plain": ["task.toml"],
        "unfinished": ["notes.md"],
    }.items():
        for file in files:
            (root / name / file).parent.mkdir(parents=True, exist_ok=True)
            (root / name / file).write_text(f"{name} {file}")
    (root / "README.md").write_text("")
    return root


def test_schema_prints_the_schema() -> None:
    stdout, error = run("schema")
    assert error is None
    assert msgspec.json.decode(stdout) == task_schema()


def test_check_says_what_a_good_task_offers(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "version: 1\nname: n\ntools: {read_file: auto, fetch_url: {decide: auto, hosts: [a.example, b.example]}}\n"
        "limits: {seconds: 2.5, calls: none}\n"
    )
    other = tmp_path / "u.toml"
    other.write_text("version = 1\n")
    tail = "artifact_bytes 1048576, artifacts_total_bytes 20971520"
    assert checked([str(path), str(other)], EFFECTS) == [
        f"{path}: OK: n; tools: read_file auto, fetch_url auto on a.example b.example; limits: turns 50, seconds 2.5,"
        f" tokens none, usd none, calls none, network_requests 50, {tail}",
        f"{other}: OK: u; tools: none; limits: turns 50, seconds 1800, tokens none, usd none, calls 500,"
        f" network_requests 50, {tail}",
    ]


def test_check_tells_the_faults_of_all_files(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("version: 1\nnmae: x\ntools: {read_fil: auto}\n")
    (tmp_path / "c.yaml").write_text("version: 1\n")
    with pytest.raises(Faults) as caught:
        checked([str(tmp_path / name) for name in ("a.yaml", "c.yaml", "b.yaml", "d.yaml")], EFFECTS)
    places = [fault.where.removeprefix(f"{tmp_path}/") for fault in caught.value.faults]
    assert places == ["a.yaml:2", "a.yaml:3", "b.yaml:2", "b.yaml:3", "d.yaml"]
    assert exit_code(caught.value) == 2


def test_check_knows_the_tools_of_remit(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("version: 1\ntools: {list_files: auto, read_fil: auto}\n")
    stdout, error = run("check", str(path))
    assert stdout == ""
    assert isinstance(error, Faults)
    assert str(error).startswith(f"{path}:2: unknown tool 'read_fil' (did you mean `read_file`? tools: ")
    path.write_text("version: 1\ntools: {list_files: auto}\n")
    stdout, error = run("check", str(path))
    assert error is None
    assert stdout.startswith(f"{path}: OK: t; tools: list_files auto; limits: turns 50")


def test_examples_are_the_directories_with_a_task(examples: Path) -> None:
    assert example_names(examples) == ["plain", "sales-report"]
    assert example_names(examples / "none") == []


def test_new_copies_an_example_and_says_how_to_run_it(tmp_path: Path, examples: Path) -> None:
    target = tmp_path / "deep" / "my task"
    said = started(str(target), "sales-report", examples)
    assert said.splitlines() == [
        f"wrote {target}: data/sales.csv, script.yaml, task.yaml",
        "run it by its script, without a model (remit man script):",
        f"  remit run -t '{target}/task.yaml' -m 'scripted/{target}/script.yaml'",
        "run it with a model:",
        f"  remit run -t '{target}/task.yaml' -m PROVIDER/MODEL",
    ]
    copied = {str(path.relative_to(target)): path.read_text() for path in target.rglob("*") if path.is_file()}
    assert copied == {name: f"sales-report {name}" for name in ("data/sales.csv", "script.yaml", "task.yaml")}


def test_new_without_a_script_names_only_the_model(tmp_path: Path, examples: Path) -> None:
    (tmp_path / "empty").mkdir()
    said = started(str(tmp_path / "empty"), "plain", examples)
    assert said.splitlines()[1:] == [
        "run it with a model:",
        f"  remit run -t {tmp_path}/empty/task.toml -m PROVIDER/MODEL",
    ]


def test_new_refuses_what_would_be_overwritten(tmp_path: Path, examples: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("kept")
    (tmp_path / "file").write_text("kept")
    (tmp_path / "dangling").symlink_to("gone")
    with pytest.raises(UsageFault, match="the directory is not empty\nhint: name a new one"):
        started(str(tmp_path / "full"), "plain", examples)
    for name in ("file", "dangling"):
        with pytest.raises(UsageFault, match="this is not a directory"):
            started(str(tmp_path / name), "plain", examples)
    assert sorted(os.listdir(tmp_path / "full")) == ["mine"]
    for name in ("", "a\0b"):
        with pytest.raises(UsageFault, match="the directory has no name"):
            started(name, "plain", examples)


def test_new_names_the_examples_there_are(tmp_path: Path, examples: Path) -> None:
    with pytest.raises(UsageFault) as caught:
        started(str(tmp_path / "x"), "sales-reprot", examples)
    assert str(caught.value) == (
        "--example: there is no example 'sales-reprot'\n"
        "hint: did you mean `sales-report`? examples: plain, sales-report"
    )
    with pytest.raises(UsageFault) as caught:
        started(str(tmp_path / "x"), None, examples)
    assert str(caught.value) == "--example: no example is named\nhint: examples: plain, sales-report"
    with pytest.raises(UsageFault, match="examples: none"):
        started(str(tmp_path / "x"), "..", examples / "none")
    assert not (tmp_path / "x").exists()


def test_new_where_nothing_can_be_written(tmp_path: Path, examples: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot be written: Not a directory") as caught:
        started(str(tmp_path / "file" / "x"), "plain", examples)
    assert exit_code(caught.value) == 9


def test_new_from_the_command_line_knows_the_packaged_examples(tmp_path: Path) -> None:
    stdout, error = run("new", str(tmp_path / "x"), "--example", "no-such-example")
    assert stdout == ""
    assert isinstance(error, RemitError)
    assert "hint: " in str(error)
    assert "examples: " in str(error)
    stdout, error = run("new", str(tmp_path / "x"))
    assert stdout == ""
    assert isinstance(error, UsageFault) and "mixed-docs, sales-report" in str(error)

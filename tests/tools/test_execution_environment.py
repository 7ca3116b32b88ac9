"""execution_environment on a machine whose programs are scripts of the test."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.context import World, allow_all
from remit.base.calls import Outcome
from remit.base.errors import Failure
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.tools.execution.execution_environment import LOCKFILES, ExecutionEnvironment
from remit.workspace.environment import (
    PRESENT,
    PROBE_SECONDS,
    PROBES,
    SUDO,
    TOTAL_SECONDS,
    VERSIONS,
    MachineGrant,
    container_evidence,
    trusted_path,
)
from remit.workspace.grant import FilesGrant
from remit.workspace.process import ProcessGrant
from remit.workspace.root import Root

TOOL = ExecutionEnvironment()


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    place = tmp_path / "bin"
    place.mkdir()
    return place


def program(place: Path, name: str, text: str = "exit 0") -> None:
    (place / name).write_text(f"#!/bin/sh\n{text}\n")
    (place / name).chmod(0o755)


def survey(
    root: Root,
    path: str,
    allowed: Callable[[str], bool] = lambda line: True,
    shown: Callable[[Resource], bool] = allow_all,
    *,
    as_root: bool = False,
    seconds: tuple[float, float] = (20, 40),
) -> Outcome:
    """seconds: for each probe and for all; a busy machine answers late."""

    async def run() -> Outcome:
        params = TOOL.parse("{}")
        resources = TOOL.resources(params, World(root))
        assert [(each.kind, each.name, each.effect) for each in resources] == [("tree", ".", Effect.READ)]
        commands = [Resource("command", line, Effect.EXECUTE) for line in PROBES]
        machine = MachineGrant(
            ProcessGrant("/", commands, {"PATH": path}),
            path,
            allowed,
            root=as_root,
            probe_seconds=seconds[0],
            total_seconds=seconds[1],
        )
        files = FilesGrant(root, resources, shown)
        return await TOOL.run(params, CallContext("t1.c1", TOOL.name, granted_files=files, granted_machine=machine))

    return asyncio.run(run())


def test_versions_are_told_and_nothing_else_of_what_a_program_prints(root: Root, programs: Path) -> None:
    program(programs, "git", "echo 'git version 9.8.7 in /secret/place for someone'")
    program(programs, "java", "echo 'openjdk version \"21.0.1\" 2025-01-01' >&2")
    program(programs, "go", "echo 'go version go1.22.3 linux/amd64'")
    program(programs, "jq", "echo 'no number'")
    program(programs, "make", "echo 'make 4.3'; exit 2")
    program(programs, "yarn", "echo '1.22.0'; touch ran")
    program(programs, "apt-get")
    outcome = survey(root, str(programs))

    assert outcome.data["tools"] == {
        "version control": {"git": "9.8.7"},
        "languages": {"go": "1.22.3", "java": "21.0.1"},
        "project tools": {"yarn": ""},
        "build": {"make": ""},
        "text and data": {"jq": ""},
    }
    assert outcome.data["package_managers"] == ("apt-get",)
    assert outcome.data["refused"] == ()
    shown = outcome.for_model()
    assert "languages: go 1.22.3, java 21.0.1\n" in shown
    assert "package managers: apt-get\n" in shown
    for text in (shown, str(outcome.data)):
        assert "secret" not in text and "someone" not in text and str(programs) not in text


def test_a_probe_that_no_rule_allows_is_not_run_and_named(root: Root, programs: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("git", "node", "sudo"):
        program(programs, name, f"echo {name} 1.2.3 >> {ran}; echo {name} 1.2.3")
    outcome = survey(root, str(programs), lambda line: line.startswith("git "))

    assert ran.read_text() == "git 1.2.3\n"
    assert outcome.data["refused"] == ("node --version", SUDO)
    assert outcome.data["sudo"] == "refused"
    assert (outcome.data["tools"]["languages"], outcome.data["tools"]["version control"]) == (
        {"node": ""},
        {"git": "1.2.3"},
    )
    assert f"not run, as no rule allows it: node --version; {SUDO}" in outcome.for_model()


@pytest.mark.parametrize(
    ("script", "as_root", "state"),
    [
        ("exit 0", False, "available"),
        ("echo 'a password is required' >&2; exit 1", False, "unavailable"),
        ("exec /bin/sleep 20", False, "unknown"),
        ("exit 0", True, "not-needed"),
        (None, False, "not-found"),
        (None, True, "not-needed"),
    ],
)
def test_the_state_of_sudo(root: Root, programs: Path, script: str | None, as_root: bool, state: str) -> None:
    if script is not None:
        program(programs, "sudo", script)
    seconds = (PROBE_SECONDS, TOTAL_SECONDS) if state == "unknown" else (20, 40)
    outcome = survey(root, str(programs), as_root=as_root, seconds=seconds)

    assert (outcome.data["sudo"], outcome.data["root"]) == (state, as_root)
    assert f"privilege: {'root' if as_root else 'not root'}; sudo without a password: {state}" in outcome.for_model()


def test_as_root_sudo_is_not_even_tried(root: Root, programs: Path, tmp_path: Path) -> None:
    program(programs, "sudo", f"touch {tmp_path / 'ran'}")
    assert survey(root, str(programs), lambda line: line != SUDO, as_root=True).data["refused"] == ()
    assert not (tmp_path / "ran").exists()


def test_programs_that_hang_or_never_stop_printing_take_no_more_than_their_time(root: Root, programs: Path) -> None:
    for lines in VERSIONS.values():
        for line in lines:
            program(programs, line.split()[0], "trap '' TERM; /bin/sleep 30")
    program(programs, "git", "while :; do echo 1.2.3; done")
    began = time.monotonic()
    outcome = survey(root, str(programs), seconds=(PROBE_SECONDS, TOTAL_SECONDS))

    assert (PROBE_SECONDS, TOTAL_SECONDS) == (0.3, 2.0)
    assert time.monotonic() - began < 8
    assert set(outcome.data["tools"]["languages"].values()) == {""}


def test_programs_of_the_workspace_are_none_of_the_machine(root: Root, workspace: Path, programs: Path) -> None:
    (workspace / "bin").mkdir()
    program(workspace / "bin", "git", f"touch {workspace / 'ran'}; echo 1.2.3")
    (programs.parent / "link").symlink_to(workspace / "bin")
    spelled = os.pathsep.join(
        ("", ".", "bin", str(workspace), str(workspace / "bin"), str(programs.parent / "link"), str(programs))
    )

    assert trusted_path(spelled, str(workspace)) == str(programs)
    assert survey(root, trusted_path(spelled, str(workspace))).data["tools"] == {}
    assert not (workspace / "ran").exists()


def test_every_probe_is_one_of_the_list_and_the_groups_agree() -> None:
    assert len(set(PROBES)) == len(PROBES)
    assert set(PRESENT) <= set(VERSIONS)
    probed = {line.split()[0] for lines in VERSIONS.values() for line in lines}
    assert probed.isdisjoint(name for names in PRESENT.values() for name in names)


@pytest.mark.parametrize(
    ("files", "git"),
    [
        ({}, {"repository": False, "branch": "", "operation": ""}),
        ({".git/HEAD": "ref: refs/heads/feature/x\n"}, {"repository": True, "branch": "feature/x", "operation": ""}),
        ({".git/HEAD": "0" * 40}, {"repository": True, "branch": "", "operation": ""}),
        ({".git": "gitdir: /elsewhere"}, {"repository": True, "branch": "", "operation": ""}),
        (
            {".git/HEAD": "ref: refs/heads/main", ".git/MERGE_HEAD": "1"},
            {"repository": True, "branch": "main", "operation": "merge"},
        ),
        (
            {".git/HEAD": "ref: refs/heads/main", ".git/rebase-merge/done": "1"},
            {"repository": True, "branch": "main", "operation": "rebase"},
        ),
    ],
)
def test_the_git_state_of_the_workspace(
    root: Root, workspace: Path, programs: Path, files: dict[str, str], git: dict[str, Any]
) -> None:
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    outcome = survey(root, str(programs))

    assert outcome.data["git"] == git
    assert (f"git: branch {git['branch']}" in outcome.for_model()) == bool(git["branch"])


def test_lockfiles_tell_the_project_package_managers(root: Root, workspace: Path, programs: Path) -> None:
    for name in ("uv.lock", "package-lock.json", "npm-shrinkwrap.json"):
        (workspace / name).touch()
    outcome = survey(root, str(programs))

    assert outcome.data["lockfiles"] == ["package-lock.json", "npm-shrinkwrap.json", "uv.lock"]
    assert outcome.data["project_package_managers"] == ["npm", "uv"]
    assert "lockfiles: package-lock.json, npm-shrinkwrap.json, uv.lock (npm, uv)" in outcome.for_model()
    for name in LOCKFILES:
        (workspace / name).touch()
    assert survey(root, str(programs)).data["lockfiles"] == list(LOCKFILES)


def test_what_the_rules_withhold_is_not_there(root: Root, workspace: Path, programs: Path) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".git" / "HEAD").write_text("ref: refs/heads/hidden")
    (workspace / "uv.lock").touch()
    outcome = survey(root, str(programs), shown=lambda entry: not entry.name.startswith(".git"))

    assert outcome.data["git"]["repository"] is False
    assert outcome.data["lockfiles"] == ["uv.lock"]
    assert "hidden" not in outcome.for_model()


def test_what_speaks_for_a_container(tmp_path: Path) -> None:
    assert container_evidence(str(tmp_path), {}) == ()
    (tmp_path / ".dockerenv").touch()
    (tmp_path / "proc" / "1").mkdir(parents=True)
    (tmp_path / "proc" / "1" / "cgroup").write_text("0::/kubepods/pod-of-someone/x\n")
    names = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "container": "podman-at-home"}

    assert container_evidence(str(tmp_path), names) == (
        "docker",
        "kubernetes",
        "container variable",
        "cgroup kubepods",
    )


def test_it_takes_no_arguments() -> None:
    with pytest.raises(Failure):
        TOOL.parse('{"verbose": true}')
    assert (TOOL.effects, TOOL.repeatable) == ({Effect.READ, Effect.EXECUTE}, True)

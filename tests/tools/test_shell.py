"""shell: what the model may ask, and what it is told. How commands are held is tested in unit/workspace."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.context import Context, World
from remit.base.calls import Outcome, err
from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.tools.execution.shell import MAX_COMMAND_BYTES, PREVIEW_BYTES, Shell, ShellParams, simple_command
from remit.workspace.process import MAX_RAW_BYTES, ProcessGrant
from remit.workspace.root import Root


def resources(root: Root, arguments: dict[str, Any]) -> list[Resource]:
    tool = Shell()
    return list(tool.resources(tool.parse(json.dumps(arguments)), World(root)))


def shell(path: Path, command: str, filters: bool = True, **more: Any) -> Outcome:
    """A call from its arguments to its outcome, unconfined."""
    arguments = {"command": command, **more}
    tool = Shell()

    async def run(root: Root) -> Outcome:
        try:
            declared = resources(root, arguments)
            process = ProcessGrant(str(path), declared, {}, root=root, filters=filters)
            return await tool.run(tool.parse(json.dumps(arguments)), Context(process=process))
        except Failure as failure:
            return err(failure.code, failure.message)

    with Root(path) as root:
        return asyncio.run(run(root))


def refusal(path: Path, command: str, **more: Any) -> str:
    outcome = shell(path, command, **more)
    assert outcome.error is not None, outcome
    return f"{outcome.error.code.value}: {outcome.error.message}"


def test_a_command_and_what_it_printed(tmp_path: Path) -> None:
    outcome = shell(tmp_path, "echo out; echo err >&2; pwd -P > where")
    assert outcome.text == "exit code 0\nout\nstderr:\nerr"
    assert (tmp_path / "where").read_text() == f"{tmp_path.resolve()}\n"
    took = outcome.data.pop("duration_ms")
    assert 0 <= took < 20_000
    assert outcome.data == {
        "relative_workdir": ".",
        "timeout_ms": 120_000,
        "exit_code": 0,
        "signal": None,
        "timed_out": False,
        "output_limit_exceeded": False,
        "outlived": False,
        "stdout_bytes": 4,
        "stderr_bytes": 4,
        "stdout": "out\n",
        "stderr": "err\n",
        "filtered": [],
        "stdout_truncated": False,
        "stderr_truncated": False,
        "stdout_preview_truncated": False,
        "stderr_preview_truncated": False,
    }


@pytest.mark.parametrize(
    ("command", "text", "code", "signal"),
    [
        ("true", "exit code 0\nno output", 0, None),
        ("exit 3", "exit code 3\nno output", 3, None),
        ("no-such-program-of-remit 2>/dev/null", "exit code 127\nno output", 127, None),
        ("echo a; kill -9 $$", "ended by signal SIGKILL\na", None, "SIGKILL"),
        ("kill -64 $$", "ended by signal SIGRTMAX\nno output", None, "SIGRTMAX"),
        ("kill -50 $$", "ended by signal SIG50\nno output", None, "SIG50"),
    ],
)
def test_how_it_ended_is_a_result(tmp_path: Path, command: str, text: str, code: int | None, signal: str) -> None:
    outcome = shell(tmp_path, command)
    assert outcome.ok
    assert (outcome.text, outcome.data["exit_code"], outcome.data["signal"]) == (text, code, signal)


def test_a_command_that_never_ends(tmp_path: Path) -> None:
    began = time.monotonic()
    outcome = shell(tmp_path, "echo begun; trap '' TERM; while :; do sleep 0.1; done", timeoutSec=1)
    assert time.monotonic() - began < 10
    assert outcome.text == "timed out after 1 s and was ended; what it printed until then:\nbegun"
    assert (outcome.data["timed_out"], outcome.data["exit_code"], outcome.data["signal"]) == (True, None, None)


def test_a_command_that_prints_for_ever(tmp_path: Path) -> None:
    outcome = shell(tmp_path, "yes something")
    assert outcome.text.startswith("ended for printing more than 100 MiB; redirect")
    assert PREVIEW_BYTES < len(outcome.text.encode()) < (1 << 20) + 200
    assert outcome.data["output_limit_exceeded"] and outcome.data["stdout_truncated"]
    assert outcome.data["stdout_bytes"] > MAX_RAW_BYTES
    assert len(outcome.data["stdout"]) <= (1 << 20) + 100


def test_a_command_that_kills_its_parent(tmp_path: Path) -> None:
    outcome = shell(tmp_path, "kill -9 $PPID; sleep 60")
    assert outcome.text.startswith("ended by signal SIGKILL\n[something it started could not be ended]")


def test_long_output_is_handed_over_and_what_of_it_is_shown_is_said(tmp_path: Path) -> None:
    outcome = shell(tmp_path, "seq 100000; seq 90000 >&2")
    lines = outcome.text.splitlines()
    assert lines == ["exit code 0", *map(str, range(1, 100_001)), "stderr:", *map(str, range(1, 90_001))]
    assert (outcome.data["stdout_preview_truncated"], outcome.data["stderr_preview_truncated"]) == (True, True)
    assert outcome.data["stdout"].count("\n") == 100_000
    assert not outcome.data["stdout_truncated"]


@pytest.mark.parametrize(
    ("command", "cut"), [("seq 9000; echo 1 >&2", (True, False)), ("echo 1; seq 9000 >&2", (False, True))]
)
def test_the_stream_that_is_cut_is_named(tmp_path: Path, command: str, cut: tuple[bool, bool]) -> None:
    data = shell(tmp_path, command).data
    assert (data["stdout_preview_truncated"], data["stderr_preview_truncated"]) == cut


@pytest.mark.parametrize(("size", "cut"), [(PREVIEW_BYTES, False), (PREVIEW_BYTES + 1, True)])
def test_the_preview_is_exact(tmp_path: Path, size: int, cut: bool) -> None:
    outcome = shell(tmp_path, f"head -c {size - len('exit code 0') - 1} /dev/zero | tr '\\0' x")
    assert (len(outcome.text), outcome.data["stdout_preview_truncated"]) == (size, cut)
    assert Shell.bounds.output_bytes == PREVIEW_BYTES


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git log --oneline", "git"),
        ("/usr/bin/env ls", "env"),
        ("A=1 B+=x make all", "make"),
        ("  seq 9 | tail", "seq"),
        ("A=1", "shell"),
    ],
)
def test_kept_output_is_named_after_the_program(command: str, name: str) -> None:
    tool = Shell()
    assert tool.producer(ShellParams(command)) == name


def test_output_is_shown_as_a_terminal_would(tmp_path: Path) -> None:
    outcome = shell(tmp_path, r"printf '\033[31m10%%\r50%%\r100%%\033[0m\n'; printf '\377\n'")
    assert outcome.text == (
        "exit code 0\n100%\n\ufffd\n"
        "[2 rows drawn over, as by a progress bar]\n[1 bytes that are not UTF-8, shown as \ufffd]"
    )


def test_of_a_bar_beyond_the_limit_bytes_are_told_and_what_came_before_is_shown(tmp_path: Path) -> None:
    outcome = shell(tmp_path, r"echo first; yes $'\r 50%' | tr -d '\n' | head -c 2000000; printf '\r100%%\nlast\n'")
    lines = outcome.text.split("\n")
    assert lines[:4] == ["exit code 0", "first", "100%", "last"]
    assert re.fullmatch(r"\[\d+ rows drawn over, as by a progress bar]", lines[4])
    assert re.fullmatch(r"\[19\d{5} bytes of more such rows, not counted]", lines[5])


@pytest.mark.parametrize("workdir", ["sub", "./sub/", "ABSOLUTE"])
def test_it_runs_in_workdir(tmp_path: Path, workdir: str) -> None:
    (tmp_path / "sub").mkdir()
    outcome = shell(tmp_path, "pwd -P", workdir=workdir.replace("ABSOLUTE", str(tmp_path / "sub")))
    assert outcome.data["stdout"] == f"{tmp_path.resolve()}/sub\n"
    assert outcome.data["relative_workdir"] == "sub"


@pytest.mark.parametrize("workdir", [".", "", "ABSOLUTE"])
def test_the_workspace_itself_is_not_named(tmp_path: Path, workdir: str) -> None:
    with Root(tmp_path) as root:
        found = resources(root, {"command": "ls", "workdir": workdir.replace("ABSOLUTE", str(tmp_path))})
    assert found == [Resource("command", "ls", Effect.EXECUTE)]


def test_what_the_rules_get_to_see(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    with Root(tmp_path) as root:
        found = resources(root, {"command": " ls  -l", "workdir": "link"})
    assert found == [
        Resource("command", " ls  -l", Effect.EXECUTE, cwd="link"),
        Resource("path", "link", Effect.READ, real="sub"),
    ]


@pytest.mark.parametrize(
    ("workdir", "words"),
    [
        ("..", "path_refused"),
        ("/", "path_refused"),
        ("out", "path_refused"),
        ("gone", "not_found"),
        ("file", "not_a_directory"),
    ],
)
def test_no_workdir_elsewhere(tmp_path: Path, workdir: str, words: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "out").symlink_to("/usr")
    assert refusal(tmp_path, "ls", workdir=workdir).startswith(words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"command": ""}, "`command`: expected a string of at least 1 character, seen ''"),
        ({"command": "  \n"}, "it is blank"),
        ({"command": "echo a\0b"}, "contains a NUL"),
        ({"command": "x" * (MAX_COMMAND_BYTES + 1)}, "65537 bytes; at most 65536 are allowed"),
        ({"command": "ls", "timeoutSec": 0}, "from 1 to 21600, seen 0"),
        ({"command": "ls", "timeoutSec": 21601}, "from 1 to 21600, seen 21601"),
        ({"command": "ls", "timeoutSec": 1.5}, "from 1 to 21600, seen 1.5"),
        ({"command": "ls", "background": True}, "unknown field `background`"),
        ({}, "missing required field `command`"),
    ],
)
def test_arguments_that_are_refused(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    with Root(tmp_path) as root, pytest.raises(Failure) as caught:
        resources(root, arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert words in caught.value.message


def test_the_longest_command(tmp_path: Path) -> None:
    command = "echo here #"
    outcome = shell(tmp_path, command + "x" * (MAX_COMMAND_BYTES - len(command)), timeoutSec=21_600)
    assert outcome.text == "exit code 0\nhere"


@pytest.mark.parametrize(
    ("command", "place", "rest"),
    [
        ("cd sub && ls -l", "sub", "'ls -l'"),
        ("  cd  'sub'&&ls", "sub", "'ls'"),
        ('cd "ABSOLUTE/sub" && ls', "sub", "'ls'"),
        ("cd . && ls", ".", "'ls'"),
    ],
)
def test_a_way_into_the_workspace_belongs_into_workdir(tmp_path: Path, command: str, place: str, rest: str) -> None:
    (tmp_path / "sub").mkdir()
    told = refusal(tmp_path, command.replace("ABSOLUTE", str(tmp_path)))
    assert told.startswith("invalid_arguments: command: it starts with cd ")
    assert told.endswith(f"give workdir {place!r} and the command {rest} instead")


@pytest.mark.parametrize(
    "command",
    ["cd / && ls", "cd .. && ls", "cd $HOME && ls", "cd ~ && ls", "cd - && ls", "cd sub; ls", "cd s* && ls", "cd sub"],
)
def test_other_ways_are_those_of_bash(tmp_path: Path, command: str) -> None:
    (tmp_path / "sub").mkdir()
    assert shell(tmp_path, command).ok


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git status", ["git", "status"]),
        ("  pytest -q 'a b' 2>&1 ", ["pytest", "-q", "a b"]),
        # A quoted mark alone cannot be told from one that is not.
        ("grep ';' a", []),
        ("make -j2 | tail", []),
        ("a; b", []),
        ("a && b", []),
        ("a\nb", []),
        ("a > b", []),
        ("(a)", []),
        ("a 'open", []),
        ("a &", []),
    ],
)
def test_lines_that_are_one_command(line: str, words: list[str]) -> None:
    assert simple_command(line) == words


def installed(tmp_path: Path) -> None:
    """A `git` of this workspace that prints what the filter has a rule for."""
    lines = "".join(f"\\tmodified:   file{number}.py\\n" for number in range(40))
    script = (
        "#!/bin/sh\nprintf 'On branch main\\nChanges not staged for commit:\\n"
        '  (use "git add <file>..." to update what will be committed)\\n'
        f"{lines}\\nno changes added to commit\\n'\n"
    )
    (tmp_path / "git").write_text(script)
    (tmp_path / "git").chmod(0o755)


def test_what_the_model_does_not_need_is_filtered(tmp_path: Path) -> None:
    installed(tmp_path)
    outcome = shell(tmp_path, "./git status")
    assert outcome.data["filtered"]
    assert outcome.text.splitlines()[-1] == f"[filtered: {', '.join(outcome.data['filtered'])}]"
    assert 'use "git add' in outcome.data["stdout"]
    assert len(outcome.text) < len(outcome.data["stdout"])


def test_filtering_can_be_turned_off(tmp_path: Path) -> None:
    installed(tmp_path)
    outcome = shell(tmp_path, "./git status", filters=False)
    assert outcome.data["filtered"] == []
    assert outcome.text == f"exit code 0\n{outcome.data['stdout'].rstrip()}"

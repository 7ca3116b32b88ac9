"""Every command, with a stdout that is full, closed or left by its reader, and with no stderr to speak of."""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import REMIT, Home

PRINTING = [
    ["--version"],
    ["--help"],
    ["run", "--help"],
    ["runs", "list", "--json"],
    ["memory", "proposals", "--json"],
    ["man"],
    ["man", "--list"],
    ["man", "--roff", "task.5"],
    ["task", "schema"],
    ["tools"],
    ["tools", "--json"],
    ["events"],
    ["completion", "bash"],
]


def ran(home: Home, arguments: list[str], **streams: Any) -> tuple[int, str]:
    streams.setdefault("stdout", subprocess.DEVNULL)
    with home.popen(*arguments, **streams) as process:
        err = process.stderr.read().decode() if process.stderr is not None else ""
    return process.returncode, err


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_stdout_that_cannot_be_written(home: Home, arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        assert ran(home, arguments, stdout=full) == (9, "error: cannot write to stdout: No space left on device\n")
    code, said = ran(home, arguments, preexec_fn=lambda: os.close(1))
    assert (code, said) == (9, "error: stdout is closed\nhint: give it a stdout, or >/dev/null\n")
    read, write = os.pipe()
    os.close(read)
    assert ran(home, arguments, stdout=write) == (141, "")
    os.close(write)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["runs", "list"], 0), (["runs", "show", "x"], 2), (["nope"], 2), (["tools"], 0), (["run", "--nope"], 2)],
)
def test_a_stderr_that_cannot_be_written(home: Home, arguments: list[str], code: int) -> None:
    with open("/dev/full", "wb") as full:
        assert ran(home, arguments, stderr=full)[0] == code
        assert ran(home, arguments, stdout=full, stderr=full)[0] == (9 if arguments == ["tools"] else code)
    assert ran(home, arguments, preexec_fn=lambda: os.close(2))[0] == code


def test_a_disk_that_fills_up_in_the_middle(home: Home, tmp_path: Path) -> None:
    with open(tmp_path / "out", "wb") as out:
        command = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *REMIT, "man", "--roff", "tools.7"]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, env=home.environ, check=False)
    assert done.returncode == 9
    assert done.stderr == b"error: cannot write to stdout: File too large\n"


def test_a_result_that_cannot_be_written_changes_no_exit_code(home: Home) -> None:
    with open("/dev/full", "wb") as full:
        code, said = ran(home, ["run", "--output-format", "json", "-t", "none.yaml"], stdout=full)
    assert code == 2 and said.count("error: ") == 1 and "Traceback" not in said


def test_a_result_without_a_run_has_ids_of_its_own(home: Home) -> None:
    results = [home.stream(*arguments).result for arguments in (["-t", "none.yaml"], ["--nope"], ["-t", "none.yaml"])]
    ids = [each[name] for each in results for name in ("session_id", "uuid")]
    assert len(set(ids)) == 6
    assert all(uuid.UUID(each).version == 4 for each in ids)
    assert all(not each.get("run_id") for each in results)

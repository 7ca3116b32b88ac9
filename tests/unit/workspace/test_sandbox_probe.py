"""What a machine lends is found out by our own means, and what was not found out is told."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.base.errors import Verdict
from remit.workspace.process_launch import NotStarted, launch_once
from remit.workspace.sandbox import Facilities
from remit.workspace.sandbox_probe import without

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is that of Linux")

PROBE = """
import json, resource, sys
from remit.base.errors import PreflightFault
from remit.workspace.sandbox import Facilities, Grounds
from remit.workspace.sandbox_probe import probe, wished

private, workspace, bubblewrap, files = sys.argv[1:]
wish = Facilities(devices=True) if bubblewrap else wished()
if files:
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
try:
    sandbox = probe(Grounds(workspace=workspace, private=private), None, wish, bubblewrap)
except PreflightFault as fault:
    print(json.dumps([fault.verdict, fault.what]))
else:
    print(json.dumps([name + ": " + str(layer) for name, layer in sandbox.layers().items()]))
"""
HIDDEN = ["/bin/true", "/usr/bin/true", "/usr/local/bin/true", "/bin/sh", "/usr/bin/env"]
ALL = Facilities(user=True, mounts=True, read_only=True, devices=True, pid=True, proc=True, net=True, landlock=7)


def probed(tmp_path: Path, *, bubblewrap: str = "", files: str = "", hide: bool = False) -> list[str]:
    import json

    for name in ("private", "work"):
        (tmp_path / name).mkdir(exist_ok=True)
    child = [sys.executable, "-c", PROBE, str(tmp_path / "private"), str(tmp_path / "work"), bubblewrap, files]
    if hide:
        covered = "".join(f"! test -e {path} || mount --bind /dev/null {path};" for path in HIDDEN)
        child = [
            "unshare",
            *([] if os.geteuid() == 0 else ["-r"]),
            "-m",
            "bash",
            "-c",
            f'{covered} exec "$@"',
            "-",
            *child,
        ]
    done = subprocess.run(child, capture_output=True, text=True, timeout=60, check=False)
    if hide and "unshare failed" in done.stderr:
        pytest.skip("this system makes no mount namespaces")
    assert done.returncode == 0, done.stderr
    told: list[str] = json.loads(done.stdout)
    return told


def test_no_program_of_the_system_is_needed(tmp_path: Path) -> None:
    assert probed(tmp_path, hide=True) == probed(tmp_path)


@pytest.mark.parametrize("files", ["3", "6", "7", "8", "9", "10", "11", "12", "13"])
def test_want_of_descriptors_is_no_refusal(tmp_path: Path, files: str) -> None:
    told = probed(tmp_path, files=files)
    assert told == probed(tmp_path) or told[0] == Verdict.PREFLIGHT, told


def test_what_was_not_tried_is_told(tmp_path: Path) -> None:
    verdict, what = probed(tmp_path, files="6")
    assert verdict == Verdict.PREFLIGHT
    assert what.startswith("what this machine lends to confine commands cannot be found out: ")
    assert "Too many open files" in what


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("kill -9 $$", "it was killed"),
        ("exit 0", "bubblewrap does not run what it is given"),
        ("exit 3", "bubblewrap ends with exit code 3"),
        ("kill -11 $$", "bubblewrap ends with exit code -11"),
    ],
)
def test_bubblewrap_that_fails(tmp_path: Path, does: str, told: str) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    assert any(told in each for each in probed(tmp_path, bubblewrap=str(program)))


@pytest.mark.parametrize("text", ["", "#!/no/such/interpreter\n", "no program\n"])
def test_bubblewrap_that_cannot_be_run_lends_nothing(tmp_path: Path, text: str) -> None:
    program = tmp_path / "bwrap"
    program.write_text(text)
    program.chmod(0o755)
    assert "bubblewrap " in next(each for each in probed(tmp_path, bubblewrap=str(program)) if "secrets" in each)


@pytest.mark.parametrize("step", ["user", "mounts", "read_only", "devices", "pid", "proc", "net", "landlock"])
@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EIO])
def test_what_could_be_had_another_time_is_not_done_without(step: str, number: int) -> None:
    assert without(ALL, NotStarted(step, number, os.strerror(number))) is None


@pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL, errno.ENOSPC, errno.EUSERS])
def test_what_is_refused_is_done_without(number: int) -> None:
    # ENOSPC is what a bound on namespaces says, which may be 0.
    assert without(ALL, NotStarted("user", number, os.strerror(number))) is not None


def test_nothing_ends_well() -> None:
    ended, printed = launch_once(
        {
            "argv": [],
            "environment": {},
            "directory": "/",
            "identity": None,
            "grace": 0.0,
            "limits": [],
            "jail": None,
        },
        30.0,
    )
    assert (ended.code, ended.outlived, printed) == (0, False, b"")

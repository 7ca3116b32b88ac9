"""What a command starts, and what becomes of it: real processes that try to get away."""

from __future__ import annotations

import asyncio
import marshal
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Finished
from remit.base.resources import Effect, Resource
from remit.workspace.launcher_request import Request
from remit.workspace.process import ProcessGrant
from remit.workspace.process_launch import NotStarted, launcher, understood
from remit.workspace.root import Root

Take = Callable[[int, bytes], None]


def line(root: Path, command: str, *, seconds: float = 20, take: Take | None = None) -> tuple[Finished, str]:
    """A line of bash, and what it printed on stdout."""
    process = ProcessGrant(str(root), [Resource("command", command, Effect.EXECUTE)], {})
    printed = bytearray()

    def keep(stream: int, data: bytes) -> None:
        if stream == 1:
            printed.extend(data)

    finished = asyncio.run(process.shell(command, workdir=".", seconds=seconds, take=take or keep))
    return finished, printed.decode()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


GETAWAYS: Mapping[str, str] = {
    "background": "sleep 300 & echo $!",
    "silent background": "sleep 300 </dev/null >/dev/null 2>&1 & echo $!",
    "session of its own": "setsid sh -c 'echo $$; exec sleep 300' & wait_for_it=$!; sleep 0.3",
    "double fork": "(setsid sh -c 'sleep 300 & echo $!' &) ; sleep 0.3",
    "no hangup": "nohup setsid sh -c 'echo $$; trap : TERM HUP; while :; do sleep 1; done' 2>/dev/null & sleep 0.3",
    "another group": "set -m; sleep 300 & echo $!",
}


@pytest.mark.parametrize("how", GETAWAYS)
def test_nothing_outlives_the_call(tmp_path: Path, how: str) -> None:
    began = time.monotonic()
    finished, printed = line(tmp_path, GETAWAYS[how])
    assert time.monotonic() - began < 5
    assert (finished.exit_code, finished.outlived) == (0, False)
    pids = [int(word) for word in printed.split()]
    assert pids
    assert not any(alive(pid) for pid in pids)


def test_time_limit_ends_what_got_away(tmp_path: Path) -> None:
    command = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & sleep 300"
    finished, printed = line(tmp_path, command, seconds=0.5)
    assert finished.timed_out and finished.exit_code is None
    assert not alive(int(printed))


def test_the_time_limit_asks_the_whole_tree(tmp_path: Path) -> None:
    command = "setsid sh -c 'trap \"echo asked; exit\" TERM; echo up; while :; do sleep 0.05; done' & sleep 300"
    _, printed = line(tmp_path, command, seconds=1)
    assert printed == "up\nasked\n"


def test_a_command_that_kills_its_parent_ends_itself(tmp_path: Path) -> None:
    finished, printed = line(tmp_path, "echo $$; kill -9 $PPID; sleep 300")
    assert (finished.exit_code, finished.outlived) == (-signal.SIGKILL, True)
    assert within(5, lambda: not alive(int(printed)))
    assert line(tmp_path, "echo next")[1] == "next\n"


def test_a_launcher_that_died_is_started_again(tmp_path: Path) -> None:
    assert line(tmp_path, "echo one")[1] == "one\n"
    os.kill(launcher()._pid, signal.SIGKILL)
    assert line(tmp_path, "echo two")[1] == "two\n"


def test_the_time_of_a_command_begins_when_it_does(tmp_path: Path) -> None:
    line(tmp_path, "true")
    os.kill(launcher()._pid, signal.SIGSTOP)
    waker = threading.Timer(0.5, os.kill, (launcher()._pid, signal.SIGCONT))
    waker.start()
    finished, printed = line(tmp_path, "echo here", seconds=0.4)
    waker.join()
    assert (printed, finished.timed_out) == ("here\n", False)
    assert finished.seconds >= 0.4


def test_what_the_launcher_says() -> None:
    assert understood("started 1\nexited 256\n").code == 1
    assert understood("exited 9\n").code == -signal.SIGKILL
    assert understood("outlived 0\n").outlived
    assert understood("started 0\n").code == -signal.SIGKILL
    with pytest.raises(NotStarted) as caught:
        understood("failed exec 2 No such file or directory\n")
    assert (caught.value.step, caught.value.number, caught.value.text) == ("exec", 2, "No such file or directory")
    with pytest.raises(NotStarted, match="said nothing"):
        understood("")


def test_the_program_itself_is_a_launcher(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    control, asked = socket.socketpair()
    with ours, theirs, control, asked:
        argv = [sys.executable, "-m", "remit", "__exec", str(theirs.fileno())]
        with subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL) as process:
            theirs.close()
            with (tmp_path / "out").open("wb") as out:
                socket.send_fds(ours, [b"c"], [asked.fileno(), out.fileno(), out.fileno()])
            asked.close()
            request = Request(
                argv=[b"/bin/sh", b"-c", b"echo here; exit 3"],
                environment={},
                directory="/",
                identity=None,
                grace=0.0,
                limits=[],
                jail=None,
            )
            body = marshal.dumps(dict(request))
            control.sendall(len(body).to_bytes(4, "big") + body)
            said = b""
            while part := control.recv(100):
                said += part
            ours.close()
            assert process.wait(10) == 0
    assert understood(said.decode()).code == 3
    assert (tmp_path / "out").read_bytes() == b"here\n"


OURS = """
import asyncio, sys
from remit.base.resources import Effect, Resource
from remit.workspace.process import ProcessGrant
command = sys.argv[1]
process = ProcessGrant("/", [Resource("command", command, Effect.EXECUTE)], {})
take = lambda stream, data: (sys.stdout.buffer.write(data), sys.stdout.flush())
asyncio.run(process.shell(command, workdir=".", seconds=60, take=take))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_us(number: signal.Signals) -> None:
    command = "echo $$; setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait"
    with subprocess.Popen([sys.executable, "-c", OURS, command], stdout=subprocess.PIPE) as ours:
        assert ours.stdout is not None
        pids = [int(ours.stdout.readline()) for _ in range(2)]
        assert all(alive(pid) for pid in pids)
        ours.send_signal(number)
    assert within(8, lambda: not any(alive(pid) for pid in pids))


def test_a_fork_bomb_is_ended(tmp_path: Path) -> None:
    bomb = "ulimit -u 400; f() { f | f & }; f; sleep 300"
    # A bound on processes does not hold for root: there the bomb gets a small fuse.
    fuse = "n=0; while [ $n -lt 300 ]; do (sleep 300 & sleep 300) & n=$((n+1)); done 2>/dev/null; sleep 300"
    finished, _ = line(tmp_path, bomb if os.geteuid() else fuse, seconds=1)
    assert (finished.timed_out, finished.outlived) == (True, False)


def test_bash_reads_no_profile_and_no_input(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("echo profile\n")
    command = f"HOME={shlex.quote(str(tmp_path))} bash -c 'cat; echo $-'; shopt -q login_shell || echo plain"
    assert line(tmp_path, command)[1].split() == ["hBc", "plain"]


def test_signals_are_as_the_system_has_them(tmp_path: Path) -> None:
    finished, printed = line(tmp_path, "yes | head -c 2; kill -PIPE $$; echo survived")
    assert (printed, finished.exit_code) == ("y\n", -signal.SIGPIPE)


def test_no_descriptor_of_ours_is_passed_on(tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        _, printed = line(tmp_path, "ls /proc/self/fd")
    finally:
        os.close(held)
    # The last one is the listed directory itself.
    assert printed.split() == ["0", "1", "2", "3"]


def test_only_declared_lines_run(tmp_path: Path) -> None:
    process = ProcessGrant(str(tmp_path), [Resource("command", "echo a", Effect.EXECUTE)], {})
    with pytest.raises(Failure) as caught:
        asyncio.run(process.shell("echo  a", workdir=".", seconds=1, take=lambda stream, data: None))
    assert caught.value.code is ErrorCode.UNDECLARED


def in_directory(root: Path, declared: Resource | None, workdir: str) -> str:
    lines = [Resource("command", "pwd -P", Effect.EXECUTE)]
    printed = bytearray()
    with Root(root) as opened:
        process = ProcessGrant(str(root), [*lines, *([declared] if declared else [])], {}, root=opened)
        asyncio.run(
            process.shell("pwd -P", workdir=workdir, seconds=20, take=lambda stream, data: printed.extend(data))
        )
    return printed.decode().rstrip("\n")


def test_it_runs_in_a_declared_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    declared = Resource("path", "link", Effect.READ, real="sub")
    assert in_directory(tmp_path, declared, "link") == str(tmp_path.resolve() / "sub")


@pytest.mark.parametrize(
    ("declared", "workdir", "code"),
    [
        (None, "sub", ErrorCode.UNDECLARED),
        (Resource("path", "other", Effect.READ, real="other"), "sub", ErrorCode.UNDECLARED),
        (Resource("path", "sub", Effect.READ, real="elsewhere"), "sub", ErrorCode.FILE_CHANGED),
        (Resource("path", "gone", Effect.READ, real="gone"), "gone", ErrorCode.NOT_FOUND),
        (Resource("path", "file", Effect.READ, real="file"), "file", ErrorCode.NOT_A_DIRECTORY),
        (Resource("path", "out", Effect.READ, real="out"), "out", ErrorCode.PATH_REFUSED),
    ],
)
def test_no_other_directory(tmp_path: Path, declared: Resource | None, workdir: str, code: ErrorCode) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "out").symlink_to("/usr")
    with pytest.raises(Failure) as caught:
        in_directory(tmp_path, declared, workdir)
    assert caught.value.code is code


def test_output_is_passed_on_while_it_comes(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    seen: list[bytes] = []

    def take(stream: int, data: bytes) -> None:
        seen.append(data)
        (tmp_path / "go").unlink(missing_ok=True)

    finished, _ = line(tmp_path, "echo first; while [ -e go ]; do sleep 0.01; done; echo second >&2", take=take)
    assert b"".join(seen) == b"first\nsecond\n"
    assert (finished.stdout, finished.stdout_bytes, finished.stderr_bytes) == (b"", 6, 7)

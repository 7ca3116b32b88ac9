"""Commands run as real processes."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Finished
from remit.base.resources import Effect, Resource
from remit.workspace.process import GRACE_SECONDS, KEPT_VARIABLES, MAX_RAW_BYTES, SET_VARIABLES, ProcessGrant


def grant(root: Path, *commands: str, environment: Mapping[str, str] | None = None) -> ProcessGrant:
    return ProcessGrant(str(root), [Resource("command", name, Effect.EXECUTE) for name in commands], environment or {})


def run(
    root: Path, *argv: str, seconds: float = 20, max_bytes: int = 10_000, environment: Mapping[str, str] | None = None
) -> Finished:
    process = grant(root, shlex.join(argv), environment=environment)
    return asyncio.run(process.run(argv, seconds=seconds, max_bytes=max_bytes))


def sh(root: Path, script: str, *, seconds: float = 20, max_bytes: int = 10_000) -> Finished:
    return run(root, "sh", "-c", script, seconds=seconds, max_bytes=max_bytes)


def failure(root: Path, *argv: str) -> Failure:
    with pytest.raises(Failure) as caught:
        run(root, *argv)
    return caught.value


def gone(pid: int) -> bool:
    """Whether a process has ended; one that only waits to be reaped has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return Path("/proc").is_dir() or not _signalled(pid)
    return state in "ZX"


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid: int, within: float = 5.0) -> bool:
    deadline = time.monotonic() + within
    while not gone(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_output_and_exit_code(tmp_path: Path) -> None:
    finished = sh(tmp_path, "echo out; echo err >&2; exit 3")
    assert (finished.exit_code, finished.stdout, finished.stderr) == (3, b"out\n", b"err\n")
    assert not finished.truncated and not finished.timed_out


def test_it_runs_in_the_workspace(tmp_path: Path) -> None:
    assert sh(tmp_path, "pwd -P").stdout.decode().rstrip() == str(tmp_path.resolve())


def test_stdin_is_null(tmp_path: Path) -> None:
    assert run(tmp_path, "cat").exit_code == 0


def test_no_shell_reads_the_words(tmp_path: Path) -> None:
    assert run(tmp_path, "printf", "%s|", "$HOME", "a;b", "*", "two words").stdout == b"$HOME|a;b|*|two words|"


def test_the_environment_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_TEST_API_KEY", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:password@127.0.0.1:1")
    monkeypatch.setenv("LANG", "C.UTF-8")
    finished = run(tmp_path, "env", environment={"REMIT_OUT": "/out"})
    names = {line.partition("=")[0] for line in finished.stdout.decode().splitlines()}
    assert names <= {*KEPT_VARIABLES, *SET_VARIABLES, "REMIT_OUT"}
    assert {"PATH", "LANG", "REMIT_OUT"} <= names


def test_given_variables_win_over_kept_ones(tmp_path: Path) -> None:
    path = os.environ["PATH"]
    finished = run(tmp_path, "printenv", "TERM", environment={"TERM": "dumb", "PATH": path})
    assert finished.stdout == b"dumb\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("git", "log", "--all"),
        ("git",),
        ("git log",),
        ("git", "log", ""),
        (),
    ],
)
def test_only_declared_commands_run(tmp_path: Path, argv: tuple[str, ...]) -> None:
    process = grant(tmp_path, "git log", "", "unbalanced 'quote")
    with pytest.raises(Failure) as caught:
        asyncio.run(process.run(argv, seconds=1, max_bytes=10))
    assert caught.value.code is ErrorCode.UNDECLARED


def test_other_resources_declare_no_command(tmp_path: Path) -> None:
    process = ProcessGrant(str(tmp_path), [Resource("path", "true", Effect.EXECUTE)], {})
    with pytest.raises(Failure) as caught:
        asyncio.run(process.run(["true"], seconds=1, max_bytes=10))
    assert caught.value.code is ErrorCode.UNDECLARED


def test_a_declared_command_is_split_as_a_shell_splits(tmp_path: Path) -> None:
    process = grant(tmp_path, "printf '%s|' \"two words\" x")
    finished = asyncio.run(process.run(["printf", "%s|", "two words", "x"], seconds=20, max_bytes=100))
    assert finished.stdout == b"two words|x|"


def test_missing_program(tmp_path: Path) -> None:
    refused = failure(tmp_path, "no-such-program-of-remit", "-x")
    assert refused.code is ErrorCode.COMMAND_FAILED
    assert "no-such-program-of-remit -x" in refused.message
    assert "No such file" in refused.message


def test_file_that_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o644)
    refused = failure(tmp_path, "./tool")
    assert refused.code is ErrorCode.COMMAND_FAILED
    assert "Permission denied" in refused.message


def test_file_that_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "tool").write_bytes(b"\x01\x02\x03")
    (tmp_path / "tool").chmod(0o755)
    assert failure(tmp_path, "./tool").code is ErrorCode.COMMAND_FAILED


def test_workspace_that_is_gone(tmp_path: Path) -> None:
    assert failure(tmp_path / "gone", "true").code is ErrorCode.COMMAND_FAILED


def test_argument_with_a_nul(tmp_path: Path) -> None:
    assert failure(tmp_path, "printf", "a\0b").code is ErrorCode.COMMAND_FAILED


def test_program_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho here\n")
    (tmp_path / "tool").chmod(0o755)
    assert run(tmp_path, "./tool").stdout == b"here\n"


def test_output_that_is_not_utf8_comes_as_it_is(tmp_path: Path) -> None:
    assert run(tmp_path, "printf", r"\377\000\376").stdout == b"\xff\x00\xfe"


@pytest.mark.parametrize(("size", "truncated"), [(99, False), (100, False), (101, True)])
@pytest.mark.parametrize("stream", ["", " >&2"])
def test_each_stream_is_kept_up_to_its_limit(tmp_path: Path, size: int, truncated: bool, stream: str) -> None:
    finished = sh(tmp_path, f"printf %{size}s x{stream}", max_bytes=100)
    kept, total = (finished.stderr, finished.stderr_bytes) if stream else (finished.stdout, finished.stdout_bytes)
    whole = b" " * (size - 1) + b"x"
    assert kept == (b"%s\n[... 1 bytes left out ...]\n%s" % (whole[:25], whole[-75:]) if truncated else whole)
    assert (finished.truncated, total) == (truncated, size)


def test_nothing_is_kept_of_no_bytes(tmp_path: Path) -> None:
    finished = run(tmp_path, "echo", "x", max_bytes=0)
    assert (finished.stdout, finished.truncated) == (b"\n[... 2 bytes left out ...]\n", True)


def test_a_flood_is_read_on_and_let_go(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        finished = sh(tmp_path, "yes | head -c 90000000; echo end >&2", max_bytes=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
    assert finished.stdout == b"y\n" * 125 + b"\n[... 89999000 bytes left out ...]\n" + b"y\n" * 375
    assert finished.stderr == b"end\n"
    assert (finished.exit_code, finished.truncated, finished.stdout_bytes) == (0, True, 90_000_000)


def test_a_flood_without_end_is_ended(tmp_path: Path) -> None:
    finished = run(tmp_path, "yes", seconds=60, max_bytes=1000)
    assert (finished.exit_code, finished.flooded, finished.timed_out) == (-signal.SIGKILL, True, False)
    assert finished.stdout_bytes > MAX_RAW_BYTES
    assert finished.stdout.startswith(b"y\ny\n")


@pytest.mark.heavy
@pytest.mark.parametrize(("more", "flooded"), [(0, False), (1, True)])
def test_what_may_be_printed_is_exact(tmp_path: Path, more: int, flooded: bool) -> None:
    half = MAX_RAW_BYTES // 2
    script = f"head -c {half} /dev/zero; head -c {half + more} /dev/zero >&2"
    assert sh(tmp_path, script, max_bytes=1000).flooded is flooded


def test_a_silent_flood_meets_the_time_limit(tmp_path: Path) -> None:
    finished = sh(tmp_path, "while :; do :; done", seconds=1)
    assert (finished.exit_code, finished.timed_out) == (None, True)


def test_death_by_a_signal_is_an_exit_code(tmp_path: Path) -> None:
    assert sh(tmp_path, "kill -9 $$").exit_code == -signal.SIGKILL


def test_time_limit_asks_first(tmp_path: Path) -> None:
    began = time.monotonic()
    finished = sh(tmp_path, "trap 'echo bye; exit 7' TERM; echo up; sleep 60 & wait", seconds=1)
    assert finished.exit_code is None
    assert finished.stdout == b"up\nbye\n"
    assert time.monotonic() - began < 1 + GRACE_SECONDS


def test_time_limit_kills_what_does_not_listen(tmp_path: Path) -> None:
    began = time.monotonic()
    finished = sh(tmp_path, "trap '' TERM; echo $$; while :; do sleep 0.05; done", seconds=1)
    took = time.monotonic() - began
    assert finished.exit_code is None
    assert 1 + GRACE_SECONDS <= took < 1 + GRACE_SECONDS + 10
    assert ends(int(finished.stdout))


def test_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    finished = sh(tmp_path, "(trap '' TERM; sleep 300) & echo $!; sleep 300", seconds=1)
    assert finished.exit_code is None
    assert ends(int(finished.stdout))


def test_a_background_child_does_not_hold_the_call(tmp_path: Path) -> None:
    began = time.monotonic()
    finished = sh(tmp_path, "sleep 300 & echo $!")
    assert time.monotonic() - began < 5
    assert finished.exit_code == 0
    assert ends(int(finished.stdout))


def test_last_words_are_read_before_the_end(tmp_path: Path) -> None:
    finished = sh(tmp_path, "head -c 60000 /dev/zero", max_bytes=100_000)
    assert len(finished.stdout) == 60_000


def test_cancelling_kills_the_group_and_is_passed_on(tmp_path: Path) -> None:
    script = f"trap '' TERM; sleep 300 & echo $$ $! > {shlex.quote(str(tmp_path))}/.pids; mv .pids pids; wait"
    argv = ("sh", "-c", script)
    process = grant(tmp_path, shlex.join(argv))

    async def cancelled() -> None:
        call = asyncio.create_task(process.run(argv, seconds=60, max_bytes=100))
        while not (tmp_path / "pids").exists():
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    began = time.monotonic()
    asyncio.run(asyncio.wait_for(cancelled(), 20))
    assert time.monotonic() - began < 10
    assert all(ends(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_calls_at_the_same_time_stay_apart(tmp_path: Path) -> None:
    commands = [("sh", "-c", f"echo {number}; exit {number}") for number in range(8)]
    process = grant(tmp_path, *map(shlex.join, commands))

    async def together() -> list[Finished]:
        return await asyncio.gather(*(process.run(argv, seconds=20, max_bytes=100) for argv in commands))

    finished = asyncio.run(together())
    assert [(one.exit_code, one.stdout) for one in finished] == [(n, b"%d\n" % n) for n in range(8)]


@pytest.mark.parametrize("size", [1, 1 << 16, 5_000_000])
def test_stdin_is_what_it_is_given(tmp_path: Path, size: int) -> None:
    process = grant(tmp_path, "wc -c")
    finished = asyncio.run(process.run(["wc", "-c"], seconds=20, max_bytes=100, stdin=b"x" * size))
    assert finished.stdout.strip() == str(size).encode()


def test_stdin_need_not_be_read(tmp_path: Path) -> None:
    process = grant(tmp_path, "true")
    finished = asyncio.run(process.run(["true"], seconds=20, max_bytes=100, stdin=b"x" * 5_000_000))
    assert finished.exit_code == 0

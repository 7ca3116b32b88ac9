"""Standard streams, signals and deadlines: stdout is data, and whatever happens the run ends once and soon."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fakes.cli import REMIT, Home, Ran, ended, journal, lines, reads, settled
from fakes.model_server import ModelServer, Stall, delta, stream, usage
from fakes.ported import PROGRAM

DONE = {"text": "Done."}
LIST = {"calls": [{"tool": "list_files", "arguments": {}}]}
SOON = 5.0
"""Seconds for what takes none on an idle machine, where the alternative is for ever or a minute."""


def no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def strict(line: bytes) -> Any:
    return json.loads(line.decode("utf-8"), parse_constant=no_constant)


def kinds(run_dir: Path) -> list[str]:
    return [f"{event['type']} {event.get('subtype', '')}" for event in lines(run_dir / "events.jsonl")]


def test_every_format_shows_the_same_run(home: Home) -> None:
    """Only the run's words are on stdout, whatever checks, warnings and progress say elsewhere."""
    home.write("a.md", "A\n")
    task = home.task(
        prompt="Work.",
        tools={"read_file": "auto", "write_artifact": "auto", "fetch_url": "ask"},
        expect={"checks": ["echo loud", "sh -c 'echo louder >&2'"]},
        on_ask="deny",
    )
    policy = home.path / "policy.toml"
    policy.write_text('version = 1\n[[rule]]\ntools = ["read_file"]\npath = "b*"\ndecide = "ask"\nwhy = "look"\n')
    turns = [
        {
            "text": "Line\u2028separators\x85 and \x1b[31mcolours\x1b[0m.",
            "calls": [
                {"tool": "update_plan", "arguments": {"steps": [{"step": "x"}]}},
                {"tool": "read_file", "arguments": {"path": "b.md"}},
                {"tool": "write_artifact", "arguments": {"name": "r.md", "content": "R"}},
            ],
        },
        {"text": "The end:\n\u2028 \x1b[31mred\u00e9"},
    ]
    seen: dict[str, list[str]] = {}
    for form, more in (("text", []), ("json", ["-q"]), ("stream-json", []), ("stream-json", ["-q"])):
        out = home.path / f"out-{form}{''.join(more)}"
        arguments = ["-t", task, "-p", str(policy), "-m", home.script(*turns), "-o", str(out), *more]
        ran = home.run("run", "--output-format", form, *arguments, environ={"PYTHONWARNINGS": "default"})
        result = ended(out, 0)
        seen[str(out)] = kinds(out)
        assert ran.stdout.endswith(b"\n")
        assert ("-q" in more) == (ran.stderr == ""), ran.stderr
        if form == "text":
            assert ran.stdout.decode() == "The end:\n\u2028 \x1b[31mred\u00e9\n"
            continue
        shown = [strict(line) for line in ran.stdout.splitlines()]
        assert ran.stdout.decode().count("\n") == len(ran.stdout.decode().splitlines()) == len(shown)
        assert shown == ([result] if form == "json" else lines(out / "events.jsonl"))
    assert len(set(map(tuple, seen.values()))) == 1
    told = {"init", "plan", "permission_denied", "artifact", "check"}
    assert {f"system {subtype}" for subtype in told} <= set(seen.popitem()[1])


def test_text_of_a_run_that_failed_stays_empty(home: Home) -> None:
    ran = home.run("run", "Hello", "-m", home.script({**LIST, "text": "Half."}, DONE), "--max-turns", "1")
    assert (ran.code, ran.stdout) == (7, b"")
    assert "the limit turns = 1 is spent" in ran.stderr


def narrow(pipe: int) -> None:
    """A pipe that holds as little as the system allows, so that its writer feels every pause of the reader."""
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)


def test_a_slow_reader_loses_nothing(home: Home) -> None:
    """Megabytes through a pipe of one page, read in sips: the writer waits for every one of them."""
    home.write("big.md", "x\u00e9\n" * 10_000)
    read, write = os.pipe()
    narrow(read)
    arguments = [
        "run",
        "Go",
        "--tools",
        "read_file",
        "-m",
        home.script(*reads("big.md", 3, at_once=10), DONE),
        "-o",
        str(home.out),
        "--output-format",
        "stream-json",
    ]
    with home.started(*arguments, stdout=write) as process:
        os.close(write)
        sips = []
        while sip := os.read(read, 1500):
            sips.append(sip)
        os.close(read)
        assert process.stderr is not None
        process.stderr.read()
        assert process.wait(SOON) == 0
    shown = b"".join(sips)
    assert len(shown) > 1_500_000
    assert shown == (home.out / "events.jsonl").read_bytes()
    assert ended(home.out, 0)["counts"]["calls"] == 30


def test_head_leaves_early(home: Home) -> None:
    home.write("big.md", "x" * 20_000)
    turns = [*reads("big.md", 20), DONE]
    run = [
        *REMIT,
        "run",
        "Go",
        "--tools",
        "read_file",
        "-m",
        home.script(*turns),
        "-o",
        str(home.out),
        "--output-format",
        "stream-json",
    ]
    done = subprocess.run(
        ["bash", "-c", '"$@" | head -1; echo "${PIPESTATUS[0]}"', "bash", *run],
        cwd=home.work, env={**home.environ, "PYTHONUNBUFFERED": "1"}, capture_output=True, check=True,
    )  # fmt: skip
    first, code = done.stdout.splitlines()
    assert strict(first)["subtype"] == "init" and code == b"141"
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr
    stopped = ended(home.out, 141)
    assert (stopped["verdict"], stopped["error_kind"]) == ("stopped", "stdout_closed")
    before = settled(home.out)
    assert len(before) < 20

    again = home.run("resume", str(home.out), "--output-format", "json")
    assert again.result == ended(home.out, 0)
    assert settled(home.out)[: len(before)] == before and len(settled(home.out)) == 20
    assert len({key for key, _, _ in settled(home.out)}) == 20


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_stdout_that_takes_nothing(home: Home, form: str) -> None:
    run = [*REMIT, "run", "Go", "-m", home.script(DONE), "-o", str(home.out), "--output-format", form]
    done = redirected(home, run, ">/dev/full")
    assert done.returncode == 9 and b"Traceback" not in done.stderr
    assert b"hint: send stdout where it can be written, or to /dev/null\n" in done.stderr
    result = ended(home.out, 9)
    assert (result["verdict"], result["error_kind"], result["resumable"]) == ("environment", "disk_full", True)
    assert journal(home.out, "answered") == [] or form != "stream-json"
    assert home.run("resume", str(home.out)).code == 0


@pytest.mark.parametrize("form", ["text", "json", "stream-json", "codex-json"])
@pytest.mark.parametrize("redirect", [">&-", "1</dev/null"])
def test_a_stdout_that_is_closed_from_the_start(home: Home, form: str, redirect: str) -> None:
    """Nothing is paid for whose result nobody could get."""
    run = [*REMIT, "run", "Go", "-m", home.script(DONE), "-o", str(home.out), "--output-format", form]
    done = redirected(home, run, redirect)
    assert (done.returncode, home.out.exists()) == (9, False)
    assert done.stderr == b"error: stdout is closed\nhint: give the run a stdout, or >/dev/null\n"


def test_a_resumed_run_needs_a_stdout_too(home: Home) -> None:
    assert home.run("run", "Go", "-m", home.script(DONE), "-o", str(home.out)).code == 0
    before = journal(home.out, "answered")
    done = redirected(home, [*REMIT, "resume", str(home.out), "more"], ">&-")
    assert (done.returncode, journal(home.out, "answered")) == (9, before)
    assert done.stderr.startswith(b"error: stdout is closed\n")


def redirected(home: Home, command: list[str], redirect: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirect}', "sh", *command],
        cwd=home.work,
        env=home.environ,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )


def test_a_stderr_that_takes_nothing(home: Home) -> None:
    for redirect in ("2>&-", "2>/dev/full"):
        run = [
            *REMIT,
            "run",
            "Go",
            "-m",
            home.script(LIST, DONE),
            "-o",
            str(home.out),
            "--output-format",
            "stream-json",
        ]
        done = subprocess.run(
            ["sh", "-c", f'"$@" {redirect}', "sh", *run],
            cwd=home.work, env=home.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
        assert Ran(done.returncode, done.stdout, "").result == ended(home.out, 0)
        # No file of the run took the place of the closed descriptor.
        assert all(map(strict, (home.out / "journal.jsonl").read_bytes().splitlines()))


# -- signals -----------------------------------------------------------------------------------


def finish(process: subprocess.Popen[bytes], head: bytes = b"") -> tuple[Ran, float]:
    """The rest of a run, and the seconds from its result line to the end of its process."""
    assert process.stdout is not None and process.stderr is not None
    rest, told = [head], 0.0
    for line in process.stdout:
        rest.append(line)
        told = time.monotonic()
    code = process.wait(SOON)
    return Ran(code, b"".join(rest), process.stderr.read().decode()), time.monotonic() - told


def sleeping(seconds: int) -> bool:
    """Whether a `sleep` of that many seconds runs."""
    wanted = f"sleep\0{seconds}\0".encode()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if place.read_bytes() == wanted:
                return True
    return False


def test_a_signal_while_a_command_runs(home: Home) -> None:
    """The command is told to another process, which waits for it; then neither it nor the run is left."""
    fifo = home.work / "fifo"
    os.mkfifo(fifo)
    ready = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    # A duration like no other: the number of a confined process says nothing out here.
    lasts = 300_000 + os.getpid()
    check = f"sh -c 'trap \"\" TERM INT; sleep {lasts} & echo $! > fifo; wait; wait'"
    task = home.task(prompt="Go", expect={"checks": [check]})
    run = ["run", "-t", task, "-m", home.script(DONE), "-o", str(home.out), "--output-format", "stream-json"]
    with home.started(*run) as process:
        assert select.select([ready], [], [], 60)[0]
        assert os.read(ready, 100)
        until = time.monotonic() + SOON
        while not sleeping(lasts):
            # It is a shell until it has become the program.
            assert time.monotonic() < until
            time.sleep(0.01)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        ran, after = finish(process)
        assert time.monotonic() - began < SOON and after < SOON
    os.close(ready)
    assert ran.result == ended(home.out, 143) and ran.result["verdict"] == "stopped"
    assert not sleeping(lasts)
    again = home.run("resume", str(home.out), "--max-seconds", "0.2", "--output-format", "json")
    assert (again.code, again.result["verdict"], again.result["error_kind"]) == (7, "budget", "seconds")


STUCK = {"calls": [{"tool": "fetch_url", "arguments": {"url": "https://example.com/"}}]}


@pytest.mark.parametrize("way", ["signal", "deadline"])
def test_a_tool_that_is_stuck(home: Home, way: str) -> None:
    """Its thread never comes back; the run ends all the same, and the process with it."""
    tools = {"fetch_url": {"decide": "auto", "hosts": ["example.com"]}}
    task = home.task(prompt="Go", tools=tools, limits={"seconds": 0.3 if way == "deadline" else 600})
    command = [*PROGRAM, "stuck", "-t", task, "-m", home.script(STUCK, DONE), "-o", str(home.out)]
    with subprocess.Popen(
        command, env=home.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        head = process.stdout.readline() + process.stdout.readline()
        if way == "signal":
            process.send_signal(signal.SIGINT)
        ran, after = finish(process, head)
        assert after < SOON
    code, verdict, kind = (7, "budget", "seconds") if way == "deadline" else (130, "stopped", "sigint")
    assert ran.result == ended(home.out, code)
    assert (ran.result["verdict"], ran.result["error_kind"]) == (verdict, kind)
    assert journal(home.out, "call_settled") == []


@pytest.mark.parametrize("way", ["signal", "deadline"])
def test_a_reader_that_stands_still(home: Home, way: str) -> None:
    """The run waits for its reader, but not longer than a signal or its time allows."""
    home.write("big.md", "x" * 20_000)
    read, write = os.pipe()
    narrow(read)
    turns = [*reads("big.md", 9), DONE]
    seconds = ["--max-seconds", "0.5"] if way == "deadline" else []
    run = ["run", "Go", "--tools", "read_file", "-m", home.script(*turns), "-o", str(home.out)]
    run += ["--output-format", "stream-json", *seconds]
    with home.started(*run, stdout=write) as process:
        os.close(write)
        os.read(read, 1)
        if way == "signal":
            process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        stderr = process.stderr.read()
        code = process.wait(SOON)
        os.close(read)
    result = ended(home.out, 7 if way == "deadline" else 143)
    assert result["exit_code"] == code and result["resumable"] and b"Traceback" not in stderr


def test_a_second_signal_ends_at_once(home: Home) -> None:
    """The first one's end is held up by a stderr that nobody reads; the second does not wait for it."""
    read, write = os.pipe()
    narrow(read)
    with ModelServer([stream(Stall())]) as server:
        run = ["run", "Go", "-q", "-m", "openai/m", "-o", str(home.out), "--output-format", "stream-json"]
        with home.started(*run, stderr=write, environ={"OPENAI_BASE_URL": server.url}) as process:
            os.close(write)
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert strict(process.stdout.readline())["exit_code"] == 143
            process.send_signal(signal.SIGINT)
            assert process.wait(SOON) == 130
    os.close(read)
    # It may have cut the projections short, not what they are made from.
    assert journal(home.out)[-1]["exit_code"] == 143


def ignoring(*numbers: signal.Signals) -> Any:
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


def test_an_ignored_hangup_stays_ignored(home: Home) -> None:
    """`nohup`, and a job in the background of a script."""
    with ModelServer([stream(delta({"content": "Don"}), Stall(), delta({"content": "e."}, "stop"), usage())]) as server:
        run = ["run", "Go", "-m", "openai/m", "-o", str(home.out), "--output-format", "stream-json"]
        quiet = ignoring(signal.SIGHUP, signal.SIGINT)
        with home.started(*run, preexec_fn=quiet, environ={"OPENAI_BASE_URL": server.url}) as process:
            assert process.stdout is not None
            head = process.stdout.readline()
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGINT)
            server.released.set()
            ran, _ = finish(process, head)
    assert ran.result == ended(home.out, 0) and ran.result["result"] == "Done."


def test_the_deadline_interrupts_a_silent_model(home: Home) -> None:
    with ModelServer([stream(delta({"content": "I think"}), Stall())]) as server:
        run = ["run", "Go", "-m", "openai/m", "-o", str(home.out), "--output-format", "stream-json"]
        with home.started(*run, "--max-seconds", "2", environ={"OPENAI_BASE_URL": server.url}) as process:
            ran, after = finish(process)
        assert after < SOON and server.disconnected.wait(SOON)
    assert ran.result == ended(home.out, 7)
    assert (ran.result["error_kind"], ran.result["errors"]) == ("seconds", ["the limit seconds = 2 is spent"])


def test_a_signal_before_there_is_a_run(home: Home) -> None:
    """While a pipe on stdin is awaited: the signal ends the process, and nothing was begun."""
    run = ["run", "Go", "--stdin", "-m", home.script(DONE), "-o", str(home.out)]
    for number in (signal.SIGTERM, signal.SIGINT):
        with home.started(*run, stdin=subprocess.PIPE) as process:
            wait_for_read(process.pid)
            process.send_signal(number)
            code = process.wait(SOON)
            assert process.stderr is not None
            assert code == 128 + number and b"Traceback" not in process.stderr.read()
    assert not home.out.exists()


def wait_for_read(pid: int) -> None:
    """Until the process sleeps in a read of its standard input."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if Path(f"/proc/{pid}/wchan").read_text() in {"pipe_read", "anon_pipe_read"}:
            return
    raise TimeoutError


@pytest.mark.heavy
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_every_line(home: Home, number: signal.Signals) -> None:
    """Wherever it comes, the run ends with one result line and goes on later; no call is made twice."""
    home.write("a.md", "A\n")
    turn = {
        "text": "On.",
        "calls": [
            {"tool": "write_artifact", "arguments": {"name": "a.txt", "content": "A"}},
            {"tool": "read_file", "arguments": {"path": "a.md"}},
        ],
    }
    task = home.task(prompt="Go", tools={"read_file": "auto", "write_artifact": "auto"}, expect={"checks": ["true"]})
    script = home.script(turn, turn, DONE)
    whole = len(home.stream("-t", task, "-m", script).events)
    assert whole > 12
    for lines_read in range(1, whole):
        out = home.path / f"out{lines_read}"
        read, write = os.pipe()
        narrow(read)
        run = ["run", "-t", task, "-m", script, "-o", str(out), "--output-format", "stream-json"]
        with home.started(*run, stdout=write) as process, os.fdopen(read, "rb", buffering=0) as stdout:
            os.close(write)
            head = b"".join(stdout.readline() for _ in range(lines_read))
            process.send_signal(number)
            ran = Ran(0, head + stdout.read(), "")
            assert process.stderr is not None and b"Traceback" not in process.stderr.read()
            code = process.wait(SOON)
        # It may have been through already.
        assert code in (0, 128 + number)
        assert ended(out, code) and sum(event["type"] == "result" for event in ran.events) == 1
        if code:
            assert home.run("resume", str(out)).code == 0
        assert sorted(key for key, _, _ in settled(out)) == ["t1.c1", "t1.c2", "t2.c1", "t2.c2", "t3.check1"]

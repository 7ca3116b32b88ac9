"""Standard input: what is offered is taken, what is asked for is read to its end, nobody is waited for for ever."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import REMIT, Home, Ran, ended, prompts
from remit.base.errors import UsageFault
from remit.commands.stdin import read_stdin

DONE = {"text": "Done."}


def prompt(run_dir: Path) -> str:
    """What the model was asked."""
    text: str = prompts(run_dir)[0]["text"]
    return text


def block(data: str) -> str:
    return f"Sum up.\n\n<stdin>\n{data}</stdin>"


def arguments(home: Home, *more: str, name: str = "out") -> list[str]:
    form = ["--output-format", "stream-json"]
    return ["run", *more, "-m", home.script(DONE), "-o", str(home.path / name), *form]


def finished(process: subprocess.Popen[bytes], seconds: float = 60) -> Ran:
    """Wait for the end, without touching the process's stdin."""
    assert process.stdout is not None and process.stderr is not None
    stdout, stderr = process.stdout.read(), process.stderr.read()
    return Ran(process.wait(seconds), stdout, stderr.decode())


def test_a_pipe_is_awaited_for_five_seconds(home: Home) -> None:
    """Four runs at once: nobody writes; nobody writes and the task needs it; somebody begins in time and ends late;
    nobody writes, and the run never looks."""
    needy = home.task("needy.yaml", prompt="Sum up.", stdin="required")
    deaf = home.task("deaf.yaml", prompt="Sum up.", stdin="ignore")
    pipe: dict[str, Any] = {"stdin": subprocess.PIPE}
    began = time.monotonic()
    with (
        home.started(*arguments(home, "Sum up.", name="silent"), **pipe) as silent,
        home.started(*arguments(home, "-t", needy, name="needy"), **pipe) as required,
        home.started(*arguments(home, "Sum up.", name="slow"), **pipe) as slow,
        home.started(*arguments(home, "-t", deaf, name="deaf"), **pipe) as ignoring,
    ):
        assert slow.stdin is not None
        slow.stdin.write(b"first\n")
        slow.stdin.flush()

        never = finished(ignoring)
        assert never.result == ended(home.path / "deaf", 0) and never.result["stdin"] == "ignored"
        assert prompt(home.path / "deaf") == "Sum up."

        waited = finished(silent)
        assert time.monotonic() - began >= 5
        assert waited.events[0]["stdin"] == waited.result["stdin"] == "skipped"
        assert waited.result == ended(home.path / "silent", 0)
        assert prompt(home.path / "silent") == "Sum up."
        told = [line for line in waited.stderr.splitlines() if "stdin" in line]
        assert told == ["remit: nothing came on stdin within 5 s; going on without it (-n never waits)"]

        missed = finished(required)
        assert (missed.code, missed.result["verdict"]) == (2, "usage")
        assert missed.result["errors"] == [
            "stdin: the task requires standard input, and nothing came (pipe something in)"
        ]
        assert not (home.path / "needy").exists()

        assert slow.poll() is None
        slow.stdin.write(b"second\n")
        slow.stdin.close()
        late = finished(slow)
    assert late.events[0]["stdin"] == late.result["stdin"] == "read"
    assert prompt(home.path / "slow") == block("first\nsecond\n")


@contextmanager
def source(home: Home, kind: str, data: bytes = b"data\n") -> Iterator[dict[str, Any]]:
    """Standard input of a kind, as arguments of Popen."""
    if kind == "file":
        with open(home.write("input.txt", data), "rb") as file:
            yield {"stdin": file}
    elif kind == "pipe":
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        yield {"stdin": read}
        os.close(read)
    elif kind == "open pipe":
        read, write = os.pipe()
        yield {"stdin": read}
        os.close(read)
        os.close(write)
    elif kind == "closed":
        yield {"stdin": subprocess.DEVNULL, "preexec_fn": lambda: os.close(0)}
    elif kind == "terminal":
        master, terminal = os.openpty()
        os.write(master, data)
        yield {"stdin": terminal}
        os.close(terminal)
        os.close(master)
    else:
        yield {"stdin": subprocess.DEVNULL}


TAKEN = block("data\n")
ALONE = "Sum up."


@pytest.mark.parametrize(
    ("kind", "flags", "state", "asked"),
    [
        ("file", [ALONE], "read", TAKEN),
        ("pipe", [ALONE], "read", TAKEN),
        ("null", [ALONE], "none", ALONE),
        ("closed", [ALONE], "none", ALONE),
        ("terminal", [ALONE], "none", ALONE),
        ("pipe", [], "read", "data\n"),
        ("file", ["-"], "read", "data\n"),
        ("pipe", ["--prompt-file", "-"], "read", "data\n"),
        ("pipe", [ALONE, "--stdin"], "read", TAKEN),
        ("open pipe", [ALONE, "-n"], "ignored", ALONE),
        ("file", [ALONE, "--no-stdin"], "ignored", ALONE),
        ("pipe", ["-t", "required.yaml"], "read", TAKEN),
        ("pipe", ["-t", "ignore.yaml", "--stdin"], "read", TAKEN),
        ("file", ["-t", "optional.yaml"], "read", TAKEN),
    ],
)
def test_what_is_read(home: Home, kind: str, flags: list[str], state: str, asked: str) -> None:
    for rule in ("required", "ignore", "optional"):
        home.task(f"work/{rule}.yaml", prompt=ALONE, stdin=rule, workspace=".")
    with source(home, kind) as stdin, home.started(*arguments(home, *flags), **stdin) as process:
        ran = finished(process)
    assert ran.events[0]["stdin"] == ran.result["stdin"] == state
    assert ran.result == ended(home.out, 0)
    assert prompt(home.out) == asked


@pytest.mark.parametrize(
    ("kind", "flags", "said"),
    [
        ("null", [], "there is no prompt"),
        ("terminal", [], "there is no prompt"),
        ("null", ["-"], "there is no prompt"),
        ("open pipe", ["-n"], "there is no prompt"),
        ("null", ["-t", "required.yaml"], "the task requires standard input, and nothing came"),
        ("pipe", ["-t", "required.yaml", "-n"], "the task requires standard input (leave --no-stdin out)"),
    ],
)
def test_what_is_missing(home: Home, kind: str, flags: list[str], said: str) -> None:
    home.task("work/required.yaml", prompt=ALONE, stdin="required", workspace=".")
    with source(home, kind) as stdin, home.started(*arguments(home, *flags), **stdin) as process:
        ran = finished(process)
    assert ran.code == 2 and not home.out.exists()
    assert said in ran.result["errors"][0] and said in ran.stderr


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "byte 0x89 at byte offset 0"),
        (b"good\xed\xa0\xbd", "byte 0xed at byte offset 4"),
        (b"good \xc3", "byte 0xc3 at byte offset 5"),
        ("latin\u00e9".encode("latin-1"), "byte 0xe9 at byte offset 5"),
    ],
)
def test_input_that_is_no_text(home: Home, data: bytes, said: str) -> None:
    ran = home.run(*arguments(home, ALONE), stdin=data)
    assert ran.code == 2 and not home.out.exists()
    assert "stdin" in ran.result["errors"][0] and said in ran.result["errors"][0]


@pytest.mark.parametrize("way", ["stdin", "block", "file", "pipe"])
def test_a_nul_byte_is_told_with_its_offset(home: Home, way: str) -> None:
    data = "ü\na\0b".encode()
    file = home.write("nul.txt", data)
    flags = {
        "stdin": ["-"],
        "block": [ALONE],
        "file": ["--prompt-file", str(file)],
        "pipe": ["--prompt-file", "/dev/stdin"],
    }
    ran = home.run(*arguments(home, *flags[way]), stdin=b"" if way == "file" else data)
    assert ran.code == 2 and not home.out.exists()
    where = {"file": str(file), "pipe": "/dev/stdin"}.get(way, "stdin")
    assert f"{where}:2: a NUL byte at byte offset 4 (" in ran.result["errors"][0]


@pytest.mark.parametrize("required", [True, False])
def test_the_size_of_the_input(tmp_path: Path, required: bool) -> None:
    for size in (10, 11):
        (tmp_path / "x").write_bytes(b"x" * size)
        fd = os.open(tmp_path / "x", os.O_RDONLY)
        try:
            if size == 10:
                assert read_stdin(required=required, ignored=False, fd=fd, max_bytes=10).data == b"x" * 10
            else:
                with pytest.raises(UsageFault, match="larger than 10 bytes"):
                    read_stdin(required=required, ignored=False, fd=fd, max_bytes=10)
        finally:
            os.close(fd)


@pytest.mark.heavy
@pytest.mark.parametrize("flags", [["-"], ["--prompt-file", "/dev/stdin"]])
def test_input_without_end(home: Home, flags: list[str]) -> None:
    with (
        subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless,
        home.started(*arguments(home, *flags), stdin=endless.stdout) as process,
    ):
        assert endless.stdout is not None
        endless.stdout.close()
        ran = finished(process)
    assert ran.code == 2 and not home.out.exists()
    assert "is larger than 268435456 bytes" in ran.result["errors"][0]


def test_input_that_cannot_be_read(home: Home) -> None:
    descriptor = os.open(home.write("x", ""), os.O_WRONLY)
    with home.started(*arguments(home, ALONE), stdin=descriptor) as process:
        ran = finished(process)
    os.close(descriptor)
    assert ran.code == 2 and ran.result["hint"] == "-n never reads it"
    assert ran.result["errors"] == ["standard input cannot be read: Bad file descriptor"]


@pytest.mark.heavy
@pytest.mark.parametrize("way", ["stdin", "file", "block"])
def test_a_prompt_of_20_megabytes(home: Home, way: str) -> None:
    text = "".join(f"line {number} of the prompt\n" for number in range(900_000))
    assert len(text) > 20_000_000
    big = home.write("big.txt", text)
    flags = {"stdin": ["-"], "file": ["--prompt-file", str(big)], "block": [ALONE]}[way]
    ran = home.run(*arguments(home, *flags), stdin=b"" if way == "file" else text.encode())
    assert ran.result == ended(home.out, 0)
    assert prompt(home.out) == (block(text) if way == "block" else text)


def test_a_check_does_not_eat_the_input(home: Home) -> None:
    task = home.task(prompt=ALONE, expect={"checks": ["cat", "sh -c 'test -z \"$(cat)\" -a ! -t 0'"]})
    ran = home.run(*arguments(home, "-t", task), stdin=b"data\n")
    checks = [event for event in ran.events if event.get("subtype") == "check"]
    assert [check["ok"] for check in checks] == [True, True]
    assert prompt(home.out) == TAKEN and ran.code == 0


def test_a_loop_over_lines(home: Home) -> None:
    script = home.script(DONE)
    loop = f'while read line; do "$@" run -n -q "line $line" -m {script}; done'
    done = subprocess.run(
        ["sh", "-c", loop, "sh", *REMIT], input=b"1\n2\n3\n", env=home.environ, capture_output=True, check=True
    )
    assert done.stdout == b"Done.\n" * 3 and done.stderr == b""
    asked = [prompt(path) for path in home.runs if path.is_dir()]
    assert sorted(asked) == ["line 1", "line 2", "line 3"]

"""Bad input: every refusal says what was seen and what to do, before anything is begun where that can be."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal, reads, settled
from fakes.model_server import ModelServer, calls, text
from fakes.unprivileged import heed_permissions
from remit.base.text import visible

SURROGATE = b"\xed\xa0\xbd"
DONE = {"text": "Done."}
RULE = '[[rule]]\ntools = ["read_file"]\n'
ROOT = os.geteuid() == 0


def refused(home: Home, ran: Ran, code: int = 2) -> str:
    """The faults of a command line that began nothing: one result line, the same on stderr, no directory."""
    assert ran.code == code, ran.stderr
    [result] = ran.events
    assert (result["type"], result["exit_code"], result["is_error"]) == ("result", code, True)
    assert result["errors"] and all(visible(error) in ran.stderr for error in result["errors"])
    assert "Traceback" not in ran.stderr
    assert not home.out.exists() and not home.runs
    return "\n".join([*result["errors"], result["hint"]])


CASES: dict[str, tuple[dict[str, str | bytes], list[str], list[str]]] = {
    "task: missing": ({}, ["-t", "nope.yaml"], ["nope.yaml: "]),
    "task: a directory": ({"dir/x": ""}, ["-t", "dir"], ["dir: this is a directory, not a file"]),
    "task: empty": ({"t.yaml": ""}, ["-t", "t.yaml"], ["t.yaml"]),
    "task: not UTF-8": ({"t.yaml": b"version: 1\nname: \xff\n"}, ["-t", "t.yaml"], ["t.yaml:2", "0xff", "offset 17"]),
    "task: half a character": (
        {"t.yaml": b"version: 1\nname: " + SURROGATE},
        ["-t", "t.yaml"],
        ["t.yaml:2", "0xed", "offset 17"],
    ),
    "task: a lone surrogate escaped": (
        {"t.yaml": 'version: 1\nprompt: "a \\ud83d b"\n'},
        ["-t", "t.yaml"],
        ["t.yaml:2", "invalid Unicode character escape"],
    ),
    "task: unknown tool": (
        {"t.yaml": "version: 1\nprompt: x\ntools:\n  read_fil: auto\n"},
        ["-t", "t.yaml"],
        ["t.yaml:4", "unknown tool 'read_fil'", "`read_file`", "analyze_csv, batch, code_context"],
    ),
    "task: several faults": (
        {"t.yaml": "version: 1\nprompt: x\nworkspace: nowhere\nlimits: {turns: 0}\nstdin: maybe\nstdinn: x\n"},
        ["-t", "t.yaml", "-p", "nope.toml", "--max-calls", "many"],
        ["t.yaml:3", "t.yaml:4", "t.yaml:5", "t.yaml:6", "nope.toml", "--max-calls"],
    ),
    "task: a schema that is none": (
        {"t.yaml": "version: 1\nprompt: x\nexpect: {schema: s.json}\n", "s.json": '{"type": "objekt"}'},
        ["-t", "t.yaml"],
        ["t.yaml:3", "s.json", "objekt"],
    ),
    "prompt: not UTF-8": ({}, ["caf\udce9"], ["PROMPT", "0xe9", "offset 3"]),
    "prompt: half a character": ({}, ["a\udced\udca0\udcbd"], ["PROMPT", "0xed", "offset 1"]),
    "prompt: empty": ({}, [" "], ["the prompt is empty"]),
    "prompt: two": ({"p.txt": "x"}, ["x", "--prompt-file", "p.txt"], ["--prompt-file", "give one of them"]),
    "prompt file: missing": ({}, ["--prompt-file", "nope.txt"], ["nope.txt"]),
    "prompt file: not UTF-8": ({"p.txt": b"good\n" + SURROGATE}, ["--prompt-file", "p.txt"], ["p.txt:2", "offset 5"]),
    "policy: missing": ({}, ["x", "-p", "nope.toml"], ["nope.toml"]),
    "policy: not UTF-8": ({"p.toml": b"# \xff"}, ["x", "-p", "p.toml"], ["p.toml:1", "0xff", "offset 2"]),
    "policy: not TOML": ({"p.toml": "version = 1\n[[rule]\n"}, ["x", "-p", "p.toml"], ["p.toml:2"]),
    "policy: a rule without decide": (
        {"p.toml": f'version = 1\n{RULE}why = "so"\n'},
        ["x", "-p", "p.toml"],
        ["p.toml:2", "decide"],
    ),
    "policy: a rule without why": (
        {"p.toml": f'version = 1\n{RULE}decide = "deny"\n'},
        ["x", "-p", "p.toml"],
        ["p.toml:2", "why"],
    ),
    "policy: an example that fails": (
        {
            "p.toml": f'version = 1\n{RULE}path = "a/**"\ndecide = "deny"\nwhy = "so"\n'
            '[rule.examples]\nmatch = ["b/c.md"]\nmiss = ["a/d.md"]\n'
        },
        ["x", "-p", "p.toml"],
        ["p.toml:8", "b/c.md", "p.toml:9", "a/d.md"],
    ),
    "policy: a project's": (
        {".remit/policy.toml": "version = 1\n[[rule]]\n"},
        ["x"],
        [".remit/policy.toml:2", "decide", "why"],
    ),
    "policy: an unknown tool in a flag": ({}, ["x", "--deny", "read_fil"], ["--deny", "unknown tool", "read_file"]),
    "approvals: missing": ({}, ["x", "-a", "nope.toml"], ["nope.toml"]),
    "approvals: a directory": ({"dir/x": ""}, ["x", "-a", "dir"], ["dir: this is a directory"]),
    "approvals: not UTF-8": ({"a.toml": b"\xff"}, ["x", "-a", "a.toml"], ["a.toml:1", "0xff", "offset 0"]),
    "approvals: entries that are none": (
        {"a.toml": 'version = 1\n[[approval]]\ntool = "nope"\ndecide = "maybe"\n'},
        ["x", "-a", "a.toml"],
        ["a.toml:3", "unknown tool 'nope'", "a.toml:4", "why"],
    ),
    "tools: unknown": (
        {},
        ["x", "--tools", "nope,read_file=perhaps"],
        ["--tools 'nope'", "write_artifact", "expected auto | ask | deny, seen 'perhaps'"],
    ),
    "workspace: missing": ({}, ["x", "-C", "nowhere"], ["--workspace", "nowhere"]),
    "out: a file stands there": ({"f": ""}, ["x", "-o", "f"], ["f: this is not a directory", "-o DIR"]),
    "out: below a file": ({"f": ""}, ["x", "-o", "f/out"], ["f: this is not a directory", "-o DIR"]),
    "out: files of others": (
        {"o/journal.jsonl": "mine"},
        ["x", "-o", "o"],
        ["'journal.jsonl' there does not belong to a run", "-o DIR"],
    ),
    "out: control characters": ({"a\x1b[31mb": ""}, ["x", "-o", "a\x1b[31mb"], ["a\x1b[31mb: this is not"]),
    "script: missing": ({}, ["x", "-m", "scripted/nope.yaml"], ["nope.yaml"]),
    "script: not UTF-8": ({"s.yaml": b"\n\xff"}, ["x", "-m", "scripted/s.yaml"], ["s.yaml:2", "0xff", "offset 1"]),
    "script: a lone surrogate": (
        {"s.yaml": 'version: 1\nturns:\n- text: "\\ud83d"\n'},
        ["x", "-m", "scripted/s.yaml"],
        ["s.yaml:3", "invalid Unicode character escape"],
    ),
    "script: several faults": (
        {"s.yaml": "version: 1\nturns:\n- {}\n- {tekst: x}\n"},
        ["x", "-m", "scripted/s.yaml"],
        ["s.yaml:4", "tekst"],
    ),
    "replay: no recording": ({"r": "{}\n"}, ["x", "-m", "replay/r"], ["r:1"]),
    "model: unknown provider": ({}, ["x", "-m", "opnai/m"], ["there is no provider 'opnai'", "openai/MODEL"]),
    "flag: unknown": ({}, ["x", "--tool"], ["No such option: --tool", "remit run --help"]),
    "flag: control characters": ({}, ["x", "--to\x1b[31m"], [r"No such option: --to\x1b[31m"]),
    "flag: no value": ({}, ["x", "-m"], ["'-m' requires an argument"]),
    "flag: wrong value": ({}, ["x", "--on-ask", "maybe"], ["'maybe' is not one of"]),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """A model that nobody may ask."""
    with ModelServer([]) as model:
        yield model
        assert model.requests == []


@pytest.mark.parametrize("name", CASES)
def test_refused_before_anything_begins(home: Home, server: ModelServer, name: str) -> None:
    files, arguments, said = CASES[name]
    for file, content in files.items():
        home.write(file, content)
    form = "json" if len(name) % 2 else "stream-json"
    more = [] if "-m" in arguments else ["-m", "openai/m"]
    more += [] if "-o" in arguments else ["-o", str(home.out)]
    ran = home.run(
        "run", "--output-format", form, *more, *arguments, environ={"OPENAI_BASE_URL": server.url}, stdin=b""
    )
    told = refused(home, ran)
    assert "\x1b" not in ran.stderr
    for part in said:
        assert part in told
    assert server.requests == []
    # Nothing of the caller's was touched.
    assert {file: home.work.joinpath(file).read_bytes() for file in files} == {
        file: content.encode() if isinstance(content, str) else content for file, content in files.items()
    }


def test_permissions(home: Home) -> None:
    """An approvals file that may not be read, directories that may not be written."""
    home.write("closed.toml", "version = 1\n").chmod(0)
    begin = ["run", "Hello", "--output-format", "json", "-m", home.script(DONE)]
    home.work.chmod(0o555)
    (home.path / "state").chmod(0o555)
    try:
        unread = home.run(*begin, "-a", "closed.toml", "-o", str(home.out), preexec_fn=heed_permissions)
        assert "closed.toml: the file cannot be opened: Permission denied" in refused(home, unread)
        unwritable = home.run(*begin, "-o", "out", preexec_fn=heed_permissions)
        told = refused(home, unwritable, code=9)
        assert "work/out" in told and "Permission denied" in told and "-o DIR" in told
        assert not (home.work / "out").exists()
        homeless = home.run(*begin, preexec_fn=heed_permissions)
        assert "state/runs" in refused(home, homeless, code=9)
        unrecorded = home.run(*begin, "-o", str(home.out), "--record", "r.jsonl", preexec_fn=heed_permissions)
        assert "r.jsonl: the recording cannot be written: Permission denied" in refused(home, unrecorded, code=9)
        (home.path / "state").chmod(0)
        for command in (["runs", "list"], ["runs", "show", "last"], ["resume", "last"]):
            unlisted = home.run(*command, preexec_fn=heed_permissions)
            assert (unlisted.code, unlisted.stdout) == (9, b"")
            assert "cannot read the list of runs: Permission denied" in unlisted.stderr
    finally:
        home.work.chmod(0o755)
        (home.path / "state").chmod(0o755)


@contextmanager
def small_disk(place: Path, kib: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """`place` with room for so many KiB: a file system of that size where one may be mounted, else a limit on the
    size of each file. Arguments of Popen, and what makes it grow."""
    place.mkdir()
    mounted = (
        ROOT
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    )
    try:
        if mounted:
            grow = ["mount", "-o", "remount,size=16m", str(place)]
            yield {}, lambda: subprocess.run(grow, check=True)
        else:
            limit = (kib << 9, kib << 9)
            yield {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)}, lambda: None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)


def test_full_disk(home: Home) -> None:
    """The disk fills up in the middle: what is done stays whole, and the run goes on once there is room."""
    home.write("a.md", "x" * 3000)
    write = [
        {"calls": [{"tool": "write_artifact", "arguments": {"name": f"{i}.txt", "content": "y" * 1000}}]}
        for i in (1, 2)
    ]
    script = home.script(write[0], *reads("a.md", 20), write[1], DONE)
    arguments = ["Go", "-m", script, "--tools", "read_file,write_artifact", "-o", str(home.out)]
    with small_disk(home.out, 128) as (keys, grow):
        ran = home.stream(*arguments, **keys)
        result = ran.result
        told = (ran.code, result["verdict"], result["error_kind"], result["resumable"])
        assert told == (9, "environment", "disk_full", True)
        assert "-o DIR" in result["hint"] or "ulimit" in result["hint"]
        assert [each["name"] for each in result["artifacts"]] == ["1.txt"]
        assert (home.out / "artifacts" / "1.txt").read_text() == "y" * 1000
        status = json.loads((home.out / "run.json").read_text())
        assert (status["status"], status["exit_code"], status["resumable"]) == ("environment", 9, True)
        kept = len(settled(home.out))
        assert 1 < kept < 22

        grow()
        again = home.run("resume", str(home.out), "--output-format", "stream-json")
        assert again.result == ended(home.out, 0)
        assert len(settled(home.out)) == 22 and again.result["counts"]["calls"] == 22
        assert (home.out / "artifacts" / "2.txt").read_text() == "y" * 1000


def test_a_disk_that_is_full_from_the_start(home: Home) -> None:
    with small_disk(home.out, 4) as (keys, _):
        (home.out / "filler").write_bytes(b"x" * 2048)
        ran = home.stream("Go", "-m", home.script(DONE), "-o", str(home.out), **keys)
        assert (ran.code, ran.result["verdict"], ran.result["error_kind"]) == (9, "environment", "disk_full")
        assert "Traceback" not in ran.stderr


def test_files_of_the_workspace_that_are_no_text(home: Home) -> None:
    home.write("latin.md", "caf\u00e9 costs 5 \u20ac\n".encode("cp1252"))
    home.write("half.md", b"before " + SURROGATE + b" after\n")
    home.write("zero.md", b"a\0b\n")
    (home.work / os.fsdecode(b"name-\xff.md")).write_text("x\n")
    reads = [{"tool": "read_file", "arguments": {"path": name}} for name in ("latin.md", "half.md", "zero.md")]
    script = home.script(
        {"calls": [*reads, {"tool": "list_files"}, {"tool": "search_files", "arguments": {"query": "x"}}]}, DONE
    )
    tools = ["--tools", "read_file,list_files,search_files"]
    ran = home.stream("Read", "-m", script, *tools, "-o", str(home.out))
    assert ran.result == ended(home.out, 0) and ran.result["counts"]["traceback"] == 0
    outcomes = [record["outcome"] for record in journal(home.out, "call_settled")]
    assert "caf\u00e9 costs 5 \u20ac" in outcomes[0]["data"]["content"]
    assert "before" in json.dumps(outcomes[1])
    assert outcomes[2]["error"]["code"] == "binary_content"
    assert outcomes[3]["ok"] and outcomes[4]["ok"]


MANY = 10_000


def used() -> float:
    """Processor seconds of the processes this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.heavy
@pytest.mark.parametrize("limit", [None, "none"])
def test_ten_thousand_calls_in_one_turn(home: Home, limit: str | None) -> None:
    """The default limit ends the run after 500 calls, and keeps all that was done; without a limit all of them run."""
    home.write("a.md", "A\n")
    wanted = [
        ("w", "write_artifact", '{"name": "kept.md", "content": "kept"}'),
        *((f"c{number}", "read_file", '{"path": "a.md"}') for number in range(1, MANY)),
    ]
    ran_calls = MANY if limit else 500
    more = ["--max-calls", limit] if limit else []
    began = used()
    with ModelServer([calls(*wanted), text("Done.")]) as server:
        ran = home.stream(
            "Go", "-m", "openai/m", "--tools", "read_file,write_artifact", "-o", str(home.out), *more,
            environ={"OPENAI_BASE_URL": server.url}, seconds=300,
        )  # fmt: skip
        # Processor time, so that a busy machine fails nobody.
        assert used() - began < 30
        result = ended(home.out, ran.code)
        assert ran.result == result
        assert result["verdict"] == ("done" if limit else "budget") and result["spent"]["calls"] == ran_calls
        assert (home.out / "artifacts" / "kept.md").read_text() == "kept"
        outcomes = settled(home.out)
        assert len(outcomes) == MANY and [ok for _, _, ok in outcomes] == [True] * ran_calls + [False] * (
            MANY - ran_calls
        )
        if limit:
            return
        again = home.run("resume", str(home.out), "--max-calls", "600", "-q", environ={"OPENAI_BASE_URL": server.url})
        assert (again.code, again.stdout) == (0, b"Done.\n")
        # The model read what became of each of its calls.
        results = [message for message in server.requests[-1].body["messages"] if message["role"] == "tool"]
        assert len(results) == MANY and "budget_spent" in results[-1]["content"]
    assert ended(home.out, 0)["spent"]["calls"] == 500


def test_a_resume_that_cannot_be(home: Home) -> None:
    """Runs that are not there, are over, are in use or are damaged; nothing of them changes."""
    home.stream("Go", "-m", home.script(DONE), "-o", str(home.out))
    stopped = home.path / "stopped"
    turns = [{"calls": [{"tool": "list_files"}]}, DONE]
    home.stream("Go", "-m", home.script(*turns, name="s.yaml"), "--max-turns", "1", "-o", str(stopped))
    damaged = home.path / "damaged"
    shutil.copytree(stopped, damaged)
    text_of = (damaged / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (damaged / "journal.jsonl").write_bytes(b"".join([*text_of[:3], b"{}\n", *text_of[3:]]))
    home.write("bad.toml", b"\xff")

    def refusal(*arguments: str) -> str:
        ran = home.run("resume", *arguments, "--output-format", "json")
        [result] = ran.events
        assert (ran.code, result["exit_code"], result["verdict"]) == (2, 2, "usage")
        assert result["errors"] and all(error in ran.stderr for error in result["errors"])
        return "\n".join([*result["errors"], result["hint"]])

    before = {path: path.read_bytes() for path in home.path.rglob("*") if path.is_file() and path.name != "lock"}
    assert "no run is called 'nope'" in refusal("nope")
    assert "has ended (done)" in refusal(str(home.out))
    assert "journal.jsonl:4: the journal is damaged here" in refusal(str(damaged))
    assert "bad.toml:1" in refusal(str(stopped), "-a", "bad.toml")
    assert "--max-turns" in refusal(str(stopped), "--max-turns", "0")
    assert "no provider 'nope'" in refusal(str(stopped), "-m", "nope/m")
    with open(stopped / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "in use by" in refusal(str(stopped), "--max-turns", "9")
    assert before == {path: path.read_bytes() for path in before}
    assert home.run("resume", str(stopped), "--max-turns", "9").stdout == b"Done.\n"

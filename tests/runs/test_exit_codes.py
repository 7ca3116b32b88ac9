"""One test for each exit code. The process, the result line, `run.json` and the journal say the same."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal, lines, reads, settled
from fakes.model_server import ModelServer, Stall, stream
from remit.base.errors import EXIT_MEANINGS

ECHO = {"text": "Done."}
LIST = {"calls": [{"tool": "list_files", "arguments": {}}]}


def agreed(home: Home, ran: Ran, verdict: str, code: int, kind: str = "") -> dict[str, Any]:
    """The result of a run whose directory is `home.out`, once everything says the same."""
    assert ran.code == code, ran.stderr
    result = ended(home.out, code)
    assert ran.result == result
    assert (result["verdict"], result["error_kind"]) == (verdict, kind)
    assert result["is_error"] == (code != 0)
    assert (result["subtype"] == "success") == (code == 0)
    assert [record["type"] for record in journal(home.out)].count("prompt_ended") == 1
    return result


def before(home: Home, ran: Ran, verdict: str, code: int, kind: str = "") -> dict[str, Any]:
    """The result of a command line that never became a run."""
    assert ran.code == code, ran.stderr
    [result] = ran.events
    assert (result["type"], result["verdict"], result["exit_code"]) == ("result", verdict, code)
    assert result["error_kind"] == (kind or verdict)
    assert result["errors"] and result["errors"][0] in ran.stderr
    assert not home.out.exists() and not home.runs
    return result


def test_0_done(home: Home) -> None:
    ran = home.stream("Hello", "-m", home.script(ECHO), "-o", str(home.out))
    assert agreed(home, ran, "done", 0)["result"] == "Done."


def test_1_bug(home: Home) -> None:
    ran = home.ported("broken", "-t", home.task(prompt="Hello"), "-m", home.script(ECHO), "-o", str(home.out))
    result = agreed(home, ran, "bug", 1, "bug")
    assert result["errors"] == ["a fault of remit itself: ZeroDivisionError: a follower that breaks"]
    assert result["resumable"] and result["counts"]["traceback"] == 1
    [note] = journal(home.out, "noted")
    assert note["kind"] == "traceback" and "a follower that breaks" in note["text"]
    assert "Traceback" not in ran.stderr


def test_2_usage(home: Home) -> None:
    ran = home.stream("Hello", "-m", home.script(ECHO), "--tools", "read_fil", "-o", str(home.out))
    result = before(home, ran, "usage", 2)
    assert "did you mean `read_file`" in result["errors"][0]


def test_3_unmet(home: Home) -> None:
    task = home.task(prompt="Write.", tools={"write_artifact": "auto"}, expect={"artifacts": ["a.md"]})
    ran = home.stream("-t", task, "-m", home.script(ECHO), "-o", str(home.out))
    assert agreed(home, ran, "unmet", 3, "unmet")["unmet"] == ["artifact a.md was not written"]


@pytest.mark.parametrize(("flags", "kind"), [(["--on-ask", "stop"], "asked"), (["--on-deny", "fail"], "denied")])
def test_4_refused(home: Home, flags: list[str], kind: str) -> None:
    home.write("a.md", "A")
    home.write("b.md", "B")
    (home.path / "policy.toml").write_text(
        'version = 1\n[[rule]]\ntools = ["read_file"]\npath = "a.md"\ndecide = "ask"\nwhy = "somebody has to look"\n'
    )
    script = home.script({"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]}, ECHO)
    policy = ["-p", str(home.path / "policy.toml"), "--tools", "read_file"]
    result = agreed(home, home.stream("Read", "-m", script, *policy, *flags, "-o", str(home.out)), "refused", 4, kind)
    assert result["resumable"]
    assert [denial["why"] for denial in result["permission_denials"]] == ["somebody has to look"]


@pytest.mark.parametrize("kind", ["auth", "bad_request", "context_overflow", "network", "malformed", "cut"])
def test_5_provider(home: Home, kind: str) -> None:
    # An answer that breaks off before anything came is asked for again, three times in all.
    script = home.script({"error": {"kind": kind, "message": "it said no"}, "repeat": 3})
    result = agreed(home, home.stream("Hello", "-m", script, "-o", str(home.out)), "provider", 5, kind)
    assert result["counts"]["retry"] == (2 if kind == "cut" else 0)
    assert result["errors"] == ["scripted: it said no"] and result["resumable"]


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded"])
def test_6_busy(home: Home, kind: str) -> None:
    script = home.script({"error": {"kind": kind, "reset_at": "2030-01-01T00:00:00Z"}})
    ran = home.stream("Hello", "-m", script, "-o", str(home.out))
    result = agreed(home, ran, "busy", 6, kind)
    assert result["resets_at"] == "2030-01-01T00:00:00Z"
    assert "2030-01-01T00:00:00Z" in ran.stderr


def test_7_budget(home: Home) -> None:
    ran = home.stream("Hello", "-m", home.script(LIST, ECHO), "--max-turns", "1", "-o", str(home.out))
    assert agreed(home, ran, "budget", 7, "turns")["subtype"] == "error_max_turns"


def test_8_preflight(home: Home) -> None:
    ran = home.stream("Hello", "-o", str(home.out))
    before(home, ran, "preflight", 8, "no_model")
    for way in ("OPENAI_API_KEY", "OPENAI_BASE_URL", ".[local]", "scripted/FILE"):
        assert way in ran.stderr


def test_8_a_current_directory_that_is_gone(home: Home) -> None:
    gone = home.path / "gone"
    gone.mkdir()
    script = home.script(ECHO)
    ran = home.stream("Hello", "-m", script, "-o", str(home.out), preexec_fn=lambda: (os.chdir(gone), gone.rmdir()))
    before(home, ran, "preflight", 8, "no_directory")


def limit_files(size: int) -> Any:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("limit", [13, 14, 16])
def test_9_too_many_files(limit: int, home: Home) -> None:
    """Wherever the run is when no file can be opened any more."""
    write = {"calls": [{"tool": "write_artifact", "arguments": {"name": "a.txt", "content": "a"}}]}
    told = home.run(
        *("run", "Write", "-m", home.script(write, ECHO), "--tools", "write_artifact", "-o", str(home.out)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )
    assert (told.code, "ulimit -n" in told.stderr) == (9, True), told.stderr
    assert "fault of remit" not in told.stderr


def test_9_environment(home: Home) -> None:
    """The file size limit stands in for a full disk: it meets the journal, which is the largest file."""
    home.write("long.md", "x" * 5000)
    keep = {"calls": [{"tool": "write_artifact", "arguments": {"name": "kept.txt", "content": "kept"}}]}
    arguments = [
        "Write",
        "-m",
        home.script(keep, *reads("long.md", 9), ECHO),
        "--tools",
        "write_artifact,read_file",
        "-o",
        str(home.out),
    ]
    ran = home.stream(*arguments, preexec_fn=limit_files(60_000))
    result = ran.result
    told = (ran.code, result["exit_code"], result["verdict"], result["error_kind"])
    assert told == (9, 9, "environment", "disk_full")
    assert "ulimit -f" in result["hint"] and [each["name"] for each in result["artifacts"]] == ["kept.txt"]
    # The journal is full, so its last record is one of the run; the status still says how it ended.
    assert journal(home.out)[-1]["type"] != "prompt_ended"
    status = json.loads((home.out / "run.json").read_text())
    assert (status["status"], status["verdict"], status["exit_code"]) == ("environment", "environment", 9)
    done = len(settled(home.out))

    again = home.run("resume", str(home.out), "--output-format", "stream-json")
    assert again.result["verdict"] == "done" and ended(home.out, again.code)
    assert 1 < done < 10 == len(settled(home.out))
    assert (home.out / "artifacts" / "kept.txt").read_text() == "kept"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_130_143_129_stopped(home: Home, number: signal.Signals, code: int) -> None:
    with ModelServer([stream(Stall())]) as server:
        environ = {"OPENAI_BASE_URL": server.url}
        arguments = ["run", "Hello", "-m", "openai/m", "-o", str(home.out), "--output-format", "stream-json"]
        with home.started(*arguments, environ=environ) as process:
            assert process.stdout is not None and process.stderr is not None
            first = process.stdout.readline()
            process.send_signal(number)
            rest, stderr = process.communicate(timeout=10)
    ran = Ran(process.returncode, first + rest, stderr.decode())
    result = agreed(home, ran, "stopped", code, number.name.lower())
    assert result["resumable"] and result["terminal_reason"] == "aborted"
    assert "Traceback" not in ran.stderr


def test_141_the_reader_of_stdout_went_away(home: Home) -> None:
    script = home.script({**LIST, "repeat": 50}, ECHO)
    arguments = [
        "run",
        "Hello",
        "-m",
        script,
        "--tools",
        "list_files",
        "-o",
        str(home.out),
        "--output-format",
        "stream-json",
    ]
    with home.started(*arguments) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        stderr = process.stderr.read().decode()
        assert process.wait(timeout=10) == 141
    result = ended(home.out, 141)
    assert (result["verdict"], result["error_kind"], result["resumable"]) == ("stopped", "stdout_closed", True)
    assert "Traceback" not in stderr and "BrokenPipe" not in stderr


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
def test_200_quick_runs_end_in_one_line_each(home: Home, part: int) -> None:
    """Ten parts of 20; each part mixes ends, formats and sizes."""
    scripts: list[tuple[str, int]] = [
        (home.script(ECHO, name="done.yaml"), 0),
        (home.script({"calls": [*LIST["calls"]] * 30}, {"text": "x" * 200_000}, name="large.yaml"), 0),
        (home.script({"error": {"kind": "auth"}}, name="auth.yaml"), 5),
        (home.script({"stop": "end_turn", "repeat": 3}, name="empty.yaml"), 5),
        (home.script({**LIST, "repeat": 9}, name="budget.yaml"), 7),
    ]
    for number in range(20):
        model, code = scripts[number % len(scripts)]
        out = home.path / f"out{number}"
        form = "json" if number % 2 else "stream-json"
        flags = ["-m", model, "--tools", "list_files", "-o", str(out), "--max-turns", "3", "--output-format", form]
        ran = home.run("run", f"Part {part}", *flags)
        assert ran.stdout.endswith(b"\n") and ran.stdout.count(b'"type":"result"') == 1
        assert ran.result == ended(out, code)
        assert [event["type"] for event in lines(out / "events.jsonl")].count("result") == 1
        if form == "json":
            assert len(ran.events) == 1


def test_the_help_names_every_code(home: Home) -> None:
    ran = home.run("run", "--help")
    for code in EXIT_MEANINGS:
        assert re.search(rf"\b{code}\b", ran.stdout.decode())

"""Sessions that are taken up again: with a further prompt, as the latest one, as a copy, or not at all."""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, journal
from fakes.driving import driven

ONE, TWO, THREE = {"text": "one"}, {"text": "two"}, {"text": "three"}
SLEEP = {"calls": [{"tool": "shell", "arguments": {"command": "touch ready; sleep 60"}}]}
LONG = {"calls": [{"tool": "shell", "arguments": {"command": "seq 1 40000"}}]}


def status(directory: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(directory) / "run.json").read_text())
    return found


def begin(home: Home, *turns: dict[str, Any], args: tuple[str, ...] = ("hello",)) -> dict[str, Any]:
    """A first session, in the user's state directory; its init event."""
    ran = home.stream("-m", home.script(*(turns or (ONE,))), *args)
    assert ran.code == 0, ran.stderr
    init: dict[str, Any] = ran.events[0]
    return init


def started(home: Home) -> None:
    """Returns once the command of SLEEP runs."""
    until = time.monotonic() + 30
    while not (home.work / "ready").exists():
        assert time.monotonic() < until
        time.sleep(0.02)


def prompts(directory: str) -> list[str]:
    return [each["text"] for each in journal(Path(directory), "user_said") if not each["synthetic"]]


def test_resume_takes_a_further_prompt(home: Home) -> None:
    init = begin(home)
    script = home.script(ONE, TWO)
    ran = home.run("resume", init["run_id"], "and more", "-m", script, "--output-format", "stream-json")
    assert ran.code == 0, ran.stderr
    assert ran.result["result"] == "two"
    assert (ran.result["num_turns"], ran.result["session_id"]) == (1, init["session_id"])
    assert prompts(init["run_dir"]) == ["hello", "and more"]
    assert (status(init["run_dir"])["prompts"], status(init["run_dir"])["status"]) == (2, "done")
    refused = home.run("resume", init["run_id"])
    assert refused.code == 2 and "remit resume RUN PROMPT" in refused.stderr
    script = home.script(ONE, TWO, THREE)
    assert home.run("resume", init["run_id"], "-", "-m", script, stdin=b"from stdin").stdout.strip() == b"three"
    assert prompts(init["run_dir"])[-1] == "from stdin"


def test_continue_takes_the_latest_session_of_the_directory(home: Home) -> None:
    assert home.stream("-m", home.script(ONE), "-c", "first").result["result"] == "one"
    first = status(home.runs[0])
    elsewhere = home.path / "elsewhere"
    elsewhere.mkdir()
    other = home.stream("-m", home.script(ONE, name="o.yaml"), "-C", str(elsewhere), "other")
    assert other.code == 0
    ran = home.stream("-m", home.script(ONE, TWO), "--continue", "second")
    assert ran.result["session_id"] == first["session_id"]
    assert ran.result["result"] == "two"
    assert ran.events[0]["resumed"] is True
    ran = home.stream("-m", home.script(ONE, TWO, name="o.yaml"), "-C", str(elsewhere), "-c", "more")
    assert ran.result["session_id"] == other.result["session_id"]


def test_a_session_goes_on_as_it_was_unless_flags_say_otherwise(home: Home) -> None:
    script = home.script(ONE, TWO, THREE)
    init = begin(home, ONE, TWO, THREE, args=("hello", "--tools", "file_read", "--max-turns", "7"))
    ran = home.stream("--resume", init["session_id"], "second")
    assert (ran.events[0]["tools"], ran.events[0]["limits"]["turns"]) == (init["tools"], 7)
    assert ran.result["result"] == "two"
    ran = home.stream("--resume", "last", "--tools", "file_glob", "third", "-m", script)
    assert ran.events[0]["tools"] == ["file_glob", "tool_output"]
    assert ran.events[0]["limits"]["turns"] == 7
    assert prompts(init["run_dir"]) == ["hello", "second", "third"]


def test_a_fork_is_a_session_of_its_own(home: Home) -> None:
    init = begin(home, LONG, ONE, args=("hello", "--tools", "shell=auto"))
    before = (Path(init["run_dir"]) / "journal.jsonl").read_bytes()
    chosen = str(uuid.uuid4())
    page = {"calls": [{"tool": "tool_output", "arguments": {"output_id": "output-seq"}}]}
    script = home.script(LONG, ONE, page, TWO)
    fork = ("--resume", init["run_id"], "--fork-session", "--session-id", chosen, "-m", script)
    ran = home.stream(*fork, "go on", "-o", str(home.out))
    assert ran.code == 0, ran.stderr
    assert ran.result["session_id"] == chosen
    assert ran.events[0]["run_id"] != init["run_id"]
    assert (Path(init["run_dir"]) / "journal.jsonl").read_bytes() == before
    copied = journal(home.out, "session_forked")[0]
    assert copied["session_id"] == init["session_id"]
    assert ran.result["num_turns"] == 2
    shown = journal(home.out, "call_settled")[-1]
    assert shown["outcome"]["ok"], shown
    more = home.run("resume", str(home.out), "-m", home.script(LONG, ONE, page, TWO, THREE), "again")
    assert more.code == 0 and more.stdout.strip() == b"three"


def test_a_fork_of_a_session_under_way_has_a_result_for_every_call(home: Home) -> None:
    with driven(home, "-m", home.script(SLEEP), "--tools", "shell=auto") as session:
        session.say("go")
        init = session.until(lambda event: event.get("subtype") == "init")
        session.until("assistant")
        started(home)
        fork = ("--resume", init["run_id"], "--fork", "-m", home.script(SLEEP, TWO, name="two.yaml"))
        ran = home.stream(*fork, "what now?", "-o", str(home.out))
        assert ran.result.get("result") == "two", ran.result
        taken = home.stream("--resume", init["run_id"], "more")
        assert taken.code == 2 and f"in use by process {session.process.pid}" in taken.stderr
    last = journal(home.out, "session_forked")[0]["messages"][-1]
    assert "copied before it ended" in json.dumps(last)


def test_a_session_id_is_used_once(home: Home) -> None:
    chosen = str(uuid.uuid4())
    assert begin(home, args=("hello", "--session-id", chosen.upper()))["session_id"] == chosen
    ran = home.stream("-m", home.script(ONE), "--session-id", chosen, "again")
    assert ran.code == 2 and f"the session id {chosen} is in use by run" in ran.stderr


@pytest.mark.parametrize(
    ("args", "due"),
    [
        (("--session-id", "x"), "'x' is no UUID"),
        (("--fork",), "there is no session to copy"),
        (("-c", "--resume", "last"), "the latest session and one by its name"),
        (("-c", "-o", "out"), "a session that is taken up has that already"),
        (("-c", "--ephemeral"), "a session that is taken up has that already"),
        (("-c", "--session-id", str(uuid.UUID(int=1))), "a session that is taken up has that already"),
        (("-c", "--fork", "--record", "x"), "that is for a session that begins anew"),
        (("--ephemeral", "-o", "out"), "the run leaves nothing behind"),
        (("--resume", "20260101-000000-aaaaaa"), "no run is called"),
    ],
)
def test_flags_that_contradict_one_another(home: Home, args: tuple[str, ...], due: str) -> None:
    ran = home.stream("-m", home.script(ONE), "hello", *args)
    assert ran.code == 2
    assert due in ran.stderr


def test_an_ephemeral_run_leaves_nothing(home: Home) -> None:
    temp = home.path / "tmp"
    temp.mkdir()
    ran = home.stream("-m", home.script(ONE), "--ephemeral", "hello", environ={"TMPDIR": str(temp)})
    assert ran.result["result"] == "one"
    assert list(temp.iterdir()) == []
    assert home.run("runs", "list", "--json").stdout.strip() == b"[]"


def test_what_a_killed_ephemeral_run_leaves_is_removed_by_the_next_run(home: Home) -> None:
    temp = home.path / "tmp"
    temp.mkdir()
    environ = {"TMPDIR": str(temp)}
    flags = ("--ephemeral", "--tools", "shell=auto")
    with driven(home, "-m", home.script(SLEEP), *flags, environ=environ) as session:
        session.say("go")
        init = session.until(lambda event: event.get("subtype") == "init")
        session.until("assistant")
        started(home)
        session.process.send_signal(signal.SIGKILL)
        session.process.wait(20)
    assert os.path.isdir(init["run_dir"])
    assert home.stream("-m", home.script(ONE), "hello").code == 0
    assert not os.path.exists(init["run_dir"])


def test_a_client_takes_sessions_up(home: Home) -> None:
    script = home.script(ONE, TWO, THREE)
    init = begin(home, ONE, TWO, THREE)
    with driven(home, "-m", script, "--continue") as session:
        session.say("second")
        assert session.until("result")["result"] == "two"
        assert session.end() == 0
    assert prompts(init["run_dir"]) == ["hello", "second"]
    with driven(home, "-m", script, "--resume", init["session_id"], "--fork", "-o", str(home.out)) as session:
        session.say("third")
        result = session.until("result")
        assert result["result"] == "three" and result["session_id"] != init["session_id"]
        assert session.end() == 0


@pytest.mark.parametrize("further", [True, False])
def test_a_killed_prompt_is_given_up_for_a_further_one(home: Home, further: bool) -> None:
    with driven(home, "-m", home.script(SLEEP), "-o", str(home.out), "--tools", "shell=auto") as session:
        session.say("go")
        session.until("assistant")
        started(home)
        session.process.kill()
        session.process.wait(20)
    args = ("something else",) if further else ()
    ran = home.run("resume", str(home.out), *args, "-m", home.script(SLEEP, TWO), "--output-format", "stream-json")
    assert ran.result["result"] == "two"
    repairs = [event["text"] for event in ran.events if event.get("kind") == "repair"]
    assert any("shell was interrupted; whether it took effect is unknown" in text for text in repairs)


def test_the_list_of_runs_shows_sessions(home: Home) -> None:
    init = begin(home)
    listed = home.run("runs", "list").stdout.decode().splitlines()
    assert listed[0].split()[-4:] == ["SESSION", "MODEL", "NAME", "DIRECTORY"]
    assert init["session_id"][:8] in listed[1] and listed[1].endswith(str(home.work))
    entry = json.loads(home.run("runs", "list", "--json").stdout)[0]
    assert entry["status"]["prompts"] == 1

"""Sessions of several prompts, killed while one of them is under way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.cli import Home, lines
from fakes.driving import driven
from remit.base.limits import Limits
from remit.base.messages import CallBlock, ResultBlock
from remit.base.records import CallStarted, PromptEnded, Record, UserSaid
from remit.engine.state import State
from remit.store.journal import read_journal

DRIVER = Path(__file__).parent / "session_driver.py"
FILES = {"calls": [{"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}]}
PLAN = {"calls": [{"tool": "plan", "arguments": {"action": "write", "content": "# Plan"}}]}
TURNS = (
    {"text": "one"},
    {"calls": [*PLAN["calls"], {"tool": "shell", "arguments": {"command": "echo x >> effects"}}]},
    {"text": "two"},
    FILES,
    {"text": "three"},
)
RECORDS = 24
"""More than the second prompt writes."""

SOME = (1, 2, 3, 5, 7, 9, 11, RECORDS)


def begun(path: Path) -> tuple[Home, str]:
    """A session whose first prompt has ended, without the plan that was due."""
    home = Home(path)
    model = home.script(*TURNS)
    tools = ("--tools", "shell=auto,file_write=auto,plan")
    ran = home.stream("-m", model, *tools, "--mode", "plan", "-o", str(home.out), "first")
    assert ran.code == 3, ran.stderr
    return home, model


def records_of(out: Path) -> list[Record]:
    records, torn = read_journal(str(out / "journal.jsonl"))
    assert not torn
    return records


def held(home: Home) -> None:
    """What is true of every session that came to its end."""
    records = records_of(home.out)
    state = State(Limits())
    for record in records:
        state.apply(record)
    roles = [message.role for message in state.messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2)
    for asked, answered in zip(state.messages[1::2], state.messages[2::2], strict=False):
        calls = [block.id for block in asked.content if isinstance(block, CallBlock)]
        results = [block.call_id for block in answered.content if isinstance(block, ResultBlock)]
        assert calls == results
    ends = [record for record in records if isinstance(record, PromptEnded)]
    told = [event for event in lines(home.out / "events.jsonl") if event["type"] == "result"]
    assert len(told) == len(ends)
    status = json.loads((home.out / "run.json").read_text())
    assert (status["status"], status["verdict"]) == ("done", "done")
    # An effect is there at most as often as a call was begun.
    begun_calls = sum(isinstance(record, CallStarted) and record.key.endswith(".c2") for record in records)
    effects = (home.work / "effects").read_text().count("x") if (home.work / "effects").exists() else 0
    assert effects <= begun_calls <= 1


def killed(path: Path, number: int, how: str) -> None:
    home, model = begun(path)
    command = [sys.executable, str(DRIVER), str(number), how, str(home.out), "second", "default"]
    done = subprocess.run(command, cwd=home.work, env=home.environ, capture_output=True, timeout=60, check=False)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    assert (done.returncode == 0) == (number == RECORDS)
    ran = home.run("resume", str(home.out), "-m", model, "third", "--output-format", "stream-json")
    assert ran.code == 0, ran.stderr
    held(home)
    said = [record.text for record in records_of(home.out) if isinstance(record, UserSaid) and not record.synthetic]
    assert said in (["first", "third"], ["first", "second", "third"])


@pytest.mark.parametrize("number", SOME)
def test_a_further_prompt_killed_after_a_record_is_followed_by_another(tmp_path: Path, number: int) -> None:
    killed(tmp_path, number, "after")


@pytest.mark.heavy
@pytest.mark.parametrize("number", [each for each in range(1, 15) if each not in SOME])
@pytest.mark.parametrize("how", ["after", "torn"])
def test_wherever_it_is_killed(tmp_path: Path, number: int, how: str) -> None:
    killed(tmp_path, number, how)


@pytest.mark.parametrize("read", [1, 4, 7])
def test_a_driven_session_killed_at_any_line_is_taken_up_by_another_client(tmp_path: Path, read: int) -> None:
    home, model = begun(tmp_path)
    taken = ("--resume", str(home.out), "-m", model)
    with driven(home, *taken, "--mode", "build") as session:
        session.say("second")
        for _ in range(read):
            session.read()
        session.process.kill()
        session.process.wait(20)
    with driven(home, *taken) as session:
        session.say("third")
        assert session.until("result")["verdict"] == "done"
        assert session.end() == 0
    held(home)

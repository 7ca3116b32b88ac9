"""Kill -9 after every journal step, then `remit resume`: nothing lost, nothing twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran
from remit.base.messages import CallBlock, Message, ResultBlock
from remit.base.records import ArtifactWritten, CallSettled, CallStarted, PlanSet, PromptEnded, Record, TodosSet
from remit.engine.state import State
from remit.store.journal import read_journal
from remit.wiring import journaled_spec

DRIVER = Path(__file__).with_name("driver.py")
REPORT = "# Report\n" + "a line of text\n" * 2000
TABLE = {"total": 6, "rows": 3}

TURNS: list[dict[str, Any]] = [
    {
        "text": "first I look",
        "calls": [
            {"tool": "list_files", "arguments": {}},
            {"tool": "analyze_csv", "arguments": {"path": "t.csv"}, "expect_result": {"data": {"rows": 3}}},
        ],
    },
    {
        "calls": [
            {"tool": "write_artifact", "arguments": {"name": "report.md", "content": "draft\n"}},
            {"tool": "update_plan", "arguments": {"steps": [{"step": "write", "status": "in_progress"}]}},
            {
                "tool": "batch",
                "arguments": {
                    "tool_calls": [
                        {"tool": "todo_write", "todos": [{"content": "write", "priority": "high"}]},
                        {"tool": "read_file", "parameters": {"path": "secrets.exe"}},
                    ]
                },
            },
        ]
    },
    {
        "calls": [
            {"tool": "write_artifact", "arguments": {"name": "report.md", "content": REPORT}},
            {"tool": "propose_memory", "arguments": {"text": "the table has three rows"}},
            {"tool": "write_artifact", "arguments": {"name": "t.json", "content": json.dumps(TABLE)}},
        ]
    },
    {"calls": [{"tool": "structured_output", "arguments": TABLE}]},
]

SCHEMA = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
RECORDS = 61
"""More than the run writes: the kills past its end find it finished."""


def prepared(path: Path) -> tuple[Home, str, str, Path]:
    home = Home(path)
    home.write("t.csv", "a,b\n1,x\n2,y\n3,z\n")
    (path / "schema.json").write_text(json.dumps(SCHEMA))
    model = home.script(*TURNS)
    task = home.task(
        prompt="go",
        tools=dict.fromkeys(
            ("list_files", "analyze_csv", "read_file", "write_artifact", "todo_write", "batch"), "auto"
        ),
        memory={"enabled": True, "proposals": True},
        expect={"artifacts": ["report.md", "t.json"], "schema": "schema.json", "checks": ["true", "test -f t.csv"]},
    )
    return home, task, model, path / "out"


def killed(home: Home, number: int, how: str, task: str, model: str, out: Path) -> int:
    """The exit status of a run that dies after its `number`th record."""
    command = [sys.executable, str(DRIVER), str(number), how, task, model, str(out)]
    done = subprocess.run(command, cwd=home.work, env=home.environ, capture_output=True, timeout=60, check=False)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    return done.returncode


def held(home: Home, out: Path, resumed: Ran | None) -> None:
    """Everything that must be true of a run that came to its end, however often it died."""
    records, torn = read_journal(str(out / "journal.jsonl"))
    assert not torn
    assert (out / "artifacts" / "report.md").read_text() == REPORT
    assert json.loads((out / "artifacts" / "t.json").read_text()) == TABLE
    assert sorted(path.name for path in (out / "artifacts").iterdir()) == ["report.md", "t.json"]
    index = json.loads((out / "artifacts.json").read_text())
    assert {each["name"]: each["bytes"] for each in index["artifacts"]}["report.md"] == len(REPORT.encode())
    status = json.loads((out / "run.json").read_text())
    ends = [record for record in records if isinstance(record, PromptEnded)]
    assert (status["verdict"], status["exit_code"], len(ends)) == ("done", 0, 1)
    no_silent_repeats(records, resumed)
    nothing_untold(records, out)
    valid_transcript(records, str(out))
    proposals = json.loads(home.run("memory", "proposals", "--json").stdout)
    assert len(proposals) == 1


def nothing_untold(records: list[Record], out: Path) -> None:
    """`events.jsonl` tells each result, artifact, plan and todo list of the journal once, and ends in one result."""
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    results = [
        block["tool_use_id"]
        for event in events
        if event["type"] == "user"
        for block in event["message"]["content"]
        if block["type"] == "tool_result"
    ]
    assert results == [each.id for each in records if isinstance(each, CallSettled) and ".check" not in each.key]
    told = Counter(event.get("subtype") for event in events)
    assert told["artifact"] == sum(isinstance(each, ArtifactWritten) for each in records)
    assert told["plan"] == sum(isinstance(each, PlanSet) for each in records)
    assert told["todos"] == sum(isinstance(each, TodosSet) for each in records)
    assert [event["type"] for event in events].count("result") == 1
    assert events[-1]["type"] == "result"


def no_silent_repeats(records: list[Record], resumed: Ran | None) -> None:
    """A call that was started twice had no outcome the first time, and the stream says so."""
    settled: set[str] = set()
    started: Counter[str] = Counter()
    for record in records:
        if isinstance(record, CallStarted):
            assert record.key not in settled, f"{record.key} ran again after its outcome"
            started[record.key] += 1
        if isinstance(record, CallSettled):
            assert record.key not in settled, f"{record.key} has two outcomes"
            settled.add(record.key)
    told = [event["text"] for event in resumed.events if event.get("subtype") == "notice"] if resumed else []
    for key, times in started.items():
        if times > 1:
            assert any(key in text or ("check" in key and "check" in text) for text in told), (key, told)


def valid_transcript(records: list[Record], where: str) -> None:
    """Roles take turns, and each call has exactly one result, in the message after it."""
    state = State(journaled_spec(records, where).limits)
    for record in records:
        state.apply(record)
    messages: list[Message] = state.messages
    assert [message.role for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
        len(messages) % 2
    )
    for asked, answered in zip(messages[1::2], messages[2::2], strict=False):
        calls = [block.id for block in asked.content if isinstance(block, CallBlock)]
        results = [block.call_id for block in answered.content if isinstance(block, ResultBlock)]
        assert calls == results


def killed_and_resumed(path: Path, number: int, how: str) -> bool:
    """Whether the kill struck. Kills once, resumes, and holds the end to what must be true."""
    home, task, model, out = prepared(path)
    if killed(home, number, how, task, model, out) == 0:
        held(home, out, None)
        return False
    assert json.loads((out / "run.json").read_text())["run_id"]
    resumed = home.run("resume", str(out), "--output-format", "stream-json")
    records, _ = read_journal(str(out / "journal.jsonl"))
    if how == "torn" and number == 1:
        # Not even the first record was written: there is no run to go on with, and that is said.
        assert resumed.code == 2, resumed.stderr
        return True
    if isinstance(records[-1], PromptEnded) and resumed.code == 2:
        # It died after its last record: it had ended, resuming says so and leaves everything in step.
        assert "has ended" in resumed.stderr
        held(home, out, None)
        return True
    assert resumed.code == 0, resumed.stderr
    assert resumed.result["verdict"] == "done"
    held(home, out, resumed)
    return True


@pytest.mark.parametrize("number", range(1, RECORDS))
def test_a_run_killed_after_a_record_is_resumed(tmp_path: Path, number: int) -> None:
    killed_and_resumed(tmp_path, number, "after")


@pytest.mark.heavy
@pytest.mark.parametrize("number", range(1, RECORDS))
def test_a_run_killed_within_a_record_is_resumed(tmp_path: Path, number: int) -> None:
    killed_and_resumed(tmp_path, number, "torn")


def test_the_kills_reach_the_end_of_the_run(tmp_path: Path) -> None:
    assert not killed_and_resumed(tmp_path, RECORDS, "after")


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(6))
def test_a_run_killed_again_and_again_at_any_moment_comes_to_its_end(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    home, task, model, out = prepared(tmp_path)
    first = ["run", "-t", task, "-m", model, "-o", str(out), "-n"]
    command = first
    for _ in range(12):
        process = home.popen(*command, "--output-format", "stream-json")
        try:
            process.communicate(timeout=chance.uniform(0.15, 0.6))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        if (out / "journal.jsonl").exists() and read_journal(str(out / "journal.jsonl"))[0]:
            command = ["resume", str(out)]
    last = home.run(*command, "--output-format", "stream-json")
    if last.code == 2:
        assert "has ended" in last.stderr
    else:
        assert last.code == 0, last.stderr
    assert (out / "artifacts" / "report.md").read_text() == REPORT
    records, _ = read_journal(str(out / "journal.jsonl"))
    valid_transcript(records, str(out))

"""SIGKILL at any instant: the journal is readable, artifacts are whole or absent, run.json is valid."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remit.base.records import ArtifactWritten, Record
from remit.store.artifacts import ArtifactStore
from remit.store.journal import read_journal
from remit.store.run_list import find_run, list_runs
from remit.store.run_status import read_status
from remit.store.rundir import RunDir

RUN = "20260101-000000-aaaaaa"

# Writes artifacts of one letter each, so that half of one shows; ever the same names, so that each
# publication replaces another.
WRITER = """
import sys
from remit.base.records import CallStarted, RunStarted
from remit.store.artifacts import ArtifactStore
from remit.store.journal import FileJournal
from remit.store.projections import DecisionLog
from remit.store.rundir import RunDir
out, state, run_id = sys.argv[1:4]
run = RunDir.create(out, state, run_id)
journal = FileJournal(run.journal_path, [DecisionLog(run.decisions_path)])
journal.append(RunStarted(run.run_id, "s", "0", 0.0, "d", {}))
store = ArtifactStore(run.path, 1 << 20, lambda size: None, journal.append)
print("go", flush=True)
turn = 0
while True:
    turn += 1
    key = f"t{turn}.c1"
    journal.append(CallStarted(key))
    name = f"{'abc'[turn % 3]}.txt"
    content = bytes([65 + turn % 26]) * (20_000 + turn)
    store.grant(key, [name]).write(name, content)
    run.update(counts={"turns": turn})
"""

STARTER = """
import os, sys
from remit.base.records import RunStarted
from remit.store.journal import FileJournal
from remit.store.rundir import RunDir
out, state, first = sys.argv[1:4]
print("go", flush=True)
number = int(first)
while True:
    number += 1
    run = RunDir.create(out, state, f"20260101-000000-{number:06x}")
    journal = FileJournal(run.journal_path)
    journal.append(RunStarted(run.run_id, "s", "0", 0.0, "d", {}), sync=False)
    journal.close()
    open(os.path.join(run.path, "artifacts", run.run_id + ".txt"), "w").close()
    run.update(status="done")
    run.close()
"""


def kill_after(code: str, seconds: float, *words: str) -> None:
    """Run the code, and kill it so many seconds after it said that it goes."""
    with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"go\n"
        time.sleep(seconds)
        assert child.poll() is None
        child.kill()


def sound(out: Path, state: Path) -> list[Record]:
    """Assert that a killed run is in order, and return its records."""
    status = read_status(str(out))
    assert status is not None and status.status == "running"
    entry = find_run(str(state), "last")
    assert (entry.run_id, entry.state) == (RUN, "interrupted")
    run = RunDir.open(entry.path)
    records, torn = read_journal(run.journal_path)
    assert not torn
    written = {record.name: record for record in records if isinstance(record, ArtifactWritten)}
    standing = {name: (out / "artifacts" / name).read_bytes() for name in os.listdir(out / "artifacts")}
    for name, content in standing.items():
        assert len(set(content)) == 1, name
        assert len(content) > 20_000, name
    assert set(written) <= set(standing)

    store = ArtifactStore(run.path, 1 << 20, lambda size: None, lambda record: None)
    assert store.rebuild(records) == []
    for name, record in written.items():
        content = (out / "artifacts" / name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (record.bytes, record.sha256)
    index = json.loads((out / "artifacts.json").read_bytes())
    assert {entry["name"]: entry["call"] for entry in index["artifacts"]} == {
        name: record.call for name, record in written.items()
    }
    run.close()
    return records


def kill_writers(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(rounds)
    records = 0
    for number in range(rounds):
        out, state = tmp_path / f"out{number}", tmp_path / f"state{number}"
        kill_after(WRITER, chance.uniform(0.0, 0.25), str(out), str(state), RUN)
        records += len(sound(out, state))
    assert records > 2 * rounds


def kill_starters(tmp_path: Path, rounds: int) -> None:
    """Kill while one run moves another away: each that began is still there, in one place, whole."""
    chance = random.Random(rounds)
    out, state = tmp_path / "out", tmp_path / "state"
    for number in range(rounds):
        kill_after(STARTER, chance.uniform(0.0, 0.2), str(out), str(state), str(number * 10_000))
    RunDir.create(str(out), str(state), "20270101-000000-ffffff").close()

    entries = list_runs(str(state))
    assert len(entries) > rounds
    for entry in entries[1:]:
        assert entry.status is not None, entry
        assert os.path.dirname(entry.path) == str(out / "earlier")
        if entry.state == "done":
            assert os.listdir(os.path.join(entry.path, "artifacts")) == [f"{entry.run_id}.txt"]
            records, torn = read_journal(os.path.join(entry.path, "journal.jsonl"))
            assert (len(records), torn) == (1, False)
    # Killed before it was registered, a run had not begun.
    for run_id in set(os.listdir(out / "earlier")) - {entry.run_id for entry in entries}:
        assert not (out / "earlier" / run_id / "journal.jsonl").exists()
    assert len([entry for entry in entries if entry.state == "interrupted"]) <= rounds + 1


def test_a_killed_writer_leaves_everything_whole(tmp_path: Path) -> None:
    kill_writers(tmp_path, 6)


def test_a_killed_start_loses_no_earlier_run(tmp_path: Path) -> None:
    kill_starters(tmp_path, 6)


@pytest.mark.heavy
def test_killed_writers_leave_everything_whole_however_often(tmp_path: Path) -> None:
    kill_writers(tmp_path, 36)


@pytest.mark.heavy
def test_killed_starts_lose_no_earlier_run_however_often(tmp_path: Path) -> None:
    kill_starters(tmp_path, 36)

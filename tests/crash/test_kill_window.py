"""Kill -9 around every place where the transcript is made shorter, then `remit resume`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, ended
from fakes.model_server import ModelServer, Received, Reply, calls, delta, refusal, stream, usage
from remit.base.messages import ResultBlock
from remit.base.records import Compacted, Pruned, Record
from remit.engine.prompt import COMPACT_PROMPT
from remit.engine.state import State
from remit.store.journal import read_journal
from remit.wiring import journaled_spec

DRIVER = Path(__file__).with_name("driver.py")
WINDOW = 3000
TURNS = 16
PROMPT = "Read the file from every side."
SUMMARY = "# Work done\nThe file was read, and read again."

PROVIDERS = f"""\
version = 1
[small]
protocol = "openai"
base_url = "URL"
[[small.models]]
id = "m"
context_window = {WINDOW}
"""


def reply(received: Received) -> Reply:
    """Reads on until it has read from every side; which side is due stands in the transcript and the summary."""
    messages = received.body["messages"]
    size = sum(len(json.dumps(message)) for message in messages) // 4
    if size > WINDOW:
        return refusal(400, code="context_length_exceeded")
    tokens = usage(size, 20)
    said = str(messages[-1]["content"])
    made = max((int(call["id"][1:]) for message in messages for call in message.get("tool_calls", ())), default=0)
    if said.endswith(COMPACT_PROMPT):
        return stream(delta({"content": f"{SUMMARY}"}), delta(finish_reason="stop"), tokens)
    if made >= TURNS:
        return stream(delta({"content": "All read."}), delta(finish_reason="stop"), tokens)
    due = made + 1
    return calls((f"c{due}", "read_file", json.dumps({"path": "a.md", "limit": 900 + due})))


def prepared(path: Path, url: str) -> tuple[Home, str, Path]:
    home = Home(path)
    home.write("a.md", "lamp " * 180)
    (path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", url))
    return home, home.task(prompt=PROMPT, tools={"read_file": "auto"}), path / "out"


def killed(home: Home, number: int, how: str, task: str, out: Path) -> int:
    command = [sys.executable, str(DRIVER), str(number), how, task, "small/m", str(out)]
    done = subprocess.run(command, cwd=home.work, env=home.environ, capture_output=True, timeout=60, check=False)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    return done.returncode


def records_of(out: Path) -> list[Record]:
    return read_journal(str(out / "journal.jsonl"))[0]


def held(out: Path) -> None:
    """All sides were read once, each shortening was told once, and the transcript is one that any API takes."""
    result = ended(out, 0)
    assert (result["result"], result["counts"]["calls"]) == ("All read.", TURNS)
    records = records_of(out)
    shortened = [record for record in records if isinstance(record, Compacted | Pruned)]
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    told = [event["compact_metadata"]["post_tokens"] for event in events if event.get("subtype") == "compact_boundary"]
    assert told == [record.post_tokens for record in shortened] and shortened
    state = State(journaled_spec(records, str(out)).limits)
    for record in records:
        state.apply(record)
        calls_open: list[Any] = []
        for message in state.messages:
            results = [block.call_id for block in message.content if isinstance(block, ResultBlock)]
            assert results == calls_open or message is state.messages[-1]
            calls_open = [call.id for call in message.calls()]
    assert state.messages[0].text().startswith(PROMPT)


@pytest.mark.heavy
@pytest.mark.parametrize("how", ["after", "torn"])
def test_a_run_killed_where_its_transcript_is_made_shorter_is_resumed(tmp_path: Path, how: str) -> None:
    with ModelServer(reply) as server:
        (tmp_path / "whole").mkdir()
        home, task, out = prepared(tmp_path / "whole", server.url)
        assert killed(home, 10_000, how, task, out) == 0
        held(out)
        places = [number for number, record in enumerate(records_of(out), 1) if isinstance(record, Compacted | Pruned)]
        assert len(places) >= 2
        for place in {around for number in places[:2] for around in (number - 1, number, number + 1)}:
            folder = tmp_path / str(place)
            folder.mkdir()
            home, task, out = prepared(folder, server.url)
            assert killed(home, place, how, task, out) == -signal.SIGKILL
            assert home.run("resume", str(out), "-q").code == 0
            held(out)

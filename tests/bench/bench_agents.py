"""Eight agents at once against one, and how soon an interrupt is answered while they work.

    python tests/bench/bench_agents.py [RUNS]

Each agent takes 20 turns of a scripted model that takes 200 ms for an answer; each turn but the last reads a file. The
wall time is that of the run from its first event to its last. The interrupt is a control request, sent when all eight
have answered at least once; the answer is what is waited for, and the end of the prompt is shown beside it.

Figures wanted: eight in at most 1.3 times the time of one; an interrupt answered within 200 ms.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes.cli import Home
from fakes.driving import driven

RUNS = 3
AGENTS = 8
TURNS = 20
SECONDS = 0.2


def script(home: Home, agents: int) -> str:
    calls = [
        {"tool": "task", "arguments": {"description": f"read {number}", "prompt": f"AGENT {number}"}}
        for number in range(agents)
    ]
    reads: list[dict[str, Any]] = [
        {
            "calls": [{"tool": "file_read", "arguments": {"filePath": "a.txt", "offset": turn + 1}}],
            "delay": SECONDS,
        }
        for turn in range(TURNS - 1)
    ]
    section = {"when": "AGENT", "turns": [*reads, {"text": "read", "delay": SECONDS}]}
    return home.script({"calls": calls}, {"text": "Done."}, agents=[section], name=f"script{agents}.yaml")


def wall(home: Home, agents: int, out: Path) -> float:
    """Seconds from the first event of the run to its last."""
    limits = ("--max-turns", "none", "--max-calls", "none")
    ran = home.stream("-m", script(home, agents), "--tools", "task=auto,file_read=auto", *limits, "-o", str(out), "go")
    assert ran.code == 0, ran.stderr
    stamps = [datetime.fromisoformat(event["timestamp"]) for event in ran.events if event.get("timestamp")]
    return (max(stamps) - min(stamps)).total_seconds()


def interrupt(home: Home, out: Path) -> tuple[float, float]:
    """Seconds until it is answered, and until the prompt is over."""
    limits = ("--max-turns", "none", "--max-calls", "none")
    args = ("-m", script(home, AGENTS), "--tools", "task=auto,file_read=auto", *limits, "-o", str(out))
    with driven(home, *args) as session:
        session.say("go")
        answered: set[str] = set()
        while len(answered) < AGENTS:
            event = session.until("assistant")
            answered |= {event["agent_id"]} if "agent_id" in event else set()
        began = time.monotonic()
        session.ask("interrupt")
        session.until("control_response")
        heard = time.monotonic() - began
        session.until("result")
        over = time.monotonic() - began
        session.end()
    return heard, over


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Home(Path(place))
        home.write("a.txt", "".join(f"line {number}\n" for number in range(1, 101)))
        ones = [wall(home, 1, Path(place, f"one{run}")) for run in range(runs)]
        eights = [wall(home, AGENTS, Path(place, f"eight{run}")) for run in range(runs)]
        heard = [interrupt(home, Path(place, f"interrupted{run}")) for run in range(runs)]
    one, eight = statistics.median(ones), statistics.median(eights)
    print(f"one agent of {TURNS} turns: {one:.2f} s; {AGENTS} of them: {eight:.2f} s")
    print(f"{AGENTS} agents / one: {eight / one:.2f} (wanted: 1.3)")
    answer, over = (statistics.median(each) for each in zip(*heard, strict=True))
    print(f"interrupt answered in {answer * 1000:.0f} ms (wanted: 200); the prompt over in {over * 1000:.0f} ms")
    print(json.dumps({"one": ones, "eight": eights, "interrupt": heard}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)

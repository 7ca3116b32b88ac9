"""Our own CPU and memory per turn over runs of 300 turns against a loopback model.

    python tests/bench/bench_loop.py [TURNS]

Each turn is one streamed answer with one call of `list_files`, of one directory after the other: a call
whose result is known is refused. CPU is that of the run's process alone
(user and system, all threads), taken from turn to turn; the model is a process of its own. The request
body grows by what each turn adds; what sending those bytes costs is measured by itself, by the same
client posting bodies of the first and the last size in turn, and shown apart.

Memory is the resident size at the begin of each turn; what it grows by from turn 50 to the 50th before the
last is held against what the transcript grows by: the bytes of a call and of its result as they are sent.

Figures wanted: at most 5 ms a turn; the last 20 at most 1.2 times the first 20, apart from the bytes of
the growing body; at most 80 MiB; memory flat apart from the transcript, which is held once as it is read
and once as it is sent.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
RUNS = 5
TURNS = 300
DIRECTORIES = 5
"""More than make up a circle to the guard against loops."""
EDGE = 50
"""Turns at both ends that do not count for the growth of memory."""
SERVER = HERE.parent.parent / "fakes" / "model_server.py"


class NoStdin:
    data = b""
    state = "none"


def run_turns(out: str) -> None:
    """In a process of its own: run, then print the CPU of each turn, peak memory and body sizes as JSON."""
    from remit import wiring
    from remit.base.records import Record, TurnStarted
    from remit.commands.execute import Watch, drive
    from remit.config.flags import RunFlags
    from remit.config.resolve import build_spec
    from remit.config.settings import load_settings
    from remit.tools.registry import tool_effects

    marks: list[float] = []
    sizes: list[int] = []

    def mark(record: Record) -> None:
        if isinstance(record, TurnStarted):
            sizes.append(resident())
            marks.append(time.process_time())

    environ = dict(os.environ)
    settings = load_settings(environ)
    limits = {"turns": "none", "calls": "none", "seconds": "none"}
    flags = RunFlags(prompt="Look again and again.", model="openai/bench", limits=limits)
    spec = build_spec(flags, settings, tool_effects(), lambda wish: NoStdin(), os.getcwd())
    ready = wiring.start(spec, settings, out, wiring.Listeners(), wiring.Ports(environ, followers=(mark,)))
    drive(ready, Watch())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    turns = [after - before for before, after in itertools.pairwise(marks)]
    verdict = ready.directory.status.verdict
    print(json.dumps({"turns": turns, "sizes": sizes, "peak_mib": peak, "verdict": verdict}))


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def post_bodies(url: str, small: int, large: int, pairs: int) -> None:
    """In a process of its own: what a body of `large` bytes costs more than one of `small`, in seconds."""
    from remit.providers.http import HttpClient

    async def post() -> float:
        headers = {"content-type": "application/json"}
        client = HttpClient(url, headers, {}, keyed=False, connect_seconds=5, silence_seconds=30)
        bodies = [json.dumps({"messages": [], "pad": "x" * size}).encode() for size in (small, large)]
        spent: list[list[float]] = [[], []]
        for index in range(2 * pairs):
            # A fresh copy each time, as each turn makes one.
            body = b"".join([bodies[index % 2][:-1], b"}"])
            before = time.process_time()
            async with client.post("/chat/completions", body, {}, "") as sent:
                response = await sent.response()
                async for _ in response.chunks():
                    pass
            spent[index % 2].append(time.process_time() - before)
        await client.close()
        return statistics.median(spent[1]) - statistics.median(spent[0])

    print(json.dumps(asyncio.run(post())))


def body_step(journal: Path) -> int:
    """Bytes by which a request grows with each turn: the result as it is sent, escaped, and its call."""
    records = map(json.loads, journal.read_text().splitlines())
    sent = [len(json.dumps(each["content"])) for each in records if each["type"] == "call_settled"]
    return round(statistics.mean(sent)) + 200


def child(*args: str, environ: dict[str, str]) -> bytes:
    done = subprocess.run(
        [sys.executable, str(HERE), *args], env=environ, stdout=subprocess.PIPE, check=True, cwd=environ["WORK"]
    )
    return done.stdout


def main(turns: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        work = Path(place, "work")
        work.mkdir()
        for index in range(20 * DIRECTORIES):
            file = work / f"part{index % DIRECTORIES}" / f"file{index}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text("text\n")
        wanted = [json.dumps({"path": f"part{index}"}) for index in range(DIRECTORIES)]
        command = [sys.executable, str(SERVER), "--turns", str(turns), "--tool", "list_files", "--arguments", *wanted]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None and server.stdin is not None
        try:
            url = server.stdout.readline().strip()
            environ = {
                **os.environ,
                "OPENAI_BASE_URL": url,
                "REMIT_STATE_DIR": f"{place}/state",
                "REMIT_CONFIG_DIR": f"{place}/config",
                "WORK": str(work),
            }
            seen = [json.loads(child("--run", f"{place}/out{index}", environ=environ)) for index in range(RUNS)]
            step = body_step(Path(place, "out0", "journal.jsonl"))
            sizes = (str(2000 + step * 10), str(2000 + step * (turns - 10)))
            grown = json.loads(child("--post", url, *sizes, "60", environ=environ))
        finally:
            server.stdin.close()
            server.wait(timeout=10)
        report(each_turn(seen), grown, max(run["peak_mib"] for run in seen), {run["verdict"] for run in seen})
        report_growth([run["sizes"] for run in seen], step)


def each_turn(seen: list[dict[str, Any]]) -> list[float]:
    """The median of each turn over the runs: what else the machine did in one of them falls out."""
    return [statistics.median(turn) for turn in zip(*(run["turns"] for run in seen), strict=True)]


def report(turns: list[float], grown: float, peak: float, verdicts: set[str]) -> None:
    first, last = statistics.median(turns[1:21]), statistics.median(turns[-20:])
    mean, median = statistics.mean(turns), statistics.median(turns)
    print(f"verdict {', '.join(sorted(verdicts))}; {RUNS} runs of {len(turns)} turns, the median of each turn")
    print(f"CPU a turn: mean {mean * 1000:.2f} ms, median {median * 1000:.2f} ms (wanted: 5)")
    print(f"first 20: {first * 1000:.2f} ms; last 20: {last * 1000:.2f} ms; growing body: {grown * 1000:.2f} ms")
    print(f"last/first: {last / first:.2f}; apart from the body {(last - grown) / first:.2f} (wanted: 1.2)")
    print(f"peak memory: {peak:.1f} MiB (wanted: 80)")


def report_growth(runs: list[list[int]], step: int) -> None:
    """runs: resident bytes at the begin of each turn. step: bytes by which the transcript grows with each."""
    growth = statistics.median((sizes[-EDGE] - sizes[EDGE]) / (len(sizes) - 2 * EDGE) for sizes in runs)
    print(
        f"memory a turn: {growth:,.0f} bytes; transcript {step:,} bytes, held twice; the rest {growth - 2 * step:,.0f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_turns(sys.argv[2])
    elif sys.argv[1:2] == ["--post"]:
        post_bodies(sys.argv[2], *map(int, sys.argv[3:6]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)

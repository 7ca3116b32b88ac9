"""Our own CPU per turn, and the peak memory, over a run of 200 turns against a loopback model.

    python tests/bench/bench_loop.py [TURNS]

Each turn is one streamed answer with one call of `list_files`. CPU is that of the run's process alone
(user and system, all threads), taken from turn to turn; the model is a process of its own. The request
body grows by what each turn adds; what sending those bytes costs is measured by itself, by the same
client posting bodies of the same sizes, and shown apart.

Figures wanted: at most 5 ms a turn; the last 20 at most 1.2 times the first 20, apart from the bytes of
the growing body; at most 80 MiB.
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

HERE = Path(__file__).resolve()
SERVER = HERE.parent.parent / "fakes" / "model_server.py"


class NoStdin:
    data = b""
    state = "none"


def run_turns(out: str) -> None:
    """In a process of its own: run, then print the CPU of each turn, peak memory and body sizes as JSON."""
    from remit import wiring
    from remit.base.records import Record, TurnStarted
    from remit.config.resolve import RunFlags, build_spec
    from remit.config.settings import load_settings
    from remit.tools.registry import tool_effects

    marks: list[float] = []

    def mark(record: Record) -> None:
        if isinstance(record, TurnStarted):
            marks.append(time.process_time())

    environ = dict(os.environ)
    settings = load_settings(environ)
    limits = {"turns": "none", "calls": "none", "seconds": "none"}
    flags = RunFlags(prompt="Look again and again.", model="openai/bench", limits=limits)
    spec = build_spec(flags, settings, tool_effects(), lambda wish: NoStdin(), os.getcwd())
    ready = wiring.start(spec, settings, out, wiring.Listeners(), wiring.Ports(environ, followers=(mark,)))
    result = asyncio.run(ready.run.go())
    ready.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    turns = [after - before for before, after in itertools.pairwise(marks)]
    print(json.dumps({"turns": turns, "peak_mib": peak, "verdict": result.verdict}))


def post_bodies(url: str, first: int, step: int, count: int) -> None:
    """In a process of its own: the CPU of posting bodies of these sizes and reading the short answers."""
    from remit.providers.http import HttpClient

    async def post() -> list[float]:
        client = HttpClient(url, {"content-type": "application/json"}, {}, connect_seconds=5, silence_seconds=30)
        spent = []
        for index in range(count):
            body = json.dumps({"messages": [], "pad": "x" * (first + step * index)}).encode()
            before = time.process_time()
            async with client.post("/chat/completions", body) as response:
                async for _ in response.chunks():
                    pass
            spent.append(time.process_time() - before)
        await client.close()
        return spent

    print(json.dumps(asyncio.run(post())))


def child(*args: str, environ: dict[str, str]) -> bytes:
    done = subprocess.run(
        [sys.executable, str(HERE), *args], env=environ, stdout=subprocess.PIPE, check=True, cwd=environ["WORK"]
    )
    return done.stdout


def main(turns: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        work = Path(place, "work")
        work.mkdir()
        for index in range(20):
            (work / f"file{index}.txt").write_text("text\n")
        command = [sys.executable, str(SERVER), "--turns", str(turns), "--tool", "list_files", "--arguments", "{}"]
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
            seen = json.loads(child("--run", f"{place}/out", environ=environ))
            step = (Path(place, "out", "journal.jsonl").stat().st_size // turns) // 2
            posts = json.loads(child("--post", url, "2000", str(step), str(turns), environ=environ))
        finally:
            server.stdin.close()
            server.wait(timeout=10)
        report(seen["turns"], posts, seen["peak_mib"], seen["verdict"])


def report(turns: list[float], posts: list[float], peak: float, verdict: str) -> None:
    first, last = statistics.median(turns[1:21]), statistics.median(turns[-20:])
    bytes_first, bytes_last = statistics.median(posts[1:21]), statistics.median(posts[-20:])
    grown = bytes_last - bytes_first
    mean, median = statistics.mean(turns), statistics.median(turns)
    print(f"verdict {verdict}, {len(turns)} turns")
    print(f"CPU a turn: mean {mean * 1000:.2f} ms, median {median * 1000:.2f} ms (wanted: 5)")
    print(f"first 20: {first * 1000:.2f} ms; last 20: {last * 1000:.2f} ms; growing body: {grown * 1000:.2f} ms")
    print(f"last/first: {last / first:.2f}; apart from the body {(last - grown) / first:.2f} (wanted: 1.2)")
    print(f"peak memory: {peak:.1f} MiB (wanted: 80)")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_turns(sys.argv[2])
    elif sys.argv[1:2] == ["--post"]:
        post_bodies(sys.argv[2], *map(int, sys.argv[3:6]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

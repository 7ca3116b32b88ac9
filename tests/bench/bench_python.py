"""What python_execution costs beside running the same script in a new process of this Python.

    python tests/bench/bench_python.py [RUNS]

Runs a script that does next to nothing RUNS times (default 20) in each way, in turn, then one that loops;
prints the medians in milliseconds of wall time and their ratios. Needs the extra `python`.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from remit.workspace.monty import MontyInterpreter, find_worker

SCRIPTS = {
    "start": "1 + 1",
    "loop": "total = 0\nfor n in range(300_000):\n    total += n * n\ntotal",
}


def child(code: str) -> None:
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def isolated(code: str) -> None:
    ended = asyncio.run(MontyInterpreter(find_worker()).run(code, seconds=30))
    assert ended.outcome == "ok", ended


def milliseconds(way: Callable[[str], None], code: str) -> float:
    began = time.perf_counter()
    way(code)
    return (time.perf_counter() - began) * 1000


def main(argv: list[str]) -> None:
    runs = int(argv[0]) if argv else 20
    isolated("1")
    for name, code in SCRIPTS.items():
        taken: dict[str, list[float]] = {"child": [], "isolated": []}
        for _ in range(runs):
            taken["child"].append(milliseconds(child, code))
            taken["isolated"].append(milliseconds(isolated, code))
        plain, ours = (statistics.median(taken[way]) for way in ("child", "isolated"))
        print(f"{name}: python child {plain:.1f} ms, python_execution {ours:.1f} ms, ratio {ours / plain:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])

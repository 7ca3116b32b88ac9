"""How long analyze_csv's reading takes beside plain `csv.reader` with one Counter per column.

    python tests/bench/bench_csv.py [RUNS]

Builds a table of 200,000 rows and 7 columns, about 9 MB, with quoted line breaks; reads it RUNS
times (default 9) in each way, in turn; prints the medians in seconds of CPU, their ratios and the peak
memory of one reading. The goal: at most 1.5 times the plain loop.
"""

from __future__ import annotations

import csv
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from itertools import islice
from pathlib import Path

from remit.workspace.decode import decode_text
from remit.workspace.table import read_table

ROWS = 200_000
REGIONS = ("North", "South", "East", "West", "Überall")
NOTES = ("", "ok", "late")


def build(path: Path) -> None:
    draw = random.Random(7)
    start = date(2021, 1, 1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "date", "region", "product", "quantity", "amount", "note"])
        for number in range(1, ROWS + 1):
            day = start + timedelta(days=draw.randrange(1400))
            note = draw.choice(NOTES) if number % 25 else f'first line\nsecond "line", {number % 997}'
            item = f"P{draw.randrange(120):03}"
            writer.writerow(
                [number, day, draw.choice(REGIONS), item, draw.randrange(1, 500), f"{draw.gauss(100, 25):.2f}", note]
            )


def plain(path: Path) -> None:
    """The measure: row by row."""
    with path.open(newline="", encoding="utf-8") as file:
        records = csv.reader(file)
        counters: list[Counter[str]] = [Counter() for _ in next(records)]
        for row in records:
            for counter, cell in zip(counters, row, strict=True):
                counter[cell] += 1


def batched(path: Path) -> None:
    """The same in batches, as fast as it gets."""
    with path.open(newline="", encoding="utf-8") as file:
        records = csv.reader(file)
        counters: list[Counter[str]] = [Counter() for _ in next(records)]
        while batch := list(islice(records, 500)):
            for counter, cells in zip(counters, zip(*batch, strict=True), strict=True):
                counter.update(cells)


def analysed(path: Path) -> None:
    read_table(decode_text(path.read_bytes()).text, None, ",", lambda: None)


WAYS: tuple[Callable[[Path], None], ...] = (plain, batched, analysed)


def measure(path: Path, runs: int) -> dict[str, float]:
    """Median seconds of CPU of each way; the ways take turns, so that a busy machine slows all of them."""
    taken: dict[str, list[float]] = {way.__name__: [] for way in WAYS}
    for _ in range(runs):
        for way in WAYS:
            began = time.process_time()
            way(path)
            taken[way.__name__].append(time.process_time() - began)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def peak(path: Path, name: str) -> float:
    """MiB of a process that reads the table once in this way; "" only imports."""
    code = (
        "import resource, runpy, sys; from pathlib import Path\n"
        f"ways = runpy.run_path({str(Path(__file__).resolve())!r})\n"
        f"ways.get({name!r}, lambda path: None)(Path({str(path)!r}))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main(arguments: list[str]) -> None:
    runs = int(arguments[0]) if arguments else 9
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        build(path)
        print(f"{path.stat().st_size / 1e6:.1f} MB, {ROWS:,} rows, 7 columns, {runs} runs in turn")
        # Before the readings: a child's peak starts at the size this process has when it is made.
        memory = {name: peak(path, name) - peak(path, "") for name in ("plain", "batched", "analysed")}
        seconds = measure(path, runs)
        for name, median in seconds.items():
            print(f"{name:10} {median:.3f} s   peak +{memory[name]:.0f} MiB")
        print(f"ratio to plain {seconds['analysed'] / seconds['plain']:.2f}")
        print(f"ratio to batched {seconds['analysed'] / seconds['batched']:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""How long the phases of a warm code_map take on the standard library of the running interpreter.

    python tests/bench/bench_code_graph.py [FOLDER [RUNS]]

Reads the tree once so that its facts are kept, then RUNS times (default 5) in turn: reading it again, decoding
facts alone (a yardstick of the machine), building the graph, ranking, and the rows of the map; prints the medians of
processor time, and wall time of all of it beside `ctags -R` where that is installed. The goal: at most once ctags.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from fakes.source import reading  # noqa: E402
from remit.code.answers import Answers, Row  # noqa: E402
from remit.code.graph import build_graph  # noqa: E402


class Clock:
    """Processor and wall seconds of each phase."""

    def __init__(self) -> None:
        self.taken: dict[str, list[tuple[float, float]]] = {}

    def time(self, phase: str, work: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        done = work()
        self.taken.setdefault(phase, []).append((time.perf_counter() - wall, time.process_time() - cpu))
        return done

    def median(self, phase: str) -> tuple[float, float]:
        taken = self.taken[phase]
        return statistics.median(wall for wall, _ in taken), statistics.median(cpu for _, cpu in taken)


def ctags(folder: Path) -> Callable[[], Any] | None:
    program = shutil.which("ctags")
    if program is None:
        return None
    # To a pipe that is read: a device it does not write to.
    return lambda: subprocess.run([program, "-R", "-f", "-", "."], cwd=folder, check=True, capture_output=True)


def top_rows(answers: Answers) -> list[Row]:
    return [answers.row(node) for node in answers.most_important()[:200]]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sysconfig.get_path("stdlib"))
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    clock, peer = Clock(), ctags(folder)
    with tempfile.TemporaryDirectory() as cache, reading(folder, Path(cache)) as reader:
        reader.tree()
        for _ in range(runs):
            tree = clock.time("read the tree, warm", reader.tree)
            clock.time(
                "decode its facts (part of the next)", lambda tree=tree: [len(each.facts.doc) for each in tree.files]
            )
            graph = clock.time("build the graph", lambda tree=tree: build_graph(tree))
            clock.time("rank", lambda graph=graph: graph.importance)
            answers = Answers(graph)
            rows = clock.time("200 rows", lambda answers=answers: top_rows(answers))
            if peer is not None:
                clock.time("ctags -R", peer)
    print(f"{len(tree.files)} files, {graph.symbols} symbols, {graph.edges} edges, {len(rows)} rows")
    for phase in clock.taken:
        wall, cpu = clock.median(phase)
        print(f"  {phase:36} {wall * 1000:7.0f} ms  cpu {cpu * 1000:7.0f} ms")
    ours = [phase for phase in clock.taken if phase not in ("ctags -R", "decode its facts (part of the next)")]
    wall = sum(clock.median(phase)[0] for phase in ours)
    print(f"  {'all of it':36} {wall * 1000:7.0f} ms")
    if peer is not None:
        print(f"  ratio to ctags -R {wall / clock.median('ctags -R')[0]:.2f} (goal 1.0)")


if __name__ == "__main__":
    main()

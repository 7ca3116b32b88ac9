"""Runs of 300 turns in a context window of 16,000 tokens, which holds about thirty of them.

    python tests/bench/bench_window.py

The real command line against a model on the loopback that counts each request and refuses what leaves no
room in its window. The cases differ in what the model and `providers.toml` tell, and in the language of
what is read. `largest`: of the requests that were taken. `shared`: bytes of requests that began like the
request before, which servers have in their caches.

Figure wanted: no request is refused where the window is told and so are the counts, or the language is
one that the estimates are made for; elsewhere one, from which the size is learned.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from bisect import bisect_left
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes.cli import Home, journal
from fakes.long_run import CASES, TURNS, WINDOW, Asked, WindowModel


def shared(asked: list[Asked]) -> float:
    """The share of all bytes that stood at the same place in the request before."""
    same = sum(common(before.raw, after.raw) for before, after in itertools.pairwise(asked))
    return same / sum(len(request.raw) for request in asked)


def common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    shorter = min(len(one), len(other))
    return bisect_left(range(1, shorter + 1), True, key=lambda size: one[:size] != other[:size])


def main() -> None:
    print(f"{TURNS} turns, a window of {WINDOW:,} tokens")
    columns = f"{'requests':>8} {'refused':>8} {'summaries':>9} {'prunings':>8} {'largest':>8} shared"
    print(f"{'case':18} {'verdict':8} {columns}")
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as directory:
            home, model = Home(Path(directory)), WindowModel(case)
            ran = model.run(home)
            done = [len(journal(home.out, kind)) for kind in ("compacted", "pruned")]
        refused = sum(request.refused for request in model.asked)
        largest = max(request.tokens for request in model.asked if not request.refused)
        figures = f"{len(model.asked):8} {refused:>4} ({case.refusals}) {done[0]:9} {done[1]:8} {largest:8,}"
        print(f"{name:18} {ran.result['verdict']:8} {figures} {shared(model.asked):6.0%}")


if __name__ == "__main__":
    main()

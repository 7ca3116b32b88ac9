"""What the output filter leaves of recorded outputs, and what showing 20 MB of output costs.

    python tests/bench/bench_filter.py

Sizes are in bytes of UTF-8, of what the terminal shows and of what the filter makes of it, notice
included. Programs are counted once: by the median over their outputs of at least 400 bytes, since below
that there is hardly anything to save. Figure wanted: a median of 40 %.

The cost of showing is that of `cat` of a file of 20 MB and of reading its pipe to the end, with and without
a capture as the shell tool keeps it: wall time, and CPU of both processes, the least of interleaved rounds. Figure
wanted: 1.5 times. `cat` prints faster than any program that makes what it prints, at 0.4 ns a byte: what is kept,
a MiB of text, is taken out of colours at 3 ns a byte, which is most of what is left of the cost.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from remit.workspace.capture import Capture
from remit.workspace.output_command import command_of
from remit.workspace.output_filter import MAX_BYTES, filter_output
from remit.workspace.terminal import Screen

RECORDED = Path(__file__).resolve().parent.parent / "unit" / "workspace" / "filter_outputs"
LEAST = 400
ROUNDS = 15
KEPT = 1 << 20

TEXTS = {
    "plain lines": b"src/store/part_12.py: a line of text as programs print them\n",
    "coloured lines": b"\x1b[32mPASS\x1b[0m src/store/part_12.py: a line of text in colour\n",
    "lines erased behind": b"src/store/part_12.py: \x1b[32mok\x1b[0m in 12 ms of 40 ms\x1b[K\n",
    "a progress bar": b"\rDownloading  45% [=========>         ] 12.3 MB of 27.1 MB",
    "an erased bar": b"\r\x1b[KDownloading  45% [=========>         ] 12.3 MB of 27.1 MB",
}


def sizes() -> None:
    shares: dict[str, list[float]] = defaultdict(list)
    everything: list[float] = []
    for case in json.loads((RECORDED / "cases.json").read_text()):
        screen = Screen(MAX_BYTES)
        screen.feed((RECORDED / case["file"]).read_bytes())
        raw = screen.finish().text
        seen = filter_output(case["argv"], raw, case["exit"])
        before, after = len(raw.encode()), len(seen.text.encode())
        print(f"{case['file']:26} {before:7} {after:7} {after / before:6.0%}  {', '.join(seen.stages)}")
        everything.append(after / before)
        if before >= LEAST:
            shares[name_of(case["argv"])].append(after / before)
    medians = {name: statistics.median(each) for name, each in sorted(shares.items())}
    print(", ".join(f"{name} {share:.0%}" for name, share in medians.items()))
    print(f"median over {len(everything)} outputs of any size: {statistics.median(everything):.0%}")
    long = [share for each in shares.values() for share in each]
    print(f"median over the {len(long)} outputs of at least {LEAST} bytes: {statistics.median(long):.0%}")
    print(f"median over {len(medians)} programs: {statistics.median(medians.values()):.0%} (wanted: 40 %)")


def name_of(argv: list[str]) -> str:
    words = command_of(argv).words
    return " ".join(words[:2]) if words[0] in {"git", "cargo", "go", "docker"} else words[0]


def spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def kept() -> tuple[Callable[[bytes], object], Callable[[], object]]:
    capture = Capture(KEPT)
    return capture.feed, capture.finish


def read_all(path: str, take: Callable[[bytes], object], end: Callable[[], object] = int) -> tuple[float, float]:
    """Wall seconds and CPU seconds of both processes."""
    cpu, wall = spent(), time.perf_counter()
    with subprocess.Popen(["cat", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while chunk := os.read(process.stdout.fileno(), 65_536):
            take(chunk)
        end()
    return time.perf_counter() - wall, spent() - cpu


def showing(name: str, line: bytes, path: str) -> None:
    Path(path).write_bytes(line * (20_000_000 // len(line)))
    bare, shown = [], []
    for _ in range(ROUNDS):
        bare.append(read_all(path, len))
        shown.append(read_all(path, *kept()))
    (wall, cpu), (shown_wall, shown_cpu) = (
        [min(column) * 1000 for column in zip(*each, strict=True)] for each in (bare, shown)
    )
    print(
        f"20 MB of {name}: wall {wall:.1f} -> {shown_wall:.1f} ms ({shown_wall / wall:.2f}), "
        f"CPU {cpu:.1f} -> {shown_cpu:.1f} ms ({shown_cpu / cpu:.2f}; wanted: 1.5)"
    )


def main() -> None:
    sizes()
    with tempfile.TemporaryDirectory() as place:
        for name, line in TEXTS.items():
            showing(name, line, f"{place}/text")


if __name__ == "__main__":
    main()

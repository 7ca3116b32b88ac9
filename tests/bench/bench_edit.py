"""What an edit of a large file costs, beside reading, replacing and writing it by hand.

    python tests/bench/bench_edit.py [RUNS]

A source file of 5 MB gets one replacement near its end, RUNS times (default 15) in each way, in turn; prints the
medians of the CPU time, and their ratio. The goal: under 50 ms of CPU for file_edit. Then the same for
file_apply_patch, file_write and file_read, and for an edit of every line and one that finds nothing.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fakes.context import call
from remit.tools.contract import Tool
from remit.tools.files.file_apply_patch import FileApplyPatch
from remit.tools.files.file_edit import FileEdit
from remit.tools.files.file_read import FileRead
from remit.tools.files.file_write import FileWrite
from remit.workspace.root import Root

LINE = "    value_{0} = compute({0}, 'some words of a source line')\n"
TOTAL = 5_000_000


def source() -> str:
    lines, size, number = [], 0, 0
    while size < TOTAL:
        lines.append(LINE.format(number))
        size += len(lines[-1])
        number += 1
    return "".join(lines)


def by_hand(path: Path, old: str, new: str) -> None:
    """The measure: what any program does that keeps files whole."""
    data = path.read_bytes()
    text = data.decode()
    assert text.count(old) == 1
    spare = path.with_suffix(".new")
    with spare.open("wb") as file:
        file.write(text.replace(old, new).encode())
        file.flush()
        os.fsync(file.fileno())
    spare.rename(path)


def cpu(action: Callable[[], Any]) -> float:
    """Milliseconds of CPU, threads included."""
    began = time.process_time()
    action()
    return (time.process_time() - began) * 1000


def tool(of: Tool, root: Root, *, ok: bool = True, **arguments: Any) -> None:
    outcome = call(of, arguments, root)
    assert outcome.ok == ok, outcome


def main(arguments: list[str]) -> None:
    runs = int(arguments[0]) if arguments else 15
    with tempfile.TemporaryDirectory() as folder, Root(folder) as root:
        path = Path(folder, "source.py")
        text = source()
        lines = text.count("\n")
        target = f"value_{lines - 9} = "
        other = target.replace("value", "other")
        patch = f"*** Begin Patch\n*** Update File: source.py\n@@\n-{LINE.format(lines - 9)[:-1]}\n+new\n*** End Patch"
        edit, apply_patch, write, read = FileEdit(), FileApplyPatch(), FileWrite(), FileRead()
        ways: dict[str, Callable[[], Any]] = {
            "by hand": lambda: by_hand(path, target, other),
            "file_edit": lambda: tool(edit, root, filePath="source.py", oldString=target, newString=other),
            "file_apply_patch": lambda: tool(apply_patch, root, patchText=patch),
            "file_write": lambda: tool(write, root, filePath="source.py", content=text.replace(target, other)),
            "file_read": lambda: tool(read, root, filePath="source.py", offset=lines - 100),
            "file_edit, every line": lambda: tool(
                edit, root, filePath="source.py", oldString="compute", newString="call", replaceAll=True
            ),
            "file_edit, not there": lambda: tool(
                edit, root, ok=False, filePath="source.py", oldString=target.replace(" ", "\u00a0"), newString="x"
            ),
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(runs):
            for name, action in ways.items():
                path.write_text(text)
                taken[name].append(cpu(action))
    print(f"{len(text) / 1e6:.1f} MB, {lines:,} lines, {runs} runs in turn, median ms of CPU")
    medians = {name: statistics.median(each) for name, each in taken.items()}
    for name, median in medians.items():
        print(f"{name:24} {median:8.1f}   ratio to by hand {median / medians['by hand']:6.2f}")
    print(f"file_edit under 50 ms: {'yes' if medians['file_edit'] < 50 else 'NO'}")


if __name__ == "__main__":
    main(sys.argv[1:])

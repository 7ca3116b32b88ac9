"""What it costs to cut and keep a result, and to page and search it, against plain Python doing the bare work.

python tests/bench/bench_outputs.py
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from remit.base.calls import Call, done
from remit.engine.context import CallContext
from remit.engine.showing import Clip
from remit.store.outputs import OutputStore
from remit.tools.execution.shell import Shell
from remit.tools.files.tool_output import ToolOutput

TEXT = "".join(f"{number:08} a line as commands print them, neither short nor long\n" for number in range(32_000))
CALL = Call("t1.c1", "c", "shell", "{}")
ROUNDS = 9


class Kept:
    """The state of a run."""

    result_bytes = 1 << 30

    def __init__(self, store: OutputStore) -> None:
        self._store = store

    def output(self, handle: str) -> str:
        return self._store.read(handle)


def best(work: Callable[[], Any]) -> float:
    """Milliseconds of the fastest round."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times) * 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        numbers = iter(range(10_000))
        store = OutputStore(place)
        clip = Clip(store, lambda text: text)

        def keep() -> None:
            text = f"{next(numbers)}\n{TEXT}"
            clip.show(CALL, Shell(), "make", done({}, text), 1 << 30, sync=False)

        def write() -> None:
            (folder / f"plain-{next(numbers)}").write_text(f"{next(numbers)}\n{TEXT}")

        tool = ToolOutput()

        def ask(**arguments: Any) -> None:
            params = tool.parse(json.dumps({"output_id": "output-make", **arguments}))
            asyncio.run(tool.run(params, CallContext("t1.c2", tool.name, granted_state=cast(Any, Kept(store)))))

        def search() -> None:
            regex = re.compile("0001.*nor")
            content = next(folder.glob("outputs/output-make.txt")).read_text()
            [line for line in content.split("\n") if regex.search(line)]

        def page() -> None:
            "".join(next(folder.glob("outputs/output-make.txt")).read_text().split("\n")[:200])

        mib = len(TEXT) / (1 << 20)
        for name, ours, theirs in (
            ("cut and keep, against writing the file", keep, write),
            ("a page, against reading it and splitting lines", ask, page),
            ("a search, against `re` over its lines", lambda: ask(pattern="0001.*nor"), search),
        ):
            mine, plain = best(ours), best(theirs)
            print(f"{name}: {mine:.1f} ms, {plain:.1f} ms, ratio {mine / plain:.2f} ({mib:.1f} MiB)")


if __name__ == "__main__":
    main()

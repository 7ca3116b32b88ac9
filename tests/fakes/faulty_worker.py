"""The program of a worker that goes wrong for certain sources: started in place of the true one.

    python faulty_worker.py FOLDER...     FOLDERs: where packages are

`die`, `spin`, `sleep`, `lie`, `mislead`, `exhaust` and `hurry` at the beginning of a source say what happens then.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def main() -> None:
    sys.path[:0] = sys.argv[1:]
    from remit.code import worker
    from remit.code.extract import MAX_SECONDS, extract
    from remit.code.facts import Facts, Reference, pack

    worker.HARD_SECONDS = 1.0  # type: ignore[misc]

    def exhaust() -> Facts:
        bytearray(worker.MAX_MEMORY)
        raise AssertionError

    def spin() -> Facts:
        # Native code that never ends, and never lets a handler run.
        return Facts(str((b"x" * 10_000_000).count(b"x") + sum(iter(int, 1))))

    def sleep() -> Facts:
        os.kill(os.getpid(), signal.SIGSTOP)
        raise AssertionError

    faults = {
        b"die": lambda: os._exit(1),
        b"spin": spin,
        b"sleep": sleep,
        b"exhaust": exhaust,
        b"mislead": lambda: Facts("Python", references=[Reference("x", "call", 1, 7)]),
        b"hurry": lambda: Facts("Python", cut="time"),
        b"lie": lambda: Facts("Python"),
    }

    def faulty(language: Any, source: bytes, seconds: float = MAX_SECONDS, mentions: bool = True) -> Facts:
        fault = faults.get(source.split(None, 1)[0] if source else b"")  # A worker warms up on nothing at all.
        return fault() if fault else extract(language, source, seconds, mentions)

    worker.extract = faulty  # type: ignore[attr-defined]
    worker.pack = lambda facts: b"\xc1 no facts" if facts == Facts("Python") else pack(facts)  # type: ignore[attr-defined]
    worker.main()


if __name__ == "__main__":
    main()

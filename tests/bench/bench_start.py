"""What it costs to start: user and system CPU time against `python -I -c pass`, medians of interleaved runs.

    python tests/bench/bench_start.py [ROUNDS]

`start to first request` runs until a model server on the loopback has read the request, and is killed
there; the server's own time is not counted.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes.model_server import ModelServer, Received, Reply, text

ROUNDS = 21
BARE = "python -I -c pass"
BINARY = os.environ.get("REMIT_TEST_BINARY", "")
TARGETS = {
    "remit --version": 3.0 if BINARY else 2.5,
    "start to first request": 13.0 if BINARY else 18.0,
}

Case = Callable[[], float]


def program() -> list[str]:
    """The installed script, as people start it; the module where there is none; the one-file program that
    REMIT_TEST_BINARY names."""
    if BINARY:
        return [BINARY]
    script = Path(sysconfig.get_path("scripts")) / "remit"
    return [str(script)] if script.exists() else [sys.executable, "-m", "remit"]


def start(argv: list[str], environ: Mapping[str, str]) -> int:
    """A process without standard streams; its id."""
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    return os.posix_spawn(argv[0], argv, environ, file_actions=null)


def ended(pid: int) -> tuple[float, int]:
    """CPU seconds of an ended process, and its wait status."""
    _, status, used = os.wait4(pid, 0)
    return used.ru_utime + used.ru_stime, status


def whole(argv: list[str], environ: Mapping[str, str]) -> Case:
    """A command from start to end."""

    def run() -> float:
        seconds, status = ended(start(argv, environ))
        assert status == 0, f"{argv} ended with {status}"
        return seconds

    return run


class FirstRequest:
    """`remit run` until its first request has arrived."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._pid = 0
        self._started = threading.Event()
        self._server = ModelServer(self._stop)
        self._environ = environ

    def __enter__(self) -> FirstRequest:
        self._server.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._server.__exit__(*problem)

    def __call__(self) -> float:
        self._started.clear()
        environ = {**self._environ, "OPENAI_BASE_URL": self._server.url}
        self._pid = start([*program(), "run", "hello", "-n", "-m", "openai/model"], environ)
        self._started.set()
        seconds, status = ended(self._pid)
        assert os.WIFSIGNALED(status), f"it ended before its first request, with {status}"
        return seconds

    def _stop(self, request: Received) -> Reply:
        self._started.wait()
        os.kill(self._pid, signal.SIGKILL)
        return text("too late")


def main(argv: list[str]) -> None:
    rounds = int(argv[0]) if argv else ROUNDS
    with tempfile.TemporaryDirectory() as directory:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        own = dict.fromkeys(("HOME", "REMIT_STATE_DIR", "REMIT_CACHE_DIR", "REMIT_CONFIG_DIR"), directory)
        environ = {**kept, **own}
        os.chdir(directory)
        with FirstRequest(environ) as first_request:
            cases: dict[str, Case] = {
                BARE: whole([sys.executable, "-I", "-c", "pass"], environ),
                "remit --version": whole([*program(), "--version"], environ),
                "remit --help": whole([*program(), "--help"], environ),
                "start to first request": first_request,
            }
            report(measured(cases, rounds))


def measured(cases: Mapping[str, Case], rounds: int) -> dict[str, float]:
    """The median of each case, in seconds. The first round warms the caches and does not count."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds + 1):
        for name, case in cases.items():
            seconds = case()
            if number:
                times[name].append(seconds)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def report(medians: Mapping[str, float]) -> None:
    print(f"{'CPU, user + system':<24} {'ms':>8} {'ratio':>8} {'target':>8}")
    for name, seconds in medians.items():
        target = f"{TARGETS[name]:.1f}x" if name in TARGETS else ""
        print(f"{name:<24} {seconds * 1000:>8.1f} {seconds / medians[BARE]:>7.2f}x {target:>8}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""What the sandbox costs: wall time of a command beyond a plain subprocess, and of one that prints 20 MB.

    python tests/bench/bench_spawn.py [ROUNDS]

Medians of interleaved rounds. A plain subprocess is `bash -c :` started by asyncio and waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from remit.base.resources import Effect, Resource
from remit.net.dial import SystemResolver, TcpConnector
from remit.net.proxy import CommandProxy
from remit.workspace.capture import Capture
from remit.workspace.process import Confinement, ProcessGrant
from remit.workspace.sandbox import Grounds, Sandbox
from remit.workspace.sandbox_probe import probe, wished
from remit.workspace.sandbox_secrets import WorkspaceSecrets

ROUNDS = 30
FLOOD_ROUNDS = 7
MOST_MS = 30.0
MOST_RATIO = 1.5
NOTHING = ":"
FLOODS = {
    "20 MB": "head -c 20000000 /dev/zero | tr '\\0' 'a' | fold -w 79",
    "20 MB at once": "yes 'src/store/part_12.py: a line of text' | head -c 20000000",
    "20 MB in colour at once": "yes $'\\e[32mPASS\\e[0m src/store/part_12.py: a line' | head -c 20000000",
}
"""The last two are as fast as any program prints, so that nothing hides what is done with the output."""

BASH = ("/bin/bash", "--noprofile", "--norc", "-c")

Case = Callable[[str], Awaitable[None]]


async def plain(line: str) -> None:
    """As a program would that wants nothing but the output."""
    process = await asyncio.create_subprocess_exec(
        *BASH, line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=1 << 20
    )
    assert process.stdout is not None
    while await process.stdout.read(1 << 18):
        continue
    await process.communicate()


def proxy() -> CommandProxy:
    return CommandProxy(
        lambda name: "no", int, print, ports=(80, 443), resolver=SystemResolver(), connector=TcpConnector()
    )


def held(workspace: str, confinement: Confinement, *, proxied: bool = False) -> Case:
    """As the shell tool runs it, with its captures. proxied: with hosts granted, of which none is asked for."""

    async def run(line: str) -> None:
        process = ProcessGrant(
            workspace,
            [Resource("command", line, Effect.EXECUTE)],
            {},
            confinement=confinement,
            way_out=proxy() if proxied else None,
        )
        captures = (Capture(1 << 20), Capture(1 << 20))
        finished = await process.shell(
            line, workdir=".", seconds=60, take=lambda stream, data: captures[stream - 1].feed(data)
        )
        assert finished.exit_code == 0, finished
        for capture in captures:
            capture.finish()

    return run


def measured(cases: dict[str, Case], line: str, rounds: int) -> dict[str, float]:
    """Median milliseconds of each."""
    times: dict[str, list[float]] = {name: [] for name in cases}

    async def all_rounds() -> None:
        for _ in range(rounds + 1):
            for name, case in cases.items():
                began = time.perf_counter()
                await case(line)
                times[name].append((time.perf_counter() - began) * 1000)

    asyncio.run(all_rounds())
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (base / "work").mkdir()
        workspace = str(base / "work")
        sandbox: Sandbox = probe(
            Grounds(workspace=workspace, private=str(base / "private")), WorkspaceSecrets(workspace), wished()
        )
        stack.callback(sandbox.close)
        for name, layer in sandbox.layers().items():
            print(f"{name:24} {layer}")
        cases: dict[str, Case] = {
            "plain subprocess": plain,
            "unconfined": held(workspace, Confinement()),
            "sandboxed": held(workspace, sandbox),
            "sandboxed, with the proxy": held(workspace, sandbox, proxied=True),
        }
        spawned = measured(cases, NOTHING, rounds)
        for name, took in spawned.items():
            print(f"{name:32} {took:8.1f} ms   + {took - spawned['plain subprocess']:6.1f} ms   (at most {MOST_MS})")
        del cases["sandboxed, with the proxy"]
        for what, line in FLOODS.items():
            flooded = measured(cases, line, FLOOD_ROUNDS)
            for name, took in flooded.items():
                ratio = took / flooded["plain subprocess"]
                print(f"{f'{name}, {what}':42} {took:8.1f} ms   x {ratio:6.2f}      (at most {MOST_RATIO})")


if __name__ == "__main__":
    main()

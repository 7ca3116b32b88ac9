"""`remit run` with another world behind its ports, in a process of its own.

    python ported.py WORLD -t TASK -m MODEL -o DIR [-a APPROVALS] [-r RECORDING]

WORLD: `broken` has a follower of the journal that fails, as a fault of ours would; `stuck` fetches pages
in a thread that never comes back; `paged` has a page for every URL, at the price of one request; in `site` every
name leads to the server at the port of the variable SITE_PORT.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from remit import wiring
from remit.base.ports import Page
from remit.base.records import Answered, Record
from remit.commands.execute import Watch, catch_signals, drive, leave, listeners
from remit.commands.stdin import stdin_reader
from remit.config.flags import RunFlags
from remit.config.resolve import build_spec
from remit.config.settings import load_settings
from remit.net.guard import CheckedUrl, check_url
from remit.tools.registry import tool_effects

PROGRAM = [sys.executable, str(Path(__file__))]


def broken(record: Record) -> None:
    if isinstance(record, Answered):
        raise ZeroDivisionError("a follower that breaks")


class StuckClient:
    """Takes the place of the guarded client. It hangs where a system call would: off the loop, deaf to
    cancellation, in the loop's own threads."""

    def __init__(self, **_: Any) -> None:
        self.never = threading.Event()

    def check(self, url: str) -> CheckedUrl:
        return check_url(url)

    async def get(self, *_: Any) -> Page:
        await asyncio.to_thread(self.never.wait)
        raise AssertionError


class PagedClient:
    """Takes the place of the guarded client."""

    def __init__(self, **_: Any) -> None:
        """Nothing to hold."""

    def check(self, url: str) -> CheckedUrl:
        return check_url(url)

    async def get(self, url: str, spend: Callable[[], None], *_: Any) -> Page:
        spend()
        return Page(url, url, 200, "text/plain", "utf-8", b"a page", 1)


class EveryName:
    """A resolver."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34"]


class ToSite:
    """A connector."""

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", int(os.environ["SITE_PORT"]))


WORLDS: dict[str, dict[str, Any]] = {
    "broken": {"followers": (broken,)},
    "stuck": {"web_client": StuckClient},
    "paged": {"web_client": PagedClient},
    "site": {"resolver": EveryName(), "connector": ToSite()},
}


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("world", choices=WORLDS)
    parser.add_argument("-t", dest="task")
    parser.add_argument("-m", dest="model")
    parser.add_argument("-o", dest="out")
    parser.add_argument("-a", dest="approvals")
    parser.add_argument("-r", dest="record")
    options = parser.parse_args(argv)
    watch = Watch()
    catch_signals(watch)
    environ = dict(os.environ)
    settings = load_settings(environ)
    flags = RunFlags(task=options.task, model=options.model, approvals=options.approvals)
    spec = build_spec(flags, settings, tool_effects(), stdin_reader(), os.getcwd())
    heard = listeners("stream-json", quiet=False, environ=environ, watch=watch)
    ports = wiring.Ports(environ, **WORLDS[options.world])
    watch.begin()
    leave(drive(wiring.start(spec, settings, options.out, heard, ports, record=options.record), watch))


if __name__ == "__main__":
    main(sys.argv[1:])

"""A ready run, driven to its exit code: listeners, signals, the end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import stat
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from remit.base.errors import SIGHUP_EXIT, SIGINT_EXIT, SIGTERM_EXIT, RemitError, Stopped
from remit.base.ports import Listener
from remit.stream.gone import reader_gone, when_unread
from remit.stream.human import Human, wants_color
from remit.stream.progress import Standing
from remit.stream.writer import JsonResult, StdoutWriter, StreamJson, TextResult, hold_stdout
from remit.wiring import Listeners, ReadyRun

if TYPE_CHECKING:
    from remit.commands.options import Format

STDIN, STDOUT, STDERR = 0, 1, 2

TICK_SECONDS = 0.5
"""Between two looks at where the run stands."""

SIGNALS = {signal.SIGINT: SIGINT_EXIT, signal.SIGTERM: SIGTERM_EXIT, signal.SIGHUP: SIGHUP_EXIT}


class Stoppable(Protocol):
    """What a signal ends: a run, or a session that may have none yet."""

    def stop(self, reason: RemitError) -> None:
        """End it cleanly where it stands, from within the loop."""
        ...

    def hold_deadline(self) -> None:
        """Raise BudgetSpent when its time is over."""
        ...


class Watch:
    """Between the signals and the run. The run is not there yet when stdout is opened."""

    def __init__(self) -> None:
        self.run: Stoppable | None = None
        self.human: Human | None = None
        """Who draws where the run stands, where there is a terminal for it."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._seen: Stopped | None = None
        self._begun = False

    def begin(self) -> None:
        """The run directory is about to be made: from here a signal waits for the run, which then says
        how it ended."""
        self._begun = True

    def attach(self, run: Stoppable, loop: asyncio.AbstractEventLoop) -> None:
        self.run, self._loop = run, loop
        if self._seen is not None:
            run.stop(self._seen)
        # A handler runs between two steps of Python; a loop that is about to sleep has to be woken for it.
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        loop.add_reader(woken, woken.recv, 4096)
        signal.set_wakeup_fd(wake.detach(), warn_on_full_buffer=False)

    def end_unread(self, fd: int) -> None:
        """A client that does not read any more cannot ask for anything: that ends what is attached, also where nothing
        would be written for long."""

        def told() -> None:
            if self._loop is not None and self.run is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self.run.stop, reader_gone())

        when_unread(fd, told)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first signal ends the run cleanly, the second at once. Before there is a run it ends
        whatever is going on, such as the wait for stdin."""
        if self._seen is not None:
            if self.human is not None:
                self.human.clear(wait=False)
            os._exit(SIGNALS[signal.Signals(number)])
        name = signal.Signals(number).name
        self._seen = Stopped(f"stopped by {name}", SIGNALS[signal.Signals(number)], kind=name.lower())
        if not self._begun:
            raise self._seen
        if self._loop is not None and self.run is not None:
            self._loop.call_soon_threadsafe(self.run.stop, self._seen)

    def on_stall(self, waited: float) -> None:
        """The reader of stdout takes nothing: a signal or the deadline still ends the run."""
        if self._seen is not None:
            raise self._seen
        if self.run is not None:
            self.run.hold_deadline()


def listeners(
    output_format: Format,
    *,
    quiet: bool,
    environ: Mapping[str, str],
    watch: Watch,
    verbose: bool = False,
    partial: bool = False,
) -> Listeners:
    """Who hears of a run: stdout by its format, and people on stderr. partial: answers are told as they come. Raises
    EnvironmentFault where stdout is closed."""
    hold_stdout(STDOUT)
    terminal = _terminal(STDERR)
    live = terminal and environ.get("TERM", "dumb") != "dumb"
    human = Human(STDERR, quiet=quiet, verbose=verbose, color=wants_color(environ, terminal), live=live)
    watch.human = human if human.live else None
    writer = StdoutWriter(STDOUT, watch.on_stall, human.clear if human.live and not _kept(STDOUT) else None)
    by_format: dict[str, Callable[[], Listener]] = {
        "text": lambda: TextResult(writer, terminal=_terminal(STDOUT)),
        "json": lambda: JsonResult(writer),
        "stream-json": lambda: StreamJson(writer),
        "codex-json": lambda: _codex(writer),
    }
    return Listeners([by_format[output_format]()], [human], partial=partial)


def _codex(writer: StdoutWriter) -> Listener:
    from remit.stream.codex import CodexStream

    return CodexStream(writer)


def collected_early() -> None:
    """From here on garbage is found early: the cycles that a request leaves behind hold its whole body."""
    # All there is by now lasts as long as the run, so that no collection needs to look through it again.
    gc.freeze()
    gc.set_threshold(700, 10, 10)


def drive(ready: ReadyRun, watch: Watch, client_seconds: float | None = None) -> int:
    """Run to the end and return the exit code. The process is expected to end with it: the loop's
    threads, one of which may be stuck, are not waited for. client_seconds: None, or a client drives the run by
    lines on stdin, and this long its answers are waited for."""
    collected_early()
    loop = asyncio.new_event_loop()
    try:
        if client_seconds is not None:
            return loop.run_until_complete(_drive_for_client(ready, watch, loop, client_seconds))
        return loop.run_until_complete(_drive(ready, watch, loop))
    finally:
        ready.close()


async def _drive(ready: ReadyRun, watch: Watch, loop: asyncio.AbstractEventLoop) -> int:
    watch.attach(ready.run, loop)
    with shown(ready, watch, loop):
        result = await ready.run.go(ready.said)
    ready.leave_status(result)
    return result.exit_code


@contextmanager
def shown(ready: ReadyRun, watch: Watch, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """While the block runs a terminal says where the run stands."""
    human = watch.human
    if human is None:
        yield
        return
    ticking = loop.create_task(_tick(human, ready))
    try:
        yield
    finally:
        ticking.cancel()
        human.clear()


async def _tick(human: Human, ready: ReadyRun) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        state = ready.recorder.state
        ledger = state.ledger
        human.show(Standing(state.turns(), ledger.tokens, ledger.usd, ledger.usd_known, ready.run.elapsed()))


async def _drive_for_client(
    ready: ReadyRun, watch: Watch, loop: asyncio.AbstractEventLoop, client_seconds: float
) -> int:
    from remit.wiring.driven import Manner, serve

    watch.attach(ready.run, loop)
    watch.end_unread(STDOUT)
    with shown(ready, watch, loop):
        return await serve(ready, STDIN, lambda: str(uuid.uuid4()), Manner(answer_seconds=client_seconds))


def catch_signals(watch: Watch) -> None:
    """From here on a signal ends the run cleanly. A hangup or interrupt that is ignored (nohup, a job
    in the background) stays ignored."""
    for number in SIGNALS:
        if number != signal.SIGTERM and signal.getsignal(number) is signal.SIG_IGN:
            continue
        signal.signal(number, watch.on_signal)


def _terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _kept(fd: int) -> bool:
    """Whether what is written there is surely not seen on the terminal: it goes to a file, or nowhere."""
    try:
        found = os.fstat(fd)
    except OSError:
        return True
    return stat.S_ISREG(found.st_mode) or (stat.S_ISCHR(found.st_mode) and not _terminal(fd))


def leave(code: int) -> None:
    """End the process now. A tool's thread that is stuck must not hold it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(code)

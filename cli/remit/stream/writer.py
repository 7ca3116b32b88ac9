"""stdout is data: one line an event, one owner of the descriptor, and the listeners that feed it."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import select
from collections.abc import Callable
from typing import Any

import msgspec

from remit.base.errors import EnvironmentFault, RemitError
from remit.base.events import Event, PermissionDenied, Result, Status, StreamEvent, User
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import scrub, scrub_tree, visible
from remit.store.durable import environment_fault
from remit.store.projections import LineFile
from remit.stream.gone import reader_gone

# Bytes that end a line, or move a cursor, for some readers: DEL, C1 with NEL, U+2028, U+2029. In JSON
# they can stand only inside of strings.
_AWKWARD = lazy_pattern(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]")

# Fields that clients of this wire test for presence: left out while they say nothing.
LEFT_OUT: dict[type, dict[str, Any]] = {
    Result: {"result": None, "structured_output": None, "errors": [], "user_message_uuids": []},
    Status: {"permissionMode": ""},
    PermissionDenied: {"answered_by": ""},
    StreamEvent: {"ttft_ms": None},
    User: {"tool_use_result": None, "tool_result_meta": [], "isSynthetic": False},
}

# POSIX: what poll() announces as writable takes this much at once without blocking.
POLLED_BYTES = 512 if not hasattr(select, "PIPE_BUF") else select.PIPE_BUF
_STALL_STEP_MS = 100


def encode_line(event: Event) -> bytes:
    """The event as one line of JSON in UTF-8, without its newline: nothing in it splits a line, and
    no text in it holds a lone surrogate."""
    shown: Any = event
    absent = LEFT_OUT.get(type(event))
    if absent is not None:
        shown = msgspec.to_builtins(event)
        for name, nothing in absent.items():
            if type(shown[name]) is type(nothing) and shown[name] == nothing:
                del shown[name]
    try:
        line = msgspec.json.encode(shown)
    except UnicodeEncodeError:
        line = msgspec.json.encode(scrub_tree(msgspec.to_builtins(shown)))
    return _AWKWARD.sub(_escape, line)


def encode_plain(value: Any) -> bytes:
    """A value as one line of JSON, as safe as an event is."""
    try:
        line = msgspec.json.encode(value)
    except UnicodeEncodeError:
        line = msgspec.json.encode(scrub_tree(value))
    return _AWKWARD.sub(_escape, line)


def pretty_json(value: Any) -> str:
    """A value as indented JSON that is safe on a terminal."""
    return _AWKWARD.sub(_escape, msgspec.json.format(msgspec.json.encode(value), indent=2)).decode()


def _escape(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match.group().decode())


class StdoutWriter:
    """The one owner of stdout. Whole lines go straight to the descriptor; a slow reader is waited
    for, nothing is dropped.

    on_stall: asked about ten times a second while the reader takes nothing, with the seconds waited
    so far; it may raise to give up. After any failure the writer is closed: later lines go nowhere.
    before: called ahead of each line, to make way for it where both are seen on one terminal.
    """

    def __init__(
        self,
        fd: int,
        on_stall: Callable[[float], None] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        self._fd = fd
        self._on_stall = on_stall
        self._before = before
        self.closed = False

    def write_line(self, line: bytes) -> None:
        """Write a line, given without its newline.

        Raises Stopped(141, `stdout_closed`) once when the reader went away, EnvironmentFault when the
        file behind it cannot be written.
        """
        if self.closed:
            return
        if self._before is not None:
            self._before()
        try:
            self._write(line + b"\n")
        except OSError as problem:
            self.closed = True
            raise _fault(problem) from problem
        except BaseException:
            self.closed = True
            raise

    def _write(self, data: bytes) -> None:
        # Small pieces after poll(): a reader that stands still then blocks poll(), which can be left,
        # and not write(), which cannot.
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        view = memoryview(data)
        while view:
            self._wait(poll)
            try:
                view = view[os.write(self._fd, view[:POLLED_BYTES]) :]
            except BlockingIOError:
                continue

    def _wait(self, poll: select.poll) -> None:
        waited = 0
        while not poll.poll(_STALL_STEP_MS):
            waited += _STALL_STEP_MS
            if self._on_stall is not None:
                self._on_stall(waited / 1000)


def hold_stdout(fd: int) -> None:
    """Raises EnvironmentFault for a descriptor that nothing can be written to: known before anything is paid for."""
    try:
        mode = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError:
        raise _closed() from None
    if mode == os.O_RDONLY:
        raise _closed()


def _closed() -> EnvironmentFault:
    return EnvironmentFault("stdout is closed", hint="give the run a stdout, or >/dev/null", kind="stdout_closed")


def _fault(problem: OSError) -> RemitError:
    if problem.errno in {errno.EPIPE, errno.ECONNRESET}:
        return reader_gone()
    if problem.errno == errno.EBADF:
        return _closed()
    fault = environment_fault(problem, "stdout", "write the output")
    fault.hint = "send stdout where it can be written, or to /dev/null"
    return fault


class StreamJson:
    """Every event as a line on stdout."""

    def __init__(self, writer: StdoutWriter) -> None:
        self._writer = writer

    def on_event(self, event: Event, line: bytes) -> None:
        self._writer.write_line(line)


class JsonResult:
    """One object on stdout: the result."""

    def __init__(self, writer: StdoutWriter) -> None:
        self._writer = writer

    def on_event(self, event: Event, line: bytes) -> None:
        if isinstance(event, Result):
            self._writer.write_line(line)


class TextResult:
    """The final text on stdout, and nothing of a run that failed.

    terminal: stdout is a terminal, so control characters of the model are shown as escapes.
    """

    def __init__(self, writer: StdoutWriter, *, terminal: bool = False) -> None:
        self._writer = writer
        self._terminal = terminal

    def on_event(self, event: Event, line: bytes) -> None:
        if not isinstance(event, Result) or event.is_error or event.result is None:
            return
        text = visible(event.result, keep="\n\t") if self._terminal else scrub(event.result)
        self._writer.write_line(text.encode())


class EventLog:
    """Every event as a line of `events.jsonl` in the run directory, but for the parts of answers."""

    def __init__(self, path: str) -> None:
        """Open for appending; a line cut short by a dead process goes. Raises EnvironmentFault."""
        self._file = LineFile(path)

    def on_event(self, event: Event, line: bytes) -> None:
        """Raises EnvironmentFault."""
        if not isinstance(event, StreamEvent):
            self._file.append(line)

    def close(self) -> None:
        self._file.close()

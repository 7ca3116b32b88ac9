"""The stdin rule: data that is offered is taken, and nobody is waited for for ever."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Callable
from typing import Literal

import msgspec

from remit.base.errors import UsageFault
from remit.config.asked import MAX_PROMPT_BYTES

FIRST_BYTE_SECONDS = 5.0

StdinState = Literal["none", "read", "skipped", "ignored"]


class Stdin(msgspec.Struct, frozen=True):
    """What came from standard input. `skipped`: a pipe was there and nobody wrote to it in time."""

    data: bytes
    state: StdinState


def stdin_reader() -> Callable[[Literal["never", "offered", "whole"]], Stdin]:
    """How `build_spec` asks for standard input."""

    def read(wish: Literal["never", "offered", "whole"]) -> Stdin:
        return read_stdin(required=wish == "whole", ignored=wish == "never")

    return read


def read_stdin(
    *,
    required: bool,
    ignored: bool,
    fd: int = 0,
    first_byte_seconds: float = FIRST_BYTE_SECONDS,
    max_bytes: int = MAX_PROMPT_BYTES,
) -> Stdin:
    """Read standard input by the rule.

    required: read to the end whatever it takes (no prompt, `-`, `--stdin`); otherwise the first byte
    of a pipe is awaited `first_byte_seconds`. ignored: never read. A terminal is never read, and a closed
    descriptor is empty. Raises UsageFault for more than `max_bytes`, and where reading fails, as it does for
    a file that is open for writing only. (With a directory there Python itself does not start.)
    """
    if ignored:
        return Stdin(b"", "ignored")
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return Stdin(b"", "none")
    if os.isatty(fd):
        return Stdin(b"", "none")
    may_block = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if may_block and not required and not _ready(fd, first_byte_seconds):
        sys.stderr.write(
            f"remit: nothing came on stdin within {first_byte_seconds:g} s; going on without it (-n never waits)\n"
        )
        return Stdin(b"", "skipped")
    data = _read_all(fd, max_bytes)
    return Stdin(data, "read" if data else "none")


def _ready(fd: int, seconds: float) -> bool:
    readable, _, _ = select.select([fd], [], [], seconds)
    return bool(readable)


def _read_all(fd: int, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := os.read(fd, 1 << 20):
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                what = f"standard input is larger than {max_bytes} bytes, the most that is read"
                raise UsageFault(what, hint="put the file where the tools can read it")
    except OSError as problem:
        what = f"standard input cannot be read: {problem.strerror}"
        raise UsageFault(what, hint="-n never reads it") from None
    return b"".join(pieces)

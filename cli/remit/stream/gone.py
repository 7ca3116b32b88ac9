"""Whether anybody is left to read what is written, also while nothing is."""

from __future__ import annotations

import os
import select
import stat
import threading
from collections.abc import Callable

from remit.base.errors import Stopped


def reader_gone() -> Stopped:
    """Nobody reads stdout any more."""
    return Stopped("the reader of stdout went away", 141, kind="stdout_closed")


def when_unread(fd: int, told: Callable[[], None]) -> None:
    """Call `told` once, from a thread of its own, when the other end of a pipe or socket is closed. Nothing else has
    another end that could be."""
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        threading.Thread(target=_watch, args=(fd, told), name="stdout", daemon=True).start()


def _watch(fd: int, told: Callable[[], None]) -> None:
    # No event is asked for: poll() tells of an error and of a hangup all the same, and of nothing else.
    poll = select.poll()
    poll.register(fd, 0)
    if poll.poll():
        told()

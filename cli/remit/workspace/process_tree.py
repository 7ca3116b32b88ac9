"""Ending all that a process started: what it forked, and what tried to get away from it.

For the launcher, whose own start every command waits for: nothing beyond `os` and `time` is loaded.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SIGKILL = 9
_PAUSE = 0.002


class OwnNamespace:
    """The tree below the first process of a PID namespace: all other processes that it can see."""

    def signal(self, number: int) -> None:
        quietly(os.kill, -1, number)


class Descendants:
    """The tree below this process, which adopts orphans: found by who is whose parent.

    Signals go to whole groups: a group cannot grow while the system signals it, and none reaches beyond
    the tree, since a command starts a session of its own.
    """

    def signal(self, number: int) -> None:
        # What is gone already, or has changed its user, is not ours to signal.
        own = os.getpgrp()
        for group, members in descendants(os.getpid()).items():
            if group == own:
                for pid in members:
                    quietly(os.kill, pid, number)
            else:
                quietly(os.killpg, group, number)


def descendants(top: int) -> dict[int, list[int]]:
    """All processes below `top`, by process group. Without /proc: the children are not known, none."""
    children: dict[int, list[tuple[int, int]]] = {}
    for pid, parent, group in _processes():
        children.setdefault(parent, []).append((pid, group))
    found: dict[int, list[int]] = {}
    pending = [top]
    while pending:
        for pid, group in children.pop(pending.pop(), ()):
            found.setdefault(group, []).append(pid)
            pending.append(pid)
    return found


def _processes() -> list[tuple[int, int, int]]:
    """(pid, parent, group) of all processes that have not been taken away yet."""
    found = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb", buffering=0) as stat:
                # The name of the program, in brackets, may hold brackets and blanks itself.
                fields = stat.read(4096).rpartition(b")")[2].split()
        except OSError:
            continue
        found.append((int(name), int(fields[1]), int(fields[2])))
    return found


class Reaper:
    """Takes ended children away, and remembers how the one that matters ended."""

    def __init__(self, child: int) -> None:
        self._child = child
        self.status: int | None = None

    def reap(self) -> bool:
        """Take away what has ended; whether there are children left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self.status = status


def end_all(tree: OwnNamespace | Descendants, reaper: Reaper, seconds: float) -> bool:
    """Kill the tree until nothing is left of it; False when something outlived `seconds`."""
    deadline = time.monotonic() + seconds
    while reaper.reap():
        tree.signal(SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True


def quietly(do: Callable[..., object], *arguments: Any) -> None:
    """Call it, whether the system lets it or not."""
    try:
        do(*arguments)
    except OSError:
        return

"""Our end of a command's door, through which comes what listens in its network namespace (`launcher_door`)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable

Opened = Callable[[socket.socket, Callable[[], None]], None]
"""Gets a listening socket, to keep and to close, and what asks the command to end."""

_CLOSED_BY_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_FD_BYTES = 4
_LINE_BYTES = 4096


class Door:
    """Heard from when it is made until it is shut. passed: a listening socket came through. said: lines, as the
    launcher says them."""

    def __init__(self, door: socket.socket, opened: Opened, stop: Callable[[], None]) -> None:
        door.setblocking(False)
        self._door = door
        self._opened = opened
        self._stop = stop
        self.passed = False
        self.said = bytearray()
        asyncio.get_running_loop().add_reader(door, self._hear)

    def _hear(self) -> None:
        if not self._heard():
            asyncio.get_running_loop().remove_reader(self._door)

    def _heard(self) -> bool:
        """Whether there was something, and may be more."""
        # Not recv_fds, which has no heed of flags: no process of ours may inherit what arrives.
        said, arrived, _, _ = self._door.recvmsg(_LINE_BYTES, socket.CMSG_LEN(_FD_BYTES), _CLOSED_BY_EXEC)
        self.said += said
        for _, _, fd in arrived:
            self.passed = True
            self._opened(socket.socket(fileno=int.from_bytes(fd[:_FD_BYTES], sys.byteorder)), self._stop)
        return bool(said)

    def shut(self) -> None:
        """Take what is left to be heard, and let go of it."""
        if self._door.fileno() < 0:
            return
        asyncio.get_running_loop().remove_reader(self._door)
        with self._door, contextlib.suppress(OSError):
            while self._heard():
                continue

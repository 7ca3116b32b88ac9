"""The rights a confined command keeps, in the words of the system: Landlock, capabilities, seccomp, limits."""

from __future__ import annotations

import os
import resource
import sys

from remit.base.limits import MIB
from remit.workspace.launcher_jail import MAX_PROCESSES
from remit.workspace.launcher_kernel import Kernel

MAX_FILE_BYTES = 8192 * MIB
"""Of one file that a command writes."""

MAX_MEMORY_BYTES = 8192 * MIB
"""Of one process that a command starts, unless the settings say otherwise."""


def limits(memory: int | None = MAX_MEMORY_BYTES) -> list[tuple[int, int]]:
    """What the processes of a command may use. memory: bytes, None for no bound; what is only reserved, as runtimes do
    with far more than they use, does not count."""
    bounds = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_NPROC, MAX_PROCESSES),
    ]
    return bounds if memory is None else [*bounds, (resource.RLIMIT_DATA, memory)]


DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

_WRITE_FILE, _TRUNCATE, _IOCTL_DEVICE = 1 << 1, 1 << 14, 1 << 15
_REMOVE_FOLDER, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_CHAR, _MAKE_FOLDER, _MAKE_FILE, _MAKE_SOCKET, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_LINK, _REFER = (
    1 << number for number in range(6, 14)
)
_CREATE = _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _MAKE_SOCKET | _MAKE_FIFO | _MAKE_LINK

SCOPES = 1 | 2
"""Abstract sockets and signals of processes outside."""

SCOPES_ABI, TRUNCATE_ABI = 6, 3

ROOT_KEEPS = {
    "chown": 0,
    "dac_override": 1,
    "fowner": 3,
    "fsetid": 4,
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "net_bind_service": 10,
}
"""Capabilities of root that reach no further than files and processes it can see."""

_SYS_ADMIN = 21


def landlock_abi() -> int:
    """The version of Landlock; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return Kernel().landlock_abi()
    except OSError:
        return 0


def handled(abi: int) -> int:
    """All rights to write that this version of Landlock knows."""
    rights = _WRITE_FILE | _CREATE | _MAKE_CHAR | _MAKE_BLOCK
    return rights | _since(abi)


def writable(abi: int) -> int:
    """The rights below a directory where a command may write."""
    return _WRITE_FILE | _CREATE | _since(abi)


def usable(abi: int) -> int:
    """The rights on a device a command may use."""
    return _WRITE_FILE | (_since(abi) & ~_REFER)


def _since(abi: int) -> int:
    return sum(right for since, right in ((2, _REFER), (TRUNCATE_ABI, _TRUNCATE), (5, _IOCTL_DEVICE)) if abi >= since)


def may_mount() -> bool:
    """Whether this process can make namespaces without a user namespace."""
    if os.geteuid() != 0:
        return False
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("CapEff:"))
    except (OSError, StopIteration):
        return False
    return bool(int(line.split()[1], 16) >> _SYS_ADMIN & 1)

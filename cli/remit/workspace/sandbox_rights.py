"""The rights a confined command keeps, in the words of the system: Landlock, capabilities, seccomp, limits."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Sequence

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


_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""By machine: its name for seccomp, and the number of the call socket()."""

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_ROUTE = 0

_IO_URING_SETUP = 425
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97

_Program = Sequence[tuple[int, int, int, int]]


def no_sockets() -> bytes:
    """A seccomp program that refuses every socket(), and io_uring, which could make one; nothing for a
    machine whose calls are not known here. Pairs of connected sockets stay."""
    return _sockets([(_RETURN, 0, 0, _REFUSE | _EPERM)])


def network_sockets() -> bytes:
    """A seccomp program that refuses sockets of a kind that a network namespace does not hold, such as those between
    virtual machines, or that let a command talk to the kernel about more than addresses; nothing for a machine whose
    calls are not known here."""
    return _sockets(
        [
            (_LOAD, 0, 0, 16),  # the family
            (_EQUAL, 6, 0, _UNIX),
            (_EQUAL, 5, 0, _INET),
            (_EQUAL, 4, 0, _INET6),
            (_EQUAL, 0, 2, _NETLINK),
            (_LOAD, 0, 0, 32),  # the protocol
            (_EQUAL, 1, 0, _ROUTE),
            (_RETURN, 0, 0, _REFUSE | _EAFNOSUPPORT),
            (_RETURN, 0, 0, _ALLOW),
        ]
    )


def _sockets(judged: _Program) -> bytes:
    """A program that ends with `judged` for socket(), refuses io_uring, and allows all else."""
    known = _MACHINES.get(platform.machine())
    if known is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        return b""
    machine, socket = known
    program: _Program = (
        (_LOAD, 0, 0, 4),  # the machine the call was made for
        (_EQUAL, 1, 0, machine),
        (_RETURN, 0, 0, _REFUSE | _EPERM),
        (_LOAD, 0, 0, 0),  # its number
        (_AT_LEAST, 2, 0, 0x40000000),  # the x32 table of x86_64
        (_EQUAL, 3, 0, socket),
        (_EQUAL, 0, 1, _IO_URING_SETUP),
        (_RETURN, 0, 0, _REFUSE | _ENOSYS),
        (_RETURN, 0, 0, _ALLOW),
        *judged,
    )
    return b"".join(struct.pack("=HBBI", *each) for each in program)

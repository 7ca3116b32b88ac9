"""What the kernel refuses a confined command by the number of the call: programs for seccomp."""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Sequence
from typing import NamedTuple


class _Machine(NamedTuple):
    """code: its name for seccomp. socket, openat2: numbers of these calls. modes: of those that give a file a mode, the
    argument that is it, and the one with the flags by which it counts, if any."""

    code: int
    socket: int
    openat2: int
    modes: dict[int, tuple[int, int | None]]


_MACHINES = {
    "x86_64": _Machine(
        code=0xC000003E,
        socket=41,
        openat2=437,
        modes={
            2: (2, 1),  # open
            85: (1, None),  # creat
            90: (1, None),  # chmod
            91: (1, None),  # fchmod
            133: (1, None),  # mknod
            257: (3, 2),  # openat
            259: (2, None),  # mknodat
            268: (2, None),  # fchmodat
            452: (2, None),  # fchmodat2
        },
    ),
    "aarch64": _Machine(
        code=0xC00000B7,
        socket=198,
        openat2=437,
        modes={
            33: (2, None),  # mknodat
            52: (1, None),  # fchmod
            53: (2, None),  # fchmodat
            56: (3, 2),  # openat
            452: (2, None),  # fchmodat2
        },
    ),
}

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_ROUTE = 0

_IO_URING_SETUP = 425
_LOAD, _EQUAL, _AT_LEAST, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97

_X32 = 0x40000000
_SET_USER = 0o4000
_CREATES = 0o100 | 0o20000000
"""O_CREAT, and the bit of O_TMPFILE that no other flag has."""

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
    machine = _machine()
    if machine is None:
        return b""
    return _packed(
        (
            *_own_calls(machine),
            (_EQUAL, 3, 0, machine.socket),
            (_EQUAL, 0, 1, _IO_URING_SETUP),
            (_RETURN, 0, 0, _REFUSE | _ENOSYS),
            (_RETURN, 0, 0, _ALLOW),
            *judged,
        )
    )


def no_set_user() -> bytes:
    """A seccomp program that lets no file become one that runs as its owner, whoever starts it; nothing for a machine
    whose calls are not known here. Refuses openat2() as a kernel without it does: its mode is not to be seen. For use
    beside one of those above, which refuse io_uring."""
    machine = _machine()
    if machine is None:
        return b""
    program = [*_own_calls(machine), (_EQUAL, 0, 1, machine.openat2), (_RETURN, 0, 0, _REFUSE | _ENOSYS)]
    for number, (mode, flags) in machine.modes.items():
        judged = [
            (_LOAD, 0, 0, 16 + 8 * mode),
            (_ANY, 0, 1, _SET_USER),
            (_RETURN, 0, 0, _REFUSE | _EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ]
        if flags is not None:
            # Without one of these flags nobody need say a mode, and what stands there is anything.
            judged = [(_LOAD, 0, 0, 16 + 8 * flags), (_ANY, 1, 0, _CREATES), (_RETURN, 0, 0, _ALLOW), *judged]
        program += [(_EQUAL, 0, len(judged), number), *judged]
    return _packed((*program, (_RETURN, 0, 0, _ALLOW)))


def _machine() -> _Machine | None:
    return _MACHINES.get(platform.machine()) if ctypes.sizeof(ctypes.c_void_p) == 8 else None


def _own_calls(machine: _Machine) -> _Program:
    """Refuse what is called by other numbers than the machine's, and load the number."""
    return (
        (_LOAD, 0, 0, 4),  # the machine the call was made for
        (_EQUAL, 1, 0, machine.code),
        (_RETURN, 0, 0, _REFUSE | _EPERM),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),  # the second table of x86_64
        (_RETURN, 0, 0, _REFUSE | _ENOSYS),
    )


def _packed(program: _Program) -> bytes:
    return b"".join(struct.pack("=HBBI", *each) for each in program)

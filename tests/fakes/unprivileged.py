"""File permissions that hold in a test, also where the tests run as root."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534
PR_SET_KEEPCAPS, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 8, 24, 47
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


@contextmanager
def unprivileged() -> Iterator[None]:
    """As root: the process acts as nobody, in all its threads, until the block ends."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def heed_permissions() -> None:
    """A `preexec_fn`: the program about to start heeds the permissions of files, also as root."""
    if os.geteuid() != 0:
        return
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def become_nobody() -> None:
    """As root: this process is nobody's from here on, with no right of root's but to read files, so that it can
    start the interpreter of these tests wherever that lies."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    _checked(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setresuid(NOBODY, NOBODY, NOBODY)
    mask = 1 << CAP_DAC_READ_SEARCH
    header = struct.pack("=Ii", 0x20080522, 0)
    _checked(libc.capset(header, struct.pack("=6I", mask, mask, mask, 0, 0, 0)))
    _checked(libc.prctl(PR_CAP_AMBIENT, 2, CAP_DAC_READ_SEARCH, 0, 0))


def _checked(answer: int) -> None:
    if answer != 0:
        raise OSError(ctypes.get_errno(), "cannot become nobody")

"""File permissions that hold in a test, also where the tests run as root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534


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

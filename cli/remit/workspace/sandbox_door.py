"""The program of ours inside namespaces that bwrap made (`launcher_door`): how it is started, and where it lies."""

from __future__ import annotations

import _socket
import glob
import os
import sys
from functools import cache

from remit.workspace import launcher_door


def door_argv() -> list[str]:
    """Its command line, but for the descriptors. Not by way of a virtual environment, which need not be in sight."""
    if getattr(sys, "frozen", False):
        return [os.path.realpath(sys.executable), "__door"]
    return [_interpreter(), "-I", "-S", os.path.realpath(launcher_door.__file__)]


@cache
def door_places() -> list[str]:
    """The real paths of what it needs to see beyond the system's own."""
    if getattr(sys, "frozen", False):
        return [os.path.dirname(os.path.realpath(sys.executable))]
    modules = (os.__file__, getattr(_socket, "__file__", ""))
    places = [_interpreter(), *(os.path.dirname(os.path.realpath(each)) for each in modules if each)]
    places += [os.path.realpath(path) for path in glob.glob(f"{glob.escape(sys.base_prefix)}/lib/libpython*.so*")]
    return list(dict.fromkeys([*places, os.path.realpath(launcher_door.__file__)]))


def _interpreter() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)

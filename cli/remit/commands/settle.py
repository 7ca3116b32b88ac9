"""The cache of the one-file program: a freshly unpacked directory takes its place, and old ones go.

A running program holds a shared lock on its directory (`cli/package/entry.py`), so that none is removed from under it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from contextlib import suppress

KEPT_SECONDS = 14 * 86_400.0
"""Directories of other versions that were unpacked longer ago go, unless they are in use."""

UNPACKING_SECONDS = 600.0
"""What is unpacked for longer was given up: its process is dead."""

LOCK = ".lock"
SETTLING = ".settling"
NOTES = (".files", ".whole")
"""The names of all files, and what the header of the one-file program saw of each when they were unpacked."""


def main(new: str, place: str) -> None:
    """Move the directory `new` to `place`. Another first run may have been quicker: then its directory stays, unless it
    is not whole, and `new` is left to the caller."""
    base = os.path.dirname(place)
    turn = _turn(base)
    try:
        if not alike(new, place):
            _exchange(new, place)
        with suppress(OSError):
            clear(base, os.path.basename(place))
    finally:
        if turn is not None:
            os.close(turn)


def _turn(base: str) -> int | None:
    """Wait until no other process settles here; None where files cannot be locked."""
    try:
        fd = os.open(os.path.join(base, SETTLING), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def alike(new: str, place: str) -> bool:
    """Whether a directory has all that a fresh one has, as far as sizes, times and modes tell."""
    if any(_content(f"{new}/{name}") != _content(f"{place}/{name}") for name in NOTES):
        return False
    for folder, _, files in os.walk(new):
        for path in (os.path.join(folder, name) for name in files if not name.startswith(".")):
            if _facts(path) != _facts(place + path[len(new) :]):
                return False
    return True


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _facts(path: str) -> tuple[int | str, ...] | None:
    """Of a link what it names: not every tar gives it its time."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return (os.readlink(path),)
    except OSError:
        return None
    return status.st_mode, status.st_size, int(status.st_mtime)


def _exchange(new: str, place: str) -> None:
    """What is there makes way, and goes when no program runs from it any more."""
    aside = f"{new}.old"
    with suppress(FileNotFoundError):
        os.rename(place, aside)
        # From now on is counted how long it may stay.
        os.utime(aside)
    os.rename(new, place)
    if os.path.isdir(aside) and not os.path.islink(aside):
        if _unused(aside):
            shutil.rmtree(aside, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(aside)


def clear(base: str, current: str) -> None:
    """Remove what no program will use again. current: the directory that stays. Raises OSError."""
    now = time.time()
    for name in os.listdir(base):
        kept = UNPACKING_SECONDS if name.startswith(".new.") else KEPT_SECONDS if name.startswith("rt-") else None
        path = os.path.join(base, name)
        if kept is None or name == current or os.lstat(path).st_mtime > now - kept:
            continue
        if os.path.isdir(path) and not os.path.islink(path) and _unused(path):
            shutil.rmtree(path, ignore_errors=True)


def _unused(path: str) -> bool:
    try:
        fd = os.open(os.path.join(path, LOCK), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True

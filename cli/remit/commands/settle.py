"""The cache of the one-file program: a freshly unpacked directory takes its place, and old ones go.

A running program holds a shared lock on its directory (`cli/package/entry.py`), so that none is removed from under it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from contextlib import suppress

KEPT_SECONDS = 14 * 86_400.0
"""Directories of other versions that were unpacked longer ago go, unless they are in use."""

LOCK = ".lock"


def main(new: str, place: str) -> None:
    """Move the directory `new` to `place`. Another first run may have been quicker: then its directory stays, unless it
    is not whole."""
    aside = f"{new}.old"
    for _ in range(2):
        try:
            os.rename(new, place)
            break
        except OSError:
            # It is there. What is not whole makes way; a whole one of another first run is as good as ours.
            with suppress(OSError):
                os.rename(place, aside)
    shutil.rmtree(aside, ignore_errors=True)
    with suppress(OSError):
        _clear(os.path.dirname(place), os.path.basename(place))


def _clear(base: str, current: str) -> None:
    before = time.time() - KEPT_SECONDS
    for name in os.listdir(base):
        path = os.path.join(base, name)
        stale = name.startswith(("rt-", ".new.")) and name != current and os.lstat(path).st_mtime < before
        if stale and os.path.isdir(path) and not os.path.islink(path) and _unused(path):
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

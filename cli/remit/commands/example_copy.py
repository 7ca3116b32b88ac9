"""Copies of the examples of the one-file program, one for all runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def kept_copy(place: str, kept: str) -> str:
    """The copy of a directory below `kept` that is the same to the byte; made where there is none, in a directory of
    temporary files where it cannot be."""
    contents = _contents(place)
    named = os.path.join(kept, hashlib.sha256(repr(contents).encode()).hexdigest()[:16])
    copy = os.path.join(named, os.path.basename(place))
    if _contents(copy) == contents:
        return copy
    try:
        os.makedirs(kept, 0o700, exist_ok=True)
        fresh = tempfile.mkdtemp(prefix="new-", dir=kept)
    except OSError:
        fresh = tempfile.mkdtemp(prefix="remit-example-")
    shutil.copytree(place, os.path.join(fresh, os.path.basename(place)))
    with suppress(OSError):
        # Not where another run was first, or where somebody changed what is there.
        os.rename(fresh, named)
    if _contents(copy) != contents:
        return os.path.join(fresh, os.path.basename(place))
    shutil.rmtree(fresh, ignore_errors=True)
    return copy


def _contents(place: str) -> list[tuple[str, bytes]]:
    """Every file below a directory, by its path there; nothing for what cannot be read."""
    root = Path(place)
    try:
        return sorted((str(each.relative_to(root)), each.read_bytes()) for each in root.rglob("*") if each.is_file())
    except OSError:
        return []

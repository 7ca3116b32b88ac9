"""Programs that the one-file build carries along."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

UNPACKED = ".more"
"""Where programs that lie compressed in the bundle are put when they are first needed, beside it."""


def bundled(program: str) -> str:
    """The program's path, "" where remit is not one frozen program or does not carry it."""
    place = getattr(sys, "_MEIPASS", "")
    path = os.path.join(place, "bin", program)
    if not place or os.access(path, os.X_OK):
        return path if place else ""
    packed = f"{path}.xz"
    return _unpacked(packed, os.path.join(os.path.dirname(sys.executable), UNPACKED, program)) if _is(packed) else ""


def _unpacked(packed: str, path: str) -> str:
    """The program at `path`, whole; "" where it cannot be written there."""
    import lzma
    import tempfile

    with open(f"{packed}.size") as file:
        size = int(file.read())
    if os.access(path, os.X_OK) and os.path.getsize(path) == size:
        return path
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        fd, new = tempfile.mkstemp(dir=os.path.dirname(path))
        try:
            with os.fdopen(fd, "wb") as target, lzma.open(packed) as source:
                while chunk := source.read(1 << 20):
                    target.write(chunk)
            os.chmod(new, 0o755)
            os.replace(new, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(new)
            raise
    except OSError:
        return ""
    return path


def _is(path: str) -> bool:
    return os.path.isfile(path)

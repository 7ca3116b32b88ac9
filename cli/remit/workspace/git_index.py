"""Which of some files git tracks, told from its index alone: no program is run for it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

MAX_BYTES = 64 * 2**20
"""Of an index that is looked at."""

_LENGTH = 0xFFF


def tracked(store: str, places: Iterable[tuple[str, bool]]) -> list[str]:
    """Those of `places` (absolute path, whether a directory) that the index of `store`, a directory `.git`, has
    entries for. Nothing where there is no index, it is larger than MAX_BYTES, or its names are packed (version 4)."""
    top = os.path.dirname(store)
    try:
        with open(os.path.join(store, "index"), "rb") as file:
            index = file.read(MAX_BYTES + 1)
    except OSError:
        return []
    if len(index) > MAX_BYTES or index[:4] != b"DIRC" or index[4:8] > struct.pack(">I", 3):
        return []
    return [
        path
        for path, folder in places
        if path.startswith(f"{top}/") and _has(index, os.fsencode(os.path.relpath(path, top)), folder)
    ]


def _has(index: bytes, name: bytes, folder: bool) -> bool:
    sought = name + (b"/" if folder else b"\0")
    at = index.find(sought)
    while at >= 0:
        # The length of the name stands before it, with further flags between in some entries.
        if any(_is_length(index[at - back : at - back + 2], index, at) for back in (2, 4)):
            return True
        at = index.find(sought, at + 1)
    return False


def _is_length(flags: bytes, index: bytes, at: int) -> bool:
    length: int = struct.unpack(">H", flags)[0] & _LENGTH
    return length == min(index.find(b"\0", at) - at, _LENGTH)

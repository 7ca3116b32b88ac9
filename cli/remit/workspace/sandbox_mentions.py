"""What a command line names of the places that are hidden from commands. Words are taken as they are written."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

MAX_WORDS = 1000
"""Of a line that are looked at."""

_BETWEEN = re.compile(r"[\s;|&<>()\"'`=:,]+")
_HOME = re.compile(r"\A(?:~|\$HOME|\$\{HOME\})(?=/|\Z)")


def mentioned(line: str, directory: str, home: str, places: Collection[str]) -> tuple[str, ...]:
    """The words of a line that lead to one of these real paths, or below one, from a directory."""
    if not places:
        return ()
    words = dict.fromkeys(filter(None, _BETWEEN.split(line)[:MAX_WORDS]))
    return tuple(word for word in words if _leads_to(os.path.join(directory, _HOME.sub(lambda _: home, word)), places))


def _leads_to(path: str, places: Collection[str]) -> bool:
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        return False
    while real not in places:
        above = os.path.dirname(real)
        if above == real:
            return False
        real = above
    return True

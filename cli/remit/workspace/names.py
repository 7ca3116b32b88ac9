"""How a path of the workspace may be spelled. Pure: no file system is asked."""

from __future__ import annotations

import re
import unicodedata

from remit.base.errors import ErrorCode, Failure
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten

HERE = "."
"""The workspace itself."""

MAX_PART_BYTES = 255
MAX_PATH_BYTES = 4095

UNFINISHED_START = ".remit-"
UNFINISHED_GLOB = f"{UNFINISHED_START}{'[0-9a-f]' * 16}.tmp"
_UNFINISHED = lazy_pattern(r"\.remit-[0-9a-f]{16}\.tmp")

_DRIVE = lazy_pattern(r"[A-Za-z]:")
_PORTS = "123456789\u00b9\u00b2\u00b3"
_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
    + [f"{port}{digit}" for port in ("COM", "LPT") for digit in _PORTS]
)
_RULE = "paths are relative to the workspace and use forward slashes, such as 'docs/report.md'"


def normalise(spelled: str) -> str:
    """The workspace-relative POSIX name behind what the model spelled; "" and "." are the workspace.

    Dots and doubled or trailing slashes go; letters stay byte for byte, whatever their case or
    Unicode form. Raises Failure(path_refused) for whatever is absolute, climbs, or names a drive.
    """
    _check_text(spelled)
    if "\\" in spelled:
        raise _refused(spelled, "contains a backslash; write '/' between the parts")
    if spelled.startswith("/"):
        raise _refused(spelled, "is absolute")
    parts = [part for part in spelled.split("/") if part not in ("", HERE)]
    for part in parts:
        _check_part(spelled, part)
    name = "/".join(parts)
    if len(name.encode()) > MAX_PATH_BYTES:
        raise _refused(spelled, f"is longer than {MAX_PATH_BYTES} bytes")
    return name or HERE


def is_device(name: str) -> bool:
    """Whether a part of a name means a device on some systems."""
    return any(re.split(r"[.:]", part, maxsplit=1)[0].rstrip(" ").upper() in _DEVICES for part in name.split("/"))


def device_refused(name: str) -> Failure:
    """The refusal of such a name."""
    return _refused(name, "contains a reserved device name")


def is_clean(name: str) -> bool:
    """Whether a name, as the file system gave it, stays below the workspace by its spelling alone."""
    return "\0" not in name and all(part not in ("", HERE, "..") for part in name.split("/"))


def is_unfinished(base: str) -> bool:
    """Whether an entry is a file that remit is about to put in the place of another. One that was killed leaves it
    there, and nobody is shown it. Those who match names by glob have UNFINISHED_GLOB for the same."""
    return _UNFINISHED.fullmatch(base) is not None


def join(folder: str, name: str) -> str:
    """The name of an entry of a folder."""
    return name if folder == HERE else f"{folder}/{name}"


def below(folder: str, name: str) -> bool:
    """Whether `name` is `folder` or lies below it; both are workspace-relative."""
    return folder in (HERE, name) or name.startswith(f"{folder}/")


def _check_text(spelled: str) -> None:
    try:
        spelled.encode()
    except UnicodeEncodeError as problem:
        raise _refused(spelled, f"holds a lone surrogate at character {problem.start}") from None
    if "\0" in spelled:
        raise _refused(spelled, f"holds a NUL byte at character {spelled.index(chr(0))}")
    for place, letter in enumerate(spelled):
        if unicodedata.category(letter) == "Cc":
            raise _refused(spelled, f"holds the control character U+{ord(letter):04X} at character {place}")


def _check_part(spelled: str, part: str) -> None:
    if part == "..":
        raise _refused(spelled, "contains '..'")
    if _DRIVE.match(part):
        raise _refused(spelled, f"contains the drive letter '{part[:2]}'")
    if len(part.encode()) > MAX_PART_BYTES:
        raise _refused(spelled, f"has a part longer than {MAX_PART_BYTES} bytes")


def _refused(spelled: str, why: str) -> Failure:
    return Failure(ErrorCode.PATH_REFUSED, f"path {shorten(spelled)} {why}; {_RULE}")

"""What an artifact may be called: the rule of those who write one, and of those who promise one."""

from __future__ import annotations

import os
import unicodedata

from remit.base.lazy_pattern import lazy_pattern

SUFFIXES = (".md", ".txt", ".csv", ".json")
MAX_NAME_BYTES = 255

_FOLDERS = frozenset("/\\")
# What other file systems and artifact uploaders refuse in a name.
_FORBIDDEN = frozenset('<>:"|?*')
# Marks that turn or hide what a reader of the name sees.
_INVISIBLE = lazy_pattern("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_DEVICES = frozenset(
    {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
    | {port + digit for port in ("COM", "LPT") for digit in "0123456789¹²³"}
)


def name_fault(name: str) -> str:
    """What keeps a name from being a bare filename on any system, or ""."""
    if not name:
        return "the name is empty"
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return f"the name has {len(name.encode('utf-8', 'replace'))} bytes, {MAX_NAME_BYTES} are allowed"
    if _FOLDERS & set(name):
        return "a name has no folders, so no / and no \\"
    if name.startswith("."):
        return "a name does not start with a dot"
    if name[0] == " " or name[-1] in ". ":
        return "a name does not start with a space, nor end with a space or a dot"
    if found := _FORBIDDEN & set(name):
        return f"the character {min(found)!r} is not allowed in a name"
    if any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in name) or _INVISIBLE.search(name):
        return "control characters and invisible marks are not allowed in a name"
    if name.split(".", maxsplit=1)[0].rstrip(" ").upper() in _DEVICES:
        return "this is a device's name on some systems"
    return ""


def suffix_of(name: str) -> str:
    """The ending that says the type, in lower case; "" for none."""
    return os.path.splitext(name)[1].lower()

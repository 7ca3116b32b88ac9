"""Files in which projects and users say how to work: AGENTS.md and what else goes by that purpose."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection

from remit.base.spec import Instructions

NAMES = (
    "AGENTS.md",
    "CLAUDE.md",
    ".github/copilot-instructions.md",
    "COPILOT.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    "CONVENTIONS.md",
    "GEMINI.md",
    "CODING_AGENT.md",
)
"""The first of these in a directory counts."""

MAX_BYTES = 32 * 1024
"""Of one file; more is cut."""

MAX_DIRECTORIES = 64


SCOPES = ("user", "project")


def read_instructions(workspace: str, config_dir: str, scopes: Collection[str] = SCOPES) -> tuple[Instructions, ...]:
    """Those of the user, then of each directory from the root of the repository down to the workspace, as far as they
    are of these scopes.

    What cannot be read is passed over: no run depends on it. A link counts where it leads to such a file of the same
    repository, so that no other file gets to the model by it."""
    found: list[Instructions | None] = []
    if "user" in scopes:
        found.append(_read(os.path.join(config_dir, "AGENTS.md"), "AGENTS.md", config_dir, "user"))
    directories = way_down(workspace) if "project" in scopes else []
    for directory in directories:
        files = (_read(os.path.join(directory, name), name, directories[0], "project") for name in NAMES)
        found.append(next((each for each in files if each is not None), None))
    return tuple(each for each in found if each is not None)


def way_down(workspace: str) -> list[str]:
    """Its directories from the root of the repository; the workspace alone where there is none."""
    way = [workspace]
    while not os.path.lexists(os.path.join(way[-1], ".git")):
        above = os.path.dirname(way[-1])
        if above == way[-1] or len(way) == MAX_DIRECTORIES:
            return [workspace]
        way.append(above)
    return way[::-1]


def _read(path: str, name: str, root: str, scope: str) -> Instructions | None:
    try:
        real, base = os.path.realpath(path, strict=True), os.path.realpath(root)
        known = any(real == os.path.join(base, each) or real.endswith(f"/{each}") for each in NAMES)
        if not known or os.path.commonpath((real, base)) != base:
            return None
    except (OSError, ValueError):
        return None
    raw = read_plain(real, MAX_BYTES + 1)
    if raw is None:
        return None
    text = raw[:MAX_BYTES].decode("utf-8", "replace").replace("\0", "\ufffd").strip()
    note = "\n[cut here: the file goes on]" if len(raw) > MAX_BYTES else ""
    shown = os.path.relpath(path, root) if scope == "project" else name
    return Instructions(scope, shown, f"{text}{note}") if text else None


def read_plain(path: str, size: int) -> bytes | None:
    """The first bytes of a file, `size` at most; None where it is none, or cannot be read. No link is followed, and a
    pipe is not waited for."""
    try:
        with open(path, "rb", opener=_opened) as file:
            return file.read(size) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except (OSError, ValueError):
        return None


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)

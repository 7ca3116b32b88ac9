"""Where and when a run works, as its model is told."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Sequence

from remit.base.spec import Environment
from remit.config.instructions import read_plain, way_down

MAX_CHARACTERS = 200
"""Of a path or a name; a longer one is cut in the middle."""

MAX_HEAD_BYTES = 4096
"""Of a HEAD, and of what leads to one; a longer one is none."""

_BRANCH = re.compile(r"ref:\s*refs/heads/(?!\.)([^\0- \x7f~^:?*\[\\]+)\s*")
"""Git has no branch whose name begins with a dot, or has a space or a control character in it."""

_COMMIT = re.compile(r"([0-9a-f]{7})(?:[0-9a-f]{33}|[0-9a-f]{57})\s*")


def read_environment(workspace: str, beside: Sequence[str], now: float) -> Environment:
    """What is so at `now`, Unix seconds. beside: further directories that may be read, absolute."""
    machine = os.uname()
    return Environment(
        directory=_told(workspace),
        platform=f"{machine.sysname} {machine.machine}",
        date=time.strftime("%Y-%m-%d", time.localtime(now)),
        branch=_told(_branch(os.path.join(way_down(workspace)[0], ".git"), (workspace, *beside))),
    )


def _told(text: str) -> str:
    """On one line, and with nothing in it that does not show."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    if len(shown) <= MAX_CHARACTERS:
        return shown
    return f"{shown[: MAX_CHARACTERS // 2]}...{shown[3 - MAX_CHARACTERS // 2 :]}"


def _branch(git: str, readable: Iterable[str]) -> str:
    """What is checked out, "" where nothing tells that. git: the `.git` of a repository, if there is one."""
    place = git if os.path.isdir(git) and not os.path.islink(git) else _elsewhere(git, readable)
    head = _text(os.path.join(place, "HEAD")) if place else ""
    if branch := _BRANCH.fullmatch(head):
        return branch[1]
    commit = _COMMIT.fullmatch(head)
    return f"none, detached at {commit[1]}" if commit else ""


def _elsewhere(git: str, readable: Iterable[str]) -> str:
    """Where the file `.git` of a working tree leads; "" unless that may be read, or names the file in its turn, as it
    does where git itself made the working tree."""
    mark, _, path = _text(git).partition("gitdir: ")
    if mark or not path:
        return ""
    place = os.path.realpath(os.path.join(os.path.dirname(git), path.rstrip("\r\n")))
    back = _text(os.path.join(place, "gitdir")).rstrip("\r\n")
    known = bool(back) and os.path.realpath(os.path.join(place, back)) == os.path.realpath(git)
    return place if known or any(_below(place, os.path.realpath(each)) for each in readable) else ""


def _below(path: str, directory: str) -> bool:
    return os.path.commonpath((path, directory)) == directory


def _text(path: str) -> str:
    """A short plain file, "" where there is none."""
    raw = read_plain(path, MAX_HEAD_BYTES + 1) or b""
    text = raw.decode("utf-8", "replace")
    return "" if len(raw) > MAX_HEAD_BYTES or "\0" in text else text

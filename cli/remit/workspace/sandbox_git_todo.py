"""The list of a rebase that has stopped: its lines may name commands, which git runs when it goes on.

Those that a command of the sandbox has put there are taken out again when it ends. What was there is the user's."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

FOLDER = "rebase-merge"
LIST = "git-rebase-todo"

_MAX_BYTES = 1 << 22
_RUNS = re.compile(rb"[ \t]*(?:exec|x)(?=[ \t\r]|\Z)")
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def running_lines(store: int) -> frozenset[bytes]:
    """The lines that run commands, of the list in an open directory of git."""
    try:
        folder = os.open(FOLDER, _FOLDER_FLAGS, dir_fd=store)
    except OSError:
        return frozenset()
    try:
        text, _ = _read(folder)
        return frozenset(line for line in (text or b"").split(b"\n") if _RUNS.match(line))
    finally:
        os.close(folder)


def take_out(store: int, known: frozenset[bytes]) -> str:
    """Leave in the list no line that runs a command but for the known ones. Returns the name in the store of what was
    put aside, renamed to NAME.refused-*, or ""."""
    try:
        folder = os.open(FOLDER, _FOLDER_FLAGS, dir_fd=store)
    except FileNotFoundError:
        return ""
    except OSError:
        return _aside(store, FOLDER, FOLDER)
    try:
        text, plain = _read(folder)
        if text is None:
            return "" if plain else _aside(store, FOLDER, FOLDER)
        lines = text.split(b"\n")
        kept = [line for line in lines if line in known or not _RUNS.match(line)]
        if plain and kept == lines:
            return ""
        told = _aside(folder, LIST, f"{FOLDER}/{LIST}")
        if told:
            with suppress(OSError), open(os.open(LIST, _NEW, 0o644, dir_fd=folder), "wb") as file:
                file.write(b"\n".join(kept))
        return told if kept != lines else ""
    finally:
        os.close(folder)


def _read(folder: int) -> tuple[bytes | None, bool]:
    """The list, None where there is none that can be read; and whether it is a plain file under no other name, or
    absent."""
    try:
        fd = os.open(LIST, _FILE_FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return None, True
    except OSError:
        return None, False
    with open(fd, "rb") as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
            return None, False
        return file.read(_MAX_BYTES), facts.st_nlink == 1


def _aside(folder: int, name: str, told: str) -> str:
    try:
        os.rename(name, f"{name}.refused-{os.urandom(4).hex()}", src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        return ""
    return told

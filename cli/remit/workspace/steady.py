"""Reading an open file whole, in one state."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Original
from remit.base.text import shorten
from remit.workspace.root import Done

_PIECE = 1 << 20


def identity_of(info: os.stat_result) -> tuple[int, ...]:
    """What changes whenever a file does: device, inode, size, and when content and facts changed."""
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def mark_of(info: os.stat_result) -> str:
    """The state of a file in short: `<mtime_ns>:<size>:<inode>`."""
    return f"{info.st_mtime_ns}:{info.st_size}:{info.st_ino}"


def read_steady(
    fd: int,
    name: str,
    real: str,
    max_bytes: int,
    read: Callable[[int, int], bytes] = os.read,
    done: Done = "read",
) -> Original:
    """The file behind a descriptor. done: to it in the end. Raises Failure: file_too_large, before anything is
    read where its size tells; file_changed when it changed meanwhile; io_error."""
    before = os.fstat(fd)
    if before.st_size > max_bytes:
        raise too_large(name, before.st_size, max_bytes, done)
    content = bytearray()
    while len(content) <= max_bytes:
        piece = read(fd, min(_PIECE, max_bytes + 1 - len(content)))
        if not piece:
            break
        content += piece
    after = os.fstat(fd)
    if len(content) != before.st_size or mark_of(after) != mark_of(before):
        raise Failure(ErrorCode.FILE_CHANGED, f"{shorten(name)} changed while it was read; read it again")
    return Original(
        name,
        real,
        bytes(content),
        mark=mark_of(before),
        mode=stat.S_IMODE(before.st_mode),
        links=before.st_nlink,
        identity=identity_of(after),
    )


def too_large(name: str, size: int, max_bytes: int, done: Done = "read") -> Failure:
    """The refusal of a file for its size in bytes."""
    return Failure(
        ErrorCode.FILE_TOO_LARGE,
        f"{shorten(name)} has {size} bytes; only files of at most {max_bytes} bytes ({max_bytes >> 20} MiB) are {done}",
    )

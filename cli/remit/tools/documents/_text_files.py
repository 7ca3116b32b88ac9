"""What the document tools call a text file, and reading one whole."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB
from remit.base.ports import Entry, Files
from remit.base.text import shorten
from remit.workspace.credentials import looks_like_credentials
from remit.workspace.decode import Decoded, decode_text, looks_binary

MAX_FILE_BYTES = 2 * MIB

EXTENSIONS = (
    ".txt",
    ".md",
    ".markdown",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".xml",
    ".html",
    ".htm",
    ".log",
    ".ini",
    ".toml",
    ".rst",
    ".tex",
    ".sql",
    ".js",
    ".ts",
    ".py",
    ".css",
)


def refuse_credentials(*names: str) -> None:
    """Raises Failure(file_refused) if one of the names of a file, spelled or real, is a credential file's."""
    if looks_like_credentials(*names):
        raise Failure(
            ErrorCode.FILE_REFUSED,
            f"{shorten(names[0])} looks like a credential file and is never read; go on without it",
        )


class FileKind(msgspec.Struct, frozen=True):
    """What a tool takes a file for. unsupported, too_large, binary: how its refusals go on after the
    name; the sizes in bytes."""

    extensions: tuple[str, ...]
    max_bytes: int
    unsupported: str
    too_large: str
    binary: str


TEXT = FileKind(
    extensions=EXTENSIONS,
    max_bytes=MAX_FILE_BYTES,
    unsupported=f"is of no supported file type; supported are {' '.join(EXTENSIONS)}",
    too_large=f"at most {MAX_FILE_BYTES} bytes (2 MiB) are read of a file",
    binary="holds binary content; only text is read",
)


def check_readable(entry: Entry, kind: FileKind = TEXT) -> None:
    """What is known without opening a file. Raises Failure(file_refused, not_a_file, unsupported_format,
    file_too_large), in this order."""
    refuse_credentials(*entry.names())
    if entry.kind == "directory":
        raise Failure(ErrorCode.NOT_A_FILE, f"{shorten(entry.name)} is a directory; list_files shows what it holds")
    if entry.kind != "file":
        raise Failure(ErrorCode.NOT_A_FILE, f"{shorten(entry.name)} is no regular file; only those are read")
    if PurePosixPath(entry.name).suffix.lower() not in kind.extensions:
        raise Failure(ErrorCode.UNSUPPORTED_FORMAT, f"{shorten(entry.name)} {kind.unsupported}")
    if entry.size > kind.max_bytes:
        raise _too_large(entry.name, f"has {entry.size} bytes", kind)


def read_bytes(files: Files, name: str, kind: FileKind = TEXT) -> bytes:
    """The whole of a supported file. Raises Failure(file_too_large, binary_content) and those of `files`."""
    with files.open(name) as file:
        # One byte more than is allowed tells; a file that grows meanwhile is cut off there too.
        data = file.read(kind.max_bytes + 1)
    if len(data) > kind.max_bytes:
        raise _too_large(name, "grew while it was read", kind)
    if looks_binary(data):
        raise Failure(ErrorCode.BINARY_CONTENT, f"{shorten(name)} {kind.binary}")
    return data


def read_text(files: Files, name: str) -> tuple[Decoded, int]:
    """The text of a supported file and its size in bytes."""
    data = read_bytes(files, name)
    return decode_text(data), len(data)


def _too_large(name: str, seen: str, kind: FileKind) -> Failure:
    return Failure(ErrorCode.FILE_TOO_LARGE, f"{shorten(name)} {seen}; {kind.too_large}")

"""Configuration files: read, parsed, and turned into typed values, each fault with its file:line."""

from __future__ import annotations

import errno
import math
import os
import stat
from typing import Any, Literal

from remit.base.errors import Fault, Faults
from remit.base.text import shorten
from remit.config.convert import convert, convert_fields
from remit.config.document import BlemishedDocument, Document, Keys, did_you_mean, spell

__all__ = [
    "MAX_FILE_BYTES",
    "BlemishedDocument",
    "Document",
    "convert",
    "convert_fields",
    "decode",
    "did_you_mean",
    "parse",
    "parse_named",
    "read",
    "read_bytes",
    "read_optional",
    "read_text",
    "spell",
    "unsound",
]

MAX_FILE_BYTES = 1024 * 1024
MAX_DEPTH = 64

Format = Literal["yaml", "toml"]
_FORMATS: dict[str, Format] = {".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}


def parse(text: str, path: str, format: Format) -> Document:
    """A text as a document. `path` is what the user calls it.

    Raises Faults; BlemishedDocument where the document could be read all the same."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise Faults([Fault("the file is empty", f"{path}:1")])
    document, faults = _parse_yaml(text, path) if format == "yaml" else _parse_toml(text, path)
    faults += unsound(document)
    if faults:
        raise BlemishedDocument(faults, document)
    return document


def _parse_yaml(text: str, path: str) -> tuple[Document, list[Fault]]:
    from remit.config.yaml_reader import read_yaml

    data, lines, faults = read_yaml(text, path)
    return Document(path, data, text, lambda: lines), faults


def _parse_toml(text: str, path: str) -> tuple[Document, list[Fault]]:
    from remit.config.toml_reader import read_toml, toml_lines

    return Document(path, read_toml(text, path), text, lambda: toml_lines(text)), []


def parse_named(text: str, path: str) -> Document:
    """A text as a document of the format that the path's ending names. Raises Faults."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        raise Faults([Fault("the file's ending says no format", path, "name it .yaml, .yml or .toml")])
    return parse(text, path, _FORMATS[suffix])


def read(path: str) -> Document:
    """The document in a `.yaml`, `.yml` or `.toml` file of at most 1 MiB. Raises Faults."""
    return parse_named(read_text(path), path)


def read_text(path: str, max_bytes: int | None = MAX_FILE_BYTES) -> str:
    """A file as UTF-8 text. Raises Faults, for bytes that are not text with their offset."""
    return decode(read_bytes(path, max_bytes), path)


def decode(raw: bytes, path: str, hint: str = "save the file as UTF-8") -> str:
    """Bytes as UTF-8 text, a byte order mark dropped. Raises Faults with the offset of the first bad byte."""
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        bad = raw[problem.start]
        message = f"not valid UTF-8: byte 0x{bad:02x} at byte offset {problem.start}"
        raise Faults([Fault(message, f"{path}:{line}", hint)]) from None


def read_bytes(path: str, max_bytes: int | None = MAX_FILE_BYTES, *, pipes: bool = False) -> bytes:
    """The bytes of a regular file, or with `pipes` of a pipe to its end; no cap with `max_bytes=None`.

    Raises Faults."""
    try:
        # Opening a pipe that nobody writes to would wait for ever; like this it reads as empty.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as problem:
        raise Faults([_unopened(path, problem)]) from None
    try:
        raw = _drain(descriptor, path, max_bytes, pipes)
    except OSError as problem:
        raise Faults([Fault(f"the file cannot be read: {problem.strerror}", path)]) from None
    finally:
        os.close(descriptor)
    if max_bytes is not None and len(raw) > max_bytes:
        raise Faults([Fault(f"the file is larger than {max_bytes} bytes", path)])
    return raw


def read_optional(path: str) -> bytes | None:
    """The bytes of a file that need not be there: None when it is not. Raises Faults for any other trouble."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        raise Faults([_unopened(path, problem)]) from None
    return read_bytes(path)


def _drain(descriptor: int, path: str, max_bytes: int | None, pipes: bool) -> bytes:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise Faults([Fault("this is a directory, not a file", path)])
    if not stat.S_ISREG(mode) and not (pipes and stat.S_ISFIFO(mode)):
        raise Faults([Fault("this is not a regular file", path)])
    os.set_blocking(descriptor, True)
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(-1 if max_bytes is None else max_bytes + 1)


def _unopened(path: str, problem: OSError | ValueError) -> Fault:
    if isinstance(problem, ValueError):
        return Fault(f"{shorten(path)} is not a file name")
    if problem.errno == errno.ENOENT and os.path.islink(path):
        return Fault("this link leads to no file", path, "remove it, or put the file there")
    if problem.errno == errno.ENOENT:
        hint = "" if os.path.isabs(path) else "paths are taken from the current directory"
        return Fault("there is no such file", path or "''", hint)
    return Fault(f"the file cannot be opened: {problem.strerror}", path)


def unsound(document: Document) -> list[Fault]:
    """What a valid file may hold and no configuration can use."""
    faults: list[Fault] = []
    pending: list[tuple[Keys, Any]] = [((), document.data)]
    while pending:
        keys, value = pending.pop()
        if isinstance(value, dict):
            if len(keys) >= MAX_DEPTH:
                return [Fault(f"values are nested deeper than {MAX_DEPTH} levels", document.where(*keys))]
            faults += [fault for key in value for fault in _unsound_text(document, (*keys, key), key)]
            pending += [((*keys, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            if len(keys) >= MAX_DEPTH:
                return [Fault(f"values are nested deeper than {MAX_DEPTH} levels", document.where(*keys))]
            pending += [((*keys, index), value[index]) for index in range(len(value) - 1, -1, -1)]
        elif isinstance(value, str):
            faults += _unsound_text(document, keys, value)
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            faults.append(Fault(f"`{spell(keys)}`: {shorten(value)} does not fit in 64 bits", document.where(*keys)))
        elif isinstance(value, float) and not math.isfinite(value):
            faults.append(Fault(f"`{spell(keys)}`: {value} is not a finite number", document.where(*keys)))
    return faults


def _unsound_text(document: Document, keys: Keys, text: str) -> list[Fault]:
    if "\0" in text:
        return [Fault(f"`{spell(keys)}` holds a NUL character", document.where(*keys))]
    if any("\ud800" <= char <= "\udfff" for char in text):
        return [Fault(f"`{spell(keys)}` holds a lone surrogate, which is no character", document.where(*keys))]
    return []

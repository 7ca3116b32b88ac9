"""What was found while a run is put together: all that is wrong, and the files that were read."""

from __future__ import annotations

import hashlib
import os

from remit.base.errors import Fault, Faults
from remit.base.spec import Source
from remit.config.load import MAX_FILE_BYTES, decode, read_bytes, read_optional


class Findings:
    """faults: all so far. files: digests of those that were read, by absolute path."""

    def __init__(self, files: dict[str, str]) -> None:
        self.faults: list[Fault] = []
        self.files = files

    def fault(self, message: str, where: str = "", hint: str = "") -> None:
        self.faults.append(Fault(message, where, hint))

    def optional_source(self, path: str) -> Source | None:
        """A file that need not be there; None too after a fault."""
        try:
            raw = read_optional(path)
            return None if raw is None else Source(path, self._decoded(raw, path))
        except Faults as problem:
            self.faults += problem.faults
            return None

    def source(self, path: str, flag: str) -> Source | None:
        """A file that a flag names; None after a fault."""
        if not path:
            self.fault("the file's name is empty", flag)
            return None
        text = self.text(path, MAX_FILE_BYTES)
        return None if text is None else Source(path, text)

    def text(self, path: str, max_bytes: int) -> str | None:
        """The text of a file the user named, a pipe included; None after a fault."""
        try:
            return self._decoded(read_bytes(path, max_bytes, pipes=True), path)
        except Faults as problem:
            self.faults += problem.faults
            return None

    def _decoded(self, raw: bytes, path: str) -> str:
        text = decode(raw, path)
        if os.path.isfile(path):
            self.files[os.path.abspath(path)] = hashlib.sha256(raw).hexdigest()
        return text

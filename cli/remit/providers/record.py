"""Writes down what another provider is asked and answers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from remit.base.errors import EnvironmentFault, ProviderFault, UsageFault
from remit.base.messages import Delta, Part, Request, RetryPart, StopPart
from remit.base.redact import Redactor
from remit.providers.recording import exchange_line, header_line, read_recording, whole_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remit.base.ports import Provider


class RecordingProvider:
    """`inner`, with every finished exchange appended to the file at `path`.

    An exchange is on disk before its StopPart is given out, or its error raised; one that was
    stopped in between is not recorded. A file that holds a recording is continued, a torn last line
    cut off first. redact: knows the secrets of this process."""

    def __init__(self, inner: Provider, path: str, redact: Redactor) -> None:
        self._inner = inner
        self._path = path
        self._redact = redact
        self.name = inner.name
        self.model = inner.model
        self.key_source = inner.key_source
        self._file = self._open()

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        """As the inner provider. Raises EnvironmentFault when the recording cannot be written."""
        parts: list[Part] = []
        inner = cast("AsyncGenerator[Part, None]", self._inner.stream(request))
        try:
            async with aclosing(inner) as stream:
                async for part in stream:
                    if not isinstance(part, (Delta, RetryPart)):
                        parts.append(part)
                    if not isinstance(part, StopPart):
                        yield part
        except ProviderFault as fault:
            self._append(exchange_line(request, parts, fault, self._redact))
            raise
        self._append(exchange_line(request, parts, None, self._redact))
        if parts and isinstance(parts[-1], StopPart):
            yield parts[-1]

    async def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
        await self._inner.close()

    def _open(self) -> int:
        try:
            size = whole_bytes(self._path)
            if size:
                self._check_header()
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            os.ftruncate(file, size)
        except OSError as problem:
            raise UsageFault(f"the recording cannot be written: {problem.strerror}", where=self._path) from None
        if not size:
            self._file = file
            self._append(header_line(self.name, self.model))
        return file

    def _check_header(self) -> None:
        header = read_recording(self._path)[0]
        if (header.provider, header.model) != (self.name, self.model):
            what = f"the file holds a recording of {header.provider}/{header.model}, not of {self.name}/{self.model}"
            raise UsageFault(what, where=self._path, hint="record to another file")

    def _append(self, line: bytes) -> None:
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError as problem:
            raise EnvironmentFault(f"the recording cannot be written: {problem.strerror}", where=self._path) from None

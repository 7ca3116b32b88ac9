"""Writes down a run as it happens: what its models are asked and answer, and what becomes of its calls."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec

from remit import __version__
from remit.base.errors import EnvironmentFault, PreflightFault, ProviderFault, UsageFault
from remit.base.messages import Part, Request, StopPart
from remit.base.records import (
    Answered,
    ArtifactWritten,
    CallChecked,
    CallExpanded,
    CallSettled,
    PromptEnded,
    Record,
    RunStarted,
    Spent,
)
from remit.base.redact import KeyGuard, Redactor
from remit.providers.recording import (
    VERSION,
    Header,
    RecordedCall,
    RecordedEnd,
    RecordedError,
    RecordedModel,
    canonical,
    encode,
    given,
    kept,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remit.base.ports import Provider


class Recording:
    """The file at `path`, new or empty, that one run is written to. It follows the journal, which tells it of
    the run's spec, calls and end; the models' exchanges are handed to it.

    models: those of the run. home, own: what its rules went by. redact: knows the secrets of this process;
    guard: the keys of its models, which the state of the run does not hold either. Raises UsageFault when
    the file cannot be written or holds something."""

    def __init__(
        self,
        path: str,
        redact: Redactor,
        models: Sequence[RecordedModel],
        *,
        home: str = "",
        own: Sequence[str] = (),
        guard: KeyGuard | None = None,
    ) -> None:
        self._path = path
        self._redact = redact
        self._guard = guard or KeyGuard()
        self._header = Header(
            VERSION, models[0].provider, models[0].model, __version__, tuple(models), home=home, own=tuple(own)
        )
        self._begun = False
        self._open_calls: dict[str, RecordedCall] = {}
        self._redacted_artifacts: set[str] = set()
        self._network_requests = 0
        self._file = _opened(path)

    def __call__(self, record: Record) -> None:
        """Hear of a journaled record. Raises EnvironmentFault."""
        match record:
            case RunStarted():
                self._begin(msgspec.structs.replace(self._header, started=record.started, spec=record.spec))
            case Answered():
                self._open_calls = {call.key: call for call in self._calls(record)}
            case CallExpanded():
                self._open_calls |= {
                    call.key: RecordedCall(
                        key=call.key, id=call.id, tool=call.tool, redacted=self._hides(call.arguments)
                    )
                    for call in record.calls
                }
            case CallChecked():
                self._open_calls[record.key] = self._judged(record)
            case ArtifactWritten():
                self._written(record)
            case CallSettled():
                self._settled(record)
            case Spent(limit="network_requests"):
                self._network_requests += int(record.amount)
            case PromptEnded():
                self._end(record)

    def exchange(
        self, model: str, request: Request, parts: Sequence[Part], fault: ProviderFault | PreflightFault | None
    ) -> None:
        """A question to `provider/model` and what came of it, on disk when this returns. Raises EnvironmentFault."""
        self._begin(self._header)
        line: dict[str, Any] = {"model": model, "parts": kept(parts)}
        if fault is not None:
            line["error"] = RecordedError.of(fault)
        self._append({**self._clean(line), "request": canonical(request, self._clean)})
        self._sync()

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _begin(self, header: Header) -> None:
        if not self._begun:
            self._begun = True
            self._append(self._clean(header))
            self._sync()

    def _settled(self, record: CallSettled) -> None:
        call = self._open_calls.pop(record.key, None) or RecordedCall(key=record.key, id=record.id, tool=record.tool)
        # What the model is shown is the content: the outcome need not say it again.
        outcome = msgspec.structs.replace(record.outcome, text="")
        requests, self._network_requests = self._network_requests, 0
        ended = msgspec.structs.replace(call, outcome=outcome, content=record.content, output=record.output)
        self._call(msgspec.structs.replace(ended, network_requests=requests))

    def _call(self, call: RecordedCall) -> None:
        self._append({"call": self._clean(call)})

    def _calls(self, answered: Answered) -> Iterator[RecordedCall]:
        for index, call in enumerate(answered.message.calls(), 1):
            key = f"t{answered.turn}.c{index}"
            yield RecordedCall(key=key, id=call.id, tool=call.tool, redacted=self._hides(call.arguments))

    def _judged(self, record: CallChecked) -> RecordedCall:
        """A check of the task is none of the model's calls: what it is called with stands in its resources."""
        begun = self._open_calls.get(record.key) or RecordedCall(key=record.key, id=record.id, tool=record.tool)
        return msgspec.structs.replace(
            begun,
            resources=record.resources,
            allowed=record.allowed,
            decision=record.decision,
            approval=record.approval,
            redacted=begun.redacted or any(self._hides(resource.name) for resource in record.resources),
        )

    def _written(self, record: ArtifactWritten) -> None:
        call = self._open_calls.get(record.call)
        hides = call is not None and call.redacted
        (self._redacted_artifacts.add if hides else self._redacted_artifacts.discard)(record.name)

    def _hides(self, text: str) -> bool:
        return bool(self._clean(text) != text)

    def _clean(self, value: Any) -> Any:
        """A value as builtins without secrets. Keys first, as in the state of the run: what a call was made
        with is then spelled in the answer as in the requests after it."""
        plain = msgspec.to_builtins(value)
        if self._guard.active and self._guard.finds(encode(plain)):
            plain = self._guard.data(plain)
        return self._redact.data(plain)

    def _end(self, record: PromptEnded) -> None:
        """The result is told already when this is heard: a disk that is full now takes nothing from it."""
        result = record.result
        end = RecordedEnd(
            record.verdict,
            record.exit_code,
            given(result, frozenset(self._redacted_artifacts)),
            result.get("error_kind", ""),
            tuple(result.get("errors", ())),
            tuple(result.get("unmet", ())),
        )
        with suppress(EnvironmentFault):
            for call in self._open_calls.values():
                self._call(call)
            self._append({"end": self._clean(end)})
            self._sync()

    def _append(self, line: dict[str, Any]) -> None:
        view = memoryview(encode(line) + b"\n")
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _unwritable(self, problem: OSError) -> EnvironmentFault:
        return EnvironmentFault(f"the recording cannot be written: {problem.strerror}", where=self._path)


_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
"""A link might make the file anywhere, and a FIFO would be waited for."""


def _opened(path: str) -> int:
    if path == "-":
        what = "a recording is written to a file, not to standard output"
        raise UsageFault(what, where="--record -", hint="name a file: ./- is one of that name")
    try:
        file = os.open(path, _FLAGS, 0o600)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        if os.path.islink(path):
            reason = "this is a symbolic link"
        raise UsageFault(f"the recording cannot be written: {reason}", where=path) from None
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and not found.st_size:
        return file
    os.close(file)
    if not stat.S_ISREG(found.st_mode):
        raise UsageFault("the recording cannot be written: this is not a regular file", where=path)
    what = f"the file is there already and holds {found.st_size} bytes; a recording is of one run, from its start"
    raise UsageFault(what, where=path, hint="record to another file")


class RecordingProvider:
    """`inner`, with every finished exchange written to the recording.

    An exchange is on disk before its StopPart is given out, or its error raised; one that was
    stopped in between is not recorded."""

    def __init__(self, inner: Provider, recording: Recording) -> None:
        self._inner = inner
        self._recording = recording
        self.name = inner.name
        self.model = inner.model
        self.key_source = inner.key_source

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        """As the inner provider. Raises EnvironmentFault when the recording cannot be written."""
        parts: list[Part] = []
        asked = f"{self.name}/{self.model}"
        inner = cast("AsyncGenerator[Part, None]", self._inner.stream(request))
        try:
            async with aclosing(inner) as stream:
                async for part in stream:
                    parts.append(part)
                    if not isinstance(part, StopPart):
                        yield part
        except (ProviderFault, PreflightFault) as fault:
            self._recording.exchange(asked, request, parts, fault)
            raise
        self._recording.exchange(asked, request, parts, None)
        if parts and isinstance(parts[-1], StopPart):
            yield parts[-1]

    async def close(self) -> None:
        await self._inner.close()

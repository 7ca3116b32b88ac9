"""Writes down a run as it happens: what its models are asked and answer, and what becomes of its calls."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec

from remit import __version__
from remit.base.errors import EnvironmentFault, PreflightFault, ProviderFault, UsageFault
from remit.base.messages import Part, Request, StopPart
from remit.base.records import (
    Answered,
    ArtifactRemoved,
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

    models: those of the run; agents_models: those of profiles, by id. home, own: what its rules went by. redact: knows
    the secrets of this process; guard: the keys of its models, which the state of the run does not hold either. Raises
    UsageFault when the file cannot be written or holds something."""

    def __init__(
        self,
        path: str,
        redact: Redactor,
        models: Sequence[RecordedModel],
        *,
        agents_models: Mapping[str, RecordedModel] = {},
        home: str = "",
        own: Sequence[str] = (),
        guard: KeyGuard | None = None,
    ) -> None:
        self._path = path
        self._redact = redact
        self._guard = guard or KeyGuard()
        self._header = Header(
            VERSION,
            models[0].provider,
            models[0].model,
            __version__,
            tuple(models),
            home=home,
            own=tuple(own),
            agents_models=dict(agents_models),
        )
        self._begun = False
        # Calls of agents run in threads of their own.
        self._lock = threading.Lock()
        self._redacted_artifacts: set[str] = set()
        self._tracks: dict[str, Track] = {}
        self._main = self.track("")
        self._file = _opened(path)

    def __call__(self, record: Record) -> None:
        """Hear of a record of the run's own journal. Raises EnvironmentFault."""
        match record:
            case RunStarted():
                self._begin(msgspec.structs.replace(self._header, started=record.started, spec=record.spec))
            case ArtifactWritten() | ArtifactRemoved():
                self._written(record)
            case PromptEnded():
                self._end(record)
            case _:
                self._main(record)

    def track(self, agent: str) -> Track:
        """What is written down of an agent, "" for the main one."""
        if agent not in self._tracks:
            self._tracks[agent] = Track(self, agent)
        return self._tracks[agent]

    def exchange(
        self,
        model: str,
        request: Request,
        parts: Sequence[Part],
        fault: ProviderFault | PreflightFault | None,
        agent: str = "",
    ) -> None:
        """A question to `provider/model` and what came of it, on disk when this returns. Raises EnvironmentFault."""
        self._begin(self._header)
        line: dict[str, Any] = {"model": model, "parts": kept(parts)}
        if fault is not None:
            line["error"] = RecordedError.of(fault)
        self._append({**_of(agent), **self.clean(line), "request": canonical(request, self.clean)})
        self._sync()

    def call(self, call: RecordedCall, agent: str) -> None:
        self._append({**_of(agent), "call": self.clean(call)})

    def hides(self, text: str) -> bool:
        return bool(self.clean(text) != text)

    def clean(self, value: Any) -> Any:
        """A value as builtins without secrets. Keys first, as in the state of the run: what a call was made
        with is then spelled in the answer as in the requests after it."""
        plain = msgspec.to_builtins(value)
        if self._guard.active and self._guard.finds(encode(plain)):
            plain = self._guard.data(plain)
        return self._redact.data(plain)

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _begin(self, header: Header) -> None:
        if not self._begun:
            self._begun = True
            self._append(self.clean(header))
            self._sync()

    def _written(self, record: ArtifactWritten | ArtifactRemoved) -> None:
        agent, _, key = record.call.partition(".")
        theirs = key.startswith("t") and agent in self._tracks
        track, key = (self._tracks[agent], key) if theirs else (self._main, record.call)
        hides = track.written(key, record)
        (self._redacted_artifacts.add if hides else self._redacted_artifacts.discard)(record.name)

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
            for track in self._tracks.values():
                track.end()
            self._append({"end": self.clean(end)})
            self._sync()

    def _append(self, line: dict[str, Any]) -> None:
        view = memoryview(encode(line) + b"\n")
        with self._lock:
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


class Track:
    """The calls of one agent, written down as they are settled. It follows a journal."""

    def __init__(self, recording: Recording, agent: str) -> None:
        self._recording = recording
        self.agent = agent
        self._open: dict[str, RecordedCall] = {}
        self._network_requests = 0

    def __call__(self, record: Record) -> None:
        """Raises EnvironmentFault."""
        match record:
            case Answered():
                self._open = {call.key: call for call in self._calls(record)}
            case CallExpanded():
                hides = self._recording.hides
                self._open |= {
                    call.key: RecordedCall(key=call.key, id=call.id, tool=call.tool, redacted=hides(call.arguments))
                    for call in record.calls
                }
            case CallChecked():
                self._open[record.key] = self._judged(record)
            case CallSettled():
                self._settled(record)
            case Spent(limit="network_requests", agent=""):
                self._network_requests += int(record.amount)
            case PromptEnded():
                self.end()

    def written(self, key: str, artifact: ArtifactWritten | ArtifactRemoved) -> bool:
        """Hear of an artifact of an open call. Whether that was made with a secret."""
        call = self._open.get(key)
        if call is None:
            return False
        if any(resource.kind == "command" for resource in call.resources):
            self._open[key] = msgspec.structs.replace(call, wrote=(*call.wrote, artifact))
        return call.redacted

    def end(self) -> None:
        """Calls that had no end."""
        for call in self._open.values():
            self._recording.call(call, self.agent)
        self._open.clear()

    def _settled(self, record: CallSettled) -> None:
        call = self._open.pop(record.key, None) or RecordedCall(key=record.key, id=record.id, tool=record.tool)
        # What the model is shown is the content: the outcome need not say it again.
        outcome = msgspec.structs.replace(record.outcome, text="")
        requests, self._network_requests = self._network_requests, 0
        ended = msgspec.structs.replace(call, outcome=outcome, content=record.content, output=record.output)
        self._recording.call(msgspec.structs.replace(ended, network_requests=requests), self.agent)

    def _calls(self, answered: Answered) -> Iterator[RecordedCall]:
        for index, call in enumerate(answered.message.calls(), 1):
            key = f"t{answered.turn}.c{index}"
            yield RecordedCall(key=key, id=call.id, tool=call.tool, redacted=self._recording.hides(call.arguments))

    def _judged(self, record: CallChecked) -> RecordedCall:
        """A check of the task is none of the model's calls: what it is called with stands in its resources."""
        begun = self._open.get(record.key) or RecordedCall(key=record.key, id=record.id, tool=record.tool)
        hides = self._recording.hides
        return msgspec.structs.replace(
            begun,
            resources=record.resources,
            allowed=record.allowed,
            decision=record.decision,
            approval=record.approval,
            redacted=begun.redacted or any(hides(resource.name) for resource in record.resources),
        )


def _of(agent: str) -> dict[str, str]:
    return {"agent": agent} if agent else {}


_OF_THE_PLACE = frozenset(
    {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE}
)
"""What is wrong with where the file is to be, and not with its name."""

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
"""A link might make the file anywhere, and a FIFO would be waited for."""


def _opened(path: str) -> int:
    if path == "-":
        what = "a recording is written to a file, not to standard output"
        raise UsageFault(what, where="--record -", hint="name a file: ./- is one of that name")
    try:
        file = os.open(path, _FLAGS, 0o600)
    except (OSError, ValueError) as problem:
        if isinstance(problem, OSError) and problem.errno in _OF_THE_PLACE and not os.path.isdir(path):
            hint = "check owner and mode of the directory and what file system it is on, or name another file"
            what = f"the recording cannot be written: {problem.strerror}"
            raise EnvironmentFault(what, where=path, hint=hint) from None
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
    stopped in between is not recorded. agent: whose questions these are, "" for the main one."""

    def __init__(self, inner: Provider, recording: Recording, agent: str = "") -> None:
        self._inner = inner
        self._recording = recording
        self._agent = agent
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
            self._recording.exchange(asked, request, parts, fault, self._agent)
            raise
        self._recording.exchange(asked, request, parts, None, self._agent)
        if parts and isinstance(parts[-1], StopPart):
            yield parts[-1]

    def of(self, agent: str) -> RecordingProvider:
        """The same, asked by an agent."""
        return RecordingProvider(self._inner, self._recording, agent)

    async def close(self) -> None:
        await self._inner.close()

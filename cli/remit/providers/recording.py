"""The file of a recorded run: JSON lines, a header and one line an exchange.

`{"remit_recording": 1, "provider", "model"}`, then `{"request": ..., "parts": [...]}` or
`{"request": ..., "parts": [...], "error": {...}}`. Requests and parts are `base.messages` as JSON with
sorted keys and without secrets. Live deltas and retries are left out: the blocks say the same, and a
secret that arrives in two pieces could not be found in deltas.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from remit.base.errors import Fault, Faults, ProviderBusy, ProviderFault
from remit.base.messages import BlockPart, Part, Request, StopPart, UsagePart
from remit.base.redact import Redactor

T = TypeVar("T")

VERSION = 1

KeptPart = BlockPart | UsagePart | StopPart


class Header(msgspec.Struct, frozen=True):
    remit_recording: int
    provider: str
    model: str


class RecordedError(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an exchange failed: a ProviderFault, or a ProviderBusy where `busy`."""

    what: str
    kind: str
    hint: str = ""
    busy: bool = False
    reset_at: str = ""

    @classmethod
    def of(cls, fault: ProviderFault) -> RecordedError:
        busy = isinstance(fault, ProviderBusy)
        return cls(fault.what, fault.kind, fault.hint, busy, fault.reset_at if isinstance(fault, ProviderBusy) else "")

    def fault(self) -> ProviderFault:
        if self.busy:
            return ProviderBusy(self.what, hint=self.hint, kind=self.kind, reset_at=self.reset_at)
        return ProviderFault(self.what, hint=self.hint, kind=self.kind)


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """request: canonical, as `canonical` makes it."""

    request: dict[str, Any]
    parts: tuple[KeptPart, ...] = ()
    error: RecordedError | None = None

    def answers(self) -> int:
        """How many answers of the model its request holds."""
        return sum(message.get("role") == "assistant" for message in self.request.get("messages", ()))


_encoder = msgspec.json.Encoder(order="sorted")


def canonical(request: Request, redact: Redactor) -> dict[str, Any]:
    """A request as it stands in a recording: all of it but secrets and what a run that plays it again does
    not share, which is the conversation's key and who gave the answers."""
    cleaned: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(redact.data(msgspec.to_builtins(request))))
    cleaned.pop("cache_key", None)
    for message in cleaned["messages"]:
        message.pop("origin", None)
    return cleaned


def header_line(provider: str, model: str) -> bytes:
    return _encoder.encode(Header(VERSION, provider, model)) + b"\n"


def exchange_line(request: Request, parts: Sequence[Part], error: ProviderFault | None, redact: Redactor) -> bytes:
    kept = [msgspec.to_builtins(part) for part in parts if isinstance(part, KeptPart)]
    line: dict[str, Any] = {"request": canonical(request, redact), "parts": redact.data(kept)}
    if error is not None:
        line["error"] = redact.data(msgspec.to_builtins(RecordedError.of(error)))
    return _encoder.encode(line) + b"\n"


def read_recording(path: str) -> tuple[Header, list[Exchange]]:
    """A recording. A last line that no newline ends was cut by a kill and does not count. Raises Faults."""
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise Faults([Fault(f"the recording cannot be read: {reason}", path)]) from None
    if not lines:
        raise Faults([Fault("this is no recording: it has no header", path)])
    header = _decode_line(lines[0], Header, path, 1)
    if header.remit_recording != VERSION:
        message = f"the recording is of version {header.remit_recording}, this program reads {VERSION}"
        raise Faults([Fault(message, f"{path}:1", "record it again")])
    return header, [_decode_line(line, Exchange, path, number) for number, line in enumerate(lines[1:], 2)]


def whole_bytes(path: str) -> int:
    """How much of a recording is whole lines; 0 where there is no file."""
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as file:
        return file.read().rfind(b"\n") + 1


def _decode_line(line: bytes, kind: type[T], path: str, number: int) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as problem:
        raise Faults([Fault(f"this is no line of a recording: {problem}", f"{path}:{number}")]) from None

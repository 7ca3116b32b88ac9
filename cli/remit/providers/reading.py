"""JSON from a model's server, read into a type."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.base.errors import ProviderFault

_SHOWN_BYTES = 120


class EventReader:
    """Reads the events of one protocol. protocol: its name, for messages."""

    def __init__(self, type_: Any, protocol: str) -> None:
        self._decoder = msgspec.json.Decoder(type_)
        self._type = type_
        self._protocol = protocol

    def read(self, data: bytes) -> Any:
        """One event. Raises ProviderFault(malformed)."""
        try:
            return self._decoder.decode(data)
        except msgspec.ValidationError as problem:
            raise self._malformed(problem, data) from None
        except (msgspec.DecodeError, RecursionError) as problem:
            return self._read_leniently(data, problem)

    def convert(self, value: Any) -> Any:
        """A part of an event, already read as builtins. Raises ProviderFault(malformed)."""
        try:
            return msgspec.convert(value, self._type)
        except msgspec.ValidationError as problem:
            raise self._malformed(problem, repr(value)[:_SHOWN_BYTES].encode("utf-8", "replace")) from None

    def _read_leniently(self, data: bytes, problem: Exception) -> Any:
        """Servers cut an emoji into two halves, one an event; each alone is a lone surrogate, which only
        the standard library reads. The halves meet again when the block is joined."""
        import json

        try:
            return msgspec.convert(json.loads(data.decode("utf-8", "replace")), self._type)
        except (ValueError, RecursionError):
            raise self._malformed(problem, data) from None

    def _malformed(self, problem: Exception, data: bytes) -> ProviderFault:
        shown = data[:_SHOWN_BYTES].decode("utf-8", "replace")
        what = f"the stream holds something that is no event of {self._protocol} ({problem}): {shown!r}"
        hint = f"check that the base URL is that of a server that speaks {self._protocol}"
        return ProviderFault(what, kind="malformed", hint=hint)

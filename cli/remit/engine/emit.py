"""The one path of events: stamped here, heard by every listener in the same order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from remit.base.events import Event
from remit.base.ports import Clock, Listener


class Emitter:
    """Stamps `session_id` and `uuid` and hands each event to the listeners."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        encode: Callable[[Event], bytes],
        session_id: str,
        new_uuid: Callable[[], str],
        clock: Clock,
    ) -> None:
        self._listeners = listeners
        self._encode = encode
        self.session_id = session_id
        self._new_uuid = new_uuid
        self._clock = clock

    def emit(self, event: Event) -> None:
        event.session_id = self.session_id
        event.uuid = self._new_uuid()
        line = self._encode(event)
        for listener in self._listeners:
            listener.on_event(event, line)

    def timestamp(self) -> str:
        """Now, ISO 8601 with milliseconds, UTC."""
        return iso(self._clock.now())


def iso(seconds: float) -> str:
    """Unix seconds as ISO 8601 with milliseconds, UTC."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def plain(value: object) -> object:
    """A value as JSON-ready builtins."""
    return msgspec.to_builtins(value)

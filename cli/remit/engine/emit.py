"""The one path of events: stamped here, heard by every listener in the same order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from remit.base.errors import RemitError
from remit.base.events import Event, Result
from remit.base.ports import Clock, Listener
from remit.base.redact import KeyGuard


class Emitter:
    """Stamps `session_id` and `uuid` and hands each event to the listeners.

    stdout: those whose failure ends the run. beside: the others, who hear after them. guard: knows what
    no event may show."""

    def __init__(
        self,
        stdout: Sequence[Listener],
        beside: Sequence[Listener],
        encode: Callable[[Event], bytes],
        session_id: str,
        new_uuid: Callable[[], str],
        clock: Clock,
        guard: KeyGuard | None = None,
    ) -> None:
        self._guard = guard or KeyGuard()
        self._stdout = stdout
        self._beside = beside
        self._encode = encode
        self.session_id = session_id
        self._new_uuid = new_uuid
        self._clock = clock

    def emit(self, event: Event) -> None:
        try:
            self._tell(event, self._stdout)
        finally:
            # The log misses nothing when the reader of stdout leaves.
            self._tell(event, self._beside)

    def finish(self, result: Result, corrected: Callable[[RemitError], Result]) -> Result:
        """Tell the terminal line. When stdout cannot take it, that is how the run ended: the others
        hear the corrected result, which is returned."""
        try:
            self._tell(result, self._stdout)
        except RemitError as late:
            result = corrected(late)
        for listener in self._beside:
            # A log that is full at the last line takes nothing from what was done and told.
            with suppress(RemitError):
                self._tell(result, (listener,))
        return result

    def _tell(self, event: Event, listeners: Sequence[Listener]) -> None:
        event.session_id = self.session_id
        event.uuid = event.uuid or self._new_uuid()
        line = self._encode(event)
        if self._guard.finds(line):
            event = self._guard.clean(event)
            line = self._encode(event)
        for listener in listeners:
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

"""What the decoders of all APIs have in common, and how they tell of answers that have no end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from remit.base.messages import Part
from remit.providers.failures import AttemptFailed, quote
from remit.providers.sse import SseEvent

END_SECONDS = 2.0
"""How long a stream may go on without a word once its model has said why it stopped. Usage and the end mark
come right after that; some servers send neither and leave the connection open."""


class Decoder(Protocol):
    """The state of one answer: events of one protocol in, parts out."""

    finished: bool
    """Nothing that matters comes after this."""

    end_seconds: float | None
    """Since the model said why it stopped: a silence of so many seconds is the end. None before that."""

    def feed(self, event: SseEvent) -> Sequence[Part]:
        """The parts that this event completes. Raises AttemptFailed for an error told in the stream,
        ProviderFault(malformed) for what is not the protocol."""
        ...

    def end(self) -> Sequence[Part]:
        """The last parts, StopPart included. Raises AttemptFailed if the answer is not complete."""
        ...


def cut_off(detail: str) -> AttemptFailed:
    """A stream that ended before its answer did."""
    return AttemptFailed("network", f"the connection ended before the answer did: {detail}")


def broken_off(word: str) -> AttemptFailed:
    """An answer that its server gave up. word: of the server, for why it stopped."""
    return AttemptFailed("overloaded", f"the server broke the answer off: it ended with {quote(word)!r}")

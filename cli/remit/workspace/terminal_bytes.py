"""Chunks of a terminal's bytes as valid UTF-8 that ends with no half of anything."""

from __future__ import annotations

import codecs
import re

LONGEST_CONTROL = 70

_PART_OF_CONTROL = re.compile(rb"(?:\r|\x1b(?:\[[0-?]{0,64}[ -/]{0,4}|[ -/]{0,4}))\Z")
"""The start of a control at the end of a chunk. A CR is one, since CR LF is no more than an end of line."""


class StreamBytes:
    """Holds back what waits for the next chunk. undecodable: bytes that were not UTF-8, U+FFFD in what was taken."""

    def __init__(self) -> None:
        self.undecodable = 0
        self._held = b""

    def take(self, chunk: bytes) -> tuple[bytes, bool]:
        """The next bytes with LF for CR LF, and whether there are CR, BS or ESC in them."""
        data = self._held + chunk if self._held else chunk
        self._held = b""
        controls = b"\x1b" in data or b"\b" in data
        turns = b"\r" in data
        if controls or turns:
            data = self._without_part(data)
        if turns:
            data = data.replace(b"\r\n", b"\n")
            controls = controls or b"\r" in data
        return (data if data.isascii() else self._decodable(data)), controls

    def finish(self) -> bytes:
        """What the end of the stream makes of what was held: half a character is none, half a control nothing."""
        held, self._held = self._held, b""
        if held and held[0] >= 0x80:
            self.undecodable += len(held)
            return "\ufffd".encode()
        return b""

    @property
    def waits(self) -> bool:
        """Whether a part of something is held back."""
        return bool(self._held)

    def forget(self) -> bytes:
        """Begins anew; what was held, which has no end."""
        held, self._held = self._held, b""
        return held

    def _without_part(self, data: bytes) -> bytes:
        found = _PART_OF_CONTROL.search(data, max(0, len(data) - LONGEST_CONTROL))
        if found is None:
            return data
        self._held = data[found.start() :]
        return data[: found.start()]

    def _decodable(self, data: bytes) -> bytes:
        ended = bool(self._held)
        text, used = codecs.utf_8_decode(data, "replace", ended)
        self._held = self._held or data[used:]
        replaced = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
        if not replaced:
            return data[:used]
        valid = text.encode()
        self.undecodable += used - len(valid) + 3 * replaced
        return valid

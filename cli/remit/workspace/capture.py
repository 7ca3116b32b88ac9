"""What a command printed, as a terminal would show it, without drawing what will not be shown.

A stream of up to a MiB is drawn whole, by a `Screen`. Of a longer one the same is kept, but two things are
not drawn, and cost little more than reading them:

- lines between the first and the last that are kept, where all they hold besides text is colours;
- the frames of a row that is drawn over and over, but for the first and the last ones.

Everything else is drawn to the end, so that what was printed before a row of progress stays. Whether a block of
the stream is of such a kind is looked up in all of it for CR and BS, and in samples for other controls: who
moves the cursor does so all the time.
"""

from __future__ import annotations

import re
from collections import deque

from remit.workspace.scrollback import COUNTED_BYTES
from remit.workspace.terminal import REACH, UNMOVED, Rendered, Screen
from remit.workspace.terminal_bytes import LONGEST_CONTROL

BLOCK_BYTES = 64 * 1024
"""Of the stream, from its start: what is drawn depends on its bytes alone, never on how they came in chunks."""

_SAMPLES = 4
_SAMPLE_BYTES = 512

_DENSITY = 2
"""Bytes of lines that are held for a byte that is kept, since their colours take some."""

_FRAMES = 4
"""The last frames of a row that are drawn: one may clear it, one may be cut, one is seen."""

_LEAST_ROW_BYTES = 1024
"""What a row takes, with all its frames, so that it pays to look for the last ones."""

_PART = rb"|(?:\[[0-?]{0,64})?\Z"
_NOT_LINES = re.compile(rb"\x1b(?!\[(?:[0-9;:]{0,64}m|0?[JK])" + _PART + rb")")
"""What does more at the end of a text than colour it, or erase what is behind it."""

_NOT_ROWS = re.compile(rb"\x1b(?!\[(?:[0-9;:]{0,64}m|[02]?K|0?J|\?(?:7|25)[hl])" + _PART + rb")")
"""What does more in the last row than colour it, erase it or hide the cursor."""

_LONE_CR = re.compile(rb"\r(?![\n\r]|\Z)")

_INSIDE_CHARACTER = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that no character starts with."""


class Capture:
    """One stream of output within `max_bytes` of text, in bounded memory."""

    def __init__(
        self, max_bytes: int, *, reach: int = REACH, whole: int = COUNTED_BYTES, block_bytes: int = BLOCK_BYTES
    ) -> None:
        """max_bytes, reach: as of a Screen. whole: bytes of a stream that is drawn whole, at least max_bytes."""
        self._screen = Screen(max_bytes, reach)
        self._whole = max(max_bytes, whole)
        self._block_bytes = block_bytes
        self._total = self._skimmed = 0
        self._part = bytearray()
        """The start of the next block."""
        self._waiting: list[bytes] = []
        """Blocks of a stream that is not longer than `whole` so far."""
        self._lines: deque[bytes] = deque()
        """Blocks of lines that end the stream so far: the last of them are drawn, unless more come."""
        self._turned = False
        """Whether the block before the next ends in a CR."""
        self._held = 0
        self._cut = False
        """Whether lines before those were left out."""
        self._frames = bytearray()
        """The first and last frames of rows that end the stream so far. There are not both, lines and frames."""

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the stream, however many."""
        size = self._block_bytes
        if len(self._part) + len(chunk) < size:
            self._part += chunk
            return
        data = b"".join((self._part, chunk)) if self._part else chunk
        end = len(data) - len(data) % size
        self._part = bytearray(data[end:])
        for at in range(0, end, size):
            self._take(data[at : at + size])

    def finish(self) -> Rendered:
        """What is shown after the last byte."""
        self._take(bytes(self._part))
        for block in self._waiting:
            self._screen.feed(block)
        self._draw_lines()
        self._draw_frames()
        return self._screen.finish()._replace(total_bytes=self._total, skimmed=self._skimmed)

    def _take(self, block: bytes) -> None:
        self._total += len(block)
        self._waiting.append(block)
        if self._total > self._whole:
            for each in self._waiting:
                self._place(each)
            self._waiting.clear()

    def _place(self, block: bytes) -> None:
        """Draws a block, or holds back what of it is seen."""
        turned, self._turned = self._turned, block.endswith(b"\r")
        if _is_lines(block) and not (turned and not block.startswith((b"\r", b"\n"))):
            self._draw_frames()
            if self._screen.has_scrolled:
                self._hold(block)
            else:
                self._screen.feed(block)
            return
        self._draw_lines()
        if self._screen.is_shown and _is_rows(block):
            self._frames += self._skim(block)
            if len(self._frames) < self._block_bytes:
                return
            block = b""
        self._draw_frames()
        self._screen.feed(block)

    def _hold(self, block: bytes) -> None:
        """Holds back lines; those that are far above the last ones are left out."""
        self._lines.append(block)
        self._held += len(block)
        while self._held - len(self._lines[0]) >= _DENSITY * self._screen.end_bytes:
            self._leave_out(self._lines.popleft())

    def _leave_out(self, block: bytes) -> None:
        self._held -= len(block)
        self._screen.leave_out(block)
        self._cut = True

    def _draw_lines(self) -> None:
        """Draws, of the lines that are held back, as much text as is kept of an end."""
        last: list[bytes] = []
        wanted = self._screen.end_bytes
        while self._lines and wanted > 0:
            block = self._lines.pop()
            self._held -= len(block)
            last.append(UNMOVED.sub(b"", block).replace(b"\r\n", b"\n"))
            # A control that goes on in another block is no text, though it is still there.
            wanted -= len(last[-1]) - LONGEST_CONTROL
        while self._lines:
            self._leave_out(self._lines.popleft())
        if last and self._cut:
            last[-1] = self._from_line_start(last[-1])
        self._cut = False
        for block in reversed(last):
            self._screen.feed(block)

    def _from_line_start(self, block: bytes) -> bytes:
        """A block behind what is left out without the end of a line, or of a character, that it starts with."""
        start = block.find(b"\n") + 1 or len(block) - len(block.lstrip(_INSIDE_CHARACTER))
        self._screen.leave_out(block[:start])
        return block[start:]

    def _skim(self, block: bytes) -> bytes:
        """A block without the frames that were drawn over, when it is rows of many frames."""
        seen = b"\n".join(map(_last_frames, _long_rows(block))) or block
        self._skimmed += len(block) - len(seen)
        return seen

    def _draw_frames(self) -> None:
        if self._frames:
            self._screen.feed(self._skim(bytes(self._frames)))
            self._frames.clear()


def _long_rows(block: bytes) -> list[bytes]:
    """The rows of a block; none if they are not long."""
    rows: list[bytes] = []
    start, end = 0, block.find(b"\n")
    while end >= 0:
        rows.append(block[start:end])
        if len(rows) * _LEAST_ROW_BYTES > len(block):
            return []
        start, end = end + 1, block.find(b"\n", end + 1)
    return [*rows, block[start:]]


def _is_lines(block: bytes) -> bool:
    """Whether a block only ever goes on at the end of the text."""
    if b"\b" in block or (b"\r" in block and _LONE_CR.search(block)):
        return False
    return not _has(_NOT_LINES, block)


def _is_rows(block: bytes) -> bool:
    """Whether a block only ever draws the last row, from its start on, and goes on below it."""
    return b"\b" not in block and not _has(_NOT_ROWS, block)


def _has(control: re.Pattern[bytes], block: bytes) -> bool:
    """Whether samples of a block have such a control."""
    if b"\x1b" not in block:
        return False
    room = max(0, len(block) - _SAMPLE_BYTES)
    starts = {room * index // (_SAMPLES - 1) for index in range(_SAMPLES)}
    return any(control.search(block, start, start + _SAMPLE_BYTES) for start in starts)


def _last_frames(row: bytes) -> bytes:
    """What a row starts with, which may be the end of a frame, and its last frames."""
    first, last = row.find(b"\r"), len(row)
    for _ in range(_FRAMES):
        last = row.rfind(b"\r", 0, last)
        if last <= first:
            return row
    return row[:first] + row[last:]

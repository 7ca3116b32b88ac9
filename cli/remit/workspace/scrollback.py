"""A text that grows at its end: its last rows can be taken back, its first and last lines are kept."""

from __future__ import annotations

from typing import NamedTuple

COUNTED_BYTES = 1 << 20
"""Length of a text up to which its lines are counted: with so much left out, bytes say enough."""


class Kept(NamedTuple):
    """What is kept of a text. left_out_bytes, left_out_lines: of its middle, 0 when it is whole; a line
    in brackets stands in its place. lines: of the whole text. Lines are None beyond COUNTED_BYTES."""

    text: str
    left_out_bytes: int
    left_out_lines: int | None
    lines: int | None


class Scrollback:
    """The rows of a terminal that the cursor is not in, as UTF-8. Memory is bounded whatever is appended."""

    def __init__(self, max_bytes: int, reach: int) -> None:
        """max_bytes: to keep, two thirds from the start and one from the end. reach: bytes before the end
        of the text, at its longest, from which rows can be taken back; what is above has scrolled away.

        end_bytes: of the end of a text, all that is shown of it and all that can be taken back."""
        self._head_bytes = max_bytes * 2 // 3
        self._tail_bytes = max_bytes - self._head_bytes
        self._reach = reach
        # One byte more than is shown or reached tells whether a line starts there.
        self.end_bytes = self._tail_bytes + reach + 1
        self._head = bytearray()
        self._end = bytearray()
        self._start = 0
        """Where `_end` starts in the whole text."""
        self._longest = 0
        self._page = 0
        """Where the page starts, above which no row is taken."""
        self._gone_lines = 0

    def append(self, data: bytes) -> None:
        """Valid UTF-8 without CR, BS and ESC."""
        if len(data) > self.end_bytes and self._start + len(self._end) >= self._head_bytes:
            # The start of such a chunk has scrolled away by its end: it is not copied.
            self._let_go(len(self._end))
            gone = len(data) - self.end_bytes
            self._count(data, 0, gone)
            self._start += gone
            data = data[gone:]
        self._end += data
        self._longest = max(self._longest, self._start + len(self._end))
        if len(self._end) > 2 * self.end_bytes:
            self._let_go(self._longest - self.end_bytes - self._start)

    def _let_go(self, count: int) -> None:
        """Moves the first bytes of `_end` to the head, as far as it has room, and drops the others."""
        to_head = max(0, min(count, self._head_bytes - self._start))
        self._head += self._end[:to_head]
        self._count(self._end, to_head, count)
        del self._end[:count]
        self._start += count

    def _count(self, data: bytes | bytearray, start: int, end: int) -> None:
        """Counts the lines that go, data[start:end], of a text that went up to `_start` where the data starts."""
        counted = min(end, COUNTED_BYTES - self._start)
        if counted > start:
            self._gone_lines += data.count(b"\n", start, counted)

    @property
    def is_settled(self) -> bool:
        """Whether the start that is kept can change no more."""
        return self._longest - self._reach >= self._head_bytes

    def leave_out(self, data: bytes) -> None:
        """Goes on below this, which is not kept. The start must be settled."""
        self._let_go(len(self._end))
        self._count(data, 0, len(data))
        self._start += len(data)
        self._longest = max(self._longest, self._start)
        self._page = self._start

    def at_line_start(self) -> bool:
        return not self._end or self._end.endswith(b"\n")

    def start_page(self) -> None:
        """Lets no row above be taken any more. The text must be at the start of a line."""
        self._page = self._start + len(self._end)

    def take_row(self) -> str:
        """Takes the last row off the text, or what of it is in reach."""
        floor = self._floor()
        cut = self._end.rfind(b"\n", floor) + 1 or self._whole(floor)
        row = self._end[cut:].decode()
        del self._end[cut:]
        return row

    def take_rows_above(self, most: int) -> list[str]:
        """Takes up to so many rows and their ends off the text, when it is at the start of a line."""
        floor = self._floor()
        if most <= 0 or len(self._end) <= floor or not self._end.endswith(b"\n"):
            return []
        end = cut = len(self._end) - 1
        for _ in range(most):
            cut = self._end.rfind(b"\n", floor, cut)
            if cut < 0:
                break
        start = cut + 1 or self._whole(floor)
        rows = self._end[start:end].decode().split("\n")
        del self._end[start:]
        return rows

    def _floor(self) -> int:
        """Where in `_end` the reach starts."""
        return min(len(self._end), max(0, self._longest - self._reach - self._start, self._page - self._start))

    def _whole(self, cut: int) -> int:
        """The first whole character of `_end` from here on."""
        while cut < len(self._end) and self._end[cut] & 0xC0 == 0x80:
            cut += 1
        return cut

    def kept(self, rows: bytes) -> Kept:
        """The text, followed by the rows that are taken off it."""
        total = self._start + len(self._end) + len(rows)
        lines = self._line_count(rows) if total <= COUNTED_BYTES else None
        if total <= self._head_bytes + self._tail_bytes:
            return Kept(b"".join((self._head, self._end, rows)).decode(), 0, 0, lines)
        first, last = self._ends(rows)
        left_bytes = total - len(first) - len(last)
        left_lines = None
        amount = f"{left_bytes} bytes"
        if lines is not None:
            left_lines = lines - first.count(b"\n") - last.count(b"\n") - (not last.endswith(b"\n"))
            amount = f"{left_lines} lines, {amount}"
        notice = f"[... {amount} left out ...]\n".encode()
        shown = b"".join([first, b"" if first.endswith(b"\n") else b"\n", notice, last])
        return Kept(shown.decode(), left_bytes, left_lines, lines)

    def _line_count(self, rows: bytes) -> int:
        ends = self._head.count(b"\n") + self._gone_lines + self._end.count(b"\n") + rows.count(b"\n")
        end = rows or self._end
        return ends + (self._start + len(end) > 0 and not end.endswith(b"\n"))

    def _ends(self, rows: bytes) -> tuple[bytes, bytes]:
        """The start and the end of a text that is not kept whole."""
        if len(self._head) == self._start:
            whole = b"".join((self._head, self._end, rows))
            return _first_lines(whole, self._head_bytes), _last_lines(whole, self._tail_bytes)
        # One byte more than is shown tells whether a line starts there.
        end = b"".join((self._end[-self._tail_bytes - 1 :], rows))
        return _first_lines(self._head, self._head_bytes), _last_lines(end, self._tail_bytes)


def _first_lines(text: bytes | bytearray, most: int) -> bytes:
    """The longest start of whole lines within `most` bytes; of whole characters where half of it were lost."""
    cut = text.rfind(b"\n", 0, most) + 1
    return bytes(text[:cut]) if cut * 2 >= most else text[:most].decode("utf-8", "ignore").encode()


def _last_lines(text: bytes, most: int) -> bytes:
    """The longest end of whole lines within `most` bytes; of whole characters where half of it were lost."""
    low = len(text) - most
    if low <= 0:
        return text
    cut = text.find(b"\n", max(0, low - 1), len(text) - 1) + 1
    return text[cut:] if cut and (cut - low) * 2 <= most else text[low:].decode("utf-8", "ignore").encode()

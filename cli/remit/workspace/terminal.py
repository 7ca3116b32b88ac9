"""What a command printed, as a terminal would show it, within bounds of memory.

A stream of bytes becomes one text: a progress bar is the row it ends as, colours and titles are
gone, and what was drawn on the alternate screen never appears. Of a long text the first and the
last lines are kept.

Text only ever grows at its end until a control moves the cursor back. So a chunk without controls
is appended as bytes and never looked at again; the rows the cursor can reach are taken from the end
of the text when it moves there, and put back when it is at the end again. What the text says after
a stream of bytes depends on those bytes alone, never on how they came in chunks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from remit.workspace.rows import WIDTH, Cells, blank_between, cells_of, cut_from, is_narrow, put
from remit.workspace.scrollback import Scrollback
from remit.workspace.terminal_bytes import StreamBytes

REACH = 16 * 1024
"""Bytes of text above its end that the cursor can move back into: a screen."""

PAGE_ROWS = 100
"""Rows of a page that absolute positions can name."""

# Both alternatives start with a literal character, which `re` looks for by itself: twenty times as fast as it tries a
# pattern at every place.
_CONTROL = re.compile(
    r"""
    \x1b (?:
        \[ (?P<values>[0-?]{0,64}) [ -/]{0,4} (?P<order>[@-~])
      | (?P<string>[\]PX^_])
      | [ -/]{0,4} (?P<escape>[0-~])
      |
    )
  | \x08
    """,
    re.VERBOSE,
)

_COLOUR = re.compile(rb"\x1b\[[0-9;:]{0,64}m")
UNMOVED = re.compile(rb"\x1b\[(?:[0-9;:]{0,64}m|0?[JK])")
"""What shows nothing while the cursor is at the end of the text: colours, and erasing what is behind it."""

_REDRAWN = re.compile(rb"\r\x1b\[[02]?K")
"""How a row is erased to be drawn anew."""

_ERASED = "\udcff"
"""Stands for that behind a CR: the byte FF, which valid UTF-8 does not have, as Python decodes it."""

_STRING_END = re.compile("[\x07\x1b\n\x18\x1a]")
"""What ends a title, a link or a picture: BEL, or ESC (of ESC \\), or what cannot stand in one."""

_ALTERNATE = frozenset({"?47", "?1047", "?1049"})

_UNSHOWN: dict[int, str | None] = {
    # NUL divides the names of a list, so it is shown as a space.
    0: " ",
    **{code: None for code in (*range(1, 0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"},
}
"""Controls that a terminal shows nothing for."""


class Rendered(NamedTuple):
    """The text of a screen. left_out_bytes, left_out_lines: of its middle, 0 when it is whole; a line
    in brackets stands in its place. lines: of the whole text. Lines are None where the text is longer
    than what is counted. total_bytes: as they came. frames: how often a row was drawn anew. undecodable:
    bytes that are not UTF-8, shown as U+FFFD. hidden: bytes of text that went to the alternate screen.
    skimmed: bytes of further frames that were not drawn, see capture.py."""

    text: str
    left_out_bytes: int
    left_out_lines: int | None
    lines: int | None
    total_bytes: int
    frames: int
    undecodable: int
    hidden: int
    skimmed: int = 0


class Screen:
    """A terminal of endless length. Honours CR, BS, TAB, CSI A-H, d, f, J and K; drops SGR, OSC and all else."""

    def __init__(self, max_bytes: int, reach: int = REACH) -> None:
        """max_bytes: of the UTF-8 text that is kept, two thirds from its start and one from its end."""
        self._reach = reach
        self._above = Scrollback(max_bytes, reach)
        self.end_bytes = self._above.end_bytes
        self._rows: list[Cells | str] = []
        """The rows taken from the end of the text; none while the cursor is at its end. A row is in cells once
        the cursor was in it."""
        self._row = self._column = 0
        self._moved = False
        """Whether the cursor was moved since something was drawn: what it is drawn over next is a new frame."""
        self._bytes = StreamBytes()
        self._in_page = self._in_string = self._in_alternate = False
        self._total_bytes = self._frames = self._hidden = 0

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the stream, however many."""
        self._total_bytes += len(chunk)
        data, controls = self._bytes.take(chunk)
        if controls and not self._in_string:
            data, controls = self._without_idle(data)
        if controls or self._rows or self._in_string or self._in_alternate:
            self._draw(data.decode(errors="surrogateescape"))
        else:
            self._above.append(data)

    @property
    def is_shown(self) -> bool:
        """Whether text that comes next is shown, since it is neither a part of a control nor on another screen."""
        return not (self._in_string or self._in_alternate)

    @property
    def has_scrolled(self) -> bool:
        """Whether lines that come next are below all that is kept of the start, and can be left out."""
        return self.is_shown and not (self._rows or self._bytes.waits) and self._above.is_settled

    def leave_out(self, data: bytes) -> None:
        """Takes lines that are not kept, once it has scrolled: the next bytes are drawn below them."""
        self._total_bytes += len(data)
        self._above.leave_out(self._bytes.forget() + data)

    def finish(self) -> Rendered:
        """The screen after the last byte: a character without its end is none, half a control shows nothing."""
        self._print(self._bytes.finish().decode())
        return self.render()

    def render(self) -> Rendered:
        """The screen so far. Feeding may go on."""
        kept = self._above.kept(self._open_text())
        return Rendered(
            kept.text.translate(_UNSHOWN),
            kept.left_out_bytes,
            kept.left_out_lines,
            kept.lines,
            self._total_bytes,
            self._frames,
            self._bytes.undecodable,
            self._hidden,
        )

    def _without_idle(self, data: bytes) -> tuple[bytes, bool]:
        """The text without the sequences that show nothing, where it has no others, which could hold a part of one;
        and whether there are controls in what is left."""
        moves = b"\r" in data or b"\b" in data
        idle = _COLOUR if moves or self._rows else UNMOVED
        plain, sequences = idle.subn(b"", data)
        left = data.count(b"\x1b") - sequences
        if moves and left and not self._in_alternate:
            plain, erased = _REDRAWN.subn(b"\r\xff", plain)
            left -= erased
        return (data, True) if left else (plain, moves)

    # Controls

    def _draw(self, text: str) -> None:
        at = 0
        while at < len(text):
            at = self._skip_string(text, at) if self._in_string else self._draw_until_string(text, at)

    def _skip_string(self, text: str, at: int) -> int:
        found = _STRING_END.search(text, at)
        if found is None:
            return len(text)
        self._in_string = False
        return found.end() if found[0] == "\x07" else found.start()

    def _draw_until_string(self, text: str, at: int) -> int:
        """Draws up to where a string of control starts; returns where to go on."""
        if "\x1b" not in text and "\b" not in text:
            self._print(text[at:])
            return len(text)
        runs: list[str] = []
        for found in _CONTROL.finditer(text, at):
            runs.append(text[at : found.start()])
            at = found.end()
            if found["order"] == "m":
                continue
            self._print("".join(runs))
            runs.clear()
            if found["string"]:
                self._in_string = True
                return at
            self._control(found)
        self._print("".join([*runs, text[at:]]))
        return len(text)

    def _control(self, found: re.Match[str]) -> None:
        if found["order"]:
            self._order(found["order"], found["values"])
        elif found["escape"] == "c":
            self._in_alternate = False
            self._go_to(0, 0)
            self._erase_page(2)
        elif found[0] == "\b" and not self._in_alternate:
            self._open()
            self._to_column(self._column - 1)
        self._settle()

    def _order(self, order: str, values: str) -> None:
        if order in "hl" and _ALTERNATE.intersection(values.split(";")):
            self._in_alternate = order == "h"
        if self._in_alternate or order not in "ABCDEFGHJKdf" or values.strip("0123456789;"):
            return
        numbers = [min(int(value or 0), 9999) for value in values.split(";")]
        first, second = numbers[0], numbers[1] if len(numbers) > 1 else 0
        if order in "Hf":
            self._go_to(max(first, 1) - 1, max(second, 1) - 1)
        elif order == "J":
            self._erase_page(first)
        elif order == "K":
            self._erase_row(first)
        else:
            self._step(order, max(first, 1))

    def _step(self, order: str, by: int) -> None:
        self._open()
        if order in "AF":
            self._reach_up(by)
            self._row = max(0, self._row - by)
        elif order in "BE":
            self._row = min(len(self._rows) - 1, self._row + by)
        elif order == "d":
            self._go_to(by - 1, self._column)
        columns = {"C": self._column + by, "D": self._column - by, "G": by - 1, "E": 0, "F": 0}
        self._to_column(columns.get(order, self._column))

    def _to_column(self, column: int) -> None:
        if self._in_alternate or (not self._rows and self._above.at_line_start()):
            return
        self._open()
        self._column = min(max(0, column), max(WIDTH, len(self._cells())))
        self._moved = True

    def _go_to(self, row: int, column: int) -> None:
        """An absolute position. The first one starts a page below all that was shown before."""
        self._start_page()
        self._open()
        self._reach_up(PAGE_ROWS * WIDTH)
        while len(self._rows) > row + 1 and not self._rows[-1]:
            self._rows.pop()
        while len(self._rows) <= min(row, PAGE_ROWS - 1):
            self._rows.append("")
        self._row = min(row, len(self._rows) - 1)
        self._column = min(column, WIDTH)
        self._moved = True

    def _start_page(self) -> None:
        if self._in_page:
            return
        self._in_page = True
        if self._rows:
            self._close()
        if not self._above.at_line_start():
            self._above.append(b"\n")
        self._above.start_page()

    def _erase_row(self, part: int) -> None:
        if part > 2 or (part == 0 and not self._rows):
            return
        self._open()
        cells = self._cells()
        self._erased(part, bool(cells[self._column :] if part == 0 else cells))
        if part == 0:
            cut_from(cells, self._column)
        elif part == 1:
            blank_between(cells, 0, min(self._column + 1, len(cells)))
        else:
            cells.clear()

    def _erase_page(self, part: int) -> None:
        if part > 2 or (part == 0 and not self._rows):
            return
        if part:
            self._start_page()
        self._open()
        if part:
            self._reach_up(PAGE_ROWS * WIDTH)
        below = self._rows[self._row + 1 :] if part != 1 else []
        above = self._rows[: self._row] if part else []
        if any(above) or any(below):
            self._erased(part, True)
        self._erase_row(part)
        self._rows[: len(above)] = [""] * len(above)
        if part != 1:
            del self._rows[self._row + 1 :]

    def _erased(self, part: int, anything: bool) -> None:
        """Counts a frame, unless what was erased is the rest of one that was just drawn over."""
        if anything and (part or self._moved):
            self._frames += 1
            self._moved = False

    # The rows the cursor is in

    def _open(self) -> None:
        if not self._rows:
            self._rows = [cells_of(self._above.take_row())]
            self._row, self._column = 0, len(self._rows[0])

    def _reach_up(self, by: int) -> None:
        """Takes rows off the text until there are `by` above the cursor, or none are left."""
        above = self._above.take_rows_above(by - self._row)
        self._rows[:0] = above
        self._row += len(above)

    def _cells(self) -> Cells:
        """The row the cursor is in."""
        row = self._rows[self._row]
        if isinstance(row, str):
            row = self._rows[self._row] = cells_of(row)
        return row

    def _open_text(self) -> bytes:
        return "\n".join(row if isinstance(row, str) else "".join(row) for row in self._rows).encode()

    def _close(self) -> None:
        """Puts the rows back at the end of the text."""
        self._above.append(self._open_text())
        self._rows = []
        self._moved = False

    def _close_last(self) -> None:
        """Closes the rows when the cursor is in the last: a CR takes it back from the end of the text."""
        if self._rows and self._row == len(self._rows) - 1:
            self._close()

    def _settle(self) -> None:
        """Closes the rows when the cursor is at the end of the text again."""
        if self._rows and self._row == len(self._rows) - 1 and self._column == len(self._cells()):
            self._close()

    # Printing

    def _print(self, text: str) -> None:
        """Prints text that may hold CR and LF, and no other control that moves the cursor."""
        if self._in_alternate:
            self._hidden += len(text.encode())
            return
        at = turn = 0
        while at < len(text):
            if not self._rows:
                turn = turn if turn > at else text.find("\r", at)
                start = len(text) if turn < 0 else text.rfind("\n", at, turn) + 1
                if start > at:
                    self._above.append(text[at:start].encode())
                    at = start
                    continue
            end = text.find("\n", at)
            self._print_line(text[at : end if end >= 0 else len(text)])
            if end < 0:
                return
            self._end_line()
            at = end + 1

    def _print_line(self, line: str) -> None:
        """Prints a line without its end: texts drawn one over the other from the start of the row."""
        first, *frames = line.split("\r")
        self._print_run(first)
        if not frames:
            return
        self._close_last()
        if not self._rows and self._draw_frames(frames):
            return
        for frame in frames:
            self._close_last()
            self._to_column(0)
            if frame.startswith(_ERASED):
                self._erase_row(0)
            self._settle()
            self._print_run(frame.removeprefix(_ERASED))

    def _draw_frames(self, frames: list[str]) -> bool:
        """Draws texts one over the other from the start of the last row; False if that takes more than
        slices of text, since a character has not one column or a text is longer than what is in reach."""
        row = self._above.take_row()
        joined = "".join((row, *frames))
        if max(map(len, (row, *frames))) >= self._reach // 4 or not is_narrow(joined.replace(_ERASED, "")):
            self._above.append(row.encode())
            return False
        if _ERASED in joined:
            row, frames = self._erase_frames(row, frames)
        drawn = [frame for frame in frames if frame]
        self._frames += len(drawn) if row else max(0, len(drawn) - 1)
        row = _overlaid([row, *drawn])
        if len(frames[-1]) == len(row):
            self._above.append(row.encode())
        else:
            self._rows, self._row, self._column = [row], 0, len(frames[-1])
            self._moved = not frames[-1]
        return True

    def _erase_frames(self, row: str, frames: list[str]) -> tuple[str, list[str]]:
        """What the last frame that erases the row leaves to draw, and on what."""
        last = max(at for at, frame in enumerate(frames) if frame.startswith(_ERASED))
        filled = bool(row)
        for frame in frames[:last]:
            erased = frame.startswith(_ERASED)
            self._frames += filled and frame != ""
            filled = frame not in ("", _ERASED) or (filled and not erased)
        self._frames += filled
        return "", [frames[last].removeprefix(_ERASED), *frames[last + 1 :]]

    def _print_run(self, run: str) -> None:
        """Prints text without CR and LF."""
        while run and self._rows:
            cells = self._cells()
            last = self._row == len(self._rows) - 1
            if self._moved and self._column < len(cells):
                self._frames += 1
                self._moved = False
            self._column, used = put(cells, self._column, run, to_end=last)
            run = run[used:]
            if run and not last:
                self._line_feed()
            self._settle()
        if run:
            self._above.append(run.encode())

    def _end_line(self) -> None:
        if not self._rows:
            self._above.append(b"\n")
            return
        self._line_feed()
        self._settle()

    def _line_feed(self) -> None:
        self._row += 1
        self._column = 0
        if self._row == len(self._rows):
            self._rows.append("")


def _overlaid(texts: Sequence[str]) -> str:
    """What is seen of texts of one column per character that are drawn one over the other from the same place."""
    seen = texts[-1]
    longest = max(map(len, texts))
    for text in reversed(texts):
        if len(seen) == longest:
            break
        seen += text[len(seen) :]
    return seen

"""HTML as readable text. Pure but for the processor time it looks at, so that no page takes long."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from remit.net.markup import NO_BLOCK, tame

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_SECONDS = 3.0
MAX_NODES = 500_000
MAX_TITLE_CHARS = 300
MAX_INDENTS = 12
MAX_TABLES = 6
MAX_SPAN = 30
MAX_COLUMNS = 500
MAX_LINK_CHARS = 300
MIN_ARTICLE_SHARE = 0.3

HIDDEN_TAGS = frozenset({"button", "progress", "-comment"})
LEFT_OUT_TAGS = frozenset({"nav", "footer"})
LEFT_OUT_ROLES = frozenset({"navigation", "contentinfo"})
HEADING_MARKS = {f"h{level}": "#" * level for level in range(1, 7)}
LISTS = frozenset({"ul", "ol", "menu"})
PARAGRAPHS = LISTS | {"p", "blockquote", "pre", "table", "figure", "dl", "hr", "fieldset", "details", "address"}
"""Blocks with an empty line around them; HEADING_MARKS are the others."""

_BLANKS = re.compile(r"[ \t\n\r\f\xa0]+")
_NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_UNSEEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)", re.IGNORECASE)


class Readable(msgspec.Struct, frozen=True):
    """title: "" when the page has none. cut: the page was too large to be read whole in time.
    marked: the page marks its main content, and only that is in `text`."""

    title: str
    text: str
    cut: bool = False
    marked: bool = False


def readable(html: str, *, seconds: float = MAX_SECONDS) -> Readable:
    """The text a reader would see, with marks: `#` headings, `-` and `1.` items, `|` table rows, fences
    around preformatted text, `>` quotes, and the address behind a link to another site.

    Where the page marks its main content (`main`, or articles that make up the page) the rest is left
    out, and navigation and footers within; otherwise all of the page is kept. seconds: of processor
    time, so that a busy machine does not cut pages that an idle one reads.
    """
    from selectolax.lexbor import LexborHTMLParser  # only HTML needs the parser

    end = time.thread_time() + seconds

    def late() -> bool:
        return time.thread_time() > end

    source, title = tame(html, late)
    body = LexborHTMLParser(source).body
    if body is None:
        return Readable(_title(title), "", late())
    text, marked, cut = _main_text(body, late)
    return Readable(_title(title), text, cut or late(), marked)


def _title(source: str) -> str:
    from html import unescape

    return _BLANKS.sub(" ", _NOT_SHOWN.sub("", unescape(source))).strip()[:MAX_TITLE_CHARS]


def _main_text(body: LexborNode, late: Callable[[], bool]) -> tuple[str, bool, bool]:
    main = _outermost(body.css("main, [role=main]"))
    text, cut = _texts(main, late)
    if text:
        return text, True, cut
    whole, cut_whole = _texts([body], late, everything=True)
    text, cut = _texts(_outermost(body.css("article")), late)
    # One article among much else is a teaser or a comment, not what the page is about.
    if text and len(text) >= MIN_ARTICLE_SHARE * len(whole):
        return text, True, cut
    return whole, False, cut_whole


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Those that lie in none of the others and in nothing hidden."""
    chosen = {node.mem_id for node in nodes}
    return [node for node in nodes if not _lies_within(node, chosen)]


def _lies_within(node: LexborNode, chosen: set[int]) -> bool:
    above = node.parent
    while above is not None:
        if above.mem_id in chosen or above.tag in LEFT_OUT_TAGS or _is_hidden(above):
            return True
        above = above.parent
    return False


def _texts(roots: list[LexborNode], late: Callable[[], bool], *, everything: bool = False) -> tuple[str, bool]:
    writers = [_Walk(late, everything) for _ in roots]
    texts = [walk.text(root) for walk, root in zip(writers, roots, strict=True)]
    return "\n\n".join(text for text in texts if text), any(walk.cut for walk in writers)


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if not attributes:
        return False
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if attributes.get("aria-hidden") == "true":
        return True
    return bool(_UNSEEN_STYLE.search(attributes.get("style") or ""))


# -- writing ---------------------------------------------------------------------------------


class _Indent:
    """What stands before the lines of a block: `first` once, `rest` from then on."""

    def __init__(self, first: str, rest: str) -> None:
        self.first = first
        self.rest = rest

    def take(self) -> str:
        now, self.first = self.first, self.rest
        return now


class _Writer:
    """Lines of text, with single blanks, and as much room between blocks as the larger of them wants."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._due = 0
        self.indents: list[_Indent] = []

    def put(self, text: str) -> None:
        """Running text: blanks collapse."""
        text = _BLANKS.sub(" ", _NOT_SHOWN.sub("", text))
        if not self._line or self._line[-1].endswith(" "):
            text = text.lstrip(" ")
        if text:
            self._line.append(text)

    def end_line(self, room: int = 1) -> None:
        """room: 1 for a new line, 2 for an empty one in between."""
        text = "".join(self._line).rstrip()
        self._line.clear()
        if text:
            self.put_line(text)
        self._due = max(self._due, room)

    def put_line(self, text: str) -> None:
        """A whole line as it is."""
        if self._lines and self._due > 1:
            self._lines.append("")
        self._lines.append("".join(indent.take() for indent in self.indents) + text)
        self._due = 0

    def put_after(self, text: str) -> None:
        """Text that belongs to what was written last, even if that line has ended."""
        if self._line or not self._lines:
            self._line.append(text)
        else:
            self._lines[-1] += text

    def mark(self) -> tuple[int, int]:
        """A place to compare: whether anything was written since."""
        return len(self._lines), len(self._line)

    def finish(self) -> str:
        self.end_line()
        return "\n".join(line.rstrip() for line in self._lines).strip("\n")


class _Table:
    """Cells as they come in. A table that only arranges a page is written as blocks, not as rows."""

    def __init__(self, plain: bool) -> None:
        self.plain = plain
        self.rows: list[list[str]] = []
        self.headed = False
        self._spans: dict[int, int] = {}

    def start_row(self) -> None:
        self.rows.append([])
        self._skip_spanned()

    def add(self, text: str, columns: int, rows: int, heading: bool) -> None:
        if not self.rows:
            self.start_row()
        row = self.rows[-1]
        if len(self.rows) == 1:
            self.headed = heading and (self.headed or not row)
        for offset in range(columns):
            if rows > 1:
                self._spans[len(row)] = rows - 1
            if offset == 0 or len(row) < MAX_COLUMNS:
                row.append("" if offset else text)
        self._skip_spanned()

    def _skip_spanned(self) -> None:
        row = self.rows[-1]
        while len(row) < MAX_COLUMNS and (left := self._spans.get(len(row))):
            self._spans[len(row)] = left - 1
            row.append("")

    def write(self, writer: _Writer) -> None:
        rows = [row for row in self.rows if any(row)]
        if self.plain or all(len(row) < 2 for row in rows) or any(_is_block(cell) for row in rows for cell in row):
            for row in rows:
                for line in "\n".join(cell for cell in row if cell).split("\n"):
                    writer.put_line(line)
            return
        for number, row in enumerate(rows):
            writer.put_line("| " + " | ".join(_cell(text) for text in row) + " |")
            if number == 0 and self.headed:
                writer.put_line("|" + " --- |" * len(row))


def _is_block(cell: str) -> bool:
    return len(cell) > 1000 or cell.count("\n") > 6 or cell.startswith(("#", "```"))


def _cell(text: str) -> str:
    return _BLANKS.sub(" ", text).replace("|", "\\|")


class _List:
    def __init__(self, number: int | None) -> None:
        self.number = number

    def marker(self, value: int | None) -> str:
        if self.number is None:
            return "- "
        now = self.number if value is None else value
        self.number = now + 1
        return f"{now}. "


# -- walking ---------------------------------------------------------------------------------


class _Walk:
    """One pass over a tree, without recursion: depth is the page's to choose."""

    def __init__(self, late: Callable[[], bool], everything: bool) -> None:
        self.cut = False
        self._late = late
        self._everything = everything
        self._writers = [_Writer()]
        self._tables: list[_Table | None] = []
        self._lists: list[_List] = []
        self._leave: list[Callable[[], None]] = []
        self._preformatted: list[str] | None = None
        self._raised = False
        self._headings = 0

    def text(self, root: LexborNode) -> str:
        node: LexborNode | None = root
        above: list[tuple[LexborNode, int]] = []
        nodes = 0
        while node is not None:
            nodes += 1
            if nodes > MAX_NODES or (nodes % 512 == 0 and self._late()):
                self.cut = True
                break
            undo = len(self._leave)
            child = node.first_child if self._enter(node) else None
            if child is not None:
                above.append((node, undo))
                node = child
                continue
            self._undo(undo)
            while above and node is not None and node.next is None:
                node, undo = above.pop()
                self._undo(undo)
            node = node.next if above and node is not None else None
        self._undo(0)
        return self._writers[0].finish()

    @property
    def _writer(self) -> _Writer:
        return self._writers[-1]

    def _undo(self, down_to: int) -> None:
        while len(self._leave) > down_to:
            self._leave.pop()()

    def _enter(self, node: LexborNode) -> bool:
        """Write what comes before the children; returns whether to go down to them."""
        tag = node.tag or ""
        if tag == "-text":
            self._put(node.text_content or "")
            return False
        if self._is_left_out(node, tag):
            return False
        if self._preformatted is None:
            self._block(self._room(tag))
        if tag in HEADING_MARKS:
            self._heading(HEADING_MARKS[tag])
        elif enter := _ENTER.get(tag):
            enter(self, node)
        return True

    def _room(self, tag: str) -> int:
        if tag in NO_BLOCK or "-" in tag:
            return 0
        if tag in LISTS and self._lists:
            return 1
        return 2 if tag in PARAGRAPHS or tag in HEADING_MARKS else 1

    def _block(self, room: int) -> None:
        if room:
            self._writer.end_line(room)
            self._leave.append(lambda: self._writer.end_line(room))

    def _is_left_out(self, node: LexborNode, tag: str) -> bool:
        if tag in HIDDEN_TAGS and not (tag == "button" and self._headings):
            return True
        if _is_hidden(node):
            return True
        if tag == "dialog":
            return "open" not in node.attributes
        if self._everything:
            return False
        return tag in LEFT_OUT_TAGS or node.attributes.get("role") in LEFT_OUT_ROLES

    def _put(self, text: str) -> None:
        if self._preformatted is not None:
            self._preformatted.append(text)
            return
        if self._raised and text.strip():
            # 10<sup>6</sup> must not read as 106.
            text = f"^{text.lstrip()}" if text.strip()[0].isalnum() else text
            self._raised = False
        self._writer.put(text)

    def _indent(self, first: str, rest: str) -> None:
        writer = self._writer
        if len(writer.indents) >= MAX_INDENTS:
            return
        writer.indents.append(_Indent(first, rest))

        def leave() -> None:
            writer.end_line()
            writer.indents.pop()

        self._leave.append(leave)

    def _heading(self, mark: str) -> None:
        self._headings += 1
        self._indent(f"{mark} ", "")

        def leave() -> None:
            self._headings -= 1

        self._leave.append(leave)

    def _quote(self, node: LexborNode) -> None:
        self._indent("> ", "> ")

    def _definition(self, node: LexborNode) -> None:
        self._indent("  ", "  ")

    def _list(self, node: LexborNode) -> None:
        number = _number(node.attributes.get("start"), 1) if node.tag == "ol" else None
        self._lists.append(_List(number))
        self._leave.append(lambda: self._lists.__delitem__(-1))

    def _item(self, node: LexborNode) -> None:
        value = node.attributes.get("value")
        marker = self._lists[-1].marker(_number(value, 1) if value else None) if self._lists else "- "
        self._indent(marker, " " * len(marker))

    def _break(self, node: LexborNode) -> None:
        if self._preformatted is not None:
            self._preformatted.append("\n")
        elif self._headings:
            self._put(" ")
        else:
            self._writer.end_line()

    def _rule(self, node: LexborNode) -> None:
        self._writer.put_line("---")

    def _code(self, node: LexborNode) -> None:
        if self._preformatted is None:
            self._put("`")
            self._leave.append(lambda: self._put("`"))

    def _sup(self, node: LexborNode) -> None:
        self._raised = True
        self._leave.append(lambda: setattr(self, "_raised", False))

    def _quoted(self, node: LexborNode) -> None:
        self._put('"')
        self._leave.append(lambda: self._put('"'))

    def _link(self, node: LexborNode) -> None:
        target = _BLANKS.sub("", node.attributes.get("href") or "")
        if self._preformatted is not None or not re.match(r"https?://", target, re.IGNORECASE):
            return
        if len(target) > MAX_LINK_CHARS:
            return
        writer, before = self._writer, self._writer.mark()
        self._leave.append(lambda: writer.put_after(f" ({target})") if writer.mark() != before else None)

    def _pre(self, node: LexborNode) -> None:
        if self._preformatted is not None:
            return
        kept: list[str] = []
        self._preformatted = kept

        def leave() -> None:
            self._preformatted = None
            lines = "".join(kept).replace("\r\n", "\n").strip("\n").split("\n")
            ticks = max((len(run) for run in re.findall("`{3,}", "".join(kept))), default=2) + 1
            if not any(line.strip() for line in lines):
                return
            for line in ("`" * max(ticks, 3), *lines, "`" * max(ticks, 3)):
                self._writer.put_line(_NOT_SHOWN.sub("", line))

        self._leave.append(leave)

    def _table(self, node: LexborNode) -> None:
        if self._preformatted is not None:
            return
        if outer := self._own_table():
            outer.plain = True
        if len(self._tables) >= MAX_TABLES:
            # Each level is copied once into the one around it; there is an end to that.
            self._tables.append(None)
            self._leave.append(lambda: self._tables.__delitem__(-1))
            return
        table = _Table(node.attributes.get("role") in {"presentation", "none"})
        self._tables.append(table)

        def leave() -> None:
            self._tables.pop()
            table.write(self._writer)

        self._leave.append(leave)

    def _row(self, node: LexborNode) -> None:
        if table := self._own_table():
            table.start_row()

    def _table_cell(self, node: LexborNode) -> None:
        table = self._own_table()
        if table is None:
            return
        columns, rows = (min(max(_number(node.attributes.get(key), 1), 1), MAX_SPAN) for key in ("colspan", "rowspan"))
        heading = node.tag == "th"
        self._writers.append(_Writer())
        lists, self._lists = self._lists, []

        def leave() -> None:
            self._lists = lists
            table.add(self._writers.pop().finish(), columns, rows, heading)

        self._leave.append(leave)

    def _own_table(self) -> _Table | None:
        return self._tables[-1] if self._tables and self._preformatted is None else None


_ENTER: dict[str, Callable[[_Walk, LexborNode], None]] = {
    "blockquote": _Walk._quote,
    "dd": _Walk._definition,
    "ul": _Walk._list,
    "ol": _Walk._list,
    "menu": _Walk._list,
    "li": _Walk._item,
    "br": _Walk._break,
    "hr": _Walk._rule,
    "samp": _Walk._code,
    "sup": _Walk._sup,
    "q": _Walk._quoted,
    "a": _Walk._link,
    "pre": _Walk._pre,
    "table": _Walk._table,
    "tr": _Walk._row,
    "td": _Walk._table_cell,
    "th": _Walk._table_cell,
}


def _number(text: str | None, default: int) -> int:
    found = re.fullmatch(r"\s*(-?[0-9]{1,9})\s*", text or "")
    return int(found[1]) if found else default

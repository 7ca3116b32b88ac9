"""A manual page as data, and its two forms: man(7) source and plain text.

In every text a part between backticks is what someone would type.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Literal

import msgspec

WIDTH = 78
DATE = "2026-11-30"
"""Of this edition of the manual. Fixed, so that the pages change with their text alone."""

Style = Literal["plain", "bold", "italic"]


class Span(msgspec.Struct, frozen=True):
    """A piece of a heading word."""

    text: str
    style: Style = "plain"


class Para(msgspec.Struct, frozen=True):
    """A paragraph; where its lines end does not matter."""

    text: str


class Code(msgspec.Struct, frozen=True):
    """Lines as they stand."""

    text: str


class Item(msgspec.Struct, frozen=True):
    """A word and what is said of it."""

    term: tuple[Span, ...]
    body: tuple[Para | Code, ...]


class Sub(msgspec.Struct, frozen=True):
    """A heading within a section."""

    title: str


Block = Para | Code | Item | Sub


class Section(msgspec.Struct, frozen=True):
    title: str
    blocks: tuple[Block, ...]


class Page(msgspec.Struct, frozen=True):
    """name: `remit-run`. number: of the manual's section. summary: one line, without a full stop."""

    name: str
    number: int
    summary: str
    sections: tuple[Section, ...]

    @property
    def file(self) -> str:
        return f"{self.name}.{self.number}"


def bold(text: str) -> Span:
    return Span(text, "bold")


def item(term: str, *texts: str) -> Item:
    """An item by a bold word."""
    return Item((bold(term),), tuple(Para(text) for text in texts))


# -- man(7) ------------------------------------------------------------------------------------

_ESCAPES = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
}
_FONTS = {"plain": "R", "bold": "B", "italic": "I"}


def roff(page: Page, version: str) -> str:
    """The source of the page, for man, groff and mandoc."""
    title = " ".join(
        [escaped(page.name.upper()), str(page.number), DATE, f'"remit {escaped(version)}"', '"remit manual"']
    )
    # Without hyphenation, so that names are found by searching; ragged on the right, as text on a terminal.
    lines = [rf".\" Generated from the program. {page.file}", ".nr HY 0", f".TH {title}", ".nh", ".ad l", ".SH NAME"]
    lines.append(rf"{escaped(page.name)} \- {escaped(page.summary)}")
    for section in page.sections:
        lines.append(f".SH {escaped(section.title)}")
        fresh = True
        for block in section.blocks:
            lines += _roff_block(block, fresh)
            fresh = isinstance(block, Sub)
    return "\n".join(lines) + "\n"


def _roff_block(block: Block, fresh: bool) -> Iterator[str]:
    """fresh: straight below a heading, where a paragraph needs no mark."""
    match block:
        case Sub(title=title):
            yield f".SS {escaped(title)}"
        case Item(term=term, body=body):
            yield ".TP"
            yield _guarded("".join(_span(span) for span in term))
            for index, part in enumerate(body):
                yield from _roff_text(part, ".IP" if index else "")
        case _:
            yield from _roff_text(block, "" if fresh else ".PP")


def _roff_text(block: Para | Code, mark: str) -> Iterator[str]:
    if mark:
        yield mark
    if isinstance(block, Code):
        yield ".EX"
        yield from (_guarded(escaped(f"    {line}".rstrip())) for line in block.text.splitlines())
        yield ".EE"
        return
    for line in _wrapped(_marked_up(block.text), WIDTH):
        yield _guarded(line)


def _marked_up(text: str) -> str:
    parts = text.split("`")
    return "".join(rf"\fB{escaped(part)}\fR" if index % 2 else escaped(part) for index, part in enumerate(parts))


def _span(span: Span) -> str:
    font = _FONTS[span.style]
    return escaped(span.text) if font == "R" else rf"\f{font}{escaped(span.text)}\fR"


def escaped(text: str) -> str:
    """Text for man(7): every character stands for itself."""
    return "".join(_ESCAPES.get(char) or (char if char.isascii() else rf"\[u{ord(char):04X}]") for char in text)


def _guarded(line: str) -> str:
    """A line of text that is not read as a request."""
    return rf"\&{line}" if line.startswith((".", "'")) else line or r"\&"


# -- plain text --------------------------------------------------------------------------------


def plain(page: Page) -> str:
    """The page as text, for a pipe or a terminal without man."""
    lines = [f"{page.name.upper()}({page.number})", "", "NAME", f"    {page.name} - {page.summary}"]
    for section in page.sections:
        lines += ["", section.title]
        for place, block in enumerate(section.blocks):
            if place and not isinstance(section.blocks[place - 1], Sub):
                lines.append("")
            lines += _plain_block(block)
    return "\n".join(lines) + "\n"


def _plain_block(block: Block) -> Iterator[str]:
    match block:
        case Sub(title=title):
            yield f"  {title}"
        case Item(term=term, body=body):
            yield "    " + "".join(span.text for span in term)
            for index, part in enumerate(body):
                if index:
                    yield ""
                yield from _plain_text(part, 12)
        case _:
            yield from _plain_text(block, 4)


def _plain_text(block: Para | Code, indent: int) -> list[str]:
    if isinstance(block, Code):
        return [f"{' ' * (indent + 4)}{line}".rstrip() for line in block.text.splitlines()]
    return [" " * indent + line for line in _wrapped(block.text, WIDTH - indent)]


def _wrapped(text: str, width: int) -> list[str]:
    words = re.sub(r"\s+", " ", text).strip()
    return textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)

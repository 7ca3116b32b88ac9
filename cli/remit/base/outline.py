"""What a source file holds, in short: sections of items, each with the lines it stands on."""

from __future__ import annotations

import msgspec

Range = tuple[int, int]
"""First and last line, from 1."""


class Item(msgspec.Struct, frozen=True):
    """Something that is declared. fields: what it holds itself, such as the members of a type. depth: how deep it lies
    in the items before it."""

    text: str
    range: Range
    fields: tuple[Item, ...] = ()
    depth: int = 0


class Section(msgspec.Struct, frozen=True):
    """Items of one kind, such as imports or headings, and the lines that they lie in."""

    title: str
    range: Range
    items: tuple[Item, ...] = ()


class Outline(msgspec.Struct, frozen=True):
    """about: what the file says of itself, or "". recovered: parts of it did not fit the language and were passed
    over. cut: there is more than was taken in. minified: because the source is not as people write it."""

    sections: tuple[Section, ...]
    about: str = ""
    recovered: bool = False
    cut: bool = False
    minified: bool = False

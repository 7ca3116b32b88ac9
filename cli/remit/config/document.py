"""A parsed file whose values still know their line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from remit.base.errors import Fault, Faults
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten

Keys = tuple[str | int, ...]
"""The way to a value from the root: mapping keys and list indices."""

Lines = dict[Keys, int]
"""Line numbers, from 1."""

_BARE_KEY = lazy_pattern(r"[A-Za-z0-9_-]{1,60}\Z")


class Document:
    """path: as the user named the file. data: plain values (dict with string keys, list, str, int,
    float, bool, None, and from TOML dates and times). text: the whole file."""

    __slots__ = ("_find_lines", "_lines", "data", "path", "text")

    def __init__(self, path: str, data: Any, text: str, find_lines: Callable[[], Lines]) -> None:
        self.path = path
        self.data = data
        self.text = text
        self._find_lines = find_lines
        self._lines: Lines | None = None

    def line(self, *keys: str | int) -> int:
        """The line of the key or list item at that place, or of its nearest known ancestor."""
        if self._lines is None:
            self._lines = self._find_lines()
        place: Keys = keys
        while place:
            if place in self._lines:
                return self._lines[place]
            place = place[:-1]
        return 1

    def where(self, *keys: str | int) -> str:
        """`path:line` of the key or list item at that place, or of its nearest known ancestor."""
        return f"{self.path}:{self.line(*keys)}"


class BlemishedDocument(Faults):
    """Faults of a document whose values could be read all the same: who wants them all goes on with it."""

    def __init__(self, faults: list[Fault], document: Document) -> None:
        super().__init__(faults)
        self.document = document


def spell(keys: Keys) -> str:
    """A place as a person writes it: `tools.fetch_url.hosts[2]`."""
    shown = ""
    for key in keys:
        if isinstance(key, int):
            shown += f"[{key}]"
        else:
            word = key if _BARE_KEY.match(key) else shorten(key)
            shown += f".{word}" if shown else word
    return shown


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """``did you mean `x`?``, or "" when no choice is near."""
    import difflib

    near = difflib.get_close_matches(word[:100], list(choices), n=1)
    return f"did you mean `{near[0]}`?" if near else ""


def in_line_order(faults: list[Fault], document: Document) -> list[Fault]:
    """The faults as they stand in the document; those of other files after them."""

    def line(fault: Fault) -> float:
        path, _, number = fault.where.rpartition(":")
        return int(number) if path == document.path and number.isdigit() else float("inf")

    return sorted(faults, key=line)

"""HTML made tame before a parser sees it. Pure.

Building a tree costs time, and some of it memory, by the square of what a hostile page nests, repeats
or misnests. This pass reads the page once by the token rules of the HTML standard and writes it anew:
every element closed where it ends, bounded depth, few attributes, no formatting elements, and nothing
of what is never readable text. Its bounds cost structure at worst, never text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

MAX_DEPTH = 500
MAX_ATTRIBUTES = 32
MAX_LOOK = 1000
"""How many open elements are looked at to find the one that a tag ends."""

_SPACE = r"[\t\n\f\r /]"
_VALUE = r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+)"""
_ATTRIBUTE = (
    rf"(?:{_SPACE}*+(?:=[^\t\n\f\r />=]*+|[^\t\n\f\r />=]++)"
    rf"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+{_VALUE}?+)?+)"
)
_TOKEN = re.compile(
    rf"<(?P<end>/?)(?P<name>[A-Za-z][^\t\n\f\r />]*+)"
    rf"(?P<attributes>{_ATTRIBUTE}{{0,{MAX_ATTRIBUTES}}}+){_ATTRIBUTE}*+{_SPACE}*+(?P<close>>|\Z)"
    r"|<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?:[!?]|/[^A-Za-z])[^>]*+(?:>|\Z)",
    re.DOTALL,
)
_HIDES = re.compile(r"hidden|style", re.IGNORECASE)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names("area br col hr param source track wbr")
"""Elements without content."""

DROPPED = _names(
    "html head body meta link base frame frameset noframes plaintext xmp listing image keygen img input embed form"
)
"""Tags that say nothing here, or switch a parser to other rules; what they hold stays."""

RAW = _names("script style textarea title iframe noembed noscript")
"""Elements whose content is no markup, or none that a reader sees: dropped up to their end tag."""

NESTED = _names("svg math select datalist template object applet canvas video audio")
"""Embedded content and form controls, dropped with everything in them."""

PLAIN = _names(
    "abbr acronym b bdi bdo big cite data del dfn em font i ins kbd label mark meter nobr output s slot small"
    " span strike strong sub time tt u var"
)
"""Inline elements that matter only when they hide something: their tags are not written otherwise. A
parser would open many of them again in every block that follows."""

INLINE = PLAIN | {"a", "code", "samp", "q", "sup"}
"""An end tag of one of these reaches no further up than the next element that is not one of them."""

HEADINGS = _names("h1 h2 h3 h4 h5 h6")
BARRIER = _names("table td th caption button marquee")
"""Elements out of which no end tag of another reaches."""

NO_BLOCK = INLINE | VOID - {"hr"} | _names("button marquee ruby rb rp rt rtc map picture")
"""Whatever else starts ends an open paragraph, except elements of the page's own making (`x-name`)."""

_ITEM_STOPS = NO_BLOCK | _names("p div address")
_TABLE_PARTS = _names("thead tbody tfoot")

ENDS: dict[str, frozenset[str]] = {
    "li": _names("li"),
    "dt": _names("dt dd"),
    "dd": _names("dt dd"),
    "td": _names("td th"),
    "th": _names("td th"),
    "tr": _names("tr"),
    **dict.fromkeys(_TABLE_PARTS, _TABLE_PARTS | {"tr"}),
}
"""Elements that the start of another one ends, as their own end tag may be left out."""


class _Open(NamedTuple):
    """name: as the page has it. tag: as it was written; "" when it was not."""

    name: str
    tag: str


def tame(html: str, late: Callable[[], bool]) -> tuple[str, str]:
    """The page written anew, and its title as it stands in the source. late: asked now and then; once
    it is true the rest of the page is left out."""
    return _Rewriter(html, late).run()


class _Rewriter:
    def __init__(self, html: str, late: Callable[[], bool]) -> None:
        self._html = html
        self._late = late
        self._out: list[str] = []
        self._open: list[_Open] = []
        self._count: dict[str, int] = {}
        self._depth = 0
        self._pairs: dict[str, dict[int, int]] = {}
        self._title: str | None = None

    def run(self) -> tuple[str, str]:
        html, out = self._html, self._out
        position = tokens = 0
        while found := _TOKEN.search(html, position):
            tokens += 1
            if tokens % 1024 == 0 and self._late():
                return "".join(out), self._title or ""
            out.append(_text(html[position : found.start()]))
            position = found.end()
            if found["name"] is not None and found["close"]:
                position = self._tag(found, found["name"].lower(), position)
        out.append(_text(html[position:]))
        return "".join(out), self._title or ""

    def _tag(self, found: re.Match[str], name: str, position: int) -> int:
        """Write one tag; returns where to go on."""
        if name in DROPPED:
            return position
        if name in RAW:
            return position if found["end"] else self._past_raw(name, position)
        if name in NESTED:
            return position if found["end"] else self._past_nested(found, name, position)
        if found["end"]:
            self._end(name)
        else:
            self._start(name, found["attributes"])
        return position

    # -- elements ------------------------------------------------------------------------------

    def _start(self, name: str, attributes: str) -> None:
        self._end_implied(name)
        if name in VOID:
            self._out.append(f"<{name}>")
            return
        if name == "a" and self._count.get("a"):
            if self._open[-1].name != "a":
                return  # a link in a link: the outer one stands
            self._close(len(self._open) - 1)
        tag = self._tag_for(name, attributes)
        self._open.append(_Open(name, tag))
        self._count[name] = self._count.get(name, 0) + 1
        if tag:
            self._depth += 1
            self._out.append(f"<{tag}{attributes}>")

    def _tag_for(self, name: str, attributes: str) -> str:
        if self._depth >= MAX_DEPTH:
            return ""
        if name in PLAIN:
            return "span" if _HIDES.search(attributes) else ""
        return "samp" if name == "code" else name

    def _end_implied(self, name: str) -> None:
        """Close what the start of this element ends without a tag of its own."""
        if name not in NO_BLOCK and "-" not in name:
            self._close_nearest(frozenset({"p"}), BARRIER)
        if name in HEADINGS and self._open and self._open[-1].name in HEADINGS:
            self._close(len(self._open) - 1)
        if name not in ENDS:
            return
        if name in {"li", "dt", "dd"}:
            self._close_nearest(ENDS[name], None)
        else:
            self._close_nearest(ENDS[name], frozenset({"table"}))

    def _close_nearest(self, names: frozenset[str], stops: frozenset[str] | None) -> None:
        """Close the innermost of these elements, unless one that stops the search lies within it. None:
        every block stops it."""
        if not any(self._count.get(name) for name in names):
            return
        for index in self._inwards():
            seen = self._open[index].name
            if seen in names:
                self._close(index)
                return
            if seen in stops if stops is not None else seen not in _ITEM_STOPS:
                return

    def _end(self, name: str) -> None:
        wanted = HEADINGS if name in HEADINGS else frozenset({name})
        if not any(self._count.get(each) for each in wanted):
            return
        crossed = False
        for index in self._inwards():
            seen = self._open[index]
            if seen.name in wanted:
                if not crossed:
                    self._close(index)
                elif not seen.tag:
                    self._count[seen.name] -= 1
                    del self._open[index]
                return
            if seen.name in BARRIER and name not in _TABLE_NAMES:
                return
            crossed = crossed or (name in INLINE and seen.name not in INLINE)

    def _inwards(self) -> range:
        """Indexes of the open elements, innermost first."""
        last = len(self._open) - 1
        return range(last, max(-1, last - MAX_LOOK), -1)

    def _close(self, index: int) -> None:
        """Close an open element and all within it, each by its own end tag."""
        while len(self._open) > index:
            name, tag = self._open.pop()
            self._count[name] -= 1
            if tag:
                self._depth -= 1
                self._out.append(f"</{tag}>")

    # -- what is left out ----------------------------------------------------------------------

    def _past_raw(self, name: str, position: int) -> int:
        end = re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search(self._html, position)
        stop = end.start() if end else len(self._html)
        if name == "title" and self._title is None:
            self._title = self._html[position:stop]
        return stop

    def _past_nested(self, found: re.Match[str], name: str, position: int) -> int:
        """Skip an element with all it holds. One that is never closed is not taken to hold the rest of
        the page: only its tag goes."""
        if found[0].endswith("/>") and name in {"svg", "math"}:
            return position
        if name not in self._pairs:
            self._pairs[name] = _pairs(self._html, name)
        return max(position, self._pairs[name].get(found.start(), position))


_TABLE_NAMES = BARRIER | _TABLE_PARTS | {"tr"}


def _text(between: str) -> str:
    """What stands between two tokens: a `<` there is text, also to whoever reads on after it."""
    return between.replace("<", "&lt;")


def _pairs(html: str, name: str) -> dict[int, int]:
    """Where each element of this name starts, and where the end tag stands that fits it."""
    ends: dict[int, int] = {}
    starts: list[int] = []
    for tag in re.compile(rf"<(/?){name}(?=[\t\n\f\r />])", re.IGNORECASE).finditer(html):
        if not tag[1]:
            starts.append(tag.start())
        elif starts:
            ends[starts.pop()] = tag.start()
    return ends

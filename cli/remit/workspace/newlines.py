"""Line ends of a text: looked at without them, and given back as they were. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from remit.base.lazy_pattern import lazy_pattern

Style = Literal["lf", "crlf", "cr", "mixed", "none"]

ENDS: dict[Style, str] = {"lf": "\n", "crlf": "\r\n", "cr": "\r", "mixed": "\n", "none": "\n"}
"""What ends a line in a text of that style; of `mixed`, where no line nearby tells."""

_END = lazy_pattern(r"\r?\n")


class Span(NamedTuple):
    """Part of a unified text, in characters; the end is exclusive."""

    start: int
    end: int


class Unified(NamedTuple):
    """A text whose every line ends in "\\n". style: how they ended. ends: of `mixed`, each line's own.

    A lone CR is a line end only in a text without any "\\n"; elsewhere it is a character."""

    text: str
    style: Style
    ends: tuple[str, ...] = ()

    def fit(self, given: str) -> str:
        """Another text in these terms, to be looked for here or put in."""
        given = given.replace("\r\n", "\n")
        return given.replace("\r", "\n") if self.style == "cr" else given

    def replaced(self, spans: Sequence[Span], new: str) -> str:
        """The text, with its own line ends, once each span is `new` (which fits). In a mixed text a
        line that is replaced hands its end to the line in its place, the last of them to all further ones."""
        pieces = _between(self.text, spans)
        if self.style != "mixed":
            return restored(new.join(pieces), self.style)
        return _with_ends(new.join(pieces), self._new_ends(spans, new, pieces))

    def _new_ends(self, spans: Sequence[Span], new: str, pieces: Sequence[str]) -> Iterable[str]:
        wanted = new.count("\n")
        at = 0
        for piece, span in zip(pieces, spans, strict=False):
            kept = piece.count("\n")
            yield from self.ends[at : at + kept]
            at += kept
            gone = self.text.count("\n", span.start, span.end)
            yield from _stretched(self.ends[at : at + gone], wanted, self.ends[min(at, len(self.ends) - 1)])
            at += gone
        yield from self.ends[at:]


def unify(text: str) -> Unified:
    """The text as it is worked on."""
    total, crlf = text.count("\n"), text.count("\r\n")
    if not total:
        return Unified(text.replace("\r", "\n"), "cr") if "\r" in text else Unified(text, "none")
    if not crlf:
        return Unified(text, "lf")
    unified = text.replace("\r\n", "\n")
    return Unified(unified, "crlf") if crlf == total else Unified(unified, "mixed", tuple(_END.findall(text)))


def style_of(text: str) -> Style:
    """How the lines of a text end."""
    total, crlf = text.count("\n"), text.count("\r\n")
    if not total:
        return "cr" if "\r" in text else "none"
    return "lf" if not crlf else "crlf" if crlf == total else "mixed"


def restored(text: str, style: Style) -> str:
    """A unified text with the line ends of a style."""
    end = ENDS[style]
    return text if end == "\n" else text.replace("\n", end)


def _between(text: str, spans: Sequence[Span]) -> list[str]:
    """What lies before, between and behind the spans."""
    starts = [0, *(span.end for span in spans)]
    stops = [*(span.start for span in spans), len(text)]
    return [text[start:stop] for start, stop in zip(starts, stops, strict=True)]


def _stretched(ends: Sequence[str], wanted: int, otherwise: str) -> list[str]:
    """As many line ends as wanted: the given ones, and the last of them again and again."""
    more = ends[-1] if ends else otherwise
    return [*ends[:wanted], *([more] * (wanted - len(ends)))]


def _with_ends(text: str, ends: Iterable[str]) -> str:
    lines = text.split("\n")
    return "".join(line + end for line, end in zip(lines, (*ends, ""), strict=True))

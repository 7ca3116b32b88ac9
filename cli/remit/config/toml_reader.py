"""TOML to plain values, and the lines of its keys by a scan of the text."""

from __future__ import annotations

import re
from typing import Any

from remit.base.errors import Fault, Faults
from remit.config.document import Keys, Lines


def read_toml(text: str, path: str) -> Any:
    """The values of a TOML text. Raises Faults at the first syntax error, which is all that can be told."""
    import tomli

    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as problem:
        message = _first_lower(getattr(problem, "msg", None) or str(problem))
        if _TWICE.match(message):
            raise Faults([_given_twice(text[: problem.pos], path)]) from None
        raise Faults([Fault(f"not valid TOML: {message}", f"{path}:{getattr(problem, 'lineno', 1)}")]) from None
    except RecursionError:
        raise Faults([Fault("values are nested too deep", f"{path}:1")]) from None
    except ValueError:
        # An integer of thousands of digits passes the grammar and fails in int().
        raise Faults([Fault("a number has too many digits", f"{path}:1")]) from None


_TWICE = re.compile(r"cannot overwrite|cannot declare|cannot mutate|duplicate inline")
"""How the parser speaks of a key that there is already."""


def _given_twice(text: str, path: str) -> Fault:
    """The fault of a text that ends in a key which stands in it before."""
    from remit.config.document import spell

    scan = _Scan(text)
    scan.statements()
    place, line = scan.last
    earlier = [place[:end] for end in range(len(place), 0, -1) if scan.lines.get(place[:end], line) != line]
    key = earlier[0] if earlier else place
    hint = f"first on line {scan.lines[key]}" if earlier else ""
    return Fault(f"the key `{spell(key)}` is given twice", f"{path}:{line}", hint)


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]


_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r]+ | \#[^\n]*)
  | (?P<newline>\n)
  | (?P<string>
        \"{3} (?: \\. | [^\\] )*? \"{3,5}
      | '{3} .*? '{3,5}
      | " (?: \\. | [^"\\\n] )* "
      | ' [^'\n]* '
    )
  | (?P<mark>\[ | \] | \{ | \} | = | , | \.)
  | (?P<bare>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


class _Scan:
    """A walk over the tokens of a text that is valid TOML, or the start of one. last: the key of the last
    statement and its line."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        self._at = 0
        self._arrays: dict[Keys, int] = {}
        self.lines: Lines = {}
        self.last: tuple[Keys, int] = ((), 1)
        self._cut = False
        line = 1
        for match in _TOKEN.finditer(text):
            kind, written = match.lastgroup or "", match[0]
            if kind != "space":
                self._tokens.append((kind, written, line))
            line += written.count("\n")
        self._tokens.append(("end", "", line))

    def statements(self) -> None:
        table: Keys = ()
        while self._peek()[0] != "end":
            kind, written, line = self._peek()
            if kind == "newline":
                self._at += 1
            elif written == "[" and kind == "mark":
                table = self._header(line)
            else:
                self._pair(table)

    def _peek(self) -> tuple[str, str, int]:
        return self._tokens[self._at]

    def _is(self, mark: str) -> bool:
        kind, written, _ = self._peek()
        return kind == "mark" and written == mark

    def _skip_newlines(self) -> None:
        while self._peek()[0] == "newline":
            self._at += 1

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while self._peek()[0] in ("bare", "string"):
            kind, written, _ = self._peek()
            parts.append(_unquote(written) if kind == "string" else written)
            self._at += 1
            if not self._is("."):
                break
            self._at += 1
        return tuple(parts)

    def _header(self, line: int) -> Keys:
        """`[a.b]` or `[[a.b]]`: the place where the pairs after it belong."""
        self._at += 1
        many = self._is("[")
        self._at += many
        place: Keys = ()
        parts = self._key()
        for index, part in enumerate(parts):
            place = (*place, part)
            self.lines.setdefault(place, line)
            last = index == len(parts) - 1
            if last and many:
                self._arrays[place] = self._arrays.get(place, -1) + 1
            if place in self._arrays:
                place = (*place, self._arrays[place])
                self.lines.setdefault(place, line)
        while self._is("]"):
            self._at += 1
        self.last = (parts, line)
        return place

    def _pair(self, table: Keys) -> None:
        """`key = value`; at anything else, the scan moves on by one token."""
        start = self._at
        line = self._peek()[2]
        place = table
        for part in self._key():
            place = (*place, part)
            self.lines.setdefault(place, line)
        self.last = (place, line)
        if self._is("="):
            self._at += 1
            self._value(place)
        if not self._cut:
            self.last = (place, line)
        if self._at == start:
            self._at += 1

    def _value(self, place: Keys) -> None:
        if self._is("["):
            self._array(place)
        elif self._is("{"):
            self._inline(place)
        else:
            while self._peek()[0] in ("bare", "string") or self._is("."):
                self._at += 1

    def _array(self, place: Keys) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip_newlines()
            if self._peek()[0] == "end":
                self._cut = True
                return
            if self._is("]"):
                self._at += 1
                return
            if self._is(","):
                self._at += 1
                index += 1
                continue
            start = self._at
            self.lines.setdefault((*place, index), self._peek()[2])
            self._value((*place, index))
            self._at += self._at == start

    def _inline(self, place: Keys) -> None:
        self._at += 1
        while True:
            self._skip_newlines()
            if self._peek()[0] == "end":
                self._cut = True
                return
            if self._is("}"):
                self._at += 1
                return
            if self._is(","):
                self._at += 1
                continue
            self._pair(place)


def _unquote(written: str) -> str:
    """A quoted key as TOML reads it."""
    if written.startswith("'"):
        return written[1:-1]
    if "\\" not in written:
        return written[1:-1]
    import tomli

    return str(tomli.loads(f"key = {written}")["key"])


def toml_lines(text: str) -> Lines:
    """The line of each key and list item of a valid TOML text."""
    scan = _Scan(text)
    scan.statements()
    return scan.lines

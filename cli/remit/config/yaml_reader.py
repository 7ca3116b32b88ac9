"""YAML to plain values with lines, from the parser's events.

Only what a configuration needs: one document, string keys, no tags, no merge keys, and the scalar
words of YAML 1.2 (`yes`, `no`, `on`, `off`, `010` and dates stay strings). Duplicate keys are faults.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from remit.base.errors import Fault, Faults
from remit.base.text import shorten
from remit.config.document import Keys, Lines

MAX_DEPTH = 64
MAX_VALUES = 100_000

_NOT_ALLOWED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18})\Z")
_BASED = re.compile(r"0(?:o[0-7]{1,21}|x[0-9a-fA-F]{1,16})\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class _Open:
    """A mapping or list whose end has not come yet."""

    __slots__ = ("anchor", "first_seen", "key", "keys", "size", "value")

    def __init__(self, value: dict[str, Any] | list[Any], keys: Keys, anchor: str | None) -> None:
        self.value = value
        self.keys = keys
        self.anchor = anchor
        self.key: str | None = None
        self.first_seen: dict[str, int] = {}
        self.size = 1


class _Builder:
    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[Fault] = []
        self.lines: Lines = {}
        self.root: Any = None
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0
        self._documents = 0
        self._handlers: dict[str, Callable[[Any, int], None]] = {
            "DocumentStartEvent": self._on_document_start,
            "ScalarEvent": self._on_scalar,
            "AliasEvent": self._on_alias,
            "MappingStartEvent": lambda event, line: self._start({}, event, line),
            "SequenceStartEvent": lambda event, line: self._start([], event, line),
            "MappingEndEvent": lambda event, line: self._end(),
            "SequenceEndEvent": lambda event, line: self._end(),
        }

    def stop(self, line: int, message: str, hint: str = "") -> Faults:
        return Faults([*self.faults, Fault(message, f"{self.path}:{line}", hint)])

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        handle = self._handlers.get(type(event).__name__)
        if handle is not None:
            handle(event, line)

    def _on_document_start(self, event: Any, line: int) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self.stop(line, "a second YAML document starts here", "one file holds one document: remove the `---`")

    def _on_scalar(self, event: Any, line: int) -> None:
        self._refuse_tag(event, line)
        value = _scalar(event.value) if event.style is None or event.style == "" else event.value
        if self._wants_key():
            self._set_key(value, event.value, line)
            return
        self._place(value, line, 1)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)

    def _on_alias(self, event: Any, line: int) -> None:
        if self._wants_key():
            raise self.stop(line, f"the alias *{event.anchor} is used as a key", "write the key out")
        if any(frame.anchor == event.anchor for frame in self._open):
            raise self.stop(line, f"the alias *{event.anchor} contains itself", "write the value out")
        if event.anchor not in self._anchors:
            raise self.stop(line, f"the alias *{event.anchor} has no anchor &{event.anchor} before it")
        value, size = self._anchors[event.anchor]
        self._place(value, line, size)

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _refuse_tag(self, event: Any, line: int) -> None:
        if event.tag is not None:
            self.faults.append(
                Fault(f"the tag {shorten(event.tag)} is not supported", f"{self.path}:{line}", "remove it")
            )

    def _set_key(self, value: Any, written: str, line: int) -> None:
        frame = self._open[-1]
        if written == "<<":
            self.faults.append(
                Fault("merge keys (`<<`) are not supported", f"{self.path}:{line}", "write the keys out")
            )
        elif not isinstance(value, str):
            self.faults.append(
                Fault(f"the key {shorten(value)} is not a string", f"{self.path}:{line}", "put it in quotes")
            )
        first = frame.first_seen.setdefault(written, line)
        if written in frame.value:
            self.faults.append(
                Fault(f"the key {shorten(written)} is given twice", f"{self.path}:{line}", f"first on line {first}")
            )
        frame.key = written

    def _place(self, value: Any, line: int, size: int) -> None:
        self._values += size
        if self._values > MAX_VALUES:
            raise self.stop(line, f"the file holds more than {MAX_VALUES} values once its aliases are written out")
        if not self._open:
            self.root = value
            return
        frame = self._open[-1]
        frame.size += size
        if isinstance(frame.value, list):
            self.lines[(*frame.keys, len(frame.value))] = line
            frame.value.append(value)
            return
        key = frame.key or ""
        self.lines.setdefault((*frame.keys, key), frame.first_seen.get(key, line))
        frame.value[key] = value
        frame.key = None

    def _start(self, value: dict[str, Any] | list[Any], event: Any, line: int) -> None:
        self._refuse_tag(event, line)
        if self._wants_key():
            raise self.stop(line, "a list or mapping is used as a key", "keys are strings")
        if len(self._open) >= MAX_DEPTH:
            raise self.stop(line, f"values are nested deeper than {MAX_DEPTH} levels")
        self._place(value, line, 1)
        self._open.append(_Open(value, self._keys_of_last(), event.anchor))

    def _keys_of_last(self) -> Keys:
        """The place of the value that was placed last."""
        if not self._open:
            return ()
        frame = self._open[-1]
        last = len(frame.value) - 1 if isinstance(frame.value, list) else next(reversed(frame.value))
        return (*frame.keys, last)

    def _end(self) -> None:
        frame = self._open.pop()
        if self._open:
            self._open[-1].size += frame.size - 1
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, frame.size)


def _scalar(written: str) -> Any:
    """A plain scalar by the core schema of YAML 1.2; what is no other word is a string."""
    if written in _WORDS:
        return _WORDS[written]
    if _INT.match(written):
        return int(written)
    if _BASED.match(written):
        return int(written[2:], 8 if written[1] == "o" else 16)
    if _FLOAT.match(written) and len(written) <= 100 and not written.lstrip("+-").isdigit():
        return float(written)
    return written


def read_yaml(text: str, path: str) -> tuple[Any, Lines, list[Fault]]:
    """The values of a YAML text, the line of each, and the faults that leave the rest readable, such as
    a key given twice. Raises Faults for what cannot be read."""
    import yaml

    odd = _NOT_ALLOWED.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        raise Faults([Fault(f"the character U+{ord(odd[0]):04X} is not allowed", f"{path}:{line}", "remove it")])
    builder = _Builder(path)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.YAMLError as problem:
        raise builder.stop(*_syntax(problem)) from None
    if builder.root is None and not builder.faults:
        raise Faults([Fault("the file is empty", f"{path}:1")])
    return builder.root, builder.lines, builder.faults


def _syntax(problem: Any) -> tuple[int, str]:
    """Line and message of the parser's complaint."""
    mark = getattr(problem, "problem_mark", None) or getattr(problem, "context_mark", None)
    text = getattr(problem, "problem", None) or str(problem).splitlines()[0]
    context = getattr(problem, "context", None)
    start = getattr(problem, "context_mark", None)
    if context:
        text += f" {context}" + (f" that starts on line {start.line + 1}" if start else "")
    return (mark.line + 1 if mark else 1), f"not valid YAML: {text}"

"""The library engine of a search: a linear-time matcher over the files of a walk, for where ripgrep is not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Ground
from remit.base.text import shorten
from remit.workspace.search_regex import LinePattern
from remit.workspace.search_rows import plain_text
from remit.workspace.search_scan import MAX_FILE_BYTES, Counts, Wish
from remit.workspace.search_walk import survey

Check = Callable[[], None]


class LibraryEngine:
    """search_scan.Engine without ripgrep."""

    name = "library"

    def count(self, ground: Ground, pattern: LinePattern, wish: Wish, check: Check) -> Counts:
        matcher = compile_lines(pattern)
        deadline = time.monotonic() + wish.seconds
        found = survey(ground, wish, check)
        counts = Counts(found, stopped=found.stopped)
        for name in found.names:
            check()
            if time.monotonic() > deadline:
                counts.stopped = "time"
                break
            self._count_file(ground, name, matcher, wish, counts)
        return counts

    def lines(self, files: Sequence[BinaryIO], pattern: LinePattern, most: int, check: Check) -> list[list[int]]:
        matcher = compile_lines(pattern)
        found = []
        for file in files:
            check()
            file.seek(0)
            found.append([number for number, _ in zip(matcher.numbers(file.read()), range(most), strict=False)])
        return found

    def _count_file(self, ground: Ground, name: str, matcher: Matcher, wish: Wish, counts: Counts) -> None:
        try:
            with ground.open(name) as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except (Failure, OSError):
            counts.unreadable.append(name)
            return
        data = plain_text(data)
        if b"\0" in data:
            if wish.last_parts is None:
                counts.binary.append(name)
        elif number := sum(1 for _ in matcher.numbers(data)):
            counts.lines[name] = number


# -- matching ----------------------------------------------------------------------------------


class Matcher:
    """A pattern ready to be held against lines."""

    def __init__(self, whole: Any, line: Any) -> None:
        """whole: for a first look at many lines at once; line: for one."""
        self._whole = whole
        self._line = line

    def numbers(self, data: bytes) -> Iterator[int]:
        """The numbers of the lines that match, from 1."""
        data = _without_broken(plain_text(data))
        if data and self._whole.search(data) is None:
            return
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, 1):
            if self._line.search(line) is not None:
                yield number


def _without_broken(data: bytes) -> bytes:
    """The bytes with each that is no UTF-8 as one that no expression matches."""
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return b"".join(_spelled(run) for run in _runs(text))
    return data


def _runs(text: str) -> Iterator[str]:
    start = 0
    for at, char in enumerate(text):
        if "\udc80" <= char <= "\udcff":
            yield text[start:at]
            yield char
            start = at + 1
    yield text[start:]


def _spelled(run: str) -> bytes:
    return b"\xff" if len(run) == 1 and "\udc80" <= run <= "\udcff" else run.encode()


def compile_lines(pattern: LinePattern) -> Matcher:
    """Raises Failure(invalid_arguments) with the words of re2."""
    import re2  # only a search without ripgrep needs it

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 16 << 20
    try:
        return Matcher(re2.compile(f"(?m){pattern.re2}", options), re2.compile(pattern.re2, options))
    except re2.error as problem:
        words = problem.args[0] if problem.args else "it cannot be read"
        words = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS, f"the pattern {shorten(pattern.text)} is no valid expression: {words}"
        ) from None

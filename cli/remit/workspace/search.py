"""Searching a tree of the workspace: names by pattern, lines by expression, and an account of what was left out."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from typing import BinaryIO

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Files, Ground
from remit.base.text import scrub, shorten
from remit.workspace.names import join
from remit.workspace.search_glob import NamePattern
from remit.workspace.search_pick import Pick
from remit.workspace.search_regex import LinePattern
from remit.workspace.search_rows import Row, Span, plain_text, rows_of
from remit.workspace.search_scan import MAX_FILE_BYTES, MAX_NAMES, Counts, Engine, Stopped, Survey, Wish
from remit.workspace.search_walk import Walk, is_large

MAX_JUDGED_FILES = 5000
"""Files with matches that the rules are asked about; with more, totals are lower bounds."""

MAX_COUNTED_LINES = 100_000
"""Matches of a single file that are counted."""

EXAMPLES = 3
SECONDS_ELSEWHERE = 10.0

Check = Callable[[], None]


class LeftOut(msgspec.Struct, rename="camel"):
    """What a search passed over where it looked, none of it by what is looked for. Numbers of files, except:

    withheld: by rules or as credential files, among the first MAX_NAMES names (withheld_of: how many
    that were). ignored: entries that .gitignore keeps out, a directory counting once. skipped_folders,
    nested_repositories: names from the searched directory. special: links to files, pipes and the like.
    """

    withheld: int = 0
    withheld_of: int = 0
    ignored: int = 0
    skipped_folders: list[str] = []
    nested_repositories: list[str] = []
    special: int = 0
    too_large: int = 0
    binary: int = 0
    unreadable: int = 0


class Elsewhere(msgspec.Struct):
    """Files that would have matched among what is ignored or skipped by default. examples: the first few."""

    files: int
    examples: list[str]
    exact: bool = True


class NamesFound(msgspec.Struct):
    """names: the first ones, from the searched directory. total: of all; exact: False where there may be more."""

    names: list[str]
    total: int
    exact: bool
    left_out: LeftOut
    stopped: Stopped = ""
    elsewhere: Elsewhere | None = None


class LinesFound(msgspec.Struct):
    """rows: the first matches with their context. shown, total: matches; files: with matches; searched: files."""

    rows: list[Row]
    shown: int
    total: int
    files: int
    searched: int
    exact: bool
    left_out: LeftOut
    stopped: Stopped = ""
    elsewhere: Elsewhere | None = None


@cache
def default_engine() -> Engine:
    """ripgrep where it is installed, else the library."""
    from remit.workspace.search_ripgrep import RipgrepEngine, find_ripgrep

    path = find_ripgrep()
    if path is not None:
        return RipgrepEngine(path)
    from remit.workspace.search_library import LibraryEngine

    return LibraryEngine()


def find_names(ground: Ground, pattern: NamePattern, most: int, check: Check) -> NamesFound:
    """The files below whose names fit, at most `most` of them, by name."""
    wanted, every = Pick(pattern, MAX_NAMES + 1), Pick(None, MAX_NAMES)
    walk = Walk(ground, check, [wanted, every], leads=pattern)
    walk.run()
    scope = _Scope(ground, walk.found, every.names)
    names = _shown(ground, wanted.names[:MAX_NAMES])
    exact = len(wanted.names) <= MAX_NAMES and not walk.found.stopped
    found = NamesFound([scrub(name) for name in names[:most]], len(names), exact, scope.account(), walk.found.stopped)
    if not names and scope.has_elsewhere:
        found.elsewhere = _names_elsewhere(ground, pattern, check)
    return found


def _names_elsewhere(ground: Ground, pattern: NamePattern, check: Check) -> Elsewhere | None:
    wanted = Pick(pattern, MAX_NAMES + 1)
    walk = Walk(ground, check, [wanted], leads=pattern, everything=True, seconds=SECONDS_ELSEWHERE, until_full=True)
    walk.run()
    return _elsewhere(ground, wanted.names, bool(walk.found.stopped))


def find_lines(
    engine: Engine,
    ground: Ground,
    pattern: LinePattern,
    include: NamePattern | None,
    most: int,
    span: Span,
    check: Check,
) -> LinesFound:
    """The lines below that match, at most `most` of them, by name of their files."""
    counts = engine.count(ground, pattern, Wish(include), check)
    scope = _Scope(ground, counts.survey, counts.survey.names[:MAX_NAMES])
    matched, exact = scope.matched(counts, include)
    left_out = scope.account(counts, include)
    stopped = counts.stopped or counts.survey.stopped
    searched = counts.survey.number - left_out.withheld - left_out.binary - scope.left_late
    total = sum(counts.lines[name] for name in matched)
    found = LinesFound([], 0, total, len(matched), searched, exact and not stopped, left_out, stopped)
    _fill(found, engine, ground, pattern, _first(matched, counts.lines, most), most, span, check)
    if not matched and scope.has_elsewhere:
        more = engine.count(ground, pattern, Wish(include, everything=True, seconds=SECONDS_ELSEWHERE), check)
        fitting, _ = _Scope(ground, more.survey, []).matched(more, include)
        found.elsewhere = _elsewhere(ground, fitting, bool(more.stopped))
    return found


def find_lines_of(
    engine: Engine, files: Files, name: str, pattern: LinePattern, most: int, span: Span, check: Check
) -> LinesFound:
    """The lines of one declared file that match. Raises Failure(file_too_large, binary_content)."""
    with files.open(name) as file:
        data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise Failure(
                ErrorCode.FILE_TOO_LARGE,
                f"{shorten(name)} is larger than {MAX_FILE_BYTES} bytes (5 MiB), the most that is searched",
            )
        if b"\0" in plain_text(data):
            raise Failure(ErrorCode.BINARY_CONTENT, f"{shorten(name)} holds binary content; only text is searched")
        numbers = engine.lines([file], pattern, MAX_COUNTED_LINES, check)[0]
    rows, shown = rows_of(name, data, numbers, most, span)
    exact = len(numbers) < MAX_COUNTED_LINES
    return LinesFound(rows, shown, len(numbers), 1 if numbers else 0, 1, exact, LeftOut())


def _first(matched: Sequence[str], counts: dict[str, int], most: int) -> list[str]:
    """The first files that hold `most` matches between them."""
    taken: list[str] = []
    held = 0
    for name in matched:
        if held >= most:
            break
        taken.append(name)
        held += counts[name]
    return taken


def _fill(
    found: LinesFound,
    engine: Engine,
    ground: Ground,
    pattern: LinePattern,
    names: Sequence[str],
    most: int,
    span: Span,
    check: Check,
) -> None:
    """Read the lines of these files. Each is opened anew, itself: what its name led to while ripgrep ran is
    not taken on trust."""
    with ExitStack() as stack:
        opened: list[tuple[str, BinaryIO]] = []
        for name in names:
            try:
                opened.append((name, stack.enter_context(ground.open(name))))
            except (Failure, OSError):
                found.left_out.unreadable += 1
        if not opened:
            return
        numbers = engine.lines([file for _, file in opened], pattern, most, check)
        for (name, file), hits in zip(opened, numbers, strict=True):
            file.seek(0)
            shown = scrub(join(ground.name, name))
            rows, number = rows_of(shown, file.read(MAX_FILE_BYTES), hits, most - found.shown, span)
            found.rows += rows
            found.shown += number


class _Scope:
    """What a survey found, as far as it may be told. names: the first files in order."""

    def __init__(self, ground: Ground, survey: Survey, names: Sequence[str]) -> None:
        self._ground = ground
        self._survey = survey
        self._closed = frozenset([*survey.nested, *survey.ignored])
        self._large = set(survey.large)
        self._judged = len(names)
        self._withheld = self._judged - len(_shown(ground, names))

    def matched(self, counts: Counts, include: NamePattern | None) -> tuple[list[str], bool]:
        """The files with matches that may be shown, by name; and whether that is all, or the rules would be asked
        of too many."""
        names = [name for name in counts.lines if self._covers(name, include)]
        first = _shown(self._ground, _ordered(names, MAX_JUDGED_FILES))
        return [name for name in first if not self._is_large(name)], len(names) <= MAX_JUDGED_FILES

    @property
    def left_late(self) -> int:
        """How many large files the survey had not told from others."""
        return len(self._large) - len(self._survey.large)

    @property
    def has_elsewhere(self) -> bool:
        return bool(self._survey.ignored or self._survey.skipped or self._survey.nested)

    def account(self, counts: Counts | None = None, include: NamePattern | None = None) -> LeftOut:
        survey = self._survey
        binary, unreadable = (counts.binary, counts.unreadable) if counts else ((), ())
        spoiled = [name for name in binary if self._covers(name, include) and not self._is_large(name)]
        broken = {*survey.unreadable, *(name for name in unreadable if not self._is_closed(name))}
        return LeftOut(
            withheld=self._withheld,
            withheld_of=self._judged,
            ignored=self._number(survey.ignored),
            skipped_folders=self._listed(survey.skipped),
            nested_repositories=self._listed(survey.nested),
            special=self._number(survey.special),
            too_large=self._number(self._large),
            binary=self._number(spoiled),
            unreadable=self._number(broken),
        )

    def _covers(self, name: str, include: NamePattern | None) -> bool:
        """Whether a file that was counted is one of those wanted; it may be newer than the survey."""
        return (include is None or include.matches(name)) and not self._is_closed(name)

    def _is_closed(self, name: str) -> bool:
        """Whether a file is left out, or lies in a directory that is."""
        end = len(name) if self._closed else -1
        while end > 0 and name[:end] not in self._closed:
            end = name.rfind("/", 0, end)
        return end > 0

    def _is_large(self, name: str) -> bool:
        if not self._survey.sized and name not in self._large:
            # One that is gone is told of when it cannot be opened.
            with suppress(OSError):
                if is_large(self._ground.fd, name):
                    self._large.add(name)
        return name in self._large

    def _listed(self, names: Iterable[str]) -> list[str]:
        return [scrub(name) for name in _shown(self._ground, sorted(names)[:MAX_NAMES])]

    def _number(self, names: Iterable[str]) -> int:
        """How many of them are told of: none that rules withhold, as far as the rules are asked."""
        ordered = sorted(names)
        return len(_shown(self._ground, ordered[:MAX_NAMES])) + len(ordered[MAX_NAMES:])


def _shown(ground: Ground, names: Iterable[str]) -> list[str]:
    """Those that may be shown."""
    return [name for name in names if ground.shows(name)]


def _by_parts(name: str) -> str:
    """Sorts names part by part: nothing sorts before the end of a part."""
    return name.replace("/", "\0")


def _ordered(names: Sequence[str], most: int) -> list[str]:
    """The first `most` names."""
    return sorted(names, key=_by_parts) if len(names) <= most else heapq.nsmallest(most, names, key=_by_parts)


def _elsewhere(ground: Ground, names: Iterable[str], more: bool) -> Elsewhere | None:
    every = list(names)
    shown = _shown(ground, _ordered(every, MAX_NAMES))
    if not shown:
        return None
    examples = [scrub(name) for name in shown[:EXAMPLES]]
    return Elsewhere(len(shown), examples, exact=not more and len(every) <= MAX_NAMES)

"""Searching a tree of the workspace: names by pattern, lines by expression, and an account of what was left out."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import BinaryIO

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Files, Ground
from remit.base.text import scrub, shorten
from remit.workspace.names import join
from remit.workspace.search_glob import NamePattern
from remit.workspace.search_regex import LinePattern
from remit.workspace.search_rows import Row, Span, plain_text, rows_of
from remit.workspace.search_scan import MAX_FILE_BYTES, Engine, Scan, Stopped, Wish

MAX_JUDGED_NAMES = 500
"""Names, the first ones in order, of which it is counted how many rules withhold."""

MAX_JUDGED_FILES = 5000
"""Files with matches that the rules are asked about; with more, totals are lower bounds."""

MAX_COUNTED_LINES = 100_000
"""Matches of a single file that are counted."""

EXAMPLES = 3
SECONDS_ELSEWHERE = 10.0

Check = Callable[[], None]


class LeftOut(msgspec.Struct, rename="camel"):
    """What a search passed over, none of it by what is looked for. Numbers of files, except:

    withheld: by rules or as credential files, among the first MAX_JUDGED_NAMES names (withheld_of: how many
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
    from remit.workspace.search_walk import LibraryEngine

    return LibraryEngine()


def unnested(scan: Scan) -> list[str]:
    """The files of a scan without those of repositories of their own."""
    closed = tuple(f"{name}/" for name in set(scan.nested))
    return [name for name in scan.names if not name.startswith(closed)] if closed else scan.names


def find_names(engine: Engine, ground: Ground, pattern: NamePattern, most: int, check: Check) -> NamesFound:
    """The files below whose names fit, at most `most` of them, by name."""
    scan = engine.names(ground, Wish(), check)
    scope = _Scope(ground, scan, None)
    names, exact = scope.shown(pattern.among(scope.names), MAX_JUDGED_NAMES)
    scope.judge()
    found = NamesFound([scrub(name) for name in names[:most]], len(names), exact, scope.account(), scan.stopped)
    found.exact = exact and not scan.stopped
    if not names and scope.has_elsewhere:
        wider = engine.names(ground, Wish(everything=True, seconds=SECONDS_ELSEWHERE), check)
        fitting = pattern.among(wider.names)
        found.elsewhere = _elsewhere(ground, fitting, bool(wider.stopped))
    return found


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
    wish = Wish(MAX_FILE_BYTES, include.last_parts if include else None)
    scopes: list[_Scope] = []

    def scanned(scan: Scan) -> None:
        scopes.append(_Scope(ground, scan, include))
        scopes[0].judge()

    counts = engine.count(ground, pattern, wish, check, scanned)
    scope = scopes[0]
    matched, exact = scope.shown([name for name in counts.lines if scope.covers(name)], MAX_JUDGED_FILES)
    left_out = scope.account(counts.binary, counts.unreadable)
    stopped = counts.stopped or scope.stopped
    searched = len(scope.names) - left_out.withheld - left_out.binary
    total = sum(counts.lines[name] for name in matched)
    found = LinesFound([], 0, total, len(matched), searched, exact and not stopped, left_out, stopped)
    _fill(found, engine, ground, pattern, _first(matched, counts.lines, most), most, span, check)
    if not matched and scope.has_elsewhere:
        wider = Wish(wish.max_bytes, wish.last_parts, everything=True, seconds=SECONDS_ELSEWHERE)
        more = engine.count(ground, pattern, wider, check, lambda _: None)
        fitting = [name for name in more.lines if include is None or include.matches(name)]
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
    """The files of a scan that a search is about."""

    def __init__(self, ground: Ground, scan: Scan, include: NamePattern | None) -> None:
        self._ground = ground
        self._scan = scan
        self._nested = sorted(set(scan.nested))
        self._closed = tuple(f"{name}/" for name in self._nested)
        names = [name for name in scan.names if not self._below_nested(name)] if self._closed else scan.names
        self.names = names if include is None else include.among(names)
        self.stopped = scan.stopped
        self._known = None if include is None else frozenset(self.names)

    def covers(self, name: str) -> bool:
        """Whether a file that was counted is one of these; it may be newer than the scan."""
        return not self._below_nested(name) if self._known is None else name in self._known

    def judge(self) -> None:
        """Ask the rules what the account will need."""
        first = heapq.nsmallest(MAX_JUDGED_NAMES, self.names)
        self._judged = len(first)
        self._withheld = sum(not self._ground.shows(name) for name in first)

    def shown(self, names: Sequence[str], most: int) -> tuple[list[str], bool]:
        """Those that may be shown, by name; and whether that is all, or the rules would be asked of too many."""
        return [name for name in _ordered(names, most) if self._ground.shows(name)], len(names) <= most

    @property
    def has_elsewhere(self) -> bool:
        return bool(self._scan.ignored or self._scan.skipped or self._nested)

    def account(self, binary: Sequence[str] = (), unreadable: Sequence[str] = ()) -> LeftOut:
        scan = self._scan
        broken = {*scan.unreadable, *unreadable}
        return LeftOut(
            withheld=self._withheld,
            withheld_of=self._judged,
            ignored=self._number(scan.ignored),
            skipped_folders=self._listed(scan.skipped),
            nested_repositories=self._listed(self._nested),
            special=self._number(scan.special),
            too_large=self._number(scan.too_large),
            binary=self._number(name for name in binary if self.covers(name)),
            unreadable=self._number(broken),
        )

    def _listed(self, names: Iterable[str]) -> list[str]:
        inside = sorted(name for name in names if not self._below_nested(name))
        return [scrub(name) for name in inside[:MAX_JUDGED_NAMES] if self._ground.shows(name)]

    def _number(self, names: Iterable[str]) -> int:
        """How many of them are told of: none that rules withhold, as far as the rules are asked."""
        inside = sorted(name for name in names if not self._below_nested(name))
        return sum(self._ground.shows(name) for name in inside[:MAX_JUDGED_NAMES]) + len(inside[MAX_JUDGED_NAMES:])

    def _below_nested(self, name: str) -> bool:
        return bool(self._closed) and name.startswith(self._closed)


def _by_parts(name: str) -> str:
    """Sorts names part by part: nothing sorts before the end of a part."""
    return name.replace("/", "\0")


def _ordered(names: Sequence[str], most: int) -> list[str]:
    """The first `most` names."""
    return sorted(names, key=_by_parts) if len(names) <= most else heapq.nsmallest(most, names, key=_by_parts)


def _elsewhere(ground: Ground, names: Iterable[str], more: bool) -> Elsewhere | None:
    every = list(names)
    shown = [name for name in _ordered(every, MAX_JUDGED_NAMES) if ground.shows(name)]
    if not shown:
        return None
    examples = [scrub(name) for name in shown[:EXAMPLES]]
    return Elsewhere(len(shown), examples, exact=not more and len(every) <= MAX_JUDGED_NAMES)

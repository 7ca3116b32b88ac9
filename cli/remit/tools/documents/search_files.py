"""search_files: the lines of the workspace that contain an exact phrase."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, Bounds
from remit.base.ports import Entry, Files, ToolContext, Walk, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool
from remit.tools.documents._text_files import check_readable, read_bytes
from remit.workspace.decode import decode_text
from remit.workspace.pages import json_bytes

MAX_FILES = 2000
MAX_MATCHES = 200
MAX_QUERY = 1000
MAX_LINE = 300
_FRAME_BYTES = 2 * KIB
_LINE_END = re.compile(r"[\r\n]")


class SearchFilesParams(msgspec.Struct, forbid_unknown_fields=True):
    query: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=MAX_QUERY,
            description="The exact phrase, within one line; upper and lower case differ. Not a regular expression.",
        ),
    ]
    path: Annotated[
        str, msgspec.Meta(description="Directory or file to search, relative to the workspace; '.' is all of it.")
    ] = "."

    def __post_init__(self) -> None:
        if _LINE_END.search(self.query):
            raise ValueError("query contains a line break; a phrase is searched within single lines")


class SearchFiles(Tool):
    """Find the lines that contain an exact phrase, in the text files of the workspace.

    The phrase is matched literally and case-sensitively within a line; it is not a regular expression.
    Up to 2,000 supported files (the types of read_file) of at most 2 MiB each are scanned, and up
    to 200 matches returned, in order of path: file, line (number, from 1), text (the line) and
    offset (where the line starts, for read_file). Lines over 300 characters are clipped around the
    phrase: clipped is true and column says where it starts in the line. skipped counts what was not
    searched, by reason. truncated is true when a limit ended the search early, and limit names it:
    files, matches, or output (the matches would not fit the result).
    """

    name = "search_files"
    toolset = "documents"
    effects = frozenset({Effect.READ})
    bounds = Bounds(output_bytes=128 * KIB)
    repeatable = True
    Params = SearchFilesParams

    def resources(self, params: SearchFilesParams, world: World) -> Sequence[Resource]:
        return [world.tree(params.path, Effect.READ)]

    async def run(self, params: SearchFilesParams, ctx: ToolContext) -> Outcome:
        return done(await ctx.in_thread(_search, params, ctx, self.bounds.output_bytes))


class _Skipped(msgspec.Struct, rename="camel"):
    """What was not searched, by reason: files, and links and folders that the walk did not enter."""

    too_large: int = 0
    unsupported: int = 0
    credential: int = 0
    binary: int = 0
    unreadable: int = 0
    withheld: int = 0
    outside_links: int = 0
    linked_folders: int = 0
    overfull_folders: int = 0


_REASONS = {
    ErrorCode.FILE_TOO_LARGE: "too_large",
    ErrorCode.UNSUPPORTED_FORMAT: "unsupported",
    ErrorCode.NOT_A_FILE: "unsupported",
    ErrorCode.FILE_REFUSED: "credential",
    ErrorCode.BINARY_CONTENT: "binary",
    ErrorCode.DENIED: "withheld",
}
"""What a file that could not be read counts as; all else is unreadable."""


class _Search:
    """One search: what was found so far, what was passed over, and which limit ended it."""

    def __init__(self, query: str, files: Files, room: int) -> None:
        self.matches: list[dict[str, Any]] = []
        self.scanned = 0
        self.skipped = _Skipped()
        self.limit: Literal["", "files", "matches", "output"] = ""
        self._query = query
        self._files = files
        self._room = room

    def scan(self, entry: Entry) -> None:
        """Search one file. Raises Failure for a file that is not searched."""
        check_readable(entry)
        if self.scanned == MAX_FILES:
            self.limit = "files"
            return
        data = read_bytes(self._files, entry.name)
        self.scanned += 1
        for match in _matches(entry.name, data, self._query):
            self._room -= json_bytes(match) + 1
            if len(self.matches) == MAX_MATCHES or self._room < 0:
                self.limit = "output" if self._room < 0 else "matches"
                return
            self.matches.append(match)

    def skip(self, failure: Failure) -> None:
        reason = _REASONS.get(failure.code, "unreadable")
        setattr(self.skipped, reason, getattr(self.skipped, reason) + 1)


def _search(params: SearchFilesParams, ctx: ToolContext, max_bytes: int) -> dict[str, Any]:
    top = ctx.files.stat(params.path)
    search = _Search(params.query, ctx.files, max_bytes - _FRAME_BYTES - json_bytes(top.name))
    if top.kind == "directory":
        _search_tree(params.path, ctx, search)
    else:
        search.scan(top)
    data: dict[str, Any] = {
        "path": top.name,
        "matches": search.matches,
        "filesScanned": search.scanned,
        "skipped": msgspec.to_builtins(search.skipped),
        "truncated": bool(search.limit),
    }
    if search.limit:
        data["limit"] = search.limit
    return data


def _search_tree(path: str, ctx: ToolContext, search: _Search) -> None:
    walk = ctx.files.walk(path)
    for entry in walk:
        ctx.check_cancelled()
        if entry.kind == "directory":
            continue
        try:
            search.scan(entry)
        except Failure as failure:
            search.skip(failure)
        if search.limit:
            break
    _account(walk, search.skipped)


def _account(walk: Walk, skipped: _Skipped) -> None:
    skipped.withheld += walk.withheld
    skipped.unreadable += walk.unreadable
    skipped.outside_links += walk.outside
    skipped.linked_folders += walk.unfollowed
    skipped.overfull_folders += walk.overfull


def _matches(name: str, data: bytes, query: str) -> Iterator[dict[str, Any]]:
    """The lines of a file that contain the phrase; a line ends with LF, CR LF or CR."""
    text = decode_text(data).text
    number, counted = 1, 0
    hit = text.find(query)
    while hit >= 0:
        start = max(text.rfind("\n", counted, hit), text.rfind("\r", counted, hit), counted - 1) + 1
        number += _line_ends(text, counted, start)
        found = _LINE_END.search(text, hit)
        end = found.start() if found else len(text)
        yield _match(name, number, text[start:end], hit - start, len(query), start)
        counted = start
        hit = text.find(query, end)


def _line_ends(text: str, start: int, end: int) -> int:
    lf, cr = text.count("\n", start, end), text.count("\r", start, end)
    return lf + cr - text.count("\r\n", start, end) if cr else lf


def _match(name: str, number: int, line: str, column: int, length: int, offset: int) -> dict[str, Any]:
    match: dict[str, Any] = {"file": name, "line": number, "text": line, "offset": offset}
    if len(line) > MAX_LINE:
        width = max(MAX_LINE, length)
        first = max(0, min(column - (width - length) // 2, len(line) - width))
        match |= {"text": line[first : first + width], "clipped": True, "column": column + 1}
    return match

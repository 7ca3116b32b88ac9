"""tool_output: the results of this run that are kept whole, page by page, or searched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import head
from remit.tools.contract import LARGEST, Tool

PAGE_BYTES = 50 * KIB
READ_LINES = 200
MAX_READ_LINES = 2000
MATCHES = 100
MAX_MATCHES = 200
MAX_CONTEXT = 5
MAX_LINE_CHARS = 2000
"""Of a row that a search shows."""

_FRAME_BYTES = 400
"""Room for the first line and the last, without the pattern in it."""

_FRAME_LINES = 8
_MIN_PAGE_BYTES = 500
_BYTES_PER_TOKEN = 4
_LOOKAHEAD = 64

_Line = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


class ToolOutputParams(msgspec.Struct, forbid_unknown_fields=True):
    output_id: Annotated[str, msgspec.Meta(min_length=1, description="The handle.")]
    pattern: Annotated[
        Annotated[str, msgspec.Meta(min_length=1)] | None,
        msgspec.Meta(description="Linear-time regular expression, matched within a line."),
    ] = None
    offset: Annotated[_Line, msgspec.Meta(description="First line, from 1.")] = 1
    limit: Annotated[
        _Line | None,
        msgspec.Meta(description="Lines (default 200, at most 2,000) or matches (100, at most 200)."),
    ] = None
    byte_offset: Annotated[_Count, msgspec.Meta(description="Byte of that line, as a hint says.")] = 0
    context_before: Annotated[_Count, msgspec.Meta(description="Lines before each match, at most 5.")] = 0
    context_after: Annotated[_Count, msgspec.Meta(description="Lines after each match, at most 5.")] = 0


class ToolOutput(Tool):
    """Read on in a result that was cut, or search it with `pattern`. The notice in it names the handle, and the end of
    each answer the call that goes on.
    """

    name = "tool_output"
    toolset = "files"
    awaits = "outputs"
    notes = """\
Without pattern: the lines from offset on, as they are, 200 or `limit` of them and 50 KiB at most; a longer line comes
in pieces. With pattern: the lines that match it, as `number: text`, and context as `number- text`, cut at 2,000
characters. Only results of this run; those longer than 8 KiB are kept even if they were shown whole."""
    effects = frozenset({Effect.STATE})
    bounds = Bounds(output_lines=MAX_READ_LINES + _FRAME_LINES)
    repeatable = True
    harness = True
    retained = False
    Params = ToolOutputParams

    def resources(self, params: ToolOutputParams, world: World) -> Sequence[Resource]:
        return [Resource("state", "outputs", Effect.STATE)]

    async def run(self, params: ToolOutputParams, ctx: ToolContext) -> Outcome:
        _check(params)
        outcome: Outcome = await ctx.in_thread(_read if params.pattern is None else _search, params, ctx)
        return outcome


def _check(params: ToolOutputParams) -> None:
    if params.pattern is not None and params.byte_offset:
        raise Failure(ErrorCode.INVALID_ARGUMENTS, "byte_offset is for reading; leave it out where there is a pattern")
    if params.pattern is None and (params.context_before or params.context_after):
        raise Failure(ErrorCode.INVALID_ARGUMENTS, "context_before and context_after are for searching; add a pattern")


def _lines(params: ToolOutputParams, ctx: ToolContext) -> tuple[list[bytes], int]:
    """The lines of the output without their ends, and its size in bytes."""
    data = ctx.state.output(params.output_id).encode()
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if params.offset > max(1, len(lines)):
        raise Failure(
            ErrorCode.OFFSET_PAST_END,
            f"offset {params.offset} is behind the end: {params.output_id} has {len(lines)} lines",
        )
    return lines, len(data)


def _room(params: ToolOutputParams, ctx: ToolContext) -> int:
    frame = _FRAME_BYTES + 2 * len((params.pattern or "").encode())
    return max(_MIN_PAGE_BYTES, min(PAGE_BYTES, ctx.state.result_bytes) - frame)


# -- reading -----------------------------------------------------------------------------------


class _Page(msgspec.Struct, frozen=True):
    """text: of the lines `first` to `last`. next: line and byte to go on at, None at the end."""

    text: str
    first: int
    last: int
    next: tuple[int, int] | None


def _read(params: ToolOutputParams, ctx: ToolContext) -> Outcome:
    lines, size = _lines(params, ctx)
    page = _page(lines, params, _room(params, ctx))
    shown = len(page.text.encode())
    data: dict[str, Any] = {
        "output_id": params.output_id,
        "line_start": page.first,
        "line_end": page.last,
        "total_lines": len(lines),
        "shown_bytes": shown,
        "total_bytes": size,
    }
    facts = f"lines {page.first}-{page.last} of {len(lines)}, about {-(-shown // _BYTES_PER_TOKEN)} tokens"
    text = f"[{params.output_id}: {facts}; {size} bytes are kept]\n\n{page.text}"
    if page.next is None:
        return done(data, text)
    line, at = page.next
    more = {"output_id": params.output_id, "offset": line, **({"byte_offset": at} if at else {})}
    if params.limit is not None:
        more["limit"] = params.limit
    data["next"] = more
    return done(data, f"{text}\n{_going_on(more)}")


def _page(lines: Sequence[bytes], params: ToolOutputParams, room: int) -> _Page:
    """What of the output is on this page. Its first line may begin in the middle, and end there."""
    first, last = params.offset, params.offset - 1
    wanted = lines[first - 1 :][: min(params.limit or READ_LINES, MAX_READ_LINES)]
    pieces: list[str] = []
    at = params.byte_offset
    if at:
        _check_byte(wanted, params)
    for line in wanted:
        rest = line[_character_start(line, at) :]
        if len(rest) + 1 > room:
            if pieces:
                break
            piece = rest[: _character_start(rest, room - 1)]
            return _Page(f"{piece.decode()}\n", first, first, (first, len(line) - len(rest) + len(piece)))
        pieces.append(f"{rest.decode()}\n")
        room -= len(rest) + 1
        last += 1
        at = 0
    return _Page("".join(pieces), first, last, (last + 1, 0) if last < len(lines) else None)


def _check_byte(wanted: Sequence[bytes], params: ToolOutputParams) -> None:
    size = len(wanted[0]) if wanted else 0
    if params.byte_offset > size:
        raise Failure(
            ErrorCode.OFFSET_PAST_END, f"byte_offset {params.byte_offset}: line {params.offset} has {size} bytes"
        )


def _character_start(line: bytes, at: int) -> int:
    """The start of the character that the byte belongs to."""
    while 0 < at < len(line) and line[at] & 0xC0 == 0x80:
        at -= 1
    return at


# -- searching ---------------------------------------------------------------------------------


def _search(params: ToolOutputParams, ctx: ToolContext) -> Outcome:
    from remit.workspace.search_library import compile_lines
    from remit.workspace.search_regex import read_pattern

    matcher = compile_lines(read_pattern(params.pattern or ""))
    lines, size = _lines(params, ctx)
    hits = []
    for number in matcher.numbers(b"\n".join(lines)):
        ctx.check_cancelled()
        if number >= params.offset:
            hits.append(number)
    rows, shown = _rows(lines, hits, params, _room(params, ctx))
    data: dict[str, Any] = {
        "output_id": params.output_id,
        "shown": shown,
        "matches": len(hits),
        "total_lines": len(lines),
        "total_bytes": size,
    }
    if not hits:
        return done(data, "No matches." if params.offset == 1 else f"No matches from line {params.offset} on.")
    text = (
        f"[{params.output_id}: {shown} of {len(hits)} matching lines; {len(lines)} lines are kept]\n\n{''.join(rows)}"
    )
    if shown == len(hits):
        return done(data, text)
    data["next"] = {**msgspec.to_builtins(params), "offset": hits[shown - 1] + 1}
    return done(data, f"{text}\n{_going_on(data['next'])}")


def _rows(lines: Sequence[bytes], hits: Sequence[int], params: ToolOutputParams, room: int) -> tuple[list[str], int]:
    """The rows of as many matches as there is room for, at least one, and how many these are."""
    matching = set(hits)
    before, after = min(params.context_before, MAX_CONTEXT), min(params.context_after, MAX_CONTEXT)
    rows: list[str] = []
    done_to = shown = 0
    for hit in hits[: min(params.limit or MATCHES, MAX_MATCHES)]:
        numbers = range(max(done_to + 1, hit - before), min(len(lines), hit + after) + 1)
        group = [_row(number, lines[number - 1], number in matching) for number in numbers]
        room -= sum(len(row.encode()) for row in group)
        if room < 0:
            if rows:
                break
            group = [_row(hit, lines[hit - 1], True)]
        rows += group
        shown += 1
        done_to = max(done_to, numbers.stop - 1)
    return rows, shown


def _row(number: int, line: bytes, match: bool) -> str:
    text = line.decode()
    if len(text) > MAX_LINE_CHARS:
        start = text[:MAX_LINE_CHARS]
        kept = head(text[: MAX_LINE_CHARS + _LOOKAHEAD], len(start.encode())) or start
        text = f"{kept}... [line cut: it has {len(line)} bytes]"
    return f"{number}{':' if match else '-'} {text}\n"


def _going_on(arguments: dict[str, Any]) -> str:
    defaults: Iterator[tuple[str, Any]] = ((name, value) for name, value in arguments.items() if value)
    return f"[more: {ToolOutput.name} {json.dumps(dict(defaults), ensure_ascii=False)}]\n"

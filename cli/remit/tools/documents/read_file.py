"""read_file: the text of one file of the workspace, in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import LARGEST, Tool
from remit.tools.documents._text_files import check_readable, read_text, refuse_credentials
from remit.workspace.pages import json_bytes, page_end


class ReadFileParams(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="File, relative to the workspace, with forward slashes.")]
    offset: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=LARGEST,
            description="Character to start at, from 0: a nextOffset, or the offset of a search match.",
        ),
    ] = 0
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] | None,
        msgspec.Meta(description="At most this many characters; default: as many as a result holds."),
    ] = None


class ReadFile(Tool):
    """Read a text file of the workspace, at most 2 MiB.

    Supported types: .txt .md .markdown .csv .tsv .json .jsonl .yaml .yml .xml .html .htm .log .ini
    .toml .rst .tex .sql .js .ts .py .css. Refused with an error: other types (unsupported_format),
    binary content (binary_content), files that look like credentials (file_refused), larger files
    (file_too_large). Long files come back in pages: pass the result's nextOffset as offset to go on;
    without nextOffset the end was reached. offset, limit and nextOffset count characters of the
    text. A page ends at a line end where it can. encoding says how the bytes were read; replaced:
    true says that some were no text in it and stand as U+FFFD.
    """

    name = "read_file"
    toolset = "documents"
    effects = frozenset({Effect.READ})
    bounds = Bounds(output_bytes=51_200)
    repeatable = True
    Params = ReadFileParams

    def resources(self, params: ReadFileParams, world: World) -> Sequence[Resource]:
        resource = world.path(params.path, Effect.READ)
        refuse_credentials(*resource.names())
        return [resource]

    async def run(self, params: ReadFileParams, ctx: ToolContext) -> Outcome:
        return done(await ctx.in_thread(_read, params, ctx, self.bounds.output_bytes))


def _read(params: ReadFileParams, ctx: ToolContext, max_bytes: int) -> dict[str, Any]:
    entry = ctx.files.stat(params.path)
    check_readable(entry)
    decoded, size = read_text(ctx.files, entry.name)
    text, start = decoded.text, params.offset
    if start >= max(1, len(text)):
        raise Failure(
            ErrorCode.OFFSET_PAST_END,
            f"offset {start} is past the end: {shorten(entry.name)} has {len(text)} characters, counted from 0",
        )
    data: dict[str, Any] = {
        "path": entry.name,
        "content": "",
        "offset": start,
        "nextOffset": len(text),
        "characters": len(text),
        "size": size,
        "encoding": decoded.encoding,
    }
    if decoded.replaced:
        data["replaced"] = True
    end = page_end(text, start, params.limit or len(text), max_bytes - json_bytes(done(data).envelope()))
    data["content"] = text[start:end]
    data["nextOffset"] = end
    if end == len(text):
        del data["nextOffset"]
    return data

"""analyze_csv: exact statistics of a delimited table of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import Files, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import Tool
from remit.tools.documents._table_result import fitted
from remit.tools.documents._text_files import FileKind, check_readable, read_bytes, refuse_credentials
from remit.workspace.decode import decode_text
from remit.workspace.table import MAX_BYTES, read_table

TABLE = FileKind(
    extensions=(".csv", ".tsv", ".txt"),
    max_bytes=MAX_BYTES,
    unsupported="is no table; analyze_csv reads .csv .tsv .txt",
    too_large=f"at most {MAX_BYTES} bytes (10 MiB) are analysed: split it into smaller files",
    binary="holds binary content; only text tables are read",
)

_SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}


class AnalyzeCsvParams(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="A .csv, .tsv or .txt file, relative to the workspace.")]
    delimiter: Annotated[
        str | None,
        msgspec.Meta(description="The one character between cells, or 'tab'; default: detected among , ; tab |"),
    ] = None


class AnalyzeCsv(Tool):
    """Compute exact statistics of a delimited table (.csv, .tsv, .txt) of the workspace.

    Limits: 10 MiB (file_too_large), 200,000 rows below the header (too_many_rows), 200 columns
    (too_many_columns). The first record is the header. Parsing follows RFC 4180: quoted fields,
    doubled quotes, delimiters and line breaks inside of quotes, CRLF or LF; what breaks it is
    csv_invalid with the line. The delimiter is detected from the first lines (, ; tab |) or given.

    Every column has type, values (non-blank cells), missing and distinct. numeric, only if every
    non-blank cell is a number: min, max, sum, mean, median, q1, q3 (linear interpolation) and std
    (sample, n - 1), computed exactly on the decimals as written and rounded once (integers are exact
    to 40 digits). boolean (true/false, yes/no): counts. date (ISO 8601): first and last. text:
    mostFrequent. Not numbers: leading zeros (007), 1,234.5, 1_000, hex, inf, nan, and what a double
    cannot hold (1e400). A mostly numeric column with other values is text, with a warning that names
    examples. Read the warnings. Use these numbers as they are; do not compute from read_file.
    """

    name = "analyze_csv"
    toolset = "documents"
    effects = frozenset({Effect.READ})
    bounds = Bounds(output_bytes=102_400)
    repeatable = True
    Params = AnalyzeCsvParams

    def resources(self, params: AnalyzeCsvParams, world: World) -> Sequence[Resource]:
        _delimiter(params.delimiter)
        resource = world.path(params.path, Effect.READ)
        refuse_credentials(*resource.names())
        return [resource]

    async def run(self, params: AnalyzeCsvParams, ctx: ToolContext) -> Outcome:
        return done(await ctx.in_thread(_analyze, params, ctx.files, ctx.check_cancelled))


def _delimiter(given: str | None) -> str | None:
    """The character meant. Raises Failure(invalid_arguments)."""
    if given is None:
        return None
    character = _SPELLED.get(given.lower(), given)
    if len(character) != 1 or character in '"\r\n\0':
        raise Failure(
            ErrorCode.INVALID_ARGUMENTS,
            f"analyze_csv: delimiter {shorten(given)} is not one character other than a quote or a line break; "
            "give , or ; or | or 'tab', or leave it out to have it detected",
        )
    return character


def _analyze(params: AnalyzeCsvParams, files: Files, check_cancelled: Callable[[], None]) -> dict[str, Any]:
    entry = files.stat(params.path)
    check_readable(entry, TABLE)
    decoded = decode_text(read_bytes(files, entry.name, TABLE))
    default = "\t" if entry.name.lower().endswith(".tsv") else ","
    try:
        table = read_table(decoded.text, _delimiter(params.delimiter), default, check_cancelled)
    except Failure as failure:
        raise Failure(failure.code, f"{shorten(entry.name)}: {failure.message}") from None
    return fitted(entry.name, decoded, table)

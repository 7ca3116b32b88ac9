"""Entries of a directory as the file tools tell of them."""

from __future__ import annotations

from typing import Any

from remit.base.errors import Failure
from remit.base.limits import KIB
from remit.base.ports import Entry, ToolContext
from remit.base.text import visible
from remit.tools.files import _texts
from remit.tools.files._quantity import quantity
from remit.workspace.coded import read_coded
from remit.workspace.decode import looks_binary
from remit.workspace.newlines import unify

MAX_COUNTED_BYTES = 64 * KIB
"""Files of a directory up to this size are opened to count their lines."""

MAX_SCANNED = 10_000


def entry_data(entry: Entry, ctx: ToolContext) -> dict[str, Any]:
    """name, type and, for a file, size and lines."""
    name = entry.name.rsplit("/", 1)[-1]
    # A link to nothing, or to what is no file, is listed as a name.
    data: dict[str, Any] = {"name": name, "type": "directory" if entry.kind == "directory" else "file"}
    if entry.link:
        data["link"] = True
    if entry.kind == "file":
        data["size"] = entry.size
        lines = _line_count(entry, ctx)
        if lines is not None:
            data["lines"] = lines
    return data


def entry_shown(data: dict[str, Any]) -> str:
    """One entry in a line."""
    name = visible(data["name"])
    if data["type"] == "directory":
        return f"{name}/"
    if "lines" in data:
        return f"{name} ({quantity(data['lines'], 'line')})"
    return f"{name} ({data['size']} bytes)" if "size" in data else name


def _line_count(entry: Entry, ctx: ToolContext) -> int | None:
    """Lines of a text file of moderate size as file_read numbers them; None where it is another, or cannot be read."""
    if entry.size > MAX_COUNTED_BYTES:
        return None
    try:
        content = ctx.files.read(entry.name, MAX_COUNTED_BYTES).content or b""
    except Failure:
        return None
    if looks_binary(content[: _texts.LOOKED_AT]):
        return None
    return len(unify(read_coded(content).text).text.split("\n"))

"""What the file tools call a text file, and how they tell of a changed one."""

from __future__ import annotations

from typing import Any

from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB
from remit.base.ports import Change, Original, ToolContext
from remit.base.text import scrub, shorten
from remit.workspace.coded import Coded, Coding, read_coded, write_coded
from remit.workspace.decode import looks_binary
from remit.workspace.difference import MAX_PATCH_BYTES, Diff
from remit.workspace.newlines import Style

MAX_FILE_BYTES = 5 * MIB
LOOKED_AT = 4096
"""Bytes at the start of a file that tell whether it is text."""

STYLES: dict[Style, str] = {"lf": "LF", "crlf": "CRLF", "cr": "CR", "mixed": "mixed LF and CRLF", "none": "none"}


def text_of(original: Original) -> Coded:
    """The text of a file. Raises Failure(binary_content)."""
    assert original.content is not None
    if looks_binary(original.content[:LOOKED_AT]):
        raise Failure(ErrorCode.BINARY_CONTENT, f"{shorten(original.name)} holds binary content; only text is taken")
    return read_coded(original.content)


def editable(original: Original) -> Coded:
    """The text of a file that is to be changed. Raises Failure(not_found, binary_content, invalid_encoding)."""
    if original.content is None:
        raise Failure(ErrorCode.NOT_FOUND, f"{shorten(original.name)} does not exist; file_write makes new files")
    coded = text_of(original)
    if not coded.exact:
        raise Failure(
            ErrorCode.INVALID_ENCODING,
            f"{shorten(original.name)} holds bytes that are no {coded.coding.encoding}, and would be lost; it was not "
            "changed",
        )
    return coded


def refuse_stale(ctx: ToolContext, original: Original) -> None:
    """Raises Failure(file_changed) for a file that is not as the model last saw it. One that it never
    saw may be changed, and one that is gone be written again."""
    seen = ctx.seen(scrub(original.real))
    if seen and original.mark and seen != original.mark:
        raise Failure(
            ErrorCode.FILE_CHANGED,
            f"{shorten(original.name)} changed on disk since you last read or wrote it; nothing was written. "
            "Read it again with file_read, then decide",
        )


def encoded(text: str, coding: Coding, name: str) -> bytes:
    """The bytes of a file. Raises Failure(invalid_encoding, file_too_large)."""
    content = write_coded(text, coding, name)
    if len(content) > MAX_FILE_BYTES:
        raise Failure(
            ErrorCode.FILE_TOO_LARGE,
            f"{shorten(name)} would have {len(content)} bytes; a file has at most {MAX_FILE_BYTES} (5 MiB). "
            "Nothing was written",
        )
    return content


def publish(ctx: ToolContext, change: Change) -> dict[str, str]:
    """One change made; its stamp."""
    (mark,) = ctx.edits.publish([change], ctx.check_cancelled)
    return saw(ctx, change.original, mark)


def saw(ctx: ToolContext, original: Original, mark: str) -> dict[str, str]:
    """The stamp of a file that the model now knows, by its real name: links to it are the same file."""
    return ctx.saw(scrub(original.real), mark)


def diff_data(diff: Diff, name: str) -> dict[str, Any]:
    return {
        "file": name,
        "patch": diff.patch,
        "additions": diff.additions,
        "deletions": diff.deletions,
        "truncated": diff.truncated,
    }


def shown(diff: Diff) -> str:
    """A diff as the model reads it."""
    cut = f"[the diff is cut at {MAX_PATCH_BYTES // 1024} KiB]\n" if diff.truncated else ""
    return f"{diff.patch}{cut}"


def summary(diff: Diff) -> str:
    return f"+{diff.additions} -{diff.deletions} lines"


def stored(coding: Coding, style: Style) -> dict[str, Any]:
    """How a text is stored, for the data."""
    return {"encoding": coding.encoding, "bom": bool(coding.mark), "newline": style}


def remarks(coding: Coding, style: Style, original: Original | None = None) -> str:
    """What is unusual about a file, in brackets on a line of its own, or ""."""
    told = []
    if coding.encoding != "utf-8":
        told.append(f"stored as {coding.encoding}")
    if coding.mark:
        told.append("with a byte order mark")
    if style not in ("lf", "none"):
        told.append(f"line ends {STYLES[style]}")
    if original is not None and original.links > 1:
        told.append(f"it had {original.links} names by hard links; the others keep the former content")
    return f"[{', '.join(told)}]\n" if told else ""

"""Documentation as it stands in source: comments above a definition, strings, and their first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_DOC = 160
"""Characters of a first line."""

_MAX_COMMENT_LINES = 60
_LINE = re.compile(rb"^\s*(//|#(?!\[|!|include|define|if|endif|else|pragma|undef|error|import)|--(?!\[)|;|%|@doc\b)")
_BLOCK_END = re.compile(rb"(\*/|--\]\]|-->|#\}|\*\))\s*$")
_BLOCK_START = re.compile(rb"^\s*(/\*|--\[\[|<!--|\{#|\(\*)")
_BETWEEN = re.compile(
    rb"^\s*(@(?!interface|implementation|protocol|property|end|optional|required|class|import)|#\[|\[[A-Z])"
)
"""Attributes and decorators stand between a comment and what it is about."""

_MARKS = re.compile(
    r"^\s*(/\*+!?|\*+/|\*+(?!\*)|//+!?|#+|--\[\[|--+|;+|%+|<!--|\(\*+|@doc\b)\s?|\s*(\*+/|-->|--\]\]|\*+\))\s*$"
)
_TAGS = re.compile(r"</?(?:summary|remarks|para|p|pre|code)>|^[@\\]brief\b\s*")
_BLOCK_TAG = re.compile(r"[@\\](?:\w+)\b(?!\()")
"""What begins a line about a parameter, an author, a licence."""

_NOTICE = re.compile(
    r"copyright|licen[sc]e|all rights reserved|spdx-|-\*-|clang-format|eslint|@ts-|vim?:|istanbul|jshint|prettier"
    r"|frozen_string_literal|coding[:=]",
    re.IGNORECASE,
)
_QUOTES = ('"""', "'''", '"', "'", "`")


def comment_above(lines: Sequence[bytes], row: int, *, blocks_only: bool = False) -> str:
    """The comment that ends right above row (from 0), or "". blocks_only: the language has no other comments, and other
    uses for their marks."""
    above = row - 1
    if above < 0 or not lines[above] or lines[above].isspace():
        return ""
    while above >= 0 and _BETWEEN.match(lines[above]):
        above -= 1
    last = above
    if above >= 0 and _BLOCK_END.search(lines[above]):
        while above >= 0 and last - above < _MAX_COMMENT_LINES and not _BLOCK_START.match(lines[above]):
            above -= 1
        if above < 0 or not _BLOCK_START.match(lines[above]):
            return ""
        return _decoded(lines[above : last + 1])
    if blocks_only:
        return ""
    while above >= 0 and last - above < _MAX_COMMENT_LINES and _LINE.match(lines[above]):
        above -= 1
    return _decoded(lines[above + 1 : last + 1])


def first_line(text: str) -> str:
    """The first line of documentation that says something, without the marks of comments and strings."""
    for line in plain_string(text.strip()).splitlines():
        said = _TAGS.sub("", _MARKS.sub("", _MARKS.sub("", line)).strip()).strip()
        if not _BLOCK_TAG.match(said) and any(character.isalnum() for character in said):
            return said[:MAX_DOC]
    return ""


def is_notice(text: str) -> bool:
    """Whether a comment at the head of a file is about rights or for tools, and says nothing of what is in it."""
    return _NOTICE.search(text) is not None


def plain_string(text: str) -> str:
    """What stands between quotes, or the text itself."""
    bare = text.lstrip("rRbBuUfF@$") if text[-1:] in "\"'`" else text
    for quote in _QUOTES:
        if len(bare) >= 2 * len(quote) and bare.startswith(quote) and bare.endswith(quote):
            return bare[len(quote) : -len(quote)]
    return text


def _decoded(lines: Sequence[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "replace")

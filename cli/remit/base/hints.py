"""Hints of error texts: a tool that is named has to be one that the model is offered."""

from __future__ import annotations

import re
from collections.abc import Container

from remit.base.lazy_pattern import lazy_pattern

SAME = (
    ("list_files", "file_index", "file_glob"),
    ("read_file", "file_read"),
    ("search_files", "file_grep"),
)
"""Tools of which any will do where one of them is named."""

HINTED = frozenset(name for group in SAME for name in group) | {
    "file_write",
    "code_refs",
    "code_map",
    "analyze_csv",
    "tool_output",
}
"""Tools that error texts name."""

CLAUSE = lazy_pattern(r"; ([a-z]+(?:_[a-z]+)+)(?= [a-z]+s )[^;]*")
"""As in `; list_files shows what does`."""


def fitting_hints(text: str, tools: Container[str]) -> str:
    """The text with hints at tools that are there: another that does the same is named, or the hint goes."""

    def fitted(clause: re.Match[str]) -> str:
        named = clause[1]
        if named in tools or named not in HINTED:
            return clause[0]
        others = next((group for group in SAME if named in group), ())
        there = next((tool for tool in others if tool in tools), "")
        return clause[0].replace(named, there, 1) if there else ""

    return CLAUSE.sub(fitted, text) if "; " in text else text

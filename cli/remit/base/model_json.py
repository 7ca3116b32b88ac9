"""JSON that a model wrote: read within bounds, because nothing else about it is."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from remit.base.lazy_pattern import lazy_pattern

MAX_NESTING = 100
"""Deeper than this nothing that a tool takes is nested, and readers on the way would run out of stack."""

_STRUCTURE = lazy_pattern(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def decode_json(text: str, type: Any = Any) -> Any:
    """The value of a text, converted to `type`. Raises msgspec.DecodeError, also for one that is nested
    too deep; ValidationError where it does not fit the type."""
    if nests_too_deep(text):
        raise msgspec.DecodeError(f"it is nested deeper than {MAX_NESTING} levels")
    return msgspec.json.decode(text, type=type)


def nests_too_deep(text: str) -> bool:
    """Whether brackets stand within brackets more than MAX_NESTING times."""
    if text.count("[") + text.count("{") <= MAX_NESTING:
        return False
    depth = 0
    for token in _STRUCTURE.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        if depth > MAX_NESTING:
            return True
    return False

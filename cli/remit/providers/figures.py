"""Counts of tokens as servers tell them: most are whole numbers."""

from __future__ import annotations

from typing import Any

from remit.base.lazy_pattern import lazy_pattern

MAX_COUNT = 2**53 - 1
"""The largest number that every reader of JSON takes for the same; nobody counts that far."""

_DIGITS = lazy_pattern(r"[0-9]{1,300}(?:\.0{1,20})?")


def count_of(told: Any) -> int | None:
    """A count, at most MAX_COUNT; None for what is none: a fraction, a negative number, another type."""
    if isinstance(told, str):
        told = float(told) if _DIGITS.fullmatch(told) else None
    if isinstance(told, bool) or not isinstance(told, (int, float)) or not told >= 0:
        return None
    told = min(told, MAX_COUNT)
    return int(told) if told == int(told) else None


def count_in(told: Any, *names: str) -> int | None:
    """The first of these entries of an object that is a count."""
    found = told if isinstance(told, dict) else {}
    return next((count for name in names if (count := count_of(found.get(name))) is not None), None)

"""Numbers and their nouns, as the file tools write them."""

from __future__ import annotations


def quantity(number: int, one: str, many: str = "", *, exact: bool = True) -> str:
    """A number and its noun: `1 file`, `at least 2 files`."""
    noun = one if number == 1 and exact else many or f"{one}s"
    return f"{'' if exact else 'at least '}{number} {noun}"


def withheld_note(number: int) -> str:
    """Of entries of a directory that rules keep from the model."""
    return f"{quantity(number, 'entry', 'entries')} withheld by rules"

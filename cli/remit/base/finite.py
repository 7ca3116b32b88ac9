"""JSON that can be read again."""

from __future__ import annotations

from typing import Any

import msgspec


def hold_finite(value: Any, encoded: bytes) -> bytes:
    """The JSON of a value as msgspec has it. Raises ValueError where it holds a number that JSON does not have,
    infinite or none at all: null stands in its place, which is not read as a number again."""
    if b"null" in encoded:
        _hold(msgspec.to_builtins(value), ())
    return encoded


def _hold(value: Any, place: tuple[Any, ...]) -> None:
    if isinstance(value, float) and value - value != 0.0:
        raise ValueError(f"{value} at {'.'.join(map(str, place))} is no number that can be written down")
    if isinstance(value, dict):
        for key, each in value.items():
            _hold(each, (*place, key))
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            _hold(each, (*place, index))

"""Mends the JSON of a call where that changes no value; what was cut short is never completed."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from remit.base.lazy_pattern import lazy_pattern
from remit.base.model_json import decode_json

MAX_BYTES = 64 * 1024
"""Longer texts are not looked at: where that much is wrong, writing it again is cheaper than guessing."""

_FENCE = lazy_pattern(r"\A```[a-zA-Z]*\n(.*)\n```\Z", re.DOTALL)
_SUSPECT = lazy_pattern(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])|\b(?:True|False|None)\b', re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONTROL = lazy_pattern(r"[\x00-\x1f]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def repaired_object(text: str) -> str | None:
    """The text of the JSON object that was plainly meant, or None where that is not plain.

    Mended are a code fence around it, line breaks and other control characters inside of strings,
    escaped apostrophes, commas before a closing bracket, `True`, `False` and `None`, an empty object in
    front, closing brackets too many behind, and an object written as a string."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return None
    candidate = text.strip()
    if fenced := _FENCE.match(candidate):
        candidate = fenced[1].strip()
    for attempt in _attempts(candidate):
        if _is_object(attempt):
            return attempt
    return None


def _attempts(text: str) -> list[str]:
    inner = _inner(text)
    mended = _SUSPECT.sub(_mended, text)
    behind = mended.removeprefix("{}").lstrip()
    return [text, *([inner] if inner else []), mended, behind, *_without_surplus(behind)]


def _mended(found: re.Match[str]) -> str:
    token = found[0]
    if token.startswith('"'):
        token = token.replace("\\'", "'") if "\\\\" not in token else token
        return _CONTROL.sub(lambda raw: _SHORT.get(raw[0]) or f"\\u{ord(raw[0]):04x}", token)
    return "" if token == "," else _WORDS.get(token, token)


def _inner(text: str) -> str:
    """The text inside of a JSON string, or ""."""
    try:
        value = decode_json(text) if text.startswith('"') else None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ""
    return value.strip() if isinstance(value, str) else ""


def _without_surplus(text: str) -> list[str]:
    """The text without one, two or three closing brackets at its end."""
    found = []
    for _ in range(3):
        if not text.endswith(("}", "]")):
            break
        text = text[:-1].rstrip()
        found.append(text)
    return found


def _is_object(text: str) -> bool:
    try:
        value: Any = decode_json(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return isinstance(value, dict)

"""Where two JSON values differ first, as a small diff."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.base.redact import REDACTED

_AROUND = 40
_encode = msgspec.json.Encoder(order="sorted").encode


def first_difference(recorded: Any, now: Any) -> str:
    """The first place where two JSON values differ, with both, as a small diff; "" when they are equal. Where
    something was redacted in the recorded one, anything may stand now."""
    # As text, since to Python 1, 1.0 and True are equal.
    found = None if _encode(recorded) == _encode(now) else _find(recorded, now, "$")
    if found is None:
        return ""
    path, left, right = found
    return f"  at {path}\n- recorded: {left}\n+ now:      {right}"


def _find(recorded: Any, now: Any, path: str) -> tuple[str, str, str] | None:
    if recorded == REDACTED and isinstance(now, (str, int, float)):
        return None
    if type(recorded) is not type(now) or not isinstance(recorded, (dict, list, str)):
        same = type(recorded) is type(now) and recorded == now
        return None if same else (path, _show(recorded), _show(now))
    if isinstance(recorded, str):
        return None if recorded == now or _fits(recorded, now) else _find_in_text(recorded, now, path)
    if isinstance(recorded, dict):
        return _find_in_mapping(recorded, now, path)
    for index, (left, right) in enumerate(zip(recorded, now, strict=False)):
        if found := _find(left, right, f"{path}[{index}]"):
            return found
    if len(recorded) == len(now):
        return None
    at = min(len(recorded), len(now))
    extra = _show(recorded[at]) if at < len(recorded) else "(nothing)", _show(now[at]) if at < len(now) else "(nothing)"
    return f"{path}[{at}]", *extra


def _find_in_mapping(recorded: dict[str, Any], now: dict[str, Any], path: str) -> tuple[str, str, str] | None:
    for key in [*recorded, *(key for key in now if key not in recorded)]:
        place = f"{path}.{key}"
        if key not in now:
            return place, _show(recorded[key]), "(nothing)"
        if key not in recorded:
            return place, "(nothing)", _show(now[key])
        if found := _find(recorded[key], now[key], place):
            return found
    return None


def _fits(recorded: str, now: str) -> bool:
    """Whether a text is the recorded one but for what was redacted in it: as a text, or as the JSON it is."""
    if REDACTED not in recorded:
        return False
    first, *middle, last = recorded.split(REDACTED)
    at, end = len(first), len(now) - len(last)
    if now.startswith(first) and now.endswith(last) and at <= end:
        for piece in middle:
            found = now.find(piece, at, end)
            if found < 0:
                break
            at = found + len(piece)
        else:
            return True
    try:
        left, right = msgspec.json.decode(recorded), msgspec.json.decode(now)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(left, (dict, list)) and _find(left, right, "$") is None


def _find_in_text(recorded: str, now: str, path: str) -> tuple[str, str, str]:
    shorter = min(len(recorded), len(now))
    at = next((i for i in range(shorter) if recorded[i] != now[i]), shorter)
    return f"{path} (character {at})", _window(recorded, at), _window(now, at)


def _window(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + _AROUND
    return f"{'...' if start else ''}{text[start:end]!r}{'...' if end < len(text) else ''}"


def _show(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 2 * _AROUND else f"{text[: 2 * _AROUND]}..."

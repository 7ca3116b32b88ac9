"""What a hook puts in the place of a result, taken in the shape that results of that tool have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from remit.base.calls import Outcome


def replaced(tool: str, outcome: Outcome, value: Any) -> Outcome | None:
    """The outcome with `value` in the place of its result; None where the value has not its shape. A text stands for
    any result. tool: under our name."""
    if isinstance(value, str):
        return Outcome(True, value, text=value or EMPTY)
    had = outcome.data if isinstance(outcome.data, dict) else {}
    take = _mcp if tool.startswith("mcp__") else _BY_TOOL.get(tool, _any)
    return take(had, value)


EMPTY = "(the result is empty)"


def _mcp(had: Mapping[str, Any], value: Any) -> Outcome | None:
    """Blocks of text, alone or as `content` of a result."""
    blocks = value.get("content") if isinstance(value, dict) else value
    if not isinstance(blocks, list):
        return None
    texts = [block.get("text") if isinstance(block, dict) else None for block in blocks]
    if not all(isinstance(text, str) for text in texts):
        return None
    return Outcome(True, {"content": blocks}, text="\n".join(map(str, texts)) or EMPTY)


def _command(had: Mapping[str, Any], value: Any) -> Outcome | None:
    if not isinstance(value, dict) or not isinstance(value.get("stdout"), str):
        return None
    streams = {name: str(value.get(name) or "") for name in ("stdout", "stderr")}
    return Outcome(True, {**had, **streams}, text="\n".join(filter(None, streams.values())) or EMPTY)


def _file(had: Mapping[str, Any], value: Any) -> Outcome | None:
    file = value.get("file", value) if isinstance(value, dict) else None
    text = file.get("content", file.get("text")) if isinstance(file, dict) else None
    return Outcome(True, {**had, "text": text}, text=text or EMPTY) if isinstance(text, str) else None


def _any(had: Mapping[str, Any], value: Any) -> Outcome | None:
    return Outcome(True, value, text=msgspec.json.encode(value).decode()) if isinstance(value, dict) else None


_BY_TOOL: dict[str, Callable[[Mapping[str, Any], Any], Outcome | None]] = {"shell": _command, "file_read": _file}

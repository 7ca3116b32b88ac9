"""Reading the stream: lines back to typed events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_type_hints

import msgspec

from remit.base.errors import UsageFault
from remit.base.events import EVENT_TYPES, Event
from remit.base.text import shorten


def read_event(line: bytes | str, where: str = "") -> Event | dict[str, Any]:
    """The event of a line; the plain object for a kind this version does not know.

    where: place for the error, such as `events.jsonl:7`. Raises UsageFault for what is no event.
    """
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UsageFault(f"this is not a line of JSON: {problem}", where=where) from None
    if not isinstance(fields, dict):
        raise UsageFault(f"this is not an event, but {shorten(fields)}", where=where)
    tag, subtype = str(fields.get("type")), str(fields.get("subtype"))
    kind = _KINDS.get((tag, subtype)) or _KINDS.get((tag, None))
    if kind is None:
        return fields
    try:
        event: Event = msgspec.convert(fields, kind)
    except msgspec.ValidationError as problem:
        raise UsageFault(f"this {kind.__name__} event does not fit: {problem}", where=where) from None
    return event


def read_events(lines: Iterable[bytes | str], name: str = "") -> Iterator[Event | dict[str, Any]]:
    """The events of a stream, in order; blank lines are passed over. Raises UsageFault with `name`
    and line number."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield read_event(line, f"{name}:{number}" if name else f"line {number}")


def read_log(path: str) -> list[dict[str, Any]]:
    """The lines of an `events.jsonl` as plain objects, a torn last line left out; empty when there is
    no file. Raises UsageFault for a line in the middle that is none."""
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    return [_plain(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _plain(line: bytes, where: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UsageFault(f"this is not an event: {problem}", where=where) from None


def _kinds() -> dict[tuple[Any, Any], Any]:
    """Event types by `type` and, where several share that, `subtype`."""
    kinds: dict[tuple[Any, Any], Any] = {}
    for event in EVENT_TYPES:
        tag = event.__struct_config__.tag
        subtypes = get_args(get_type_hints(event).get("subtype", None))
        kinds[tag, subtypes[0] if tag == "system" else None] = event
    return kinds


_KINDS = _kinds()

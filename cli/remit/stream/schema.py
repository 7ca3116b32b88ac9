"""JSON Schema of the event stream, generated from the event types."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.base.events import EVENT_TYPES
from remit.stream.writer import LEFT_OUT

_BY_NAME = {kind.__name__: kind for kind in EVENT_TYPES}


def events_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of one line of the stream. Readers pass over fields and kinds they do not
    know: later versions add some, and never change a meaning."""
    references, definitions = msgspec.json.schema_components(EVENT_TYPES, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "remit events",
        "description": "One line of `remit run --output-format stream-json`, and of events.jsonl.",
        "anyOf": list(references),
        "$defs": {name: _demanding(name, definition) for name, definition in definitions.items()},
    }


def schema_text() -> str:
    """The schema as it is published."""
    return msgspec.json.format(msgspec.json.encode(events_schema()), indent=2).decode() + "\n"


def _demanding(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """The definition of an event with every field required that its lines always have."""
    kind = _BY_NAME.get(name)
    if kind is None:
        return definition
    # Those that only some lines have.
    absent = {field.encode_name for field in msgspec.structs.fields(kind) if field.default is msgspec.UNSET}
    absent |= LEFT_OUT.get(kind, {}).keys()
    return {
        **definition,
        "required": [field for field in definition["properties"] if field not in absent],
    }

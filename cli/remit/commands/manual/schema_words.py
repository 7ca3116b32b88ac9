"""JSON Schema in words, for the pages that list keys, parameters and fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def type_words(schema: Mapping[str, Any], definitions: Mapping[str, Any] | None = None) -> str:
    """What a value has to be: `string`, `list of strings`, `auto | ask`, `integer of at least 1 | null`."""
    definitions = definitions or {}
    if "$ref" in schema:
        return type_words(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(type_words(each, definitions) for each in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    kind: str = schema.get("type", "")
    if kind == "array":
        return f"list{_most(schema, 'maxItems', '')} of {_many(schema.get('items', {}), definitions)}"
    if kind == "object":
        return _mapping(schema, definitions)
    if kind in ("integer", "number"):
        return kind + _bounds(schema)
    if kind == "string" and "pattern" in schema and "title" in schema:
        return str(schema["title"])
    if kind == "string":
        return kind + _most(schema, "maxLength", " characters")
    return kind or "any value"


def default_words(schema: Mapping[str, Any]) -> str:
    """The default as it would be written, or "" where there is none worth a word."""
    value = schema.get("default")
    return "" if value in (None, "", [], {}) and value is not False else json.dumps(value, ensure_ascii=False)


def _many(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The type in the plural, where it has one."""
    word, *rest = type_words(schema, definitions).split(" ", 1)
    return " ".join([f"{word}s" if word in _COUNTED else word, *rest])


_COUNTED = frozenset({"string", "integer", "number", "boolean", "mapping"})


def _mapping(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    values = schema.get("additionalProperties")
    return f"mapping of names to {_many(values, definitions)}" if isinstance(values, dict) and values else "mapping"


def _bounds(schema: Mapping[str, Any]) -> str:
    least, most, above = schema.get("minimum"), schema.get("maximum"), schema.get("exclusiveMinimum")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    words = [
        f"of at least {least}" if least is not None else "",
        f"above {above}" if above is not None else "",
        f"of at most {most}" if most is not None else "",
    ]
    return "".join(f" {word}" for word in words if word)


def _most(schema: Mapping[str, Any], key: str, unit: str) -> str:
    return f" of at most {schema[key]:,}{unit}" if key in schema else ""

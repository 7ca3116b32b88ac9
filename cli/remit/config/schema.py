"""The published JSON Schema of the task file."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.config.task import TaskKeys


def task_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a task file, with a description for each key."""
    (schema,), definitions = msgspec.json.schema_components((TaskKeys,), ref_template="#/$defs/{name}")
    root = definitions.pop(schema["$ref"].rsplit("/", 1)[1])
    for part in (root, *definitions.values()):
        for key in part["properties"].values():
            # An empty default says only that the key may be left out, which `required` says already;
            # that of a mapping repeats those of its keys.
            if isinstance(key.get("default"), (str, tuple, dict)) and key["default"] not in _words(key):
                del key["default"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "title": "remit task file",
        "$defs": definitions,
    }


def _words(key: dict[str, Any]) -> list[Any]:
    words: list[Any] = key.get("enum", [])
    return words

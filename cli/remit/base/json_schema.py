"""JSON Schema for schemas that are not ours: no fetching, no catastrophic patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any


def problems(schema: Mapping[str, Any], value: Any, most: int = 5) -> list[str]:
    """What of `value` does not fit, as `/path: message`, at most `most` of them; empty when it fits."""
    found = sorted(_validator(schema).iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in found[:most]]


def schema_fault(schema: Any) -> str:
    """Why this is no JSON Schema that can be held against a value, or ""."""
    import jsonschema
    import referencing.exceptions

    if not isinstance(schema, (dict, bool)):
        return f"a JSON Schema is an object, not {type(schema).__name__}"
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        for pattern in _patterns(schema):
            _compiled(pattern)
        list(_validator(schema if isinstance(schema, dict) else {}).iter_errors(None))
    except jsonschema.SchemaError as problem:
        return f"/{'/'.join(map(str, problem.absolute_path))}: {problem.message}"
    except (ValueError, referencing.exceptions.Unresolvable) as problem:
        return str(problem)
    return ""


def _validator(schema: Mapping[str, Any]) -> Any:
    import jsonschema
    import referencing

    def linear_pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "string") and not _compiled(pattern).search(instance):
            yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")

    kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": linear_pattern})
    # An empty registry: a remote $ref is an error, never a request.
    return kind(schema, registry=referencing.Registry())


@cache
def _compiled(pattern: str) -> Any:
    import re2

    try:
        return re2.compile(pattern)
    except re2.error as problem:
        raise ValueError(f"pattern {pattern!r} cannot be matched in linear time: {problem}") from None


def _patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        for value in node.values():
            yield from _patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from _patterns(value)

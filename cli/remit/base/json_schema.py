"""JSON Schema for schemas that are not ours: no fetching, no endless references, no catastrophic patterns.

Schemas are of the dialect 2020-12. `format` is a remark and not held against values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from remit.base.text import scrub

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DRAFT_7 = frozenset(f"{scheme}://json-schema.org/draft-07/schema" for scheme in ("http", "https"))


def problems(schema: Mapping[str, Any], value: Any, most: int = 5) -> list[str]:
    """What of `value` does not fit, as `/path: message`, at most `most` of them; empty when it fits.

    Never raises for a schema without `schema_fault`."""
    try:
        found = sorted(_validator(schema).iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    except RecursionError:
        return ["/: the value is nested too deep to be held against the schema"]
    return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in found[:most]]


def without_draft(schema: Any) -> Any:
    """A schema that says it is of draft 7, without that word: clients that generate theirs write it, and what they use
    of it means the same here."""
    if isinstance(schema, dict) and str(schema.get("$schema", "")).removesuffix("#") in DRAFT_7:
        return {name: value for name, value in schema.items() if name != "$schema"}
    return schema


def schema_fault(schema: Any) -> str:
    """Why this is no JSON Schema that can be held against a value, or ""."""
    from remit.base.schema_refs import reference_fault

    if not isinstance(schema, (dict, bool)):
        return f"a JSON Schema is an object, not {type(schema).__name__}"
    if isinstance(schema, bool):
        return ""
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
        return f"/$schema: the dialect {dialect!r} is not supported; write {DIALECT} or leave it out"
    try:
        return _own_fault(schema) or reference_fault(_undeclared(schema), _own_fault) or _first_use_fault(schema)
    except RecursionError:
        return "its schemas or references are nested too deep"


def _own_fault(schema: Any) -> str:
    """What is wrong with a schema, its references aside."""
    import jsonschema

    try:
        # Patterns are RE2's, not Python's: the check of `format: regex` would judge by the wrong ones.
        jsonschema.Draft202012Validator.check_schema(schema, format_checker=jsonschema.FormatChecker(formats=()))
        for pattern in _patterns(schema):
            _compiled(pattern)
    except jsonschema.SchemaError as problem:
        return f"/{'/'.join(map(str, problem.absolute_path))}: {problem.message}"
    except ValueError as problem:
        return str(problem)
    if _holds(schema, "unevaluatedProperties") and _holds(schema, "patternProperties"):
        return "`unevaluatedProperties` and `patternProperties` in one file are not supported"
    return ""


def _first_use_fault(schema: dict[str, Any]) -> str:
    list(_validator(schema).iter_errors(None))
    return ""


def _undeclared(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without its dialect, by which the validator would be exchanged for the plain one."""
    return {key: value for key, value in schema.items() if key != "$schema"}


def _validator(schema: Mapping[str, Any]) -> Any:
    import jsonschema
    import referencing

    def pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "string") and not _matches(pattern, instance):
            yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")

    def pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
        for key, value in instance.items() if validator.is_type(instance, "object") else ():
            for pattern, inside in patterns.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, inside, path=key, schema_path=pattern)

    def additional_properties(validator: Any, inside: Any, instance: Any, schema: Any) -> Iterator[Any]:
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        given = instance if validator.is_type(instance, "object") else {}
        more = [key for key in given if key not in known and not any(_matches(each, key) for each in patterns)]
        if isinstance(inside, dict):
            for key in more:
                yield from validator.descend(instance[key], inside, path=key)
        elif inside is False and more:
            names = ", ".join(map(repr, more))
            verb = "was" if len(more) == 1 else "were"
            yield jsonschema.ValidationError(f"Additional properties are not allowed ({names} {verb} unexpected)")

    def multiple_of(validator: Any, step: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "number") and not _is_multiple(instance, step):
            yield jsonschema.ValidationError(f"{instance!r} is not a multiple of {step}")

    own = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "multipleOf": multiple_of,
    }
    kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, own)
    # An empty registry: a remote $ref is an error, never a request.
    return kind(_undeclared(schema), registry=referencing.Registry())


def _is_multiple(value: int | float, step: int | float) -> bool:
    """Exact as the numbers are written: 0.3 is a multiple of 0.1, and no number is too large."""
    from fractions import Fraction

    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    return (Fraction(str(value)) / Fraction(str(step))).denominator == 1


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(scrub(text)) is not None


@cache
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    # The library would write its own line to stderr.
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as problem:
        seen = problem.args[0] if problem.args else problem
        why = seen.decode("utf-8", "replace") if isinstance(seen, bytes) else seen
        raise ValueError(f"pattern {pattern!r} cannot be matched in linear time by RE2: {why}") from None


def _nodes(schema: Any) -> Iterator[Any]:
    from remit.base.schema_refs import subschemas

    pending = [schema]
    while pending:
        node = pending.pop()
        yield node
        pending += [inside for _, inside, _ in subschemas(node)]


def _patterns(schema: Any) -> Iterator[str]:
    for node in _nodes(schema):
        if isinstance(node, dict):
            yield from [node["pattern"]] if isinstance(node.get("pattern"), str) else []
            yield from node.get("patternProperties", {})


def _holds(schema: Any, keyword: str) -> bool:
    return any(isinstance(node, dict) and keyword in node for node in _nodes(schema))

"""Where the references of a JSON Schema lead: only to schemas of the same file, and never round in a circle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_ONE = (
    *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas are held against the very value that the schema around them is."""


def reference_fault(schema: dict[str, Any], check: Callable[[Any], str]) -> str:
    """What is wrong with the references of a valid schema, as `/path: message`, or "".

    check: what is wrong with a schema that stands where only a reference finds it, or ""."""
    try:
        return _Walk(check).fault(schema)
    except (ValueError, LookupError) as problem:
        return f"its references cannot be followed: {problem}"


def subschemas(schema: Any, path: str = "") -> Iterator[tuple[str, Any, bool]]:
    """The schemas directly inside of one: path, schema, and whether they are held against the same value."""
    for keyword in schema if isinstance(schema, dict) else ():
        inside, same = schema[keyword], keyword in _SAME_VALUE
        here = f"{path}/{keyword}"
        if keyword in _ONE:
            yield here, inside, same
        elif keyword in _SEVERAL and isinstance(inside, list):
            yield from ((f"{here}/{index}", each, same) for index, each in enumerate(inside))
        elif keyword in _NAMED and isinstance(inside, dict):
            yield from ((f"{here}/{name}", each, same) for name, each in inside.items())


class _Walk:
    def __init__(self, check: Callable[[Any], str]) -> None:
        self._check = check
        self._pending: list[tuple[str, Any, Any]] = []
        self._seen: set[int] = set()
        self._references: list[tuple[str, dict[str, Any], Any]] = []
        self._edges: dict[int, set[int]] = {}
        self._told: dict[tuple[int, int], str] = {}
        """The reference that makes an edge, in words."""

    def fault(self, schema: dict[str, Any]) -> str:
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012

        registry: Any = Registry()
        self._pending.append(("", schema, registry.resolver_with_root(DRAFT202012.create_resource(schema))))
        while self._pending or self._references:
            # Schemas first: what a reference leads to may stand further down.
            message = self._visit(*self._pending.pop()) if self._pending else self._follow(*self._references.pop())
            if message:
                return message
        return self._circle()

    def _visit(self, path: str, schema: Any, resolver: Any) -> str:
        if not isinstance(schema, dict) or id(schema) in self._seen:
            return ""
        self._seen.add(id(schema))
        if path and "$schema" in schema:
            return f"{path}: `$schema` stands only at the top of the file"
        if "$dynamicRef" in schema:
            return f"{path or '/'}: `$dynamicRef` is not supported; write `$ref`"
        if path and "$id" in schema:
            resolver = resolver.in_subresource(_resource(schema))
        edges = self._edges.setdefault(id(schema), set())
        for place, inside, same in subschemas(schema, path):
            self._pending.append((place, inside, resolver))
            if same:
                edges.add(id(inside))
        if "$ref" in schema:
            self._references.append((path, schema, resolver))
        return ""

    def _follow(self, path: str, schema: dict[str, Any], resolver: Any) -> str:
        from referencing.exceptions import Unresolvable

        reference = schema["$ref"]
        shown = f"{path or '/'}: `$ref` {reference!r}"
        try:
            resolved = resolver.lookup(reference)
        except (Unresolvable, ValueError, TypeError, LookupError):
            if reference.startswith("#"):
                return f"{shown} leads nowhere"
            return f"{shown} leads out of the file, which is never followed; put what it names into `$defs`"
        target = resolved.contents
        if not isinstance(target, (dict, bool)):
            return f"{shown} leads to no schema"
        if isinstance(target, dict) and id(target) not in self._seen:
            if message := self._check(target):
                return f"{shown} leads to no schema: {message}"
            self._pending.append((reference, target, resolved.resolver))
        self._edges[id(schema)].add(id(target))
        self._told[id(schema), id(target)] = shown
        return ""

    def _circle(self) -> str:
        from graphlib import CycleError, TopologicalSorter

        try:
            TopologicalSorter(self._edges).prepare()
        except CycleError as problem:
            circle: list[int] = problem.args[1]
            steps = zip(circle[1:], circle, strict=False)
            return f"{next(self._told[step] for step in steps if step in self._told)} leads back to itself"
        return ""


def _resource(schema: dict[str, Any]) -> Any:
    from referencing.jsonschema import DRAFT202012

    return DRAFT202012.create_resource(schema)

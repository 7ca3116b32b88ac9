from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.json_schema import DIALECT, problems, schema_fault

TREE: dict[str, Any] = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}

REFERENCES: list[tuple[dict[str, Any], str]] = [
    ({"$ref": "#"}, "/: `$ref` '#' leads back to itself"),
    ({"$schema": DIALECT, "$ref": "#"}, "/: `$ref` '#' leads back to itself"),
    ({"allOf": [{"$ref": "#"}]}, "/allOf/0: `$ref` '#' leads back to itself"),
    ({"if": {"not": {"$ref": "#"}}}, "/if/not: `$ref` '#' leads back to itself"),
    ({"dependentSchemas": {"a": {"$ref": "#"}}}, "/dependentSchemas/a: `$ref` '#' leads back to itself"),
    ({"$defs": {"a": {"$ref": "#/$defs/a"}}}, "/$defs/a: `$ref` '#/$defs/a' leads back to itself"),
    ({"$defs": {"a": {"$anchor": "x", "anyOf": [{"$ref": "#x"}]}}}, "/$defs/a/anyOf/0: `$ref` '#x' leads back"),
    ({"properties": {"a": {"$ref": "#/$defs/gone"}}}, "/properties/a: `$ref` '#/$defs/gone' leads nowhere"),
    ({"properties": {"a": {"$ref": "#gone"}}}, "/properties/a: `$ref` '#gone' leads nowhere"),
    ({"allOf": [{}], "items": {"$ref": "#/allOf/x"}}, "/items: `$ref` '#/allOf/x' leads nowhere"),
    ({"items": {"$ref": "https://example.com/s"}}, "/items: `$ref` 'https://example.com/s' leads out of the file"),
    ({"items": {"$ref": "file:///etc/passwd"}}, "/items: `$ref` 'file:///etc/passwd' leads out of the file"),
    ({"items": {"$ref": "other.json#/a"}}, "/items: `$ref` 'other.json#/a' leads out of the file"),
    ({"items": {"$ref": "http://["}}, "/items: `$ref` 'http://[' leads out of the file"),
    ({"items": {"$ref": DIALECT}}, f"/items: `$ref` '{DIALECT}' leads out of the file"),
    ({"required": ["a"], "items": {"$ref": "#/required"}}, "/items: `$ref` '#/required' leads to no schema"),
    ({"x": {"type": 5}, "items": {"$ref": "#/x"}}, "/items: `$ref` '#/x' leads to no schema: /type: "),
    ({"x": {"not": {"$ref": "#/y"}}, "items": {"$ref": "#/x"}}, "#/x/not: `$ref` '#/y' leads nowhere"),
    ({"x": {"$ref": "#/x"}, "items": {"$ref": "#/x"}}, "#/x: `$ref` '#/x' leads back to itself"),
    ({"items": {"$dynamicRef": "#a"}}, "/items: `$dynamicRef` is not supported"),
    ({"items": {"$schema": DIALECT}}, "/items: `$schema` stands only at the top of the file"),
    ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema: the dialect 'http://json-schema.org/draft-07"),
    ({"$schema": "my own"}, "/$schema: the dialect 'my own' is not supported"),
    ({"$schema": 3}, "/$schema: the dialect 3 is not supported"),
]


@pytest.mark.parametrize(("schema", "said"), REFERENCES)
def test_references_and_dialects_that_cannot_be_used(schema: dict[str, Any], said: str) -> None:
    assert schema_fault(schema).startswith(said)


GOOD: list[dict[str, Any]] = [
    TREE,
    {"$schema": DIALECT},
    {"$schema": DIALECT + "#"},
    {"$schema": DIALECT, "properties": {"a": {"$ref": "#"}}},
    {"$defs": {"a": {"$id": "https://a.example/s", "type": "string"}}, "$ref": "https://a.example/s"},
    {"$defs": {"a": {"$anchor": "x"}, "yes": True}, "anyOf": [{"$ref": "#x"}, {"$ref": "#/$defs/yes"}]},
    {"enum": [{"$ref": "#/gone"}], "default": {"$ref": "x"}, "const": {"$schema": "x"}},
    {"x": {"type": "string"}, "items": {"$ref": "#/x"}},
    {"properties": {"$ref": {"type": "string"}, "pattern": {"const": "("}}},
]


@pytest.mark.parametrize("schema", GOOD)
def test_references_that_lead_to_a_schema(schema: dict[str, Any]) -> None:
    assert schema_fault(schema) == ""
    for value in (None, "a", {"next": {"next": 1}}, [1]):
        problems(schema, value)


def test_a_reference_is_followed() -> None:
    assert problems(TREE, {"next": {"next": {}}}) == []
    assert problems(TREE, {"next": {"next": 1}}) == ["/next/next: 1 is not of type 'object'"]


def test_a_value_that_is_nested_too_deep() -> None:
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"next": value}
    assert problems(TREE, value) == ["/: the value is nested too deep to be held against the schema"]


def test_references_that_are_chained_too_deep() -> None:
    links = {str(number): {"$ref": f"#/$defs/{number + 1}"} for number in range(5000)}
    schema = {"$defs": {**links, "5000": {}}, "$ref": "#/$defs/0"}
    assert schema_fault(schema) == "its schemas or references are nested too deep"


CATASTROPHE = "^(([a-z])+.)+[A-Z]([a-z])+$"
LONG = "a" * 5000


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": CATASTROPHE}, LONG),
        ({"$schema": DIALECT, "properties": {"x": {"$ref": "#"}}, "pattern": CATASTROPHE}, {"x": LONG}),
        ({"patternProperties": {CATASTROPHE: False}}, {LONG: 1}),
        ({"patternProperties": {CATASTROPHE: True}, "additionalProperties": False}, {LONG: 1}),
    ],
)
def test_patterns_take_linear_time(schema: dict[str, Any], value: Any) -> None:
    assert schema_fault(schema) == ""
    problems(schema, value)


def test_patterns_that_cannot_be_matched_in_linear_time() -> None:
    for schema in ({"pattern": "(a)\\1"}, {"items": {"patternProperties": {"(a)\\1": {}}}}):
        assert "cannot be matched in linear time" in schema_fault(schema)
    both = {"patternProperties": {"a": {}}, "allOf": [{"unevaluatedProperties": False}]}
    assert "`unevaluatedProperties` and `patternProperties`" in schema_fault(both)


def test_properties_by_pattern() -> None:
    schema = {"properties": {"a": {}}, "patternProperties": {"^n_": {"type": "number"}}, "additionalProperties": False}
    assert problems(schema, {"a": "x", "n_b": 1}) == []
    assert problems(schema, {"n_b": "x"}) == ["/n_b: 'x' is not of type 'number'"]
    assert problems(schema, {"b": 1, "c": 2}) == ["/: Additional properties are not allowed ('b', 'c' were unexpected)"]
    assert problems({"additionalProperties": {"type": "string"}}, {"b": 1}) == ["/b: 1 is not of type 'string'"]


@pytest.mark.parametrize(
    ("value", "step", "fits"),
    [(0.3, 0.1, True), (0.35, 0.1, False), (10**400, 0.5, True), (10**400 + 1, 2, False), (1e308, 1e-308, True)],
)
def test_multiples_are_exact(value: Any, step: Any, fits: bool) -> None:
    assert (problems({"multipleOf": step}, value) == []) is fits


def test_text_with_half_a_character_is_held_against_a_pattern() -> None:
    assert problems({"pattern": "^a"}, "a\ud800") == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
PLACES = ["#", "#/$defs/a", "#/$defs/b", "#/$defs/c", "#/properties/a", "#/allOf/0", "#/x", "x", "#/$defs"]


def _composed(inner: Any) -> Any:
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "items": inner,
            "if": inner,
            "then": inner,
            "$ref": st.sampled_from(PLACES),
            "x": VALUES | inner,
            "unevaluatedProperties": inner,
            "multipleOf": st.sampled_from([1, 0.1, 1e-300, 3]),
            "$defs": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        },
    )


SCHEMAS = st.recursive(st.booleans() | st.just({"type": "string"}), _composed, max_leaves=8)


@given(SCHEMAS, VALUES)
def test_a_schema_that_passed_never_raises(schema: Any, value: Any) -> None:
    if isinstance(schema, dict) and not schema_fault(schema):
        problems(schema, value)

"""What is wrong with one argument of a call, in words: where, what is allowed and what was seen."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from remit.base.text import shorten

_PLACED = re.compile(r"(?P<words>Expected|Invalid|Number|Integer).* - at `\$(?P<place>[^`]+)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]")
_MAX_DIGITS = 60
"""Longer whole numbers are told by their length."""

_NAMES = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class _Long(str):
    """A whole number too long to be shown."""

    def __repr__(self) -> str:
        return f"a number of {len(self.lstrip('-'))} digits"


def complaint(problem: str, arguments: str, schema: Mapping[str, Any]) -> str:
    """The complaint of msgspec about JSON text, by the schema of the arguments; as it is where it is not about a value,
    or says more than a schema does."""
    found = _PLACED.fullmatch(problem)
    if found is None:
        return problem
    place = found["place"]
    steps = [name or int(number) for name, number in _STEP.findall(place)]
    value: Any = json.loads(arguments, parse_int=_whole)
    node: Any = schema
    for step in steps:
        node = _inside(node, step)
        if node is None:
            return problem
        value = value[step]
    due = _described(node)
    return f"`{place.removeprefix('.')}`: expected {due}, seen {shorten(value)}" if due else problem


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_DIGITS else _Long(digits)


def _inside(node: Mapping[str, Any], step: str | int) -> Any:
    """The schema of what lies in a value, or None where it says nothing of that."""
    choices = node.get("anyOf", [node])
    for choice in choices:
        inside = choice.get("items") if isinstance(step, int) else choice.get("properties", {}).get(step)
        if isinstance(inside, Mapping):
            return inside
    return None


def _described(node: Mapping[str, Any]) -> str:
    """What a value has to be, or "" where the schema has no words for it."""
    if "anyOf" in node:
        choices = [_described(choice) for choice in node["anyOf"]]
        return " or ".join(choices) if all(choices) else ""
    if "enum" in node:
        return " | ".join(map(str, node["enum"]))
    name = _NAMES.get(node.get("type", ""), "")
    return name and name + _bounds(node)


def _bounds(node: Mapping[str, Any]) -> str:
    kind = node["type"]
    if kind == "string":
        return _span(node.get("minLength"), node.get("maxLength"), "character")
    if kind == "array":
        return _span(node.get("minItems"), node.get("maxItems"), "item")
    return _span(node.get("minimum"), node.get("maximum"), "")


def _span(least: int | None, most: int | None, unit: str) -> str:
    """The least and the most in words: ` of 1 to 30 characters`."""
    of = " of" if unit else ""
    if least is not None and most is not None:
        return f"{of or ' from'} {least} to {most}{_counted(unit, most)}"
    if least is not None:
        return f" of at least {least}{_counted(unit, least)}"
    return f" of at most {most}{_counted(unit, most)}" if most is not None else ""


def _counted(unit: str, number: int) -> str:
    return f" {unit}{'' if number == 1 else 's'}" if unit else ""

"""What every tool says of arguments that it does not take, by the schema of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.tools import registry
from remit.tools.contract import LARGEST, Tool, full_schema

HUGE = 10**30
SAMPLES = {"string": "x", "array": [], "object": {}, "boolean": True, "integer": 1}


def numbers(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each parameter that is a whole number, and what it may be."""
    for name, node in schema["properties"].items():
        for choice in node.get("anyOf", [node]):
            if choice.get("type") == "integer":
                yield name, choice


NUMBERS = [
    pytest.param(tool, name, node, id=f"{tool.name}.{name}")
    for tool in registry.all_tools().values()
    for name, node in numbers(full_schema(tool.Params))
]


def refusal(tool: Tool, arguments: str) -> str:
    with pytest.raises(Failure) as caught:
        tool.parse(arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    return caught.value.message


def accepted(tool: Tool, name: str, value: int) -> bool:
    """Whether a parameter may have the value, whatever else is missing."""
    try:
        tool.parse(json.dumps({name: value}))
    except Failure as failure:
        return f"`{name}`: " not in failure.message
    return True


def test_there_are_whole_numbers() -> None:
    assert len(NUMBERS) > 15


@pytest.mark.parametrize(("tool", "name", "node"), NUMBERS)
def test_whole_numbers_have_bounds_and_refusals_tell_them(tool: Tool, name: str, node: dict[str, Any]) -> None:
    least, most = node["minimum"], node["maximum"]
    assert accepted(tool, name, least) and accepted(tool, name, most)
    for seen, shown in [
        (str(least - 1), str(least - 1)),
        (str(most + 1), str(most + 1)),
        (str(-HUGE), str(-HUGE)),
        (str(HUGE), str(HUGE)),
        ("1" + "0" * 5000, "a number of 5001 digits"),
        ('"1"', "'1'"),
        ("1.5", "1.5"),
        ("true", "true"),
        ("[1]", "[1]"),
    ]:
        message = refusal(tool, f'{{"{name}": {seen}}}')
        assert message.startswith(f"{tool.name}: `{name}`: expected a whole number from {least} to {most}")
        assert f", seen {shown}; the parameters are: " in message


@pytest.mark.parametrize(("tool", "name", "node"), NUMBERS)
def test_models_are_not_shown_a_bound_that_is_none(tool: Tool, name: str, node: dict[str, Any]) -> None:
    assert f'"maximum": {LARGEST}' not in json.dumps(tool.schema())
    if node["maximum"] < LARGEST and name in tool.schema()["properties"]:
        assert tool.schema()["properties"][name]["maximum"] == node["maximum"]


@pytest.mark.parametrize("tool", registry.all_tools().values(), ids=lambda tool: tool.name)
def test_every_parameter_of_the_wrong_type_is_named(tool: Tool) -> None:
    schema = full_schema(tool.Params)
    for name, node in schema["properties"].items():
        kinds = {choice.get("type") for choice in node.get("anyOf", [node])}
        if not kinds - {None}:
            continue
        wrong = next(value for kind, value in SAMPLES.items() if kind not in kinds)
        message = refusal(tool, json.dumps({name: wrong}))
        assert message.startswith(f"{tool.name}: `{name}`: expected ") and ", seen " in message, message

"""Inputs of a task: declared in the file, given with `-i KEY=VALUE`, put into the prompt once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from remit.base.errors import Fault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten
from remit.config.document import did_you_mean

InputValue = str | int | float | bool
InputType = Literal["string", "integer", "number", "boolean"]

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_PLACEHOLDER = lazy_pattern(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*\}\}")
_WORDS: dict[InputType, str] = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


class InputKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One input. Without a default it has to be given."""

    type: Annotated[InputType, Meta(description="What its value has to be. Default string.")] = "string"
    default: Annotated[InputValue | UnsetType, Meta(description="Its value when none is given.")] = UNSET
    description: Annotated[str, Meta(description="What it is, for people.")] = ""


def declaration_fault(name: str, keys: InputKeys) -> str:
    """What is wrong with a declared input, or ""."""
    if not _NAME.match(name):
        return f"{shorten(name)} cannot be an input's name: a letter, then letters, digits, `_` and `-`"
    if keys.default is UNSET or _fits(keys.type, keys.default):
        return ""
    return f"`inputs.{name}.default`: expected {_WORDS[keys.type]} as its type says, seen {shorten(keys.default)}"


def _fits(type_: InputType, value: object) -> bool:
    if type_ == "string":
        return isinstance(value, str)
    if type_ == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (type_ == "number" and isinstance(value, float))


def given_values(declared: Mapping[str, InputKeys], given: Iterable[str]) -> tuple[dict[str, str], list[Fault]]:
    """The text of each input from the `KEY=VALUE` arguments and the defaults, and the faults.

    A declared input that has neither is a fault."""
    values: dict[str, str] = {}
    faults: list[Fault] = []
    for argument in given:
        name, equals, value = argument.partition("=")
        where = f"-i {shorten(argument)}"
        if not equals:
            faults.append(Fault("an input is written KEY=VALUE", where))
        elif name not in declared:
            hint = did_you_mean(name, declared) or f"its inputs: {', '.join(declared) or 'none'}"
            faults.append(Fault(f"the task has no input {shorten(name)}", where, hint))
        elif name in values:
            faults.append(Fault(f"the input `{name}` is given twice", where))
        else:
            values[name] = value
            if not _text_fits(declared[name].type, value):
                faults.append(Fault(f"`{name}`: expected {_WORDS[declared[name].type]}, seen {shorten(value)}", where))
    for name, keys in declared.items():
        if name in values:
            continue
        if keys.default is UNSET:
            hint = f"give it with -i {name}=VALUE"
            faults.append(Fault(f"the input `{name}` has no value", "", hint))
        else:
            values[name] = as_text(keys.default)
    return values, faults


def _text_fits(type_: InputType, text: str) -> bool:
    if type_ == "integer":
        return re.fullmatch(r"[-+]?[0-9]{1,100}", text) is not None
    if type_ == "boolean":
        return text in ("true", "false")
    if type_ == "number":
        try:
            return math.isfinite(float(text)) and "_" not in text
        except ValueError:
            return False
    return True


def as_text(value: InputValue) -> str:
    """A value as it stands in the prompt: numbers as written in JSON, `true`, `false`."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def placeholder_faults(prompt: str, declared: Iterable[str], where: str) -> list[Fault]:
    """A fault for each placeholder that names no declared input."""
    known = list(declared)
    unknown = dict.fromkeys(name for name in _PLACEHOLDER.findall(prompt) if name not in known)
    return [
        Fault(
            f"the prompt names the input `{name}`, which the task does not declare",
            where,
            did_you_mean(name, known) or f"its inputs: {', '.join(known) or 'none'}",
        )
        for name in unknown
    ]


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """The prompt with each `{{name}}` replaced, once: what a value holds is never expanded."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], prompt)

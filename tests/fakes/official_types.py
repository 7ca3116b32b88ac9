"""Values held against the TypedDicts of an official client."""

from __future__ import annotations

import collections.abc
from typing import Any, Literal, Required, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict


def misfit(value: Any, expected: Any, where: str = "body") -> str:
    """What is wrong with `value` as an `expected`, or "". Stricter than a type checker: a key that a
    TypedDict does not have is wrong, too."""
    origin, arguments = get_origin(expected), get_args(expected)
    if is_typeddict(expected):
        return _misfit_of_fields(value, expected, where)
    if origin is Required:
        return misfit(value, arguments[0], where)
    if origin is Union or origin.__class__.__name__ == "UnionType":
        problems = [misfit(value, one, where) for one in arguments]
        return "" if "" in problems else max(problems, key=len)
    if origin is Literal:
        return "" if value in arguments else f"{where}: {value!r} is none of {arguments}"
    if origin in {list, collections.abc.Iterable}:
        if not isinstance(value, list):
            return f"{where}: no list"
        return next(filter(None, (misfit(v, arguments[0], f"{where}[{i}]") for i, v in enumerate(value))), "")
    plain = {dict: dict, str: str, int: int, bool: bool, type(None): type(None)}.get(origin or expected)
    return "" if plain is not None and type(value) is plain else f"{where}: {value!r} is no {expected}"


def _misfit_of_fields(value: Any, expected: Any, where: str) -> str:
    if not isinstance(value, dict):
        return f"{where}: no object"
    fields = get_type_hints(expected, include_extras=True)
    if extra := value.keys() - fields.keys():
        return f"{where}: {sorted(extra)} are no fields of {expected.__name__}"
    needed = {name for name, hint in fields.items() if get_origin(hint) is Required}
    if missing := needed - value.keys():
        return f"{where}: {sorted(missing)} of {expected.__name__} are missing"
    return next(filter(None, (misfit(one, fields[name], f"{where}.{name}") for name, one in value.items())), "")

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import remit
from remit.base.lazy_pattern import METHODS, lazy_pattern


def test_it_is_used_as_a_compiled_pattern_is() -> None:
    lazy = lazy_pattern(r"(?P<word>[a-z]+)(\d)?", re.IGNORECASE)
    assert lazy.fullmatch("Ab3")
    assert lazy.sub("-", "ab c") == "- -"
    assert [found["word"] for found in lazy.finditer("a b")] == ["a", "b"]
    assert (lazy.pattern, lazy.groups, lazy.groupindex["word"]) == (r"(?P<word>[a-z]+)(\d)?", 2, 1)


def test_its_methods_are_those_of_the_compiled_pattern_after_the_first_use() -> None:
    lazy = lazy_pattern(b"a")
    assert lazy.search(b"ba")
    assert set(METHODS) <= set(vars(lazy))


def test_an_error_in_it_shows_when_it_is_used() -> None:
    lazy = lazy_pattern("(")
    with pytest.raises(re.error):
        lazy.match("")


def test_every_pattern_of_the_program_can_be_compiled() -> None:
    compiled = 0
    for module in pkgutil.walk_packages(remit.__path__, "remit."):
        if module.name.endswith("__main__") or ".filters" in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if type(value).__module__ == "remit.base.lazy_pattern":
                assert value.pattern
                compiled += 1
    assert compiled > 50

from __future__ import annotations

from typing import Any

import pytest

from remit.providers.figures import MAX_COUNT, count_in, count_of


@pytest.mark.parametrize(
    ("told", "count"),
    [
        (0, 0),
        (100, 100),
        (100.0, 100),
        ("100", 100),
        ("100.0", 100),
        (MAX_COUNT, MAX_COUNT),
        (MAX_COUNT + 1, MAX_COUNT),
        (1e30, MAX_COUNT),
        (10**400, MAX_COUNT),
        (float("inf"), MAX_COUNT),
        ("9" * 300, MAX_COUNT),
        ("9" * 301, None),
        (100.5, None),
        ("100.5", None),
        ("1e3", None),
        (" 7", None),
        ("\u0663", None),
        ("", None),
        (-1, None),
        (-1.0, None),
        ("-1", None),
        (float("nan"), None),
        (True, None),
        (None, None),
        ([], None),
        ({}, None),
    ],
)
def test_what_counts_as_a_count(told: Any, count: int | None) -> None:
    assert count_of(told) == count and type(count_of(told)) is type(count)


@pytest.mark.parametrize("told", [None, [], "x", 7, {}, {"a": -1}, {"b": None}])
def test_an_object_without_a_count_has_none(told: Any) -> None:
    assert count_in(told, "a", "b") is None


def test_the_first_name_with_a_count_counts() -> None:
    assert count_in({"a": "x", "b": "2", "c": 3}, "a", "b", "c") == 2

"""Numbers that JSON does not have."""

from __future__ import annotations

import math

import msgspec
import pytest

from remit.base.finite import hold_finite
from remit.base.messages import Cost


@pytest.mark.parametrize("value", [None, {"a": [None, 1.5, "null"]}, {"a": -1e308}, Cost(0.1)])
def test_what_json_holds_passes_as_it_is(value: object) -> None:
    encoded = msgspec.json.encode(value)
    assert hold_finite(value, encoded) == encoded


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_a_number_that_json_does_not_have_is_a_fault_and_says_where(odd: float) -> None:
    for value, place in (({"a": [1.0, odd]}, "a.1"), (Cost(0.1, odd), "output"), ({"a": ({"b": odd},)}, "a.0.b")):
        with pytest.raises(ValueError, match=f"{odd} at {place} is no number"):
            hold_finite(value, msgspec.json.encode(value))

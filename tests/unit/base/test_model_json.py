from __future__ import annotations

import time

import msgspec
import pytest

from remit.base.model_json import MAX_NESTING, decode_json


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_the_limit_passes_and_one_more_does_not() -> None:
    assert decode_json(nested(MAX_NESTING)) is not None
    with pytest.raises(msgspec.DecodeError, match="nested deeper than 100 levels"):
        decode_json(nested(MAX_NESTING + 1))
    with pytest.raises(msgspec.DecodeError, match="nested deeper than 100 levels"):
        decode_json('{"a":' * (MAX_NESTING + 1) + "1" + "}" * (MAX_NESTING + 1))


@pytest.mark.parametrize(
    "text", ['"' + "[" * 500 + '"', '{"a": "' + r"\"[{" * 300 + '"}', "[" + ",".join(["[]"] * 500) + "]"]
)
def test_what_only_looks_deep_is_read(text: str) -> None:
    assert decode_json(text) == msgspec.json.decode(text)


@pytest.mark.parametrize("text", ["[" * 200_000, '"\\' * 200_000 + "[" * 200, '["' * 200_000])
def test_broken_text_is_refused_in_linear_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(msgspec.DecodeError):
        decode_json(text)
    assert time.process_time() - began < 2


def test_a_type_that_does_not_fit_is_told() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_json("[1]", dict)

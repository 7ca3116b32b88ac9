from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.json_repair import MAX_BYTES, repaired_object

MENDED = {
    "sound": ('{"a": 1}', {"a": 1}),
    "space around": (' \n{"a": 1}\n', {"a": 1}),
    "fence": ('```json\n{"a": [1, 2]}\n```', {"a": [1, 2]}),
    "line break in a string": ('{"text": "one\ntwo\tthree"}', {"text": "one\ntwo\tthree"}),
    "control character in a string": ('{"text": "a\x01b"}', {"text": "a\x01b"}),
    "escaped apostrophe": ('{"text": "it\\\'s"}', {"text": "it's"}),
    "trailing commas": ('{"a": [1, 2, ], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}),
    "a comma in a string stays": ('{"a": ",}",}', {"a": ",}"}),
    "words": ('{"a": True, "b": [False, None], "c": "None"}', {"a": True, "b": [False, None], "c": "None"}),
    "an empty object in front": ('{}{"a": 1}', {"a": 1}),
    "a bracket too many": ('{"a": 1}}', {"a": 1}),
    "written as a string": ('"{\\"a\\": 1}"', {"a": 1}),
    "unicode": ('{"a": "\u00e9\U0001f525\n",}', {"a": "\u00e9\U0001f525\n"}),
}
LEFT = {
    "cut in a string": '{"text": "one',
    "cut in a list": '{"a": [1, 2',
    "cut after a comma": '{"a": 1,',
    "cut after a key": '{"a":',
    "two objects": '{"a": 1}{"a": 2}',
    "a list": "[1, 2]",
    "a number": "1",
    "no value": '{"a": }',
    "no quotes": "{a: 1}",
    "prose": "I would call it with a = 1",
    "empty": "",
    "a text in a string": '"hello"',
    "too long": '{"a": "' + "x" * MAX_BYTES + '",}',
    "too deep": '{"a": ' + "[" * 200 + "]" * 200 + ",}",
}


@pytest.mark.parametrize(("text", "value"), MENDED.values(), ids=MENDED)
def test_what_is_plainly_meant_is_mended(text: str, value: dict[str, Any]) -> None:
    mended = repaired_object(text)
    assert mended is not None and json.loads(mended) == value


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_what_is_not_plain_is_left(text: str) -> None:
    assert repaired_object(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), JSON))
def test_a_sound_object_is_not_touched(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    assert repaired_object(text) == text


@given(st.dictionaries(st.text(), JSON, min_size=1), st.integers(min_value=1))
def test_a_cut_is_never_completed(value: dict[str, Any], seed: int) -> None:
    text = json.dumps(value)
    cut = text[: seed % len(text)]
    assert repaired_object(cut) is None


@given(st.text(alphabet='{}[]",:\\ntrueNoneTF 1\n', max_size=60))
def test_any_text_is_answered(text: str) -> None:
    mended = repaired_object(text)
    assert mended is None or isinstance(json.loads(mended), dict)

"""Answers that broke off and went on: what clients of `remit-sdk` are told is all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.cli import Home
from fakes.sdk import STREAM, run

CUT: dict[str, Any] = {"text": "The first half, ", "stop": "max_tokens"}
BROKEN: dict[str, Any] = {"error": {"kind": "cut", "after_text": "The first half, "}}
READ: dict[str, Any] = {"calls": [{"tool": "file_read", "arguments": {"filePath": "a.txt"}}]}
REST = {"text": "and the second."}
WHOLE = "The first half, and the second."


@pytest.mark.parametrize("first", [CUT, BROKEN])
@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_the_result_is_the_whole_answer(home: Home, first: dict[str, Any], form: str) -> None:
    ran = run(home, "go", "--output-format", form, "--verbose", "--model", home.script(first, REST))
    assert ran.code == 0, ran.stderr
    if form == "text":
        assert ran.stdout == f"{WHOLE}\n".encode()
        return
    last = ran.events[-1] if form == "stream-json" else json.loads(ran.stdout)[-1]
    assert last["result"] == WHOLE


def test_a_cut_of_three_and_what_was_said_before_calls(home: Home) -> None:
    home.write("a.txt", "hello\n")
    script = home.script({"text": "I read. ", **READ}, CUT, {"text": "and more, ", "stop": "max_tokens"}, REST)
    ran = run(home, "go", *STREAM, "--model", script)
    assert ran.events[-1]["result"] == "The first half, and more, and the second."


def test_what_follows_calls_is_another_answer(home: Home) -> None:
    home.write("a.txt", "hello\n")
    ran = run(home, "go", *STREAM, "--model", home.script(CUT, {"text": "I read. ", **READ}, REST))
    assert ran.events[-1]["result"] == REST["text"]


def test_a_structured_output_from_the_text_of_both(home: Home) -> None:
    halves = ({"text": '{"a": ', "stop": "max_tokens"}, {"text": "1}"})
    schema = json.dumps({"type": "object", "required": ["a"]})
    ran = run(home, "go", *STREAM, "--model", home.script(*halves), "--json-schema", schema)
    assert ran.events[-1]["structured_output"] == {"a": 1}


def test_a_request_that_is_no_good_is_an_invalid_one(home: Home) -> None:
    script = home.script({"error": {"kind": "bad_request", "message": "no"}})
    ran = run(home, "go", *STREAM, "--model", script)
    assert ran.code == 1
    [told] = [line for line in ran.events if line["type"] == "assistant"]
    assert told["error"] == "invalid_request"

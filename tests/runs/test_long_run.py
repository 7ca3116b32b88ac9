"""A run of 300 turns in a context window that holds about thirty of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, ended, journal
from fakes.long_run import CASES, PROMPT, TURNS, WINDOW, Asked, WindowModel


def assert_sound(messages: list[dict[str, Any]]) -> None:
    """The prompt is there word for word, every call is followed by its result, and every result follows its call."""
    assert any(PROMPT in message["content"] for message in messages if message["role"] == "user")
    due: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            due.remove(message["tool_call_id"])
            continue
        assert due == [], "a call without its result"
        due = [call["id"] for call in message.get("tool_calls", ())]
    assert due == [], "a call without its result"


def body(request: Asked) -> bytes:
    """A request up to the end of its messages: all that the next one should begin with."""
    messages, _, options = request.raw.rpartition(b'],"stream":true')
    assert messages and b'"role"' not in options
    return messages


def steps(out: Path) -> list[str]:
    """What was done to the transcript before each request of a turn: letters of `compacted` and `pruned`."""
    letters = {"turn_started": "|", "compacted": "c", "pruned": "p"}
    return "".join(letters.get(record["type"], "") for record in journal(out)).split("|")[:-1]


def assert_prefixes(asked: list[Asked], done: list[str]) -> None:
    """A request goes on where that of the turn before ended, unless the transcript was made shorter in between."""
    turns = [request for request in asked if not request.summary]
    goes_on = [after.raw.startswith(body(before)) for before, after in itertools.pairwise(turns)]
    assert len(done) == len(turns) and done[0] == ""
    assert goes_on == [not steps for steps in done[1:]]


def assert_summaries(asked: list[Asked], done: list[str]) -> None:
    """The question for a summary follows what was sent before, unless results had just left, or the server had
    refused it as too long."""
    assert sum(request.summary for request in asked) == "".join(done).count("c")
    turn = 0
    for before, request in itertools.pairwise(asked):
        turn += not before.summary
        if request.summary and "p" not in done[turn] and not before.refused:
            *same, last = request.messages
            assert len(same) > 1 and last["role"] == "user"
            assert same == before.messages[: len(same)]
            head, _, _ = request.raw.partition(b'"messages":')
            assert before.raw.startswith(head)


@pytest.mark.heavy
@pytest.mark.parametrize("name", CASES)
def test_a_long_run_stays_within_its_window(home: Home, name: str) -> None:
    case = CASES[name]
    model = WindowModel(case)
    ran = model.run(home)
    assert ran.result == ended(home.out, ran.code)
    assert (ran.code, ran.result["verdict"], ran.result["result"]) == (0, "done", "Done."), ran.stderr
    answered = [request for request in model.asked if not request.summary and not request.refused]
    assert len(answered) == len(journal(home.out, "answered")) == TURNS
    assert [request.tokens + 1 > WINDOW for request in model.asked].count(True) == case.refusals
    for request in model.asked:
        assert_sound(request.messages)
    done = steps(home.out)
    assert_prefixes(model.asked, done)
    assert_summaries(model.asked, done)
    # Room is made for several turns at once, by a summary too, and each change is told.
    assert "c" in "".join(done) and sum(map(bool, done)) <= TURNS // 3
    told = [event["compact_metadata"]["done"] for event in ran.events if event.get("subtype") == "compact_boundary"]
    assert "".join(word[0] for word in told).replace("s", "c") == "".join(done)

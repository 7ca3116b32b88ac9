from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import msgspec
import pytest

from remit.base.calls import Outcome, err
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Question as Asked
from remit.base.ports import Reply, World
from remit.config.settings import Settings
from remit.engine.context import CallContext
from remit.tools.execution.question import MAX_HEADER_CHARACTERS, Question

TOOL = Question()
NOWHERE = cast(World, None)


class Person:
    """Answers by the header."""

    def __init__(self, **replies: Reply) -> None:
        self.asked: list[Asked] = []
        self._replies = replies

    async def ask(self, question: Asked) -> Reply:
        self.asked.append(question)
        return self._replies.get(question.header, Reply(why_not="a.toml has no answer for it"))


def entry(header: str, *labels: str, **more: Any) -> dict[str, Any]:
    return {"question": f"{header}?", "header": header, "options": [{"label": label} for label in labels], **more}


def call(person: Person, *entries: dict[str, Any]) -> Outcome:
    try:
        params = TOOL.parse(json.dumps({"questions": entries}))
        assert TOOL.resources(params, NOWHERE) == []
        return asyncio.run(TOOL.run(params, CallContext("t1.c1", TOOL.name, granted_questions=person)))
    except Failure as failure:
        return err(failure.code, failure.message)


def test_each_question_has_a_line_and_those_skipped_say_so() -> None:
    person = Person(
        One=Reply(("a",), "a.toml:2"), Two=Reply(("b", "c d"), "a.toml:5"), Four=Reply(("two\n lines",), "x")
    )
    outcome = call(person, entry("One", "a"), entry("Two", "b", "c d"), entry("Three", "e"), entry("Four"))
    assert outcome.text == "One: a\nTwo: b, c d\nThree: (no answer)\nFour: two lines"
    assert outcome.data["answers"][0] == {
        "question": "One?",
        "header": "One",
        "answer": ("a",),
        "where": "a.toml:2",
        "why_not": "",
    }
    assert outcome.data["answers"][2]["why_not"] == "a.toml has no answer for it"


def test_what_is_asked_arrives_whole() -> None:
    person = Person(A=Reply(("x",)))
    described = {"question": "A?", "header": "A", "options": [{"label": "x", "description": "why"}]}
    call(person, {**described, "multiSelect": True}, {**described, "multiple": True}, described)
    assert [each.multiple for each in person.asked] == [True, True, False]
    assert person.asked[0] == Asked("A?", "A", ("x",), multiple=True, notes=("why",))


def test_a_question_that_nobody_answers_is_an_error_at_once() -> None:
    outcome = call(Person(), entry("One", "a"), entry("Two", "b"))
    assert outcome.error is not None and outcome.error.code is ErrorCode.UNANSWERED
    assert "One: a.toml has no answer for it; Two: a.toml has no answer for it" in outcome.error.message


def test_a_person_has_the_time_that_a_client_gives_them() -> None:
    waited = next(each.default for each in msgspec.structs.fields(Settings) if each.name == "client_seconds")
    assert TOOL.bounds.seconds > 100 * waited


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "`questions`: expected a list of at least 1 item, seen []"),
        ([{"question": "a"}], "missing required field `header`"),
        ([{"header": "a"}], "missing required field `question`"),
        ([entry("")], "`questions[0].header`: expected a string of 1 to 30 characters, seen ''"),
        (
            [entry("h" * (MAX_HEADER_CHARACTERS + 1))],
            "expected a string of 1 to 30 characters, seen 'hhh",
        ),
        ([entry("a", "")], "`questions[0].options[0].label`: expected a string of at least 1 character, seen ''"),
        ([entry("a", more=1)], "unknown field `more`"),
    ],
)
def test_what_is_no_question_is_refused(entries: list[dict[str, Any]], message: str) -> None:
    outcome = call(Person(), *entries)
    assert outcome.error is not None and outcome.error.code is ErrorCode.INVALID_ARGUMENTS
    assert message in outcome.error.message


def test_a_header_may_have_thirty_characters() -> None:
    header = "\u00e9" * MAX_HEADER_CHARACTERS
    assert call(Person(**{header: Reply(("a",))}), entry(header)).text == f"{header}: a"

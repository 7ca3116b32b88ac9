from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from remit.base.errors import Faults
from remit.base.ports import Question, Reply
from remit.base.spec import Source
from remit.policy.answers import Answers, load_answers
from remit.policy.questions import Choice

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DATABASE = Question("Which database?", "Database", ("PostgreSQL", "SQLite", "none"))


class Counter:
    """Uses counted in memory."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def take(self, entry: str, limit: int) -> bool:
        if self.taken.get(entry, 0) >= limit:
            return False
        self.taken[entry] = self.taken.get(entry, 0) + 1
        return True


def prepared(*entries: str, counter: Counter | None = None, now: datetime = NOON) -> Answers:
    text = "version = 1\n" + "".join(f"[[answer]]\n{each}\n" for each in entries)
    return load_answers(Source("a.toml", text), frozenset(), now=lambda: now, uses=counter or Counter())


def ask(answers: Answers, question: Question = DATABASE) -> Reply:
    return asyncio.run(answers.questions.ask(question))


def answer(question: str = "Which database?", choose: str = '["SQLite"]', more: str = "") -> str:
    return f'question = "{question}"\nchoose = {choose}\n{more}'


@pytest.mark.parametrize(
    ("pattern", "question", "fits"),
    [
        ("Which database?", "Which database?", True),
        ("Which database?", "  Which database?\n", True),
        ("Which database?", "Which databases", False),
        ("Which database?", "which database?", False),
        ("Which [a-z]*?", "Which database?", False),
        ("Which *?", "Which database?", True),
        ("Which *?", "Which database", False),
        ("*", "", True),
        ("*database*", "database", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "a1b2c", True),
        ("a*b*c", "acb", False),
        ("ab*ba", "aba", False),
        ("a*b*b", "ab", False),
        ("a*b*b", "abb", True),
        ("a*b*c", "ac", False),
    ],
)
def test_a_question_is_told_by_its_text(pattern: str, question: str, fits: bool) -> None:
    assert Choice(question=pattern, text="x", where="", entry="").is_for(question) is fits


def test_the_first_entry_that_fits_answers() -> None:
    found = prepared(
        answer("Which colour?"),
        answer("Which *", '["MySQL"]'),
        answer("Which *", '["sqlite "]'),
        answer("*", '["none"]'),
    )
    assert ask(found) == Reply(("SQLite",), "a.toml:10")
    assert ask(found, Question("Why?", "Why", ("none",))) == Reply(("none",), "a.toml:14")


def test_several_options_are_chosen_where_the_question_takes_several() -> None:
    found = prepared(answer(choose='["SQLite", "PostgreSQL"]'))
    several = Question(DATABASE.text, DATABASE.header, DATABASE.options, multiple=True)
    assert ask(found, several).answer == ("SQLite", "PostgreSQL")
    assert ask(found) == Reply(why_not="a.toml:2 chooses 2 options, and the question takes one")


def test_a_text_answers_whatever_the_options_are() -> None:
    found = prepared('question = "*"\ntext = "ask the operators"')
    assert ask(found) == Reply(("ask the operators",), "a.toml:2")
    assert ask(found, Question("Open?", "Open")).answer == ("ask the operators",)


def test_what_does_not_answer_is_told() -> None:
    assert ask(prepared(answer("Why?"))).why_not == "a.toml has no `[[answer]]` for it"
    assert ask(prepared(answer(choose='["MySQL"]'))).why_not == (
        "a.toml:2 chooses 'MySQL', and the options are 'PostgreSQL', 'SQLite', 'none'"
    )
    assert ask(prepared(answer("*")), Question("Open?", "Open")).why_not == (
        "a.toml:2 chooses 'SQLite', and the options are none; answer with `text`"
    )


def test_an_entry_expires_at_its_moment() -> None:
    entry = answer(more="expires = 2026-06-01T14:00:00+02:00")
    assert ask(prepared(entry, now=NOON - timedelta(seconds=1))).answer == ("SQLite",)
    assert ask(prepared(entry)) == Reply(why_not="a.toml:2 expired at 2026-06-01T12:00:00+00:00")
    first = prepared(answer(more="expires = 0001-01-01T00:00:00+12:00"))
    assert ask(first) == Reply(why_not="a.toml:2 expired at 0001-01-01T00:00:00+12:00")
    assert ask(prepared(answer(more="expires = 9999-12-31T23:59:59-12:00"))).answer == ("SQLite",)


def test_uses_are_counted_when_an_entry_answers_and_only_then() -> None:
    counter = Counter()
    found = prepared(answer(more="uses = 2"), answer("*", '["none"]'), counter=counter)
    assert ask(found, Question(DATABASE.text, "Database", ("none",))).where == "a.toml:6"
    assert counter.taken == {}
    assert [ask(found).where for _ in range(3)] == ["a.toml:2", "a.toml:2", "a.toml:6"]
    [entry] = counter.taken
    assert entry.endswith(":answer:0") and counter.taken[entry] == 2
    alone = prepared(answer(more="uses = 1"))
    assert ask(alone).answer
    assert ask(alone).why_not == "a.toml:2 was for 1 use(s), which are spent"


@pytest.mark.parametrize(
    ("entry", "due"),
    [
        ('question = "a"', "a.toml:2: `answer[0]` has neither `choose` nor `text` (name the options to choose"),
        ('question = "a"\nchoose = ["b"]\ntext = "c"', "a.toml:2: `answer[0]` has `choose` and `text`"),
        ('choose = ["b"]', "a.toml:2: `answer[0].question` is missing"),
        ('question = ""\nchoose = ["b"]', "a.toml:3: `answer[0].question`"),
        ('question = "a"\nchoose = []', "a.toml:4: `answer[0].choose`"),
        ('question = "a"\nchoose = ["b"]\nuses = 0', "a.toml:5: `answer[0].uses`"),
        (
            'question = "a"\nchoose = ["b"]\nexpires = 2026-01-01T00:00:00',
            "a.toml:5: `answer[0].expires` has no time zone",
        ),
        ('question = "a"\nchose = ["b"]', "a.toml:4: unknown key `answer[0].chose`"),
    ],
)
def test_faults_of_an_answer(entry: str, due: str) -> None:
    with pytest.raises(Faults) as caught:
        prepared(entry)
    assert any(str(fault).startswith(due) for fault in caught.value.faults), list(map(str, caught.value.faults))

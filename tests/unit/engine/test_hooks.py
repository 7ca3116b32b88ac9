"""Hooks at the gate: what they say of a call, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import msgspec
import pytest

from remit.base.calls import Call, Outcome
from remit.base.errors import Refused
from remit.base.ports import HookWord
from remit.base.records import CallChanged, CallChecked, UserSaid
from remit.engine.hooks import HookList, joined
from unit.engine.test_parts import Note, Table, batch, note

Decide = Literal["allow", "ask", "deny"]


class Says:
    """Hooks that say the same of each call. heard: the arguments they were told of."""

    def __init__(self, before: HookWord | None = None, after: HookWord | None = None) -> None:
        self.before, self.after = before or HookWord(), after or HookWord()
        self.heard: list[Any] = []
        self.finished: list[tuple[str, bool, str]] = []

    async def before_call(self, call: Call) -> HookWord:
        self.heard.append(json.loads(call.arguments))
        return self.before

    async def after_call(self, call: Call, outcome: Outcome, content: str, seconds: float) -> HookWord:
        self.finished.append((call.tool, outcome.ok, content))
        return self.after

    async def on_prompt(self, text: str) -> HookWord:
        return HookWord()

    async def on_stop(self, text: str, again: bool) -> HookWord:
        return HookWord()


def hooked(*hooks: Says, **spec: Any) -> tuple[Note, Table]:
    tool = Note()
    table = Table(tool, **spec)
    for each in hooks:
        table.dispatch.hooks.add(each)
    return tool, table


def last_check(table: Table) -> CallChecked:
    return [each for each in table.desk.book.records if isinstance(each, CallChecked)][-1]


def test_silent_hooks_change_nothing() -> None:
    hooks = Says()
    tool, table = hooked(hooks)
    [shown] = table.perform(("note", {"what": "a"}))
    assert (shown.content, tool.noted) == ("noted a", ["a"])
    assert hooks.heard == [{"what": "a"}]
    assert hooks.finished == [("note", True, "noted a")]


def test_a_refusal_is_told_word_for_word_and_counts_as_one() -> None:
    tool, table = hooked(Says(HookWord("deny", "not on a Friday", who="friday")))
    [shown] = table.perform(("note", {"what": "a"}))
    assert shown.is_error and "not on a Friday" in shown.content and not tool.noted
    [denial] = table.desk.state.denials.values()
    assert (denial.source, denial.rule, denial.why) == ("hook", "friday", "not on a Friday")


@pytest.mark.parametrize(("name", "ran"), [("ask a", True), ("deny a", False), ("a", True)])
def test_an_allowance_answers_an_ask_and_opens_nothing_that_is_denied(name: str, ran: bool) -> None:
    tool, table = hooked(Says(HookWord("allow")))
    table.perform(("note", {"what": name}))
    assert bool(tool.noted) is ran
    assert last_check(table).approval == ("hook" if name == "ask a" else "")


def test_an_ask_is_asked_where_the_rules_would_let_the_call_pass() -> None:
    tool, table = hooked(Says(HookWord("ask", "somebody should look")))
    [shown] = table.perform(("note", {"what": "a"}))
    assert "approval_required" in shown.content and "somebody should look" in shown.content and not tool.noted


@pytest.mark.parametrize(("changed", "noted"), [("b", ["b"]), ("deny b", []), ("ask b", [])])
def test_changed_arguments_are_judged_as_a_new_call(changed: str, noted: list[str]) -> None:
    tool, table = hooked(Says(HookWord(arguments=json.dumps({"what": changed}))))
    table.perform(("note", {"what": "a"}))
    assert tool.noted == noted
    [record] = [each for each in table.desk.book.records if isinstance(each, CallChanged)]
    assert (record.who, json.loads(record.arguments)) == ("hook", {"what": changed})
    assert list(table.desk.book.read().denials) == list(table.desk.state.denials)


def test_parts_of_a_call_are_heard_like_calls() -> None:
    hooks = Says()
    tool, table = hooked(hooks)
    table.perform(batch(note("a"), note("b")))
    assert hooks.heard[1:] == [{"what": "a"}, {"what": "b"}]
    assert [name for name, _, _ in hooks.finished] == ["note", "note"]
    assert tool.noted == ["a", "b"]


def test_a_tool_that_is_not_there_is_none_of_their_business() -> None:
    hooks = Says(HookWord("deny", "no"))
    _, table = hooked(hooks)
    [shown] = table.perform(("nothing", {}))
    assert "unknown_tool" in shown.content and not hooks.heard


def test_what_they_add_reaches_the_model_behind_the_results() -> None:
    _, table = hooked(Says(HookWord(context="before"), HookWord(context="after")))
    table.perform(("note", {"what": "a"}))
    [said] = [each for each in table.desk.book.records if isinstance(each, UserSaid) and each.synthetic]
    assert (said.text, said.reason, said.joined) == ("before\nafter", "hook", True)
    assert table.desk.state.messages[-1].text() == "before\nafter"


def test_what_they_say_against_a_finished_call_reaches_the_model() -> None:
    _, table = hooked(Says(None, HookWord("deny", "look again")))
    table.perform(("note", {"what": "a"}))
    assert table.desk.state.messages[-1].text() == "look again"


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_stop_ends_the_prompt_once_the_turn_is_over(where: str) -> None:
    word = HookWord(stop="enough")
    tool, table = hooked(Says(**{where: word}))
    table.answer(("note", {"what": "a"}))
    with pytest.raises(Refused, match="a hook ended the prompt: enough") as ended:
        asyncio.run(table.go())
    assert ended.value.kind == "hook_stopped"
    assert tool.noted == (["a"] if where == "after" else []) and not table.desk.state.open


def test_each_hook_hears_what_those_before_it_made_of_the_call() -> None:
    first, second = Says(HookWord(arguments='{"what":"b"}', context="1")), Says(HookWord("ask", "why", context="2"))
    hooks = HookList()
    hooks.add(first)
    hooks.add(second)
    word = asyncio.run(hooks.before_call(Call("t1.c1", "1", "note", '{"what":"a"}')))
    assert second.heard == [{"what": "b"}]
    assert word == HookWord("ask", "why", '{"what":"b"}', "1\n2")


@pytest.mark.parametrize("first", [HookWord("deny", "no"), HookWord(stop="enough")])
def test_nobody_is_heard_after_a_refusal_or_a_stop(first: HookWord) -> None:
    second = Says(HookWord("allow"))
    _, table = hooked(Says(first), second)
    table.answer(("note", {"what": "a"}))
    word = asyncio.run(table.dispatch.hooks.before_call(Call("t1.c1", "1", "note", "{}")))
    assert word == first and not second.heard


ORDER: tuple[Decide, ...] = ("allow", "ask", "deny")


@pytest.mark.parametrize("first", ORDER)
@pytest.mark.parametrize("then", ORDER)
def test_the_stricter_of_two_words_counts(first: Decide, then: Decide) -> None:
    one, two = HookWord(first, "1"), HookWord(then, "2")
    strict = max(one, two, key=lambda word: ORDER.index(word.decide))  # type: ignore[arg-type]
    assert joined(one, two).decide == joined(two, one).decide == strict.decide
    assert joined(one, two).message == ("1" if one.decide == two.decide else strict.message)


def test_a_word_is_data() -> None:
    assert msgspec.to_builtins(HookWord()) == {
        "decide": "",
        "message": "",
        "arguments": None,
        "context": "",
        "stop": None,
        "who": "",
        "output": None,
        "said": (),
    }

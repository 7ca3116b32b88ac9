from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.asking import Heard, Slept, ask, request, user
from fakes.opened import by_name
from remit.base.errors import Faults, ProviderBusy
from remit.base.messages import MAX_TOKENS, CallBlock, Delta, Message, ResultBlock, TextBlock, ThinkingBlock, Usage
from remit.base.spec import Price
from remit.config.load import parse
from remit.engine.models import cost_of
from remit.providers.scripted import MAX_REPEAT, ScriptedProvider, compare


def scripted(yaml: str, slept: Slept | None = None) -> ScriptedProvider:
    return ScriptedProvider(parse(f"version: 1\n{yaml}", "s.yaml", "yaml"), timing=(slept or Slept()).timing)


def faults_of(yaml: str) -> list[str]:
    with pytest.raises(Faults) as caught:
        scripted(yaml)
    return [str(fault) for fault in caught.value.faults]


def after(answer: Heard, *results: str) -> tuple[Message, Message]:
    """The answer and its results, as they stand in the next request."""
    blocks = answer.blocks()
    calls = [block for block in blocks if isinstance(block, CallBlock)]
    pairs = zip(calls, results, strict=True)
    return Message("assistant", tuple(blocks)), Message("user", tuple(ResultBlock(c.id, r) for c, r in pairs))


def test_a_turn_becomes_blocks_usage_and_a_reason() -> None:
    answer = ask(
        scripted("""
turns:
  - thinking: hm
    text: I look.
    calls:
      - {tool: read_file, arguments: {path: a.txt, lines: [1, 2]}}
      - {tool: read_file, raw: '{"path": ', id: mine}
      - {tool: list_files}
    usage: {input: 9, output: 3, cache_read: 2, cache_write: 1}
"""),
        request(),
    )
    assert answer.blocks() == [
        ThinkingBlock("hm"),
        TextBlock("I look."),
        CallBlock("call_1_1", "read_file", '{"path":"a.txt","lines":[1,2]}'),
        CallBlock("mine", "read_file", '{"path": '),
        CallBlock("call_1_3", "list_files", "{}"),
    ]
    assert answer.usage() == Usage(9, 3, 2, 1) and answer.stop() == "tool_use"
    assert [part.index for part in answer.of(Delta)] == [0, 1, 2, 3, 4]


def test_the_model_and_its_price_are_the_scripts() -> None:
    provider = scripted("model: pretend-1\nprice: {input: 3, output: 15.5}\nturns: [{text: hi}]")
    assert (provider.name, provider.model, provider.key_source) == ("scripted", "pretend-1", "none")
    assert provider.price == Price(3, 15.5)
    assert scripted("turns: [{text: hi}]").model == "scripted" and scripted("turns: [{text: hi}]").price is None


def test_the_due_turn_is_read_from_the_transcript() -> None:
    yaml = "turns: [{text: one}, {text: two, repeat: 2}, {text: three, stop: max_tokens}]"
    transcript = [user("hi")]
    said = []
    for _ in range(4):
        answer = ask(scripted(yaml), request(*transcript))  # a new process each time
        said.append((answer.blocks()[0].text, answer.stop()))
        transcript += [Message("assistant", tuple(answer.blocks())), user("go on")]
    assert said == [("one", "end_turn"), ("two", "end_turn"), ("two", "end_turn"), ("three", "max_tokens")]
    spent = ask(scripted(yaml), request(*transcript)).fault
    assert spent is not None and spent.kind == "script" and "4 turns" in spent.what and spent.where == "s.yaml:2"


def test_call_ids_are_new_in_every_turn() -> None:
    yaml = "turns: [{calls: [{tool: t}], repeat: 3}]"
    first = ask(scripted(yaml), request())
    second = ask(scripted(yaml), request(user("hi"), *after(first, "{}")))
    assert [first.blocks()[0].id, second.blocks()[0].id] == ["call_1_1", "call_2_1"]


def test_a_delay_is_waited() -> None:
    slept = Slept()
    ask(scripted("turns: [{text: hi, delay: 1.5}]", slept), request())
    assert slept.waits == [1.5]


# -- failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["auth", "bad_request", "context_overflow", "network", "malformed", "cut"])
def test_a_turn_can_fail(kind: str) -> None:
    fault = ask(scripted(f"turns: [{{error: {{kind: {kind}, message: broken}}}}]"), request()).fault
    assert fault is not None and fault.kind == kind and "broken" in fault.what and not isinstance(fault, ProviderBusy)


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded"])
def test_a_turn_can_be_busy(kind: str) -> None:
    yaml = f"turns: [{{error: {{kind: {kind}, reset_at: '2030-01-01T00:00:00Z'}}}}]"
    fault = ask(scripted(yaml), request()).fault
    assert isinstance(fault, ProviderBusy) and (fault.kind, fault.reset_at) == (kind, "2030-01-01T00:00:00Z")


FAILING = "turns: [{text: one}, {error: {kind: cut, after_text: tw}}, {text: two}]"
ONE = Message("assistant", (TextBlock("one"),))


def test_text_may_arrive_before_the_failure() -> None:
    answer = ask(scripted(FAILING), request(user("hi"), ONE, user("on")))
    assert list(answer) == [Delta(0, "text", "tw")] and answer.fault is not None and answer.fault.kind == "cut"


def test_a_failing_turn_is_played_once_by_a_process() -> None:
    answer = ask(scripted(FAILING), request(user("hi"), ONE, user("on")), request(user("hi"), ONE, user("on")))
    assert answer.blocks() == [TextBlock("two")]


@pytest.mark.parametrize("kept", [True, False])
def test_a_failing_turn_is_passed_whether_its_text_was_kept_or_not(kept: bool) -> None:
    partial = (Message("assistant", (TextBlock("tw"),)), user("go on")) if kept else ()
    done = (Message("assistant", (TextBlock("two"),)), user("more"))
    answer = ask(scripted(FAILING), request(user("hi"), ONE, user("on"), *partial, *done))
    assert answer.fault is not None and "3 turns" in answer.fault.what


# -- expectations ------------------------------------------------------------------------------------


def test_an_expected_prompt_is_looked_for_in_the_last_user_message() -> None:
    yaml = "turns: [{text: one}, {text: two, expect_prompt: total of 7}]"
    past = (user("hi"), ONE)
    assert ask(scripted(yaml), request(*past, user("the total of 7 it is"))).blocks() == [TextBlock("two")]
    fault = ask(scripted(yaml), request(*past, user("the total of 8 it is"))).fault
    assert fault is not None and fault.kind == "script" and "total of 7" in fault.what and "total of 8" in fault.what


SUM = """
turns:
  - calls:
      - {tool: list_files}
      - tool: analyze_csv
        expect_result:
          ok: true
          data: {rows: 12, columns: {"1": {sum: 345.5}}}
  - text: done
"""
RESULT = {"ok": True, "data": {"rows": 12, "more": 0, "columns": [{"sum": 1}, {"sum": 345.5, "name": "b"}]}}


def test_an_expected_result_that_comes_lets_the_script_go_on() -> None:
    first = ask(scripted(SUM), request())
    assert ask(scripted(SUM), request(user("hi"), *after(first, "x", json.dumps(RESULT)))).blocks() == [
        TextBlock("done")
    ]


def test_an_unexpected_result_names_turn_tool_path_and_both_values() -> None:
    first = ask(scripted(SUM), request())
    seen = json.dumps(RESULT).replace("345.5", "345.6")
    fault = ask(scripted(SUM), request(user("hi"), *after(first, "x", seen))).fault
    assert fault is not None and fault.kind == "script"
    assert fault.what == (
        "script turn 1: call 2 (analyze_csv): the result differs at $.data.columns[1].sum: "
        "expected 345.5, seen 345.6; nothing was written after this"
    )
    assert fault.where == "s.yaml:7" and fault.hint


def test_a_result_that_is_missing_is_a_difference() -> None:
    first = ask(scripted(SUM), request())
    answer = Message("assistant", tuple(first.blocks()))
    fault = ask(scripted(SUM), request(user("hi"), answer, user("no results"))).fault
    assert fault is not None and "it has no result" in fault.what


def test_calls_are_found_by_their_place_whatever_their_ids_became() -> None:
    first = ask(scripted(SUM), request())
    renamed = tuple(CallBlock(f"renamed_{n}", block.tool, block.arguments) for n, block in enumerate(first.blocks()))
    results = (ResultBlock("renamed_1", json.dumps(RESULT)), ResultBlock("renamed_0", "x"))
    past = (user("hi"), Message("assistant", renamed), Message("user", results))
    assert ask(scripted(SUM), request(*past)).blocks() == [TextBlock("done")]


@pytest.mark.parametrize(
    ("expected", "content"),
    [
        ("3 rows", "there are 3 rows in it"),
        ("", ""),
        ({"a": 1}, '{"a": 1, "b": 2}'),
        ({"a": {"b": [1, {"c": None}]}}, '{"a": {"b": [1, {"c": null, "d": 1}]}}'),
        ({"0": "x", "2": "z"}, '["x", "y", "z"]'),
        ([], "[]"),
        (5, "5.0"),
        (0.1, "0.1"),
        (12345678901234567890, "12345678901234567890"),
        (True, "true"),
        (None, "null"),
        ('{"a": 1}', '{"a": 1, "b": 2}'),
        ("a", '{"a": 1}'),
        ("5", "5"),
    ],
)
def test_results_that_fit(expected: Any, content: str) -> None:
    assert compare(expected, content) == ""


@pytest.mark.parametrize(
    ("expected", "content", "words"),
    [
        ("3 rows", "4 rows", ("'3 rows'", "'4 rows'")),
        ({"a": 1}, "plain text", ("expected JSON", "plain text")),
        ({"a": 1}, '{"a": 2}', ("$.a", "expected 1", "seen 2")),
        ({"a": 1}, '{"b": 1}', ("no $.a", "['b']")),
        ({"a": 1}, '{"a": "1"}', ("expected 1", "seen '1'")),
        ({"a": 1}, '{"a": true}', ("expected 1", "seen true")),
        ({"a": False}, '{"a": 0}', ("expected false", "seen 0")),
        ({"a": 0.1}, '{"a": 0.10000000000000002}', ("$.a",)),
        ({"a": None}, "{}", ("no $.a",)),
        ([1, 2], "[1, 2, 3]", ("expected 2 items", "seen 3")),
        ([1, 2], "[1, 3]", ("$[1]",)),
        ({"3": 1}, "[1, 2, 3]", ("no $[3]", "list of 3")),
        ({"-1": 1}, "[1]", ("no $[-1]",)),
        ({"x": 1}, "[1]", ("no $[x]",)),
        ({"a": {"b": 1}}, '{"a": 7}', ("$.a",)),
        ("b", '{"a": 1}', ("lacks 'b'",)),
    ],
)
def test_results_that_do_not_fit(expected: Any, content: str, words: tuple[str, ...]) -> None:
    told = compare(expected, content)
    assert all(word in told for word in words), told


# -- bad scripts -------------------------------------------------------------------------------------


def test_all_faults_of_a_script_are_told_at_once_with_their_lines() -> None:
    told = faults_of(
        "turns:\n  - txt: hi\n  - calls: [{arguments: {}}]\n  - repeat: 0\n  - error: {kind: rate_limit}\n"
    )
    assert len(told) == 4
    assert [line.split(": ")[0] for line in told] == ["s.yaml:3", "s.yaml:4", "s.yaml:5", "s.yaml:6"]
    assert "did you mean `text`?" in told[0] and "`turns[1].calls[0].tool` is missing" in told[1]
    assert "rate_limited" in told[3]


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("turns: [{}]", "turn 1 does nothing"),
        ("turns: [{text: a, error: {kind: cut}}]", "turn 1 both answers and fails"),
        ("turns: [{calls: [{tool: t, raw: x, arguments: {}}]}]", "`arguments` and `raw` exclude one another"),
        ("turns: []", "turns"),
        ("model: m", "`turns` is missing"),
        ("turns: [{text: 5}]", "put it in quotes"),
        (f"turns: [{{text: a, repeat: {MAX_REPEAT + 1}}}]", "at most 10000"),
        ("turns: [{text: a, delay: -1}]", "at least 0"),
        ("turns: [{text: a, usage: {input: -1}}]", "at least 0"),
        (f"turns: [{{text: a, usage: {{output: {MAX_TOKENS + 1}}}}}]", f"at most {MAX_TOKENS}"),
        ("turns: [{text: a}]\nprice: {input: 1000000000.1, output: 1}", "at most 1000000000, seen 1000000000.1"),
        ("turns: [{text: a}]\nprice: {input: 1, output: 1e+308}", "at most 1000000000, seen 1e+308"),
        ("turns: [{text: a, stop: done}]", "end_turn"),
    ],
)
def test_what_a_script_cannot_say(yaml: str, words: str) -> None:
    assert any(words in line for line in faults_of(yaml)), faults_of(yaml)


def test_the_largest_repeat_is_allowed() -> None:
    assert ask(scripted(f"turns: [{{text: a, repeat: {MAX_REPEAT}}}]"), request()).stop() == "end_turn"


def test_the_dearest_answer_there_may_be_costs_a_number() -> None:
    counts = ", ".join(f"{name}: {MAX_TOKENS}" for name in ("input", "output", "cache_read", "cache_write"))
    provider = scripted(f"turns: [{{text: a, usage: {{{counts}}}}}]\nprice: {{input: 1000000000, output: 1000000000}}")
    assert provider.price is not None
    cost = cost_of(Usage(MAX_TOKENS, MAX_TOKENS, MAX_TOKENS, MAX_TOKENS), provider.price)
    assert set(msgspec.structs.astuple(cost)) == {MAX_TOKENS * 1000.0}


def test_an_empty_answer_is_asked_for_by_its_reason() -> None:
    assert ask(scripted("turns: [{stop: end_turn}]"), request()).blocks() == []


@pytest.mark.parametrize(
    ("name", "content"),
    [("s.yaml", "version: 1\nturns: [{text: hi}]\n"), ("s.toml", 'version = 1\n[[turns]]\ntext = "hi"\n')],
)
def test_yaml_and_toml_files_are_read_by_the_catalog(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert ask(by_name(f"scripted/{tmp_path / name}", {}), request()).blocks() == [TextBlock("hi")]


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Faults, match="no such file"):
        by_name(f"scripted/{tmp_path}/none.yaml", {})


AGENTS = """
turns: [{text: main}]
agents:
- {when: count, turns: [{text: three}, {text: four}]}
- {when: unt, turns: [{text: never}]}
- {when: look, turns: [{text: seen}]}
"""


@pytest.mark.parametrize(("prompt", "text"), [("go", "main"), ("please count", "three"), ("have a look", "seen")])
def test_agents_are_known_by_their_first_message(prompt: str, text: str) -> None:
    assert ask(scripted(AGENTS), request(user(prompt))).blocks() == [TextBlock(text)]


def test_an_agent_stays_in_its_own_turns() -> None:
    provider = scripted(AGENTS)
    first = Message("assistant", tuple(ask(provider, request(user("count"))).blocks()))
    again = request(user("count"), first, user("have a look"))
    assert ask(provider, again).blocks() == [TextBlock("four")]


def test_faults_in_the_turns_of_an_agent_are_found_in_their_place() -> None:
    (fault,) = faults_of("turns: [{text: a}]\nagents:\n- when: b\n  turns:\n  - {}\n")
    assert "turn 1 does nothing" in fault
    assert fault.startswith("s.yaml:6")


MORE = "turns: [{text: a}, {text: b}]\nagents: [{when: count, turns: [{text: three}]}]"
ANSWERED = (Message("assistant", (TextBlock("a"),)), user("on"))


@pytest.mark.parametrize(
    ("conversation", "messages", "turns", "hint"),
    [
        ("s", (user("go"), *ANSWERED, *ANSWERED), "2 turns", "add a turn that ends without calls"),
        ("s/count", (user("count"), *ANSWERED), "1 turn", "add a turn that ends without calls"),
        ("s/look", (user("look"), *ANSWERED, *ANSWERED), "2 turns", "add an entry to `agents`"),
        ("", (user("judge"), *ANSWERED, *ANSWERED), "2 turns", "add an entry to `agents`"),
    ],
)
def test_too_few_turns_are_told_by_who_asks(
    conversation: str, messages: tuple[Message, ...], turns: str, hint: str
) -> None:
    provider = scripted(MORE)
    ask(provider, msgspec.structs.replace(request(user("go")), cache_key="s"))
    fault = ask(provider, msgspec.structs.replace(request(*messages), cache_key=conversation)).fault
    assert fault is not None
    assert f"the script has {turns} and the run asks for one more" in fault.what
    assert hint in fault.hint

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes import speak_anthropic as speak
from fakes.asking import ask, request, user
from fakes.model_server import ModelServer, Received
from fakes.official_types import misfit
from fakes.opened import opened
from remit.base.errors import PreflightFault
from remit.base.messages import (
    CallBlock,
    ImageBlock,
    Message,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
)
from remit.providers.anthropic import DEFAULT_MAX_TOKENS, PATH

ORIGIN = "anthropic/m"
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
LIST = ToolSpec("list_files", "Lists files.", {})
PICTURE = ImageBlock("image/png", "iVBORw0KGgo=")
SHOWN = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
FILLER = {"type": "text", "text": "(nothing)"}
MARK = {"type": "ephemeral"}


def open_on(server: ModelServer, **facts: Any) -> Any:
    return opened("m", protocol="anthropic", base_url=speak.base_url(server), **facts)


def sent(*messages: Message, facts: dict[str, Any] | None = None, **more: Any) -> Received:
    with ModelServer([speak.text("ok")]) as server:
        answer = ask(open_on(server, **(facts or {})), request(*messages, **more))
        assert answer.fault is None, answer.fault
        return server.requests[0]


def said(*blocks: Any, origin: str = ORIGIN) -> Message:
    return Message("assistant", blocks, origin)


def told(*blocks: Any) -> Message:
    return Message("user", blocks)


def texts(*found: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in found]


def assert_official(body: dict[str, Any]) -> None:
    assert misfit(body, MessageCreateParamsStreaming) == ""


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"bogus": 1}, "bogus"),
        ({"max_tokens": "1"}, "max_tokens"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "bogus": 1}]}]}, "bogus"),
        ({"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}]}, "source"),
        ({"thinking": {"type": "enabled"}}, "thinking"),
    ],
)
def test_the_contract_refuses_what_is_wrong(change: dict[str, Any], problem: str) -> None:
    body = {"model": "m", "max_tokens": 1, "stream": True, "messages": [{"role": "user", "content": "x"}]}
    assert misfit(body, MessageCreateParamsStreaming) == ""
    assert problem in misfit(body | change, MessageCreateParamsStreaming)


# -- requests ----------------------------------------------------------------------------------------


def test_the_whole_request() -> None:
    received = sent(
        user("Read a.txt"),
        said(
            ThinkingBlock("hm", "sig1"),
            ThinkingBlock("", opaque="ENC"),
            TextBlock("I read"),
            TextBlock("both."),
            CallBlock("toolu_1", "read_file", '{"path":"a.txt"}'),
            CallBlock("toolu_2", "list_files", ""),
        ),
        told(
            ResultBlock("toolu_1", '{"ok":true}', images=(PICTURE,)),
            ResultBlock("toolu_2", "no such directory", is_error=True),
            TextBlock("Go on."),
        ),
        said(TextBlock("Done.")),
        told(PICTURE, TextBlock("What is this?")),
        tools=(READ, LIST),
        max_tokens=3000,
        effort="high",
        cache_key="conversation-1",
        facts={
            "api_key": "sk-ant-0123456789",
            "headers": {"anthropic-beta": "b"},
            "thinking": "adaptive",
            "cache_breakpoints": True,
        },
    )
    assert received.path == PATH == speak.PATH
    assert received.headers["x-api-key"] == "sk-ant-0123456789"
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert received.headers["anthropic-beta"] == "b"
    assert "authorization" not in received.headers
    result = {"type": "tool_result", "tool_use_id": "toolu_1"}
    assert received.body == {
        "model": "m",
        "tools": [
            {"name": "read_file", "description": "Reads a file.", "input_schema": READ.schema},
            {"name": "list_files", "description": "Lists files.", "input_schema": {"type": "object"}},
        ],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": texts("Read a.txt")},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig1"},
                    {"type": "redacted_thinking", "data": "ENC"},
                    *texts("I read", "both."),
                    {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "list_files", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {**result, "content": [*texts('{"ok":true}'), SHOWN]},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": texts("no such directory"),
                        "is_error": True,
                    },
                    *texts("Go on."),
                ],
            },
            {"role": "assistant", "content": texts("Done.")},
            {"role": "user", "content": [SHOWN, *texts("What is this?")]},
        ],
        "max_tokens": 3000,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "cache_control": MARK,
        "stream": True,
    }
    assert_official(received.body)


def test_what_is_not_there_is_not_sent() -> None:
    received = sent(user("hi"), system="")
    assert received.body == {
        "model": "m",
        "messages": [{"role": "user", "content": texts("hi")}],
        "max_tokens": DEFAULT_MAX_TOKENS,
        "stream": True,
    }
    assert "x-api-key" not in received.headers
    assert_official(received.body)


def contents(*messages: Message, **more: Any) -> list[Any]:
    body = sent(*messages, **more).body
    assert_official(body)
    return [message["content"] for message in body["messages"]]


@pytest.mark.parametrize("nothing", ["", " ", "\n\t"])
def test_empty_texts_never_leave_and_no_message_is_empty(nothing: str) -> None:
    assert contents(
        user(nothing), said(), user("a"), said(TextBlock(nothing)), told(TextBlock(nothing), TextBlock("b"), PICTURE)
    ) == [[FILLER], [FILLER], texts("a"), [FILLER], [*texts("b"), SHOWN]]


def test_results_of_nothing() -> None:
    found = contents(
        user("a"),
        said(*(CallBlock(name, "t", "{}") for name in "abc")),
        told(ResultBlock("a", ""), ResultBlock("b", " ", is_error=True), ResultBlock("c", "", images=(PICTURE,))),
    )
    assert found[2] == [
        {"type": "tool_result", "tool_use_id": "a"},
        {"type": "tool_result", "tool_use_id": "b", "content": [FILLER], "is_error": True},
        {"type": "tool_result", "tool_use_id": "c", "content": [SHOWN]},
    ]


def test_pictures_of_an_error_follow_the_results() -> None:
    results = (ResultBlock("a", "failed", True, (PICTURE,)), ResultBlock("b", "fine"))
    found = contents(
        user("x"), said(CallBlock("a", "t", "{}"), CallBlock("b", "t", "{}")), told(TextBlock("?"), *results)
    )
    assert found[2] == [
        {"type": "tool_result", "tool_use_id": "a", "content": texts("failed"), "is_error": True},
        {"type": "tool_result", "tool_use_id": "b", "content": texts("fine")},
        SHOWN,
        *texts("?"),
    ]


@pytest.mark.parametrize("arguments", ['{"a": tru', "[1]", "null", "just text", '{"a": "\ud83d"}', "[" * 200])
def test_malformed_arguments_go_back_in_a_form_that_is_taken(arguments: str) -> None:
    found = contents(user("hi"), said(CallBlock("c", "t", arguments)), told(ResultBlock("c", "no")))
    assert found[1][0]["input"] == {"malformed_arguments": arguments.replace("\ud83d", "\ufffd")}


def test_sound_arguments_go_back_as_they_came() -> None:
    raw = sent(user("hi"), said(CallBlock("c", "t", '{"b" :1e2, "a": "\\u00e9"}')), told(ResultBlock("c", "x"))).raw
    assert b'"input":{"b" :1e2, "a": "\\u00e9"}' in raw


def test_lone_surrogates_never_leave() -> None:
    half = "a\ud83db"
    blocks = (ThinkingBlock(half, half), TextBlock(half), CallBlock(half, half, "{}"))
    tool = ToolSpec("t", half, {"type": "object", "description": half})
    received = sent(user(half), said(*blocks), told(ResultBlock(half, half)), system=half, tools=(tool,))
    assert received.raw.decode().count("\\ud83d") == 0
    assert received.body["system"] == "a\ufffdb" == received.body["messages"][1]["content"][0]["signature"]
    assert_official(received.body)


def test_ids_and_names_of_other_servers_are_made_acceptable_and_stay_apart() -> None:
    ids = ["functions.read:0", "functions_read_0", "functions/read:0", "", "ok-1_A", "\ud83d"]
    found = contents(
        user("x"),
        said(*(CallBlock(i, "web.search tool" + "x" * 200, "{}") for i in ids), origin="other/m"),
        told(*(ResultBlock(i, "y") for i in ids)),
    )
    given = [block["id"] for block in found[1]]
    assert given == [block["tool_use_id"] for block in found[2]]
    assert len(set(given)) == len(ids) and given[1] == ids[1] and given[4] == ids[4]
    assert all(one and one.isascii() and one.replace("_", "").replace("-", "").isalnum() for one in given)
    assert {block["name"] for block in found[1]} == {("web_search_tool" + "x" * 200)[:128]}


# -- thinking that goes back -------------------------------------------------------------------------

THOUGHT = ThinkingBlock("hm", "sig")
SECRET = ThinkingBlock("", opaque="ENC")
CALL = CallBlock("c", "t", "{}")
RESULT = told(ResultBlock("c", "r"))


@pytest.mark.parametrize("origin", ["", "other/m", "anthropic/m2", "anthropic/"])
def test_thinking_of_another_origin_is_never_sent(origin: str) -> None:
    raw = sent(user("x"), said(THOUGHT, SECRET, TextBlock("y"), CALL, origin=origin), RESULT).raw
    assert not any(word in raw for word in (b"thinking", b"hm", b"sig", b"ENC"))


def test_only_thinking_that_was_finished_is_sent() -> None:
    assert contents(user("x"), said(ThinkingBlock("unsigned"), TextBlock("y")), user("z"))[1] == texts("y")


def test_thinking_without_words_is_sent_for_its_signature() -> None:
    found = contents(user("x"), said(ThinkingBlock("", "sig"), CALL), RESULT)
    assert found[1][0] == {"type": "thinking", "thinking": "", "signature": "sig"}


@pytest.mark.parametrize("last", [THOUGHT, SECRET])
def test_no_answer_ends_in_a_thought(last: ThinkingBlock) -> None:
    assert contents(user("x"), said(last), user("go on"))[1][1:] == [FILLER]
    assert contents(user("x"), said(TextBlock("y"), last), user("go on"))[1][2:] == [FILLER]


def test_an_answer_goes_back_as_it_came() -> None:
    reply = speak.stream(
        speak.start(),
        speak.thinking_block(0, "SIG==", "Let ", "me"),
        speak.redacted_block(1, "ENC=="),
        speak.text_block(2, "I look"),
        speak.call_block(3, "toolu_1", "read_file", '{"path":', ' "a"}'),
        speak.thinking_block(4, "SIG2"),
        speak.call_block(5, "toolu_2", "list_files"),
        speak.end("tool_use"),
    )
    with ModelServer([reply]) as server:
        answer = ask(open_on(server), request())
    results = told(ResultBlock("toolu_1", "x"), ResultBlock("toolu_2", "y"))
    back = contents(user("x"), said(*answer.blocks()), results)[1]
    assert back == [
        {"type": "thinking", "thinking": "Let me", "signature": "SIG=="},
        {"type": "redacted_thinking", "data": "ENC=="},
        *texts("I look"),
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
        {"type": "thinking", "thinking": "", "signature": "SIG2"},
        {"type": "tool_use", "id": "toolu_2", "name": "list_files", "input": {}},
    ]


# -- thinking that is asked for ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "limit", "expected"),
    [
        (None, None, DEFAULT_MAX_TOKENS),
        (None, 64_000, 64_000),
        (500, None, 500),
        (500, 64_000, 500),
        (64_000, 64_000, 64_000),
        (64_001, 64_000, 64_000),
    ],
)
def test_the_limit_of_an_answer(wanted: int | None, limit: int | None, expected: int) -> None:
    assert sent(user("x"), max_tokens=wanted, facts={"max_output_tokens": limit}).body["max_tokens"] == expected


@pytest.mark.parametrize(
    ("effort", "max_tokens", "expected"),
    [
        ("low", 64_000, (64_000, 8_000)),
        ("medium", 64_000, (64_000, 16_000)),
        ("high", 64_000, (64_000, 32_000)),
        ("max", 64_000, (64_000, 48_000)),
        ("low", 8_192, (8_192, 1_024)),
        ("low", 8_191, (8_191, 1_024)),
        ("max", 2_048, (2_048, 1_536)),
        ("low", 2_047, (2_048, 1_024)),
        ("max", 1, (2_048, 1_536)),
    ],
)
def test_a_budget_is_a_part_of_the_limit(effort: str, max_tokens: int, expected: tuple[int, int]) -> None:
    body = sent(user("x"), max_tokens=max_tokens, effort=effort, facts={"thinking": "budget"}).body
    assert body["thinking"] == {"type": "enabled", "budget_tokens": expected[1]}
    assert body["max_tokens"] == expected[0] > expected[1] >= 1024
    assert_official(body)


@pytest.mark.parametrize(("most", "thinks"), [(2048, True), (2047, False)])
def test_a_model_with_no_room_for_a_budget_does_not_think(most: int, thinks: bool) -> None:
    body = sent(user("x"), effort="max", facts={"thinking": "budget", "max_output_tokens": most}).body
    assert ("thinking" in body) is thinks and body["max_tokens"] == most


@pytest.mark.parametrize(
    ("thinking", "effort", "expected"),
    [
        (None, "high", {}),
        ("none", "high", {}),
        ("effort", "high", {}),
        ("budget", None, {}),
        ("budget", "off", {"thinking": {"type": "disabled"}}),
        ("adaptive", None, {}),
        ("adaptive", "off", {"output_config": {"effort": "low"}}),
        ("adaptive", "low", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ("adaptive", "medium", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}),
        ("adaptive", "max", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
    ],
)
def test_effort_is_told_as_the_model_takes_it(thinking: Any, effort: Any, expected: dict[str, Any]) -> None:
    body = sent(user("x"), effort=effort, facts={"thinking": thinking}).body
    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == expected
    assert_official(body)


FOREIGN = said(THOUGHT, CALL, origin="other/m")
UNSAID = said(TextBlock("I look"), CALL)
BEGUN = said(THOUGHT, TextBlock("I look"), CALL)
HIDDEN = said(SECRET, CALL)


@pytest.mark.parametrize(
    ("name", "messages", "thinks"),
    [
        ("a first question", [user("x")], True),
        ("a turn begun with thinking", [user("x"), BEGUN, RESULT], True),
        ("a turn begun with hidden thinking", [user("x"), HIDDEN, RESULT], True),
        ("later calls of it need none", [user("x"), BEGUN, RESULT, UNSAID, RESULT], True),
        ("nor those after a word in between", [user("x"), BEGUN, RESULT, UNSAID, RESULT, user("and?")], True),
        ("a turn begun without", [user("x"), UNSAID, RESULT], False),
        ("thinking in the middle is too late", [user("x"), UNSAID, RESULT, BEGUN, RESULT], False),
        ("text before the thought", [user("x"), said(TextBlock("a"), THOUGHT, CALL), RESULT], False),
        ("a turn of another model", [user("x"), FOREIGN, RESULT], False),
        ("begun by another model", [user("x"), FOREIGN, RESULT, BEGUN, RESULT], False),
        ("with a word in between", [user("x"), FOREIGN, told(ResultBlock("c", "r"), TextBlock("and?"))], False),
        ("as a message of its own", [user("x"), FOREIGN, RESULT, user("and?")], False),
        ("the next turn", [user("x"), FOREIGN, RESULT, said(TextBlock("y"), origin="o/m"), user("z")], True),
        ("an old turn without", [user("x"), UNSAID, RESULT, said(TextBlock("y")), user("z"), BEGUN, RESULT], True),
    ],
)
def test_a_turn_that_began_without_thinking_goes_on_without(name: str, messages: list[Message], thinks: bool) -> None:
    body = sent(*messages, effort="high", facts={"thinking": "budget"}).body
    assert ("thinking" in body) is thinks, name
    kinds = {block["type"] for message in body["messages"] for block in message["content"]}
    own = any(message.origin == ORIGIN and {THOUGHT, SECRET} & {*message.content} for message in messages)
    # Without thinking asked for, thinking in the turn is refused.
    assert bool(kinds & {"thinking", "redacted_thinking"}) is (thinks and own), name
    assert_official(body)


@pytest.mark.parametrize("effort", [None, "off"])
def test_thinking_of_before_is_left_out_where_a_budget_is_no_longer_given(effort: Any) -> None:
    found = contents(user("x"), BEGUN, RESULT, effort=effort, facts={"thinking": "budget"})
    assert found[1][0] == texts("I look")[0]


@pytest.mark.parametrize("messages", [[user("x"), UNSAID, RESULT], [user("x"), BEGUN, RESULT]])
def test_an_adaptive_model_is_always_asked_the_same_way(messages: list[Message]) -> None:
    body = sent(*messages, effort="high", facts={"thinking": "adaptive"}).body
    assert body["thinking"] == {"type": "adaptive"}


# -- caching -----------------------------------------------------------------------------------------


def test_without_a_system_prompt_the_last_tool_is_marked() -> None:
    with ModelServer([speak.text("ok")] * 3) as server:
        questions = [request(system=system, tools=(READ, LIST)) for system in ("", "s", "")]
        ask(open_on(server, cache_breakpoints=True), *questions)
        bodies = [received.body for received in server.requests]
    assert [[tool.get("cache_control") for tool in body["tools"]] for body in bodies] == [
        [None, MARK],
        [None, None],
        [None, MARK],
    ]
    assert ["system" in body for body in bodies] == [False, True, False]
    for body in bodies:
        assert body["cache_control"] == MARK and json.dumps(body).count("cache_control") == 2
        assert_official(body)


def test_with_neither_the_end_of_the_transcript_is_marked() -> None:
    body = sent(user("x"), system="", facts={"cache_breakpoints": True}).body
    assert body["cache_control"] == MARK and json.dumps(body).count("cache_control") == 1


def test_without_breakpoints_nothing_is_marked() -> None:
    body = sent(user("x"), tools=(READ,)).body
    assert body["system"] == "Be brief." and "cache_control" not in json.dumps(body)


def shared_part(raw: bytes) -> bytes:
    """A body up to the end of its last message."""
    return raw[: raw.rindex(b'],"max_tokens":')]


anything = st.text(st.characters(exclude_categories=()), max_size=12)
arguments = st.one_of(anything, st.dictionaries(anything, anything, max_size=2).map(json.dumps))
thoughts = st.builds(ThinkingBlock, anything, anything, anything)
answers = st.builds(
    lambda thought, text, given, origin: (
        said(*thought, *text, *(CallBlock(f"c.{i}", "t", one) for i, one in enumerate(given)), origin=origin),
        told(*(ResultBlock(f"c.{i}", one, is_error=i % 2 == 1) for i, one in enumerate(given)), *text),
    ),
    st.lists(thoughts, max_size=2),
    st.lists(st.builds(TextBlock, anything), max_size=2),
    st.lists(arguments, max_size=3),
    st.sampled_from([ORIGIN, "other/m", ""]),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    turns=st.lists(answers, min_size=1, max_size=4), thinking=st.sampled_from([None, "adaptive"]), cached=st.booleans()
)
def test_requests_of_a_conversation_share_their_prefix(turns: list[Any], thinking: Any, cached: bool) -> None:
    messages, questions = [user("Do it.")], []
    for number, turn in enumerate([(), *turns]):
        messages += turn
        questions.append(request(*messages, tools=(READ,), max_tokens=100 + number, effort=("low", "high")[number % 2]))
    with ModelServer(lambda _: speak.text("ok")) as server:
        ask(open_on(server, thinking=thinking, cache_breakpoints=cached), *questions)
        asked = server.requests
    assert len(asked) == len(questions)
    for earlier, later in pairwise(asked):
        assert later.raw.startswith(shared_part(earlier.raw))
    for one in asked:
        assert_official(one.body)


def test_a_budget_run_shares_its_prefix_too() -> None:
    messages, raws = [user("x")], []
    for number in range(3):
        raws.append(sent(*messages, effort="high", facts={"thinking": "budget"}).raw)
        messages += [said(ThinkingBlock("hm", f"sig{number}"), CallBlock(f"c{number}", "t", "{}"))]
        messages += [told(ResultBlock(f"c{number}", "r"))]
    assert all(later.startswith(shared_part(earlier)) for earlier, later in pairwise(raws))


def test_a_changed_transcript_is_encoded_anew() -> None:
    transcripts = [(user("1"),), (user("1"), said(TextBlock("2")), user("3")), (user("x"),)]
    with ModelServer([speak.text("ok")] * 3) as server:
        ask(open_on(server), *(request(*messages) for messages in transcripts))
        found = [[m["content"][0]["text"] for m in received.body["messages"]] for received in server.requests]
    assert found == [["1"], ["1", "2", "3"], ["x"]]


# -- keys and addresses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "own", "header", "value"),
    [
        ("ANTHROPIC_API_KEY", "", "x-api-key", "k-1"),
        ("the key file", "", "x-api-key", "k-1"),
        ("ANTHROPIC_AUTH_TOKEN", "", "authorization", "Bearer k-1"),
        ("ANTHROPIC_AUTH_TOKEN", "Authorization", "authorization", "Bearer k-1"),
        ("MY_KEY", "Authorization", "authorization", "Bearer k-1"),
        ("MY_KEY", "api-key", "api-key", "k-1"),
    ],
)
def test_the_header_of_the_key(source: str, own: str, header: str, value: str) -> None:
    headers = sent(user("x"), facts={"api_key": "k-1", "key_source": source, "auth_header": own}).headers
    assert headers[header] == value
    assert [name for name in ("x-api-key", "authorization", "api-key") if name in headers] == [header]


def test_a_key_that_no_header_can_carry_is_refused_without_showing_it() -> None:
    with pytest.raises(PreflightFault) as caught:
        opened("m", protocol="anthropic", base_url="http://127.0.0.1:1", api_key="k\n1", key_source="MY_KEY")
    assert "MY_KEY" in str(caught.value) and "k\n1" not in str(caught.value)


def test_a_base_url_may_have_a_path() -> None:
    with ModelServer([speak.text("ok")]) as server:
        ask(opened("m", protocol="anthropic", base_url=server.root + "/anthropic/"), request())
        assert server.requests[0].path == "/anthropic/v1/messages"

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

from fakes import speak_anthropic as speak
from fakes.asking import Heard, Slept, ask, request, user
from fakes.model_server import ModelServer, Reply, Stall
from fakes.opened import opened
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
    Message,
    ResultBlock,
    RetryPart,
    StopPart,
    TextBlock,
    ThinkingBlock,
    Usage,
    UsagePart,
)


def texts(*found: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in found]


def heard(*replies: Reply, messages: tuple[Message, ...] = (), **facts: Any) -> Heard:
    with ModelServer(list(replies)) as server:
        provider = opened("m", protocol="anthropic", base_url=speak.base_url(server), **facts)
        return ask(provider, request(*messages))


# -- answers -----------------------------------------------------------------------------------------


def test_parts_in_order() -> None:
    answer = heard(speak.thinking("hm", ("c1", "t", '{"a":1}'), ("c2", "u", ""), signature="S", answer="Hi"))
    assert list(answer) == [
        UsagePart(Usage(10, 1)),
        Delta(0, "thinking", "hm"),
        BlockPart(0, ThinkingBlock("hm", "S")),
        Delta(1, "text", "Hi"),
        BlockPart(1, TextBlock("Hi")),
        Delta(2, "call", '{"a', "c1", "t"),
        Delta(2, "call", '":1}', "c1", "t"),
        BlockPart(2, CallBlock("c1", "t", '{"a":1}')),
        Delta(3, "call", "{}", "c2", "u"),
        BlockPart(3, CallBlock("c2", "u", "{}")),
        UsagePart(Usage(10, 5)),
        StopPart("tool_use"),
    ]


@pytest.mark.parametrize(
    ("reason", "called", "expected"),
    [
        ("end_turn", False, "end_turn"),
        ("stop_sequence", False, "end_turn"),
        ("tool_use", True, "tool_use"),
        ("tool_use", False, "end_turn"),
        ("end_turn", True, "tool_use"),
        ("max_tokens", False, "max_tokens"),
        ("max_tokens", True, "max_tokens"),
        ("model_context_window_exceeded", False, "max_tokens"),
        ("refusal", False, "refusal"),
    ],
)
def test_reasons_to_stop(reason: str, called: bool, expected: str) -> None:
    block = speak.call_block(0, "c", "t", "{}") if called else speak.text_block(0, "x")
    assert heard(speak.stream(speak.start(), block, speak.end(reason))).stop() == expected


def test_the_words_of_a_refusal_are_its_last_text() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "Not this."}
    answer = heard(speak.stream(speak.start(), speak.text_block(0, "I"), speak.end("refusal", details)))
    assert answer.blocks() == [TextBlock("I"), TextBlock("Not this.")] and answer.stop() == "refusal"
    whole = heard(speak.whole(stop_reason="refusal", stop_details=details))
    assert whole.blocks() == [TextBlock("Not this.")] and whole.stop() == "refusal"


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ({}, {}, Usage(10, 5)),
        ({"cache_creation_input_tokens": 7, "cache_read_input_tokens": 90}, {}, Usage(10, 5, 90, 7)),
        ({"input_tokens": 3}, {"input_tokens": 4, "output_tokens": 60}, Usage(4, 60)),
        (
            {"cache_read_input_tokens": 1},
            {"cache_read_input_tokens": 2, "cache_creation_input_tokens": 3},
            Usage(10, 5, 2, 3),
        ),
        ({"output_tokens": -1}, {"output_tokens": -2}, Usage(10, 0)),
    ],
)
def test_usage_is_what_was_told_last(first: dict[str, int], last: dict[str, int], expected: Usage) -> None:
    answer = heard(speak.stream(speak.start(**first), speak.text_block(0, "x"), speak.end(**last)))
    assert isinstance(answer[0], UsagePart) and answer.usage() == expected


def test_usage_of_which_only_the_answer_is_told_is_none() -> None:
    assert heard(speak.stream(speak.text_block(0, "x"), speak.end(output_tokens=7))).of(UsagePart) == []
    assert heard(speak.stream(speak.start(input_tokens=-1), speak.end())).of(UsagePart) == []


def test_no_usage_is_invented() -> None:
    nothing = {"type": "message_start", "message": {"role": "assistant"}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    assert heard(speak.stream(nothing, ended)) == [StopPart("end_turn")]


def test_a_server_that_does_not_stream_is_understood() -> None:
    answer = heard(
        speak.whole(
            {"type": "thinking", "thinking": "hm", "signature": "S"},
            {"type": "redacted_thinking", "data": "ENC"},
            {"type": "text", "text": "Hi", "citations": None},
            {"type": "text", "text": ""},
            {"type": "novelty", "text": "not mine"},
            {"type": "tool_use", "id": "c", "name": "t", "input": {"a": [1]}},
            stop_reason="tool_use",
        )
    )
    assert answer.blocks() == [
        ThinkingBlock("hm", "S"),
        ThinkingBlock("", opaque="ENC"),
        TextBlock("Hi"),
        CallBlock("c", "t", '{"a":[1]}'),
    ]
    assert answer.usage() == Usage(10, 1) and answer.stop() == "tool_use"
    pieces = {block: "".join(d.text for d in answer.of(Delta) if d.index == block) for block in (0, 2, 3)}
    assert pieces == {0: "hm", 2: "Hi", 3: '{"a":[1]}'}


def test_calls_get_ids_that_are_free() -> None:
    before = (user("x"), Message("assistant", (CallBlock("c", "t", "{}"),)), Message("user", (ResultBlock("c", "r"),)))
    answer = heard(speak.calls(("c", "t", "{}"), ("", "u", "{}")), messages=before)
    assert [block.id for block in answer.blocks()] == ["c_2", "call_2_2"]


def test_nothing_is_waited_for_after_the_end() -> None:
    reply = speak.stream(speak.start(), speak.text_block(0, "x"), speak.end(), Stall())
    assert heard(reply, silence_seconds=5.0, retry_seconds=0).blocks() == [TextBlock("x")]


def test_an_end_without_a_reason_is_a_cut() -> None:
    answer = heard(speak.stream(speak.start(), speak.call_block(0, "c", "t", "{}"), {"type": "message_stop"}))
    assert answer.fault is not None and answer.fault.kind == "cut" and answer.of(StopPart) == []


@pytest.mark.parametrize(
    "data",
    [
        b"{not json",
        b"[]",
        b'"text"',
        b"{}",
        b'{"choices":[{"delta":{"content":"x"}}]}',
        b'{"type":"content_block_delta","index":"x","delta":{"type":"text_delta","text":"x"}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}',
        b'{"type":"message_start","message":[]}',
        b"\xff\xfe{",
    ],
)
def test_what_is_no_event_is_malformed_and_not_asked_again(data: bytes) -> None:
    answer = heard(speak.stream(b"data: " + data + b"\n\n"), speak.text("never"))
    assert answer.fault is not None and answer.fault.kind == "malformed"


# -- failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "more", "kind", "retried"),
    [
        (400, {}, "bad_request", False),
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, "context_overflow", False),
        (
            400,
            {"message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"},
            "context_overflow",
            False,
        ),
        (400, {"type": "billing_error"}, "quota", False),
        (401, {}, "auth", False),
        (402, {}, "quota", False),
        (403, {}, "auth", False),
        (404, {}, "not_found", False),
        (413, {}, "context_overflow", False),
        (429, {}, "rate_limited", True),
        (429, {"details": {"error_code": "ramp_limit_exceeded"}}, "rate_limited", True),
        (429, {"details": {"error_code": "contract_spend_limit_reached"}}, "quota", False),
        (429, {"details": {"error_code": "enforced_spend_limit_reached"}}, "quota", False),
        (402, {"details": {"error_code": "linked_organization_spend_limit_reached"}}, "quota", False),
        (429, {"details": None}, "rate_limited", True),
        (500, {}, "overloaded", True),
        (504, {}, "overloaded", True),
        (529, {}, "overloaded", True),
    ],
)
def test_what_a_status_means(status: int, more: dict[str, Any], kind: str, retried: bool) -> None:
    answer = heard(*[speak.refusal(status, **more)] * 9, timing=Slept().timing)
    assert answer.fault is not None and answer.fault.kind == kind
    assert bool(answer.of(RetryPart)) is retried


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"requests-remaining": "0", "requests-reset": "2027-01-15T08:00:40Z"}, 40.0),
        ({"input-tokens-remaining": "0", "input-tokens-reset": "2027-01-15T09:01:00+01:00"}, 60.0),
        ({"output-tokens-remaining": "0", "output-tokens-reset": "2027-01-15T08:00:50"}, 50.0),
        (
            {
                "tokens-remaining": "0",
                "tokens-reset": "2027-01-15T08:00:30Z",
                "requests-remaining": "0",
                "requests-reset": "2027-01-15T08:00:45.500Z",
            },
            45.5,
        ),
        ({"requests-remaining": "7", "requests-reset": "2027-01-15T08:01:00Z"}, 2.0),
        ({"requests-remaining": "0", "requests-reset": "soon"}, 2.0),
        ({"requests-remaining": "0", "requests-reset": "2020-01-01T00:00:00Z"}, 2.0),
        ({"requests-remaining": "0"}, 2.0),
    ],
)
def test_the_limit_that_is_spent_says_when_to_come_back(headers: dict[str, str], waited: float) -> None:
    slept = Slept()
    told = {f"anthropic-ratelimit-{name}": value for name, value in headers.items()}
    answer = heard(speak.refusal(429, told), speak.text("ok"), timing=slept.timing)
    assert answer.blocks() == [TextBlock("ok")] and slept.waits == [pytest.approx(waited)]


def test_retry_after_counts_more() -> None:
    slept = Slept()
    told = {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2027-01-15T08:01:00Z"}
    heard(speak.refusal(429, {**told, "retry-after": "7"}), speak.text("ok"), timing=slept.timing)
    assert slept.waits == [7.0]


def test_an_overload_before_the_first_block_is_tried_again() -> None:
    slept = Slept()
    answer = heard(speak.overloaded_midstream(), speak.text("ok"), timing=slept.timing)
    assert answer.blocks() == [TextBlock("ok")] and len(slept.waits) == 1
    assert answer.of(RetryPart)[0].error == "overloaded: error in the stream: Overloaded"


def test_an_overload_after_it_cuts_the_answer() -> None:
    answer = heard(speak.overloaded_midstream("one", " two"), timing=Slept().timing)
    assert [part.text for part in answer.of(Delta)] == ["one", " two"]
    assert answer.fault is not None and answer.fault.kind == "cut"


@pytest.mark.parametrize(
    "reply",
    [
        speak.stream(speak.start(), speak.error("billing_error")),
        speak.stream(b'data: {"error":{"type":"billing_error","message":"no"}}\n\n'),
        Reply([json.dumps(speak.error("billing_error")).encode()], 200, {"content-type": "application/json"}),
    ],
)
def test_an_error_in_the_stream_has_its_kind(reply: Reply) -> None:
    answer = heard(reply)
    assert answer.fault is not None and answer.fault.kind == "quota"


# -- the official client on our server ---------------------------------------------------------------

QUESTION: dict[str, Any] = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}]}


def official(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="sk-1", base_url=speak.base_url(server), max_retries=0)


def streamed(reply: Reply) -> Any:
    with ModelServer([reply]) as server, official(server) as client, client.messages.stream(**QUESTION) as stream:
        final = stream.get_final_message()
        assert server.requests[0].path == speak.PATH
    return final


def created(reply: Reply) -> Any:
    with ModelServer([reply]) as server, official(server) as client:
        return client.messages.create(**QUESTION)


def facts_of(message: Any) -> list[Any]:
    return [block.model_dump(exclude_none=True) for block in message.content]


def test_the_official_client_reads_our_text() -> None:
    message = streamed(speak.text("Hel", "lo"))
    assert facts_of(message) == texts("Hello") and message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (10, 5)
    assert created(speak.whole(*texts("Hello"))).content[0].text == "Hello"


def test_the_official_client_reads_our_calls() -> None:
    wanted = [("toolu_1", "read_file", '{"path": "a"}'), ("toolu_2", "list_files", ""), ("toolu_3", "x", "{}")]
    message = streamed(speak.calls(*wanted))
    assert [(block.id, block.name, block.input) for block in message.content] == [
        ("toolu_1", "read_file", {"path": "a"}),
        ("toolu_2", "list_files", {}),
        ("toolu_3", "x", {}),
    ]
    assert message.stop_reason == "tool_use"
    block = {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}}
    assert facts_of(created(speak.whole(block, stop_reason="tool_use"))) == [block]


def test_the_official_client_reads_our_thinking() -> None:
    message = streamed(speak.thinking("hm", ("c", "t", '{"a":1}'), signature="S", answer="Hi"))
    thought = {"type": "thinking", "thinking": "hm", "signature": "S"}
    assert facts_of(message) == [thought, *texts("Hi"), {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}}]
    hidden = {"type": "redacted_thinking", "data": "ENC"}
    assert facts_of(streamed(speak.stream(speak.start(), speak.redacted_block(0, "ENC"), speak.end()))) == [hidden]
    assert facts_of(created(speak.whole(thought, hidden))) == [thought, hidden]


def test_the_official_client_reads_our_refusals() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "No."}
    message = streamed(speak.stream(speak.start(), speak.end("refusal", details)))
    assert message.stop_reason == "refusal" and message.stop_details.explanation == "No."
    assert created(speak.whole(stop_reason="refusal", stop_details=details)).stop_details.category == "cyber"


def test_the_official_client_reads_our_usage() -> None:
    begun = speak.start(input_tokens=3, cache_creation_input_tokens=7, cache_read_input_tokens=90)
    usage = streamed(speak.stream(begun, speak.text_block(0, "x"), speak.end(cache_read_input_tokens=91))).usage
    ours = heard(speak.stream(begun, speak.text_block(0, "x"), speak.end(cache_read_input_tokens=91))).usage()
    assert ours == Usage(3, 5, 91, 7)
    assert ours.input == usage.input_tokens and ours.output == usage.output_tokens
    assert (ours.cache_read, ours.cache_write) == (usage.cache_read_input_tokens, usage.cache_creation_input_tokens)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (429, anthropic.RateLimitError),
        (529, anthropic.InternalServerError),
    ],
)
def test_the_official_client_reads_our_errors(status: int, expected: type[anthropic.APIStatusError]) -> None:
    with pytest.raises(expected) as caught:
        created(speak.refusal(status, message="because"))
    assert caught.value.type == speak.refusal_type(status) and "because" in str(caught.value)


def test_the_official_client_reads_our_overload() -> None:
    with pytest.raises(anthropic.APIStatusError) as caught:
        streamed(speak.overloaded_midstream("one"))
    assert caught.value.type == "overloaded_error"

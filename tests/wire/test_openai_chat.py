from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import openai
import pytest
from hypothesis import given as given_
from hypothesis import settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import TypeAdapter

from fakes import speak_chat as speak
from fakes.asking import Heard, Slept, ask, request, user
from fakes.model_server import ModelServer, Received, Reply, calls, delta, event, stream, text, usage
from fakes.openai_types import check_body
from fakes.opened import by_name, opened
from remit.base.errors import PreflightFault
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
    ImageBlock,
    Message,
    Part,
    ResultBlock,
    StopPart,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
    Usage,
    UsagePart,
)
from remit.providers.openai_chat import DIALECTS
from remit.providers.openai_chat_decoder import ChatDecoder
from remit.providers.openai_chat_reasoning import FORMS, Kept
from remit.providers.sse import SseEvent

STOP = delta(finish_reason="stop")


def heard(*chunks: Any, done: bool = True) -> Heard:
    with ModelServer([stream(*chunks, done=done)]) as server:
        answer = ask(opened("m", base_url=server.url, retry_seconds=0), request())
    assert answer.fault is None, answer.fault
    return answer


def kept(thought: str, form: str, *details: dict[str, Any]) -> ThinkingBlock:
    return ThinkingBlock(thought, opaque=Kept(form, list(details)).json())


def piece(
    index: int | None = 0, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    """A chunk with one piece of a tool call; None leaves a field out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fields = {"index": index, "id": call_id, "function": function}
    return delta({"tool_calls": [{key: value for key, value in fields.items() if value is not None}]})


def call_blocks(*chunks: Any, finish: str = "tool_calls") -> list[tuple[str, str, str]]:
    blocks = heard(*chunks, delta(finish_reason=finish)).blocks()
    return [(block.id, block.tool, block.arguments) for block in blocks if isinstance(block, CallBlock)]


# -- text and thinking -------------------------------------------------------------------------------


def test_several_text_deltas_are_one_block() -> None:
    answer = heard(
        delta({"role": "assistant", "content": ""}), delta({"content": "Hel"}), delta({"content": "lo"}), STOP
    )
    assert list(answer[:3]) == [Delta(0, "text", "Hel"), Delta(0, "text", "lo"), BlockPart(0, TextBlock("Hello"))]
    assert answer.stop() == "end_turn"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_before_the_text_as_its_own_block(field: str) -> None:
    answer = heard(delta({field: "Let me"}), delta({field: " see"}), delta({"content": "42"}), STOP)
    assert answer.blocks() == [kept("Let me see", field), TextBlock("42")]
    assert [d.kind for d in answer.of(Delta)] == ["thinking", "thinking", "text"]


def test_the_first_block_is_given_out_before_the_second_has_ended() -> None:
    answer = heard(delta({"content": "I look"}), piece(0, "c", "t", "{}"), STOP)
    kinds = [type(part).__name__ for part in answer]
    assert kinds == ["Delta", "BlockPart", "Delta", "BlockPart", "StopPart"]


def test_text_after_calls_stays_after_them() -> None:
    answer = heard(piece(0, "c", "t", "{"), delta({"content": "and"}), piece(0, None, None, "}"), STOP)
    assert answer.blocks() == [CallBlock("c", "t", "{}"), TextBlock("and")]
    assert [part.index for part in answer.of(BlockPart)] == [0, 1]


def test_content_may_be_a_list_of_typed_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}, 7]
    assert heard(delta({"content": parts}), STOP).blocks() == [kept("hm", "content"), TextBlock("yes")]


def test_two_halves_of_an_emoji_meet_again_and_a_lone_half_harms_nobody() -> None:
    halves = [
        event(b'{"choices":[{"delta":{"content":"%s"}}]}' % half) for half in (rb"\ud83d", rb"\ude00", rb"!\ud83d")
    ]
    answer = heard(*halves, STOP)
    assert answer.blocks() == [TextBlock("\U0001f600!\ufffd")]
    for part in answer.of(Delta):
        part.text.encode()


def test_an_answer_of_nothing_is_an_answer() -> None:
    assert list(heard(STOP)) == list(heard()) == [StopPart("end_turn")]


@pytest.mark.parametrize("done", [True, False])
def test_the_end_mark_may_be_missing(done: bool) -> None:
    assert heard(delta({"content": "x"}), STOP, done=done).stop() == "end_turn"


def test_null_and_unknown_fields_are_passed_over() -> None:
    odd = {"id": None, "choices": [{"index": None, "delta": None, "logprobs": None, "x": [1]}], "usage": None, "x": {}}
    other_choice = {"choices": [{"index": 1, "delta": {"content": "not mine"}}]}
    assert heard(odd, {"choices": None}, other_choice, event(b""), delta({"content": "x"}), STOP).blocks() == [
        TextBlock("x")
    ]


# -- calls -------------------------------------------------------------------------------------------

WHOLE_A, WHOLE_B = '{"a":1}', '{"b":2}'


@pytest.mark.parametrize(
    ("name", "chunks", "expected"),
    [
        (
            "fragments by index",
            [piece(0, "i", "t", ""), piece(0, None, None, '{"a"'), piece(0, None, None, ":1}")],
            [("i", "t", WHOLE_A)],
        ),
        (
            "parallel and interleaved",
            [
                piece(0, "i", "t", '{"a"'),
                piece(1, "j", "u", '{"b"'),
                piece(0, None, None, ":1}"),
                piece(1, None, None, ":2}"),
            ],
            [("i", "t", WHOLE_A), ("j", "u", WHOLE_B)],
        ),
        (
            "indices out of order and with gaps",
            [piece(7, "i", "t", WHOLE_A), piece(3, "j", "u", WHOLE_B)],
            [("i", "t", WHOLE_A), ("j", "u", WHOLE_B)],
        ),
        ("id and name late", [piece(0, None, None, '{"a"'), piece(0, "i", "t", ":1}")], [("i", "t", WHOLE_A)]),
        (
            "id and name repeated with every piece",
            [piece(0, "i", "t", '{"a"'), piece(0, "i", "t", ":1}")],
            [("i", "t", WHOLE_A)],
        ),
        (
            "a fresh id with every piece",
            [piece(0, "i", "t", '{"a"'), piece(0, "k", None, ":1}")],
            [("i", "t", WHOLE_A)],
        ),
        (
            "name in pieces",
            [piece(0, "i", "read_"), piece(0, None, "file"), piece(0, None, None, "{}")],
            [("i", "read_file", "{}")],
        ),
        (
            "whole calls without index",
            [piece(None, "i", "t", WHOLE_A), piece(None, "j", "t", WHOLE_B)],
            [("i", "t", WHOLE_A), ("j", "t", WHOLE_B)],
        ),
        (
            "fragments without index",
            [piece(None, "i", "t", '{"a"'), piece(None, None, None, ":1}"), piece(None, "j", "u", WHOLE_B)],
            [("i", "t", WHOLE_A), ("j", "u", WHOLE_B)],
        ),
        (
            "fragments without index, by id",
            [
                piece(None, "i", "t", '{"a"'),
                piece(None, "j", "u", '{"b"'),
                piece(None, "i", None, ":1}"),
                piece(None, "j", None, ":2}"),
            ],
            [("i", "t", WHOLE_A), ("j", "u", WHOLE_B)],
        ),
        (
            "whole calls, all with index 0",
            [piece(0, "i", "t", WHOLE_A), piece(0, "j", "t", WHOLE_B)],
            [("i", "t", WHOLE_A), ("j", "t", WHOLE_B)],
        ),
        (
            "whole calls, all with index 0 and no id",
            [piece(0, None, "t", WHOLE_A), piece(0, None, "t", WHOLE_B)],
            [("call_1_1", "t", WHOLE_A), ("call_1_2", "t", WHOLE_B)],
        ),
        (
            "no index, no id",
            [piece(None, None, "t", WHOLE_A), piece(None, None, "u", WHOLE_B)],
            [("call_1_1", "t", WHOLE_A), ("call_1_2", "u", WHOLE_B)],
        ),
        ("arguments as an object", [piece(0, "i", "t", {"a": 1})], [("i", "t", WHOLE_A)]),
        ("no arguments", [piece(0, "i", "t")], [("i", "t", "")]),
        ("malformed arguments", [piece(0, "i", "t", '{"a": tru')], [("i", "t", '{"a": tru')]),
        ("no name", [piece(0, "i", None, "{}")], [("i", "", "{}")]),
        (
            "one id for two calls",
            [piece(0, "i", "t", WHOLE_A), piece(1, "i", "t", WHOLE_B)],
            [("i", "t", WHOLE_A), ("i_2", "t", WHOLE_B)],
        ),
    ],
)
def test_calls_are_put_together(name: str, chunks: list[Any], expected: list[tuple[str, str, str]]) -> None:
    assert call_blocks(*chunks) == expected


def test_whole_calls_in_one_chunk() -> None:
    both = [
        {"id": "i", "function": {"name": "t", "arguments": WHOLE_A}},
        {"id": "j", "function": {"name": "u", "arguments": WHOLE_B}},
    ]
    assert call_blocks(delta({"tool_calls": both})) == [("i", "t", WHOLE_A), ("j", "u", WHOLE_B)]


def test_a_generated_id_is_new_in_the_transcript() -> None:
    first = CallBlock("call_2_1", "t", "{}")
    past = (user("hi"), Message("assistant", (first,)), Message("user", (ResultBlock("call_2_1", "{}"),)))
    with ModelServer([stream(piece(0, None, "t", "{}"), STOP)]) as server:
        answer = ask(opened("m", base_url=server.url), request(*past))
    assert answer.blocks() == [CallBlock("call_2_1_2", "t", "{}")]


def test_ten_thousand_calls_in_one_answer() -> None:
    decoder = ChatDecoder()
    began = time.process_time()
    for number in range(10_000):
        decoder.feed(SseEvent("", json.dumps(piece(None, f"c{number}", "t", "{}")).encode()))
    decoder.feed(SseEvent("", json.dumps(STOP).encode()))
    blocks = [part for part in decoder.end() if isinstance(part, BlockPart)]
    assert [part.block.id for part in blocks] == [f"c{number}" for number in range(10_000)]  # type: ignore[union-attr]
    assert time.process_time() - began < 5


# -- why it stopped, what it took --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "called", "expected"),
    [
        ("stop", False, "end_turn"),
        ("stop", True, "tool_use"),
        ("tool_calls", True, "tool_use"),
        ("tool_calls", False, "end_turn"),
        ("function_call", True, "tool_use"),
        ("length", False, "max_tokens"),
        ("length", True, "max_tokens"),
        ("model_length", False, "max_tokens"),
        ("content_filter", False, "refusal"),
        ("eos_token", False, "end_turn"),
        ("STOP", False, "end_turn"),
        ("COMPLETE", False, "end_turn"),
        ("sensitive", False, "refusal"),
        ("model_context_window_exceeded", False, "max_tokens"),
    ],
)
def test_reasons_to_stop(reason: str, called: bool, expected: str) -> None:
    chunk = piece(0, "i", "t", "{}") if called else delta({"content": "x"})
    assert heard(chunk, delta(finish_reason=reason)).stop() == expected


def test_a_refusal_is_text_and_a_reason() -> None:
    answer = heard(delta({"refusal": "I can"}), delta({"refusal": "not."}), STOP)
    assert answer.blocks() == [TextBlock("I cannot.")] and answer.stop() == "refusal"


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(6, 5, 4)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": None}, Usage(10, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, Usage(6, 5, 4)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5},
            },
            Usage(1, 2, 4, 5),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}, Usage(10, 30)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 0}, Usage(10, 5)),
        ({"prompt_tokens": 10, "total_tokens": 40}, Usage(10, 30)),
        ({"prompt_tokens": 2, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(0, 1, 9)),
    ],
)
def test_usage_counts_cached_tokens_apart(tokens: dict[str, Any], expected: Usage) -> None:
    assert heard(STOP, {"choices": [], "usage": tokens}).usage() == expected


def test_the_last_usage_counts_and_none_is_invented() -> None:
    assert heard(delta(), usage(1, 1), usage(7, 3), STOP).of(UsagePart) == [
        UsagePart(Usage(1, 1)),
        UsagePart(Usage(7, 3)),
    ]
    assert heard(STOP).of(UsagePart) == []


@pytest.mark.parametrize(
    "tokens", [{}, {"prompt_tokens": 3}, {"completion_tokens": 3}, {"prompt_tokens": None, "completion_tokens": 1}]
)
def test_half_a_usage_is_none(tokens: dict[str, Any]) -> None:
    assert heard(STOP, {"choices": [], "usage": tokens}).of(UsagePart) == []


def test_a_server_that_does_not_stream_is_understood() -> None:
    function = {"name": "t", "arguments": "{}"}
    message = {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [{"id": "i", "type": "function", "function": function}],
    }
    whole = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 0},
    }
    raw = json.dumps(whole).encode()
    reply = Reply([raw[:30], raw[30:]], 200, {"content-type": "application/json; charset=utf-8"})
    with ModelServer([reply]) as server:
        answer = ask(opened("m", base_url=server.url), request())
    assert answer.blocks() == [TextBlock("Hi"), CallBlock("i", "t", "{}")]
    assert answer.usage() == Usage(3) and answer.stop() == "tool_use"


@pytest.mark.parametrize(
    "data",
    [b"{not json", b"[]", b'"text"', b'{"choices": 7}', b'{"choices": [{"delta": {"tool_calls": "x"}}]}', b"\xff\xfe{"],
)
def test_what_is_no_chunk_is_malformed_and_not_asked_again(data: bytes) -> None:
    with ModelServer([stream(event(data)), text("never")]) as server:
        answer = ask(opened("m", base_url=server.url), request())
        assert len(server.requests) == 1
    assert answer.fault is not None and answer.fault.kind == "malformed"


# -- requests ----------------------------------------------------------------------------------------

READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def sent(*messages: Message, **more: Any) -> Received:
    with ModelServer([text("ok")]) as server:
        ask(
            opened("m", base_url=server.url, api_key="sk-0123456789", headers={"X-Extra": "1"}),
            request(*messages, **more),
        )
        received = server.requests[0]
    check_body(received.path, official(received.body))
    return received


def official(body: dict[str, Any]) -> dict[str, Any]:
    """The body without what other services have added to the protocol."""
    messages = [{key: value for key, value in entry.items() if key not in FORMS} for entry in body["messages"]]
    for entry, whole in zip(messages, body["messages"], strict=True):
        parts = whole["content"]
        entry["content"] = [p for p in parts if p["type"] != "thinking"] if isinstance(parts, list) else parts
    return {**body, "messages": messages}


def test_the_whole_request() -> None:
    received = sent(
        user("Read a.txt"),
        Message(
            "assistant", (ThinkingBlock("hm"), TextBlock("I read"), CallBlock("c1", "read_file", '{"path":"a.txt"}'))
        ),
        Message("user", (ResultBlock("c1", '{"ok":true}'), TextBlock("Go on."))),
        Message("assistant", (CallBlock("c2", "read_file", ""), CallBlock("c3", "read_file", "{}"))),
        Message("user", (ResultBlock("c2", "no", is_error=True), ResultBlock("c3", "yes"))),
        tools=(READ,),
        max_tokens=100,
    )
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == "Bearer sk-0123456789"
    assert received.headers["x-extra"] == "1"
    assert received.headers["user-agent"].startswith("remit/")

    def call(call_id: str, arguments: str) -> dict[str, Any]:
        return {"id": call_id, "type": "function", "function": {"name": "read_file", "arguments": arguments}}

    assert received.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Read a.txt"},
            {"role": "assistant", "content": "I read", "tool_calls": [call("c1", '{"path":"a.txt"}')]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"ok":true}'},
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": None, "tool_calls": [call("c2", "{}"), call("c3", "{}")]},
            {"role": "tool", "tool_call_id": "c2", "content": "no"},
            {"role": "tool", "tool_call_id": "c3", "content": "yes"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "read_file", "description": "Reads a file.", "parameters": READ.schema},
            }
        ],
        "max_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_what_is_not_there_is_not_sent() -> None:
    received = sent(user("hi"), system="")
    assert received.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_an_empty_message_stays_a_message() -> None:
    received = sent(user(""), Message("assistant", ()), user("again"))
    assert [message["content"] for message in received.body["messages"]] == ["Be brief.", "", "", "again"]


@pytest.mark.parametrize("arguments", ['{"a": tru', "[1]", "null", "just text", '{"a": "\ud83d"}'])
def test_malformed_arguments_go_back_in_a_form_every_server_reads(arguments: str) -> None:
    received = sent(user("hi"), Message("assistant", (CallBlock("c", "t", arguments),)), user("go on"))
    back = json.loads(received.body["messages"][2]["tool_calls"][0]["function"]["arguments"])
    assert back == {"malformed_arguments": arguments.replace("\ud83d", "\ufffd")}


def test_lone_surrogates_never_leave() -> None:
    received = sent(user("a\ud83db"), system="s\udc00")
    assert [message["content"] for message in received.body["messages"]] == ["s\ufffd", "a\ufffdb"]


# -- what was thought goes back ------------------------------------------------------------------------

SIGNED = {"type": "reasoning.text", "text": "hm", "signature": "S", "format": "anthropic-claude-v1", "index": 0}
SEALED = {"type": "reasoning.encrypted", "data": "gAAAA", "id": "rs_1", "format": "openai-responses-v1", "index": 0}
CALL = CallBlock("c1", "t", "{}")
DONE = Message("user", (ResultBlock("c1", "r"),))


def given(*blocks: Any, origin: str = "openai/m") -> Message:
    return Message("assistant", blocks, origin)


@pytest.mark.parametrize(
    ("thought", "expected"),
    [
        (kept("hm", "reasoning_content"), {"reasoning_content": "hm"}),
        (kept("hm", "reasoning"), {"reasoning": "hm"}),
        (kept("hm", "reasoning_details", SIGNED, SEALED), {"reasoning_details": [SIGNED, SEALED]}),
        (kept("", "reasoning_details", SEALED), {"reasoning_details": [SEALED]}),
        (
            kept("hm", "content"),
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "I look"},
                ]
            },
        ),
    ],
)
def test_a_thought_goes_back_in_the_form_it_came_in(thought: ThinkingBlock, expected: dict[str, Any]) -> None:
    past = (user("hi"), given(thought, TextBlock("I look"), CALL), DONE)
    plain = sent(*past[:1], given(TextBlock("I look"), CALL), DONE).body["messages"][2]
    for later in ((), (given(TextBlock("so")), user("and now?"))):
        assert sent(*past, *later).body["messages"][2] == {**plain, **expected}


@pytest.mark.parametrize("form", [*FORMS, "unknown"])
@pytest.mark.parametrize("origin", ["", "openai/other", "deepseek/m"])
def test_what_another_model_thought_is_never_sent(form: str, origin: str) -> None:
    foreign = given(kept("secret", form, SEALED), TextBlock("said"), CALL, origin=origin)
    assert sent(user("hi"), foreign, DONE).raw == sent(user("hi"), given(TextBlock("said"), CALL), DONE).raw


@pytest.mark.parametrize("opaque", ["", "{not json", '{"type":"reasoning","id":"rs_1"}', '{"form":"new"}', "\ud83d"])
def test_a_thought_that_came_through_another_api_is_left_out(opaque: str) -> None:
    past = given(ThinkingBlock("hm", opaque=opaque), TextBlock("yes"))
    assert sent(user("hi"), past, user("go")).body["messages"][2] == {"role": "assistant", "content": "yes"}


def test_several_thoughts_of_an_answer_are_one() -> None:
    blocks = (kept("a", "reasoning"), TextBlock("x"), kept("b", "reasoning"), kept("", "reasoning_details", SEALED))
    assert sent(user("hi"), given(*blocks[:3])).body["messages"][2]["reasoning"] == "a\nb"
    assert sent(user("hi"), given(*blocks)).body["messages"][2] == {
        "role": "assistant",
        "content": "x",
        "reasoning_details": [SEALED],
    }


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (
            [{"type": "reasoning.text", "text": "h", "index": 0}, {"type": "reasoning.text", "text": "m", "index": 0}],
            [{"type": "reasoning.text", "text": "hm", "index": 0}],
        ),
        (
            [
                {"type": "reasoning.text", "text": "hm", "format": "a", "index": 0, "id": None},
                {"type": "reasoning.text", "signature": "S", "index": 0, "format": None},
            ],
            [{"type": "reasoning.text", "text": "hm", "format": "a", "index": 0, "id": None, "signature": "S"}],
        ),
        (
            [
                {"type": "reasoning.text", "text": "a", "signature": "S", "index": 0},
                {"type": "reasoning.text", "text": "b", "index": 0},
            ],
            [
                {"type": "reasoning.text", "text": "a", "signature": "S", "index": 0},
                {"type": "reasoning.text", "text": "b", "index": 0},
            ],
        ),
        (
            [{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "b", "index": 1}],
            [{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "b", "index": 1}],
        ),
        (
            [{"type": "reasoning.summary", "summary": "a"}, SEALED, {"type": "reasoning.summary", "summary": "b"}],
            [{"type": "reasoning.summary", "summary": "a"}, SEALED, {"type": "reasoning.summary", "summary": "b"}],
        ),
        ([SEALED, SEALED, {"type": "reasoning.new", "x": 1}], [SEALED, SEALED, {"type": "reasoning.new", "x": 1}]),
    ],
)
def test_details_are_put_together_as_they_were_before_the_stream(pieces: list[Any], expected: list[Any]) -> None:
    answer = heard(*(delta({"reasoning": "hm", "reasoning_details": [piece]}) for piece in pieces), STOP)
    assert json.loads(answer.blocks()[0].opaque) == {"form": "reasoning_details", "details": expected}


def test_details_of_an_answer_that_did_not_stream_stay_as_they_are() -> None:
    details = [{"type": "reasoning.text", "text": text} for text in ("a", "b")]
    with ModelServer([speak.whole("x", reasoning="ab", reasoning_details=details)]) as server:
        answer = ask(opened("m", base_url=server.url), request())
    assert answer.blocks() == [kept("ab", "reasoning_details", *details), TextBlock("x")]


def test_details_that_come_after_a_finished_thought_are_kept_at_the_end() -> None:
    late = delta({"content": "x", "reasoning_details": [SEALED, "odd"]})
    answer = heard(delta({"reasoning": "hm"}), delta({"content": "I"}), late, delta({"reasoning_details": 7}), STOP)
    assert answer.blocks() == [kept("hm", "reasoning"), TextBlock("Ix"), kept("", "reasoning_details", SEALED)]


# -- services with rules of their own ------------------------------------------------------------------


def test_deepseek_gets_reasoning_with_every_answer() -> None:
    mine = given(kept("hm", "reasoning_content"), CALL)
    foreign = Message("assistant", (TextBlock("said"), CallBlock("c2", "t", "{}")), "openai/other")
    messages = sent_to("api.deepseek.com", user("hi"), mine, DONE, foreign, Message("user", (ResultBlock("c2", ""),)))
    assert [m.get("reasoning_content") for m in messages["messages"] if m["role"] == "assistant"] == ["hm", ""]


def test_mistral_gets_ids_of_nine_letters_and_no_option_that_it_does_not_know() -> None:
    own = CallBlock("D681PevKs", "t", "{}")
    foreign = CallBlock("call_jKx0a7Q2", "t", "{}")
    results = Message("user", (ResultBlock(own.id, "1"), ResultBlock(foreign.id, "2")))
    body = sent_to("api.mistral.ai", user("hi"), given(own, foreign), results, cache_key="k", max_tokens=9)
    ids = [call["id"] for call in body["messages"][2]["tool_calls"]]
    assert ids[0] == "D681PevKs" and len(ids[1]) == 9 and ids[1].isalnum()
    assert [message.get("tool_call_id") for message in body["messages"][3:]] == ids
    assert set(body) == {"model", "messages", "stream", "max_tokens"}


def test_mistral_hears_the_user_only_after_an_answer() -> None:
    picture = ImageBlock("image/png", "iVBORw0KGgo=")
    nothing = given(TextBlock(""))

    def roles(*messages: Message) -> str:
        body = sent_to("api.mistral.ai", user("hi"), given(CALL), *messages, system="")
        assert all(message["content"] or message.get("tool_calls") for message in body["messages"])
        return " ".join(message["role"] for message in body["messages"][2:])

    assert roles(DONE) == "tool"
    assert roles(DONE, user("go")) == "tool assistant user"
    assert roles(Message("user", (*DONE.content, TextBlock("go")))) == "tool assistant user"
    assert roles(Message("user", (ResultBlock("c1", "r", images=(picture,)),))) == "tool assistant user"
    assert roles(Message("user", (*DONE.content, TextBlock("go"))), user("on")) == "tool assistant user user"
    assert roles(DONE, nothing, user("go")) == "tool assistant user"


@pytest.mark.parametrize(("call_id", "fits"), [("c" * 64, True), ("c" * 65, False), ("a\x00", False), ("", False)])
def test_ids_of_calls_that_no_server_takes_are_replaced(call_id: str, fits: bool) -> None:
    body = sent(given(CallBlock(call_id, "t", "{}")), Message("user", (ResultBlock(call_id, "r"),))).body
    called, result = body["messages"][-2:]
    assert called["tool_calls"][0]["id"] == result["tool_call_id"]
    assert (result["tool_call_id"] == call_id) == fits and 1 <= len(result["tool_call_id"]) <= 64


@pytest.mark.parametrize(
    ("tool", "name"), [("n" * 64, "n" * 64), ("n" * 65, "n" * 64), ("", "_"), ("a b\n\x00\u00e9.c", "a_b____c")]
)
def test_names_of_tools_that_cannot_exist_go_back_as_names_that_could(tool: str, name: str) -> None:
    body = sent(given(CallBlock("c", tool, "{}")), Message("user", (ResultBlock("c", "r"),))).body
    assert body["messages"][-2]["tool_calls"][0]["function"]["name"] == name


@pytest.mark.parametrize(("call_id", "fits"), [("c" * 40, True), ("c" * 41, False), ("functions.read:0", True)])
def test_ids_of_calls_are_made_to_fit_where_they_must(call_id: str, fits: bool) -> None:
    past = (user("hi"), given(CallBlock(call_id, "t", "{}")), Message("user", (ResultBlock(call_id, "r"),)))
    for host, same in (("api.openai.com", fits), ("llm.example.org", True)):
        messages = sent_to(host, *past)["messages"]
        assert messages[2]["tool_calls"][0]["id"] == messages[3]["tool_call_id"]
        assert (messages[3]["tool_call_id"] == call_id) == same and len(messages[3]["tool_call_id"]) <= 41


@pytest.mark.parametrize(
    ("thinking", "effort", "expected"),
    [
        ("effort", None, None),
        ("effort", "off", "none"),
        ("effort", "low", "low"),
        ("effort", "high", "high"),
        ("effort", "max", "xhigh"),
        ("none", "high", None),
        (None, "high", None),
    ],
)
def test_effort_is_asked_of_models_that_take_it(thinking: Any, effort: Any, expected: str | None) -> None:
    with ModelServer([text("ok")]) as server:
        ask(opened("m", base_url=server.url, thinking=thinking), request(effort=effort))
        assert server.requests[0].body.get("reasoning_effort") == expected


@pytest.mark.parametrize(
    ("host", "effort", "expected"),
    [
        ("api.deepseek.com", "off", {"thinking": {"type": "disabled"}}),
        ("api.deepseek.com", "high", {"reasoning_effort": "high"}),
        ("api.deepseek.com", "max", {"reasoning_effort": "max"}),
        ("api.groq.com", "off", {"reasoning_effort": "low"}),
        ("api.groq.com", "max", {"reasoning_effort": "high"}),
        ("api.x.ai", "off", {"reasoning_effort": "none"}),
        ("api.x.ai", "max", {"reasoning_effort": "high"}),
    ],
)
def test_services_have_words_of_their_own_for_effort(host: str, effort: Any, expected: dict[str, Any]) -> None:
    wire = opened("m", base_url=f"https://{host}/v1", thinking="effort")
    body = json.loads(wire._body(request(effort=effort)))
    assert {key: body[key] for key in ("thinking", "reasoning_effort") if key in body} == expected


def test_images_stand_in_messages_and_after_results() -> None:
    picture = ImageBlock("image/png", "iVBORw0KGgo=")
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    received = sent(
        Message("user", (TextBlock("What is this?"), picture)),
        given(CALL, CallBlock("c2", "t", "{}")),
        Message("user", (ResultBlock("c1", "seen", images=(picture, picture)), ResultBlock("c2", "no"))),
    )
    messages = received.body["messages"][1:]
    assert messages[0]["content"] == [shown, {"type": "text", "text": "What is this?"}]
    assert [message["role"] for message in messages[2:]] == ["tool", "tool", "user"]
    assert messages[4]["content"] == [shown, shown]


def test_turns_share_their_prefix_and_a_changed_transcript_is_encoded_anew() -> None:
    first, last, longer, other = user("1"), user("3"), user("3+"), user("x")
    answer = Message("assistant", (TextBlock("2"),))
    transcripts = [(first,), (first, answer, last), (first, answer, longer), (first,), (other, answer, last)]
    with ModelServer([text("ok")] * 9) as server:
        ask(opened("m", base_url=server.url), *(request(*messages) for messages in transcripts))
        bodies = [received.raw for received in server.requests]
        contents = ["".join(m["content"] for m in received.body["messages"][1:]) for received in server.requests]
    assert bodies[1].startswith(bodies[0].partition(b"]")[0])
    assert contents == ["1", "123", "123+", "1", "x23"]


# -- keys and addresses ------------------------------------------------------------------------------


def test_the_official_service_needs_a_key() -> None:
    with pytest.raises(PreflightFault) as caught:
        by_name("openai/gpt-4o", {})
    assert caught.value.kind == "no_key" and "OPENAI_API_KEY" in caught.value.what
    with pytest.raises(PreflightFault):
        by_name("openai/gpt-4o", {"OPENAI_API_KEY": "  ", "OPENAI_BASE_URL": "https://API.openai.com/v1/"})
    assert by_name("openai/gpt-4o", {"OPENAI_API_KEY": "sk-1"}).key_source == "OPENAI_API_KEY"


def test_a_server_of_ones_own_needs_none() -> None:
    with ModelServer([text("ok")]) as server:
        provider = by_name("openai/org/model:7b", {"OPENAI_BASE_URL": server.url + "/"})
        assert (provider.name, provider.model, provider.key_source) == ("openai", "org/model:7b", "none")
        ask(provider, request(model=provider.model))
        received = server.requests[0]
    assert received.path == "/v1/chat/completions" and "authorization" not in received.headers
    assert received.body["model"] == "org/model:7b"


def test_organization_and_project_are_sent() -> None:
    names = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "p-1"}
    with ModelServer([text("ok")]) as server:
        ask(opened("m", base_url=server.url, api_key="sk-9", environ=names), request())
        headers = server.requests[0].headers
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "p-1")
    assert headers["authorization"] == "Bearer sk-9"


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk-\u00e9", "sk-\x00"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(PreflightFault) as caught:
        opened("m", base_url="http://127.0.0.1:1/v1", api_key=key)
    assert "OPENAI_API_KEY" in str(caught.value) and key not in str(caught.value)


def sent_to(host: str, *messages: Message, **more: Any) -> dict[str, Any]:
    """What a service gets at its own host, which the server of the test stands in for as a proxy."""
    with ModelServer([text("ok")]) as server:
        facts = more.pop("facts", {})
        environ = {"http_proxy": server.root}
        ask(opened("m", base_url=f"http://{host}/v1", environ=environ, **facts), request(*messages, **more))
        received = server.requests[0]
    assert received.headers["host"] == host
    check_body(speak.PATH, official(received.body))
    return received.body


@pytest.mark.parametrize(
    ("host", "name", "routed"),
    [
        ("api.openai.com", "max_completion_tokens", True),
        ("eu.api.openai.com", "max_completion_tokens", True),
        ("name.openai.azure.com", "max_completion_tokens", True),
        ("api.openai.com.example.org", "max_tokens", False),
        ("notapi.openai.com", "max_tokens", False),
        ("api.mistral.ai", "max_tokens", False),
    ],
)
def test_services_differ_in_the_name_of_the_limit_and_in_routing(host: str, name: str, routed: bool) -> None:
    body = sent_to(host, max_tokens=7, cache_key="run-1")
    assert {key: value for key, value in body.items() if key.startswith("max")} == {name: 7}
    assert ("prompt_cache_key" in body) == routed


def test_deltas_of_a_call_name_it() -> None:
    with ModelServer([calls(("c", "t", "{}"))]) as server:
        answer = ask(opened("m", base_url=server.url), request())
    shown: list[Part] = [
        Delta(0, "call", "", "c", "t"),
        Delta(0, "call", "{", "c", "t"),
        Delta(0, "call", "}", "c", "t"),
    ]
    assert answer.of(Delta) == shown


# -- how an answer may end -----------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
def test_an_answer_that_ends_with_an_error_is_asked_for_again(reason: str) -> None:
    with ModelServer([stream(delta(finish_reason=reason)), text("better")]) as server:
        answer = ask(opened("m", base_url=server.url, timing=Slept().timing), request())
        assert len(server.requests) == 2
    assert answer.blocks() == [TextBlock("better")]


def test_usage_may_come_in_the_field_of_one_service() -> None:
    tokens = {"prompt_tokens": 7, "completion_tokens": 3}
    assert heard(STOP, delta(x_groq={"id": "r", "usage": tokens})).usage() == Usage(7, 3)
    assert heard(STOP, delta(x_groq={"id": "r"})).of(UsagePart) == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'event: error\ndata: {"message":"busy","code":503}\n\n', "overloaded"),
        (b'event: error\ndata: {"message":"\\ud83d","code":503}\n\n', "overloaded"),
        (b'event: error\ndata: {"error":{"message":"no","code":"insufficient_quota"}}\n\n', "quota"),
    ],
)
def test_errors_have_events_of_their_own(data: bytes, kind: str) -> None:
    with ModelServer([Reply([data])]) as server:
        fault = ask(opened("m", base_url=server.url, retry_seconds=0), request()).fault
    assert fault is not None and fault.kind == kind


# -- the server of these tests is honest -------------------------------------------------------------

CHUNKS: TypeAdapter[Any] = TypeAdapter(ChatCompletionChunk)
RECORDINGS = Path(__file__).with_name("recordings").joinpath("openai")
OFFICIAL = ("text", "calls_parallel", "refusal", "max_tokens", "empty_answer", "content_filter", "usage_cached")


@pytest.mark.parametrize("name", [*OFFICIAL, "unicode", "keep_alives", "crlf"])
def test_the_recordings_of_the_official_service_have_its_shapes(name: str) -> None:
    for line in (RECORDINGS / f"{name}.sse").read_bytes().splitlines():
        field, _, value = line.partition(b": ")
        if field == b"data" and value != b"[DONE]":
            CHUNKS.validate_python(json.loads(value))


def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-1", base_url=speak.base_url(server), max_retries=0)


ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_the_official_client_reads_streams_of_ours() -> None:
    replies = [text("Hel", "lo"), calls(("c1", "t", '{"a":1}'), ("c2", "u", "{}")), speak.thinking("hm hm", "ok")]
    with ModelServer(replies) as server, client(server) as official:
        finals = []
        for _ in replies:
            with official.chat.completions.stream(**ASKED, stream_options={"include_usage": True}) as told:
                finals.append(told.get_final_completion())
    said, called, thought = (final.choices[0] for final in finals)
    assert said.message.content == "Hello" and said.finish_reason == "stop"
    assert [(call.id, call.function.name, call.function.arguments) for call in called.message.tool_calls or ()] == [
        ("c1", "t", '{"a":1}'),
        ("c2", "u", "{}"),
    ]
    assert called.finish_reason == "tool_calls"
    assert thought.message.content == "ok" and thought.message.model_extra == {"reasoning_content": "hm hm"}
    assert finals[0].usage is not None and finals[0].usage.prompt_tokens == 10


def test_the_official_client_reads_whole_answers_of_ours() -> None:
    with ModelServer([speak.whole("Hi", ("c1", "t", "{}"))]) as server, client(server) as official:
        final = official.chat.completions.create(**ASKED)
    ChatCompletion.model_validate(final.model_dump())
    message = final.choices[0].message
    assert message.content == "Hi" and message.tool_calls is not None and message.tool_calls[0].id == "c1"


def test_the_official_client_reads_our_failures() -> None:
    replies = [
        speak.refusal(429, {"retry-after": "1"}, "slow down", code="rate_limit_exceeded"),
        speak.overloaded_midstream("a", message="busy"),
        speak.cut("a"),
    ]
    with ModelServer(replies) as server, client(server) as official:
        with pytest.raises(openai.RateLimitError, match="slow down") as caught:
            official.chat.completions.create(**ASKED)
        assert caught.value.code == "rate_limit_exceeded"
        with pytest.raises(openai.APIError, match="busy"):
            list(official.chat.completions.create(**ASKED, stream=True))
        with pytest.raises(openai.APIConnectionError):
            list(official.chat.completions.create(**ASKED, stream=True))


TEXTS = st.text(max_size=8)
BLOCKS = st.one_of(
    TEXTS.map(TextBlock),
    st.builds(kept, TEXTS, st.sampled_from(sorted(FORMS))),
    TEXTS.map(lambda text: CallBlock(f"c{len(text)}", "t", text)),
)
TURNS = st.lists(
    st.one_of(
        TEXTS.map(user),
        st.lists(BLOCKS, max_size=3).map(lambda blocks: given(*blocks)),
        TEXTS.map(lambda text: Message("user", (ResultBlock("c1", text), TextBlock(text)))),
    ),
    min_size=1,
    max_size=6,
)
HOSTS = st.sampled_from(["127.0.0.1", *DIALECTS])


@settings(max_examples=80)
@given_(TURNS, TURNS, HOSTS)
def test_a_longer_transcript_has_the_shorter_one_as_its_prefix(
    first: list[Message], more: list[Message], host: str
) -> None:
    wire, fresh = (opened("m", base_url=f"http://{host}/v1") for _ in range(2))
    shorter = wire._body(request(*first, tools=(READ,), max_tokens=50))
    longer = wire._body(request(*first, *more, tools=(READ,), max_tokens=40, cache_key="k"))
    assert longer.startswith(shorter[: shorter.rindex(b"]")])
    assert fresh._body(request(*first, *more, tools=(READ,), max_tokens=40, cache_key="k")) == longer

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from fakes.asking import Heard, ask, request, user
from fakes.model_server import ModelServer, Received, Reply, calls, delta, event, stream, text, usage
from remit.base.errors import PreflightFault
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
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
from remit.providers.catalog import open_provider
from remit.providers.openai_chat import ChatDecoder, OpenAIChat
from remit.providers.sse import SseEvent

STOP = delta(finish_reason="stop")


def heard(*chunks: Any, done: bool = True) -> Heard:
    with ModelServer([stream(*chunks, done=done)]) as server:
        answer = ask(OpenAIChat("m", base_url=server.url, retry_seconds=0), request())
    assert answer.fault is None, answer.fault
    return answer


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
    assert answer.blocks() == [ThinkingBlock("Let me see"), TextBlock("42")]
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
    assert heard(delta({"content": parts}), STOP).blocks() == [ThinkingBlock("hm"), TextBlock("yes")]


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
        answer = ask(OpenAIChat("m", base_url=server.url), request(*past))
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
        ("content_filter", False, "refusal"),
        ("eos_token", False, "end_turn"),
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
        ({"prompt_tokens": None, "completion_tokens": None}, Usage()),
        ({"prompt_tokens": -3, "completion_tokens": -1}, Usage()),
        ({"prompt_tokens": 2, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(0, 1, 9)),
    ],
)
def test_usage_counts_cached_tokens_apart(tokens: dict[str, Any], expected: Usage) -> None:
    assert heard(STOP, {"choices": [], "usage": tokens}).usage() == expected


def test_the_last_usage_counts_and_none_is_invented() -> None:
    assert heard(STOP, usage(1, 1), usage(7, 3)).usage() == Usage(7, 3)
    assert heard(STOP).of(UsagePart) == []


def test_a_server_that_does_not_stream_is_understood() -> None:
    function = {"name": "t", "arguments": "{}"}
    message = {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [{"id": "i", "type": "function", "function": function}],
    }
    whole = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3},
    }
    raw = json.dumps(whole).encode()
    reply = Reply([raw[:30], raw[30:]], 200, {"content-type": "application/json; charset=utf-8"})
    with ModelServer([reply]) as server:
        answer = ask(OpenAIChat("m", base_url=server.url), request())
    assert answer.blocks() == [TextBlock("Hi"), CallBlock("i", "t", "{}")]
    assert answer.usage() == Usage(3) and answer.stop() == "tool_use"


@pytest.mark.parametrize(
    "data",
    [b"{not json", b"[]", b'"text"', b'{"choices": 7}', b'{"choices": [{"delta": {"tool_calls": "x"}}]}', b"\xff\xfe{"],
)
def test_what_is_no_chunk_is_malformed_and_not_asked_again(data: bytes) -> None:
    with ModelServer([stream(event(data)), text("never")]) as server:
        answer = ask(OpenAIChat("m", base_url=server.url), request())
        assert len(server.requests) == 1
    assert answer.fault is not None and answer.fault.kind == "malformed"


# -- requests ----------------------------------------------------------------------------------------

READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def sent(*messages: Message, **more: Any) -> Received:
    with ModelServer([text("ok")]) as server:
        ask(
            OpenAIChat("m", base_url=server.url, api_key="sk-0123456789", headers={"X-Extra": "1"}),
            request(*messages, **more),
        )
        return server.requests[0]


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


def test_turns_share_their_prefix_and_a_changed_transcript_is_encoded_anew() -> None:
    first, last, longer, other = user("1"), user("3"), user("3+"), user("x")
    answer = Message("assistant", (TextBlock("2"),))
    transcripts = [(first,), (first, answer, last), (first, answer, longer), (first,), (other, answer, last)]
    with ModelServer([text("ok")] * 9) as server:
        ask(OpenAIChat("m", base_url=server.url), *(request(*messages) for messages in transcripts))
        bodies = [received.raw for received in server.requests]
        contents = ["".join(m["content"] for m in received.body["messages"][1:]) for received in server.requests]
    assert bodies[1].startswith(bodies[0].partition(b"]")[0])
    assert contents == ["1", "123", "123+", "1", "x23"]


# -- keys and addresses ------------------------------------------------------------------------------


def test_the_official_service_needs_a_key() -> None:
    with pytest.raises(PreflightFault) as caught:
        open_provider("openai/gpt-4o", {})
    assert caught.value.kind == "no_key" and "OPENAI_API_KEY" in caught.value.what
    with pytest.raises(PreflightFault):
        open_provider("openai/gpt-4o", {"OPENAI_API_KEY": "  ", "OPENAI_BASE_URL": "https://API.openai.com/v1/"})
    assert open_provider("openai/gpt-4o", {"OPENAI_API_KEY": "sk-1"}).key_source == "OPENAI_API_KEY"


def test_a_server_of_ones_own_needs_none() -> None:
    with ModelServer([text("ok")]) as server:
        provider = open_provider("openai/org/model:7b", {"OPENAI_BASE_URL": server.url + "/"})
        assert (provider.name, provider.model, provider.key_source) == ("openai", "org/model:7b", "none")
        ask(provider, request(model=provider.model))
        received = server.requests[0]
    assert received.path == "/v1/chat/completions" and "authorization" not in received.headers
    assert received.body["model"] == "org/model:7b"


def test_organization_and_project_are_sent() -> None:
    with ModelServer([text("ok")]) as server:
        names = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": " sk-9\n",
            "OPENAI_ORG_ID": "org-1",
            "OPENAI_PROJECT_ID": "p-1",
        }
        ask(open_provider("openai/m", names), request())
        headers = server.requests[0].headers
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "p-1")
    assert headers["authorization"] == "Bearer sk-9"


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk-\u00e9", "sk-\x00"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(PreflightFault) as caught:
        open_provider("openai/m", {"OPENAI_API_KEY": key})
    assert "OPENAI_API_KEY" in str(caught.value) and key not in str(caught.value)


def test_the_official_service_takes_the_newer_name_of_max_tokens() -> None:
    assert OpenAIChat("m", base_url="https://api.openai.com/v1")._max_tokens_key == "max_completion_tokens"
    assert OpenAIChat("m", base_url="http://127.0.0.1:1/v1")._max_tokens_key == "max_tokens"


def test_deltas_of_a_call_name_it() -> None:
    with ModelServer([calls(("c", "t", "{}"))]) as server:
        answer = ask(OpenAIChat("m", base_url=server.url), request())
    shown: list[Part] = [
        Delta(0, "call", "", "c", "t"),
        Delta(0, "call", "{", "c", "t"),
        Delta(0, "call", "}", "c", "t"),
    ]
    assert answer.of(Delta) == shown

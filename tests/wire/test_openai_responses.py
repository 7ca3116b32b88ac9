from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from fakes import speak_responses as speak
from fakes.asking import Heard, ask, request, user
from fakes.model_server import ModelServer, Received, Reply
from fakes.openai_types import check_body
from fakes.opened import opened
from remit.base.messages import (
    Block,
    BlockPart,
    CallBlock,
    Delta,
    ImageBlock,
    Message,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
    Usage,
)

READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
PNG = ImageBlock("image/png", "iVBORw0KGgo=")
OWN = "openai/m"
SEALED = json.dumps({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA"})


def provider(server: ModelServer, **keys: Any) -> Any:
    return opened("m", protocol="openai-responses", base_url=speak.base_url(server), **keys)


def heard(reply: Reply) -> Heard:
    with ModelServer([reply]) as server:
        return ask(provider(server, retry_seconds=0), request())


def sent(*messages: Message, facts: dict[str, Any] | None = None, **more: Any) -> Received:
    """A request as the server got it, in the shape that the API describes."""
    with ModelServer([speak.text("ok")]) as server:
        ask(provider(server, api_key="sk-0123456789", **(facts or {})), request(*messages, **more))
        received = server.requests[0]
    check_body(received.path.partition("?")[0], received.body)
    return received


def items(*messages: Message) -> list[dict[str, Any]]:
    sent_items: list[dict[str, Any]] = sent(*messages).body["input"]
    return sent_items


def answer(*blocks: Block, origin: str = OWN) -> Message:
    return Message("assistant", blocks, origin)


# -- requests ----------------------------------------------------------------------------------------


def test_the_whole_request() -> None:
    received = sent(
        user("Read a.txt"),
        answer(
            ThinkingBlock("hm", opaque=SEALED),
            TextBlock("I read", '{"phase":"commentary"}'),
            CallBlock("c1", "read_file", '{"path":"a.txt"}'),
            CallBlock("c2", "read_file", ""),
        ),
        Message("user", (ResultBlock("c1", "one"), ResultBlock("c2", "no", is_error=True), TextBlock("Go on."))),
        tools=(READ,),
        max_tokens=100,
        effort="max",
        cache_key="run-7",
        facts={"thinking": "effort", "headers": {"X-Extra": "1"}, "query": {"v": "a b"}},
    )
    assert received.path == f"{speak.PATH}?v=a%20b"
    assert received.headers["authorization"] == "Bearer sk-0123456789"
    assert received.headers["x-extra"] == "1"
    assert received.body == {
        "model": "m",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "xhigh", "summary": "auto"},
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Reads a file.",
                "parameters": READ.schema,
                "strict": False,
            }
        ],
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": "Read a.txt"},
            {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA"},
            {"type": "message", "role": "assistant", "content": "I read", "phase": "commentary"},
            {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path":"a.txt"}'},
            {"type": "function_call", "call_id": "c2", "name": "read_file", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": "no"},
            {"type": "message", "role": "user", "content": "Go on."},
        ],
        "stream": True,
        "max_output_tokens": 100,
        "prompt_cache_key": "run-7",
    }


def test_what_is_not_there_is_not_sent() -> None:
    assert sent(user("hi"), system="").body == {
        "model": "m",
        "store": False,
        "input": [{"type": "message", "role": "user", "content": "hi"}],
        "stream": True,
    }


@pytest.mark.parametrize(
    ("thinking", "effort", "expected"),
    [
        ("effort", None, None),
        ("effort", "off", {"effort": "none"}),
        ("effort", "low", {"effort": "low", "summary": "auto"}),
        ("effort", "medium", {"effort": "medium", "summary": "auto"}),
        ("effort", "high", {"effort": "high", "summary": "auto"}),
        ("effort", "max", {"effort": "xhigh", "summary": "auto"}),
        ("none", "high", None),
        (None, "high", None),
    ],
)
def test_effort_is_asked_of_models_that_take_it(thinking: Any, effort: Any, expected: Any) -> None:
    body = sent(effort=effort, facts={"thinking": thinking}).body
    assert body.get("reasoning") == expected
    assert ("include" in body) == (thinking == "effort")


@pytest.mark.parametrize(("asked", "given_out"), [(15, 16), (16, 16), (17, 17)])
def test_no_smaller_limit_is_asked_than_the_api_takes(asked: int, given_out: int) -> None:
    assert sent(max_tokens=asked).body["max_output_tokens"] == given_out


def test_images_stand_in_messages_and_in_results() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
    seen = items(
        Message("user", (TextBlock("What is this?"), PNG)),
        answer(CallBlock("c", "t", "{}"), CallBlock("d", "t", "{}")),
        Message("user", (ResultBlock("c", "seen", images=(PNG, PNG)), ResultBlock("d", "", images=(PNG,)))),
        Message("user", (PNG,)),
    )
    assert seen[0]["content"] == [picture, {"type": "input_text", "text": "What is this?"}]
    assert seen[3]["output"] == [{"type": "input_text", "text": "seen"}, picture, picture]
    assert seen[4]["output"] == [picture]
    assert seen[5]["content"] == [picture]


def test_every_text_of_an_answer_stays_an_item() -> None:
    seen = items(user("hi"), answer(TextBlock("one"), TextBlock(""), TextBlock("two")), user("go on"))
    assert [item["content"] for item in seen] == ["hi", "one", "two", "go on"]


def test_an_answer_of_nothing_is_no_item() -> None:
    seen = items(user("hi"), answer(), answer(TextBlock("")), Message("user", (TextBlock(""),)), user("go on"))
    assert [item["content"] for item in seen] == ["hi", "go on"]


@pytest.mark.parametrize("origin", ["", "openai/other", "anthropic/m", "other/m"])
def test_what_another_model_thought_is_never_sent(origin: str) -> None:
    foreign = answer(
        ThinkingBlock("secret thought", "SIGNED", SEALED),
        TextBlock("said", '{"phase":"commentary"}'),
        CallBlock("c", "t", "{}", "OPAQUE"),
        origin=origin,
    )
    received = sent(user("hi"), foreign, Message("user", (ResultBlock("c", "done"),)))
    for word in (b"secret", b"SIGNED", b"gAAAA", b"OPAQUE", b"phase"):
        assert word not in received.raw
    assert received.body["input"][1] == {"type": "message", "role": "assistant", "content": "said"}


def test_a_change_of_the_model_leaves_out_what_the_first_one_thought() -> None:
    mine = answer(ThinkingBlock("m", opaque=SEALED), CallBlock("c", "t", "{}"))
    theirs = answer(ThinkingBlock("t", "S", '{"type":"reasoning","id":"rs_9"}'), TextBlock("t"), origin="openai/n")
    seen = items(user("hi"), mine, Message("user", (ResultBlock("c", "r"),)), theirs, user("go"))
    assert [item["type"] for item in seen] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "message",
        "message",
    ]


@pytest.mark.parametrize("opaque", ["", "{not json", "[1]", '{"form":"reasoning_content"}', "\ud83d"])
def test_a_thought_that_came_through_another_api_is_left_out(opaque: str) -> None:
    seen = items(user("hi"), answer(ThinkingBlock("hm", opaque=opaque), TextBlock("yes", opaque)), user("go"))
    assert [item["type"] for item in seen] == ["message", "message", "message"]


def test_reasoning_that_nothing_followed_is_not_sent() -> None:
    thought = ThinkingBlock("hm", opaque=SEALED)
    assert len(items(user("hi"), answer(thought), user("go on"))) == 2
    seen = items(user("hi"), answer(thought, TextBlock("a"), thought, thought), user("go on"))
    assert [item["type"] for item in seen] == ["message", "reasoning", "message", "message"]


@pytest.mark.parametrize("arguments", ['{"a": tru', "[1]", "null", "just text", '{"a": "\ud83d"}'])
def test_malformed_arguments_go_back_in_a_form_that_can_be_read(arguments: str) -> None:
    back = json.loads(items(user("hi"), answer(CallBlock("c", "t", arguments)), user("go"))[1]["arguments"])
    assert back == {"malformed_arguments": arguments.replace("\ud83d", "\ufffd")}


def test_lone_surrogates_never_leave() -> None:
    result = Message("user", (ResultBlock("c", "r\udfff"), TextBlock("a\ud83db")))
    body = sent(answer(TextBlock("t\ud800"), CallBlock("c", "t", "{}")), result, system="s\udc00").body
    assert body["instructions"] == "s\ufffd"
    assert [body["input"][index].get("content", body["input"][index].get("output")) for index in (0, 2, 3)] == [
        "t\ufffd",
        "r\ufffd",
        "a\ufffdb",
    ]


@pytest.mark.parametrize(
    ("call_id", "kept"), [("c" * 64, True), ("c" * 65, False), ("functions.read:0", False), ("", False)]
)
def test_ids_of_calls_are_made_to_fit(call_id: str, kept: bool) -> None:
    seen = items(answer(CallBlock(call_id, "t", "{}")), Message("user", (ResultBlock(call_id, "r"),)))
    assert seen[0]["call_id"] == seen[1]["call_id"]
    assert (seen[0]["call_id"] == call_id) == kept and len(seen[0]["call_id"]) <= 64


TEXTS = st.text(max_size=8)
BLOCKS = st.one_of(
    TEXTS.map(TextBlock),
    TEXTS.map(lambda text: ThinkingBlock(text, opaque=SEALED)),
    TEXTS.map(lambda text: CallBlock(f"c{len(text)}", "t", text)),
)
ANSWERS = st.builds(answer, st.lists(BLOCKS, max_size=3).map(tuple)).map(
    lambda message: Message("assistant", message.content[0] if message.content else (), OWN)
)
TURNS = st.lists(st.one_of(TEXTS.map(user), ANSWERS), min_size=1, max_size=6)


@settings(max_examples=60)
@given(TURNS, TURNS)
def test_a_longer_transcript_has_the_shorter_one_as_its_prefix(first: list[Message], more: list[Message]) -> None:
    wire = opened("m", protocol="openai-responses", base_url="http://127.0.0.1:1/v1", thinking="effort")
    shorter = wire._body(request(*first, tools=(READ,), max_tokens=50))
    longer = wire._body(request(*first, *more, tools=(READ,), max_tokens=40, cache_key="k"))
    end = shorter.rindex(b"]")
    assert longer.startswith(shorter[:end])
    fresh = opened("m", protocol="openai-responses", base_url="http://127.0.0.1:1/v1", thinking="effort")
    assert fresh._body(request(*first, *more, tools=(READ,), max_tokens=40, cache_key="k")) == longer


# -- answers -----------------------------------------------------------------------------------------


def test_reasoning_is_kept_whole_and_goes_back_as_it_came() -> None:
    item = speak.reasoning_item("I look.", "Then I answer.", encrypted="gAAAAfinal")
    first = heard(speak.stream(item, speak.call_item("c", "t", "{}")))
    thought, call = first.blocks()
    assert thought.text == "I look.\n\nThen I answer."
    assert [delta.text for delta in first.of(Delta) if delta.kind == "thinking"][2:3] == ["\n\n"]
    back = items(user("hi"), answer(thought, call), Message("user", (ResultBlock("c", "r"),)))
    assert back[1] == {key: value for key, value in item.items() if key != "status"}


def test_reasoning_of_nothing_but_an_id_is_no_block() -> None:
    answer = heard(speak.stream(speak.reasoning_item(encrypted=None), speak.message_item("Hi")))
    assert answer.blocks() == [TextBlock("Hi")]


@pytest.mark.parametrize("whole", [False, True])
def test_streamed_or_not_the_answer_is_the_same(whole: bool) -> None:
    said = (
        speak.reasoning_item("hm"),
        speak.message_item("I look", phase="commentary"),
        speak.call_item("c", "t", '{"a":1}', 1),
        speak.call_item("d", "u", "", 2),
    )
    more = {"usage": speak.usage(100, 20, cached=60, written=30, reasoning=10)}
    answer = heard(speak.whole(*said, **more) if whole else speak.stream(*said, **more))
    thought, *rest = answer.blocks()
    assert (thought.text, json.loads(thought.opaque)["encrypted_content"]) == ("hm", "gAAAA-sealed==")
    assert rest == [
        TextBlock("I look", '{"phase":"commentary"}'),
        CallBlock("c", "t", '{"a":1}'),
        CallBlock("d", "u", ""),
    ]
    assert answer.usage() == Usage(10, 20, 60, 30) and answer.stop() == "tool_use"
    assert [part.index for part in answer.of(BlockPart)] == [0, 1, 2, 3]


def test_several_texts_of_one_message_are_blocks_of_one_answer() -> None:
    answer = heard(speak.stream(speak.message_item("one", "two")))
    assert answer.blocks() == [TextBlock("one"), TextBlock("two")]
    assert Message("assistant", tuple(answer.blocks())).text() == "one\ntwo"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("max_output_tokens", "max_tokens"),
        ("content_filter", "refusal"),
        ("max_messages", "cut"),
        (None, "cut"),
    ],
)
def test_reasons_to_be_incomplete(reason: str | None, expected: str) -> None:
    details = {"reason": reason} if reason else None
    reply = speak.stream(speak.message_item("x"), status="incomplete", incomplete_details=details)
    answer = heard(reply)
    assert (answer.stop() if answer.fault is None else answer.fault.kind) == expected


def test_a_refusal_is_text_and_a_reason() -> None:
    for reply in (speak.stream(speak.refusal_item("I cannot.")), speak.whole(speak.refusal_item("I cannot."))):
        answer = heard(reply)
        assert answer.blocks() == [TextBlock("I cannot.")] and answer.stop() == "refusal"


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ({"input_tokens": 10, "output_tokens": 5}, Usage(10, 5)),
        ({"input_tokens": 10, "output_tokens": 5, "input_tokens_details": None}, Usage(10, 5)),
        ({"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}, Usage(6, 5, 4)),
        ({"input_tokens": 2, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 9}}, Usage(0, 1, 9)),
    ],
)
def test_usage_counts_cached_tokens_apart(tokens: dict[str, Any], expected: Usage) -> None:
    assert heard(speak.stream(speak.message_item("x"), usage=tokens)).usage() == expected


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (speak.overloaded_midstream(), "overloaded"),
        (speak.overloaded_midstream(code="rate_limit_exceeded"), "rate_limited"),
        (speak.overloaded_midstream(code="invalid_prompt"), "refused"),
        (speak.overloaded_midstream(code="bio_policy"), "refused"),
        (speak.overloaded_midstream(code="misalignment_policy_violation"), "refused"),
        (speak.overloaded_midstream(code="image_content_policy_violation"), "refused"),
        (speak.overloaded_midstream(code="invalid_image"), "bad_request"),
        (speak.overloaded_midstream(code="unsupported_image_media_type"), "bad_request"),
        (speak.overloaded_midstream(code="data_residency_mismatch"), "bad_request"),
        (speak.error_event(code="context_length_exceeded"), "context_overflow"),
        (speak.error_event(code="insufficient_quota"), "quota"),
        (speak.refusal(400, code="invalid_prompt"), "refused"),
        (speak.refusal(429, code="rate_limit_exceeded"), "rate_limited"),
        (speak.refusal(401, code="invalid_api_key"), "auth"),
        (speak.whole(status="failed", error={"code": "server_error", "message": "no"}), "overloaded"),
        (speak.whole(status="in_progress"), "network"),
        (
            Reply([b'{"error":{"message":"no","code":"model_not_found"}}'], 200, {"content-type": "application/json"}),
            "not_found",
        ),
    ],
)
def test_failures_have_their_kind(reply: Reply, kind: str) -> None:
    fault = heard(reply).fault
    assert fault is not None and fault.kind == kind


@pytest.mark.parametrize("reply", [speak.overloaded_midstream("a", "b"), speak.error_event("a"), speak.cut("a", "b")])
def test_what_came_before_a_failure_is_told(reply: Reply) -> None:
    answer = heard(reply)
    assert answer.fault is not None and answer.fault.kind == "cut"
    assert answer.of(Delta)[0] == Delta(0, "text", "a") and not answer.of(BlockPart)


@pytest.mark.parametrize(
    "data",
    [
        b"{not json",
        b"[]",
        b'"text"',
        b'{"type":"response.completed"}',
        b'{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","arguments":{}}}',
    ],
)
def test_what_is_no_event_is_malformed_and_not_asked_again(data: bytes) -> None:
    with ModelServer([Reply([b"data: " + data + b"\n\n"]), speak.text("never")]) as server:
        answer = ask(provider(server), request())
        assert len(server.requests) == 1
    assert answer.fault is not None and answer.fault.kind == "malformed"


def test_a_call_is_told_with_its_name_and_ids_are_made_unique() -> None:
    past = (user("hi"), answer(CallBlock("c", "t", "{}")), Message("user", (ResultBlock("c", "r"),)))
    with ModelServer([speak.calls(("c", "t", "{}"), ("", "u", '{"a":1}'))]) as server:
        given_out = ask(provider(server), request(*past))
    assert given_out.blocks() == [CallBlock("c_2", "t", "{}"), CallBlock("call_2_2", "u", '{"a":1}')]
    assert given_out.of(Delta)[0] == Delta(0, "call", "{", "c_2", "t")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_events_may_come_without_their_beginning(number: int) -> None:
    """Each item whole, its deltas without `added`, or only what is done."""
    said = (speak.reasoning_item("hm"), speak.message_item("Hi"), speak.call_item("c", "t", "{}"))
    told = [
        event
        for event in speak.events(*said)
        if not (number > 0 and event["type"].endswith(".added")) and not (number > 1 and "delta" in event)
    ]
    answer = heard(Reply([speak.event(event) for event in told]))
    thought, *rest = answer.blocks()
    assert thought.text == "hm" and rest == [TextBlock("Hi"), CallBlock("c", "t", "{}")]


# -- the server of these tests is honest -------------------------------------------------------------

EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
RECORDINGS = sorted(Path(__file__).with_name("recordings").joinpath("openai-responses").glob("*.sse"))
# What other servers send, or none ever did, by intent.
BEYOND_THE_TYPES = {"unknown_events", "error_nested", "keep_alives"}


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if r.stem not in BEYOND_THE_TYPES], ids=lambda r: r.stem)
def test_the_recordings_have_the_shapes_of_the_official_types(recording: Path) -> None:
    for line in recording.read_bytes().splitlines():
        field, _, value = line.partition(b": ")
        if field == b"data" and value != b"[DONE]":
            EVENTS.validate_python(json.loads(value))


def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-1", base_url=speak.base_url(server), max_retries=0)


SAID = (
    speak.reasoning_item("I look.", encrypted="gAAAAfinal"),
    speak.message_item("Reading both."),
    speak.call_item("c1", "t", '{"a":1}', 1),
    speak.call_item("c2", "u", "{}", 2),
)


def test_the_official_client_reads_a_stream_of_ours() -> None:
    usage = speak.usage(100, 20, cached=60, written=30, reasoning=10)
    with (
        ModelServer([speak.stream(*SAID, usage=usage)]) as server,
        client(server) as official,
        official.responses.stream(model="m", input="hi", store=False) as stream,
    ):
        texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(texts) == "Reading both."
    check_response(final)


def test_the_official_client_reads_a_whole_answer_of_ours() -> None:
    usage = speak.usage(100, 20, cached=60, written=30, reasoning=10)
    with ModelServer([speak.whole(*SAID, usage=usage)]) as server, client(server) as official:
        check_response(official.responses.create(model="m", input="hi", store=False))


def check_response(final: Response) -> None:
    Response.model_validate(final.model_dump(by_alias=True))
    thought, _, first, second = final.output
    assert thought.type == "reasoning" and thought.encrypted_content == "gAAAAfinal"
    assert thought.summary[0].text == "I look." and final.output_text == "Reading both."
    assert first.type == second.type == "function_call"
    assert [(call.call_id, call.name, call.arguments) for call in (first, second)] == [
        ("c1", "t", '{"a":1}'),
        ("c2", "u", "{}"),
    ]
    assert final.usage is not None and final.usage.input_tokens_details.cached_tokens == 60
    assert final.usage.input_tokens_details.cache_write_tokens == 30


def test_the_official_client_reads_our_failures() -> None:
    replies = [
        speak.refusal(429, {"retry-after": "1"}, "slow down", code="rate_limit_exceeded"),
        speak.overloaded_midstream("a"),
        speak.error_event("a", code="server_error", message="busy"),
    ]
    with ModelServer(replies) as server, client(server) as official:
        with pytest.raises(openai.RateLimitError, match="slow down") as caught:
            official.responses.create(model="m", input="hi")
        assert caught.value.code == "rate_limit_exceeded"
        failed, told = (list(official.responses.create(model="m", input="hi", stream=True))[-1] for _ in range(2))
    assert failed.type == "response.failed" and failed.response.error is not None
    assert failed.response.error.code == "server_error"
    assert told.type == "error" and (told.code, told.message) == ("server_error", "busy")


def test_the_official_client_sends_what_we_read_and_we_send_what_it_does() -> None:
    ours = sent(user("hi"), tools=(READ,), effort="low", facts={"thinking": "effort"}).body
    with ModelServer([speak.text("ok")]) as server, client(server) as official:
        list(official.responses.create(**ours))
        assert server.requests[0].path == speak.PATH
        assert server.requests[0].body == ours

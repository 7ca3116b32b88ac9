from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from fakes.asking import Heard, ask, request, user
from fakes.model_server import ModelServer, Received, Reply, event
from fakes.opened import opened
from fakes.speak_gemini import (
    PATH,
    SIGNATURE,
    base_url,
    call,
    calls,
    chunk,
    overloaded_midstream,
    refusal,
    stream,
    text,
    text_chunks,
    thinking,
    thought,
    usage,
    whole,
)
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
    ImageBlock,
    Message,
    ResultBlock,
    StopPart,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
    Usage,
    UsagePart,
)
from remit.providers.failures import from_response, from_stream

GEMINI_3, GEMINI_2 = "gemini-3-flash-preview", "gemini-2.5-flash"
OWN = f"google/{GEMINI_3}"
DUMMY = "skip_thought_signature_validator"
SECOND = "EtYBCtMBAb4+9vtmLk0mYQ=="
PNG = ImageBlock("image/png", "iVBORw0KGgo=")
GIF = ImageBlock("image/gif", "R0lGODlh")
READ = ToolSpec(
    "read_file",
    "Reads a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["path"],
        "additionalProperties": False,
    },
)


def gemini(server: ModelServer, model: str = GEMINI_3, **more: Any) -> Any:
    return opened(model, protocol="google", base_url=base_url(server), **({"retry_seconds": 0} | more))


def answered(reply: Reply) -> Heard:
    with ModelServer([reply]) as server:
        return ask(gemini(server), request())


def heard(*chunks: Any) -> Heard:
    answer = answered(stream(*chunks))
    assert answer.fault is None, answer.fault
    return answer


def sent(*messages: Message, model: str = GEMINI_3, facts: dict[str, Any] | None = None, **more: Any) -> Received:
    with ModelServer([text("ok")]) as server:
        ask(gemini(server, model, **(facts or {})), request(*messages, model=model, **more))
        return server.requests[0]


def contents(*messages: Message, **more: Any) -> Any:
    return sent(*messages, **more).body["contents"]


def assistant(*blocks: Any, origin: str = OWN) -> Message:
    return Message("assistant", blocks, origin)


def results(*blocks: Any) -> Message:
    return Message("user", blocks)


# -- answers -----------------------------------------------------------------------------------------


def test_text_arrives_as_it_is_written() -> None:
    parts = list(answered(text("Hel", "lo")))
    assert parts == [
        Delta(0, "text", "Hel"),
        UsagePart(Usage(10, 0)),
        Delta(0, "text", "lo"),
        UsagePart(Usage(10, 5)),
        BlockPart(0, TextBlock("Hello")),
        StopPart("end_turn"),
    ]


def test_parallel_calls_keep_their_order_their_ids_and_the_signature_of_the_first() -> None:
    answer = answered(calls(("c1", "read_file", '{"path":"a"}'), ("", "read_file", ""), ("c1", "look", '{"x":1.5}')))
    assert answer.blocks() == [
        CallBlock(
            "c1", "read_file", '{"path":"a"}', json.dumps({"id": "c1", "signature": SIGNATURE}, separators=(",", ":"))
        ),
        CallBlock("call_1_2", "read_file", "{}"),
        CallBlock("c1_2", "look", '{"x":1.5}', '{"id":"c1"}'),
    ]
    assert answer.stop() == "tool_use"


def test_a_made_id_is_new_in_the_transcript() -> None:
    past = (user("hi"), assistant(CallBlock("call_2_1", "t", "{}")), results(ResultBlock("call_2_1", "x")))
    with ModelServer([calls(("", "t", "{}"))]) as server:
        assert ask(gemini(server), request(*past)).blocks()[0].id == "call_2_1_2"


def test_thoughts_are_blocks_and_an_empty_signed_part_joins_the_text_before_it() -> None:
    answer = answered(thinking("Let me", " see.", answer="It is 7."))
    assert answer.blocks() == [ThinkingBlock("Let me see."), TextBlock("It is 7.", f'[[8,""],[0,"{SIGNATURE}"]]')]
    assert answer.usage() == Usage(10, 12) and answer.stop() == "end_turn"


def test_a_finish_reason_in_every_chunk_ends_nothing() -> None:
    answer = heard(*(chunk({"text": piece}, finish="STOP", tokens=usage(9, 1)) for piece in ("One ", "two")))
    assert answer.blocks() == [TextBlock("One two")]


@pytest.mark.parametrize(
    ("reason", "called", "expected"),
    [
        ("STOP", False, "end_turn"),
        ("STOP", True, "tool_use"),
        ("MAX_TOKENS", False, "max_tokens"),
        ("MAX_TOKENS", True, "max_tokens"),
        ("CONTINUATION", False, "max_tokens"),
        ("UNEXPECTED_TOOL_CALL", True, "tool_use"),
        ("TOO_MANY_TOOL_CALLS", True, "tool_use"),
        *((reason, False, "refusal") for reason in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")),
        *((reason, False, "refusal") for reason in ("IMAGE_SAFETY", "LANGUAGE", "ESCALATION", "MODEL_ARMOR")),
    ],
)
def test_reasons_to_stop(reason: str, called: bool, expected: str) -> None:
    part = call("t", "{}", "i") if called else {"text": "x"}
    answer = heard(chunk(part), chunk(finish=reason))
    assert answer.stop() == expected
    assert answer.blocks() == [CallBlock("i", "t", "{}", '{"id":"i"}') if called else TextBlock("x")]


def test_a_refusal_without_text_names_its_reason() -> None:
    answer = heard(chunk(thought("hm")), {"candidates": [{"finishReason": "SAFETY", "finishMessage": "Too\nbad."}]})
    assert answer.blocks() == [ThinkingBlock("hm"), TextBlock("[stopped: SAFETY: Too bad.]")]
    assert answer.stop() == "refusal"


@pytest.mark.parametrize("message", ["", "It is forbidden."])
def test_a_blocked_prompt_is_a_refusal(message: str) -> None:
    answer = heard({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": message}})
    told = f"SAFETY: {message}" if message else "SAFETY"
    assert answer.blocks() == [TextBlock(f"[the API blocked the prompt: {told}]")] and answer.stop() == "refusal"


BROKEN = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "MISSING_THOUGHT_SIGNATURE", "NEWLY_INVENTED"]


@pytest.mark.parametrize("reason", BROKEN)
def test_an_answer_broken_off_by_the_api_is_empty_and_tells_why(reason: str) -> None:
    answer = heard(chunk(finish=reason, finishMessage="print(default_api.t(", tokens=usage(10, 5)))
    note = ThinkingBlock(f"[the API gave no answer: {reason}: print(default_api.t(]")
    assert (answer.blocks(), answer.usage(), answer.stop()) == ([note], Usage(10, 5), "end_turn")


@pytest.mark.parametrize("reason", [*BROKEN[:1], *BROKEN[2:]])
@pytest.mark.parametrize("part", [{"text": "'], mode='w')"}, call("t", "{}")])
def test_what_came_before_the_api_broke_off_is_never_a_whole_answer(reason: str, part: dict[str, Any]) -> None:
    answer = answered(stream(chunk(part), chunk(finish=reason)))
    assert answer.fault is not None and answer.fault.kind == "cut" and reason in answer.fault.what
    assert answer.of(StopPart) == []


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (usage(10, 5), Usage(10, 5)),
        (usage(10, 5, cached=4, thoughts=20), Usage(6, 25, 4)),
        ({"promptTokenCount": 10, "toolUsePromptTokenCount": 3, "cachedContentTokenCount": 4}, Usage(9, 0, 4)),
        ({"promptTokenCount": 2, "cachedContentTokenCount": 9}, Usage(0, 0, 9)),
        ({"promptTokenCount": -3, "candidatesTokenCount": 7}, Usage(99, 99)),
    ],
)
def test_usage_counts_cached_tokens_apart_and_thoughts_as_output(tokens: dict[str, Any], expected: Usage) -> None:
    assert heard(chunk({"text": "x"}, tokens=usage(99, 99)), chunk(finish="STOP", tokens=tokens)).usage() == expected


def test_no_usage_is_invented() -> None:
    assert heard({"candidates": [{"finishReason": "STOP"}]}) == [StopPart("end_turn")]


def test_null_and_unknown_fields_are_passed_over() -> None:
    odd = {"candidates": [{"content": {"parts": [{"text": None}, {"inlineData": {}}, {}]}, "index": None, "x": 1}]}
    other = {"candidates": [{"content": {"parts": [{"text": "not mine"}]}, "index": 1}]}
    empty: list[Any] = [
        {},
        {"candidates": None, "usageMetadata": None},
        {"candidates": [{"content": None}]},
        event(b""),
    ]
    assert heard(odd, other, *empty, *text_chunks("x")).blocks() == [TextBlock("x")]


@pytest.mark.parametrize("array", [True, False])
def test_a_server_that_does_not_stream_is_understood(array: bool) -> None:
    pieces = [
        chunk(thought("hm")),
        chunk({"text": "Hi"}),
        chunk(call("t", "{}", "i"), finish="STOP", tokens=usage(3, 2)),
    ]
    answer = answered(whole(*pieces, array=array))
    assert answer.blocks() == [ThinkingBlock("hm"), TextBlock("Hi"), CallBlock("i", "t", "{}", '{"id":"i"}')]
    assert answer.usage() == Usage(3, 2) and answer.stop() == "tool_use"


@pytest.mark.parametrize("data", [b"{not json", b'"text"', b'{"candidates": 7}', b"[7]", b'{"error": {}}x', b"\xff{"])
def test_what_is_no_chunk_is_malformed_and_not_asked_again(data: bytes) -> None:
    with ModelServer([stream(event(data)), text("never")]) as server:
        answer = ask(gemini(server, retry_seconds=300), request())
        assert len(server.requests) == 1
    assert answer.fault is not None and answer.fault.kind == "malformed" and "Gemini" in answer.fault.what


def test_arguments_are_whole_json_whatever_is_in_them() -> None:
    called = rb'{"functionCall":{"name":"t","args":{"a":"\ud83d","\ud83d\ude00":[1,null]}}}'
    answer = heard(event(b'{"candidates":[{"content":{"parts":[' + called + b']},"finishReason":"STOP"}]}'))
    assert json.loads(answer.blocks()[0].arguments) == {"a": "\ufffd", "\U0001f600": [1, None]}


@pytest.mark.parametrize("reply", [stream(chunk({"text": "x"})), stream(), overloaded_midstream("x")])
def test_a_stream_without_its_end_is_no_answer(reply: Reply) -> None:
    answer = answered(reply)
    assert answer.fault is not None and answer.of(StopPart) == []
    assert answer.fault.kind == ("cut" if answer.of(Delta) else "network")


# -- errors ------------------------------------------------------------------------------------------

NOW = 1_800_000_000.0
OVERFLOW = "The input token count (1180132) exceeds the maximum number of tokens allowed (1048576)."


@pytest.mark.parametrize(
    ("reply", "kind", "hint"),
    [
        (refusal(429, retry="34s"), "rate_limited", 34.0),
        (refusal(429, retry="34.074824224s", wrapped=True), "rate_limited", 34.074824224),
        (refusal(429, {"retry-after": "7"}, retry="34s"), "rate_limited", 7.0),
        (refusal(429, retry="soon"), "rate_limited", None),
        (refusal(429, details=["x", {"retryDelay": 5}]), "rate_limited", None),
        (refusal(503), "overloaded", None),
        (refusal(500), "overloaded", None),
        (refusal(504), "overloaded", None),
        (refusal(400, message="API key not valid.", reason="API_KEY_INVALID"), "auth", None),
        (refusal(401), "auth", None),
        (refusal(403, reason="SERVICE_DISABLED"), "auth", None),
        (refusal(404, message="models/x is not found for API version v1beta"), "not_found", None),
        (refusal(400), "bad_request", None),
        (refusal(400, message=OVERFLOW), "context_overflow", None),
        (refusal(400, word="FAILED_PRECONDITION"), "bad_request", None),
    ],
)
def test_errors_of_the_api(reply: Reply, kind: str, hint: float | None) -> None:
    body = reply.steps[0]
    assert isinstance(body, bytes)
    failed = from_response(reply.status, reply.headers, body, NOW)
    assert (failed.kind, failed.hint) == (kind, hint)


@pytest.mark.parametrize(
    ("error", "kind", "hint"),
    [
        ({"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}, "overloaded", None),
        ({"code": 400, "status": "INVALID_ARGUMENT", "message": OVERFLOW}, "context_overflow", None),
        ({"code": 400, "status": "INVALID_ARGUMENT", "message": "no"}, "bad_request", None),
        ({"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "9s"}]}, "rate_limited", 9.0),
    ],
)
def test_errors_inside_a_stream(error: dict[str, Any], kind: str, hint: float | None) -> None:
    failed = from_stream(error)
    assert (failed.kind, failed.hint) == (kind, hint)


# -- requests ----------------------------------------------------------------------------------------


def test_the_whole_request() -> None:
    received = sent(
        Message("user", (PNG, TextBlock("Read a.txt"))),
        assistant(
            ThinkingBlock("unsigned"),
            ThinkingBlock("signed", SIGNATURE),
            TextBlock("I read", f'[[2,""],[4,"{SECOND}"]]'),
            CallBlock("c1", "read_file", '{"path":"a"}', f'{{"id":"w1","signature":"{SIGNATURE}"}}'),
            CallBlock("c2", "read_file", '{"path":"b"}'),
            ThinkingBlock("", SECOND, "text"),
        ),
        results(ResultBlock("c1", "one", images=(PNG,)), ResultBlock("c2", "no", is_error=True), TextBlock("Go on.")),
        tools=(READ,),
        max_tokens=100,
        effort="high",
        cache_key="k",
        facts={"thinking": "level", "api_key": "AIza-0123456789", "headers": {"X-Extra": "1"}},
    )
    assert received.path == f"{PATH.format(model=GEMINI_3)}?alt=sse"
    assert received.headers["x-goog-api-key"] == "AIza-0123456789" and received.headers["x-extra"] == "1"
    assert "authorization" not in received.headers
    assert received.body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read_file", "description": "Reads a file.", "parametersJsonSchema": READ.schema}
                ]
            }
        ],
        "contents": [
            {
                "role": "user",
                "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG.data}}, {"text": "Read a.txt"}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "signed", "thought": True, "thoughtSignature": SIGNATURE},
                    {"text": "I "},
                    {"text": "read", "thoughtSignature": SECOND},
                    {
                        "functionCall": {"id": "w1", "name": "read_file", "args": {"path": "a"}},
                        "thoughtSignature": SIGNATURE,
                    },
                    {"functionCall": {"name": "read_file", "args": {"path": "b"}}},
                    {"text": "", "thoughtSignature": SECOND},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "w1",
                            "name": "read_file",
                            "response": {"result": "one"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG.data}}],
                        }
                    },
                    {"functionResponse": {"name": "read_file", "response": {"error": "no"}}},
                ],
            },
            {"role": "user", "parts": [{"text": "Go on."}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 100,
            "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True},
        },
    }
    official(received.body)


def official(body: dict[str, Any]) -> None:
    """The body against the types of the official package, which forbid keys that they do not know."""
    assert set(body) <= {"systemInstruction", "tools", "contents", "generationConfig"}
    for entry in [*body["contents"], *([body["systemInstruction"]] if "systemInstruction" in body else [])]:
        content = types.Content.model_validate(entry)
        assert content.parts
        assert content.role in ("user", "model", None)
    for tool in body.get("tools", []):
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))


def test_the_official_types_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ValueError, match="thoughtSignatur"):
        official({"contents": [{"role": "user", "parts": [{"text": "x", "thoughtSignatur": "AA=="}]}]})


def test_what_is_not_there_is_not_sent() -> None:
    received = sent(user("hi"), system="")
    assert received.body == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    assert "x-goog-api-key" not in received.headers


def test_what_an_answer_kept_goes_back_on_the_same_parts() -> None:
    pieces: list[list[dict[str, Any]]] = [
        [thought("First.", SIGNATURE), {"text": "Sig\U0001f525", "thoughtSignature": SIGNATURE}, {"text": " plain"}],
        [{"text": " end.", "thoughtSignature": SECOND}, call("t", '{"a":[1,2.5]}', "w", SECOND), call("t", "{}")],
        [{"text": "", "thoughtSignature": SIGNATURE}],
    ]
    answer = heard(*(chunk(*parts) for parts in pieces), chunk(finish="STOP"))
    back = contents(user("hi"), assistant(*answer.blocks()), user("on"))[1]["parts"]
    assert back == [part for parts in pieces for part in parts]


@pytest.mark.parametrize("origin", ["", "anthropic/claude", f"google/{GEMINI_2}", f"vertex/{GEMINI_3}"])
def test_what_another_model_kept_is_never_sent(origin: str) -> None:
    foreign = assistant(
        ThinkingBlock("secret", SIGNATURE, "secret"),
        TextBlock("said", f'[[4,"{SIGNATURE}"]]'),
        CallBlock("c1", "t", "{}", f'{{"id":"w1","signature":"{SIGNATURE}"}}'),
        CallBlock("c2", "t", "{}"),
        origin=origin,
    )
    past = (user("hi"), foreign, results(ResultBlock("c1", "x"), ResultBlock("c2", "y")))
    received = sent(*past)
    assert SIGNATURE.encode() not in received.raw and b"secret" not in received.raw and b"w1" not in received.raw
    bare = {"functionCall": {"name": "t", "args": {}}}
    assert received.body["contents"][1]["parts"] == [{"text": "said"}, bare | {"thoughtSignature": DUMMY}, bare]
    official(received.body)


@pytest.mark.parametrize(
    ("model", "thinking_kind", "signed"),
    [
        (GEMINI_3, None, True),
        ("models/gemini-4-argon", None, True),
        ("gemini-flash-latest", "level", True),
        (GEMINI_2, "budget", False),
        ("gemma-3-27b-it", None, False),
        ("tunedModels/mine", None, False),
    ],
)
def test_only_models_that_ask_for_signatures_get_one_for_foreign_calls(
    model: str, thinking_kind: Any, signed: bool
) -> None:
    past = (user("hi"), assistant(CallBlock("c", "t", "{}"), origin="x/y"), results(ResultBlock("c", "x")))
    parts = contents(*past, model=model, facts={"thinking": thinking_kind})[1]["parts"]
    assert ("thoughtSignature" in parts[0]) is signed


def test_an_own_first_call_without_signature_gets_one_too() -> None:
    own = assistant(CallBlock("c", "t", "{}", '{"id":"w"}'))
    (part,) = contents(user("hi"), own, results(ResultBlock("c", "x")))[1]["parts"]
    assert part == {"functionCall": {"id": "w", "name": "t", "args": {}}, "thoughtSignature": DUMMY}


@pytest.mark.parametrize("opaque", ["{", "[]", '[[1,"x"]]', '[[9,"x"]]', "\ud83d", '{"id":5}'])
def test_what_cannot_be_read_again_is_left_out(opaque: str) -> None:
    own = assistant(TextBlock("Hello", opaque), CallBlock("c", "t", "{}", opaque))
    said, called = contents(user("hi"), own, results(ResultBlock("c", "x")), model=GEMINI_3)[1]["parts"]
    assert said == {"text": "Hello"} and called["functionCall"] == {"name": "t", "args": {}}


def test_a_changed_model_forgets_ids_with_the_calls_they_belonged_to() -> None:
    first = assistant(CallBlock("c", "t", "{}", '{"id":"w"}'))
    second = assistant(CallBlock("c", "t", "{}", '{"id":"w"}'), origin="x/y")
    tail = results(ResultBlock("c", "x"))
    with ModelServer([text("ok")] * 2) as server:
        ask(gemini(server), request(user("hi"), first, tail), request(user("hi"), second, tail))
        responses = [
            received.body["contents"][2]["parts"][0]["functionResponse"].get("id") for received in server.requests
        ]
    assert responses == ["w", None]


def test_pictures_of_results_follow_in_a_content_of_their_own_before_gemini_3() -> None:
    past = (
        user("hi"),
        assistant(CallBlock("c", "t", "{}"), CallBlock("d", "t", "{}"), origin="x/y"),
        results(ResultBlock("c", "x", images=(PNG,)), ResultBlock("d", "y"), TextBlock("Look.")),
    )
    entries = contents(*past, model=GEMINI_2)[2:]
    assert [sorted(part) for part in entries[0]["parts"]] == [["functionResponse"], ["functionResponse"]]
    assert "parts" not in entries[0]["parts"][0]["functionResponse"]
    picture = {"inlineData": {"mimeType": "image/png", "data": PNG.data}}
    assert entries[1:] == [{"role": "user", "parts": [picture, {"text": "Look."}]}]


@pytest.mark.parametrize("model", [GEMINI_2, GEMINI_3])
def test_a_picture_that_the_api_does_not_take_is_named(model: str) -> None:
    past = (assistant(CallBlock("c", "t", "{}")), results(ResultBlock("c", "x", images=(GIF,)), GIF))
    received = sent(user("hi"), *past, model=model)
    assert GIF.data.encode() not in received.raw
    told = [part["text"] for part in received.body["contents"][3]["parts"]]
    assert len(told) == 2 and all("image/gif" in line and "PNG" in line for line in told)


def test_empty_texts_are_not_sent_and_an_empty_message_stays_a_message() -> None:
    entries = contents(user(""), assistant(), user("a"), assistant(TextBlock("")), assistant(ThinkingBlock("hm")))
    assert [[part["text"] for part in entry["parts"]] for entry in entries] == [
        ["(empty)"],
        ["(empty)"],
        ["a"],
        ["(empty)"],
        ["(empty)"],
    ]
    kept = contents(user("a"), assistant(TextBlock(""), TextBlock("b"), TextBlock("c")))[1]["parts"]
    assert kept == [{"text": "b"}, {"text": "c"}]


@pytest.mark.parametrize("arguments", ['{"a": tru', "[1]", "null", "just text", '{"a": "\ud83d"}', '{"a":' * 200])
def test_malformed_arguments_go_back_in_a_form_the_api_reads(arguments: str) -> None:
    args = contents(user("hi"), assistant(CallBlock("c", "t", arguments)))[1]["parts"][0]["functionCall"]["args"]
    assert args == {"malformed_arguments": arguments.replace("\ud83d", "\ufffd")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", "_"), ("a b/c", "a_b_c"), ("1st", "_1st"), ("ünder", "_nder"), ("x" * 65, "x" * 64), ("a.b:c-d", "a.b:c-d")],
)
def test_a_name_that_the_api_would_refuse_is_made_one_that_it_takes(name: str, expected: str) -> None:
    entries = contents(user("hi"), assistant(CallBlock("c", name, "{}")), results(ResultBlock("c", "no such tool")))
    assert entries[1]["parts"][0]["functionCall"]["name"] == expected
    assert entries[2]["parts"][0]["functionResponse"]["name"] == expected


def test_lone_surrogates_never_leave() -> None:
    call_block = CallBlock("c", "t\udc00", "{}")
    past = (user("a\ud83db"), assistant(TextBlock("\ud83d"), call_block), results(ResultBlock("c", "\udc00")))
    received = sent(*past, system="s\udc00")
    received.raw.decode("utf-8")
    assert received.body["systemInstruction"]["parts"] == [{"text": "s\ufffd"}]
    assert received.body["contents"][0]["parts"] == [{"text": "a\ufffdb"}]


@pytest.mark.parametrize(
    ("model", "kind", "effort", "expected"),
    [
        (GEMINI_3, "level", None, None),
        (GEMINI_3, "none", "high", None),
        (GEMINI_3, None, "high", None),
        (GEMINI_3, "level", "off", {"thinkingLevel": "LOW", "includeThoughts": True}),
        (GEMINI_3, "level", "low", {"thinkingLevel": "LOW", "includeThoughts": True}),
        (GEMINI_3, "level", "medium", {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
        (GEMINI_3, "level", "max", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        (GEMINI_2, "budget", "off", {"thinkingBudget": 0, "includeThoughts": False}),
        (GEMINI_2, "budget", "low", {"thinkingBudget": 1024, "includeThoughts": True}),
        (GEMINI_2, "budget", "medium", {"thinkingBudget": 8192, "includeThoughts": True}),
        (GEMINI_2, "budget", "max", {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini-2.5-pro", "budget", "off", {"thinkingBudget": 128, "includeThoughts": True}),
        ("gemini-2.5-pro", "budget", "high", {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini-2.5-pro", "budget", "max", {"thinkingBudget": 32768, "includeThoughts": True}),
    ],
)
def test_effort_is_what_the_model_calls_it(model: str, kind: Any, effort: Any, expected: Any) -> None:
    body = sent(user("hi"), model=model, effort=effort, facts={"thinking": kind}).body
    official(body)
    assert body.get("generationConfig", {}).get("thinkingConfig") == expected


@pytest.mark.parametrize(
    ("base", "model", "path"),
    [
        ("", "gemini-x", "/v1beta/models/gemini-x"),
        ("/", "gemini-x", "/v1beta/models/gemini-x"),
        ("/v1beta", "gemini-x", "/v1beta/models/gemini-x"),
        ("/v1/", "gemini-x", "/v1/models/gemini-x"),
        ("/proxy/google", "gemini-x", "/proxy/google/v1beta/models/gemini-x"),
        ("/proxy/v1alpha", "gemini-x", "/proxy/v1alpha/models/gemini-x"),
        ("", "models/gemini-x", "/v1beta/models/gemini-x"),
        ("", "tunedModels/mine", "/v1beta/tunedModels/mine"),
        ("", "models/", "/v1beta/models/models%2F"),
        ("", "a/b:c?d#e", "/v1beta/models/a%2Fb%3Ac%3Fd%23e"),
    ],
)
def test_addresses(base: str, model: str, path: str) -> None:
    with ModelServer([text("ok")]) as server:
        provider = opened(model, protocol="google", base_url=server.root + base, query={"q": "1 2"})
        assert ask(provider, request(model=model)).stop() == "end_turn"
        assert (provider.name, provider.model) == ("google", model)
        assert server.requests[0].path == f"{path}:streamGenerateContent?alt=sse&q=1%202"


def rich() -> Iterator[Message]:
    yield user("Start.")
    for turn in range(4):
        origin = "x/y" if turn == 1 else OWN
        yield assistant(
            ThinkingBlock("hm", SIGNATURE if turn % 2 else ""),
            TextBlock("said", f'[[4,"{SECOND}"]]'),
            CallBlock(f"c{turn}", "read_file", '{"path": "é"}', f'{{"id":"w{turn}"}}' if turn != 2 else ""),
            CallBlock(f"d{turn}", "read_file", "{broken"),
            origin=origin,
        )
        yield results(
            ResultBlock(f"c{turn}", "one", images=(PNG, GIF)[: turn % 3]),
            ResultBlock(f"d{turn}", "two", is_error=True),
            *([TextBlock("Go on.")] if turn == 3 else []),
        )
    yield assistant(TextBlock("Done."))
    yield user("More.")


@pytest.mark.parametrize("model", [GEMINI_2, GEMINI_3])
def test_consecutive_requests_share_their_prefix_byte_for_byte(model: str) -> None:
    messages = list(rich())
    turns = [messages[: end + 1] for end, message in enumerate(messages) if message.role == "user"]
    with ModelServer([text("ok")] * (len(turns) + 1)) as server:
        questions = [request(*turn, model=model, tools=(READ,), max_tokens=100 + n) for n, turn in enumerate(turns)]
        ask(gemini(server, model), *questions)
        ask(gemini(server, model), questions[-1])
        bodies = [received.raw for received in server.requests]
        for received in server.requests:
            official(received.body)
    for earlier, later in pairwise(bodies[:-1]):
        end = earlier.rindex(b'],"generationConfig"')
        assert later[:end] == earlier[:end] and later[end : end + 1] == b","
    assert bodies[-1] == bodies[-2]


# -- the official client against our server ----------------------------------------------------------


def official_client(server: ModelServer) -> genai.Client:
    options = types.HttpOptions(base_url=base_url(server), api_version="v1beta")
    return genai.Client(api_key="AIza-0123456789", http_options=options)


def streamed(reply: Reply) -> list[types.GenerateContentResponse]:
    with ModelServer([reply]) as server, official_client(server) as client:
        answer = list(client.models.generate_content_stream(model=GEMINI_3, contents="hi"))
        assert server.requests[0].path == f"{PATH.format(model=GEMINI_3)}?alt=sse"
        assert server.requests[0].headers["x-goog-api-key"] == "AIza-0123456789"
        return answer


def parts_of(answer: list[types.GenerateContentResponse]) -> list[types.Part]:
    return [part for piece in answer for part in (piece.parts or [])]


def test_the_official_client_reads_our_text_and_usage() -> None:
    answer = streamed(text("Hel", "lo"))
    assert "".join(piece.text or "" for piece in answer) == "Hello"
    last = answer[-1]
    assert last.candidates and last.candidates[0].finish_reason is types.FinishReason.STOP
    counts = last.usage_metadata
    assert counts is not None and (counts.prompt_token_count, counts.candidates_token_count) == (10, 5)


def test_the_official_client_reads_our_calls() -> None:
    answer = streamed(calls(("c1", "read_file", '{"path":"a"}'), ("", "look", "")))
    found = [(part.function_call, part.thought_signature) for part in parts_of(answer) if part.function_call]
    assert [(made.id, made.name, made.args) for made, _ in found] == [
        ("c1", "read_file", {"path": "a"}),
        (None, "look", {}),
    ]
    assert found[0][1] and found[1][1] is None


def test_the_official_client_reads_our_thoughts() -> None:
    found = parts_of(streamed(thinking("Let me", " see.", answer="7")))
    assert [(part.thought, part.text, bool(part.thought_signature)) for part in found] == [
        (True, "Let me", False),
        (True, " see.", False),
        (None, "7", False),
        (None, "", True),
    ]


def test_the_official_client_reads_our_whole_answer() -> None:
    reply = whole(
        chunk(thought("hm")), chunk({"text": "Hi"}), chunk(call("t", "{}"), finish="STOP", tokens=usage(3, 2))
    )
    with ModelServer([reply]) as server, official_client(server) as client:
        answer = client.models.generate_content(model=GEMINI_3, contents="hi")
        assert server.requests[0].path == f"/v1beta/models/{GEMINI_3}:generateContent"
    assert [part.text for part in answer.parts or []] == ["hm", "Hi", None]
    assert answer.function_calls and answer.function_calls[0].name == "t"


@pytest.mark.parametrize("wrapped", [True, False])
def test_the_official_client_reads_our_errors(wrapped: bool) -> None:
    with pytest.raises(errors.ClientError) as caught:
        streamed(refusal(403, message="The key is blocked.", reason="API_KEY_SERVICE_BLOCKED", wrapped=wrapped))
    error = caught.value
    assert (error.code, error.status, error.message) == (403, "PERMISSION_DENIED", "The key is blocked.")


def test_the_official_client_reads_our_error_midstream() -> None:
    async def read() -> list[str]:
        said: list[str] = []
        with ModelServer([overloaded_midstream("half")]) as server:
            async with official_client(server).aio as client:
                with pytest.raises(errors.APIError, match="overloaded"):
                    async for piece in await client.models.generate_content_stream(model=GEMINI_3, contents="hi"):
                        said.append(piece.text or "")
        return said

    assert asyncio.run(read()) == ["half"]


def test_our_answers_are_of_the_official_types() -> None:
    for reply in (text("a", "b"), calls(("c", "t", "{}")), thinking("hm")):
        for step in reply.steps:
            assert isinstance(step, bytes)
            types.GenerateContentResponse.model_validate_json(step.removeprefix(b"data: "))

"""The local model for real: constrained output, limits, cancelling, and its server as an endpoint."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.asking import ask, hear, request, user
from fakes.model_server import ModelServer, Received, Reply
from fakes.opened import opened
from remit.base.errors import PreflightFault
from remit.base.messages import CallBlock, Message, ResultBlock, StopPart, TextBlock, ThinkingBlock, ToolSpec
from remit.providers import local
from remit.providers.local import LocalModel, output_schema

PICK = ToolSpec(
    "pick",
    "Picks a number.",
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 9, "description": "the number"},
            "of": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}], "default": None},
        },
        "required": ["n"],
        "additionalProperties": False,
    },
)


@pytest.fixture(scope="module")
def weights() -> str:
    pytest.importorskip("xllamacpp", reason="needs the extra `local`")
    try:
        return local.smollm2_weights()
    except PreflightFault as fault:
        pytest.skip(str(fault))


@pytest.fixture
def model(weights: str) -> LocalModel:
    return LocalModel("smollm2", weights, context_tokens=1024)


# -- what the model is told and held to, no weights needed ---------------------------------------------


def test_output_is_one_call_or_an_answer() -> None:
    schema = output_schema((PICK,))
    call, answer = schema["anyOf"]
    assert call["properties"]["tool"] == {"const": "pick"} and call["additionalProperties"] is False
    assert call["properties"]["arguments"]["properties"] == {
        "n": {"type": "integer"},
        "of": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
    }
    assert answer["required"] == ["answer"]


def test_the_transcript_is_written_as_the_model_has_to_write() -> None:
    past = (
        user("Pick."),
        Message("assistant", (ThinkingBlock("hm"), CallBlock("c", "pick", '{"n":3}'))),
        Message("user", (ResultBlock("c", "ok"), TextBlock("Go on."))),
        Message("assistant", (TextBlock('It is "3".'),)),
    )
    system, *said = local._messages(request(*past, tools=(PICK,)))
    assert "- pick: Picks a number." in system["content"] and system["content"].startswith("Be brief.\n\n")
    assert [message["content"] for message in said] == [
        "Pick.",
        '{"tool": "pick", "arguments": {"n":3}}',
        "Result: ok\nGo on.",
        '{"answer":"It is \\"3\\"."}',
    ]
    assert [
        m["content"] for m in local._messages(request(user("a"), Message("assistant", (TextBlock("b"),)), system=""))
    ] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "finish", "block", "stop"),
    [
        ('{"tool": "pick", "arguments": {"n": 3}}', "stop", CallBlock("call_1_1", "pick", '{"n":3}'), "tool_use"),
        ('{"answer": "three"}', "stop", TextBlock("three"), "end_turn"),
        ('{"tool": "pick", "arguments": {"n": 3', "length", CallBlock("call_1_1", "pick", '{"n": 3'), "max_tokens"),
        ('{"tool": "pi', "length", TextBlock('{"tool": "pi'), "max_tokens"),
        ('{"answer": "thr', "length", TextBlock('{"answer": "thr'), "max_tokens"),
    ],
)
def test_a_constrained_answer_becomes_what_it_says(text: str, finish: str, block: Any, stop: str) -> None:
    decoder = local._Decoder(request(tools=(PICK,)))
    fed = [{"choices": [{"delta": {"content": piece}}]} for piece in (text[:5], text[5:])]
    fed += [{"choices": [{"delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": {"prompt_tokens": 9}}]
    assert [part for chunk in fed for part in decoder.feed(chunk)] == []
    parts = list(decoder.end())
    assert [getattr(part, "block", None) for part in parts][1] == block and parts[-1] == StopPart(stop)  # type: ignore[arg-type]


# -- the real model ------------------------------------------------------------------------------------


@pytest.mark.real_model
def test_the_schema_holds_the_real_model_to_a_call_or_an_answer(model: LocalModel) -> None:
    answer = ask(model, request(user("Pick the number 3."), tools=(PICK,), max_tokens=60))
    assert answer.fault is None
    block = answer.blocks()[0]
    if answer.stop() == "tool_use":
        assert block.tool == "pick" and isinstance(msgspec.json.decode(block.arguments)["n"], int)
    else:
        assert isinstance(block, (TextBlock, CallBlock))
    assert answer.usage().input + answer.usage().cache_read > 0 and answer.usage().output > 0


@pytest.mark.real_model
def test_an_answer_over_its_tokens_says_so(model: LocalModel) -> None:
    answer = ask(model, request(user("Count to a hundred."), max_tokens=4))
    assert answer.stop() == "max_tokens" and answer.usage().output == 4


@pytest.mark.real_model
def test_a_prompt_larger_than_the_context_is_typed(weights: str) -> None:
    answer = ask(LocalModel("smollm2", weights, context_tokens=256), request(user("word " * 1000)))
    assert answer.fault is not None and answer.fault.kind == "context_overflow" and not list(answer)


@pytest.mark.real_model
def test_a_schema_it_cannot_use_is_typed(model: LocalModel) -> None:
    odd = ToolSpec("odd", "", {"type": "no such type"})
    answer = ask(model, request(tools=(odd,), max_tokens=4))
    assert answer.fault is not None and answer.fault.kind == "bad_request"


@pytest.mark.real_model
def test_a_file_that_holds_no_weights_is_typed(weights: str, tmp_path: Path) -> None:
    (tmp_path / "w.gguf").write_bytes(b"GGUF but not really")
    answer = ask(LocalModel("w", str(tmp_path / "w.gguf")), request())
    assert answer.fault is not None and answer.fault.kind == "bad_request" and "w.gguf" in answer.fault.what


@pytest.mark.real_model
def test_cancelling_stops_the_model_and_its_thread(model: LocalModel) -> None:
    async def run() -> None:
        parts = model.stream(request(user("Tell a very long story."), max_tokens=900))
        await anext(parts)
        await parts.aclose()
        assert not [thread for thread in threading.enumerate() if thread.name == "remit-local-model"]
        again = await hear(model, request(user("Hi."), max_tokens=2))
        assert again.fault is None and again.usage().output == 2
        await model.close()

    asyncio.run(run())


@pytest.mark.real_model
def test_loading_and_answering_is_quiet_and_leaves_no_open_door(weights: str) -> None:
    program = """
import asyncio, sys, urllib.request, urllib.error
from remit.base.messages import Message, Request, TextBlock
from remit.providers.local import LocalModel
async def main():
    model = LocalModel("smollm2", sys.argv[1], context_tokens=256)
    async for part in model.stream(Request("smollm2", "", (Message("user", (TextBlock("hi"),)),), max_tokens=2)):
        pass
    asked = urllib.request.Request(model._server.listening_address + "/v1/chat/completions", data=b"{}")
    try:
        await asyncio.to_thread(urllib.request.urlopen, asked)
    except urllib.error.HTTPError as refusal:
        assert refusal.code == 401, refusal.code
        refusal.close()
    else:
        raise SystemExit("the port is open")
    await model.close()
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program, weights], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.fixture
def endpoint(weights: str) -> Iterator[str]:
    """The real HTTP server of llama.cpp, in a process of its own."""
    program = """
import sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.n_ctx, p.n_parallel, p.warmup, p.verbosity = sys.argv[1], 512, 1, False, 0
p.cpuparams.n_threads = int(sys.argv[2])
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
    threads = str(max(1, (os.cpu_count() or 2) // 2))
    command = [sys.executable, "-c", program, weights, threads]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@pytest.mark.real_model
def test_the_real_server_is_an_endpoint_of_the_chat_provider(endpoint: str) -> None:
    provider = opened("smollm2", base_url=f"{endpoint}/v1", retry_seconds=0)
    began = time.monotonic()
    answer = ask(provider, request(user("Say hi."), max_tokens=4))
    assert answer.fault is None, answer.fault
    assert answer.blocks() and answer.stop() in ("end_turn", "max_tokens") and answer.usage().output <= 4
    assert time.monotonic() - began < 120


def without_streaming(endpoint: str) -> Callable[[Received], Reply]:
    """Asks the real server for the whole answer at once, and hands it on as it is."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def reply(received: Received) -> Reply:
        body = {**received.body, "stream": False}
        del body["stream_options"]
        asked = urllib.request.Request(
            f"{endpoint}{received.path}", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with direct.open(asked, timeout=120) as answer:
            return Reply([answer.read()], answer.status, {"content-type": answer.headers["content-type"]})

    return reply


@pytest.mark.real_model
def test_the_real_server_may_answer_without_streaming(endpoint: str) -> None:
    replies: list[Reply] = []
    ask_whole = without_streaming(endpoint)

    def reply(received: Received) -> Reply:
        replies.append(ask_whole(received))
        return replies[-1]

    with ModelServer(reply) as between:
        provider = opened("smollm2", base_url=between.url, retry_seconds=0)
        answer = ask(provider, request(user("Say hi."), max_tokens=4))
    assert answer.fault is None, answer.fault
    [whole] = replies
    assert whole.headers["content-type"].startswith("application/json")
    [raw] = whole.steps
    assert isinstance(raw, bytes)
    told = json.loads(raw)
    assert [block.text for block in answer.blocks()] == [told["choices"][0]["message"]["content"]]
    assert answer.stop() in ("end_turn", "max_tokens")
    asked = answer.usage().input + answer.usage().cache_read
    assert (asked, answer.usage().output) == (told["usage"]["prompt_tokens"], told["usage"]["completion_tokens"])


@pytest.mark.real_model
def test_the_real_server_refuses_a_prompt_that_is_too_long_in_words_we_know(endpoint: str) -> None:
    provider = opened("smollm2", base_url=f"{endpoint}/v1", retry_seconds=0)
    answer = ask(provider, request(user("word " * 3000)))
    assert answer.fault is not None and answer.fault.kind == "context_overflow"

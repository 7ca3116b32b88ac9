"""What every provider owes the engine, whichever model is behind it.

A new provider joins by a function that makes it answer twice: with a text, and with a call of `look`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.asking import Heard, Slept, hear, request, user
from fakes.model_server import ModelServer, Received
from fakes.speaking import WIRES, speaking
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
    ImageBlock,
    Message,
    Request,
    ResultBlock,
    RetryPart,
    StopPart,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
    UsagePart,
)
from remit.base.redact import Redactor
from remit.base.spec import Protocol
from remit.config.load import parse
from remit.providers.record import Recording, RecordingProvider
from remit.providers.recording import RecordedModel
from remit.providers.replay import ReplayProvider
from remit.providers.scripted import ScriptedProvider

LOOK = ToolSpec(
    "look",
    "Looks at a place.",
    {
        "type": "object",
        "properties": {"place": {"enum": ["here", "there"], "description": "where"}},
        "required": ["place"],
        "additionalProperties": False,
    },
)
TEXT = request(user("Say hi."), max_tokens=6)
CALL = request(user("Look here."), tools=(LOOK,), max_tokens=64)

SCRIPT = """
version: 1
turns:
  - {text: Hi., expect_prompt: Say hi., usage: {input: 3, output: 1}}
"""
CALL_SCRIPT = """
version: 1
turns:
  - {thinking: hm, calls: [{tool: look, arguments: {place: here}}]}
"""

Made = AbstractContextManager[tuple[Any, Request]]


@contextmanager
def scripted(question: Request, _: Path) -> Iterator[tuple[Any, Request]]:
    yield ScriptedProvider(parse(CALL_SCRIPT if question.tools else SCRIPT, "s.yaml", "yaml")), question


def wire(protocol: Protocol) -> Callable[[Request, Path], Made]:
    """What makes a provider of this wire, on a server that speaks it."""
    speaker = speaking(protocol)

    def answer(received: Received) -> Any:
        return (
            speaker.say(calls=[("c1", "look", '{"place":"here"}')]) if "tools" in received.body else speaker.say("Hi.")
        )

    @contextmanager
    def made(question: Request, _: Path) -> Iterator[tuple[Any, Request]]:
        with ModelServer(answer) as server:
            yield speaker.opened(server, timing=Slept().timing), question

    return made


openai = wire("openai")


@contextmanager
def recording(question: Request, folder: Path) -> Iterator[tuple[Any, Request]]:
    with openai(question, folder) as (inner, _):
        file = Recording(str(folder / "r.jsonl"), Redactor(), [RecordedModel(inner.name, inner.model)])
        yield RecordingProvider(inner, file), question


@contextmanager
def replay(question: Request, folder: Path) -> Iterator[tuple[Any, Request]]:
    with recording(question, folder) as (provider, _):
        asyncio.run(_hear_and_close(provider, question))
    yield ReplayProvider(str(folder / "r.jsonl")), question


@contextmanager
def local(question: Request, _: Path) -> Iterator[tuple[Any, Request]]:
    pytest.importorskip("xllamacpp", reason="needs the extra `local`")
    from remit.base.errors import PreflightFault
    from remit.providers.local import LocalModel, smollm2_weights

    try:
        weights = smollm2_weights()
    except PreflightFault as fault:
        pytest.skip(str(fault))
    yield LocalModel("smollm2", weights, context_tokens=1024), msgspec.structs.replace(question, model="smollm2")


PROVIDERS = [
    scripted,
    *(pytest.param(wire(protocol), id=protocol) for protocol in WIRES),
    recording,
    replay,
    pytest.param(local, marks=pytest.mark.real_model),
]
every_provider = pytest.mark.parametrize("make", PROVIDERS)


async def _hear_and_close(provider: Any, question: Request) -> Heard:
    try:
        return await hear(provider, question)
    finally:
        await provider.close()


def heard(make: Callable[[Request, Path], Made], question: Request, folder: Path) -> Heard:
    with make(question, folder) as (provider, asked):
        answer = asyncio.run(_hear_and_close(provider, asked))
    assert answer.fault is None
    return answer


@every_provider
def test_it_says_what_it_is(make: Callable[[Request, Path], Made], tmp_path: Path) -> None:
    with make(TEXT, tmp_path) as (provider, asked):
        assert provider.name and provider.model and provider.key_source == "none"
        asyncio.run(_hear_and_close(provider, asked))


@every_provider
@pytest.mark.parametrize("question", [TEXT, CALL], ids=["text", "call"])
def test_a_complete_answer_has_the_shape_of_one(
    make: Callable[[Request, Path], Made], question: Request, tmp_path: Path
) -> None:
    answer = heard(make, question, tmp_path)
    stops = [index for index, part in enumerate(answer) if isinstance(part, StopPart)]
    assert stops == [len(answer) - 1]
    blocks = answer.of(BlockPart)
    assert [part.index for part in blocks] == list(range(len(blocks))) and blocks
    assert not answer.of(RetryPart)
    for part in answer.of(UsagePart):
        assert min(msgspec.structs.astuple(part.usage)) >= 0


@every_provider
@pytest.mark.parametrize("question", [TEXT, CALL], ids=["text", "call"])
def test_the_deltas_of_a_block_are_its_content_and_come_before_it(
    make: Callable[[Request, Path], Made], question: Request, tmp_path: Path
) -> None:
    seen: dict[int, str] = {}
    for part in heard(make, question, tmp_path):
        if isinstance(part, Delta):
            seen[part.index] = seen.get(part.index, "") + part.text
        elif isinstance(part, BlockPart):
            block = part.block
            assert seen.pop(part.index) == (block.arguments if isinstance(block, CallBlock) else block.text)
    assert seen == {}


@every_provider
def test_a_text_ends_the_turn(make: Callable[[Request, Path], Made], tmp_path: Path) -> None:
    answer = heard(make, TEXT, tmp_path)
    assert all(isinstance(block, TextBlock) and block.text for block in answer.blocks())
    assert answer.stop() in ("end_turn", "max_tokens")


@every_provider
def test_a_call_names_an_offered_tool_and_has_an_id(make: Callable[[Request, Path], Made], tmp_path: Path) -> None:
    answer = heard(make, CALL, tmp_path)
    made = [block for block in answer.blocks() if not isinstance(block, ThinkingBlock)]
    if make is local:
        # Which of the two the small model picks is chance; that it is one of them is not.
        assert isinstance(made[0], (CallBlock, TextBlock))
    for block in made:
        if isinstance(block, CallBlock):
            assert block.tool == "look" and block.id
            if answer.stop() == "tool_use":
                assert msgspec.json.decode(block.arguments)["place"] in ("here", "there")
    assert (answer.stop() == "tool_use") == any(isinstance(block, CallBlock) for block in made) or make is local


@every_provider
@pytest.mark.parametrize("parts", [0, 1, 2])
def test_it_can_be_left_after_any_part(make: Callable[[Request, Path], Made], parts: int, tmp_path: Path) -> None:
    async def leave(provider: Any, asked: Request) -> None:
        stream = provider.stream(asked)
        for _ in range(parts):
            await anext(stream)
        await stream.aclose()
        await provider.close()
        assert len(asyncio.all_tasks()) == 1

    before = threading.active_count()
    with make(TEXT, tmp_path) as (provider, asked):
        asyncio.run(leave(provider, asked))
    assert threading.active_count() <= before


@every_provider
def test_cancelling_the_task_that_asks_ends_it(make: Callable[[Request, Path], Made], tmp_path: Path) -> None:
    async def cancel(provider: Any, asked: Request) -> None:
        first = asyncio.Event()

        async def listen() -> None:
            async for _ in provider.stream(asked):
                first.set()
                await asyncio.sleep(3600)

        task = asyncio.create_task(listen())
        await asyncio.wait_for(first.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.close()

    before = threading.active_count()
    with make(TEXT, tmp_path) as (provider, asked):
        asyncio.run(cancel(provider, asked))
    assert threading.active_count() <= before


@every_provider
def test_closing_twice_or_without_a_question_is_harmless(make: Callable[[Request, Path], Made], tmp_path: Path) -> None:
    async def close(provider: Any) -> None:
        await provider.close()
        await provider.close()

    with make(TEXT, tmp_path) as (provider, _):
        asyncio.run(close(provider))


PICTURE = ImageBlock("image/png", "iVBORw0KGgo=")
CALLED = CallBlock("c1", "look", '{"place":"here"}')
TRANSCRIPTS = {
    "calls and results": (
        user("Look here."),
        Message("assistant", (ThinkingBlock("hm"), TextBlock("I look."), CALLED)),
        Message("user", (ResultBlock("c1", '{"ok":true,"data":"a lamp"}'), TextBlock("Go on."))),
    ),
    "pictures": (
        Message("user", (PICTURE, TextBlock("What is this?"))),
        Message("assistant", (CALLED,)),
        Message("user", (ResultBlock("c1", "seen", images=(PICTURE,)), PICTURE)),
    ),
    "an answer of another model": (
        user("Look here."),
        Message(
            "assistant",
            (
                ThinkingBlock("hm", "signed elsewhere", "sealed elsewhere"),
                TextBlock("I look.", "sealed elsewhere"),
                CallBlock("functions.look:0", "look", '{"place"', "sealed elsewhere"),
            ),
            "elsewhere/m",
        ),
        Message("user", (ResultBlock("functions.look:0", "no JSON", is_error=True),)),
    ),
}


@every_provider
@pytest.mark.parametrize("past", TRANSCRIPTS.values(), ids=TRANSCRIPTS)
def test_a_transcript_is_taken(
    make: Callable[[Request, Path], Made], past: tuple[Message, ...], tmp_path: Path
) -> None:
    if make is scripted:
        provider = ScriptedProvider(parse("version: 1\nturns: [{text: a}, {text: b}]", "s", "yaml"))
        assert asyncio.run(_hear_and_close(provider, request(*past))).blocks() == [TextBlock("b")]
        return
    answer = heard(make, request(*past, max_tokens=6), tmp_path)
    assert answer.stop() in ("end_turn", "max_tokens", "tool_use")

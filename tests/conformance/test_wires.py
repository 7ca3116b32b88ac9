"""What a model behind a server owes beside what every provider does: the same for all four APIs."""

from __future__ import annotations

import asyncio
import json
import random
import re
from itertools import pairwise
from typing import Any

import pytest

from fakes.asking import Heard, ask, hear, request, user
from fakes.model_server import ModelServer, Received, Reply
from fakes.speaking import WIRES, Speaker, said_before, sealed, speaking
from remit.base.messages import (
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
from remit.base.spec import Protocol

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"place": {"type": "string"}}})


@pytest.fixture(params=WIRES)
def speaker(request: pytest.FixtureRequest) -> Speaker:
    protocol: Protocol = request.param
    return speaking(protocol)


def told(speaker: Speaker, reply: Reply, *messages: Message, **more: Any) -> Heard:
    with ModelServer([reply]) as server:
        answer = ask(speaker.opened(server, **speaker.thinks), request(*messages, tools=(LOOK,), **more))
    assert answer.fault is None, answer.fault
    return answer


def asked(speaker: Speaker, *messages: Message, facts: dict[str, Any] | None = None, **more: Any) -> Received:
    with ModelServer([speaker.say("ok")]) as server:
        answer = ask(speaker.opened(server, **(speaker.thinks if facts is None else facts)), request(*messages, **more))
        assert answer.fault is None, answer.fault
        return server.requests[0]


def look(call_id: str, place: str) -> tuple[str, str, str]:
    return call_id, "look", json.dumps({"place": place}, ensure_ascii=False, separators=(",", ":"))


# -- answers -----------------------------------------------------------------------------------------


def test_parallel_calls_come_in_order_and_each_has_an_id_of_its_own(speaker: Speaker) -> None:
    past = (
        user("Look."),
        Message("assistant", (CallBlock("c2", "look", "{}"),), speaker.origin),
        Message("user", (ResultBlock("c2", "nothing"),)),
    )
    places = ["a", "b", "c", "d"]
    reply = speaker.say(
        calls=[look(call_id, place) for call_id, place in zip(["c1", "c1", "", "c2"], places, strict=True)]
    )
    answer = told(speaker, reply, *past)
    blocks = answer.blocks()
    assert [json.loads(block.arguments)["place"] for block in blocks] == places
    ids = [block.id for block in blocks]
    assert ids[0] == "c1" and len({*ids, "c2"}) == 5 and all(ids)
    assert answer.stop() == "tool_use"
    assert [part.index for part in answer.of(BlockPart)] == [0, 1, 2, 3]


def test_thoughts_texts_and_calls_keep_their_order(speaker: Speaker) -> None:
    blocks = told(speaker, speaker.say("I look.", thought="hm", calls=[look("c1", "x")])).blocks()
    assert [type(block) for block in blocks] == [ThinkingBlock, TextBlock, CallBlock]
    assert [blocks[0].text, blocks[1].text, blocks[2].arguments] == ["hm", "I look.", '{"place":"x"}']


@pytest.mark.parametrize("stop", ["max_tokens", "refusal"])
def test_why_it_stopped_is_told_and_what_it_said_is_kept(speaker: Speaker, stop: Any) -> None:
    answer = told(speaker, speaker.say("So far", stop=stop))
    assert (answer.stop(), answer.blocks()[0].text) == (stop, "So far")


def test_several_texts_of_one_answer_are_one_result(speaker: Speaker) -> None:
    answer = told(speaker, speaker.say("One.", "Two."))
    message = Message("assistant", tuple(answer.blocks()), speaker.origin)
    assert message.text().replace("\n", "") == "One.Two."
    assert "".join(part.text for part in answer.of(Delta)) == "One.Two."
    raw = asked(speaker, user("hi"), message, user("Go on.")).raw.decode()
    assert raw.index("One.") < raw.index("Two.") < raw.index("Go on.")


ANSWERS: dict[str, dict[str, Any]] = {
    "text": {"texts": ["Hello."]},
    "texts": {"texts": ["One.", "Two."]},
    "thought": {"texts": ["Hello."], "thought": "I greet."},
    "calls": {"texts": ["I look."], "thought": "hm", "calls": [look("c1", "a"), look("c2", "\u00e9\U0001f525")]},
    "limit": {"texts": ["So f"], "stop": "max_tokens"},
    "refusal": {"texts": ["I will not."], "stop": "refusal"},
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_without_streaming_is_the_same_answer(speaker: Speaker, answer: dict[str, Any]) -> None:
    said = {"usage": Usage(11, 7, 3), **answer}
    texts = said.pop("texts")
    streamed, whole = told(speaker, speaker.say(*texts, **said)), told(speaker, speaker.whole(*texts, **said))
    assert whole.blocks() == streamed.blocks()
    assert (whole.stop(), whole.usage()) == (streamed.stop(), streamed.usage())


def test_usage_tells_cached_tokens_apart(speaker: Speaker) -> None:
    # This API has no price for what it writes into its cache, and tells nothing of it.
    written = 0 if speaker.protocol == "google" else 40
    usage = Usage(100, 20, cache_read=3000, cache_write=written)
    assert told(speaker, speaker.say("ok", usage=usage)).usage() == usage


# -- what is sent ------------------------------------------------------------------------------------


def test_pictures_of_users_and_of_results_are_shown(speaker: Speaker) -> None:
    first, second = ImageBlock("image/png", "AAAA1111"), ImageBlock("image/jpeg", "BBBB2222")
    received = asked(
        speaker,
        Message("user", (first, TextBlock("What is this?"))),
        Message("assistant", (CallBlock("c1", "look", "{}"), CallBlock("c2", "look", "{}")), speaker.origin),
        Message("user", (ResultBlock("c1", "seen", images=(second,)), ResultBlock("c2", "gone", True, (first,)))),
    )
    raw = received.raw.decode()
    assert (raw.count("AAAA1111"), raw.count("BBBB2222")) == (2, 1)
    assert raw.count("image/png") == 2 and raw.count("image/jpeg") == 1


def thought_and_called(speaker: Speaker) -> list[Any]:
    return told(speaker, speaker.say("I look.", thought="deep thought", calls=[look("c1", "x")])).blocks()


def test_a_thought_goes_back_as_it_came(speaker: Speaker) -> None:
    blocks = thought_and_called(speaker)
    assert blocks[0].signature or blocks[0].opaque
    answer = Message("assistant", tuple(blocks), speaker.origin)
    raw = asked(speaker, user("hi"), answer, Message("user", (ResultBlock("c1", "seen"),))).raw.decode()
    kept = "deep thought" if speaker.protocol == "openai" else sealed("deep thought")
    assert raw.count(kept) == 1
    assert max(raw.index(kept), raw.index("I look.")) < raw.index("seen")


def test_what_another_model_thought_and_sealed_is_not_sent(speaker: Speaker) -> None:
    for other in filter(lambda protocol: protocol != speaker.protocol, WIRES):
        blocks = tuple(thought_and_called(speaking(other)))
        answer = Message("assistant", blocks, f"{speaking(other).provider}/other")
        received = asked(speaker, user("hi"), answer, Message("user", (ResultBlock("c1", "seen"),)))
        raw = received.raw.decode()
        assert "deep thought" not in raw and sealed("deep thought") not in raw and sealed("c1") not in raw
        assert "I look." in raw and "seen" in raw and len(said_before(speaker, received)) >= 3


ODD = ["", "a\x00/b", "c\u00e9", "i" * 5000, "\ud800", "line\nline", " ", "functions.look:0"]
ID_KEYS, NAME_KEYS = {"id", "call_id", "tool_call_id", "tool_use_id"}, {"name"}


def values_under(keys: set[str], value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in values_under(keys, each)]
    if not isinstance(value, dict):
        return []
    own = [each for key, each in value.items() if key in keys]
    return own + [found for each in value.values() for found in values_under(keys, each)]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_ids_and_names_of_calls_go_back_in_a_form_that_every_server_takes(speaker: Speaker, odd: str) -> None:
    call = Message("assistant", (CallBlock(odd, odd, "{}"), CallBlock("c2", "look", "{}")), speaker.origin)
    results = Message("user", (ResultBlock(odd, "seen"), ResultBlock("c2", "seen")))
    entries = said_before(speaker, asked(speaker, user("hi"), call, results))
    names = values_under(NAME_KEYS, entries)
    assert "look" in names and len(set(names)) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9_.:-]{1,128}", name) for name in names)
    ids = values_under(ID_KEYS, entries)
    # This API is told of calls by their order, unless it gave an id itself.
    assert len(ids) == (0 if speaker.protocol == "google" else 4)
    # Nor does every API bound how long an id may be.
    longest = 5000 if speaker.protocol == "anthropic" else 64
    assert all(re.fullmatch(r"[!-~]+", each) and len(each) <= longest for each in ids)
    assert all(ids.count(each) == 2 for each in ids)


# -- the prefix --------------------------------------------------------------------------------------

PIECES = [
    "plain",
    "\u00e9t\u00e9",
    "\U0001f525\u200d\U0001f468",
    '"quoted" \\ {}[]',
    "line\nline\r\n\ttab",
    "\u2028\x00\x7f",
    "\ud83d",
]


def some_words(chance: random.Random) -> str:
    return " ".join(chance.choices(PIECES, k=chance.randint(1, 3)))


def some_answer(speaker: Speaker, chance: random.Random, turn: int) -> Reply:
    calls = [look(f"c{turn}_{number}", some_words(chance)) for number in range(chance.randint(0, 3))]
    texts = [some_words(chance)] if not calls or chance.random() < 0.5 else []
    thought = some_words(chance) if chance.random() < 0.6 else ""
    return speaker.say(*texts, thought=thought, calls=calls)


def results(chance: random.Random, blocks: list[Any]) -> Message:
    """What the user says to an answer: results of its calls, some of them errors, and now and then a word."""
    said: list[Any] = [
        ResultBlock(block.id, some_words(chance), is_error=chance.random() < 0.3)
        for block in blocks
        if isinstance(block, CallBlock)
    ]
    if not said or chance.random() < 0.2:
        said.append(TextBlock(some_words(chance)))
    return Message("user", tuple(said))


def grown(speaker: Speaker, seed: int, turns: int = 5) -> tuple[list[str], list[Message]]:
    """The bodies of a conversation's requests, and the messages of the last of them."""
    chance = random.Random(seed)
    messages = [user(some_words(chance))]

    async def talk(server: ModelServer) -> None:
        provider = speaker.opened(server, **speaker.thinks)
        for _ in range(turns):
            answer = await hear(provider, request(*messages, tools=(LOOK,), effort="high", cache_key="k"))
            assert answer.fault is None, answer.fault
            blocks = answer.blocks()
            messages.extend((Message("assistant", tuple(blocks), speaker.origin), results(chance, blocks)))
        await provider.close()

    with ModelServer([some_answer(speaker, chance, turn) for turn in range(turns)]) as server:
        asyncio.run(talk(server))
        return [received.raw.decode() for received in server.requests], messages[: 2 * turns - 1]


def up_to_the_last_message(speaker: Speaker, body: str) -> str:
    """A body without what follows its messages: the bracket that ends them, and options."""
    begin = body.index(f'"{speaker.transcript}":[') + len(speaker.transcript) + 3
    _, end = json.JSONDecoder().raw_decode(body, begin)
    assert body[end - 1] == "]"
    return body[: end - 1]


@pytest.mark.parametrize("seed", range(20))
def test_each_request_begins_with_all_of_the_one_before(speaker: Speaker, seed: int) -> None:
    bodies, messages = grown(speaker, seed)
    for earlier, later in pairwise(bodies):
        shared = up_to_the_last_message(speaker, earlier)
        assert later.startswith(shared)
        assert later[len(shared)] == ","
    # A process that takes the run up sends the same bytes as the one that was stopped.
    again = asked(speaker, *messages, tools=(LOOK,), effort="high", cache_key="k")
    assert again.raw.decode() == bodies[-1]

"""How answers end, and what is told of their tokens: the same honesty on every wire."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from fakes.asking import Heard, Slept, ask, request
from fakes.model_server import Cut, KeepAlive, ModelServer, Reply, Stall, event
from fakes.speaking import WIRES, Said, Speaker, speaking
from remit.base.messages import Delta, StopPart, TextBlock, Usage, UsagePart
from remit.base.spec import Protocol
from remit.providers.figures import MAX_COUNT


@pytest.fixture(params=WIRES)
def speaker(request: pytest.FixtureRequest) -> Speaker:
    protocol: Protocol = request.param
    return speaking(protocol)


def heard_from(speaker: Speaker, *replies: Reply, **more: Any) -> tuple[Heard, int]:
    """What one question brought, and how many requests it took."""
    with ModelServer(list(replies)) as server:
        heard = ask(speaker.opened(server, **{"timing": Slept().timing, **more}), request())
        return heard, len(server.requests)


def edited(steps: Any, change: Callable[[dict[str, Any]], None]) -> list[Any]:
    """A stream with each of its events changed."""
    found = []
    for step in steps:
        name, _, data = step.partition(b"data: ")
        if data.startswith(b"{"):
            body = json.loads(data)
            change(body)
            found.append(name + event(body))
        else:
            found.append(step)
    return found


def ending(word: str | None) -> Callable[[dict[str, Any]], None]:
    """Ends an answer of any wire with another word for why, or with none."""

    def change(body: dict[str, Any]) -> None:
        for choice in body.get("choices", ()):
            choice["finish_reason"] = word if choice["finish_reason"] else None
        for candidate in body.get("candidates", ()):
            if "finishReason" in candidate:
                candidate["finishReason"] = word
        if body.get("type") == "message_delta":
            body["delta"]["stop_reason"] = word
        if body.get("type") == "response.completed":
            body["response"]["status"] = word

    return change


BROKEN_OFF: dict[Protocol, list[str | None]] = {
    "anthropic": [None, "pause_turn", "compaction", "abort"],
    "openai": [None, "", "abort", "network_error", "error", "insufficient_system_resource", "banana"],
    "openai-responses": ["cancelled", "incomplete", "queued", "banana"],
    "google": [None, "OTHER", "MALFORMED_RESPONSE", "BANANA"],
}
each_broken_end = pytest.mark.parametrize(
    ("protocol", "word"), [(protocol, word) for protocol, words in BROKEN_OFF.items() for word in words]
)


@each_broken_end
def test_an_answer_that_broke_off_is_a_cut_and_keeps_what_came(protocol: Protocol, word: str | None) -> None:
    speaker = speaking(protocol)
    heard, requests = heard_from(speaker, Reply(edited(speaker.stream("half"), ending(word))), speaker.say("never"))
    assert heard.fault is not None and heard.fault.kind == "cut" and "resume" in heard.fault.hint
    assert not word or word in heard.fault.what
    assert "".join(part.text for part in heard.of(Delta)) == "half" and requests == 1
    assert heard.of(StopPart) == []


@pytest.mark.parametrize(
    ("protocol", "word"),
    [
        ("anthropic", "compaction"),
        ("openai", "abort"),
        ("openai-responses", "cancelled"),
        ("openai-responses", "queued"),
    ],
)
def test_an_answer_that_broke_off_before_its_first_part_is_asked_for_again(protocol: Protocol, word: str) -> None:
    speaker = speaking(protocol)
    heard, requests = heard_from(speaker, Reply(edited(speaker.say().steps, ending(word))), speaker.say("ok"))
    assert (heard.blocks(), requests) == ([TextBlock("ok")], 2)


@pytest.mark.parametrize("protocol", ["anthropic", "openai", "openai-responses"])
def test_an_answer_without_streaming_may_break_off_too(protocol: Protocol) -> None:
    speaker = speaking(protocol)
    [raw] = speaker.whole("half").steps
    assert isinstance(raw, bytes)
    body = json.loads(raw)
    if protocol == "openai":
        body["choices"][0]["finish_reason"] = "abort"
    else:
        body["stop_reason" if protocol == "anthropic" else "status"] = "cancelled"
    reply = Reply([json.dumps(body).encode()], 200, {"content-type": "application/json"})
    heard, _ = heard_from(speaker, reply, speaker.say("never"))
    assert heard.fault is not None and heard.fault.kind == "cut" and heard.of(StopPart) == []


# -- connections that stay open ----------------------------------------------------------------------


def without_end_mark(speaker: Speaker) -> list[bytes]:
    steps = speaker.stream("x")
    return {"anthropic": steps[:-1], "openai": steps[:-2]}.get(speaker.protocol, steps)


@pytest.mark.parametrize("then", [Stall(), KeepAlive(b": still here\n\n", 0.02)], ids=["silence", "comments"])
def test_a_connection_left_open_does_not_delay_a_finished_answer(speaker: Speaker, then: Any) -> None:
    with ModelServer([Reply([*without_end_mark(speaker), then])]) as server:
        began = time.monotonic()
        heard = ask(speaker.opened(server, silence_seconds=30), request())
        took = time.monotonic() - began
        assert server.disconnected.wait(5)
    assert heard.fault is None and heard.blocks() == [TextBlock("x")] and heard.stop() == "end_turn"
    assert took < 9


def test_usage_after_the_finish_reason_is_the_end() -> None:
    speaker = speaking("openai")
    with ModelServer([Reply([*speaker.stream("x")[:-1], Stall()])]) as server:
        began = time.monotonic()
        heard = ask(speaker.opened(server, silence_seconds=30), request())
        took = time.monotonic() - began
    assert heard.usage() == Usage(10, 5) and heard.stop() == "end_turn" and took < 1.9


def test_a_finish_reason_in_every_chunk_ends_nothing() -> None:
    speaker = speaking("google")
    from fakes import speak_gemini as speak

    chunks = [event(speak.chunk({"text": piece}, finish="STOP")) for piece in ("one ", "two ", "three")]
    heard, _ = heard_from(speaker, Reply(chunks))
    assert heard.blocks() == [TextBlock("one two three")]


# -- tokens ------------------------------------------------------------------------------------------

NONSENSE = [100.5, -100, "many", [], {}, None, True, "1e3"]
FIGURES = {"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"}
FIGURES |= {"promptTokenCount", "candidatesTokenCount", "totalTokenCount"}


def figures(told: Any) -> Callable[[dict[str, Any]], None]:
    """Puts these figures in the place of all that an answer tells."""

    def change(body: Any) -> None:
        for key, value in body.items() if isinstance(body, dict) else ():
            if key in FIGURES:
                body[key] = told
            elif isinstance(value, dict):
                change(value)

    return change


def said(speaker: Speaker, change: Callable[[dict[str, Any]], None]) -> Heard:
    heard, _ = heard_from(speaker, Reply(edited(speaker.events(Said(["ok"])), change)))
    assert heard.fault is None and heard.blocks() == [TextBlock("ok")]
    return heard


@pytest.mark.parametrize("told", NONSENSE, ids=repr)
def test_figures_that_are_none_are_not_told_and_cost_no_answer(speaker: Speaker, told: Any) -> None:
    assert said(speaker, figures(told)).of(UsagePart) == []


@pytest.mark.parametrize(
    ("told", "count"),
    [(7.0, 7), ("7", 7), (1e30, MAX_COUNT), (10**30, MAX_COUNT), (MAX_COUNT, MAX_COUNT), (MAX_COUNT + 1, MAX_COUNT)],
)
def test_figures_may_be_spelled_otherwise_and_have_a_bound(speaker: Speaker, told: Any, count: int) -> None:
    assert said(speaker, figures(told)).usage() == Usage(count, count)


@pytest.mark.parametrize("told", [[], "7", 7, [7], {}, None])
def test_usage_that_is_no_object_of_figures_is_not_told(speaker: Speaker, told: Any) -> None:
    def change(body: dict[str, Any]) -> None:
        for place in (body, body.get("message"), body.get("response")):
            if isinstance(place, dict):
                place.update({key: told for key in ("usage", "usageMetadata") if key in place})

    assert said(speaker, change).of(UsagePart) == []


def early(speaker: Speaker, pieces: list[str]) -> list[bytes]:
    """A stream of which each event that can tells the usage so far, without its end."""

    def change(body: dict[str, Any]) -> None:
        if speaker.protocol == "openai":
            body["usage"] = {"prompt_tokens": 500, "completion_tokens": 2}
        elif speaker.protocol == "google":
            body["usageMetadata"] = {"promptTokenCount": 500, "candidatesTokenCount": 2}
        elif body.get("type") in ("message_start", "response.created", "response.in_progress"):
            body.get("message", body.get("response"))["usage"] = {"input_tokens": 500, "output_tokens": 2}

    begin, grow, _ = speaker.framed(pieces)
    return edited([*begin, *grow], change)


def test_usage_told_so_far_is_known_when_the_answer_is_cut(speaker: Speaker) -> None:
    heard, requests = heard_from(speaker, Reply([*early(speaker, ["half"]), Cut()]))
    assert heard.fault is not None and heard.fault.kind == "cut" and requests == 1
    assert heard.usage() == Usage(500, 2)


def test_usage_alone_is_no_part_of_an_answer_that_could_be_kept(speaker: Speaker) -> None:
    heard, requests = heard_from(speaker, Reply([*early(speaker, []), Cut()]), speaker.say("ok"))
    assert heard.fault is None and (heard.blocks(), requests) == ([TextBlock("ok")], 2)
    assert isinstance(heard[0], UsagePart) and heard.usage() == Usage(10, 5)

"""Whole runs over each wire, with models that only the user's providers.toml knows."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended
from fakes.model_server import ModelServer
from fakes.speaking import KEY, WIRES, Speaker, sealed, speaking
from remit.base.messages import Usage
from remit.base.spec import Protocol

NAMES: dict[Protocol, str] = {
    "anthropic": "messages",
    "openai": "chat",
    "openai-responses": "responses",
    "google": "generate",
}
"""What the user calls the provider that speaks each of these."""

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
THOUGHT = "a thought of one model alone"
NOTE = "this model cannot see pictures"


@pytest.fixture(params=WIRES)
def speaker(request: pytest.FixtureRequest) -> Speaker:
    protocol: Protocol = request.param
    return speaking(protocol)


def described(speaker: Speaker, server: ModelServer) -> str:
    """The tables of providers.toml for this server and its models."""
    name = NAMES[speaker.protocol]
    return f"""
[{name}]
protocol = "{speaker.protocol}"
base_url = "{speaker.base_url(server)}"
api_key_env = "OWN_KEY"
purposes = {{fast = "blind", best = "m"}}

[[{name}.models]]
id = "m"
context_window = 200_000
max_output_tokens = 8_000
vision = true
thinking = "{speaker.thinks["thinking"]}"
price = {{input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75}}

[[{name}.models]]
id = "blind"
vision = false

[[{name}.models]]
id = "only-{name}"
"""


def configure(home: Home, *served: tuple[Speaker, ModelServer]) -> None:
    tables = [described(speaker, server) for speaker, server in served]
    (home.path / "config" / "providers.toml").write_text("".join(["version = 1\n", *tables]))


def ran(home: Home, *args: str, **environ: str) -> Ran:
    return home.stream("Go", "--tools", "read_file", "-o", str(home.out), *args, environ={"OWN_KEY": KEY, **environ})


def model(speaker: Speaker, name: str = "m") -> str:
    return f"{NAMES[speaker.protocol]}/{name}"


def read(path: str, call_id: str) -> tuple[str, str, str]:
    return call_id, "read_file", f'{{"path":"{path}"}}'


def requests_of(server: ModelServer) -> list[str]:
    return [received.raw.decode() for received in server.requests]


# -- what it does and costs --------------------------------------------------------------------------


def test_a_run_with_thoughts_parallel_calls_and_their_price(home: Home, speaker: Speaker) -> None:
    home.write("a.md", "A\n")
    written = 0 if speaker.protocol == "google" else 400
    turns = [Usage(1000, 200, 3000, written), Usage(50, 10, 4000)]
    look = speaker.say(
        "I look.", thought=THOUGHT, calls=[read("a.md", "call_one"), read("no.md", "call_two")], usage=turns[0]
    )
    with ModelServer([look, speaker.say("Do", "ne.", usage=turns[1])]) as server:
        configure(home, (speaker, server))
        done = ran(home, "-m", model(speaker), "--max-usd", "1")
        first, second = requests_of(server)
        assert {value for each in server.requests for value in each.headers.values() if KEY in value} in (
            {KEY},
            {f"Bearer {KEY}"},
        )
    assert done.result == ended(home.out, 0)
    assert done.result["result"].replace("\n", "") == "Done."
    assert (done.result["counts"]["calls"], done.result["counts"]["failed_calls"]) == (2, 1)
    shown = [block for event in done.events if event["type"] == "assistant" for block in event["message"]["content"]]
    assert [block["type"] for block in shown][:4] == ["thinking", "text", "tool_use", "tool_use"]
    assert shown[0]["thinking"] == THOUGHT

    both = turns[0] + turns[1]
    costs = {
        "input": 1050 * 3.0 / 1e6,
        "output": 210 * 15.0 / 1e6,
        "cache_read": 7000 * 0.3 / 1e6,
        "cache_write": written * 3.75 / 1e6,
    }
    total = round(sum(costs.values()), 6)
    assert total == (0.0099 if written else 0.0084)
    assert (done.result["total_cost_usd"], done.result["cost_known"]) == (total, True)
    assert done.result["usage"] == {
        "input_tokens": 1050,
        "output_tokens": 210,
        "cache_read_input_tokens": 7000,
        "cache_creation_input_tokens": written,
    }
    assert done.result["modelUsage"] == {
        model(speaker): {
            "requests": 2,
            "inputTokens": both.input,
            "outputTokens": both.output,
            "cacheReadInputTokens": both.cache_read,
            "cacheCreationInputTokens": both.cache_write,
            "costUSD": total,
            "costs": {name: round(cost, 6) for name, cost in costs.items()},
            "costKnown": True,
        }
    }

    kept = THOUGHT if speaker.protocol == "openai" else sealed(THOUGHT)
    assert kept not in first and kept in second
    assert second.index("call_one") < second.index("call_two") and '"A\\n"' not in first


EFFORTS: dict[Protocol, Any] = {
    "anthropic": lambda body: body["output_config"]["effort"],
    "openai": lambda body: body["reasoning_effort"],
    "openai-responses": lambda body: body["reasoning"]["effort"],
    "google": lambda body: body["generationConfig"]["thinkingConfig"]["thinkingLevel"].lower(),
}


def picture(home: Home) -> str:
    home.write("dot.png", PNG)
    return "dot.png"


def test_a_picture_and_an_effort_reach_every_model(home: Home, speaker: Speaker) -> None:
    with ModelServer([speaker.say("A dot.")]) as server:
        configure(home, (speaker, server))
        done = ran(home, "-m", model(speaker), "--image", picture(home), "--effort", "high")
        [received] = server.requests
    assert done.result == ended(home.out, 0) and done.result["result"] == "A dot."
    assert received.raw.decode().count(base64.b64encode(PNG).decode()) == 1 and b"image/png" in received.raw
    assert EFFORTS[speaker.protocol](received.body) == "high"


# -- models that cannot ------------------------------------------------------------------------------


@pytest.fixture
def chat() -> Speaker:
    return speaking("openai")


def test_a_model_that_cannot_see_is_told_so(home: Home, chat: Speaker) -> None:
    with ModelServer([chat.say("What dot?")]) as server:
        configure(home, (chat, server))
        args = ("-m", model(chat, "blind"), "--fallback-model", model(chat))
        done = ran(home, *args, "--image", picture(home))
        [raw] = requests_of(server)
    assert done.result == ended(home.out, 0)
    assert NOTE in raw and base64.b64encode(PNG).decode() not in raw


def test_pictures_for_nobody_but_the_blind_are_refused(home: Home, chat: Speaker) -> None:
    with ModelServer([]) as server:
        configure(home, (chat, server))
        done = ran(home, "-m", model(chat, "blind"), "--image", picture(home))
        assert server.requests == []
    assert (done.code, done.result["error_kind"]) == (8, "no_vision") and not home.out.exists()


def test_a_cap_in_money_needs_a_price(home: Home, chat: Speaker) -> None:
    with ModelServer([]) as server:
        configure(home, (chat, server))
        done = ran(home, "-m", model(chat), "--fallback-model", model(chat, "blind"), "--max-usd", "1")
        assert server.requests == []
    assert (done.code, done.result["error_kind"]) == (8, "no_price") and not home.out.exists()
    assert "chat/blind" in done.stderr and "--max-tokens" in done.stderr


def test_a_cap_in_tokens_needs_none(home: Home, chat: Speaker) -> None:
    home.write("a.md", "A\n")
    with ModelServer([chat.say(calls=[read("a.md", "call_one")], usage=Usage(90, 10)), chat.say("never")]) as server:
        configure(home, (chat, server))
        done = ran(home, "-m", model(chat, "blind"), "--max-tokens", "100")
        assert len(server.requests) == 1
    assert done.result == ended(home.out, 7)
    assert (done.result["error_kind"], done.result["cost_known"]) == ("tokens", False)
    assert done.result["spent"]["tokens"] == 100


# -- falling back ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "other"), list(zip(WIRES, (*WIRES[1:], WIRES[0]), strict=True)))
def test_a_storm_is_left_for_a_model_behind_another_wire(home: Home, protocol: Protocol, other: Protocol) -> None:
    home.write("a.md", "A\n")
    lost, next_one = speaking(protocol), speaking(other)
    look = lost.say("I look.", thought=THOUGHT, calls=[read("a.md", "call_one")], usage=Usage(100, 10))
    storm = [lost.refusal(529, message="Overloaded")] * 8
    with ModelServer([look, *storm]) as stormy, ModelServer([next_one.say("Done.", usage=Usage(7, 3))]) as calm:
        configure(home, (lost, stormy), (next_one, calm))
        args = ("-m", model(lost), "--fallback-model", model(next_one))
        done = ran(home, *args, REMIT_RETRY_SECONDS="0")
        assert len(stormy.requests) == 2
        [raw] = requests_of(calm)
    assert done.result == ended(home.out, 0) and done.result["result"] == "Done."
    [told] = [event for event in done.events if event.get("subtype") == "model_fallback"]
    assert (told["original_model"], told["fallback_model"], told["trigger"]) == (
        model(lost),
        model(next_one),
        "overloaded",
    )
    assert "Overloaded" in told["content"] and done.result["counts"]["fallback"] == 1
    used = {name: (each["requests"], each["inputTokens"]) for name, each in done.result["modelUsage"].items()}
    assert used == {model(lost): (1, 100), model(next_one): (1, 7)}
    assert "I look." in raw and THOUGHT not in raw and sealed(THOUGHT) not in raw and sealed("call_one") not in raw


# -- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asked"),
    [("chat/fast", "blind"), ("best", "m"), ("only-chat", "only-chat"), ("chat/unheard-of", "unheard-of")],
)
def test_the_names_of_a_model(home: Home, chat: Speaker, name: str, asked: str) -> None:
    with ModelServer([chat.say("ok")]) as server:
        configure(home, (chat, server))
        done = ran(home, "-m", name)
        assert [received.body["model"] for received in server.requests] == [asked]
    assert list(done.result["modelUsage"]) == [f"chat/{asked}"]


def test_a_provider_that_is_not_there(home: Home, chat: Speaker) -> None:
    with ModelServer([]) as server:
        configure(home, (chat, server))
        done = home.run("run", "Go", "-m", "caht/m", "-o", str(home.out))
        assert server.requests == []
    assert done.code == 2 and "did you mean chat/MODEL?" in done.stderr and not home.out.exists()


def test_a_variable_moves_a_provider_of_ones_own(home: Home, chat: Speaker) -> None:
    with ModelServer([]) as server, ModelServer([chat.say("moved")]) as elsewhere:
        configure(home, (chat, server))
        done = ran(home, "-m", model(chat), CHAT_BASE_URL=elsewhere.url)
        assert (len(server.requests), len(elsewhere.requests)) == (0, 1)
    assert done.result["result"] == "moved"

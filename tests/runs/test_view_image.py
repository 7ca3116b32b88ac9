"""Whole runs in which a model looks at pictures."""

from __future__ import annotations

import base64
import json

import pytest

from fakes.cli import Home, Ran, ended, journal, prompts
from fakes.model_server import ModelServer
from fakes.pictures import noise, picture
from fakes.recorded import play, record
from fakes.speaking import KEY, WIRES, Speaker, speaking
from remit.base.spec import Protocol

LOOK = ("c1", "view_image", '{"path":"chart.png"}')


def configure(home: Home, speaker: Speaker, server: ModelServer, vision: bool | None = True) -> None:
    says = "" if vision is None else f"vision = {str(vision).lower()}\n"
    text = f"""version = 1
[wire]
protocol = "{speaker.protocol}"
base_url = "{speaker.base_url(server)}"
api_key_env = "OWN_KEY"
[[wire.models]]
id = "m"
context_window = 200_000
{says}"""
    (home.path / "config" / "providers.toml").write_text(text)


def ran(home: Home, *args: str) -> Ran:
    return home.stream("Go", "-m", "wire/m", "-o", str(home.out), *args, environ={"OWN_KEY": KEY})


@pytest.mark.parametrize("protocol", WIRES)
@pytest.mark.parametrize("size", [(40, 30), (2000, 1000)], ids=["as it is", "smaller"])
def test_a_picture_of_the_workspace_reaches_every_model(home: Home, protocol: Protocol, size: tuple[int, int]) -> None:
    speaker, content = speaking(protocol), picture("PNG", size)
    home.write("chart.png", content)
    with ModelServer([speaker.say(calls=[LOOK]), speaker.say("A chart.")]) as server:
        configure(home, speaker, server)
        done = ran(home, "--tools", "view_image")
        first, second = (received.raw.decode() for received in server.requests)
    assert done.result == ended(home.out, 0) and done.result["result"] == "A chart."
    [settled] = journal(home.out, "call_settled")
    [image] = settled["outcome"]["images"]
    assert (base64.b64decode(image["data"]) == content) == (size == (40, 30))
    assert second.count(image["data"]) == 1 and image["data"] not in first and '"view_image"' in first
    assert settled["content"].startswith(f"chart.png: PNG, {len(content)} bytes, {size[0]}x{size[1]}")
    # The stream tells what was seen, and leaves out the pixels.
    assert image["data"].encode() not in done.stdout and b'"mediaType":"image/png"' in done.stdout


@pytest.mark.parametrize(("vision", "offered"), [(True, True), (None, True), (False, False)])
def test_the_tool_is_offered_to_models_that_see(home: Home, vision: bool | None, offered: bool) -> None:
    speaker = speaking("openai")
    with ModelServer([speaker.say("Done.")]) as server:
        configure(home, speaker, server, vision)
        init = ran(home, "--tools", "view_image").events[0]
    assert ("view_image" in init["tools"]) == offered
    assert init["withheld_tools"] == ({} if offered else {"view_image": "wire/m does not see pictures"})


def test_a_run_with_a_picture_is_played_without_the_file(home: Home) -> None:
    file = home.write("chart.png", picture())
    model = home.script({"calls": [{"tool": "view_image", "arguments": {"path": "chart.png"}}]}, {"text": "A chart."})
    tape, _ = record(home, "Go", "-m", model, "--tools", "view_image")
    file.unlink()
    played = play(home, tape)
    assert played.code == 0 and played.result["result"] == "A chart."


def test_a_picture_survives_a_resume(home: Home) -> None:
    """What the journal holds is what is sent, whatever has become of the file."""
    home.write("chart.png", picture())
    speaker = speaking("openai")
    with ModelServer([speaker.say(calls=[LOOK]), speaker.say("A chart.")]) as server:
        configure(home, speaker, server)
        first = ran(home, "--tools", "view_image", "--max-turns", "1")
        assert first.code == 7
        home.write("chart.png", "no picture any more")
        done = home.run("resume", str(home.out), "--max-turns", "3", environ={"OWN_KEY": KEY})
        last = server.requests[-1].raw.decode()
    assert done.code == 0 and base64.b64encode(picture()).decode() in last


def test_a_picture_of_the_prompt_was_said_and_is_not_read_again(home: Home) -> None:
    file = home.write("dot.png", picture())
    home.write("a.txt", "a")
    speaker = speaking("openai")
    look = ("c1", "read_file", '{"path":"a.txt"}')
    with ModelServer([speaker.say(calls=[look]), speaker.say("Done.")]) as server:
        configure(home, speaker, server)
        assert ran(home, "--image", "dot.png", "--max-turns", "1").code == 7
        file.unlink()
        done = home.run("resume", str(home.out), "--max-turns", "3", "--reload", environ={"OWN_KEY": KEY})
        last = server.requests[-1].raw.decode()
    assert done.code == 0, done.stderr
    assert last.count(base64.b64encode(picture()).decode()) == 1


# -- pictures of the prompt --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (picture("PNG", (300, 300))[:-100], "stops before its end"),
        (picture("JPEG", (300, 300))[:-100], "stops before its end"),
        (picture("PNG", (10_000, 5001)), "at most 50000000 are decoded"),
        (b"hello", "no picture in PNG, JPEG, GIF or WebP"),
        (b"", "no picture in PNG, JPEG, GIF or WebP"),
    ],
    ids=["cut png", "cut jpeg", "huge", "text", "empty"],
)
def test_a_picture_that_cannot_be_seen_is_told_before_the_run(home: Home, content: bytes, words: str) -> None:
    home.write("a.png", content)
    done = home.run("run", "Go", "-m", home.script({"text": "hi"}), "--image", "a.png", "--image", "gone.png")
    assert done.code == 2 and not home.runs
    assert words in done.stderr and "a.png" in done.stderr and "gone.png" in done.stderr


def test_a_large_picture_goes_with_the_prompt_made_smaller(home: Home) -> None:
    content = noise("PNG", (1800, 1800))
    home.write("a.png", content)
    assert len(content) > 3 << 20
    speaker = speaking("openai")
    with ModelServer([speaker.say("Noise.")]) as server:
        configure(home, speaker, server)
        done = ran(home, "--image", "a.png")
        [received] = server.requests
    assert done.code == 0
    [said] = prompts(home.out)
    [image] = said["images"]
    assert len(base64.b64decode(image["data"])) <= 3 << 20
    assert json.loads(received.raw)["messages"][-1]["content"][0]["image_url"]["url"].endswith(image["data"])

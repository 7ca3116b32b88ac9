"""Recording a run and playing it again, whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, lines
from fakes.model_server import ModelServer, Received, Reply
from fakes.recorded import differs, play, record, tamper, told
from fakes.speaking import WIRES, Speaker, speaking
from remit.base.messages import Usage
from remit.base.spec import Protocol

KEY = "sk-live-0123456789abcdef0123"
USED = Usage(100, 20, cache_read=900)
PRICED = "price = {input = 1.0, output = 2.0, cache_read = 0.1}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def served(home: Home, protocol: Protocol, server: ModelServer, *names: str) -> None:
    """Providers `wire` (and `names`) of this protocol in the settings, each with the model `m`."""
    speaker = speaking(protocol)
    known = f'protocol = "{protocol}"\nbase_url = "{speaker.base_url(server)}"\napi_key_env = "WIRE_KEY"\n'
    model = 'id = "m"\ncontext_window = 100_000\n' + PRICED
    think = "".join(f'{fact} = "{value}"\n' for fact, value in speaker.thinks.items() if fact == "thinking")
    text = "".join(f"[{name}]\n{known}[[{name}.models]]\n{model}\n{think}" for name in names or ("wire",))
    (home.path / "config" / "providers.toml").write_text(f"version = 1\n{text}")


def busy_run(speaker: Speaker) -> Callable[[Received], Reply]:
    """Two calls at once after a thought, one request that has to be tried again, an artifact, an answer."""
    first = [("c1", "read_file", '{"path":"a.md"}'), ("c2", "list_files", '{"path":"."}')]
    replies = [
        speaker.say(thought="Let me look.", calls=first, usage=USED),
        speaker.refusal(503, {"retry-after": "0"}),
        speaker.say(thought="Now.", calls=[("c3", "write_artifact", '{"name":"r.md","content":"R"}')], usage=USED),
        speaker.say("All done.", usage=USED),
    ]
    left = iter(replies)
    return lambda _: next(left)


@pytest.mark.parametrize("protocol", WIRES)
def test_a_run_of_any_wire_is_played_from_its_file_alone(protocol: Protocol, home: Home) -> None:
    home.write("a.md", "first line\nsecond line\n")
    tools = {"read_file": "auto", "list_files": "auto", "write_artifact": "auto"}
    task = home.task(prompt="Go", tools=tools, expect={"artifacts": ["r.md"], "checks": ["true"]})
    with ModelServer(busy_run(speaking(protocol))) as server:
        served(home, protocol, server)
        path, ran = record(home, "-t", task, "-m", "wire/m", "--max-usd", "1", environ={"WIRE_KEY": KEY})
        asked = len(server.requests)
    assert asked == 4 and ran.result["counts"]["retry"] == 1 and ran.result["usage"]["cache_read_input_tokens"] == 2700
    assert ran.result["total_cost_usd"] > 0 and KEY not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600

    # Another machine: no settings, no task, no key, no workspace, nobody who answers.
    other = home.path / "elsewhere"
    other.mkdir()
    there = Home(other)
    shutil.move(home.work, home.path / "hidden")
    played = play(there, path)
    assert played.code == 0, played.stderr
    assert told(played) == told(ran)
    init = played.events[0]
    assert (init["provider"], init["scripted"], init["apiKeySource"]) == ("replay", True, "none")
    assert (other / "played" / "artifacts" / "r.md").read_text() == "R"

    # The tools again, over a copy of the workspace, and over one in which a byte is another.
    shutil.move(home.path / "hidden", other / "copy")
    live = play(there, path, "--live-tools", "-C", str(other / "copy"))
    assert live.code == 0, live.stderr
    (other / "copy" / "a.md").write_text("first line\nsecond lime\n")
    error = differs(play(there, path, "--live-tools", "-C", str(other / "copy")))
    assert error.startswith(f"{path}:3: the call t1.c1 (read_file) did not end as it was recorded\n  at $.content (ch")
    assert "- recorded: ..." in error and "second line" in error
    assert "+ now:      ..." in error and "second lime" in error

    def reworded(changed: list[dict[str, Any]]) -> None:
        changed[6]["request"]["messages"][0]["content"][0]["text"] = "Stop"

    error = differs(play(there, tamper(path, reworded)))
    assert "request 3 is not the recorded one\n  at $.messages[0].content[0].text" in error
    assert "- recorded: 'Stop'\n+ now:      'Go'" in error


# -- ends ----------------------------------------------------------------------------------------


def ends(home: Home) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Runs that end in all ways that depend on what they do: exit code and command line."""
    read, ask = {"read_file": "auto"}, {"read_file": "ask"}
    home.write("a.md", "A")
    call = {"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}, {"tool": "read_file", "raw": "{"}]}
    two = [{"tool": "read_file", "arguments": {"path": name}} for name in ("a.md", "none.md")]
    script = home.script(call, {"calls": two}, {"text": "Done."})
    costly = home.script(
        {"calls": two, "usage": {"input": 1000, "output": 10}}, {"text": "Done."}, name="costly.yaml",
        price={"input": 1000.0, "output": 1000.0},
    )  # fmt: skip
    value = home.script({"calls": [{"tool": "structured_output", "arguments": {"n": "x"}}]}, {"text": "No."},
                        {"text": "No."}, {"text": "No."}, name="value.yaml")  # fmt: skip
    (home.path / "schema.json").write_text('{"type": "object", "properties": {"n": {"type": "integer"}}}')
    writing = {**read, "write_artifact": "auto"}
    promised = {"checks": ["false"], "artifacts": ["x.md"]}
    altering = home.script(
        {"calls": [{"tool": "write_artifact", "arguments": {"name": "x.md", "content": "X"}}]},
        {"text": "Done."},
        name="altering.yaml",
    )
    spoil = "sh -c 'echo y > \"$REMIT_OUT/x.md\"'"
    refused = home.script({"error": {"kind": "bad_request"}}, name="refused.yaml")
    circle = home.script({"calls": two, "repeat": 6}, {"text": "Done."}, name="circle.yaml")
    return {
        "done": (0, ("-t", home.task("a.yaml", prompt="Go", tools=read), "-m", script)),
        "unmet": (3, ("-t", home.task("b.yaml", prompt="Go", tools=writing, expect=promised), "-m", script)),
        "schema": (
            3,
            (
                *("-t", home.task("c.yaml", prompt="Go", tools=read, expect={"schema": "schema.json"})),
                *("-m", value),
            ),
        ),
        "altered artifact": (
            3,
            (
                *("-t", home.task("d.yaml", prompt="Go", tools={"write_artifact": "auto"}, expect={"checks": [spoil]})),
                *("-m", altering),
            ),
        ),
        "asked": (4, ("-t", home.task("e.yaml", prompt="Go", tools=ask), "-m", script, "--on-ask", "stop")),
        "denied": (4, ("-t", home.task("f.yaml", prompt="Go", tools=ask), "-m", script, "--on-deny", "fail")),
        "refusals": (0, ("-t", home.task("g.yaml", prompt="Go", tools=ask), "-m", script)),
        "provider": (5, ("-t", home.task("h.yaml", prompt="Go", tools=read), "-m", refused)),
        "turns": (7, ("-t", home.task("i.yaml", prompt="Go", tools=read), "-m", script, "--max-turns", "1")),
        "calls": (7, ("-t", home.task("j.yaml", prompt="Go", tools=read), "-m", script, "--max-calls", "3")),
        "usd": (7, ("-t", home.task("k.yaml", prompt="Go", tools=read), "-m", costly, "--max-usd", "0.5")),
        "circle": (5, ("-t", home.task("l.yaml", prompt="Go", tools=read), "-m", circle)),
    }


@pytest.mark.parametrize(
    "end",
    [
        *("done", "unmet", "schema", "altered artifact", "asked", "denied", "refusals"),
        *("provider", "turns", "calls", "usd", "circle"),
    ],
)
def test_a_played_run_ends_as_the_recorded_one_did(end: str, home: Home) -> None:
    code, args = ends(home)[end]
    path, ran = record(home, *args, code=code)
    shutil.rmtree(home.work)
    home.work.mkdir()
    played = play(home, path)
    assert played.code == code, played.stdout.decode() + played.stderr
    assert told(played) == told(ran)
    assert played.result["resumable"] is False


def test_a_run_that_falls_back_is_played_as_it_was(home: Home) -> None:
    speaker = speaking("anthropic")

    def answer(received: Received) -> Reply:
        if received.headers["x-api-key"] == KEY:
            return speaker.refusal(429, {"retry-after": "3600"})
        return speaker.say("From the other.", usage=USED)

    with ModelServer(answer) as server:
        served(home, "anthropic", server, "one", "two")
        config = home.path / "config" / "providers.toml"
        config.write_text(
            config.read_text().replace('"WIRE_KEY"', '"OTHER_KEY"', 2).replace('"OTHER_KEY"', '"WIRE_KEY"', 1)
        )
        keys = {"WIRE_KEY": KEY, "OTHER_KEY": "sk-other-0123456789abcdef"}
        path, ran = record(home, "Go", "-m", "one/m", "--fallback-model", "two/m", environ=keys)
    assert {"one/m", "two/m"} == {line["model"] for line in lines(path) if "request" in line}
    played = play(home, path)
    assert (played.code, told(played)) == (0, told(ran)), played.stderr
    assert [event["original_model"] for event in played.events if event.get("subtype") == "model_fallback"] == ["one/m"]

    def swapped(changed: list[dict[str, Any]]) -> None:
        changed[2]["model"] = "one/m"

    assert "- recorded: 'one/m'" in differs(play(home, tamper(path, swapped)))


def test_an_answer_that_broke_off_is_played_with_what_had_come(home: Home) -> None:
    speaker = speaking("openai")
    with ModelServer([speaker.overloaded("Half an ans"), speaker.say("wer.")]) as server:
        served(home, "openai", server)
        path, ran = record(home, "Go", "-m", "wire/m", environ={"WIRE_KEY": KEY})
    assert ran.result["result"] == "Half an answer." and ran.result["counts"]["cut"] == 1
    played = play(home, path)
    assert (played.code, told(played)) == (0, told(ran)), played.stderr


def test_a_shortened_transcript_is_played(home: Home) -> None:
    home.write("a.md", "word " * 4000)
    speaker = speaking("openai")
    turns = iter(range(20))

    def answer(received: Received) -> Reply:
        if "Objective" in received.raw.decode():
            return speaker.say("# Objective\nGo on.")
        turn = next(turns)
        call = ("", "read_file", json.dumps({"path": "a.md", "limit": 15_000 + turn}))
        return speaker.say("Done.") if turn == 5 else speaker.say(calls=[(f"c{turn}", *call[1:])], usage=Usage())

    with ModelServer(answer) as server:
        served(home, "openai", server)
        config = home.path / "config" / "providers.toml"
        config.write_text(config.read_text().replace("100_000", "14_000").replace(PRICED, ""))
        path, ran = record(home, "Go", "-m", "wire/m", "--tools", "read_file", environ={"WIRE_KEY": KEY})
    assert ran.result["counts"]["compactions"] + ran.result["counts"]["pruned"] > 0, ran.stderr
    played = play(home, path)
    assert (played.code, told(played)) == (0, told(ran)), played.stderr


# -- approvals, the web, memory ------------------------------------------------------------------


def test_approvals_are_counted_in_the_played_run_alone_and_never_expire_in_it(home: Home) -> None:
    home.write("a.md", "A")
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    (home.path / "approvals.toml").write_text(
        f'version = 1\n[[approval]]\ntool = "read_file"\npath = "a.md"\ndecide = "allow"\nwhy = "me"\nuses = 1\n'
        f"expires = {expires}\n"
    )
    task = home.task(prompt="Go", tools={"read_file": "ask"})
    calls = [{"tool": "read_file", "arguments": {"path": "a.md", "limit": limit}} for limit in (10, 11)]
    script = home.script({"calls": calls}, {"text": "Done."})
    path, ran = record(home, "-t", task, "-m", script, "-a", str(home.path / "approvals.toml"))
    assert [event["allowed"] for event in ran.events if event.get("subtype") == "approval_used"] == [True]
    assert ran.result["counts"]["refusals"] == 1
    while time.time() < time.mktime(time.strptime(expires, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone:
        time.sleep(0.1)
    for _ in range(2):
        played = play(home, path)
        assert (played.code, told(played)) == (0, told(ran)), played.stderr


def test_an_approval_that_earlier_runs_spent_is_played_as_spent(home: Home) -> None:
    home.write("a.md", "A")
    entry = '[[approval]]\ntool = "read_file"\npath = "a.md"\ndecide = "allow"\nwhy = "me"\nuses = 1\n'
    (home.path / "approvals.toml").write_text(f"version = 1\n{entry}")
    task = home.task(prompt="Go", tools={"read_file": "ask"})
    script = home.script({"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]}, {"text": "Done."})
    args = ("-t", task, "-m", script, "-a", str(home.path / "approvals.toml"))
    assert home.stream(*args).result["counts"]["refusals"] == 0
    path, ran = record(home, *args)
    assert ran.result["counts"]["refusals"] == 1
    played = play(home, path)
    assert (played.code, told(played)) == (0, told(ran)), played.stderr


def test_requests_of_web_tools_are_counted_and_not_made(home: Home) -> None:
    urls = [f"https://a.example/{number}" for number in range(3)]
    calls = [{"tool": "fetch_url", "arguments": {"url": url}} for url in urls]
    hosts = {"fetch_url": {"decide": "auto", "hosts": ["a.example"]}}
    script = home.script({"calls": calls}, {"text": "Done."})
    path = home.path / "recording.jsonl"
    for limit, code in (("50", 0), ("2", 7)):
        task = home.task(prompt="Go", tools=hosts, limits={"network_requests": int(limit)})
        ran = home.ported("paged", "-t", task, "-m", script, "-o", str(home.path / f"out{limit}"), "-r", str(path))
        assert ran.code == code, ran.stderr
        played = play(home, path)
        assert (played.code, told(played)) == (code, told(ran)), played.stderr
        assert played.result["spent"]["network_requests"] == min(3, int(limit))
        path.unlink()


@pytest.mark.parametrize("live", [(), ("--live-tools",)])
def test_a_played_run_proposes_nothing_to_remember(live: tuple[str, ...], home: Home) -> None:
    call = {"tool": "propose_memory", "arguments": {"text": "Sales are in sales.csv.", "tags": [], "reason": "seen"}}
    task = home.task(prompt="Go", tools={"read_file": "auto"}, memory={"enabled": True, "proposals": True})
    path, ran = record(home, "-t", task, "-m", home.script({"calls": [call]}, {"text": "Done."}))
    before = home.run("memory", "proposals", "--json").stdout
    assert b"sales.csv" in before
    played = play(home, path, *live)
    assert (played.code, told(played)) == (0, told(ran)), played.stderr
    assert home.run("memory", "proposals", "--json").stdout == before


def test_secrets_of_the_environment_are_neither_recorded_nor_a_difference(home: Home) -> None:
    secret = "hunter2-hunter2"
    home.write("a.md", f"the password is {secret}\n" * 3)
    home.write(".env.txt", "x")
    calls = [{"tool": "read_file", "arguments": {"path": "a.md"}}, {"tool": "read_file", "arguments": {"path": secret}}]
    environ = {"DB_PASSWORD": secret}
    path, _ = record(home, "Go", "-m", home.script({"calls": calls}, {"text": secret}), environ=environ)
    assert secret not in path.read_text()
    assert play(home, path).code == 0
    assert play(home, path, "--live-tools", environ=environ).code == 0


@pytest.mark.parametrize("name", ["PWD", "OLDPWD", "MY_SESSION", "API_TOKEN"])
def test_the_place_of_the_run_is_no_secret(name: str, home: Home) -> None:
    home.write("a.md", f"see {home.work}/a.md")
    call = {"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]}
    script = home.script(call, {"text": f"It is {home.work}."})
    value = home.path.name if name == "API_TOKEN" else str(home.work)
    path, _ = record(home, f"Look at {home.work}", "-m", script, environ={name: value})
    assert "[redacted]" not in path.read_text() and play(home, path).code == 0


@pytest.mark.parametrize("live", [(), ("--live-tools",)])
@pytest.mark.parametrize("given", ["with the secret", "without"])
def test_a_secret_in_an_artifact_does_not_come_back(given: str, live: tuple[str, ...], home: Home) -> None:
    secret = "hunter2-hunter2"
    home.write(secret, "x")
    calls = [
        {"tool": "write_artifact", "arguments": {"name": "r.md", "content": f"It is {secret}."}},
        {"tool": "write_artifact", "raw": f'{{ "name" : "{secret}.md",  "content" : "caf\\u00e9" }}'},
        {"tool": "write_artifact", "arguments": {"name": "s.md", "content": "Nothing."}},
        {"tool": "read_file", "arguments": {"path": secret}},
    ]
    output = {"tool": "structured_output", "arguments": {"it": secret}}
    schema = {"type": "object", "properties": {"it": {"type": "string", "pattern": "^hunter"}}}
    (home.path / "schema.json").write_text(json.dumps(schema))
    tools = {"write_artifact": "auto", "read_file": "auto"}
    task = home.task(prompt="Go", tools=tools, expect={"schema": "schema.json", "checks": [f"test -f {secret}"]})
    environ = {"DB_PASSWORD": secret}
    path, ran = record(home, "-t", task, "-m", home.script({"calls": calls}, {"calls": [output]}), environ=environ)
    assert secret not in path.read_text() and len(ran.result["artifacts"]) == 3
    played = play(home, path, *live, environ=environ if given == "with the secret" else {})
    assert played.code == 0, played.stdout.decode() + played.stderr
    written = home.path / "played" / "artifacts"
    assert (written / "r.md").read_text() == "It is [redacted]." and (written / "s.md").read_text() == "Nothing."
    assert (written / "[redacted].md").read_text() == "café"


# -- differences ---------------------------------------------------------------------------------


@pytest.fixture
def plain(home: Home) -> Iterator[tuple[Home, Path]]:
    """A recorded run: header, exchange, two calls, exchange, a check, end."""
    home.write("a.md", "A")
    calls = [{"tool": name, "arguments": {"path": path}} for name, path in (("read_file", "a.md"), ("list_files", "."))]
    task = home.task(prompt="Go", tools={"read_file": "auto", "list_files": "auto"}, expect={"checks": ["true"]})
    path, _ = record(home, "-t", task, "-m", home.script({"calls": calls}, {"text": "Done."}))
    yield home, path


def changing(*keys: Any, to: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(changed: list[dict[str, Any]]) -> None:
        place: Any = changed
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


def dropping(index: int) -> Callable[[list[dict[str, Any]]], Any]:
    return lambda changed: changed.pop(index)


TAMPERED: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str]] = {
    "a call line is missing": (dropping(2), "the recording does not hold the call t1.c1 (read_file)"),
    "the line of a check is missing": (dropping(5), "the recording does not hold the call t2.check1 (check)"),
    "an exchange is missing": (dropping(4), "the recording ends after 1 exchanges, and the run asks for one more"),
    "a call too many": (
        lambda changed: changed.insert(4, {"call": {**changed[3]["call"], "key": "t1.c3"}}),
        "the run ended without the recorded call(s) t1.c3",
    ),
    "another answer": (
        changing(1, "parts", 0, "block", "arguments", to='{"path":"b.md"}'),
        "request 2 is not the recorded one\n  at $.messages[1].content[0].arguments (character 9)",
    ),
    "another decision": (
        changing(2, "call", "allowed", to=False),
        "the call t1.c1 (read_file) is not judged as it was recorded\n  at $.allowed\n- recorded: false\n+",
    ),
    "another resource": (
        changing(3, "call", "decision", "rule", "why", to="because"),
        "the call t1.c2 (list_files) is not judged as it was recorded\n  at $.decision.rule.why (character 0)",
    ),
    "another id": (changing(3, "call", "id", to="x"), "at $.id (character 0)"),
    "another content": (
        changing(2, "call", "content", to="B"),
        "request 2 is not the recorded one\n  at $.messages[2].content[0].content (character 0)",
    ),
    "a check that failed": (
        changing(5, "call", "outcome", to={"ok": False, "error": {"code": "command_failed", "message": "exit code 1"}}),
        "the call t2.check1 (check) did not end as it was recorded",
    ),
    "another verdict": (
        changing(-1, "end", "verdict", to="unmet"),
        "the run did not end as the recorded one\n  at $.verdict (character 0)\n- recorded: 'unmet'",
    ),
    "another exit code": (
        changing(-1, "end", "exit_code", to=3),
        "the run did not end as the recorded one\n  at $.exit_code\n- recorded: 3\n+ now:      0",
    ),
    "another promise that does not hold": (changing(-1, "end", "unmet", to=["x"]), "at $.unmet[0]"),
    "another final text": (
        changing(4, "parts", 0, "block", "text", to="Gone."),
        "the run did not end as the recorded one\n  at $.gave.result (character 0)\n- recorded: 'Done.'",
    ),
    "another count": (changing(-1, "end", "gave", "counts", "calls", to=7), "at $.gave.counts.calls\n- recorded: 7"),
    "another number of turns": (changing(-1, "end", "gave", "num_turns", to=7), "at $.gave.num_turns"),
    "an artifact more": (
        changing(-1, "end", "gave", "artifacts", to=[{"name": "x", "sha256": "0"}]),
        "at $.gave.artifacts[0]",
    ),
    "another limit": (
        changing(0, "spec", "limits", "calls", to=1),
        "the call t1.c2 (list_files) is not judged as it was recorded",
    ),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_what_was_tampered_with_is_named(case: str, plain: tuple[Home, Path]) -> None:
    home, path = plain
    change, words = TAMPERED[case]
    assert words in differs(play(home, tamper(path, change)))


def test_another_structured_output_is_named(home: Home) -> None:
    (home.path / "schema.json").write_text('{"type": "object", "properties": {"n": {"type": "integer"}}}')
    task = home.task(
        prompt="Go", expect={"schema": "schema.json", "artifacts": ["r.md"]}, tools={"write_artifact": "auto"}
    )
    write = {"tool": "write_artifact", "arguments": {"name": "r.md", "content": "R"}}
    script = home.script({"calls": [write, {"tool": "structured_output", "arguments": {"n": 1}}]})
    path, ran = record(home, "-t", task, "-m", script)
    assert ran.result["structured_output"] == {"n": 1} and play(home, path).code == 0

    def changed(place: int, old: str, new: str) -> Callable[[list[dict[str, Any]]], None]:
        return lambda changed: changed[1]["parts"][place]["block"].update(
            arguments=changed_text(changed, place, old, new)
        )

    def changed_text(changed: list[dict[str, Any]], place: int, old: str, new: str) -> str:
        return str(changed[1]["parts"][place]["block"]["arguments"]).replace(old, new)

    assert "at $.gave.result (character 5)" in differs(play(home, tamper(path, changed(1, "1", "2"))))
    assert "the call t1.c1 (write_artifact) did not end" in differs(play(home, tamper(path, changed(0, '"R"', '"Q"'))))


def test_what_was_refused_then_does_not_run_now(home: Home) -> None:
    call = {"calls": [{"tool": "write_artifact", "arguments": {"name": "x.md", "content": "X"}}]}
    task = home.task(prompt="Go", tools={"write_artifact": "auto"})
    path, _ = record(home, "-t", task, "-m", home.script(call, {"text": "Done."}))
    refusing = tamper(path, changing(2, "call", "allowed", to=False))
    assert "the call t1.c1 (write_artifact) is not judged" in differs(play(home, refusing, "--live-tools"))
    assert not (home.path / "played" / "artifacts" / "x.md").exists()


# -- runs that were stopped ----------------------------------------------------------------------


def slow(home: Home) -> tuple[str, ...]:
    """A run whose second turn has a call that reads, and whose check does not end."""
    home.write("a.md", "A")
    check = "sh -c 'touch begun; sleep 60'"
    task = home.task(prompt="Go", tools={"read_file": "auto"}, expect={"checks": [check], "check_seconds": 100})
    call = {"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]}
    return "-t", task, "-m", home.script(call, {"text": "Done."})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_stopped_is_played_up_to_there(number: signal.Signals, home: Home) -> None:
    path = home.path / "recording.jsonl"
    with home.started("run", *slow(home), "--record", str(path)) as process:
        deadline = time.monotonic() + 30
        while not (home.work / "begun").exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(30)
    error = differs(play(home, path))
    died = "its process died, or the file was cut"
    assert f"the recorded run was stopped here: {died if number == signal.SIGKILL else 'stopped by SIGTERM'}" in error
    played = play(home, path)
    assert [event["message"]["content"][0]["type"] for event in played.events if event["type"] == "user"] == [
        "tool_result"
    ]
    assert played.result["num_turns"] == 2 and played.result["result"] == "Done."


def test_a_time_limit_ends_a_played_run_where_it_ended_the_recorded_one(home: Home) -> None:
    path, ran = record(home, *slow(home), "--max-seconds", "1.5", code=7)
    played = play(home, path)
    assert (played.code, told(played)) == (7, told(ran)), played.stderr
    assert played.result["errors"] == ["the limit seconds = 1.5 is spent"]


def test_a_time_limit_that_was_kept_does_not_end_a_played_run(home: Home) -> None:
    home.write("a.md", "A")
    path, _ = record(home, *slow(home)[2:], "Go", "--max-seconds", "100")
    hasty = tamper(path, changing(0, "spec", "limits", "seconds", to=0.000001))
    assert play(home, hasty).code == 0


@pytest.mark.parametrize("whole", range(1, 7))
def test_a_recording_that_was_cut_is_played_up_to_there(whole: int, plain: tuple[Home, Path]) -> None:
    home, path = plain
    raw = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(raw[:whole]) + raw[whole][:20])
    assert f"its process died, or the file was cut, in its line {whole + 1}" in differs(play(home, path))


def test_a_recording_whose_last_line_is_half_is_played_up_to_there(plain: tuple[Home, Path]) -> None:
    home, path = plain
    raw = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(raw[:-1]) + raw[-1][: len(raw[-1]) // 2] + b"\n")
    played = play(home, path)
    assert "the file was cut, in its line 7" in differs(played) and played.result["num_turns"] == 2


def test_a_played_run_cannot_be_resumed(plain: tuple[Home, Path]) -> None:
    home, path = plain
    assert play(home, tamper(path, dropping(5))).result["resumable"] is False
    again = home.run("resume", str(home.path / "played"))
    assert again.code == 2 and "played a recording" in again.stderr and "remit replay" in again.stderr


# -- what is missing here -------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
def test_a_played_run_offers_the_recorded_tools_whatever_is_missing_here(there: bool, home: Home) -> None:
    """With a worker for scripts there and none here, and the other way round."""
    home.write("a.md", "A")
    worker = home.path / "worker"
    worker.write_text("#!/bin/sh\n")
    worker.chmod(0o755 if there else 0o644)
    task = home.task(prompt="Go", tools=dict.fromkeys(("python_execution", "read_file", "update_plan"), "auto"))
    script = home.script({"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]}, {"text": "Done."})
    path, ran = record(home, "-t", task, "-m", script, environ={"REMIT_PYTHON_WORKER": str(worker)})
    assert ("python_execution" in ran.events[0]["tools"]) == there
    worker.chmod(0o644 if there else 0o755)
    played = play(home, path)
    assert played.code == 0, played.stderr
    assert played.events[0]["tools"] == ran.events[0]["tools"]
    assert list(played.events[0]["withheld_tools"]) == list(ran.events[0]["withheld_tools"])


# -- bad input -----------------------------------------------------------------------------------


def test_a_run_is_not_recorded_over_another(plain: tuple[Home, Path]) -> None:
    home, path = plain
    before = path.read_bytes()
    ran = home.stream("Go", "-m", f"replay/{path}", "--record", str(path))
    assert ran.code == 2 and "is there already" in ran.stderr and path.read_bytes() == before


BAD: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str]] = {
    "a future version": (changing(0, "remit_recording", to=4), "version 4"),
    "the first version": (changing(0, to={"remit_recording": 1, "provider": "p", "model": "m"}), "-m replay/"),
    "no spec": (lambda changed: changed[0].pop("spec"), "and not the run they were given in"),
    "a spec of other types": (
        changing(0, "spec", "prompt", to=5),
        "does not fit this program: its spec: Expected `str`",
    ),
    "a spec without its model": (changing(0, "spec", "models", to={}), "does not fit this program"),
    "a model too many": (lambda changed: changed[0]["models"].append(changed[0]["models"][0]), "names 1 model(s)"),
    "a tool that is gone": (
        changing(0, "spec", "ticks", to={"teleport": {"decide": "auto"}}),
        "does not fit this program: ",
    ),
    "a call twice": (lambda changed: changed.insert(3, changed[2]), "the call t1.c1 stands in line 3 already"),
    "lines after the end": (lambda changed: changed.append(changed[2]), "goes on after its end"),
    "a negative usage": (
        lambda changed: changed[1]["parts"].insert(0, {"type": "usage", "usage": {"input": -5}}),
        "tampered.jsonl:2: this is no line of a recording: a usage of -5 input tokens",
    ),
    "a price without a figure": (
        changing(0, "models", 0, "price", to={"input": 1e308, "output": 1}),
        "tampered.jsonl:1: this is no line of a recording: Expected `float` <= 1000000000",
    ),
    "an end that does not say what the run gave": (lambda changed: changed[-1]["end"].pop("gave"), "field `gave`"),
    "a line of nothing": (lambda changed: changed.insert(3, {}), "tampered.jsonl:4: this is no line"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_played_is_refused_before_anything_is_made(case: str, plain: tuple[Home, Path]) -> None:
    home, path = plain
    change, words = BAD[case]
    ran = play(home, tamper(path, change))
    assert ran.code == 2 and words in ran.stderr and ran.stdout == b""
    assert not (home.path / "played").exists()


def test_a_file_that_is_cut_in_the_middle_is_refused(plain: tuple[Home, Path]) -> None:
    home, path = plain
    raw = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*raw[:2], raw[2][:50] + b"\n", *raw[3:]]))
    ran = play(home, path)
    assert ran.code == 2 and f"{path}:3: this is no line of a recording" in ran.stderr


@pytest.mark.parametrize("kind", ["empty", "directory", "fifo", "missing", "a line of 20 MB", "a long line", "device"])
def test_what_is_no_recording_is_refused(kind: str, home: Home) -> None:
    path = home.path / "recording.jsonl"
    match kind:
        case "empty":
            path.touch()
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "a line of 20 MB":
            path.write_bytes(b"x" * 20_000_000 + b"\n")
        case "a long line":
            path.write_bytes(b"x" * 20_000_000)
        case "device":
            path = Path("/dev/zero")
    ran = play(home, path)
    assert ran.code == 2 and str(path) in ran.stderr and len(ran.stderr) < 1000


def test_a_long_exchange_is_played(home: Home) -> None:
    home.write("prompt.txt", "x" * 5_000_000)
    path, ran = record(home, "--prompt-file", str(home.work / "prompt.txt"), "-m", home.script({"text": "Done."}))
    assert (play(home, path).code, ran.result["verdict"]) == (0, "done")


def test_a_workspace_is_only_for_live_tools(plain: tuple[Home, Path]) -> None:
    home, path = plain
    ran = play(home, path, "-C", ".")
    assert ran.code == 2 and "add --live-tools" in ran.stderr


def test_live_tools_need_the_workspace(plain: tuple[Home, Path]) -> None:
    home, path = plain
    home.work.rename(home.path / "moved")
    ran = play(home, path, "--live-tools", cwd=home.path)
    assert ran.code == 2 and "cannot be opened" in ran.stderr


# -- a recording as the model of another run -----------------------------------------------------


def test_a_run_that_ends_before_its_recording_is_not_the_recorded_one(home: Home) -> None:
    path, recorded = record(home, "go", "-m", home.script({"text": "all done"}))
    assert recorded.result["verdict"] == "done", recorded.stderr
    assert home.stream("go", "-m", f"replay/{path}").code == 0

    longer = home.stream("go", "-m", f"replay/{tamper(path, lambda changed: changed.insert(1, changed[1]))}")
    assert differs(longer) == "the run ended with 1 recorded answer(s) not asked for"

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.asking import Slept, ask, hear, request, user
from fakes.model_server import Cut, ModelServer, calls, delta, refusal, stream, text
from fakes.opened import by_name, opened
from remit.base.calls import Decision, RuleRef, done
from remit.base.errors import EnvironmentFault, Faults, ProviderBusy, UsageFault
from remit.base.messages import CallBlock, Delta, Message, ResultBlock, RetryPart, TextBlock, ToolSpec, Usage
from remit.base.records import Answered, CallChecked, CallSettled, PromptEnded, RunStarted, Spent
from remit.base.redact import REDACTED, KeyGuard, Redactor
from remit.config.load import parse
from remit.providers.difference import first_difference
from remit.providers.record import Recording, RecordingProvider
from remit.providers.recording import MAX_TOKENS, RecordedModel, read_recording
from remit.providers.replay import ReplayProvider
from remit.providers.scripted import ScriptedProvider

SECRET = "hunter2-hunter2"
TOOL = ToolSpec("t", "A tool.", {"type": "object", "properties": {"token": {"type": "string"}}})
FIRST = request(user("hi"), tools=(TOOL,), max_tokens=50)
CALL = CallBlock("c1", "t", '{"n": 1}')
SECOND = request(
    user("hi"), Message("assistant", (CALL,)), Message("user", (ResultBlock("c1", "7"),)), tools=(TOOL,), max_tokens=50
)


def recording(inner: Any, path: Path, redact: Redactor | None = None, **keys: Any) -> RecordingProvider:
    """The provider, recorded to a file of its own."""
    file = Recording(str(path), redact or Redactor(), [RecordedModel(inner.name, inner.model)], **keys)
    return RecordingProvider(inner, file)


def scripted(answer: str = "x") -> ScriptedProvider:
    return ScriptedProvider(parse(f"version: 1\nturns: [{{text: {answer}}}]", "s", "yaml"))


def recorded(path: Path, replies: list[Any], *questions: Any, redact: Redactor | None = None) -> Any:
    with ModelServer(replies) as server:
        inner = opened("m", base_url=server.url, timing=Slept().timing)
        return ask(recording(inner, path, redact), *questions)


def record_two(path: Path) -> None:
    recorded(path, [calls(("c1", "t", '{"n": 1}')), text("Seven", ".")], FIRST, SECOND)


def test_a_recorded_run_is_played_again_offline(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record_two(path)
    provider = by_name(f"replay/{path}", {})
    assert (provider.name, provider.model, provider.key_source) == ("replay", "m", "none")
    assert ask(ReplayProvider(str(path)), FIRST).blocks() == [CALL]
    answer = ask(provider, FIRST, SECOND)
    assert answer.of(Delta) == [Delta(0, "text", "Seven.")]
    assert answer.blocks() == [TextBlock("Seven.")] and answer.usage() == Usage(10, 5) and answer.stop() == "end_turn"


def test_a_run_taken_up_again_starts_where_its_transcript_stands(tmp_path: Path) -> None:
    record_two(tmp_path / "r.jsonl")
    assert ask(ReplayProvider(str(tmp_path / "r.jsonl")), SECOND).blocks() == [TextBlock("Seven.")]


@pytest.mark.parametrize(
    ("changed", "path", "left", "right"),
    [
        ({"system": "Be long."}, "$.system (character 3)", "'Be brief.'", "'Be long.'"),
        ({"model": "other"}, "$.model (character 0)", "'m'", "'other'"),
        ({"max_tokens": 51}, "$.max_tokens", "50", "51"),
        ({"max_tokens": None}, "$.max_tokens", "50", "(nothing)"),
        ({"tools": ()}, "$.tools", '[{"name":"t","description":"A tool."', "(nothing)"),
        (
            {"tools": (ToolSpec("t", "A tool!", TOOL.schema),)},
            "$.tools[0].description (character 6)",
            "'A tool.'",
            "'A tool!'",
        ),
        ({"tools": (ToolSpec("t", "A tool.", {"x": 1}),)}, "$.tools[0].schema.type", "object", "(nothing)"),
        ({"messages": (user("ho"),)}, "$.messages[0].content[0].text (character 1)", "'hi'", "'ho'"),
        ({"messages": (user("hi"), user("x"))}, "$.messages[1]", "(nothing)", '"x"'),
    ],
)
def test_every_part_of_a_request_is_compared(
    tmp_path: Path, changed: dict[str, Any], path: str, left: str, right: str
) -> None:
    record_two(tmp_path / "r.jsonl")
    fault = ask(ReplayProvider(str(tmp_path / "r.jsonl")), msgspec.structs.replace(FIRST, **changed)).fault
    assert fault is not None and fault.kind == "replay" and fault.where.endswith("r.jsonl:2")
    told = fault.what.splitlines()
    assert told[0] == "request 1 is not the recorded one" and told[1] == f"  at {path}"
    assert told[2].startswith("- recorded: ") and left in told[2]
    assert told[3].startswith("+ now:      ") and right in told[3]


def test_a_long_text_is_shown_around_its_first_difference() -> None:
    told = first_difference({"a": "x" * 5000 + "old" + "y" * 5000}, {"a": "x" * 5000 + "new" + "y" * 5000})
    assert "at $.a (character 5000)" in told and "old" in told and "new" in told and len(told) < 400


@pytest.mark.parametrize(("left", "right"), [(1, True), (1, 1.0), (None, 0), ("1", 1), ({}, [])])
def test_values_of_another_type_differ(left: Any, right: Any) -> None:
    assert first_difference([left], [right]).startswith("  at $[0]\n")
    assert first_difference([left], [left]) == ""


@pytest.mark.parametrize(
    ("recorded", "now", "same"),
    [
        (f"a {REDACTED} b", "a secret b", True),
        (f"a {REDACTED} b", "a  b", True),
        (f"a {REDACTED} b {REDACTED} c", "a b b b c", True),
        (f"{REDACTED}{REDACTED}", "", True),
        (f"a {REDACTED} b", "a secret c", False),
        (f"ab{REDACTED}ba", "aba", False),
        (f"a {REDACTED} b {REDACTED} c", "a x c", False),
        ("a secret b", f"a {REDACTED} b", False),
        (REDACTED, 12345678, True),
        (REDACTED, None, False),
        (REDACTED, {}, False),
        (f'{{"a": "{REDACTED}",  "b": 1}}', '{"b":1,"a":"x\\"y"}', True),
        (f'{{"a": "{REDACTED}", "b": 1}}', '{"a":"x","b":2}', False),
    ],
)
def test_where_something_was_redacted_anything_may_stand(recorded: Any, now: Any, same: bool) -> None:
    assert (first_difference({"x": [recorded]}, {"x": [now]}) == "") is same


def test_one_request_too_many_is_a_difference(tmp_path: Path) -> None:
    record_two(tmp_path / "r.jsonl")
    fault = ask(ReplayProvider(str(tmp_path / "r.jsonl")), FIRST, SECOND, SECOND).fault
    assert fault is not None and fault.kind == "replay" and "ends after 2 exchanges" in fault.what


def test_exchanges_that_were_never_asked_for_are_counted(tmp_path: Path) -> None:
    record_two(tmp_path / "r.jsonl")
    provider = ReplayProvider(str(tmp_path / "r.jsonl"))
    assert provider.unplayed == 2
    ask(provider, FIRST)
    assert provider.unplayed == 1


def test_a_failure_is_recorded_and_played(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    cut = stream(
        delta({"content": "Hel"}), delta({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t"}}]}), Cut()
    )
    recorded(path, [refusal(429, {"retry-after": "3600"}), cut], FIRST, FIRST)
    replay = ReplayProvider(str(path))
    busy = asyncio.run(hear(replay, FIRST))
    assert isinstance(busy.fault, ProviderBusy) and busy.fault.reset_at == "2027-01-15T09:00:00Z"
    broken = asyncio.run(hear(replay, FIRST))
    assert broken.blocks() == [TextBlock("Hel")] and broken.fault is not None and broken.fault.kind == "cut"


def test_retries_are_recorded_and_played_without_a_wait(tmp_path: Path) -> None:
    live = recorded(tmp_path / "r.jsonl", [refusal(500), text("ok")], FIRST)
    played = ask(ReplayProvider(str(tmp_path / "r.jsonl")), FIRST)
    assert played.of(RetryPart) == live.of(RetryPart) != [] and played.blocks() == [TextBlock("ok")]


def test_text_that_never_ended_is_recorded_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    pieces = (delta({"content": piece}) for piece in ("see hunter2-", "hunter2 an"))
    live = recorded(path, [stream(*pieces, Cut())], FIRST, redact=Redactor([SECRET]))
    assert live.fault is not None and live.fault.kind == "cut" and live.blocks() == []
    played = ask(ReplayProvider(str(path)), FIRST)
    assert played.fault is not None and played.fault.kind == "cut"
    assert list(played) == [Delta(0, "text", f"see {REDACTED} an")]


def test_secrets_are_redacted_by_value_by_name_and_by_shape(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    call = CallBlock("c", "t", json.dumps({"password": "open sesame", "note": f"with {SECRET}", "max_tokens": 5}))
    past = (Message("assistant", (call,)), Message("user", (ResultBlock("c", f"see {SECRET}"),)))
    asked = request(user(f"use {SECRET}"), *past, tools=(TOOL,), system="Authorization: Bearer abcdefgh12345678")
    answer_with = json.dumps({"api_key": "letmein1", "x": SECRET})
    recorded(path, [calls(("d", "t", answer_with))], asked, redact=Redactor([SECRET]))
    written = path.read_text()
    for secret in (SECRET, "open sesame", "letmein1", "abcdefgh12345678"):
        assert secret not in written
    line = json.loads(written.splitlines()[1])
    assert line["request"]["tools"][0]["schema"]["properties"] == {"token": {"type": "string"}}
    assert json.loads(line["request"]["messages"][1]["content"][0]["arguments"])["max_tokens"] == 5
    answer = ask(ReplayProvider(str(path), Redactor([SECRET])), asked)
    assert answer.fault is None and json.loads(answer.blocks()[0].arguments) == {"api_key": REDACTED, "x": REDACTED}


def test_an_answer_that_was_left_early_is_not_recorded(tmp_path: Path) -> None:
    async def leave() -> None:
        with ModelServer([text("a", "b"), text("c", "d")]) as server:
            provider = recording(opened("m", base_url=server.url), tmp_path / "r.jsonl")
            await hear(provider, FIRST)
            parts = provider.stream(FIRST)
            await anext(parts)
            await parts.aclose()  # type: ignore[attr-defined]
            await provider.close()

    asyncio.run(leave())
    assert ReplayProvider(str(tmp_path / "r.jsonl")).unplayed == 1


def test_a_torn_last_line_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record_two(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 50])
    assert ReplayProvider(str(path)).unplayed == 1


@pytest.mark.parametrize("rest", [b"{", b"\n", b'{"request": {}, "pa\n', b"\xff\n", b"[" * 100_000 + b"\n"])
def test_a_last_line_that_is_no_json_breaks_the_recording_off(rest: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record_two(path)
    path.write_bytes(path.read_bytes() + rest)
    run = read_recording(str(path))
    assert (len(run.exchanges), run.torn) == (2, 4)


def test_nothing_stands_behind_the_end_not_even_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    file = Recording(str(path), Redactor(), [RecordedModel("p", "m")])
    file(RunStarted("run", "session", "1", 5.0, "digest", {}))
    file(PromptEnded("done", 0, False, {}))
    file.close()
    assert read_recording(str(path)).torn == 0
    path.write_bytes(path.read_bytes() + b"{")
    with pytest.raises(Faults, match=r"r.jsonl:3: the recording goes on after its end"):
        read_recording(str(path))


@pytest.mark.parametrize("kind", ["input", "output", "cache_read", "cache_write"])
@pytest.mark.parametrize(("count", "fits"), [(0, True), (MAX_TOKENS, True), (MAX_TOKENS + 1, False), (-1, False)])
def test_a_usage_that_can_be_none_is_a_fault_of_the_file(kind: str, count: int, fits: bool, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    part = {"type": "usage", "usage": {kind: count}}
    path.write_text(
        '{"remit_recording": 2, "provider": "p", "model": "m"}\n' + json.dumps({"request": {}, "parts": [part]}) + "\n"
    )
    if fits:
        assert len(read_recording(str(path)).exchanges) == 1
        return
    with pytest.raises(Faults, match=f"r.jsonl:2: this is no line of a recording: a usage of {count} {kind} tokens"):
        read_recording(str(path))


def test_a_recording_survives_a_kill_at_once_after_an_answer(tmp_path: Path) -> None:
    program = """
import asyncio, os, signal, sys
from remit.base.messages import Message, Request, StopPart, TextBlock
from remit.base.redact import Redactor
from remit.config.load import parse
from remit.providers.record import Recording, RecordingProvider
from remit.providers.recording import RecordedModel
from remit.providers.scripted import ScriptedProvider
async def main():
    inner = ScriptedProvider(parse("version: 1\\nturns: [{text: kept}]", "s", "yaml"))
    file = Recording(sys.argv[1], Redactor(), [RecordedModel("scripted", "scripted")])
    async for part in RecordingProvider(inner, file).stream(
        Request("scripted", "", (Message("user", (TextBlock("hi"),)),))):
        if isinstance(part, StopPart):
            os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    path = tmp_path / "r.jsonl"
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert ask(ReplayProvider(str(path)), request(user("hi"), model="scripted", system="")).blocks() == [
        TextBlock("kept")
    ]


def test_a_recording_is_never_written_over_or_continued(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record_two(path)
    before = path.read_bytes()
    with pytest.raises(UsageFault, match=f"is there already and holds {len(before)} bytes"):
        recording(scripted(), path)
    assert path.read_bytes() == before


def test_an_empty_file_is_recorded_to(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    ask(recording(scripted(), tmp_path / "r.jsonl"), request(model="scripted"))
    assert len(read_recording(str(tmp_path / "r.jsonl")).exchanges) == 1


@pytest.mark.parametrize("kind", ["a FIFO that is read", "a FIFO", "a directory"])
def test_what_is_no_file_is_not_recorded_to(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.mkdir() if kind == "a directory" else os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if kind == "a FIFO that is read" else -1
    with pytest.raises(UsageFault, match="the recording cannot be written"):
        recording(scripted(), path)
    if reader >= 0:
        os.close(reader)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_not_recorded_through(there: bool, tmp_path: Path) -> None:
    if there:
        (tmp_path / "target").touch()
    (tmp_path / "r").symlink_to(tmp_path / "target")
    with pytest.raises(UsageFault, match="the recording cannot be written: this is a symbolic link"):
        recording(scripted(), tmp_path / "r")
    assert (tmp_path / "target").exists() == there


def test_standard_output_is_no_file_to_record_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageFault, match="not to standard output"):
        Recording("-", Redactor(), [RecordedModel("p", "m")])
    assert list(tmp_path.iterdir()) == []
    Recording("./-", Redactor(), [RecordedModel("p", "m")]).close()
    assert [path.name for path in tmp_path.iterdir()] == ["-"]


def test_keys_that_an_answer_gives_back_are_not_recorded(tmp_path: Path) -> None:
    key = "k" * 20
    ask(recording(scripted(key), tmp_path / "r.jsonl", guard=KeyGuard([key])), request(model="scripted"))
    assert key not in (tmp_path / "r.jsonl").read_text()


def test_a_recording_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    record_two(tmp_path / "r.jsonl")
    assert (tmp_path / "r.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="cannot be written"):
        recorded(tmp_path / "none" / "r.jsonl", [], FIRST)


def test_a_full_disk_ends_the_run_as_one(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    provider = recording(scripted(), path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(EnvironmentFault, match="cannot be written"):
            ask(provider, request(model="scripted"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_is_full_at_a_call_ends_the_run_and_at_its_end_takes_nothing_from_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    file = Recording(str(path), Redactor(), [RecordedModel("p", "m")])
    file(RunStarted("run", "session", "1", 5.0, "digest", {"prompt": "Go"}))
    size = path.stat().st_size
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
    try:
        with pytest.raises(EnvironmentFault, match="cannot be written"):
            file(CallSettled("t1.c1", "c1", "t", done(1), '{"ok":true,"data":1}'))
        file(PromptEnded("done", 0, False, {}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        file.close()
    run = read_recording(str(path))
    assert run.header.spec == {"prompt": "Go"} and run.header.started == 5.0 and run.end is None


def test_calls_that_have_no_outcome_are_recorded_at_the_end(tmp_path: Path) -> None:
    file = Recording(str(tmp_path / "r.jsonl"), Redactor(), [RecordedModel("p", "m")])
    said = Message("assistant", (CALL, CallBlock("c2", "t", "{}"), CallBlock("c3", "t", "{")))
    rule = Decision("auto", RuleRef("default", "built in", "why"))
    file(RunStarted("run", "session", "1", 5.0, "digest", {}))
    file(Answered(1, "p/m", said, Usage(), "tool_use", 0.1))
    file(CallChecked("t1.c1", "c1", "t", True, rule))
    file(CallChecked("t1.c2", "c2", "t", True, rule))
    file(Spent("network_requests", 1))
    file(Spent("network_requests", 1))
    file(CallSettled("t1.c1", "c1", "t", done(1, "one"), "one"))
    told = {"error_kind": "sigint", "errors": ["stopped by SIGINT"], "structured_output": {"n": 1}, "num_turns": 1}
    file(PromptEnded("stopped", 130, True, told))
    file.close()
    run = read_recording(str(tmp_path / "r.jsonl"))
    first, second, third = run.calls["t1.c1"], run.calls["t1.c2"], run.calls["t1.c3"]
    assert (first.outcome, first.content, first.network_requests, first.decision) == (done(1), "one", 2, rule)
    assert (second.outcome, second.decision, second.allowed) == (None, rule, True)
    assert (third.outcome, third.decision, third.id) == (None, None, "c3")
    assert run.end is not None and (run.end.verdict, run.end.exit_code, run.end.kind) == ("stopped", 130, "sigint")
    assert (run.end.gave["structured_output"], run.end.gave["num_turns"]) == ('{"n":1}', 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no header"),
        (b'{"remit_recording": 1', "no header"),
        (b"hello\n", "no line of a recording"),
        (b'{"remit_recording": 4, "something": "new"}\n', "version 4, this program reads 3"),
        (b'{"remit_recording": 0, "provider": "p", "model": "m"}\n', "version 0"),
        (b'{"remit_recording": 2, "provider": "p", "model": "m"}\n{"call": {"key": "k"}}\n', "r.jsonl:2"),
        (b'{"remit_recording": 2, "provider": "p", "model": "m"}\n{"request": {}, "par\n{}\n', "r.jsonl:2"),
        (b'{"remit_recording": 2, "provider": "p", "model": "m"}\n' + b"[" * 100_000 + b"\n{}\n", "r.jsonl:2"),
        (b'{"remit_recording": 1, "provider": "p", "model": "m"}\n{"parts": []}\n', "r.jsonl:2"),
        (b"\xff\xfe\n", "no line of a recording"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "r.jsonl").write_bytes(content)
    with pytest.raises(Faults) as caught:
        by_name(f"replay/{tmp_path}/r.jsonl", {})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.jsonl", "there is no such file"),
        (".", "directory"),
        ("nul\0", "is not a file name"),
        ("fifo", "not a regular file"),
    ],
)
def test_a_recording_that_cannot_be_read(tmp_path: Path, name: str, words: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(Faults, match=words):
        by_name(f"replay/{tmp_path}/{name}", {})


def test_a_recording_of_the_first_version_is_played(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    asked = '{"messages":[{"content":[{"text":"hi","type":"text"}],"role":"user"}],"model":"m","system":"Be brief."}'
    said = '[{"block":{"text":"ho","type":"text"},"index":0,"type":"block"},{"reason":"end_turn","type":"stop"}]'
    header = '{"model":"m","provider":"p","remit_recording":1}'
    path.write_text(f'{header}\n{{"parts":{said},"request":{asked}}}\n')
    assert ask(ReplayProvider(str(path)), request()).blocks() == [TextBlock("ho")]

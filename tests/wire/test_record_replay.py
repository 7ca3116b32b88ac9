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
from remit.base.errors import EnvironmentFault, Faults, ProviderBusy, UsageFault
from remit.base.messages import CallBlock, Delta, Message, ResultBlock, RetryPart, TextBlock, ToolSpec, Usage
from remit.base.redact import REDACTED, Redactor
from remit.config.load import parse
from remit.providers.record import RecordingProvider
from remit.providers.replay import ReplayProvider, first_difference
from remit.providers.scripted import ScriptedProvider

SECRET = "hunter2-hunter2"
TOOL = ToolSpec("t", "A tool.", {"type": "object", "properties": {"token": {"type": "string"}}})
FIRST = request(user("hi"), tools=(TOOL,), max_tokens=50)
CALL = CallBlock("c1", "t", '{"n": 1}')
SECOND = request(
    user("hi"), Message("assistant", (CALL,)), Message("user", (ResultBlock("c1", "7"),)), tools=(TOOL,), max_tokens=50
)


def recorded(path: Path, replies: list[Any], *questions: Any, redact: Redactor | None = None) -> Any:
    with ModelServer(replies) as server:
        inner = opened("m", base_url=server.url, timing=Slept().timing)
        return ask(RecordingProvider(inner, str(path), redact or Redactor()), *questions)


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
        ({"tools": ()}, "$.tools", '[{"description":"A tool."', "(nothing)"),
        (
            {"tools": (ToolSpec("t", "A tool!", TOOL.schema),)},
            "$.tools[0].description (character 6)",
            "'A tool.'",
            "'A tool!'",
        ),
        ({"tools": (ToolSpec("t", "A tool.", {"x": 1}),)}, "$.tools[0].schema.properties", "token", "(nothing)"),
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


def test_retries_are_shown_live_and_not_recorded(tmp_path: Path) -> None:
    live = recorded(tmp_path / "r.jsonl", [refusal(500), text("ok")], FIRST)
    assert len(live.of(RetryPart)) == 1
    assert "retry" not in (tmp_path / "r.jsonl").read_text()


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
        with ModelServer([text("a", "b")]) as server:
            provider = RecordingProvider(opened("m", base_url=server.url), str(tmp_path / "r.jsonl"), Redactor())
            parts = provider.stream(FIRST)
            await anext(parts)
            await parts.aclose()  # type: ignore[attr-defined]
            await provider.close()

    asyncio.run(leave())
    assert ReplayProvider(str(tmp_path / "r.jsonl")).unplayed == 0


def test_a_torn_last_line_does_not_count_and_is_cut_off_by_the_next_recording(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record_two(path)
    whole = path.read_bytes()
    torn = whole[: whole.rindex(b"\n", 0, -1) + 50]
    path.write_bytes(torn)
    assert ReplayProvider(str(path)).unplayed == 1
    recorded(path, [text("Seven", ".")], SECOND)
    assert path.read_bytes() == whole


def test_a_recording_survives_a_kill_at_once_after_an_answer(tmp_path: Path) -> None:
    program = """
import asyncio, os, signal, sys
from remit.base.messages import Message, Request, StopPart, TextBlock
from remit.base.redact import Redactor
from remit.config.load import parse
from remit.providers.record import RecordingProvider
from remit.providers.scripted import ScriptedProvider
async def main():
    inner = ScriptedProvider(parse("version: 1\\nturns: [{text: kept}]", "s", "yaml"))
    async for part in RecordingProvider(inner, sys.argv[1], Redactor()).stream(
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


def test_a_recording_of_another_model_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record_two(path)
    before = path.read_bytes()
    other = ScriptedProvider(parse("version: 1\nturns: [{text: x}]", "s", "yaml"))
    with pytest.raises(UsageFault, match="recording of openai/m, not of scripted/scripted"):
        RecordingProvider(other, str(path), Redactor())
    assert path.read_bytes() == before


def test_a_recording_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    record_two(tmp_path / "r.jsonl")
    assert (tmp_path / "r.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="cannot be written"):
        recorded(tmp_path / "none" / "r.jsonl", [], FIRST)


def test_a_full_disk_ends_the_run_as_one(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    provider = RecordingProvider(
        ScriptedProvider(parse("version: 1\nturns: [{text: x}]", "s", "yaml")), str(path), Redactor()
    )
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 10, limits[1]))
    try:
        with pytest.raises(EnvironmentFault, match="cannot be written"):
            ask(provider, request(model="scripted"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no header"),
        (b'{"remit_recording": 1', "no header"),
        (b"hello\n", "no line of a recording"),
        (b'{"remit_recording": 2, "provider": "p", "model": "m"}\n', "version 2"),
        (b'{"remit_recording": 1, "provider": "p", "model": "m"}\n{"parts": []}\n', "r.jsonl:2"),
        (b"\xff\xfe\n", "no line of a recording"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "r.jsonl").write_bytes(content)
    with pytest.raises(Faults) as caught:
        by_name(f"replay/{tmp_path}/r.jsonl", {})
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["none.jsonl", ".", "nul\0"])
def test_a_recording_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(Faults, match="cannot be read"):
        by_name(f"replay/{tmp_path}/{name}", {})

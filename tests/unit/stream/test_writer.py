from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import BudgetSpent, EnvironmentFault, Stopped
from remit.base.events import Assistant, Event, Notice, Result, User
from remit.stream.writer import EventLog, JsonResult, StdoutWriter, StreamJson, TextResult, encode_line


def result(**fields: Any) -> Result:
    settings: dict[str, Any] = {
        "subtype": "success",
        "is_error": False,
        "verdict": "done",
        "exit_code": 0,
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
    }
    return Result(**(settings | fields))


def notice(text: str) -> Notice:
    return Notice(kind="k", text=text)


@pytest.mark.parametrize(
    ("char", "escape"),
    [
        ("\n", b"\\n"),
        ("\r", b"\\r"),
        ("\0", b"\\u0000"),
        ("\x0b", b"\\u000b"),
        ("\x0c", b"\\f"),
        ("\x1b", b"\\u001b"),
        ("\x1c", b"\\u001c"),
        ("\x7f", b"\\u007f"),
        ("\x80", b"\\u0080"),
        ("\x85", b"\\u0085"),
        ("\x9f", b"\\u009f"),
        ("\u2028", b"\\u2028"),
        ("\u2029", b"\\u2029"),
        ("\xa0", "\xa0".encode()),
        ("\u2027", "\u2027".encode()),
        ("é🔥", "é🔥".encode()),
        ("\ud83d", "\ufffd".encode()),
        ("\ud83d\udd25", "🔥".encode()),
    ],
)
def test_what_splits_a_line_is_escaped_and_the_rest_is_utf8(char: str, escape: bytes) -> None:
    line = encode_line(notice(f"a{char}b"))

    assert b'"a' + escape + b'b"' in line
    assert json.loads(line)["text"] == f"a{char}b".encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_is_one_line_for_any_reader(text: str) -> None:
    line = encode_line(notice(text))

    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["text"] == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_a_surrogate_deep_inside_is_replaced_too() -> None:
    event = User(message={"content": [{"text": ["\ud800"]}], "\udfff": 1}, tool_use_result=("\ud800", notice("x")))

    assert json.loads(encode_line(event))["message"] == {"content": [{"text": ["\ufffd"]}], "\ufffd": 1}


def test_an_assistant_line_keeps_its_null_parent() -> None:
    line = json.loads(encode_line(Assistant(message={"role": "assistant"}, session_id="s", uuid="u")))

    assert line == {
        "type": "assistant",
        "session_id": "s",
        "uuid": "u",
        "message": {"role": "assistant"},
        "parent_tool_use_id": None,
        "timestamp": "",
    }


def test_a_user_line_has_only_what_it_says() -> None:
    assert set(json.loads(encode_line(User(message={})))) == {
        "type", "session_id", "uuid", "message", "parent_tool_use_id", "timestamp",
    }  # fmt: skip
    assert (
        json.loads(encode_line(User(message={}, isSynthetic=True, tool_use_result=False)))["tool_use_result"] is False
    )


@pytest.mark.parametrize(
    ("fields", "there"),
    [
        ({}, set()),
        ({"result": ""}, {"result"}),
        ({"result": "x", "structured_output": {"n": 1}}, {"result", "structured_output"}),
        ({"structured_output": []}, {"structured_output"}),
        ({"structured_output": False}, {"structured_output"}),
        ({"errors": ["e"]}, {"errors"}),
    ],
)
def test_a_result_line_has_result_output_and_errors_only_when_there_are_some(
    fields: dict[str, Any], there: set[str]
) -> None:
    line = json.loads(encode_line(result(**fields)))

    assert {"result", "structured_output", "errors"} & set(line) == there
    assert line["stop_reason"] is None
    assert line["permission_denials"] == []


# The descriptor


def drain(fd: int, into: list[bytes]) -> threading.Thread:
    def read() -> None:
        while chunk := os.read(fd, 1 << 16):
            into.append(chunk)

    thread = threading.Thread(target=read)
    thread.start()
    return thread


@pytest.mark.parametrize("blocking", [True, False])
def test_long_lines_arrive_whole_and_in_order(blocking: bool) -> None:
    read, write = os.pipe()
    if not blocking:
        flags = fcntl.fcntl(write, fcntl.F_GETFL)
        fcntl.fcntl(write, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    got: list[bytes] = []
    reader = drain(read, got)
    writer = StdoutWriter(write)
    lines = [b"%d:" % number + b"x" * 70_000 * number for number in range(12)]
    for line in lines:
        writer.write_line(line)
    os.close(write)
    reader.join()
    os.close(read)

    assert b"".join(got).split(b"\n") == [*lines, b""]


def test_each_line_can_be_read_at_once() -> None:
    read, write = os.pipe()
    writer = StdoutWriter(write)
    writer.write_line(b"one")

    assert os.read(read, 100) == b"one\n"
    os.close(read)
    os.close(write)


def test_way_is_made_for_every_line() -> None:
    read, write = os.pipe()

    def make_way() -> None:
        os.write(write, b"<")

    writer = StdoutWriter(write, before=make_way)
    writer.write_line(b"one")
    writer.write_line(b"two")
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert file.read() == b"<one\n<two\n"


def test_a_reader_that_goes_away_stops_the_run_once() -> None:
    read, write = os.pipe()
    writer = StdoutWriter(write)
    os.close(read)

    with pytest.raises(Stopped) as caught:
        writer.write_line(b"one")
    assert (caught.value.exit_code, caught.value.kind) == (141, "stdout_closed")
    assert writer.closed
    writer.write_line(b"two")
    os.close(write)


def test_a_reader_that_goes_away_in_the_middle_of_a_line_is_noticed() -> None:
    read, write = os.pipe()
    writer = StdoutWriter(write)

    def leave() -> None:
        os.read(read, 4096)
        os.close(read)

    thread = threading.Thread(target=leave)
    thread.start()
    with pytest.raises(Stopped):
        writer.write_line(b"x" * 1_000_000)
    thread.join()
    os.close(write)


def test_a_reader_that_stands_still_can_be_given_up() -> None:
    read, write = os.pipe()
    waits: list[float] = []

    def give_up(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise BudgetSpent("seconds", "no time left")

    writer = StdoutWriter(write, give_up)
    with pytest.raises(BudgetSpent):
        writer.write_line(b"x" * 1_000_000)
    assert waits == [0.1, 0.2, 0.3]
    # The line is torn: nothing may follow it.
    writer.write_line(b"two")
    os.set_blocking(read, False)
    held = b""
    while True:
        try:
            held += os.read(read, 1 << 20)
        except BlockingIOError:
            break
    assert set(held) == {ord("x")}
    os.close(read)
    os.close(write)


def test_a_full_device_is_an_environment_fault() -> None:
    fd = os.open("/dev/full", os.O_WRONLY)
    writer = StdoutWriter(fd)

    with pytest.raises(EnvironmentFault) as caught:
        writer.write_line(b"x")
    assert (caught.value.kind, caught.value.where) == ("disk_full", "stdout")
    assert "-o" not in caught.value.hint
    writer.write_line(b"y")
    os.close(fd)


def test_a_closed_stdout_is_an_environment_fault() -> None:
    read, write = os.pipe()
    os.close(read)
    os.close(write)

    with pytest.raises(EnvironmentFault) as caught:
        StdoutWriter(write).write_line(b"x")
    assert caught.value.kind == "stdout_closed"


def test_nothing_is_printed_by_python_when_the_reader_leaves() -> None:
    code = (
        "import sys\nfrom remit.base.errors import Stopped\nfrom remit.stream.writer import StdoutWriter\n"
        "writer = StdoutWriter(1)\n"
        "try:\n    while True: writer.write_line(b'x' * 100)\n"
        "except Stopped as stop: sys.exit(stop.exit_code)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(30) == 141


# Listeners


EVENTS: list[Event] = [notice("one"), Assistant(message={}), result(result="the answer")]


def heard(kind: Any, events: list[Event], **settings: Any) -> bytes:
    read, write = os.pipe()
    listener = kind(StdoutWriter(write), **settings)
    for event in events:
        listener.on_event(event, encode_line(event))
    os.close(write)
    with os.fdopen(read, "rb") as file:
        return file.read()


def test_stream_json_has_every_event_as_a_line() -> None:
    assert heard(StreamJson, EVENTS) == b"".join(encode_line(event) + b"\n" for event in EVENTS)


def test_json_has_one_object() -> None:
    assert heard(JsonResult, EVENTS) == encode_line(EVENTS[-1]) + b"\n"


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (result(result="the answer"), b"the answer\n"),
        (result(result="a\n"), b"a\n\n"),
        (result(result=""), b"\n"),
        (result(result="raw \x1b[31m \ud800"), "raw \x1b[31m \ufffd\n".encode()),
        (result(), b""),
        (result(result="API Error", is_error=True), b""),
    ],
)
def test_text_has_the_final_text_of_a_run_that_did_not_fail(event: Result, text: bytes) -> None:
    assert heard(TextResult, [*EVENTS[:-1], event]) == text


def test_text_for_a_terminal_has_no_control_characters_of_the_model() -> None:
    shown = heard(TextResult, [result(result="a\n\tb\x1b]0;pwned\x07\x9b\u202e\r")], terminal=True)

    assert shown == b"a\n\tb\\x1b]0;pwned\\x07\\x9b\\u202e\\r\n"


def test_the_event_log_holds_every_line_and_goes_on_after_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(str(path))
    log.on_event(EVENTS[0], b"one")
    log.close()
    with path.open("ab") as file:
        file.write(b"tor")
    log = EventLog(str(path))
    log.on_event(EVENTS[0], b"two")
    log.close()

    assert path.read_bytes() == b"one\ntwo\n"

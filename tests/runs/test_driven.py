"""Runs that a program drives: prompts, permissions and control as lines on stdin."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, journal, lines, prompts
from fakes.driving import Driven, Event, driven
from fakes.sdk import sdk

WRITE = {"calls": [{"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}]}
SLEEP = {"calls": [{"tool": "shell", "arguments": {"command": "sleep 60"}}]}
DONE = {"text": "Done."}
SOON = 0.2
"""Seconds in which an interrupt is answered."""


def asked(event: Event) -> bool:
    return event["type"] == "control_request"


def results(session: Driven) -> list[Event]:
    return [event for event in session.seen if event["type"] == "result"]


def tool_result(session: Driven) -> Any:
    return session.until("user")["message"]["content"][0]


def test_each_message_is_a_prompt_with_a_result_of_its_own(home: Home) -> None:
    script = home.script({"text": "one"}, {"text": "two"})
    with driven(home, "-m", script, "-o", str(home.out)) as session:
        session.say("first", uuid="u-1")
        first = session.until("result")
        session.send(b"\r\n\n")
        session.say("second")
        second = session.until("result")
        assert session.end() == 0
    assert [first["result"], second["result"]] == ["one", "two"]
    assert [first["num_turns"], second["num_turns"]] == [1, 1]
    assert [first["result_index"], second["result_index"]] == [0, 1]
    assert first["user_message_uuids"] == ["u-1"]
    assert first["session_id"] == second["session_id"]
    assert [event["subtype"] for event in session.seen if event.get("subtype") == "init"] == ["init", "init"]
    assert len(journal(home.out, "prompt_ended")) == 2
    assert json.loads((home.out / "run.json").read_text())["status"] == "done"
    assert lines(home.out / "events.jsonl") == session.seen


def test_a_prompt_argument_comes_first(home: Home) -> None:
    with driven(home, "-m", home.script({"text": "one"}, {"text": "two"}), "hello") as session:
        session.until("result")
        session.say("more")
        assert session.until("result")["result"] == "two"
        assert session.end() == 0


def test_messages_that_wait_when_stdin_closes_are_served(home: Home) -> None:
    with driven(home, "-m", home.script(*[{"text": str(number)} for number in range(3)])) as session:
        for _ in range(3):
            session.say("go")
        assert session.end() == 0
    assert [result["result"] for result in results(session)] == ["0", "1", "2"]


@pytest.mark.parametrize("line", [b"", b"\n", {"type": "from_the_future"}, b"go\n", b'{"type": "user"}\n'])
def test_a_session_to_which_no_prompt_comes_says_so_and_fails(home: Home, line: Any) -> None:
    with driven(home, "-m", home.script(DONE), "-o", str(home.out)) as session:
        session.send(line)
        assert session.end() == 2
    [result] = results(session)
    assert result is session.seen[-1]
    assert (result["verdict"], result["exit_code"], result["error_kind"]) == ("usage", 2, "no_prompt")
    assert result["errors"] == ["no prompt came on stdin"] and '"type": "user"' in result["hint"]
    assert json.loads((home.out / "run.json").read_text())["status"] == "usage"
    assert lines(home.out / "events.jsonl") == session.seen


def test_a_client_that_asks_and_leaves_wanted_no_prompt(home: Home) -> None:
    with driven(home, "-m", home.script(DONE)) as session:
        session.ask("interrupt")
        session.until("control_response")
        assert session.end() == 0
    assert not results(session)


def test_a_session_stays_as_its_prompts_left_it_when_no_further_one_comes(home: Home) -> None:
    script = home.script({"text": "one"}, {"text": "two"})
    with driven(home, "-m", script, "-o", str(home.out), "hello") as session:
        identity = session.until("result")["session_id"]
        assert session.end() == 0
    with driven(home, "--resume", identity) as session:
        assert session.end() == 2
    assert results(session)[0]["error_kind"] == "no_prompt"
    assert len(journal(home.out, "prompt_ended")) == 1
    with driven(home, "--resume", identity) as session:
        session.say("more")
        assert session.until("result")["result"] == "two"
        assert session.end() == 0


def test_a_message_that_comes_while_a_call_runs_joins_the_prompt(home: Home) -> None:
    script = home.script(
        {"calls": [{"tool": "shell", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}]}, DONE
    )
    with driven(home, "-m", script, "--tools", "shell=auto", "-o", str(home.out)) as session:
        session.say("wait", uuid="u-1")
        session.until("assistant")
        session.say("and this too", uuid="u-2")
        session.ask("nothing")
        session.until("control_response")
        home.write("go", "")
        result = session.until("result")
        assert session.end() == 0
    assert result["user_message_uuids"] == ["u-1", "u-2"]
    assert [said["joined"] for said in prompts(home.out)] == [False, True]


def test_the_client_allows_refuses_and_changes_calls(home: Home) -> None:
    script = home.script(WRITE, WRITE, WRITE, DONE)
    with driven(home, "-m", script, "--tools", "file_write=ask") as session:
        session.say("write")
        session.reply(session.until(asked), behavior="allow")
        assert "is_error" not in tool_result(session)
        request = session.until(asked)
        assert request["request"]["tool_name"] == "file_write"
        assert request["request"]["input"] == {"filePath": "a.txt", "content": "A"}
        session.reply(request, behavior="allow", updatedInput={"filePath": "b.txt", "content": "B"})
        session.reply(session.until(asked), behavior="deny", message="not today")
        result = session.until("result")
        assert session.end() == 0
    assert (home.work / "a.txt").read_text() == "A"
    assert (home.work / "b.txt").read_text() == "B"
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["file_write"]
    assert any("not today" in json.dumps(event) for event in session.seen if event["type"] == "user")


def test_a_changed_call_is_checked_as_a_new_one(home: Home) -> None:
    args = ("--tools", "file_write=ask", "--deny", "file_write:path=secret/**")
    with driven(home, "-m", home.script(WRITE, DONE), *args) as session:
        session.say("write")
        changed = {"filePath": "secret/a.txt", "content": "A"}
        session.reply(session.until(asked), behavior="allow", updatedInput=changed)
        assert "denied" in tool_result(session)["content"]
        assert session.end() == 0
    assert not (home.work / "secret").exists()


def test_a_refusal_that_interrupts_ends_the_prompt(home: Home) -> None:
    script = home.script({"calls": [*WRITE["calls"], *WRITE["calls"]]}, {"text": "later"})
    with driven(home, "-m", script, "--tools", "file_write=ask") as session:
        session.say("write")
        first, second = session.until(asked), session.until(asked)
        session.reply(first, behavior="deny", message="stop here", interrupt=True)
        session.reply(second, behavior="allow")
        assert session.until("result")["error_kind"] == "interrupted"
        session.say("go on")
        assert session.until("result")["result"] == "later"
        assert session.end() == 0
    assert not (home.work / "a.txt").exists()


@pytest.mark.parametrize("answer", [{}, {"behavior": "perhaps"}, {"behavior": "allow", "updatedInput": 3}])
def test_an_answer_that_makes_no_sense_is_a_refusal(home: Home, answer: dict[str, Any]) -> None:
    with driven(home, "-m", home.script(WRITE, DONE), "--tools", "file_write=ask") as session:
        session.say("write")
        session.reply(session.until(asked), **answer)
        refused = tool_result(session)
        assert session.end() == 0
    assert refused["is_error"] is True and not (home.work / "a.txt").exists()


def test_a_client_that_never_answers_is_taken_for_a_refusal(home: Home) -> None:
    environ = {"REMIT_CLIENT_SECONDS": "0.3"}
    with driven(home, "-m", home.script(WRITE, DONE), "--tools", "file_write=ask", environ=environ) as session:
        session.say("write")
        request = session.until(asked)
        assert session.until("control_cancel_request")["request_id"] == request["request_id"]
        assert "did not answer within 0.3 s" in tool_result(session)["content"]
        session.reply(request, behavior="allow")
        session.until("result")
        assert session.end() == 0
    assert not (home.work / "a.txt").exists()


def test_stdin_that_closes_while_the_client_is_asked_is_a_refusal(home: Home) -> None:
    with driven(home, "-m", home.script(WRITE, DONE), "--tools", "file_write=ask") as session:
        session.say("write")
        session.until(asked)
        assert session.end() == 0
    assert "closed its input" in json.dumps(session.seen)
    assert results(session)[0]["result"] == "Done."


def test_an_interrupt_is_answered_at_once_and_the_session_goes_on(home: Home) -> None:
    with driven(home, "-m", home.script(SLEEP, {"text": "still here"}), "--tools", "shell=auto") as session:
        session.say("sleep")
        session.until("assistant")
        began = time.monotonic()
        session.ask("interrupt")
        assert session.until("control_response")["response"]["subtype"] == "success"
        assert time.monotonic() - began < SOON
        result = session.until("result")
        assert (result["is_error"], result["error_kind"], result["exit_code"]) == (True, "interrupted", 130)
        session.say("and now")
        assert session.until("result")["result"] == "still here"
        assert session.end() == 0


def test_an_interrupt_while_the_client_is_asked_withdraws_the_question(home: Home) -> None:
    with driven(home, "-m", home.script(WRITE, DONE), "--tools", "file_write=ask") as session:
        session.say("write")
        request = session.until(asked)
        session.ask("interrupt")
        assert session.until("control_cancel_request")["request_id"] == request["request_id"]
        assert session.until("result")["error_kind"] == "interrupted"
        assert session.end() == 130


def test_an_interrupt_with_nothing_to_interrupt_is_fine(home: Home) -> None:
    with driven(home, "-m", home.script(DONE)) as session:
        session.ask("interrupt")
        assert session.until("control_response")["response"]["subtype"] == "success"
        session.say("go")
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0


@pytest.mark.parametrize(
    "line",
    [b"{bad\n", b"[1]\n", b"\xff\xfe\n", b'{"type":"user"}\n', b'{"type":"control_request"}\n', b"[" * 10_000 + b"\n"],
)
def test_lines_that_make_no_sense_are_told_and_passed_over(home: Home, line: bytes) -> None:
    with driven(home, "-m", home.script(DONE)) as session:
        session.send(line)
        assert session.until(lambda event: event.get("subtype") == "notice")["kind"] == "input"
        session.say("go")
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0


@pytest.mark.parametrize(
    "line",
    [
        {"type": "keep_alive"},
        {"type": "control_response", "response": {"subtype": "success", "request_id": "nobody", "response": {}}},
        {"type": "control_cancel_request", "request_id": "nobody"},
        {"type": "from_the_future", "x": 1},
    ],
)
def test_lines_that_ask_for_nothing_are_passed_over(home: Home, line: dict[str, Any]) -> None:
    with driven(home, "-m", home.script(DONE)) as session:
        session.send(line)
        session.say("go")
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0
    assert not [event for event in session.seen if event.get("subtype") == "notice"]


def test_an_unknown_control_request_is_answered_with_an_error(home: Home) -> None:
    with driven(home, "-m", home.script(DONE)) as session:
        session.ask("make_coffee", "x-1")
        response = session.until("control_response")["response"]
        assert session.end() == 0
    assert response == {
        "subtype": "error",
        "request_id": "x-1",
        "error": "Unsupported control request subtype: make_coffee",
    }


def test_a_line_of_20_megabytes_is_a_prompt_and_one_of_40_is_passed_over(home: Home) -> None:
    with driven(home, "-m", home.script({"text": "one"}, {"text": "two"})) as session:
        session.say("x" * 20_000_000)
        assert session.until("result")["result"] == "one"
        session.say("x" * 40_000_000)
        assert "longer than" in session.until(lambda event: event.get("subtype") == "notice")["text"]
        session.say("short")
        assert session.until("result")["result"] == "two"
        assert session.end() == 0


def test_a_failed_prompt_and_a_good_one_end_as_the_last_did(home: Home) -> None:
    script = home.script({"error": {"kind": "bad_request", "message": "no"}}, {"text": "fine"})
    with driven(home, "-m", script) as session:
        session.say("one")
        assert session.until("result")["is_error"]
        session.say("two")
        assert session.until("result")["result"] == "fine"
        assert session.end() == 0


def test_a_signal_between_prompts_ends_the_session(home: Home) -> None:
    with driven(home, "-m", home.script(DONE)) as session:
        session.say("go")
        session.until(lambda event: event.get("state") == "idle")
        session.process.send_signal(signal.SIGTERM)
        assert session.process.wait(10) == 143


def test_a_reader_of_stdout_that_goes_away_ends_the_session(home: Home) -> None:
    with driven(home, "-m", home.script(SLEEP, DONE), "--tools", "shell=auto") as session:
        session.say("go")
        session.until("assistant")
        assert session.process.stdout is not None
        session.process.stdout.close()
        session.ask("interrupt")
        assert session.process.wait(10) == 141


def sleeping(seconds: str) -> bool:
    """Whether a `sleep` of so many seconds is there. Inside of a sandbox processes have other ids."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == f"sleep\0{seconds}\0".encode():
                return True
    return False


def until_asleep(seconds: str) -> None:
    until = time.monotonic() + 20
    while not sleeping(seconds):
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("when", ["before a message", "between prompts", "during a call"])
@pytest.mark.parametrize("program", ["run", "remit-sdk"])
def test_a_reader_of_stdout_that_goes_away_ends_a_session_that_writes_nothing(
    home: Home, program: str, when: str
) -> None:
    """Also while stdin stays open; and the calls that are under way end with it."""
    seconds = f"61.{time.time_ns()}"
    nap = {"calls": [{"tool": "shell", "arguments": {"command": f"sleep {seconds}; true"}}]}
    script = home.script(nap if when == "during a call" else DONE, DONE)
    with (
        driven(home, "-m", script, "--tools", "shell=auto")
        if program == "run"
        else sdk(home, "--model", script, "--allowedTools", "Bash") as session
    ):
        if when != "before a message":
            session.say("go")
            session.until("result" if when == "between prompts" else "assistant")
        if when == "during a call":
            until_asleep(seconds)
        assert session.process.stdout is not None
        session.process.stdout.close()
        assert session.process.wait(10) == 141
        assert not sleeping(seconds)


def test_a_socket_that_is_closed_ends_a_session_as_a_pipe_does(home: Home) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, driven(home, "-m", home.script(DONE), stdout=theirs) as session:
        theirs.close()
        session.say("go")
        assert ours.recv(1)
        ours.close()
        assert session.process.wait(10) == 141


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--input-format", "stream-json"), "--output-format stream-json"),
        (("--input-format", "stream-json", "--output-format", "stream-json", "-"), "stdin carries"),
        (("--input-format", "stream-json", "--output-format", "stream-json", "--stdin", "x"), "stdin carries"),
    ],
)
def test_formats_that_do_not_go_together(home: Home, args: tuple[str, ...], what: str) -> None:
    ran = home.run("run", "-m", home.script(DONE), *args)
    assert ran.code == 2
    assert what in ran.stderr


def test_memory_stays_flat_over_many_messages(home: Home) -> None:
    count, step = 300, 100
    with driven(home, "-m", home.script({"text": "ok", "repeat": count})) as session:
        peaks = []
        for number in range(1, count + 1):
            session.say(f"message {number}")
            session.until("result")
            if number % step == 0:
                status = subprocess.run(
                    ["ps", "-o", "rss=", "-p", str(session.process.pid)], capture_output=True, text=True, check=True
                )
                peaks.append(int(status.stdout))
        assert session.end() == 0
    assert peaks[-1] - peaks[0] < 4_000, f"kilobytes after each {step} messages: {peaks}"


def asks(text: str) -> dict[str, Any]:
    options = [{"label": "red", "description": "warm"}, {"label": "blue"}]
    entry = {"question": text, "header": "Colour", "options": options}
    return {"calls": [{"tool": "question", "arguments": {"questions": [entry]}}]}


def test_the_client_answers_questions_of_the_model(home: Home) -> None:
    with driven(home, "-m", home.script(asks("Which?"), asks("And now?"), DONE), "--tools", "question") as session:
        session.say("ask me")
        request = session.until(asked)
        entry = request["request"]["input"]["questions"][0]
        assert (request["request"]["tool_name"], entry["question"]) == ("question", "Which?")
        assert entry["options"] == [{"label": "red", "description": "warm"}, {"label": "blue", "description": ""}]
        given = {**request["request"]["input"], "answers": {"Which?": "blue"}}
        session.reply(request, behavior="allow", updatedInput=given)
        assert tool_result(session)["content"] == "Colour: blue"
        session.reply(session.until(asked), behavior="deny", message="ask somebody else")
        assert "ask somebody else" in tool_result(session)["content"]
        assert session.end() == 0


def test_prepared_answers_come_before_the_client(home: Home) -> None:
    home.write("a.toml", 'version = 1\n[[answer]]\nquestion = "Which?"\nchoose = ["red"]\n')
    script = home.script(asks("Which?"), asks("And now?"), DONE)
    with driven(home, "-m", script, "--tools", "question", "-a", "a.toml") as session:
        session.say("ask me")
        assert tool_result(session)["content"] == "Colour: red"
        request = session.until(asked)
        assert request["request"]["input"]["questions"][0]["question"] == "And now?"
        session.reply(request, behavior="allow", updatedInput={"answers": {"And now?": "blue"}})
        assert tool_result(session)["content"] == "Colour: blue"
        assert session.end() == 0


def test_rules_that_come_with_an_answer_of_the_client(home: Home) -> None:
    rule = {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "file_write"}], "destination": "session"}
    more = {"calls": [{"tool": "file_write", "arguments": {"filePath": "b.txt", "content": "B"}}]}
    with driven(home, "-m", home.script(WRITE, more, DONE), "--tools", "file_write=ask") as session:
        session.say("write")
        session.reply(session.until(asked), behavior="allow", updatedPermissions=[rule])
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0
    assert (home.work / "b.txt").read_text() == "B"


def test_a_driven_model_may_call_tools_by_the_names_of_claude_code(home: Home) -> None:
    call = {"calls": [{"tool": "Write", "arguments": {"file_path": "a.txt", "content": "A"}}]}
    with driven(home, "-m", home.script(call, {"text": "Done."}), "--tools", "file_write=auto") as session:
        session.say("write")
        session.until("result")
        assert session.end() == 0
    made = next(line["message"]["content"][0] for line in session.seen if line["type"] == "assistant")
    assert (made["name"], made["input"]) == ("file_write", {"filePath": "a.txt", "content": "A"})
    assert (home.work / "a.txt").read_text() == "A"
    # Where nobody drives, such a name is none.
    ran = home.stream("-m", home.script(call, {"text": "Done."}), "--tools", "file_write=auto", "write")
    assert ran.result["counts"]["failed_calls"] == 1

"""`remit-sdk` line by line: what it is started with, what it is sent, and how it ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home
from fakes.driving import Driven
from fakes.model_server import ModelServer, text
from fakes.sdk import STREAM, run, sdk

DONE = {"text": "Done."}
SLEEP = {"calls": [{"tool": "shell", "arguments": {"command": "sleep 60"}}]}
WRITE = {"calls": [{"tool": "file_write", "arguments": {"filePath": "a.txt", "content": "A"}}]}
UUID = "11111111-2222-4333-8444-555555555555"


def names(session: Driven) -> list[str]:
    return [str(line.get("subtype", line["type"])) for line in session.seen]


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--nope",), "error: unknown option '--nope'"),
        (
            ("--output-format", "xml"),
            "error: option '--output-format <format>' argument 'xml' is invalid. "
            "Allowed choices are text, json, stream-json.",
        ),
        (("--max-turns", "zero"), "error: option '--max-turns <turns>' argument 'zero' is invalid. must be a number"),
        ((), "Error: Input must be provided either through stdin or as a prompt argument when using --print"),
        (
            ("--output-format=stream-json", "x"),
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            ("--input-format=stream-json",),
            "Error: --input-format=stream-json requires output-format=stream-json.",
        ),
        (
            ("--include-partial-messages", "x"),
            "Error: --include-partial-messages requires --print and --output-format=stream-json.",
        ),
        (("--json-schema", "{", "x"), "Error: --json-schema is not valid JSON:"),
        (("--session-id", "7", "x"), "Error: Invalid session ID. Must be a valid UUID."),
        (
            ("--resume", UUID, "--session-id", UUID, "x"),
            "Error: --session-id with --continue or --resume also needs --fork-session.",
        ),
        (("--mcp-config", "nowhere.json", "x"), "Error: Invalid MCP configuration:"),
        (("--settings", "nowhere.json", "x"), "Error: Settings file not found: nowhere.json"),
        (("--permission-prompt-tool", "mcp__s__t", "x"), "Error: MCP tool mcp__s__t"),
        (("--session-mirror", "x"), "Error: --session-mirror is not supported: sessions are kept in run directories"),
    ],
)
def test_bad_command_lines(home: Home, args: tuple[str, ...], what: str) -> None:
    ran = run(home, *args)
    assert (ran.code, ran.stdout) == (1, b"")
    assert ran.stderr.startswith(what)


@pytest.mark.parametrize(("flag", "value"), [("--model", True), ("--model=", False)])
def test_flags_are_taken_in_one_word_and_in_two(home: Home, flag: str, value: bool) -> None:
    script = home.script(DONE)
    args = (flag, script) if value else (f"{flag}{script}",)
    assert run(home, *args, "--setting-sources=", "go").stdout == b"Done.\n"


def test_the_environment_names_the_model_and_stdin_is_the_prompt(home: Home) -> None:
    ran = run(home, stdin=b"go", environ={"ANTHROPIC_MODEL": home.script(DONE)})
    assert (ran.code, ran.stdout) == (0, b"Done.\n")


def test_json_is_the_result_and_with_verbose_all_lines(home: Home) -> None:
    script = home.script(DONE)
    alone = json.loads(run(home, "--model", script, "--output-format", "json", "go").stdout)
    assert (alone["type"], alone["result"]) == ("result", "Done.")
    lines = json.loads(run(home, "--model", script, "--output-format", "json", "--verbose", "go").stdout)
    assert [line["type"] for line in lines] == ["system", "assistant", "result"]


def test_a_failure_is_printed_and_ends_with_1(home: Home) -> None:
    script = home.script({"error": {"kind": "bad_request", "message": "bad thing"}})
    ran = run(home, "--model", script, "go")
    assert ran.code == 1 and ran.stdout.startswith(b"API Error: ") and b"bad thing" in ran.stdout


def test_an_unknown_session_is_told_on_both_channels(home: Home) -> None:
    ran = run(home, *STREAM, "--model", home.script(DONE), f"--resume={UUID}", "go")
    assert ran.code == 1 and ran.stderr == f"No conversation found with session ID: {UUID}\n"
    [line] = ran.events
    assert (line["type"], line["subtype"], line["num_turns"]) == ("result", "error_during_execution", 0)


def test_a_session_id_is_used_once(home: Home) -> None:
    script = home.script(DONE)
    ran = run(home, *STREAM, "--model", script, "--session-id", UUID, "go")
    assert {line["session_id"] for line in ran.events} == {UUID}
    again = run(home, "--model", script, "--session-id", UUID, "go")
    assert again.stderr == f"Error: Session ID {UUID} is already in use.\n"


@pytest.mark.parametrize("line", [b"", {"type": "from_the_future"}])
def test_a_session_to_which_no_prompt_comes_fails(home: Home, line: Any) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        session.send(line)
        assert session.end() == 1
    [result] = session.seen
    assert (result["type"], result["subtype"], result["is_error"]) == ("result", "error_during_execution", True)
    assert "no prompt came on stdin" in result["errors"][0]


def test_a_client_that_connects_and_leaves_is_told_no_more(home: Home) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        session.ask("initialize", hooks=None)
        session.until("control_response")
        assert session.end() == 0
    assert [line["type"] for line in session.seen] == ["control_response"]


def test_each_message_has_an_init_a_result_and_a_life(home: Home) -> None:
    with sdk(home, "--model", home.script({"text": "one"}, {"text": "two"}), "--replay-user-messages") as session:
        session.say("first", uuid="u-1")
        first = session.until("result")
        session.say("second")
        second = session.until("result")
        assert session.end() == 0
    assert (first["result_index"], second["result_index"]) == (0, 1)
    assert first["user_message_uuids"] == ["u-1"]
    lives = [line["state"] for line in session.seen if line["type"] == "command_lifecycle"]
    assert lives == ["queued", "started", "completed"]
    replayed = [line["message"]["content"] for line in session.seen if line.get("isReplay")]
    assert replayed == ["first", "second"]
    assert names(session).count("init") == 2


def test_a_failed_prompt_and_a_good_one_end_as_the_last_did(home: Home) -> None:
    bad = {"error": {"kind": "bad_request", "message": "no"}}
    for turns, code in (((bad, DONE), 0), ((DONE, bad), 1)):
        with sdk(home, "--model", home.script(*turns)) as session:
            session.say("one")
            session.until("result")
            session.say("two")
            session.until("result")
            assert session.end() == code


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{bad\n", "Error parsing streaming input line (type=unknown, 4 chars): SyntaxError"),
        (b'{"type":"user"}\n', "Error: Expected message role 'user'"),
    ],
)
def test_a_line_that_makes_no_sense_ends_it(home: Home, line: bytes, what: str) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        session.say("go")
        session.until("result")
        session.send(line)
        assert session.end() == 1
        assert session.process.stderr is not None
        assert what in session.process.stderr.read().decode()


@pytest.mark.parametrize(
    "line",
    [
        b"\r\n",
        {"type": "keep_alive"},
        {"type": "control_response", "response": {"subtype": "success", "request_id": "nobody", "response": {}}},
        {"type": "from_the_future"},
    ],
)
def test_lines_that_ask_for_nothing_are_passed_over(home: Home, line: Any) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        session.send(line)
        session.say("go")
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0


@pytest.mark.parametrize(
    ("request_", "error", "code"),
    [
        ({"subtype": "make_coffee"}, "Unsupported control request subtype: make_coffee", None),
        ({"subtype": "rewind_files"}, "File rewinding is not enabled.", None),
        ({"subtype": "mcp_reconnect", "serverName": "x"}, "Server not found: x", None),
        ({"subtype": "set_permission_mode", "mode": "odd"}, "Invalid permission mode", "invalid_mode"),
        ({"subtype": "set_permission_mode", "mode": "bypassPermissions"}, "Cannot set", "bypass_not_launched"),
        ({"subtype": "initialize", "hooks": {"Stop": [{}]}}, "hooks.Stop: an entry needs hookCallbackIds", None),
        ({"subtype": "initialize", "jsonSchema": 3}, "jsonSchema: ", None),
    ],
)
def test_control_requests_that_are_refused(home: Home, request_: dict[str, Any], error: str, code: str | None) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        session.ask(request_.pop("subtype"), **request_)
        response = session.until("control_response")["response"]
        assert session.end() == 0
    assert response["subtype"] == "error" and response["error"].startswith(error)
    assert response.get("error_code") == code


def test_states_are_told_to_those_who_read_them(home: Home) -> None:
    environ = {"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}
    with sdk(home, "--model", home.script(DONE), environ=environ) as session:
        session.say("go")
        assert session.end() == 0
    states = [line["state"] for line in session.seen if line.get("subtype") == "session_state_changed"]
    assert states == ["running", "idle"]
    assert names(session)[0] == "session_state_changed" and names(session)[-1] == "session_state_changed"


def test_a_tool_of_the_client_with_a_faulty_schema_is_left_out(home: Home) -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    tools = [
        {"name": "good", "inputSchema": draft},
        {"name": "bad", "inputSchema": {"type": "objekt"}},
        {"name": "", "inputSchema": {}},
    ]
    answers = {"initialize": {"serverInfo": {"name": "demo"}}, "tools/list": {"tools": tools}}
    with sdk(
        home, "--model", home.script(DONE), "--mcp-config", '{"mcpServers": {"demo": {"type": "sdk"}}}'
    ) as session:
        session.say("go")
        for _ in range(3):
            request = session.until("control_request")
            asked = request["request"]["message"]
            session.reply(request, mcp_response={"result": answers.get(asked["method"], {}), "id": asked.get("id")})
        assert session.until("result")["result"] == "Done."
        assert session.end() == 0
    init = next(line for line in session.seen if line.get("subtype") == "init")
    assert [name for name in init["tools"] if name.startswith("mcp__")] == ["mcp__demo__good"]
    [told] = [line for line in session.seen if "the tool bad is not offered" in json.dumps(line)]
    assert "objekt" in json.dumps(told)


def asks(*questions: str) -> dict[str, Any]:
    options = [{"label": "red", "description": "warm"}, {"label": "blue"}]
    entries = [{"question": text, "header": text[:5], "options": options} for text in questions]
    return {"calls": [{"tool": "question", "arguments": {"questions": entries}}]}


ASKED = ("--permission-prompt-tool", "stdio")


def answered(session: Driven) -> Any:
    result = session.until(lambda line: line["type"] == "user" and "tool_use_result" in line)
    [block] = result["message"]["content"]
    return block["content"], result["tool_use_result"]


def test_questions_are_answered_along_with_the_permission(home: Home) -> None:
    script = home.script(asks("First?", "Other?", "Third?"), DONE)
    with sdk(home, "--model", script, *ASKED) as session:
        session.say("go")
        request = session.until("control_request")
        asked = request["request"]
        assert asked["tool_name"] == "AskUserQuestion" and asked["requires_user_interaction"] is True
        assert asked["input"]["questions"][0]["options"][0] == {"label": "red", "description": "warm"}
        assert [each["multiSelect"] for each in asked["input"]["questions"]] == [False] * 3
        answers = {"First?": "red", "Other?": ["red", "blue"], "Third?": ""}
        session.reply(request, behavior="allow", updatedInput={**asked["input"], "answers": answers})
        # One that was left open is put again by itself.
        again = session.until("control_request")
        assert [each["question"] for each in again["request"]["input"]["questions"]] == ["Third?"]
        session.reply(again, behavior="deny", message="no more")
        content, shown = answered(session)
        assert content == "First: red\nOther: red, blue\nThird: (no answer)"
        assert shown["answers"] == {"First?": "red", "Other?": "red, blue"}
        assert session.end() == 0
    assert "AskUserQuestion" in session.seen[0]["tools"]


def test_a_question_is_put_in_a_mode_that_asks_for_no_permission(home: Home) -> None:
    with sdk(
        home,
        "--model",
        home.script(asks("First?"), DONE),
        *ASKED,
        "--permission-mode",
        "bypassPermissions",
        environ={"IS_SANDBOX": "1"},
    ) as session:
        session.say("go")
        request = session.until("control_request")
        given = {**request["request"]["input"], "answers": {"First?": "blue"}}
        session.reply(request, behavior="allow", updatedInput=given)
        assert answered(session)[0] == "First: blue"
        assert session.end() == 0


def test_a_question_that_nobody_answers(home: Home) -> None:
    with sdk(home, "--model", home.script(asks("First?"), DONE), *ASKED) as session:
        session.say("go")
        session.reply(session.until("control_request"), behavior="deny", message="not now")
        assert answered(session)[0] == "not now"
        assert session.end() == 0


def test_no_question_is_offered_where_nobody_can_be_asked(home: Home) -> None:
    ran = run(home, "go", *STREAM, "--model", home.script(DONE), "--tools", "AskUserQuestion,Read")
    assert ran.events[0]["tools"] == ["Read", "tool_output"]


PROVIDERS = """\
version = 1
[mine]
protocol = "openai"
base_url = "URL"
[[mine.models]]
id = "thinks"
thinking = "effort"
"""


def test_how_much_to_think_is_set_between_prompts(home: Home) -> None:
    given = (None, 0, 4_000, 4_001, 16_001, None)
    with ModelServer([text("Done.")] * len(given)) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        with sdk(home, "--model", "mine/thinks") as session:
            for number, tokens in enumerate(given):
                if number:
                    session.ask("set_max_thinking_tokens", max_thinking_tokens=tokens)
                    assert session.until("control_response")["response"]["subtype"] == "success"
                session.say(f"go {number}")
                assert session.until("result")["result"] == "Done."
            assert session.end() == 0
        sent = [request.body.get("reasoning_effort") for request in server.requests]
    assert sent == [None, "none", "low", "medium", "high", None]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_a_result(home: Home, number: signal.Signals, code: int) -> None:
    with sdk(home, "--model", home.script(SLEEP, DONE), "--allowedTools", "Bash") as session:
        session.say("go")
        session.until("assistant")
        session.process.send_signal(number)
        result = session.until("result")
        assert session.process.wait(20) == code
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_before_the_first_message(home: Home, number: signal.Signals, code: int) -> None:
    with sdk(home, "--model", home.script(DONE)) as session:
        session.ask("initialize")
        session.until("control_response")
        session.process.send_signal(number)
        assert session.process.wait(20) == code


def test_a_call_that_nobody_allowed_is_refused_and_told(home: Home) -> None:
    ran = run(home, *STREAM, "--model", home.script(WRITE, DONE), "go")
    assert ran.code == 0
    denied = next(line for line in ran.events if line.get("subtype") == "permission_denied")
    assert denied["tool_name"] == "Write"
    assert ran.result["permission_denials"][0]["tool_name"] == "Write"


def test_tools_that_are_not_there_are_told_and_no_error(home: Home) -> None:
    args = ("--allowedTools", "NotebookEdit,Write(a.txt)", "--tools", "Read,Write,NotebookEdit")
    ran = run(home, "go", *STREAM, "--model", home.script(WRITE, DONE), *args)
    assert ran.code == 0 and "NotebookEdit" in ran.stderr
    assert (home.work / "a.txt").read_text() == "A"
    assert {"Read", "Write"} <= set(ran.events[0]["tools"]) and "Bash" not in ran.events[0]["tools"]


def test_a_tool_that_is_disallowed_is_not_there(home: Home) -> None:
    ran = run(home, "go", *STREAM, "--model", home.script(WRITE, DONE), "--disallowed-tools", "Write")
    refused = next(line for line in ran.events if line["type"] == "user")["message"]["content"][0]
    assert refused["content"].startswith("<tool_use_error>Error: No such tool available: Write")
    assert ran.result["permission_denials"] == []


def test_servers_that_are_not_connected_to_are_shown_as_failed(home: Home) -> None:
    config = json.dumps({"mcpServers": {"far": {"type": "http", "url": "http://127.0.0.1:1"}}})
    ran = run(home, *STREAM, "--model", home.script(DONE), "--mcp-config", config, "go")
    why = "only servers of the client are served, not those of type http"
    assert ran.events[0]["mcp_servers"] == [{"name": "far", "status": "failed", "source": "config", "error": why}]
    assert ran.stderr == f"remit-sdk: MCP server far: {why}\n"


def test_another_model_on_the_way(home: Home) -> None:
    other = home.script({"text": "unused"}, {"text": "other"}, name="other.yaml")
    with sdk(home, "--model", home.script({"text": "one"})) as session:
        session.say("go")
        session.until("result")
        session.ask("set_model", model=other)
        assert session.until("control_response")["response"]["response"] == {"model": other}
        session.say("go")
        assert session.until("result")["result"] == "other"
        assert session.end() == 0


def test_help_and_version(home: Home) -> None:
    assert b"--permission-mode" in run(home, "--help").stdout
    assert run(home, "--version").stdout.startswith(b"2.")


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ((), "nobody answers a question"),
        (("--permission-prompt-tool", "stdio"), "a question is answered where the tool for questions puts it"),
        (("--permission-prompt-tool", "stdio", "--tools", "Read"), "nobody answers a question"),
    ],
)
def test_the_model_is_told_who_is_there(home: Home, args: tuple[str, ...], what: str) -> None:
    with ModelServer([text("Done.")]) as server:
        tables = f'version = 1\n[own]\nprotocol = "openai"\nbase_url = "{server.url}"\napi_key_env = "OWN_KEY"\n'
        (home.path / "config" / "providers.toml").write_text(tables)
        with sdk(home, "--model", "own/m", *args, environ={"OWN_KEY": "key"}) as session:
            session.send(message("go"))
            session.until("result")
        told = server.requests[0].body["messages"][0]["content"]
    assert "a program drives: it reads along" in told and what in told
    assert "works alone" not in told


HALF = r'{"type": "user", "message": {"role": "user", "content": "half \ud83d of it"}, "session_id": ""}'
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
NOTE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a note"}}
PARTS = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a part"}]}}
FAR = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
READ = {"type": "text", "text": "read"}


def message(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, "session_id": "", **more}


def test_texts_that_come_in_other_shapes_are_taken(home: Home) -> None:
    with sdk(home, "--model", home.script(DONE, DONE), "--replay-user-messages") as session:
        session.send(b"\xef\xbb\xbf" + HALF.encode() + b"\n")
        session.until("result")
        session.send(message([READ, NOTE, PARTS]))
        session.until("result")
        assert session.end() == 0
    said = [line["message"]["content"] for line in session.seen if line.get("isReplay")]
    assert said == ["half \ufffd of it", "read\na note\na part"]


UNTAKEN = [
    ([READ, PDF], "block 2 of the message is a document that is no text: give its text"),
    ([FAR], "block 1 of the message is an image that is not given in base64: give the image itself"),
    ([READ, {"type": "hologram"}], "block 2 of the message is of type 'hologram': leave it out"),
    ([{"type": "text", "text": 5}], "block 1 of the message has no text"),
    (["read"], "block 1 of the message has no type"),
    ("", "the message is empty"),
    (" \n", "the message is empty"),
    ([], "the message is empty"),
    ([{"type": "text", "text": ""}], "the message is empty"),
    (None, "the content of a message is a text or a list of blocks"),
]


@pytest.mark.parametrize(("content", "what"), UNTAKEN)
def test_a_message_that_cannot_be_taken_ends_its_own_prompt_alone(home: Home, content: Any, what: str) -> None:
    """In an error that says what to do, and without the model."""
    with sdk(home, "--model", home.script(DONE), "--replay-user-messages") as session:
        session.send(message(content, uuid="u-1"))
        failed = session.until("result")
        session.send(message("go"))
        result = session.until("result")
        assert session.end() == 0
    assert failed["is_error"] and failed["subtype"] == "error_during_execution" and what in failed["errors"][0]
    assert failed["user_message_uuids"] == ["u-1"] and failed["usage"]["output_tokens"] == 0
    assert (result["is_error"], result["result"], result["result_index"]) == (False, "Done.", 1)
    assert names(session).count("assistant") == 1


def test_what_cannot_be_taken_does_not_end_the_prompt_that_it_comes_into(home: Home) -> None:
    """And nothing of it reaches the model later."""
    wait = {"calls": [{"tool": "shell", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}]}
    with sdk(home, "--model", home.script(wait, {"text": "one"}, {"text": "two"}), "--allowedTools", "Bash") as session:
        session.send(message("wait"))
        session.until("assistant")
        session.send(message([{"type": "text", "text": "xyzzy"}, PDF]))
        session.send(message("and this"))
        session.ask("get_context_usage")
        session.until("control_response")
        (home.work / "go").touch()
        told = [session.until("result") for _ in range(3)]
        assert session.end() == 0
    assert [each.get("result") for each in told] == ["one", None, "two"]
    directory = Path(next(line["run_dir"] for line in session.seen if "run_dir" in line))
    assert "xyzzy" not in (directory / "journal.jsonl").read_text()


def test_a_message_that_was_said_already_is_acknowledged_and_no_more(home: Home) -> None:
    """Also by a process that takes the session up."""
    args = ("--model", home.script({"text": "one"}, {"text": "two"}, {"text": "three"}), "--replay-user-messages")
    with sdk(home, *args) as session:
        session.send(message("go", uuid="u-1"))
        session_id = session.until("result")["session_id"]
        session.send(message("go", uuid="u-1"))
        session.send(message("go on", uuid="u-2"))
        assert session.until("result")["result"] == "two"
        assert session.end() == 0
    replayed = [line["uuid"] for line in session.seen if line.get("isReplay")]
    assert replayed == ["u-1", "u-1", "u-2"]
    with sdk(home, *args, f"--resume={session_id}") as session:
        session.send(message("go", uuid="u-1"))
        session.send(message("go on", uuid="u-3"))
        assert session.until("result")["user_message_uuids"] == ["u-3"]
        session.send(message("go on", uuid="u-2"))
        assert session.end() == 0
    assert [line["type"] for line in session.seen].count("result") == 1


DEEP: Any = "x"
for _ in range(150):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        ({"behavior": "allow", "updatedInput": "rm x"}, "neither yes nor no"),
        ({"behavior": "allow", "updatedInput": ["rm x"]}, "neither yes nor no"),
        ({"behavior": "allow", "updatedPermissions": "all"}, "neither yes nor no"),
        ({"behavior": "allow", "updatedInput": {"content": DEEP}}, "its answer is nested deeper than 100 levels"),
    ],
)
def test_an_allowance_of_another_shape_is_none(home: Home, reply: dict[str, Any], what: str) -> None:
    with sdk(home, "--model", home.script(WRITE, DONE), "--permission-prompt-tool", "stdio") as session:
        session.say("go")
        session.reply(session.until("control_request"), **reply)
        told = session.until("user")["message"]["content"][0]
        assert session.end() == 0
    assert told["is_error"] and what in told["content"] and not (home.work / "a.txt").exists()


def test_messages_of_all_sessions_have_ids_of_their_own_and_tell_their_usage(home: Home) -> None:
    used = {"usage": {"input": 7, "output": 3, "cache_read": 2}}
    script = home.script({**WRITE, **used}, {**DONE, **used}, {**DONE, **used})
    args = ("go", *STREAM, "--include-partial-messages", "--model", script, "--permission-mode", "acceptEdits")
    first = run(home, *args)
    second = run(home, *args, f"--resume={first.events[0]['session_id']}")
    third = run(home, *args)
    ids: list[str] = []
    for ran in (first, second, third):
        said = [line["message"] for line in ran.events if line["type"] == "assistant"]
        assert [message["usage"]["input_tokens"] for message in said] == [7] * len(said)
        assert said[0]["usage"]["output_tokens"] == 3 and said[0]["usage"]["cache_read_input_tokens"] == 2
        begun = [line["event"]["message"]["id"] for line in ran.events if "message" in line.get("event", {})]
        assert begun == [message["id"] for message in said]
        ids += begun
    assert len(ids) >= 5 and len(set(ids)) == len(ids)


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments} for tool, arguments in made]}


def test_the_model_may_call_tools_by_the_names_of_the_client(home: Home) -> None:
    path = str(home.work / "a.txt")
    script = home.script(
        calls(("Write", {"file_path": path, "content": "A"})),
        calls(("Edit", {"file_path": path, "old_string": "A", "new_string": "B"})),
        calls(
            ("Bash", {"command": "cat a.txt", "timeout": 5000, "description": "look"}), ("Read", {"file_path": path})
        ),
        calls(("Grep", {"pattern": "B", "glob": "*.txt"}), ("Nope", {})),
        DONE,
    )
    args = ("--model", script, "--permission-mode", "acceptEdits", "--allowedTools", "Bash")
    ran = run(home, "go", *STREAM, *args)
    assert ran.code == 0 and (home.work / "a.txt").read_text() == "B"
    blocks = [line["message"]["content"][0] for line in ran.events if line["type"] in ("assistant", "user")]
    used = [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    assert [name for name, _ in used] == ["Write", "Edit", "Bash", "Read", "Grep", "Nope"]
    assert used[1][1] == {"file_path": path, "old_string": "A", "new_string": "B"}
    assert used[2][1]["timeout"] == 5000
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert [bool(block.get("is_error")) for block in results] == [False] * 5 + [True]
    assert results[-1]["content"] == "<tool_use_error>Error: No such tool available: Nope.</tool_use_error>"
    # Taken up again, the transcript holds what the tools did.
    again = run(home, "go", *STREAM, *args, f"--resume={ran.events[0]['session_id']}")
    assert again.events[-1]["api_error_type"] == "unknown" and "5 turns" in again.events[-1]["result"]


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (
            ("shell", {"command": "true", "foo": 1}),
            "Bash: Object contains unknown field `foo`; the parameters are: command, timeout",
        ),
        (("Bash", {"timeout": 5}), "Bash: "),
        (("Read", {"filePath": 7}), "file_path"),
    ],
)
def test_what_is_wrong_with_a_call_is_told_in_words_of_the_client(
    home: Home, made: tuple[str, dict[str, Any]], seen: str
) -> None:
    ran = run(home, "go", *STREAM, "--model", home.script(calls(made), DONE), "--allowedTools", "Bash")
    [told] = [line["message"]["content"][0]["content"] for line in ran.events if line["type"] == "user"]
    assert "InputValidationError" in told and seen in told
    assert not any(ours in told for ours in ("shell", "timeoutSec", "filePath", "file_read"))


def test_a_refusal_is_told_in_words_of_the_client(home: Home) -> None:
    script = home.script(calls(("Bash", {"command": "rm x"})), DONE)
    with sdk(home, "--model", script, "--disallowedTools", "Bash(rm:*)") as session:
        session.say("go")
        denied = session.until(lambda line: line.get("subtype") == "permission_denied")
        told = session.until("user")["message"]["content"][0]["content"]
        assert session.end() == 0
    assert denied["tool_name"] == "Bash" and denied["message"].startswith("Bash on ") and told.startswith("Bash on ")
    with sdk(home, "--model", script, "--permission-prompt-tool", "stdio") as session:
        session.say("go")
        asked = session.until("control_request")
        assert asked["request"]["tool_name"] == "Bash" and "shell" not in asked["request"]["decision_reason"]
        error = {"subtype": "error", "request_id": asked["request_id"], "error": "boom"}
        session.send({"type": "control_response", "response": error})
        told = session.until("user")["message"]["content"][0]["content"]
        assert session.end() == 0
    assert told == "Bash needs a permission that could not be asked for: boom"


def test_a_hint_names_a_tool_that_is_offered(home: Home) -> None:
    script = home.script(calls(("Read", {"file_path": str(home.work / "none.txt")})), DONE)
    for tools, hint in (("Read,Glob", "; Glob shows what does"), ("Read", "does not exist in the workspace")):
        ran = run(home, "go", *STREAM, "--model", script, "--tools", tools)
        [told] = [line["message"]["content"][0]["content"] for line in ran.events if line["type"] == "user"]
        assert told.rstrip().endswith(hint)


def test_help_and_manual_tell_of_every_flag(home: Home) -> None:
    from remit.commands.manual.sdk import UNSUPPORTED
    from remit.commands.sdk_flags import FLAGS

    told = run(home, "--help").stdout.decode()
    manual = home.run("man", "sdk").stdout.decode()
    for flag in FLAGS:
        assert flag.help and ", ".join(flag.names) in told and flag.names[0] in manual
    assert all(name in manual for name in UNSUPPORTED)


def test_wishes_that_are_not_met_are_told(home: Home) -> None:
    args = ("--betas", "x", "--plugin-dir", "p", "--task-budget", "5", "--agent=a", "--strict-mcp-config")
    args += ("--debug-to-stderr", "--bare", "-n", "mine", "--disable-slash-commands", "--ide")
    ran = run(home, "go", "--model", home.script(DONE), *args)
    assert ran.code == 0
    names = ("--task-budget", "--betas", "--plugin-dir", "--agent", "--debug-to-stderr", "--bare", "--name", "--ide")
    assert ran.stderr.splitlines() == [f"remit-sdk: {name} has no effect" for name in names]


@pytest.mark.parametrize("args", [("--worktree",), ("-w", "x"), ("--worktree=x",)])
def test_a_flag_whose_protection_would_be_missing_is_refused(home: Home, args: tuple[str, ...]) -> None:
    ran = run(home, "go", "--model", home.script(DONE), *args)
    name = args[0].partition("=")[0]
    assert (ran.code, ran.stdout) == (1, b"")
    assert ran.stderr.startswith(f"error: option '{name}' is not supported: no worktree is made")

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from remit.base.errors import UsageFault
from remit.base.events import (
    EVENT_TYPES,
    ApiRetry,
    ApprovalUsed,
    ArtifactPublished,
    Assistant,
    BackgroundTasks,
    CheckFinished,
    CompactBoundary,
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Event,
    GoalUpdated,
    HookResponse,
    HookStarted,
    HostReached,
    Init,
    ModelFallback,
    Notice,
    PermissionAsked,
    PermissionDenied,
    PlanUpdated,
    Result,
    SessionState,
    Status,
    StreamEvent,
    TaskNotification,
    TaskProgress,
    TaskStarted,
    TaskUpdated,
    TodosUpdated,
    User,
)
from remit.stream.reader import read_event, read_events
from remit.stream.schema import events_schema, schema_text
from remit.stream.writer import encode_line

GOLDEN = Path(__file__).parents[2] / "golden" / "events.schema.json"
STAMP = {"session_id": "s", "uuid": "u"}
RESULT: dict[str, Any] = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 2, **STAMP}

EVENTS: list[Event] = [
    Init(cwd="/w", model="m", tools=["read_file"], remit_version="0", run_id="r", run_dir="/o", provider="p", **STAMP),
    Assistant(message={"role": "assistant", "content": [{"type": "text", "text": "a\u2028b"}]}, **STAMP),
    Assistant(message={"role": "assistant", "content": []}, parent_tool_use_id="c0", timestamp="t", **STAMP),
    User(message={"role": "user", "content": []}, **STAMP),
    User(message={}, tool_use_result={"ok": True}, tool_result_meta=[{"id": "c1"}], isSynthetic=True, **STAMP),
    PermissionDenied(
        tool_name="t",
        tool_use_id="c1",
        message="m",
        decision_reason="w",
        rule="f:1",
        source="task",
        resource="x",
        **STAMP,
    ),
    PermissionAsked(
        tool_name="t",
        tool_use_id="c",
        decision_reason="w",
        rule="f:1",
        source="task",
        resource="x",
        approval="a",
        **STAMP,
    ),
    ApprovalUsed(tool_name="t", tool_use_id="c1", allowed=True, approval="a.toml:3", why="w", **STAMP),
    ModelFallback(trigger="busy", original_model="a/b", fallback_model="c/d", content="no", **STAMP),
    Status(status="compacting", **STAMP),
    StreamEvent(event={"type": "message_stop"}, api_message_id="msg_1", **STAMP),
    SessionState(state="idle", **STAMP),
    ControlRequest(request_id="1", request={"subtype": "can_use_tool"}, **STAMP),
    ControlResponse(response={"subtype": "success", "request_id": "1", "response": {}}, **STAMP),
    ControlCancel(request_id="1", **STAMP),
    CompactBoundary(compact_metadata={"trigger": "auto", "pre_tokens": 9}, **STAMP),
    ApiRetry(attempt=1, max_retries=3, retry_delay_ms=500, error_status=None, error="reset", **STAMP),
    GoalUpdated(kind="evaluation", condition="a", evaluation=1, verdict="met", reason="b", model="p/m", **STAMP),
    HostReached(tool_name="shell", tool_use_id="c", host="a.example", port=443, allowed=False, reason="no", **STAMP),
    ArtifactPublished(name="a.md", bytes=1, sha256="0", media_type="text/markdown", path="artifacts/a.md", **STAMP),
    HookStarted(hook_id="h", hook_name="PreToolUse:shell", hook_event="PreToolUse", where="h.toml:3", **STAMP),
    HookResponse(
        hook_id="h",
        hook_name="PreToolUse:shell",
        hook_event="PreToolUse",
        where="h.toml:3",
        outcome="error",
        reason="no",
        exit_code=None,
        **STAMP,
    ),
    PlanUpdated(steps=[{"step": "a", "status": "pending"}], note="n", **STAMP),
    TaskStarted(
        task_id="t",
        run_id="r",
        tool_use_id="c",
        description="d",
        task_type="local_agent",
        is_backgrounded=True,
        subagent_type="builtin",
        spawn_depth=1,
        prompt="p",
        agent_id="t",
        **STAMP,
    ),
    TaskStarted(
        task_id="t",
        run_id="r",
        tool_use_id="c",
        description="d",
        task_type="local_bash",
        is_backgrounded=True,
        **STAMP,
    ),
    TaskProgress(
        task_id="t",
        run_id="r",
        tool_use_id="c",
        description="d",
        subagent_type="builtin",
        usage={"total_tokens": 1},
        last_tool_name="shell",
        **STAMP,
    ),
    TaskUpdated(task_id="t", run_id="r", patch={"status": "killed", "end_time": 1}, **STAMP),
    TaskNotification(task_id="t", run_id="r", tool_use_id="c", status="stopped", output_file="", summary="s", **STAMP),
    SessionState(state="idle", **STAMP),
    ControlRequest(request_id="r", request={"subtype": "can_use_tool"}, **STAMP),
    ControlResponse(response={"subtype": "success", "request_id": "r"}, **STAMP),
    ControlCancel(request_id="r", **STAMP),
    BackgroundTasks(tasks=[{"task_id": "t", "task_type": "local_bash", "description": "d"}], **STAMP),
    TodosUpdated(todos=[{"content": "a", "status": "pending", "priority": "low"}], **STAMP),
    CheckFinished(command="true", ok=True, **STAMP),
    Notice(kind="repair", text="x", **STAMP),
    Result(subtype="success", is_error=False, verdict="done", exit_code=0, result="", **RESULT),
    Result(
        subtype="error_max_turns",
        is_error=True,
        verdict="budget",
        exit_code=7,
        errors=["e"],
        structured_output=[1],
        **RESULT,
    ),
]


def test_the_published_schema_is_the_golden_one() -> None:
    """To accept a change: python -c 'from remit.stream.schema import schema_text as t; print(t(), end="")'"""
    assert schema_text() == GOLDEN.read_text()


def test_it_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(events_schema())


def test_there_is_an_example_of_every_event() -> None:
    assert {type(event) for event in EVENTS} == set(EVENT_TYPES)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_real_lines_fit_the_schema_by_exactly_one_kind(event: Event) -> None:
    line = json.loads(encode_line(event))
    schema = events_schema()
    fitting = [
        branch["$ref"].rsplit("/", 1)[1]
        for branch in schema["anyOf"]
        if jsonschema.Draft202012Validator({**branch, "$defs": schema["$defs"]}).is_valid(line)
    ]

    assert fitting == [type(event).__name__]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_the_schema_demands_each_field_that_a_line_always_has(event: Event) -> None:
    line = json.loads(encode_line(event))
    validator = jsonschema.Draft202012Validator(events_schema())
    optional = {"result", "structured_output", "errors", "tool_use_result", "tool_result_meta", "isSynthetic"}
    optional |= {"agent_id", "subagent_type", "task_description", "spawn_depth", "prompt", "origin"}

    for name in set(line) - optional:
        assert not validator.is_valid({key: value for key, value in line.items() if key != name}), name
    assert validator.is_valid(line | {"of_a_later_version": 1})


@pytest.mark.parametrize(
    "line", [{}, {"type": "system"}, {"type": "system", "subtype": "dream"}, {"type": "dream"}, []]
)
def test_what_is_no_event_does_not_fit(line: Any) -> None:
    assert not jsonschema.Draft202012Validator(events_schema()).is_valid(line)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_a_line_is_read_back_as_the_event_it_was(event: Event) -> None:
    assert read_event(encode_line(event)) == event
    assert read_event(encode_line(event).decode()) == event


def test_kinds_of_a_later_version_are_handed_on_as_they_are() -> None:
    for fields in ({"type": "system", "subtype": "dream", "n": 1}, {"type": "later_event"}, {"type": ["odd"]}, {}):
        assert read_event(msgspec.json.encode(fields)) == fields


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{", "not a line of JSON"),
        (b"\xff", "not a line of JSON"),
        (b"[1, 2]", r"not an event, but \[1, 2\]"),
        (b'{"type": "result", "subtype": "success"}', "this Result event does not fit: .*missing required field"),
        (b'{"type": "system", "subtype": "notice", "kind": 1, "text": ""}', "this Notice event does not fit"),
    ],
)
def test_what_cannot_be_read_names_its_line(line: bytes, what: str) -> None:
    with pytest.raises(UsageFault, match=what) as caught:
        list(read_events([encode_line(EVENTS[0]), b"\n", line], "events.jsonl"))
    assert caught.value.where == "events.jsonl:3"


def test_a_stream_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(encode_line(event) + b"\n" for event in EVENTS))

    with path.open("rb") as lines:
        assert list(read_events(lines)) == EVENTS

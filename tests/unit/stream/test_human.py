from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from remit.base.events import (
    EVENT_TYPES,
    ApiRetry,
    ApprovalUsed,
    ArtifactPublished,
    Assistant,
    CheckFinished,
    Event,
    HostReached,
    Init,
    Notice,
    PermissionAsked,
    PermissionDenied,
    PlanUpdated,
    Result,
    TodosUpdated,
    User,
)
from remit.stream.human import Human, wants_color

INIT = Init(
    cwd="/w",
    model="scripted/demo",
    tools=["read_file"],
    remit_version="0",
    run_id="r1",
    run_dir="/elsewhere/out",
    provider="scripted",
    scripted=True,
    withheld_tools={"fetch_url": "no host is allowed"},
)
CALL = Assistant(
    message={
        "content": [
            {"type": "text", "text": "let me look"},
            {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.txt"}},
        ]
    }
)


def failed(code: str, message: str) -> User:
    return User(
        message={"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "{}", "is_error": True}]},
        tool_use_result={"ok": False, "error": {"code": code, "message": message}},
    )


def asked(approval: str = '[[approval]]\ntool = "fetch_url"\ndecide = "allow"\n') -> PermissionAsked:
    return PermissionAsked(
        tool_name="fetch_url", tool_use_id="c1", decision_reason="ask first", rule="task.yaml:7", source="task",
        resource="https://example.org/", approval=approval,
    )  # fmt: skip


def result(**fields: Any) -> Result:
    settings: dict[str, Any] = {
        "subtype": "success",
        "is_error": False,
        "verdict": "done",
        "exit_code": 0,
        "duration_ms": 1234,
        "duration_api_ms": 1,
        "num_turns": 2,
        "run_id": "r1",
        "run_dir": "/elsewhere/out",
    }
    return Result(**(settings | fields))


FAILED: dict[str, Any] = {"subtype": "error_during_execution", "is_error": True, "verdict": "provider", "exit_code": 5}


def told(*events: Event, **settings: Any) -> list[str]:
    read, write = os.pipe()
    human = Human(write, **settings)
    for event in events:
        human.on_event(event, b"")
    os.close(write)
    with os.fdopen(read, "rb") as file:
        return file.read().decode().splitlines()


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        (
            [INIT],
            [
                "run r1 with scripted/demo (scripted, no model is asked) in /elsewhere/out",
                "not offered: fetch_url: no host is allowed",
            ],
        ),
        ([CALL], ['read_file {"path":"a.txt"}']),
        ([User(message={"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "fine"}]})], []),
        (
            [CALL, failed("not_found", "a.txt is not there")],
            ['read_file {"path":"a.txt"}', "  read_file failed: not_found: a.txt is not there"],
        ),
        ([failed("timeout", "slow")], ["  call failed: timeout: slow"]),
        ([failed("denied", "told already")], []),
        ([failed("approval_required", "told already")], []),
        (
            [
                PermissionDenied(
                    tool_name="fetch_url",
                    tool_use_id="c1",
                    message="m",
                    decision_reason="not this host",
                    rule="task.yaml:7",
                    source="task",
                    resource="https://example.org/",
                )
            ],
            ["  refused fetch_url https://example.org/: not this host [task task.yaml:7]"],
        ),
        ([asked()], ["  fetch_url https://example.org/ needs an approval: ask first [task task.yaml:7]"]),
        (
            [ApprovalUsed(tool_name="fetch_url", tool_use_id="c", allowed=True, approval="a.toml:3", why="checked")],
            ["  fetch_url allowed by a.toml:3: checked"],
        ),
        (
            [ApprovalUsed(tool_name="fetch_url", tool_use_id="c", allowed=False, approval="a.toml:3", why="no")],
            ["  fetch_url denied by a.toml:3: no"],
        ),
        (
            [ApiRetry(attempt=2, max_retries=5, retry_delay_ms=1500, error_status=529, error="overloaded")],
            ["  the model request failed (HTTP 529): overloaded; try 2 of 5 in 1.5 s"],
        ),
        (
            [ApiRetry(attempt=1, max_retries=5, retry_delay_ms=0, error_status=None, error="reset")],
            ["  the model request failed: reset; try 1 of 5 in 0.0 s"],
        ),
        (
            [ArtifactPublished(name="a.md", bytes=1234, sha256="0", media_type="m", path="artifacts/a.md")],
            ["  artifact a.md, 1,234 bytes"],
        ),
        (
            [PlanUpdated(steps=[{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}])],
            ["  plan: 1 of 2 done; now: b"],
        ),
        ([PlanUpdated(steps=[])], ["  plan: 0 of 0 done"]),
        (
            [
                TodosUpdated(
                    todos=[
                        {"content": "a", "status": "completed", "priority": "low"},
                        {"content": "b", "status": "cancelled", "priority": "low"},
                        {"content": "c", "status": "in_progress", "priority": "high"},
                    ]
                )
            ],
            ["  todos: 2 of 3 done; now: c"],
        ),
        ([TodosUpdated(todos=[])], ["  todos: 0 of 0 done"]),
        (
            [
                HostReached(tool_name="shell", tool_use_id="c", host="a.example", port=443, allowed=True),
                HostReached(tool_name="shell", tool_use_id="c", host="b.example", port=80, allowed=False, reason="no"),
            ],
            ["  shell connects to a.example:443", "  refused shell b.example:80: no"],
        ),
        ([CheckFinished(command="true", ok=True)], ["check passed: true"]),
        ([CheckFinished(command="false", ok=False, detail="exit 1")], ["check failed: false: exit 1"]),
        ([Notice(kind="repair", text="a torn line was dropped")], ["note: a torn line was dropped"]),
        ([result()], ["done (exit 0) in 1.2 s: 2 turns, 0 calls"]),
        (
            [
                result(
                    num_turns=1,
                    counts={"calls": 3, "refusals": 1, "failed_calls": 2, "retry": 4},
                    usage={"input_tokens": 1000, "cache_read_input_tokens": 234, "output_tokens": 5},
                    total_cost_usd=0.01234,
                    artifacts=[{"name": "a.md", "bytes": 10, "path": "artifacts/a.md"}],
                )
            ],
            [
                "done (exit 0) in 1.2 s: 1 turn, 3 calls, 1 refused, 2 failed, 4 retried,"
                " 1,234 tokens in, 5 out, $0.0123",
                "artifact /elsewhere/out/artifacts/a.md (10 bytes)",
            ],
        ),
        ([result(cost_known=False)], ["done (exit 0) in 1.2 s: 2 turns, 0 calls, cost not known"]),
        (
            [result(cost_known=False, total_cost_usd=1.0)],
            ["done (exit 0) in 1.2 s: 2 turns, 0 calls, $1.0000 or more"],
        ),
        (
            [result(**FAILED, errors=["no answer\nat all"], hint="check the key", resumable=True)],
            [
                "provider (exit 5) in 1.2 s: 2 turns, 0 calls",
                "error: no answer",
                "error: at all",
                "hint: check the key",
                "next: remit resume r1",
            ],
        ),
        (
            [
                result(
                    **FAILED | {"verdict": "unmet", "exit_code": 3}, unmet=["artifact a.md is missing"], errors=["same"]
                )
            ],
            ["unmet (exit 3) in 1.2 s: 2 turns, 0 calls", "unmet: artifact a.md is missing"],
        ),
        (
            [result(**FAILED | {"verdict": "busy", "exit_code": 6}, resets_at="2026-01-01T00:00:00Z")],
            [
                "busy (exit 6) in 1.2 s: 2 turns, 0 calls",
                "the limit is lifted at 2026-01-01T00:00:00Z: queue the run again then",
            ],
        ),
    ],
)
def test_each_event_has_its_lines(events: list[Event], lines: list[str]) -> None:
    assert told(*events) == lines


def test_every_kind_of_event_is_known() -> None:
    assert set(Human(2)._tell) == set(EVENT_TYPES)


DENIAL = {"tool_name": "fetch_url", "resource": "https://x/", "why": "no", "source": "task", "rule": "t.yaml:3"}


def refused(call: str) -> PermissionDenied:
    return PermissionDenied(
        tool_name="read_file", tool_use_id=call, message="m", decision_reason="outside", rule="", source="floor",
        resource="../x",
    )  # fmt: skip


def test_a_refusal_is_told_once_and_counted_in_the_end() -> None:
    lines = told(CALL, refused("c1"), failed("path_refused", "outside"), result(permission_denials=[DENIAL]))
    assert lines[1] == "  refused read_file ../x: outside [floor]"
    assert lines[2].startswith("done (exit 0)")
    assert lines[3:] == ["what was refused, and why: remit runs show r1"]
    # Another call that fails alike was not told yet.
    assert told(refused("c2"), failed("path_refused", "outside"))[1:] == ["  call failed: path_refused: outside"]


def test_of_a_quiet_run_that_went_wrong_the_end_tells_up_to_ten_refusals_with_their_rules() -> None:
    def ending(*denials: dict[str, str]) -> list[str]:
        return told(result(**FAILED, permission_denials=list(denials)), quiet=True)[1:]

    assert ending(DENIAL) == ["refused fetch_url https://x/: no [task t.yaml:3]"]
    assert len(ending(*[DENIAL] * 10)) == 10
    assert ending(*[DENIAL] * 12)[10:] == ["and 2 more refused; see `remit runs show r1`"]
    assert ending({"tool_name": "x"}) == ["refused x:  [no rule]"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"exit_code": 0, "signal": None, "timed_out": False}, "ok"),
        ({"exit_code": 1, "signal": None, "timed_out": False}, "exit code 1"),
        ({"exit_code": None, "signal": "SIGKILL", "timed_out": False}, "ended by SIGKILL"),
        ({"exit_code": None, "signal": "SIGKILL", "timed_out": True}, "timed out"),
        ({"exit_code": None, "signal": "SIGKILL", "output_limit_exceeded": True}, "ended for printing too much"),
        ({"outcome": "ok", "raised": None}, "ok"),
        ({"outcome": "error", "raised": {"type": "ValueError"}}, "raised ValueError"),
        ({"outcome": "limited", "limit": "memory"}, "ended by its limit of memory"),
        ({"calls": [{}, {}, {}], "failed": 2}, "2 of 3 failed"),
        ({"calls": [{}], "failed": 0}, "ok"),
        ({"task_id": "shell-1", "admitted": True}, "goes on as shell-1"),
        ("text", "ok"),
    ],
)
def test_verbose_says_ok_of_success_alone(data: object, words: str) -> None:
    content = [{"type": "tool_result", "tool_use_id": "c1", "content": "12345"}]
    settled = User(message={"content": content}, tool_use_result={"ok": True, "data": data})
    assert told(CALL, settled, verbose=True)[-1] == f"  read_file: {words}, 5 bytes, 0.0 s"


def test_a_run_that_waits_for_answers_prints_a_file_to_paste() -> None:
    other = '[[approval]]\ntool = "write"\n'
    end = result(**FAILED, resumable=True, pending=[{"tool_name": "fetch_url"}])
    lines = told(asked(), asked(), asked(other), end)

    start = lines.index("version = 1")
    assert lines[start:] == [
        "version = 1",
        "",
        # Two calls alike need two entries: each is good for one use.
        *["[[approval]]", 'tool = "fetch_url"', 'decide = "allow"', ""] * 2,
        "[[approval]]",
        'tool = "write"',
        "",
        "next: remit resume r1 -a approvals.toml",
    ]


def test_paths_are_shown_as_one_would_type_them_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    end = result(run_dir=str(tmp_path / "out"), artifacts=[{"path": "artifacts/a.md", "bytes": 1}])

    assert told(end)[1] == f"artifact {os.path.join('out', 'artifacts', 'a.md')} (1 byte)"


def test_an_artifact_that_is_gone_is_not_told_as_there(tmp_path: Path) -> None:
    (tmp_path / "artifacts" / "b.md").mkdir(parents=True)
    (tmp_path / "artifacts" / "c.md").write_text("x")
    artifacts = [{"path": f"artifacts/{name}.md", "bytes": 1} for name in "abc"]
    place = os.path.join(tmp_path, "artifacts", "")
    assert told(result(run_dir=str(tmp_path), artifacts=artifacts))[1:] == [
        f"artifact {place}a.md was written, and is gone",
        f"artifact {place}b.md was written, and is gone",
        f"artifact {place}c.md (1 byte)",
    ]


def text(*words: str, **fields: Any) -> Assistant:
    return Assistant(message={"content": [{"type": "text", "text": each} for each in words]}, **fields)


def test_verbose_leaves_the_answer_to_stdout() -> None:
    assert told(CALL, text("It is so."), result(), verbose=True)[2:] == told(result())
    # Where it was not the last word, or stdout does not have it, it is told here.
    assert told(text("Too early."), text("Now."), result(), verbose=True)[0] == "| Too early."
    assert told(text("No use."), result(**FAILED), verbose=True)[0] == "| No use."
    assert told(text("Of an agent.", parent_tool_use_id="c9"), result(), verbose=True)[0] == "| Of an agent."


EVIL = "\x1b]0;pwned\x07\r\x9b2J\u202e\u2028\ud800\nsecond"


@pytest.mark.parametrize(
    "event",
    [
        Assistant(message={"content": [{"type": "tool_use", "id": EVIL, "name": EVIL, "input": {EVIL: EVIL}}]}),
        failed(EVIL, EVIL),
        asked(EVIL),
        PermissionDenied(
            tool_name=EVIL, tool_use_id="c", message=EVIL, decision_reason=EVIL, rule=EVIL, source=EVIL, resource=EVIL
        ),
        ApprovalUsed(tool_name=EVIL, tool_use_id="c", allowed=True, approval=EVIL, why=EVIL),
        ApiRetry(attempt=1, max_retries=1, retry_delay_ms=1, error_status=None, error=EVIL),
        ArtifactPublished(name=EVIL, bytes=1, sha256="0", media_type="m", path=EVIL),
        PlanUpdated(steps=[{"step": EVIL, "status": "in_progress"}], note=EVIL),
        TodosUpdated(todos=[{"content": EVIL, "status": "in_progress", "priority": EVIL}]),
        HostReached(tool_name=EVIL, tool_use_id="c", host=EVIL, port=1, allowed=False, reason=EVIL),
        CheckFinished(command=EVIL, ok=False, detail=EVIL),
        Notice(kind="k", text=EVIL),
        result(
            **FAILED,
            errors=[EVIL],
            hint=EVIL,
            resets_at=EVIL,
            unmet=[],
            run_id=EVIL,
            resumable=True,
            artifacts=[{"path": EVIL, "bytes": 1}],
            permission_denials=[{"tool_name": EVIL, "resource": EVIL, "why": EVIL, "rule": EVIL, "source": EVIL}] * 12,
        ),
        result(**FAILED, unmet=[EVIL]),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_others_wrote_cannot_move_the_cursor(event: Event) -> None:
    shown = told(event)

    assert shown
    assert all(line.isprintable() for line in shown)
    assert all("\u202e" not in line for line in shown)


def test_the_approvals_to_paste_cannot_move_the_cursor_either() -> None:
    shown = told(asked(f"a = {EVIL}"), result(**FAILED, resumable=True, pending=[{}]))

    assert all(line.isprintable() for line in shown)


def test_lines_are_of_bounded_width() -> None:
    (line,) = told(Notice(kind="k", text="x" * 1_000_000))

    assert len(line) == 200
    assert line.endswith("...")


def test_quiet_says_nothing_of_a_run_that_went_well() -> None:
    assert told(INIT, CALL, asked(), result(), quiet=True) == []


def test_quiet_still_says_what_went_wrong_and_what_to_do() -> None:
    lines = told(INIT, CALL, asked(), result(**FAILED, errors=["boom"], resumable=True, pending=[{}]), quiet=True)

    assert lines[0].startswith("provider (exit 5)")
    assert "error: boom" in lines
    assert lines[-1] == "next: remit resume r1 -a approvals.toml"


def test_colour_wraps_lines_and_changes_no_text() -> None:
    import re

    events = [INIT, CALL, failed("x", "y"), asked(), result(**FAILED, errors=["e"])]
    coloured = told(*events, color=True)

    assert any("\x1b[31m" in line for line in coloured)
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in coloured] == told(*events)


@pytest.mark.parametrize(
    ("environ", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm"}, True, True),
    ],
)
def test_colour_is_for_terminals_that_want_it(environ: dict[str, str], terminal: bool, wanted: bool) -> None:
    assert wants_color(environ, terminal) is wanted


def test_a_closed_stderr_does_not_matter() -> None:
    read, write = os.pipe()
    human = Human(write)
    os.close(write)
    human.on_event(INIT, b"")
    human.on_event(result(), b"")
    os.close(read)


def test_a_reader_of_stderr_that_leaves_does_not_matter() -> None:
    read, write = os.pipe()
    os.close(read)
    human = Human(write)
    for _ in range(3):
        human.on_event(INIT, b"")
    os.close(write)


def test_a_stderr_that_nobody_reads_holds_up_the_run_only_once_and_what_was_lost_is_counted() -> None:
    read, write = os.pipe()
    human = Human(write)
    began = time.monotonic()
    for _ in range(5000):
        human.on_event(Notice(kind="k", text="x" * 150), b"")
    assert time.monotonic() - began < 20

    held = os.read(read, 1 << 20)
    human.on_event(Notice(kind="k", text="again"), b"")
    os.close(write)
    with os.fdopen(read, "rb") as file:
        rest = file.read().decode()
    kept = held.decode().count("note: ")
    assert 0 < kept < 5000
    assert f"({5000 - kept} lines left out: stderr was not read)" in rest
    assert rest.splitlines()[-1] == "note: again"

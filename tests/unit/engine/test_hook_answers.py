from __future__ import annotations

import json
from typing import Any

import pytest

from remit.base.errors import Failure
from remit.base.ports import Finished, HookWord
from remit.base.spec import HookEvent
from remit.engine.hook_answers import CONTEXT_BYTES, REASON_BYTES, read_answer


def ended(stdout: Any = b"", stderr: bytes = b"", code: int | None = 0, **more: Any) -> Finished:
    raw = stdout if isinstance(stdout, bytes) else json.dumps(stdout).encode()
    return Finished(exit_code=code, stdout=raw, stderr=stderr, **{"stdout_bytes": len(raw), **more})


def read(answer: Any, event: HookEvent = "PreToolUse") -> HookWord:
    return read_answer(event, ended(answer), 5)


def specific(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


@pytest.mark.parametrize("said", [b"", b" \n", b"{}", b'{"suppressOutput": true}'])
def test_nothing_said_is_nothing(said: bytes) -> None:
    assert read_answer("PreToolUse", ended(said), 5) == HookWord()


@pytest.mark.parametrize("decide", ["allow", "ask", "deny"])
def test_a_decision_and_its_reason(decide: str) -> None:
    word = read(specific(permissionDecision=decide, permissionDecisionReason="because"))
    assert (word.decide, word.message, word.stop) == (decide, "because", None)


def test_what_people_hear_of_an_answer() -> None:
    assert read({"systemMessage": "hello"}) == HookWord(said=("hello",))
    told = "sessionTitle of a hook's answer: that has no effect here"
    assert read({"hookSpecificOutput": {"sessionTitle": "x"}}, "SessionStart") == HookWord(said=(told,))
    assert read({"async": True, "asyncTimeout": 5}).said == ("async of a hook's answer: that has no effect here",)


def test_what_takes_the_place_of_a_result() -> None:
    for name in ("updatedToolOutput", "updatedMCPToolOutput"):
        assert read({"hookSpecificOutput": {name: {"stdout": "x"}}}, "PostToolUse").output == {"stdout": "x"}


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_what_is_added_at_the_end_has_the_model_go_on(event: HookEvent) -> None:
    assert read({"hookSpecificOutput": {"additionalContext": "it rains"}}, event) == HookWord("deny", "it rains")


def test_other_words() -> None:
    assert read({"decision": "block", "reason": "no"}, "Stop") == HookWord("deny", "no")
    assert read({"decision": "approve", "reason": "yes"}) == HookWord("allow", "yes")
    assert read({"decision": "approve"}, "Stop") == HookWord()
    assert read({"continue": False, "stopReason": "enough"}) == HookWord(stop="enough")
    assert read({"continue": False}).stop == "the hook gave no reason"
    added = {"hookSpecificOutput": {"additionalContext": "it rains"}}
    assert read(added, "PostToolUse") == HookWord(context="it rains")
    word = read(specific(updatedInput={"command": "ls"}))
    assert word.arguments is not None and json.loads(word.arguments) == {"command": "ls"}


def test_a_block_goes_before_an_allowance() -> None:
    assert read({"decision": "block", "reason": "no", **specific(permissionDecision="allow")}).decide == "deny"


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"])
def test_exit_code_2_refuses_with_what_stderr_says(event: HookEvent) -> None:
    assert read_answer(event, ended(b"not JSON", b"not on a Friday\n", 2), 5) == HookWord("deny", "not on a Friday")
    assert read_answer(event, ended(code=2), 5).message == "the hook gave no reason"


@pytest.mark.parametrize(
    ("finished", "told"),
    [
        (ended(code=1), "exit code 1"),
        (ended(code=1, stderr=b"Traceback"), "exit code 1: 'Traceback'"),
        (ended(code=127), "exit code 127"),
        (ended(code=-9), "ended by SIGKILL"),
        (ended(code=-11), "ended by SIGSEGV"),
        (ended(code=None, timed_out=True), "did not end within 5 s"),
        (ended(code=-9, flooded=True), "printed without end"),
        (ended(b"{}", truncated=True, stdout_bytes=10_000_000), "its answer of 10000000 bytes is too long"),
        (ended(b"yes"), "cannot be read"),
        (ended(b"\xff\xfe"), "cannot be read"),
        (ended(b"[" * 100_000), "cannot be read"),
        (ended([]), "cannot be read"),
        (ended({"permisionDecision": "deny"}), "permisionDecision"),
        (ended(specific(permissionDecision="denied")), "cannot be read"),
        (ended(specific(updatedInput="ls")), "cannot be read"),
        (ended({"continue": "false"}), "cannot be read"),
        (ended({"decision": "deny"}), "cannot be read"),
        (ended({"hookSpecificOutput": {"hookEventName": "Stop"}}), "its answer is for 'Stop', not for PreToolUse"),
    ],
)
def test_what_is_no_answer_is_a_failure(finished: Finished, told: str) -> None:
    with pytest.raises(Failure) as caught:
        read_answer("PreToolUse", finished, 5)
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("PostToolUse", {"permissionDecision": "deny"}),
        ("Stop", {"permissionDecision": "allow"}),
        ("UserPromptSubmit", {"updatedInput": {}}),
        ("PreCompact", {"additionalContext": "x"}),
        ("PreToolUse", {"updatedToolOutput": "x"}),
    ],
)
def test_an_answer_has_to_fit_its_event(event: HookEvent, fields: dict[str, Any]) -> None:
    with pytest.raises(Failure):
        read({"hookSpecificOutput": fields}, event)


def test_what_it_adds_is_bounded() -> None:
    assert read({"hookSpecificOutput": {"additionalContext": "x" * CONTEXT_BYTES}}).context == "x" * CONTEXT_BYTES
    assert len(read({"hookSpecificOutput": {"additionalContext": "x" * 1_000_000}}).context) <= CONTEXT_BYTES
    assert len(read({"decision": "block", "reason": "x" * 1_000_000}).message) <= REASON_BYTES


def test_a_long_stderr_takes_no_answer_away() -> None:
    assert read_answer("Stop", ended(b"{}", stderr=b"x", truncated=True, stderr_bytes=1 << 30), 5) == HookWord()

"""Hooks in whole runs: commands that are told of steps, and what becomes of the run when they refuse or fail."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal, lines

DONE = {"text": "Done."}
READ = {"calls": [{"tool": "read_file", "arguments": {"path": "a.md"}}]}


def hook(home: Home, body: str, event: str = "PreToolUse", name: str = "hook.py", **keys: Any) -> str:
    """A hook beside the workspace, in a file of its own; the path of that. body: Python, `told` is its input."""
    program = home.path / name
    program.write_text(f"#!{sys.executable}\nimport json, os, sys, time\ntold = json.load(sys.stdin)\n{body}\n")
    program.chmod(0o755)
    return hooks_file(home, {"event": event, "command": [f"./{name}"], **keys})


def hooks_file(home: Home, *entries: dict[str, Any]) -> str:
    tables = ["\n".join(f"{key} = {json.dumps(value)}" for key, value in each.items()) for each in entries]
    target = home.path / "hooks.toml"
    target.write_text("version = 1\n" + "".join(f"[[hook]]\n{table}\n" for table in tables))
    return str(target)


def go(home: Home, hooks: str, *turns: dict[str, Any], tools: str = "read_file=auto", **keys: Any) -> Ran:
    home.write("a.md", "the text of a\n")
    script = home.script(*(turns or (READ, DONE)))
    return home.stream("-m", script, "--tools", tools, "--hooks", hooks, "-o", str(home.out), "Go", **keys)


def results(ran: Ran) -> list[str]:
    blocks = [event["message"]["content"] for event in ran.events if event["type"] == "user"]
    return [each["content"] for content in blocks for each in content if each["type"] == "tool_result"]


def ran_hooks(home: Home) -> list[tuple[str, str]]:
    return [(each["event"], each["outcome"]) for each in journal(home.out, "hook_ran")]


def test_what_a_hook_is_told_and_runs_in(home: Home) -> None:
    kept = home.path / "told.json"
    body = f"json.dump([told, dict(os.environ), os.getcwd()], open({str(kept)!r}, 'w'))"
    ran = go(home, hook(home, body, match="read_*"), environ={"SECRET_TOKEN": "s"})
    assert ran.code == 0 and "the text of a" in results(ran)[0]
    told, environ, cwd = json.loads(kept.read_text())
    assert told == {
        "session_id": ran.events[0]["session_id"],
        "transcript_path": str(home.out / "events.jsonl"),
        "cwd": str(home.work),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "read_file",
        "tool_input": {"path": "a.md"},
        "tool_use_id": journal(home.out, "call_settled")[0]["id"],
    }
    assert os.path.realpath(cwd) == os.path.realpath(home.work)
    assert environ["REMIT_RUN_DIR"] == os.path.realpath(home.out) and environ["HOME"]
    assert "SECRET_TOKEN" not in environ
    names = [(each["subtype"], each["hook_name"]) for each in ran.events if each.get("subtype", "").startswith("hook_")]
    assert names == [("hook_started", "PreToolUse:read_file"), ("hook_response", "PreToolUse:read_file")]
    assert ran_hooks(home) == [("PreToolUse", "silent")]


def test_every_event_in_its_order(home: Home) -> None:
    kept = home.path / "log"
    body = f"open({str(kept)!r}, 'a').write(told['hook_event_name'] + ' ' + told.get('tool_name', '') + '\\n')"
    hook(home, body)
    events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop")
    both = {"calls": [{"tool": "read_file", "arguments": {"path": path}} for path in ("a.md", "none.md")]}
    ran = go(home, hooks_file(home, *({"event": event, "command": "./hook.py"} for event in events)), both, DONE)
    assert ran.code == 0
    log = kept.read_text().splitlines()
    assert (log[0], log[-1]) == ("UserPromptSubmit ", "Stop ")
    calls = ["PostToolUse read_file", "PostToolUseFailure read_file", "PreToolUse read_file", "PreToolUse read_file"]
    assert sorted(log[1:-1]) == calls and log[1:3] == calls[2:]


def test_a_refusal_by_exit_code_or_by_word(home: Home) -> None:
    by_code = go(home, hook(home, "print('not on a Friday', file=sys.stderr); sys.exit(2)"))
    assert "not on a Friday" in results(by_code)[0] and "the text" not in results(by_code)[0]
    word = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "nor on a Monday"}}
    by_word = go(home, hook(home, f"print({json.dumps(word)!r})"))
    assert "nor on a Monday" in results(by_word)[0]
    [denial] = by_word.result["permission_denials"]
    assert (denial["source"], denial["rule"]) == ("hook", f"{home.path}/hooks.toml:2")
    assert ran_hooks(home) == [("PreToolUse", "deny")]


FAILURES = {
    "crash": "raise ValueError('oops')",
    "signal": "os.kill(os.getpid(), 9)",
    "no JSON": "print('fine by me')",
    "much": "sys.stdout.write('x' * 10_000_000)",
    "unknown key": 'print(\'{"permissionDecision": "allow"}\')',
    "no end": "time.sleep(600)",
}


@pytest.mark.parametrize("what", FAILURES)
def test_a_hook_that_fails_refuses_the_call(home: Home, what: str) -> None:
    seconds = 1 if what == "no end" else 60
    ran = go(home, hook(home, FAILURES[what], timeout_seconds=seconds))
    assert ran.code == 0
    [shown] = results(ran)
    assert "PreToolUse:read_file hook error: the hook failed: " in shown and "the text of a" not in shown
    assert ran_hooks(home) == [("PreToolUse", "failed")]
    [told] = [each for each in ran.events if each.get("subtype") == "hook_response"]
    assert told["outcome"] == "error" and told["reason"] == json.loads(shown)["error"]["message"]
    assert "hook PreToolUse:read_file" in ran.stderr


def test_a_program_that_vanishes_refuses(home: Home) -> None:
    body = "os.remove(sys.argv[0])"
    turns = (READ, {"calls": [{"tool": "read_file", "arguments": {"path": "a.md", "limit": 9}}]}, DONE)
    ran = go(home, hook(home, body), *turns)
    first, second = results(ran)
    assert "the text of a" in first and "could not be started" in second


def test_what_it_forks_ends_with_it(home: Home) -> None:
    kept = home.path / "pid"
    body = (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        open({str(kept)!r}, 'w').write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        f"while not os.path.exists({str(kept)!r}) or not open({str(kept)!r}).read(): time.sleep(0.01)"
    )
    assert go(home, hook(home, body)).code == 0
    assert _gone(int(kept.read_text()))


def test_it_ends_with_the_run(home: Home) -> None:
    kept = home.path / "pid"
    body = f"open({str(kept)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    home.write("a.md", "x")
    script = home.script(READ, DONE)
    args = ["-m", script, "--tools", "read_file=auto", "--hooks", hook(home, body), "-o", str(home.out), "Go"]
    with home.started("run", *args) as process:
        _until(lambda: kept.exists() and bool(kept.read_text()))
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert _gone(int(kept.read_text()))


def _until(true: Any) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _gone(pid: int) -> bool:
    path = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + 10
    while path.exists() and path.read_text().rpartition(")")[2].split()[0] not in "ZX":
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_an_allowance_answers_an_ask_and_nothing_else(home: Home) -> None:
    word = {"hookSpecificOutput": {"permissionDecision": "allow"}}
    hooks = hook(home, f"print({json.dumps(word)!r})")
    asked = go(home, hooks, tools="read_file=ask")
    assert "the text of a" in results(asked)[0]
    [checked] = journal(home.out, "call_checked")
    assert (checked["allowed"], checked["approval"]) == (True, "hook")
    denied = go(home, hooks, tools="read_file=deny")
    assert "the text of a" not in "".join(results(denied))
    home.write(".env", "KEY=1\n")
    floor = go(home, hooks, {"calls": [{"tool": "read_file", "arguments": {"path": ".env"}}]}, DONE)
    assert "KEY=1" not in results(floor)[0]


def test_changed_input_is_judged_again(home: Home) -> None:
    def change(path: str) -> str:
        word = {"hookSpecificOutput": {"updatedInput": {"path": path}}}
        return hook(home, f"print({json.dumps(word)!r})")

    home.write("b.md", "the text of b\n")
    home.write("private/c.md", "the text of c\n")
    assert "the text of b" in results(go(home, change("b.md")))[0]
    script = home.script(READ, DONE)
    args = ["-m", script, "--tools", "read_file=auto", "--deny", "read_file:path=private/**"]
    ran = home.stream(*args, "--hooks", change("private/c.md"), "-o", str(home.out), "Go")
    assert "the text of c" not in results(ran)[0] and "denied" in results(ran)[0]


def test_what_it_adds_reaches_the_model(home: Home) -> None:
    word = {"hookSpecificOutput": {"additionalContext": "it rains"}}
    go(home, hook(home, f"print({json.dumps(word)!r})", event="UserPromptSubmit"))
    said = [each["text"] for each in journal(home.out, "user_said")]
    assert said[:2] == ["Go", "it rains"]


@pytest.mark.parametrize(("body", "reason"), [("sys.exit(2)", "no reason"), ("sys.exit(1)", "exit code 1")])
def test_a_prompt_that_is_withheld(home: Home, body: str, reason: str) -> None:
    ran = go(home, hook(home, body, event="UserPromptSubmit"))
    assert (ran.code, ran.result["verdict"]) == (4, "refused")
    assert reason in ran.result["errors"][0]
    assert not journal(home.out, "turn_started")
    ended(home.out, 4)


def test_at_the_end_a_hook_has_the_model_go_on(home: Home) -> None:
    body = "if not told['stop_hook_active']: print(json.dumps({'decision': 'block', 'reason': 'read b too'}))"
    home.write("b.md", "b\n")
    turns = (READ, DONE, {"calls": [{"tool": "read_file", "arguments": {"path": "b.md"}}]}, {"text": "Now it is."})
    ran = go(home, hook(home, body, event="Stop"), *turns)
    assert (ran.code, ran.result["result"]) == (0, "Now it is.")
    assert [each["text"] for each in journal(home.out, "user_said")] == ["Go", "read b too"]
    assert ran_hooks(home) == [("Stop", "deny"), ("Stop", "silent")]


@pytest.mark.parametrize("event", ["Stop", "PostToolUse"])
def test_a_failure_where_nothing_can_be_refused_ends_the_prompt(home: Home, event: str) -> None:
    ran = go(home, hook(home, "sys.exit(1)", event=event))
    assert (ran.code, ran.result["verdict"]) == (4, "refused")
    assert "hook error: the hook failed: exit code 1" in ran.result["errors"][0]
    ended(home.out, 4)


def test_several_are_heard_in_order_until_one_refuses(home: Home) -> None:
    kept = home.path / "log"
    log = f"open({str(kept)!r}, 'a').write(sys.argv[1]); sys.exit(2 if sys.argv[1] == 'b' else 0)"
    hook(home, log)
    (home.path / "config" / "remit.toml").write_text('[[hook]]\nevent = "PreToolUse"\ncommand = ["../hook.py", "s"]\n')
    entries = [{"event": "PreToolUse", "command": ["./hook.py", name]} for name in "abc"]
    ran = go(home, hooks_file(home, *entries))
    assert kept.read_text() == "sab" and "the text of a" not in results(ran)[0]


def test_settled_calls_are_not_told_again_on_a_resume(home: Home) -> None:
    kept = home.path / "log"
    hooks = hook(home, f"open({str(kept)!r}, 'a').write('x')")
    home.write("a.md", "x")
    script = home.script(READ, DONE)
    args = ["-m", script, "--tools", "read_file=auto", "--hooks", hooks, "-o", str(home.out), "--max-turns", "1", "Go"]
    assert home.run("run", *args).code == 7
    assert kept.read_text() == "x"
    assert home.run("resume", str(home.out), "--max-turns", "5").code == 0
    assert kept.read_text() == "x"
    assert lines(home.out / "events.jsonl")[-1]["verdict"] == "done"


def test_no_file_of_the_workspace_names_a_hook(home: Home) -> None:
    program = home.write("evil.py", f"#!{sys.executable}\nopen('ran', 'w')\n")
    program.chmod(0o755)
    for name in ("remit.toml", ".remit/remit.toml", ".remit/hooks.toml", "hooks.toml"):
        home.write(name, 'version = 1\n[[hook]]\nevent = "Stop"\ncommand = "./evil.py"\n')
    home.write("a.md", "x")
    assert home.stream("-m", home.script(READ, DONE), "--tools", "read_file=auto", "Go").code == 0
    assert not (home.work / "ran").exists()


def test_no_tool_writes_what_a_hook_is_made_of(home: Home) -> None:
    program = home.write("guard.py", f"#!{sys.executable}\n")
    program.chmod(0o755)
    home.write("rules.txt", "strict\n")
    writes = [
        {"tool": "file_write", "arguments": {"filePath": name, "content": "x"}}
        for name in ("guard.py", "rules.txt", "free.txt")
    ]
    hooks = hooks_file(home, {"event": "PreToolUse", "command": ["work/guard.py", "rules.txt"]})
    ran = go(home, hooks, {"calls": writes}, DONE, tools="file_write=auto")
    assert [event["resource"] for event in ran.events if event.get("subtype") == "permission_denied"] == [
        "guard.py",
        "rules.txt",
    ]
    assert (home.work / "free.txt").read_text() == "x"


@pytest.mark.parametrize(("mode", "told"), [(None, "was not found"), (0o644, "cannot be executed")])
def test_a_program_that_is_not_there_is_told_first(home: Home, mode: int | None, told: str) -> None:
    if mode is not None:
        (home.path / "hook").write_text("x")
        (home.path / "hook").chmod(mode)
    ran = go(home, hooks_file(home, {"event": "Stop", "command": "./hook"}))
    assert ran.code == 8 and told in ran.stderr and "hooks.toml:2" in ran.stderr


def test_a_name_is_never_looked_up_in_the_workspace(home: Home) -> None:
    home.write("bin/guard", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    path = f"{home.work}/bin:.:bin:{home.environ['PATH']}"
    ran = go(home, hooks_file(home, {"event": "Stop", "command": "guard"}), environ={"PATH": path})
    assert ran.code == 8 and "guard was not found" in ran.stderr
    assert not (home.work / "ran").exists()


def test_faults_of_the_file_are_told_with_their_lines(home: Home) -> None:
    ran = go(home, hooks_file(home, {"event": "PreTool", "command": "x"}))
    assert ran.code == 2 and "hooks.toml:3" in ran.stderr and "did you mean `PreToolUse`?" in ran.stderr
    assert not home.out.exists()


def test_a_run_with_hooks_is_not_recorded(home: Home) -> None:
    hooks = hook(home, "")
    ran = home.run("run", "-m", home.script(DONE), "--hooks", hooks, "--record", str(home.path / "r.jsonl"), "Go")
    assert ran.code == 2 and "a run with hooks cannot be recorded" in ran.stderr


def test_calls_of_agents_are_heard_like_all_others(home: Home) -> None:
    hooks = hook(home, "sys.exit(2)", match="read_file")
    task = {"tool": "task", "arguments": {"description": "look", "prompt": "LOOK"}}
    script = home.script({"calls": [task]}, DONE, agents=[{"when": "LOOK", "turns": [READ, {"text": "seen"}]}])
    home.write("a.md", "the text of a\n")
    ran = home.stream("-m", script, "--tools", "task=auto,read_file=auto", "--hooks", hooks, "-o", str(home.out), "Go")
    assert ran.code == 0
    assert ran_hooks(home) == [("PreToolUse", "deny")]
    assert b"the text of a" not in ran.stdout

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remit.base.errors import Faults
from remit.base.spec import Hook
from remit.config.hooks import fitted, read_hooks
from remit.config.settings import load_settings
from remit.config.task import examine_task

TOOLS = ("file_edit", "file_write", "read_file", "shell")


def hooks(text: str, path: str = "hooks.toml") -> list[Hook]:
    found, faults = read_hooks("version = 1\n" + text, path)
    assert not faults
    return list(found)


def faults_of(text: str) -> list[str]:
    found, faults = read_hooks("version = 1\n" + text, "hooks.toml")
    return [str(fault) for fault in [*faults, *fitted(found, TOOLS)[1]]]


def test_a_hook_in_full(tmp_path: Path) -> None:
    text = """
[[hook]]
event = "PreToolUse"
match = "shell|file_*"
command = "./guard.py --strict 'two words'"
timeout_seconds = 5
why = "nobody pushes"
"""
    path = str(tmp_path / "hooks.toml")
    argv = (str(tmp_path / "guard.py"), "--strict", "two words")
    assert hooks(text, path) == [
        Hook("PreToolUse", argv, f"{path}:3", ("shell", "file_*"), 5.0, "nobody pushes"),
    ]


def test_what_can_be_left_out_and_their_order() -> None:
    text = '[[hook]]\nevent = "Stop"\ncommand = ["check", "$HOME", "a b"]\n'
    text += '[[hook]]\nevent = "UserPromptSubmit"\ncommand = "x"\n'
    first, second = hooks(text)
    assert first == Hook("Stop", ("check", "$HOME", "a b"), "hooks.toml:2")
    assert (second.event, second.argv, second.seconds) == ("UserPromptSubmit", ("x",), 60.0)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            'event = "PreTooluse"\ncommand = "x"',
            "hooks.toml:3: `hook[0].event`: expected SessionStart | UserPromptSubmit | PreToolUse | "
            "Notification | PostToolUse | PostToolUseFailure | SubagentStart | SubagentStop | PreCompact | "
            "Stop | SessionEnd, seen 'PreTooluse' (did you mean `PreToolUse`?)",
        ),
        ('event = "Stop"', "hooks.toml:2: `hook[0].command` is missing"),
        ('event = "Stop"\ncommand = ""', "hooks.toml:4: `hook[0].command`"),
        ('event = "Stop"\ncommand = []', "hooks.toml:4: `hook[0].command`"),
        ('event = "Stop"\ncommand = [""]', "hooks.toml:4: `hook[0].command`: the command is empty"),
        ('event = "Stop"\ncommand = "a && b"', "hooks.toml:4: `hook[0].command`: `&&` means something only to a shell"),
        ('event = "Stop"\ncommand = "x"\nmatch = "shell"', "hooks.toml:5: `hook[0].match`: Stop is about no tool"),
        ('event = "Stop"\ncommand = "x"\ntimout_seconds = 1', "(did you mean `timeout_seconds`?)"),
        ('event = "Stop"\ncommand = "x"\ntimeout_seconds = 0', "hooks.toml:5: `hook[0].timeout_seconds`: expected a"),
        ('event = "Stop"\ncommand = "x"\ntimeout_seconds = 3601', "of at most 3600"),
        (
            'event = "PreToolUse"\ncommand = "x"\nmatch = "shel"',
            "hooks.toml:2: a hook for 'shel', which no tool is called (did you mean `shell`?)",
        ),
        ('event = "PreToolUse"\ncommand = "x"\nmatch = "net_*"', "a hook for 'net_*', which no tool is called"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(lines: str, told: str) -> None:
    faults = faults_of(f"[[hook]]\n{lines}\n")
    assert len(faults) == 1 and told in faults[0]


def test_the_limits_of_time() -> None:
    text = '[[hook]]\nevent = "Stop"\ncommand = "x"\ntimeout_seconds = 3600\n'
    assert hooks(text)[0].seconds == 3600


@pytest.mark.parametrize(
    ("match", "ours"),
    [
        ('"Bash"', ("shell",)),
        ('["Edit", "shell"]', ("file_edit", "file_apply_patch", "shell")),
        ('"mcp__server__*"', ("mcp__server__*",)),
        ('"*"', ()),
        ('"shell|*"', ()),
    ],
)
def test_names_of_other_programs_stand_for_ours(match: str, ours: tuple[str, ...]) -> None:
    found = hooks(f'[[hook]]\nevent = "PreToolUse"\ncommand = "x"\nmatch = {match}\n')
    [hook] = fitted(found, TOOLS)[0]
    assert hook.match == ours


def test_a_file_that_is_no_hooks_file() -> None:
    assert [str(each) for each in read_hooks("version = 2", "h.toml")[1]] == ["h.toml:1: `version`: expected 1, seen 2"]
    assert "h.toml:1" in str(read_hooks("[[hook", "h.toml")[1][0])


def test_settings_have_hooks(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text('[[hook]]\nevent = "Stop"\ncommand = "./x"\n')
    settings = load_settings({"REMIT_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)})
    assert settings.hooks == (Hook("Stop", (str(tmp_path / "x"),), f"{tmp_path}/remit.toml:1"),)
    (tmp_path / "remit.toml").write_text('[[hook]]\nevent = "Stop"\ncommand = "a | b"\n')
    with pytest.raises(Faults, match=r"remit.toml:3.*`\|` means something only to a shell"):
        load_settings({"REMIT_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)})


def test_a_task_has_hooks(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("version: 1\nprompt: go\nhook:\n  - event: PreToolUse\n    match: [shell]\n    command: [./x, y]\n")
    task, faults = examine_task(str(path), {"shell": ()})
    assert task is not None and not faults
    assert task.hooks == (Hook("PreToolUse", (os.path.join(tmp_path, "x"), "y"), f"{path}:4", ("shell",)),)
    path.write_text("version: 1\nprompt: go\nhook:\n  - event: PreToolUse\n    match: [shel]\n    command: x\n")
    _, faults = examine_task(str(path), {"shell": ()})
    assert [str(each) for each in faults] == [
        f"{path}:4: a hook for 'shel', which no tool is called (did you mean `shell`?)"
    ]

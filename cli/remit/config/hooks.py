"""Hooks as the user writes them: `[[hook]]` tables of the settings, of the task, and of files of their own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from remit.base.claude_names import FOREIGN_NAMES
from remit.base.errors import Fault, Faults
from remit.base.spec import Hook, HookEvent
from remit.base.text import shorten
from remit.config.checks import check_fault
from remit.config.convert import convert
from remit.config.document import Document, did_you_mean
from remit.config.load import parse

EVENTS: tuple[str, ...] = get_args(HookEvent)
TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})
MAX_SECONDS = 3600

_FOREIGN = "mcp__"
"""Begins the names of tools that are known only once their server was asked."""


class HookKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A command that hears of a step of the run, and may refuse it."""

    event: Annotated[
        HookEvent,
        Meta(
            description="SessionStart, SessionEnd: a process takes its session up, or ends. UserPromptSubmit: before a "
            "message of the user. PreToolUse: before a call. Notification: when a client is to be asked about one. "
            "PostToolUse, PostToolUseFailure: after one that ran. SubagentStart, SubagentStop: an agent begins, or is "
            "done. PreCompact: before the transcript is summed up. Stop: when the model is done."
        ),
    ]
    command: Annotated[
        str | tuple[str, ...],
        Meta(
            title="a command, or the list of its words",
            description="The program and its words; a string is split into words, and no shell runs it. A program with "
            "a slash is taken from the directory of the file, a name is looked up on PATH.",
        ),
    ]
    match: Annotated[
        str | tuple[str, ...],
        Meta(
            title="a string, or a list of strings",
            description="Tools whose calls it hears of: names with * and ?, several as a list or with | between them. "
            "Default: every tool.",
        ),
    ] = ()
    timeout_seconds: Annotated[
        float, Meta(gt=0, le=MAX_SECONDS, description="Time it may take; then it is ended. Default 60.")
    ] = 60.0
    why: Annotated[str, Meta(description="What it is for.")] = ""


class HooksFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of hooks."""

    version: Literal[1]
    hook: tuple[HookKeys, ...] = ()


def compile_hooks(document: Document, entries: Iterable[HookKeys]) -> tuple[tuple[Hook, ...], list[Fault]]:
    """The `hook` entries of a document, and what is wrong with their commands and names."""
    found: list[Hook] = []
    faults: list[Fault] = []
    for index, keys in enumerate(entries):
        where = document.where("hook", index)
        argv, problem, hint = _argv(document, keys.command)
        if problem:
            place = document.where("hook", index, "command")
            faults.append(Fault(f"`hook[{index}].command`: {problem}, seen {shorten(keys.command)}", place, hint))
        match = _names(keys.match)
        if match and keys.event not in TOOL_EVENTS:
            place = document.where("hook", index, "match")
            faults.append(Fault(f"`hook[{index}].match`: {keys.event} is about no tool", place, "remove it"))
        found.append(Hook(keys.event, argv, where, match, keys.timeout_seconds, keys.why))
    return tuple(found), faults


def read_hooks(text: str, path: str) -> tuple[tuple[Hook, ...], list[Fault]]:
    """The hooks of a `--hooks` file, in TOML, and all that is wrong with it."""
    try:
        document = parse(text, path, "toml")
    except Faults as problem:
        return (), problem.faults
    keys, faults = convert(document, HooksFile)
    if keys is None:
        return (), faults
    return compile_hooks(document, keys.hook)


def fitted(hooks: Iterable[Hook], tools: Collection[str]) -> tuple[tuple[Hook, ...], list[Fault]]:
    """The hooks with their names of tools as ours, and a fault for each that no tool has."""
    faults: list[Fault] = []
    found: list[Hook] = []
    for hook in hooks:
        names: list[str] = []
        for pattern in hook.match:
            ours = FOREIGN_NAMES.get(pattern, (pattern,))
            names += ours
            if pattern.startswith(_FOREIGN) or any(fnmatchcase(tool, each) for tool in tools for each in ours):
                continue
            near = did_you_mean(pattern, (*tools, *FOREIGN_NAMES))
            faults.append(Fault(f"a hook for {shorten(pattern)}, which no tool is called", hook.where, near))
        found.append(msgspec.structs.replace(hook, match=tuple(names)))
    return tuple(found), faults


def _names(match: str | tuple[str, ...]) -> tuple[str, ...]:
    words = match.split("|") if isinstance(match, str) else match
    names = tuple(word.strip() for word in words if word.strip())
    return () if "*" in names else names


def _argv(document: Document, command: str | tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    """The words of a command, what is wrong with it and what to do."""
    if isinstance(command, str):
        problem, hint = check_fault(command)
        if problem:
            return (), problem, hint.replace("checks run", "hooks run")
        words = tuple(shlex.split(command))
    else:
        words = command
    if not words or not words[0]:
        return (), "the command is empty", ""
    if any("\0" in word for word in words):
        return (), "a NUL byte", ""
    program = words[0]
    if "/" in program:
        program = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(document.path)), program))
    return (program, *words[1:]), "", ""

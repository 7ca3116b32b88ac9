"""The command line of a run."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from remit.base.errors import Fault
from remit.base.messages import Effort
from remit.config.task import ModeWord, OnAsk, OnDeny


class RunFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of a run; None and empty: not given.

    prompt, prompt_file: `-` is standard input. inputs: `KEY=VALUE`. tools: names, each alone or as
    `NAME=auto|ask|deny`, or several with commas; an empty one offers no tools. limits: by name of the
    limit, as written. stdin: `--stdin` / `--no-stdin`. fallback_models: instead of the task's. images:
    files, shown with the prompt. allowed_tools, disallowed_tools: names, or several with commas; of what is ticked
    only the first are offered, and the others are not. no_rtk: the output of commands is not filtered. driven:
    a client sends prompts on standard input, so that none need be there yet. mode: as the task's. hooks: files
    of hooks."""

    task: str | None = None
    prompt: str | None = None
    prompt_file: str | None = None
    model: str | None = None
    inputs: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    limits: dict[str, str] = {}
    policies: tuple[str, ...] = ()
    approvals: str | None = None
    workspace: str | None = None
    on_ask: OnAsk | None = None
    on_deny: OnDeny | None = None
    stdin: bool | None = None
    fallback_models: tuple[str, ...] = ()
    effort: Effort | None = None
    images: tuple[str, ...] = ()
    no_rtk: bool = False
    no_instructions: bool = False
    driven: bool = False
    profile: str | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    goal: str | None = None
    goal_limit: int | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    mode: ModeWord | None = None
    hooks: tuple[str, ...] = ()


def text_faults(flags: RunFlags) -> list[Fault]:
    """A fault for each argument that is no text: bytes that are not UTF-8, or half a character."""
    named: list[tuple[str, str | None]] = [
        ("PROMPT", flags.prompt),
        ("--prompt-file", flags.prompt_file),
        ("-t", flags.task),
        ("-m", flags.model),
        ("-a", flags.approvals),
        ("--workspace", flags.workspace),
        *(("-i", value) for value in flags.inputs),
        ("--goal", flags.goal),
        ("--system-prompt", flags.system_prompt),
        ("--system-prompt-file", flags.system_prompt_file),
        ("--append-system-prompt", flags.append_system_prompt),
        ("--system-prompt-profile", flags.profile),
        *(("--tools", value) for value in flags.tools or ()),
        *(("--allowed-tools", value) for value in flags.allowed_tools),
        *(("--disallowed-tools", value) for value in flags.disallowed_tools),
        *(("--allow", value) for value in flags.allow),
        *(("--deny", value) for value in flags.deny),
        *(("-p", value) for value in flags.policies),
        *(("--hooks", value) for value in flags.hooks),
    ]
    return [fault for where, value in named if value is not None for fault in _text_fault(where, value)]


def _text_fault(where: str, value: str) -> Iterator[Fault]:
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        code = ord(value[problem.start])
        # An argument's byte that is not UTF-8 arrives as U+DC80 plus the byte's low bits.
        seen = f"the byte 0x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"the lone surrogate U+{code:04X}"
        offset = len(value[: problem.start].encode())
        yield Fault(f"not valid UTF-8: {seen} at byte offset {offset}", where, "arguments are UTF-8 text")

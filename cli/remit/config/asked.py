"""The prompt of a run: from the command line, the task or standard input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from remit.base.errors import Fault, Faults
from remit.base.spec import RunSpec
from remit.base.text import shorten
from remit.config.findings import Findings
from remit.config.flags import RunFlags
from remit.config.inputs import fill, given_values
from remit.config.load import decode
from remit.config.task import Task

MAX_PROMPT_BYTES = 256 * 1024 * 1024
"""Of standard input, and of a prompt file: far more than any model reads, and little enough to hold."""

StdinWish = Literal["never", "offered", "whole"]
"""never: do not read. offered: take what a pipe or file offers. whole: read to the end."""

_PROMPT_WAYS = "give one as an argument, with --prompt-file, in a task file, or on standard input"
_NO_TEXT = "pipe text, or put the file where the tools can read it"


class StdinRead(Protocol):
    """What came from standard input."""

    @property
    def data(self) -> bytes: ...
    @property
    def state(self) -> Literal["none", "read", "skipped", "ignored"]: ...


class Asked:
    """text: the prompt without standard input; None: standard input is the prompt. wish: how that is to be read."""

    def __init__(self, flags: RunFlags, task: Task | None, found: Findings) -> None:
        self._flags = flags
        self._found = found
        self._task = task
        self.text = self._prompt()
        self.wish = self._wish()

    def _prompt(self) -> str | None:
        """The prompt without standard input; None: standard input is the prompt."""
        flags = self._flags
        if flags.prompt is not None and flags.prompt_file is not None:
            self._found.fault("a prompt and a prompt file are given", "--prompt-file", "give one of them")
        if "-" in (flags.prompt, flags.prompt_file):
            text = None
        elif flags.prompt is not None:
            text = flags.prompt
        elif flags.prompt_file is not None:
            text = self._found.text(flags.prompt_file, MAX_PROMPT_BYTES)
            if text is None:
                return ""
            self._found.faults += _nul_faults(text, flags.prompt_file)
        elif self._task is not None and self._task.prompt:
            return self._task_prompt(self._task)
        elif flags.task is not None and self._found.faults:
            return ""
        else:
            text = None
        if flags.inputs:
            self._found.fault(
                "inputs fill in the prompt of a task file, and this run does not use one",
                f"-i {shorten(flags.inputs[0])}",
                "a prompt from the command line is taken as it is",
            )
        if text is not None and not text.strip():
            self._found.fault("the prompt is empty", flags.prompt_file or "PROMPT")
        return text

    def _task_prompt(self, task: Task) -> str:
        values, faults = given_values(task.inputs, self._flags.inputs)
        self._found.faults += [Fault(f.message, f.where or task.prompt_where, f.hint) for f in faults]
        if self._found.faults:
            return ""
        text = fill(task.prompt, values)
        if not text.strip():
            self._found.fault("the prompt is empty once its inputs are filled in", task.prompt_where)
        return text

    def _wish(self) -> StdinWish:
        rule = self._task.stdin if self._task else "optional"
        if self._flags.stdin is False and rule == "required":
            self._found.fault("the task requires standard input", "--no-stdin", "leave --no-stdin out")
        if self._flags.driven:
            return "never"
        if self._flags.stdin is False and self.text is None:
            self._found.fault("there is no prompt", "--no-stdin", _PROMPT_WAYS)
        if self._flags.stdin is False:
            return "never"
        if self.text is None or self._flags.stdin:
            return "whole"
        return "never" if rule == "ignore" else "offered"

    def in_full(self, spec: RunSpec, read_stdin: Callable[[StdinWish], StdinRead]) -> RunSpec:
        """The spec with the prompt and what came on standard input. Raises Faults."""
        prompt, task = self.text, self._task
        if self._flags.driven:
            return msgspec.structs.replace(spec, prompt=prompt or "", foreign_names=True)
        stdin = read_stdin(self.wish)
        data = decode(stdin.data, "stdin", _NO_TEXT)
        if faults := _nul_faults(data, "stdin"):
            raise Faults(faults)
        if prompt is None:
            if not data.strip():
                raise Faults([Fault("there is no prompt", hint=_PROMPT_WAYS)])
            text = data
        elif data:
            text = with_stdin_block(prompt, data)
        elif task is not None and task.stdin == "required":
            raise Faults([Fault("the task requires standard input, and nothing came", "stdin", "pipe something in")])
        else:
            text = prompt
        return msgspec.structs.replace(spec, prompt=text, stdin=stdin.state)


def with_stdin_block(prompt: str, data: str) -> str:
    """The prompt with what came on standard input as a marked block, whose mark the data does not hold."""
    lowered = data.lower()
    mark, number = "stdin", 0
    while f"<{mark}" in lowered or f"</{mark}" in lowered:
        number += 1
        mark = f"stdin-{number}"
    end = "" if data.endswith("\n") else "\n"
    return f"{prompt}\n\n<{mark}>\n{data}{end}</{mark}>"


def _nul_faults(text: str, path: str) -> list[Fault]:
    """A fault for the first NUL of a prompt, as those of task files have one."""
    at = text.find("\0")
    if at < 0:
        return []
    line, offset = text.count("\n", 0, at) + 1, len(text[:at].encode())
    return [Fault(f"a NUL byte at byte offset {offset}", f"{path}:{line}", _NO_TEXT)]

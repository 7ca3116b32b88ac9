"""The names that Claude Code gives its tools and their parameters, and ours for the same: one table, read both ways."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Mapping
from typing import Any

import msgspec


class Parameter(msgspec.Struct, frozen=True):
    """One parameter. path: a name of a file, shown as an absolute path. factor: theirs is ours times this."""

    ours: str
    theirs: str
    path: bool = False
    factor: int = 1


class Named(msgspec.Struct, frozen=True):
    """A tool of ours under its other name. Parameters that are not listed are called the same."""

    ours: str
    theirs: str
    parameters: tuple[Parameter, ...] = ()


_FILE = Parameter("filePath", "file_path", path=True)
_PATH = Parameter("path", "path", path=True)
_OWN_FILE = Parameter("path", "file_path", path=True)

NAMED: tuple[Named, ...] = (
    Named("file_read", "Read", (_FILE,)),
    Named("read_file", "Read", (_OWN_FILE,)),
    Named("view_image", "Read", (_OWN_FILE,)),
    Named("analyze_csv", "Read", (_OWN_FILE,)),
    Named("file_write", "Write", (_FILE,)),
    Named(
        "file_edit",
        "Edit",
        (
            _FILE,
            Parameter("oldString", "old_string"),
            Parameter("newString", "new_string"),
            Parameter("replaceAll", "replace_all"),
        ),
    ),
    Named("file_apply_patch", "Edit", (Parameter("patchText", "patch"),)),
    Named("file_glob", "Glob", (_PATH,)),
    Named("list_files", "LS", (_PATH,)),
    Named("file_grep", "Grep", (_PATH, Parameter("include", "glob"))),
    Named("search_files", "Grep", (_PATH, Parameter("query", "pattern"))),
    Named("shell", "Bash", (Parameter("timeoutSec", "timeout", factor=1000),)),
    Named("webfetch", "WebFetch"),
    Named("fetch_url", "WebFetch"),
    Named("websearch", "WebSearch"),
    Named("task", "Agent", (Parameter("profile", "subagent_type"), Parameter("background", "run_in_background"))),
    Named("todo_write", "TodoWrite"),
    Named("question", "AskUserQuestion"),
    Named("plan", "ExitPlanMode", (Parameter("content", "plan"),)),
    Named("structured_output", "StructuredOutput"),
)

_BY_OURS = {each.ours: each for each in NAMED}

ALIASES = {"MultiEdit": "Edit", "Task": "Agent"}
"""Other names of theirs for the same tool."""


def _ours() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in NAMED:
        found[each.theirs] = (*found.get(each.theirs, ()), each.ours)
    return {**found, "LS": (*found["LS"], "file_glob"), **{name: found[same] for name, same in ALIASES.items()}}


FOREIGN_NAMES: dict[str, tuple[str, ...]] = _ours()
"""By each name of theirs the tools of ours that do the same, the nearest first, as far as they are there."""


def ours_for(name: str, tools: Container[str]) -> tuple[str, ...]:
    """Tools of ours that a name stands for, the nearest first: itself, or those that a name of theirs is for."""
    return (name,) if name in tools else tuple(tool for tool in FOREIGN_NAMES.get(name, ()) if tool in tools)


def named_here(name: str, tools: Container[str]) -> str:
    """What to write in place of a name of theirs, with or without a specifier in parentheses; "" for any other."""
    theirs, specified, _ = name.partition("(")
    ours = ours_for(theirs, tools)
    if not ours or theirs in tools:
        return ""
    first, *others = ours
    told = f"{theirs} is `{first}` here" + (f", or {', '.join(others)}" if others else "")
    if not specified:
        return told
    import shlex  # only those who misspell pay for it

    return f"{told}; what it may do is a rule, as in --allow {shlex.quote(name)}"


def hands_in(arguments: Mapping[str, Any]) -> bool:
    """Whether a call of `plan` with these hands a plan in: what their program calls ExitPlanMode."""
    return arguments.get("action") == "write"


def their_name(tool: str, arguments: Mapping[str, Any] | None = None) -> str:
    """What a tool of ours is called there; its own name where that program has none for it. arguments: of the call,
    under our names, where there is one."""
    if tool == "plan" and arguments is not None and not hands_in(arguments):
        return tool
    named = _BY_OURS.get(tool)
    return named.theirs if named else tool


def with_aliases(name: str) -> tuple[str, ...]:
    """A name of a tool and its other ones: a pattern that fits any of them is meant for the tool."""
    return name, *(alias for alias, same in ALIASES.items() if same == name)


def shown_input(tool: str, arguments: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """Arguments of a call under their names. cwd: what paths are relative to, absolute."""
    named = _BY_OURS.get(tool)
    if named is None:
        return dict(arguments)
    by_name = {each.ours: each for each in named.parameters}
    shown: dict[str, Any] = {}
    for name, value in arguments.items():
        parameter = by_name.get(name, Parameter(name, name))
        shown[parameter.theirs] = _shown(parameter, value, cwd)
    if tool == "plan" and hands_in(arguments):
        del shown["action"]
    if tool == "todo_write" and isinstance(shown.get("todos"), list):
        shown["todos"] = [_their_todo(todo) for todo in shown["todos"]]
    if tool == "question" and isinstance(shown.get("questions"), list):
        shown["questions"] = [_their_question(question) for question in shown["questions"]]
    return shown


def taken_input(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The way back: arguments under their names as the tool of ours takes them."""
    named = _BY_OURS.get(tool)
    if named is None:
        return dict(arguments)
    by_name = {each.theirs: each for each in named.parameters}
    taken: dict[str, Any] = {}
    for name, value in arguments.items():
        parameter = by_name.get(name, Parameter(name, name))
        taken[parameter.ours] = _taken(parameter, value)
    if tool == "plan" and "content" in taken:
        taken["action"] = "write"
    if tool == "todo_write" and isinstance(taken.get("todos"), list):
        taken["todos"] = [_our_todo(todo) for todo in taken["todos"]]
    for name in DROPPED.get(tool, ()):
        taken.pop(name, None)
    return taken


def told_text(tool: str, text: str, *, parameters: bool = False) -> str:
    """A text about a call, with the tool under their name. parameters: and its parameters, where the text is of
    them. Words of a sentence that happen to be a name of ours stay."""
    import re  # only texts of failures are told so

    # A name of several words is nothing else, unless it is part of a path.
    told = re.sub(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w./-])", lambda found: their_name(found[0]), text)
    named = _BY_OURS.get(tool)
    if named is None:
        return told
    if "_" not in tool:
        # One of a single word is a name in these places.
        places = rf"^{tool}\b|(?<=`){tool}(?=`)|(?<=ticks ){tool}(?= as )|(?<=refused ){tool}$"
        told = re.sub(places, named.theirs, told)
    for each in named.parameters if parameters else ():
        told = re.sub(rf"\b{each.ours}\b", each.theirs, told) if each.ours != each.theirs else told
    return told


DROPPED = {
    "shell": ("description", "run_in_background", "dangerouslyDisableSandbox"),
    "file_grep": ("output_mode", "-n", "-i", "type", "multiline"),
    "question": ("answers",),
    "fetch_url": ("prompt",),
}
"""Parameters of theirs that say nothing to the tool of ours."""


def _shown(parameter: Parameter, value: Any, cwd: str) -> Any:
    if parameter.path and isinstance(value, str):
        return posixpath.normpath(posixpath.join(cwd, value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * parameter.factor if number and parameter.factor != 1 else value


def _taken(parameter: Parameter, value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return max(1, round(value / parameter.factor)) if number and parameter.factor != 1 else value


def _their_todo(todo: Any) -> Any:
    if not isinstance(todo, dict):
        return todo
    status = "completed" if todo.get("status") == "cancelled" else todo.get("status", "pending")
    content = todo.get("content", "")
    return {"content": content, "status": status, "activeForm": content}


def _their_question(question: Any) -> Any:
    """Clients read `multiSelect` without looking whether it is there."""
    if not isinstance(question, dict):
        return question
    told = {name: value for name, value in question.items() if name != "multiple"}
    return {**told, "multiSelect": bool(question.get("multiSelect") or question.get("multiple"))}


def _our_todo(todo: Any) -> Any:
    return {name: value for name, value in todo.items() if name != "activeForm"} if isinstance(todo, dict) else todo


class OurNames:
    """base.ports.Names of a client that knows our tools by their own names."""

    def tool(self, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
        return tool

    def shown(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(arguments)

    def taken(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(arguments)

    def told(self, tool: str, text: str) -> str:
        return text


class ClaudeNames:
    """base.ports.Names of a client written for Claude Code. cwd: the workspace, absolute."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd

    def tool(self, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
        return their_name(tool, arguments)

    def shown(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return shown_input(tool, arguments, self._cwd)

    def taken(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return taken_input(tool, arguments)

    def told(self, tool: str, text: str) -> str:
        return told_text(tool, text)

"""`--allow` and `--deny`: one rule in a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from remit.base.calls import Decide, RuleRef
from remit.base.claude_names import FOREIGN_NAMES, ours_for
from remit.base.errors import Fault
from remit.base.lazy_pattern import lazy_pattern
from remit.base.resources import Effect
from remit.base.text import plain_name, shorten
from remit.policy.patterns import BadPattern, Place
from remit.policy.rules import Rule, known_tool, never_speaks, tool_hint
from remit.policy.selectors import SELECTORS, Selector, Shape, make_selector

Option = Literal["--allow", "--deny", "--ask"]
"""The last one is no flag: a client says the like."""

_SELECTED = lazy_pattern(rf"({'|'.join(SELECTORS)})=(.*)", re.DOTALL)
_FOREIGN = lazy_pattern(r"([A-Za-z]+)(?:\((.*)\))?", re.DOTALL)

SERVER_TOOL = "mcp__"
"""Begins the names of tools of MCP servers."""

EVERY_TOOL = "*"
"""Stands for every tool in front of a selector, or alone."""

_GRAMMAR = "write TOOL, TOOL:COMMAND or TOOL:SELECTOR=PATTERN with one of " + ", ".join(SELECTORS)


_SAYS: dict[Option, tuple[Decide, str]] = {
    "--allow": ("auto", "allowed on the command line"),
    "--deny": ("deny", "denied on the command line"),
    "--ask": ("ask", "the client wants to be asked"),
}


class _BadFlagError(Exception):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def compile_flags(
    option: Option, texts: Iterable[str], tool_effects: Mapping[str, frozenset[Effect]], place: Place
) -> tuple[list[Rule], list[Fault]]:
    """The rules of all uses of one flag, and the faults of those that cannot be read."""
    rules: list[Rule] = []
    faults: list[Fault] = []
    for text in texts:
        where = f"{option} {shorten(text, 120)}"
        try:
            rules.append(_compile(option, text, where, tool_effects, place))
        except _BadFlagError as problem:
            faults.append(Fault(str(problem), where, problem.hint))
    return rules, faults


def _compile(
    option: Option, text: str, where: str, tool_effects: Mapping[str, frozenset[Effect]], place: Place
) -> Rule:
    decide, why = _SAYS[option]
    names, key, pattern = _parse(text, tool_effects)
    ref = RuleRef("flag", where, why)
    if not key:
        # As with a tick: what lies outside of the workspace has to be named.
        return Rule(decide, ref, tools=names, selector=Shape(inside=True) if decide == "auto" else None)
    found = never_speaks(key, names, None, tool_effects)
    if found is not None:
        raise _BadFlagError(*found)
    try:
        selector: Selector = make_selector(key, pattern, place, decide)
    except BadPattern as problem:
        raise _BadFlagError(f"{key} {shorten(pattern)} cannot be used: {problem}") from None
    return Rule(decide, ref, tools=names, selector=selector)


def _parse(text: str, tool_effects: Mapping[str, frozenset[Effect]]) -> tuple[frozenset[str] | None, str, str]:
    """Tools (None: every tool), selector key and pattern; the key is "" for the tool as a whole."""
    tool, colon, rest = text.partition(":")
    if tool == EVERY_TOOL:
        if colon and _SELECTED.fullmatch(rest) is None:
            raise _BadFlagError(f"{shorten(rest)} has no selector, which `*` needs", _GRAMMAR)
        return None, *_selected(tool, rest, tool_effects, given=bool(colon))
    if known_tool(tool, tool_effects):
        return frozenset({tool}), *_selected(tool, rest, tool_effects, given=bool(colon))
    if tool.startswith(SERVER_TOOL):
        return _of_server(tool, tool_effects), *_selected(tool, rest, tool_effects, given=bool(colon))
    match = _FOREIGN.fullmatch(text)
    if match is None or match[1] not in FOREIGN_NAMES:
        raise _BadFlagError(f"unknown tool {shorten(tool)}", tool_hint(tool, tool_effects))
    names = frozenset(ours_for(match[1], tool_effects))
    if not names:
        raise _BadFlagError(f"no tool here does what {match[1]} does", tool_hint(match[1], tool_effects))
    return names, *_foreign(match[1], match[2])


def _of_server(name: str, tools: Iterable[str]) -> frozenset[str]:
    """The tools of MCP servers that a name stands for."""
    found = frozenset(tool for tool in tools if server_tool_fits(name, tool))
    if not found:
        raise _BadFlagError(f"no MCP server offers {shorten(name)}", "it is named mcp__SERVER__TOOL, the tool may be *")
    return found


def server_tool_fits(name: str, tool: str) -> bool:
    """Whether a name stands for this tool of an MCP server: its own, with `*` for any letters, or `mcp__SERVER` for
    all that the server offers."""
    return spells_server_tool(plain_name(name), tool)


def spells_server_tool(name: str, tool: str) -> bool:
    """The same for a tool whose name is as its server and the client spell it."""
    pattern = name if "__" in name.removeprefix(SERVER_TOOL) else f"{name}__*"
    return (
        tool.startswith(SERVER_TOOL) and re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), tool) is not None
    )


def _selected(tool: str, rest: str, tool_effects: Mapping[str, frozenset[Effect]], *, given: bool) -> tuple[str, str]:
    if not given:
        return "", ""
    if not rest:
        raise _BadFlagError(f"nothing follows `{tool}:`", _GRAMMAR)
    match = _SELECTED.fullmatch(rest)
    if match is not None:
        return match[1], match[2]
    if tool in tool_effects and Effect.EXECUTE not in tool_effects[tool]:
        raise _BadFlagError(f"{shorten(rest)} has no selector, and {tool} runs no commands", _GRAMMAR)
    return "command", rest


def _foreign(name: str, inner: str | None) -> tuple[str, str]:
    """What stands in the parentheses of `Bash(...)` and its like, in our words."""
    if inner is None or inner in ("", "*"):
        return "", ""
    if name == "Bash":
        return "command", re.sub(r":\*\Z", " *", inner)
    if name.startswith("Web"):
        if not inner.startswith("domain:"):
            raise _BadFlagError(f"{name}({inner}) is not understood", f"write {name}(domain:example.org)")
        return "host", inner.removeprefix("domain:")
    if name in ("Agent", "Task"):
        return "agent", inner
    return "path", _foreign_path(inner)


def _foreign_path(inner: str) -> str:
    """Those patterns are read as in a .gitignore: without a slash at any depth, and with all below."""
    if inner.startswith("//"):
        path = inner[1:]
    elif inner.startswith("~/"):
        path = inner
    else:
        path = inner.removeprefix("./").removeprefix("/")
        if "/" not in inner.rstrip("/"):
            path = f"**/{path}"
    path = path.rstrip("/")
    return path if path.endswith("**") else f"{path}/**"

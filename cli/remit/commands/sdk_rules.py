"""What the flags and settings of a client of Claude Code say of tools and permissions, in our words."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from remit.base.claude_names import FOREIGN_NAMES, NAMED, ours_for
from remit.base.spec import SHELL_LINE, Hook, HookEvent
from remit.base.text import plain_name
from remit.commands.output import write_stderr
from remit.commands.sdk_flags import MODES, SdkFlags

if TYPE_CHECKING:
    from remit.tools.harness.client_tool import ClientTool

STDIO = "stdio"
"""The permission prompt tool that stands for the client itself."""

_READING = frozenset({"none", "state", "read"})
MAX_SECONDS = 3600
"""That a hook may take."""

_FOR_CLIENTS = frozenset({"question", "plan"})
"""Offered by default where a client answers."""

_SERVER_TOOL = "mcp__"
_TAKEN = frozenset({"permissions", "hooks"})
_LISTS = ("allow", "deny", "ask", "additionalDirectories")
_TAKEN_PERMISSIONS = frozenset({*_LISTS, "defaultMode"})


class RefusedError(Exception):
    """The session cannot begin; the text is what stderr says."""


class Rules(msgspec.Struct, frozen=True):
    """allow, deny, ask: as `--allow` and `--deny` take them. gone: names of tools that are not there at all. mode: to
    begin in, where no flag says so. hooks: commands that are told of steps. beside: further
    directories that are read, absolute."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    mode: str = "default"
    hooks: tuple[Hook, ...] = ()
    beside: tuple[str, ...] = ()

    def leaves_out(self, tool: ClientTool, tools: Sequence[ClientTool]) -> bool:
        """Whether a tool of an MCP server is not there at all. tools: all that are offered."""
        from remit.policy.flags import server_tool_fits

        gone = there([name for name in self.gone if name.startswith(_SERVER_TOOL)], tools, refused=True)
        return any(server_tool_fits(name, tool.name) for name in gone)


def read_rules(flags: SdkFlags, cwd: str) -> Rules:
    """cwd: what directories are relative to. Raises RefusedError."""
    given = _settings(flags)
    told = _permissions(given)
    disallowed = flags.disallowed
    return Rules(
        allow=_known([*flags.allowed, *told["allow"]]),
        deny=_known([*(name for name in disallowed if "(" in name), *told["deny"]]),
        ask=_known(told["ask"]),
        gone=frozenset(name for name in disallowed if "(" not in name),
        mode=_mode(given),
        hooks=tuple(_hooks(given.get("hooks"))),
        beside=tuple(_directories([*flags.add_dir, *told["additionalDirectories"]], cwd)),
    )


def there(names: Iterable[str], tools: Sequence[ClientTool], *, refused: bool = False) -> tuple[str, ...]:
    """The names without those of tools of MCP servers that nobody offers, and with what such tools are called here in
    the place of what the client calls them. tools: what is offered. refused: a name that may mean several means all."""
    found: list[str] = []
    for name in names:
        found += _offered_as(name, tools, refused) if name.startswith(_SERVER_TOOL) else [name]
    return tuple(dict.fromkeys(found))


def _offered_as(name: str, tools: Sequence[ClientTool], refused: bool) -> list[str]:
    """Names here for one of the client's, which may be a pattern or in letters that names here do not have."""
    from remit.policy.flags import server_tool_fits, spells_server_tool

    by_name = [tool for tool in tools if spells_server_tool(name, tool.name)]
    told = [tool.name for tool in tools if spells_server_tool(name, tool.told_as) and tool not in by_name]
    if by_name or told:
        return [*([name] if by_name else []), *told]
    if refused:
        return [tool.name for tool in tools if server_tool_fits(name, plain_name(tool.told_as))]
    return [name] if any(server_tool_fits(name, tool.name) for tool in tools) else []


def _known(names: Iterable[str]) -> tuple[str, ...]:
    """Those that name a tool there is; clients list many that are not, which is told and no error."""
    from remit.tools.registry import tool_effects

    effects = tool_effects()
    kept = []
    for name in names:
        tool = name.partition("(")[0]
        if tool.startswith(_SERVER_TOOL) or ours_for(tool, effects):
            kept.append(name)
        else:
            write_stderr(f"remit-sdk: there is no tool {tool}; `{name}` is passed over\n")
    return tuple(kept)


# -- settings ----------------------------------------------------------------------------------


def _settings(flags: SdkFlags) -> Mapping[str, Any]:
    """`--settings`, whose keys without a meaning here are told."""
    if flags.settings is None:
        return {}
    given = _json(flags.settings, "Error: Settings")
    permissions = given.get("permissions")
    inner = set(permissions) - _TAKEN_PERMISSIONS if isinstance(permissions, dict) else set()
    over = [*sorted(set(given) - _TAKEN), *(f"permissions.{name}" for name in sorted(inner))]
    if over:
        write_stderr(f"remit-sdk: of --settings, {', '.join(over)} has no effect\n")
    return given


def _permissions(given: Mapping[str, Any]) -> dict[str, list[str]]:
    told = given.get("permissions")
    lists = told if isinstance(told, dict) else {}
    return {name: [str(each) for each in _list(lists.get(name), name)] for name in _LISTS}


def _list(value: Any, name: str) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    # A refusal that cannot be read must not be taken for none.
    raise RefusedError(f"Error: Settings: permissions.{name}: expected a list")


def _mode(given: Mapping[str, Any]) -> str:
    permissions = given.get("permissions")
    mode = permissions.get("defaultMode") if isinstance(permissions, dict) else None
    if mode is None:
        return "default"
    if mode not in MODES:
        raise RefusedError(f"Error: Settings: permissions.defaultMode: expected one of {', '.join(MODES)}")
    return str(mode)


def _directories(names: Iterable[str], cwd: str) -> Iterator[str]:
    """Those that are there; a client lists some that are not."""
    for name in dict.fromkeys(names):
        path = os.path.abspath(os.path.join(cwd, os.path.expanduser(name)))
        if os.path.isdir(path):
            yield path
        else:
            write_stderr(f"remit-sdk: --add-dir {name} has no effect: there is no such directory\n")


def _hooks(given: Any) -> Iterator[Hook]:
    """Raises RefusedError for what cannot be run: a hook that is passed over refuses nothing."""
    if given is not None and not isinstance(given, dict):
        raise RefusedError("Error: Settings: hooks: expected an object of events")
    for event, entries in (given or {}).items():
        if event not in get_args(HookEvent):
            write_stderr(f"remit-sdk: of --settings, hooks.{event} has no effect: there is no such step here\n")
            continue
        for number, entry in enumerate(_entries(entries, f"hooks.{event}")):
            where = f"--settings hooks.{event}[{number}]"
            matcher = _matcher(entry.get("matcher"), where)
            for told in _entries(entry.get("hooks"), where):
                yield _hook(event, told, matcher, where)


def _entries(given: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise RefusedError(f"Error: Settings: {where}: expected a list of objects")
    return given


def _matcher(given: Any, where: str) -> str:
    if given in (None, "", "*"):
        return ""
    try:
        re.compile(given)
    except (re.error, TypeError) as problem:
        raise RefusedError(f"Error: Settings: {where}: the matcher {given!r} is no pattern: {problem}") from None
    return str(given)


def _hook(event: Any, told: Mapping[str, Any], matcher: str, where: str) -> Hook:
    command, seconds = told.get("command"), told.get("timeout", 60)
    if told.get("type") != "command" or not isinstance(command, str) or not command.strip():
        raise RefusedError(f"Error: Settings: {where}: only hooks of type command, with a command, are run")
    if not isinstance(seconds, int | float) or not 0 < seconds <= MAX_SECONDS:
        raise RefusedError(f"Error: Settings: {where}: timeout: expected seconds, at most {MAX_SECONDS}")
    return Hook(event, (*SHELL_LINE, command), where, seconds=float(seconds), matcher=matcher)


# -- servers -----------------------------------------------------------------------------------


def servers(flags: SdkFlags) -> dict[str, str]:
    """Configured MCP servers and their types."""
    found: dict[str, str] = {}
    for given in flags.mcp_config:
        config = _json(given, "Error: Invalid MCP configuration:\nMCP config")
        servers = config.get("mcpServers", config)
        if not isinstance(servers, dict) or not all(isinstance(each, dict) for each in servers.values()):
            raise RefusedError("Error: Invalid MCP configuration:\nmcpServers: expected an object of servers")
        found |= {str(name): str(server.get("type") or "stdio") for name, server in servers.items()}
    return found


def _json(given: str, what: str) -> dict[str, Any]:
    """An object that is given as it is, or as a file."""
    text = given
    if not given.lstrip().startswith("{"):
        try:
            with open(given, encoding="utf-8") as file:
                text = file.read()
        except (OSError, ValueError):
            raise RefusedError(f"{what} file not found: {given}") from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise RefusedError(f"{what} is not valid JSON: {problem}") from None
    if not isinstance(value, dict):
        raise RefusedError(f"{what} is not a JSON object")
    return value


def unconnected(flags: SdkFlags) -> dict[str, str]:
    """The servers that nothing here connects to, and why, which is told."""
    others = {name: kind for name, kind in servers(flags).items() if kind != "sdk"}
    found = {name: f"only servers of the client are served, not those of type {kind}" for name, kind in others.items()}
    for name, why in found.items():
        write_stderr(f"remit-sdk: MCP server {name}: {why}\n")
    return found


# -- tools -------------------------------------------------------------------------------------


def ticks(flags: SdkFlags, gone: Iterable[str]) -> tuple[str, ...]:
    """The tools of ours that are offered, as `--tools` takes them."""
    from remit.tools.registry import tool_effects

    effects = tool_effects()
    absent = {ours for name in gone for ours in FOREIGN_NAMES.get(name, (name,))}
    tools = [tool for tool in _offered(flags) if tool not in absent]
    reading = {tool for tool in tools if {effect.value for effect in effects[tool]} <= _READING}
    # The question is put to the client along with the permission, which a person gives by answering.
    auto = reading - {"question"}
    return tuple(f"{tool}={'auto' if tool in auto else 'ask'}" for tool in tools)


def _offered(flags: SdkFlags) -> list[str]:
    """By default the nearest to each of theirs."""
    from remit.tools.registry import tool_effects

    effects = set(tool_effects())
    nearest = {named.theirs: named.ours for named in reversed(NAMED) if named.ours in effects and named.theirs != "LS"}
    default = [tool for tool in dict.fromkeys(named.ours for named in NAMED) if tool in nearest.values()]
    if flags.tools is None or "default" in flags.tools:
        return [tool for tool in default if tool not in _FOR_CLIENTS or flags.permission_tool]
    wanted: list[str] = []
    for name in flags.tools:
        found = ours_for(name, effects)
        if not found:
            write_stderr(f"remit-sdk: there is no tool {name}\n")
        wanted += found[:1]
    return list(dict.fromkeys(wanted))

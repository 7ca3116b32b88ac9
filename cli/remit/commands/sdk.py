"""`remit-sdk`: remit for programs that drive Claude Code's headless mode."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from remit.base.claude_names import FOREIGN_NAMES, NAMED, ClaudeNames
from remit.base.errors import SIGINT_EXIT, RemitError, Stopped, exit_code
from remit.commands.output import write_stderr
from remit.commands.sdk_flags import BadFlagError, SdkFlags, help_text, parse_flags

if TYPE_CHECKING:
    from remit.base.spec import RunSpec
    from remit.config.settings import Settings
    from remit.tools.contract import Tool
    from remit.wiring.sdk import Place, Plan, Wanted

STDIN, STDOUT = 0, 1
MAX_STDIN_BYTES = 32 << 20
STDIO = "stdio"
"""The permission prompt tool that stands for the client itself."""

MODELS = {
    "sonnet": "anthropic/claude-sonnet-4-5",
    "opus": "anthropic/claude-opus-4-5",
    "haiku": "anthropic/claude-haiku-4-5",
}
"""Short names of models."""

_READING = frozenset({"none", "state", "read"})
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class RefusedError(Exception):
    """The session cannot begin; the text is what stderr says."""


def run_sdk(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    if "--version" in argv or "-v" in argv:
        from remit import __version__
        from remit.stream.claude import VERSION

        sys.stdout.write(f"{VERSION} (remit-sdk {__version__})\n")
        return 0
    if "--help" in argv or "-h" in argv:
        sys.stdout.write(help_text())
        return 0
    try:
        return _run(parse_flags(argv), dict(os.environ))
    except (BadFlagError, RefusedError) as problem:
        write_stderr(f"{problem}\n")
        return 1
    except Stopped as stopped:
        return 0 if exit_code(stopped) == SIGINT_EXIT else exit_code(stopped)
    except RemitError as error:
        write_stderr(f"Error: {error}\n")
        return 1


def _run(flags: SdkFlags, environ: dict[str, str]) -> int:
    from remit import wiring
    from remit.commands.execute import Watch, catch_signals, collected_early
    from remit.config.settings import load_settings
    from remit.stream.claude import ClaudeStream, Looks
    from remit.stream.writer import StdoutWriter
    from remit.wiring.sdk import SdkSession

    watch = Watch()
    catch_signals(watch)
    settings = load_settings(environ)
    cwd = wiring.current_directory()
    plan = _plan(flags, settings, environ, cwd)
    looks = Looks(
        format=flags.output_format,
        verbose=flags.verbose,
        partial=flags.partial,
        states=environ.get("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1",
        asks=flags.permission_tool is not None,
        mode=plan.mode,
        unsupported=tuple(name for name, kind in _servers(flags).items() if kind != "sdk"),
    )
    names = ClaudeNames(cwd)
    stream = ClaudeStream(StdoutWriter(STDOUT, watch.on_stall), looks, names, lambda: str(uuid.uuid4()))
    loop = asyncio.new_event_loop()
    collected_early()

    async def serve() -> int:
        session = SdkSession(
            plan,
            stream,
            names,
            wiring.Ports(environ),
            lambda text: write_stderr(f"{text}\n"),
        )
        # From here on a signal waits for a step of the loop: raised where the loop stands it would end one task of
        # many, and nobody would hear of it.
        watch.begin()
        watch.attach(session, loop)
        return await session.serve(STDIN)

    return loop.run_until_complete(serve())


# -- the plan ----------------------------------------------------------------------------------


def _plan(flags: SdkFlags, settings: Settings, environ: Mapping[str, str], cwd: str) -> Plan:
    from remit.wiring.sdk import Plan

    mode = _mode(flags, environ)
    schema = _schema(flags.json_schema)
    if flags.permission_tool not in (None, STDIO):
        raise RefusedError(
            f"Error: MCP tool {flags.permission_tool} (passed via --permission-prompt-tool) not found. "
            "Available MCP tools: none"
        )
    if flags.session_mirror or flags.resume_at or flags.resume_drops:
        named = {"--session-mirror": flags.session_mirror, "--resume-session-at": flags.resume_at}
        given = next((name for name, value in named.items() if value), "--resume-drops-turn")
        raise RefusedError(f"Error: {given} is not supported")
    for folder in flags.add_dir:
        write_stderr(f"remit-sdk: --add-dir {folder} has no effect: tools work in the working directory alone\n")
    rules = _rules(flags)
    systems = (
        _words(flags.system_prompt, flags.system_prompt_file, "--system-prompt-file"),
        _words(flags.append_system_prompt, flags.append_system_prompt_file, "--append-system-prompt-file"),
    )
    servers = tuple(name for name, kind in _servers(flags).items() if kind == "sdk")
    place = _place(flags, settings, cwd)
    prompt = None if flags.input_format == "stream-json" else _prompt(flags)

    def make_spec(wanted: Wanted, tools: Sequence[Tool]) -> RunSpec:
        return _spec(flags, settings, environ, cwd, wanted, tools, mode, schema, rules, systems)

    return Plan(
        settings=settings,
        environ=environ,
        cwd=cwd,
        make_spec=make_spec,
        place=place,
        prompt=prompt,
        servers=servers,
        asks=flags.permission_tool is not None,
        may_bypass=flags.may_bypass or mode == "bypassPermissions",
        partial=flags.partial,
        replay=flags.replay,
        ephemeral=flags.no_persistence,
        mode=mode,
    )


def _mode(flags: SdkFlags, environ: Mapping[str, str]) -> str:
    mode = flags.permission_mode or ("bypassPermissions" if flags.bypass else "default")
    if mode == "bypassPermissions" and os.geteuid() == 0 and environ.get("IS_SANDBOX") != "1":
        raise RefusedError(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
        )
    return mode


def _schema(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    from remit.base.json_schema import schema_fault, without_draft

    try:
        schema = without_draft(json.loads(text))
    except (ValueError, RecursionError) as problem:
        raise RefusedError(f"Error: --json-schema is not valid JSON: {problem}") from None
    if not isinstance(schema, dict):
        raise RefusedError("Error: --json-schema is not valid JSON: expected an object")
    if fault := schema_fault(schema):
        raise RefusedError(f"Error: --json-schema is not a valid JSON Schema: {fault}")
    return schema


def _words(text: str | None, path: str | None, flag: str) -> str:
    if path is None:
        return text or ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as problem:
        raise RefusedError(f"Error: {flag}: {path} cannot be read: {problem}") from None


def _servers(flags: SdkFlags) -> dict[str, str]:
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


def _prompt(flags: SdkFlags) -> str:
    said = " ".join(flags.prompts)
    piped = "" if os.isatty(STDIN) else _stdin()
    text = "\n".join(filter(None, (said, piped.rstrip("\n") if said else piped)))
    if not text.strip():
        what = "Input must be provided either through stdin or as a prompt argument when using --print"
        raise RefusedError(f"Error: {what}")
    return text


def _stdin() -> str:
    from remit.commands.stdin import read_stdin

    return read_stdin(required=False, ignored=False, first_byte_seconds=3.0).data.decode("utf-8", "replace")


# -- rules and tools ---------------------------------------------------------------------------


class Rules(msgspec.Struct, frozen=True):
    """allow, deny: as `--allow` and `--deny` take them. gone: names of tools that are not there at all. servers: of
    the client, all of whose tools are allowed."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()


def _rules(flags: SdkFlags) -> Rules:
    allowed, disallowed = list(flags.allowed), list(flags.disallowed)
    denied: list[str] = []
    if flags.settings is not None:
        permissions = _json(flags.settings, "Error: Settings").get("permissions")
        if isinstance(permissions, dict):
            allowed += [str(each) for each in permissions.get("allow") or ()]
            denied += [str(each) for each in permissions.get("deny") or ()]
    gone = frozenset(name for name in disallowed if "(" not in name)
    denied += [name for name in disallowed if "(" in name]
    servers = frozenset(name[5:] for name in allowed if name.startswith("mcp__") and "__" not in name[5:])
    return Rules(tuple(_known(allowed)), tuple(_known(denied)), gone, servers)


def _known(names: Sequence[str]) -> list[str]:
    """Those that name a tool there is; clients list many that are not, which is told and no error."""
    from remit.tools.registry import tool_effects

    effects = tool_effects()
    kept = []
    for name in names:
        tool = name.partition("(")[0]
        if tool.startswith("mcp__"):
            if "__" in tool[5:]:
                kept.append(name)
        elif tool in effects or any(ours in effects for ours in FOREIGN_NAMES.get(tool, ())):
            kept.append(name)
        else:
            write_stderr(f"remit-sdk: there is no tool {tool}; `{name}` is passed over\n")
    return kept


def _offered(flags: SdkFlags) -> list[str]:
    """The tools of ours that are offered: by default the nearest to each of theirs."""
    from remit.tools.registry import tool_effects

    effects = set(tool_effects())
    nearest = {named.theirs: named.ours for named in reversed(NAMED) if named.ours in effects and named.theirs != "LS"}
    default = [tool for tool in dict.fromkeys(named.ours for named in NAMED) if tool in nearest.values()]
    if flags.tools is None or "default" in flags.tools:
        return [tool for tool in default if tool != "question" or flags.permission_tool]
    wanted: list[str] = []
    for name in flags.tools:
        there = [ours for ours in FOREIGN_NAMES.get(name, (name,)) if ours in effects]
        if not there:
            write_stderr(f"remit-sdk: there is no tool {name}\n")
        wanted += there[:1]
    return list(dict.fromkeys(wanted))


def _ticks(flags: SdkFlags, gone: frozenset[str]) -> tuple[str, ...]:
    from remit.tools.registry import tool_effects

    effects = tool_effects()
    absent = {ours for name in gone for ours in FOREIGN_NAMES.get(name, (name,))}
    tools = [tool for tool in _offered(flags) if tool not in absent]
    reading = {tool for tool in tools if {effect.value for effect in effects[tool]} <= _READING}
    # The question is put to the client along with the permission, which a person gives by answering.
    auto = reading - {"question"}
    return tuple(f"{tool}={'auto' if tool in auto else 'ask'}" for tool in tools)


# -- the spec ----------------------------------------------------------------------------------


def _spec(
    flags: SdkFlags,
    settings: Settings,
    environ: Mapping[str, str],
    cwd: str,
    wanted: Wanted,
    tools: Sequence[Tool],
    mode: str,
    schema: dict[str, Any] | None,
    rules: Rules,
    systems: tuple[str, str],
) -> RunSpec:
    from remit.base.spec import Expect
    from remit.config.resolve import RunFlags, build_spec
    from remit.tools.registry import tool_effects

    named = [tool.name for tool in tools]
    theirs = [name for name in named if name.split("__", 2)[1] in rules.servers]
    allow = [name for name in rules.allow if not name.startswith("mcp__") or name in named]
    deny = [name for name in rules.deny if not name.startswith("mcp__") or name in named]
    limits = {"turns": flags.max_turns} if flags.max_turns and float(flags.max_turns) else {}
    limits |= {"usd": flags.max_usd} if flags.max_usd else {}
    run_flags = RunFlags(
        tools=_ticks(flags, rules.gone),
        model=_model(wanted.model or flags.model or environ.get("ANTHROPIC_MODEL"), cwd),
        fallback_models=tuple(filter(None, (_model(flags.fallback_model, cwd),))),
        allow=(*allow, *theirs),
        deny=tuple(deny),
        limits=limits,
        workspace=cwd,
        driven=True,
        effort=_effort(flags, wanted),
    )
    spec = build_spec(run_flags, settings, tool_effects(), _no_stdin, cwd)
    due = wanted.schema or schema
    return msgspec.structs.replace(
        spec,
        name="sdk",
        system_base=wanted.system or systems[0],
        system="\n\n".join(filter(None, (systems[1], wanted.append))),
        mode=wanted.mode or mode,
        expect=Expect(schema=due) if due is not None else Expect(),
        command={"flags": msgspec.to_builtins(run_flags), "cwd": cwd},
    )


def _no_stdin(wish: object) -> Any:
    raise AssertionError(wish)


def _model(name: str | None, cwd: str) -> str | None:
    """A model of theirs as one of ours."""
    if not name or name in ("default", "inherit"):
        return None
    if name.startswith("scripted/"):
        return f"scripted/{os.path.join(cwd, name.removeprefix('scripted/'))}"
    plain = name.removesuffix("[1m]")
    return MODELS.get(plain) or (plain if "/" in plain else f"anthropic/{plain}")


def _effort(flags: SdkFlags, wanted: Wanted) -> Any:
    from remit.base.messages import Effort
    from remit.wiring.sdk import effort_of_tokens

    if wanted.effort is not msgspec.UNSET:
        return wanted.effort
    if flags.thinking == "disabled":
        return "off"
    if flags.max_thinking_tokens is not None:
        return effort_of_tokens(float(flags.max_thinking_tokens))
    effort = "max" if flags.effort == "xhigh" else flags.effort
    return effort if effort in get_args(Effort) else None


# -- the session -------------------------------------------------------------------------------


def _place(flags: SdkFlags, settings: Settings, cwd: str) -> Place:
    from remit.store.rundir import find_session, latest_session
    from remit.wiring.sdk import Place

    if flags.session_id is not None and not _UUID.fullmatch(flags.session_id):
        raise RefusedError("Error: Invalid session ID. Must be a valid UUID.")
    again = flags.resume is not None or flags.continue_
    if again and flags.session_id is not None and not flags.fork:
        raise RefusedError("Error: --session-id with --continue or --resume also needs --fork-session.")
    if flags.session_id is not None and find_session(settings.state_dir, flags.session_id) is not None:
        raise RefusedError(f"Error: Session ID {flags.session_id} is already in use.")
    if not again:
        return Place(session_id=flags.session_id or "")
    if flags.resume is not None:
        entry = find_session(settings.state_dir, flags.resume)
        if entry is None:
            return Place(missing=flags.resume)
    else:
        entry = latest_session(settings.state_dir, cwd)
        if entry is None:
            return Place(session_id=flags.session_id or "")
    return Place(entry=entry, fork=flags.fork, session_id=flags.session_id or "")

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

from remit.base.claude_names import ClaudeNames
from remit.base.errors import SIGINT_EXIT, RemitError, Stopped, exit_code
from remit.commands.output import write_stderr
from remit.commands.sdk_flags import BadFlagError, SdkFlags, help_text, parse_flags
from remit.commands.sdk_rules import STDIO, RefusedError, Rules, read_rules, servers, there, ticks, unconnected
from remit.commands.sdk_sources import read_sources, settings_passed_over

if TYPE_CHECKING:
    from remit.base.spec import RunSpec
    from remit.config.settings import Settings
    from remit.tools.harness.client_tool import ClientTool
    from remit.wiring.sdk_agents import SdkAgent
    from remit.wiring.sdk_plan import Place, Plan, Wanted

STDIN, STDOUT = 0, 1
MAX_STDIN_BYTES = 32 << 20
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


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
    from remit.stream.writer import StdoutWriter, hold_stdout
    from remit.wiring.sdk import SdkSession

    hold_stdout(STDOUT)
    for name in flags.unmet:
        write_stderr(f"remit-sdk: {name} has no effect\n")
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
        directories=plan.directories,
        hook_events=flags.hook_events,
        unsupported=unconnected(flags),
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
        watch.end_unread(STDOUT)
        return await session.serve(STDIN)

    return loop.run_until_complete(serve())


# -- the plan ----------------------------------------------------------------------------------


def _plan(flags: SdkFlags, settings: Settings, environ: Mapping[str, str], cwd: str) -> Plan:
    from remit.wiring.offer import with_instructions
    from remit.wiring.sdk_agents import with_agents
    from remit.wiring.sdk_plan import Plan

    rules = read_rules(flags, cwd)
    mode = _mode(flags, rules, environ)
    schema = _schema(flags.json_schema)
    if flags.permission_tool not in (None, STDIO):
        raise RefusedError(
            f"Error: MCP tool {flags.permission_tool} (passed via --permission-prompt-tool) not found. "
            "Available MCP tools: none"
        )
    if flags.session_mirror:
        what = "sessions are kept in run directories of remit, and there are no transcripts to be mirrored"
        raise RefusedError(f"Error: --session-mirror is not supported: {what}; leave the session store out")
    systems = (
        _words(flags.system_prompt, flags.system_prompt_file, "--system-prompt-file"),
        _words(flags.append_system_prompt, flags.append_system_prompt_file, "--append-system-prompt-file"),
    )
    hosted = tuple(name for name, kind in servers(flags).items() if kind == "sdk")
    place = _place(flags, settings, cwd)
    sources = read_sources(flags.setting_sources)
    prompt = None if flags.input_format == "stream-json" else _prompt(flags)

    agents, faults = _agents(flags)

    def named(model: str) -> str | None:
        return _model(model, cwd)

    def tell(text: str) -> None:
        write_stderr(f"remit-sdk: {text}\n")

    def make_spec(wanted: Wanted, tools: Sequence[ClientTool]) -> RunSpec:
        spec = _spec(flags, settings, environ, cwd, wanted, tools, mode, schema, rules, systems)
        return with_instructions(with_agents(spec, wanted.agents, settings.config_dir, named, tell), settings, sources)

    return Plan(
        settings=settings,
        environ=environ,
        cwd=cwd,
        make_spec=make_spec,
        place=place,
        prompt=prompt,
        servers=hosted,
        left_out=rules.leaves_out,
        directories=rules.beside,
        asks=flags.permission_tool is not None,
        may_bypass=flags.may_bypass or mode == "bypassPermissions",
        partial=flags.partial,
        replay=flags.replay,
        ephemeral=flags.no_persistence,
        mode=mode,
        agents=agents,
        notices=(*settings_passed_over(sources, cwd, environ), *faults),
    )


def _mode(flags: SdkFlags, rules: Rules, environ: Mapping[str, str]) -> str:
    mode = flags.permission_mode or ("bypassPermissions" if flags.bypass else rules.mode)
    if mode == "bypassPermissions" and os.geteuid() == 0 and environ.get("IS_SANDBOX") != "1":
        raise RefusedError(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
        )
    return mode


def _agents(flags: SdkFlags) -> tuple[dict[str, SdkAgent], list[str]]:
    from remit.wiring.sdk_agents import read_agents

    if flags.agents is None:
        return {}, []
    try:
        given = json.loads(flags.agents)
    except (ValueError, RecursionError) as problem:
        return {}, [f"--agents is not valid JSON: {problem}; there are none"]
    return read_agents(given, "--agents")


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


# -- the spec ----------------------------------------------------------------------------------


def _spec(
    flags: SdkFlags,
    settings: Settings,
    environ: Mapping[str, str],
    cwd: str,
    wanted: Wanted,
    tools: Sequence[ClientTool],
    mode: str,
    schema: dict[str, Any] | None,
    rules: Rules,
    systems: tuple[str, str],
) -> RunSpec:
    from remit.base.spec import Expect
    from remit.config.flags import RunFlags
    from remit.config.resolve import build_spec
    from remit.tools.registry import tool_effects

    limits = {"turns": flags.max_turns} if flags.max_turns and float(flags.max_turns) else {}
    limits |= {"usd": flags.max_usd} if flags.max_usd else {}
    run_flags = RunFlags(
        tools=ticks(flags, rules.gone),
        model=_model(wanted.model or flags.model or environ.get("ANTHROPIC_MODEL"), cwd),
        fallback_models=tuple(filter(None, (_model(flags.fallback_model, cwd),))),
        allow=there(rules.allow, tools),
        deny=there(rules.deny, tools, refused=True),
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
        ask=there(rules.ask, tools, refused=True),
        hooks=(*spec.hooks, *rules.hooks),
        beside=rules.beside,
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
    from remit.wiring.sdk_answers import MODELS

    if not name or name in ("default", "inherit"):
        return None
    if name.startswith("scripted/"):
        return f"scripted/{os.path.join(cwd, name.removeprefix('scripted/'))}"
    plain = name.removesuffix("[1m]")
    return MODELS.get(plain) or (plain if "/" in plain else f"anthropic/{plain}")


def _effort(flags: SdkFlags, wanted: Wanted) -> Any:
    from remit.base.messages import Effort
    from remit.wiring.sdk_answers import effort_of_tokens

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
    from remit.store.run_list import find_session, latest_session
    from remit.wiring.rewind import Point
    from remit.wiring.sdk_plan import Place

    if flags.session_id is not None and not _UUID.fullmatch(flags.session_id):
        raise RefusedError("Error: Invalid session ID. Must be a valid UUID.")
    again = flags.resume is not None or flags.continue_
    if again and flags.session_id is not None and not flags.fork:
        raise RefusedError("Error: --session-id with --continue or --resume also needs --fork-session.")
    if flags.session_id is not None and find_session(settings.state_dir, flags.session_id) is not None:
        raise RefusedError(f"Error: Session ID {flags.session_id} is already in use.")
    if flags.resume_drops and not flags.resume_at:
        raise RefusedError("Error: --resume-drops-turn needs --resume-session-at.")
    if flags.resume_at and not again:
        raise RefusedError("Error: --resume-session-at needs --resume or --continue.")
    if not again:
        return Place(session_id=flags.session_id or "")
    if flags.resume == "":
        raise RefusedError("Error: --resume needs the id of a session.")
    if flags.resume is not None:
        entry = find_session(settings.state_dir, flags.resume)
        if entry is None:
            return Place(missing=flags.resume)
    else:
        entry = latest_session(settings.state_dir, cwd)
        if entry is None:
            return Place(session_id=flags.session_id or "")
    point = Point(flags.resume_at, flags.resume_drops or "") if flags.resume_at else None
    return Place(entry=entry, fork=flags.fork, session_id=flags.session_id or "", point=point)

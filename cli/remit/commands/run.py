"""`remit run`: a prompt or a task file to its verdict."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from remit.base.errors import EXIT_MEANINGS, UsageFault, exit_word
from remit.commands import options

if TYPE_CHECKING:
    from remit.commands.sessions import SessionFlags
    from remit.config.resolve import RunFlags
    from remit.config.settings import Settings
    from remit.store.rundir import RunEntry
    from remit.wiring import Listeners, Ports, ReadyRun

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

# The mark keeps the lines of the table as they are.
EPILOG = "\b\nExit codes:\n" + "\n".join(
    f"  {code:>3} {exit_word(code):<11} {meaning}" for code, meaning in EXIT_MEANINGS.items()
)


@app.command(epilog=EPILOG)
def run(
    prompt: Annotated[str | None, typer.Argument(metavar="[PROMPT]", help="The prompt; - reads stdin.")] = None,
    task: options.Task = None,
    policy: options.Policies = None,
    approvals: options.Approvals = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="DIR", help="The run's directory, artifacts included.")
    ] = None,
    model: options.Model = None,
    fallback_models: options.FallbackModels = None,
    effort: options.Effort = None,
    images: options.Images = None,
    output_format: options.OutputFormat = "text",
    input_format: options.InputFormat = "text",
    partial: options.Partial = False,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", "-i", metavar="KEY=VALUE", help="An input of the task.")
    ] = None,
    prompt_file: Annotated[
        str | None, typer.Option("--prompt-file", metavar="FILE", help="File of the prompt; - reads stdin.")
    ] = None,
    stdin: Annotated[
        bool | None,
        typer.Option("--stdin/--no-stdin", " /-n", help="Read stdin to its end, or never.", show_default=False),
    ] = None,
    tools: options.Tools = None,
    goal: options.Goal = None,
    goal_limit: options.GoalLimit = None,
    profile: options.Profile = None,
    system_prompt: options.SystemPrompt = None,
    system_prompt_file: options.SystemPromptFile = None,
    append_system_prompt: options.AppendSystemPrompt = None,
    allowed_tools: options.AllowedTools = None,
    disallowed_tools: options.DisallowedTools = None,
    allow: options.Allow = None,
    deny: options.Deny = None,
    workspace: options.Workspace = None,
    hooks: options.Hooks = None,
    on_ask: options.OnAsk = None,
    on_deny: options.OnDeny = None,
    mode: options.Mode = None,
    example: Annotated[str | None, typer.Option("--example", metavar="NAME", help="Run a packaged example.")] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="FILE", help="Record the run, for remit replay.")
    ] = None,
    no_instructions: Annotated[
        bool, typer.Option("--no-instructions", help="Leave out AGENTS.md and its like.", show_default=False)
    ] = False,
    no_rtk: Annotated[
        bool, typer.Option("--no-rtk", help="Show the model all that commands print, unfiltered.", show_default=False)
    ] = False,
    latest: options.Continue = False,
    resume: options.Resume = None,
    fork: options.Fork = False,
    implement: options.Implement = None,
    clear: options.Clear = False,
    session_id: options.SessionId = None,
    ephemeral: options.Ephemeral = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    max_turns: options.MaxTurns = None,
    max_seconds: options.MaxSeconds = None,
    max_tokens: options.MaxTokens = None,
    max_usd: options.MaxUsd = None,
    max_calls: options.MaxCalls = None,
    max_network_requests: options.MaxNetworkRequests = None,
    max_artifact_bytes: options.MaxArtifactBytes = None,
    max_artifacts_total_bytes: options.MaxArtifactsTotalBytes = None,
) -> None:
    """Run a task or a prompt to its verdict.

    Without a task file the model may list, read and search the current directory, nothing else."""
    limits = options.limits(locals())
    from remit.commands.sessions import SessionFlags
    from remit.config.resolve import RunFlags

    driven = input_format == "stream-json"
    if driven:
        hold_driven(output_format, stdin, prompt, prompt_file)

    flags = RunFlags(
        task=task,
        prompt=prompt,
        prompt_file=prompt_file,
        model=model,
        inputs=tuple(inputs or ()),
        tools=None if tools is None else tuple(tools),
        goal=goal,
        goal_limit=goal_limit,
        profile=profile,
        system_prompt=system_prompt,
        system_prompt_file=system_prompt_file,
        append_system_prompt=append_system_prompt,
        allowed_tools=tuple(allowed_tools or ()),
        disallowed_tools=tuple(disallowed_tools or ()),
        allow=tuple(allow or ()),
        deny=tuple(deny or ()),
        limits=limits,
        policies=tuple(policy or ()),
        approvals=approvals,
        workspace=workspace,
        on_ask=on_ask,
        on_deny=on_deny,
        stdin=stdin,
        fallback_models=tuple(fallback_models or ()),
        effort=effort,
        images=tuple(images or ()),
        no_rtk=no_rtk,
        no_instructions=no_instructions,
        driven=driven,
        mode=mode,
        hooks=tuple(hooks or ()),
    )
    session = SessionFlags(
        latest=latest,
        resume=resume,
        fork=fork,
        session_id=session_id,
        ephemeral=ephemeral,
        implement=implement,
        clear=clear,
    )
    session.hold(out=out, new={"--example": example, "--record": record}, prompt=prompt or prompt_file)
    if partial and output_format != "stream-json":
        raise UsageFault("only stream-json carries parts of answers", where="--include-partial-messages")
    _start(flags, session, example, out, record, output_format, quiet, verbose, partial)


def hold_driven(output_format: str, stdin: bool | None, *prompts: str | None) -> None:
    """A client program needs both directions. Raises UsageFault."""
    if output_format != "stream-json":
        raise UsageFault(
            "a client that sends JSON lines reads JSON lines",
            where="--input-format",
            hint="add --output-format stream-json",
        )
    if stdin is not None or "-" in prompts:
        raise UsageFault(
            "stdin carries the lines of the client, so that no prompt is read there", where="--input-format"
        )


@dataclass(frozen=True)
class _Begun:
    """What a command line comes to, before there is a run."""

    flags: RunFlags
    session: SessionFlags
    settings: Settings
    environ: dict[str, str]
    here: str
    out: str | None
    record: str | None


def _start(
    flags: RunFlags,
    session: SessionFlags,
    example: str | None,
    out: str | None,
    record: str | None,
    output_format: options.Format,
    quiet: bool,
    verbose: bool,
    partial: bool = False,
) -> None:
    """Resolve the flags, start the run, and end the process with its exit code."""
    from remit import wiring
    from remit.commands.execute import Watch, catch_signals, drive, leave, listeners
    from remit.config.settings import load_settings

    watch = Watch()
    catch_signals(watch)
    environ = dict(os.environ)
    settings = load_settings(environ)
    if example is not None:
        from remit.commands.example import with_example

        flags = with_example(flags, example, settings)
    begun = _Begun(flags, session, settings, environ, wiring.current_directory(), out, record)
    entry = session.entry(settings.state_dir, begun.here, flags.workspace)
    make = _new(begun) if entry is None else _taken_up(begun, entry)
    heard = listeners(output_format, quiet=quiet, verbose=verbose, environ=environ, watch=watch, partial=partial)
    watch.begin()
    leave(drive(make(heard), watch, settings.client_seconds if flags.driven else None))


def _ports(begun: _Begun) -> Ports:
    from remit.engine.client_questions import Person
    from remit.wiring import Ports

    driven = begun.flags.driven
    return Ports(begun.environ, client=driven, person=Person() if driven else None)


def _new(begun: _Begun) -> Callable[[Listeners], ReadyRun]:
    """A new session."""
    from remit import wiring
    from remit.commands.stdin import stdin_reader
    from remit.config.resolve import build_spec
    from remit.config.resume import with_command
    from remit.tools.registry import tool_effects
    from remit.workspace.pictures import fit_picture

    flags, settings, here = begun.flags, begun.settings, begun.here
    fresh = wiring.Fresh(begun.session.hold_id(settings.state_dir), begun.session.ephemeral)
    spec = build_spec(flags, settings, tool_effects(), stdin_reader(), here, fit_picture)
    spec = wiring.with_memory(with_command(spec, flags, here), settings)
    spec = spec if flags.no_instructions else wiring.with_instructions(spec, settings)
    ports = _ports(begun)
    return lambda heard: wiring.start(spec, settings, begun.out, heard, ports, record=begun.record, fresh=fresh)


def _taken_up(begun: _Begun, entry: RunEntry) -> Callable[[Listeners], ReadyRun]:
    """A session that is there already, or a copy of it."""
    from remit import wiring
    from remit.commands.sessions import noted
    from remit.commands.stdin import stdin_reader
    from remit.config.resume import continued_spec, said_by
    from remit.store.rundir import RunDir
    from remit.tools.registry import tool_effects
    from remit.workspace.pictures import fit_picture

    flags, settings, here = begun.flags, begun.settings, begun.here
    fresh = wiring.Fresh(begun.session.hold_id(settings.state_dir), begun.session.ephemeral)
    change = noted(lambda old: continued_spec(old, flags, settings, tool_effects(), here))
    ports = _ports(begun)
    mode, clear = flags.mode or "", begun.session.clear
    if begun.session.implement is not None:
        return lambda heard: wiring.implement(
            entry, change, settings, heard, ports, clear=clear, mode=mode, out=begun.out, fresh=fresh
        )
    said = said_by(flags, settings, tool_effects(), stdin_reader(), here, fit_picture)
    if begun.session.fork:
        return lambda heard: wiring.fork(
            entry, change, settings, begun.out, heard, ports, said=said, mode=mode, fresh=fresh
        )
    directory = RunDir.open(entry.path)
    return lambda heard: wiring.resume(directory, change, settings, heard, ports, said=said, further=True, mode=mode)

"""`remit resume`: go on with a run from the end of its journal."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from remit.commands import caps, options

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(epilog=options.EXIT_CODES)
def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, the start of one, `last`, or a run directory.")],
    prompt: Annotated[
        str | None, typer.Argument(metavar="[PROMPT]", help="A further prompt of the session; - reads stdin.")
    ] = None,
    approvals: options.Approvals = None,
    model: options.Model = None,
    output_format: options.OutputFormat = "text",
    reload: Annotated[
        bool, typer.Option("--reload", help="Use task and rule files as they are now, not as they were.")
    ] = False,
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
    """Go on with a run that stopped, or say more to one that is done. What finished is not repeated.

    Task, rules and settings are those the run was started with; a file that changed since is named,
    and used only with --reload. New approvals (-a) and limits apply from here on.

    Taken up can be what stopped on an ask, on a signal or on a limit, or whose process died. A call that
    had started and has no outcome is told to the model as interrupted, its effect unknown; it is run
    again only where that is harmless.

    With PROMPT more is said to a session, also to one that is done; what its last prompt left open is
    given up. The process that serves a session is the only one that may."""
    limits = caps.limits(locals())
    from remit import wiring
    from remit.commands.execute import Watch, catch_signals, drive, leave, listeners
    from remit.commands.sessions import noted
    from remit.commands.stdin import stdin_reader
    from remit.config.flags import RunFlags
    from remit.config.images import as_it_is
    from remit.config.resume import ResumeFlags, changed_spec, said_by
    from remit.config.settings import load_settings
    from remit.providers.catalog import placed
    from remit.store.run_list import find_run
    from remit.store.rundir import RunDir
    from remit.tools.registry import tool_effects

    watch = Watch()
    catch_signals(watch)
    environ = dict(os.environ)
    settings = load_settings(environ)
    flags = ResumeFlags(
        approvals=approvals,
        model=None if model is None else placed(model, wiring.current_directory(), ""),
        reload=reload,
        limits=limits,
    )
    entry = find_run(settings.state_dir, run)
    said = None
    if prompt is not None:
        given = RunFlags(prompt=prompt, stdin=None if prompt == "-" else False)
        said = said_by(given, settings, tool_effects(), stdin_reader(), wiring.current_directory(), as_it_is)
    directory = RunDir.open(entry.path)
    heard = listeners(output_format, quiet=quiet, verbose=verbose, environ=environ, watch=watch)

    change = noted(lambda spec: changed_spec(spec, flags, tool_effects(), settings))
    watch.begin()
    ready = wiring.resume(
        directory, change, settings, heard, wiring.Ports(environ), said=said, further=said is not None
    )
    leave(drive(ready, watch))

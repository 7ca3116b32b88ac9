"""`remit resume`: go on with a run from the end of its journal."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from remit.base.spec import RunSpec
from remit.commands import options

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, the start of one, `last`, or a run directory.")],
    approvals: options.Approvals = None,
    model: options.Model = None,
    output_format: options.OutputFormat = "text",
    reload: Annotated[
        bool, typer.Option("--reload", help="Use task and rule files as they are now, not as they were.")
    ] = False,
    quiet: options.Quiet = False,
    max_turns: options.MaxTurns = None,
    max_seconds: options.MaxSeconds = None,
    max_tokens: options.MaxTokens = None,
    max_usd: options.MaxUsd = None,
    max_calls: options.MaxCalls = None,
    max_network_requests: options.MaxNetworkRequests = None,
    max_artifact_bytes: options.MaxArtifactBytes = None,
    max_artifacts_total_bytes: options.MaxArtifactsTotalBytes = None,
) -> None:
    """Go on with a run that stopped. What finished is not repeated.

    Task, rules and settings are those the run was started with; a file that changed since is named,
    and used only with --reload. New approvals (-a) and limits apply from here on."""
    limits = options.limits(locals())
    from remit import wiring
    from remit.commands.execute import Watch, catch_signals, drive, leave, listeners
    from remit.commands.output import write_stderr
    from remit.config.resume import ResumeFlags, changed_spec
    from remit.config.settings import load_settings
    from remit.providers.catalog import placed
    from remit.store.rundir import RunDir, find_run
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
    directory = RunDir.open(entry.path)
    heard = listeners(output_format, quiet=quiet, environ=environ, watch=watch)

    def change(spec: RunSpec) -> RunSpec:
        changed, notes = changed_spec(spec, flags, tool_effects(), settings)
        for note in notes:
            write_stderr(f"remit: {note}\n")
        return changed

    watch.begin()
    ready = wiring.resume(directory, change, settings, heard, wiring.Ports(environ))
    leave(drive(ready, watch))

"""`remit replay`: a recorded run, played again."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from remit.commands import options

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(epilog=options.EXIT_CODES)
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `remit run --record` wrote.", show_default=False)],
    live_tools: Annotated[
        bool, typer.Option("--live-tools", help="Run the tools again and compare their results.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="DIR", help="The directory of this run, artifacts included.")
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", "-C", metavar="DIR", help="Where live tools run, instead of where they ran."),
    ] = None,
    output_format: options.OutputFormat = "text",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Play a recorded run again, offline, and compare everything.

    The first request, decision or result that is not the recorded one ends it with exit code 5 and is
    shown; else the exit code is that of the recorded run. No model is asked, no key and no task file is
    needed, and without --live-tools no workspace and no network."""
    from remit.base.errors import UsageFault

    if workspace is not None and not live_tools:
        raise UsageFault("without live tools there is no workspace", where="-C", hint="add --live-tools")
    from remit.commands.execute import Watch, catch_signals, drive, leave, listeners
    from remit.config.settings import load_settings
    from remit.wiring import Ports
    from remit.wiring.replayed import replay as replayed

    watch = Watch()
    catch_signals(watch)
    environ = dict(os.environ)
    settings = load_settings(environ)
    heard = listeners(output_format, quiet=quiet, verbose=verbose, environ=environ, watch=watch)
    watch.begin()
    leave(drive(replayed(file, settings, out, heard, Ports(environ), live=live_tools, workspace=workspace), watch))

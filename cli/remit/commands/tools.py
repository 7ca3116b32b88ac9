"""`remit tools`: what a run would offer to the model, what it would not, and why."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from remit.commands import options

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def tools(
    task: options.Task = None,
    model: options.Model = None,
    policy: options.Policies = None,
    approvals: options.Approvals = None,
    names: options.Tools = None,
    profile: options.Profile = None,
    allowed_tools: options.AllowedTools = None,
    disallowed_tools: options.DisallowedTools = None,
    allow: options.Allow = None,
    deny: options.Deny = None,
    workspace: options.Workspace = None,
    on_ask: options.OnAsk = None,
    mode: options.Mode = None,
    as_json: Annotated[bool, typer.Option("--json", help="Names, state, effects and schemas as JSON.")] = False,
) -> None:
    """List the tools a run with these flags would offer, and why others are off."""
    flags = options.offer_flags(locals())
    import msgspec

    from remit import wiring
    from remit.config.settings import load_settings

    environ = dict(os.environ)
    settings = load_settings(environ)
    listing = wiring.list_tools(wiring.spec_without_prompt(flags, settings), settings, environ)
    if as_json:
        typer.echo(msgspec.json.encode(listing).decode())
        return
    for entry in listing:
        typer.echo(_line(entry))


def _line(entry: dict[str, Any]) -> str:
    return f"{entry['state']:<4} {entry['name']:<18} {','.join(entry['effects']):<9} {entry['reason']}"

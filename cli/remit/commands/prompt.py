"""`remit prompt`: what the model would read before the prompt itself."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from remit.commands import options

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def prompt(
    task: options.Task = None,
    model: options.Model = None,
    policy: options.Policies = None,
    approvals: options.Approvals = None,
    names: options.Tools = None,
    profile: options.Profile = None,
    system_prompt: options.SystemPrompt = None,
    system_prompt_file: options.SystemPromptFile = None,
    append_system_prompt: options.AppendSystemPrompt = None,
    allowed_tools: options.AllowedTools = None,
    disallowed_tools: options.DisallowedTools = None,
    allow: options.Allow = None,
    deny: options.Deny = None,
    workspace: options.Workspace = None,
    on_ask: options.OnAsk = None,
    mode: options.Mode = None,
    no_instructions: Annotated[
        bool, typer.Option("--no-instructions", help="Leave out AGENTS.md and its like.", show_default=False)
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With the tools of the first request, as JSON.")] = False,
) -> None:
    """Print what the model of a run with these flags reads before the prompt.

    That is the system prompt, and of a run on code what AGENTS.md and its like say about how to work, and its
    environment. Whether tools are left out until they are needed depends on the model."""
    flags = options.offer_flags(locals())
    import msgspec

    from remit import wiring
    from remit.config.settings import load_settings

    environ = dict(os.environ)
    settings = load_settings(environ)
    spec = wiring.with_memory(wiring.spec_without_prompt(flags, settings), settings)
    spec = spec if no_instructions else wiring.with_instructions(spec, settings)
    asked = wiring.first_request(spec, settings, environ)
    if not as_json:
        typer.echo("\n\n".join(filter(None, (asked.system, asked.instructions, asked.environment))))
        return
    typer.echo(msgspec.json.format(msgspec.json.encode(asked), indent=2).decode())

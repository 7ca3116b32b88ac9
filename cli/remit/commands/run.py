"""`remit run`: a prompt or a task file to its verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from remit.commands import options

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(epilog=options.EXIT_CODES)
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
    from remit.commands.begin import begin

    begin(locals())

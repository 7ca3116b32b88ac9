"""The options that `run`, `resume` and `tools` share, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from remit.base.errors import EXIT_MEANINGS, exit_word
from remit.commands.caps import LIMIT_FLAGS

if TYPE_CHECKING:
    from remit.config.flags import RunFlags

# The mark keeps the lines of the table as they are.
EXIT_CODES = "\b\nExit codes:\n" + "\n".join(
    f"  {code:>3} {exit_word(code):<11} {meaning}" for code, meaning in EXIT_MEANINGS.items()
)
"""Below the help of what ends in the verdict of a run."""

Format = Literal["text", "json", "stream-json", "codex-json"]


def _limit(name: str, metavar: str, text: str) -> object:
    return typer.Option(LIMIT_FLAGS[name], metavar=metavar, help=text, rich_help_panel="Limits")


Task = Annotated[str | None, typer.Option("--task", "-t", metavar="FILE", help="Task file, YAML or TOML.")]
Model = Annotated[
    str | None, typer.Option("--model", "-m", metavar="PROVIDER/NAME", help="The model, such as openai/gpt-4o-mini.")
]
FallbackModels = Annotated[
    list[str] | None,
    typer.Option(
        "--fallback-model",
        metavar="PROVIDER/NAME",
        help="To go on with when the model is busy; may be repeated.",
    ),
]
Effort = Annotated[
    Literal["off", "low", "medium", "high", "max"] | None,
    typer.Option("--effort", help="How much the model should think. Default: as it does by itself."),
]
Images = Annotated[
    list[str] | None,
    typer.Option("--image", metavar="FILE", help="A picture to show with the prompt: PNG, JPEG, GIF or WebP."),
]
Policies = Annotated[
    list[str] | None, typer.Option("--policy", "-p", metavar="FILE", help="Rule file; may be given several times.")
]
Approvals = Annotated[
    str | None, typer.Option("--approvals", "-a", metavar="FILE", help="Answers to what the rules ask.")
]
Hooks = Annotated[
    list[str] | None,
    typer.Option("--hooks", metavar="FILE", help="Commands that hear of the run's steps, and may refuse."),
]
Tools = Annotated[
    list[str] | None,
    typer.Option("--tools", metavar="NAME[=auto|ask|deny],...", help="The tools to offer, instead of the task's."),
]
AllowedTools = Annotated[
    list[str] | None,
    typer.Option("--allowed-tools", metavar="TOOL,...", help="Of the ticked tools only these, in every request."),
]
DisallowedTools = Annotated[
    list[str] | None, typer.Option("--disallowed-tools", metavar="TOOL,...", help="Tools that are off, ticked or not.")
]
Profile = Annotated[
    str | None,
    typer.Option("--system-prompt-profile", metavar="TEXT", help="Name of a profile in the settings' system-prompts/."),
]
SystemPrompt = Annotated[
    str | None, typer.Option("--system-prompt", metavar="TEXT", help="Words in place of remit's own system prompt.")
]
SystemPromptFile = Annotated[
    str | None, typer.Option("--system-prompt-file", metavar="FILE", help="A file of such words.")
]
AppendSystemPrompt = Annotated[
    str | None, typer.Option("--append-system-prompt", metavar="TEXT", help="Words after the system prompt.")
]
Goal = Annotated[
    str | None,
    typer.Option("--goal", metavar="TEXT", help="What has to be true: a model judges, and the run goes on till then."),
]
GoalLimit = Annotated[
    int | None, typer.Option("--goal-limit", metavar="N", help="How often it goes on for the goal. Default 16.")
]
Allow = Annotated[list[str] | None, typer.Option("--allow", metavar="RULE", help="Such as fetch_url:host=example.org.")]
Deny = Annotated[
    list[str] | None, typer.Option("--deny", metavar="RULE", help="Such as '*:path=private/**', * for every tool.")
]
Workspace = Annotated[
    str | None, typer.Option("--workspace", "-C", metavar="DIR", help="The directory that file tools see.")
]
OnAsk = Annotated[
    Literal["deny", "stop"] | None,
    typer.Option("--on-ask", help="An ask that nobody answers: refuse the call, or stop the run."),
]
OnDeny = Annotated[
    Literal["continue", "fail"] | None,
    typer.Option("--on-deny", help="A refused call: go on, or end the run with exit code 4."),
]
Mode = Annotated[
    Literal["build", "plan", "default", "acceptEdits", "bypassPermissions", "dontAsk"] | None,
    typer.Option(
        "--mode",
        "--permission-mode",
        metavar="MODE",
        help="build or default: as the rules say; plan: change nothing but the plan; acceptEdits; bypassPermissions; "
        "dontAsk.",
    ),
]
Continue = Annotated[
    bool, typer.Option("--continue", "-c", help="Go on with the latest session of this directory, if there is one.")
]
Resume = Annotated[
    str | None, typer.Option("--resume", metavar="RUN", help="Go on with this session: a run or session id, or `last`.")
]
Fork = Annotated[
    bool, typer.Option("--fork", "--fork-session", help="Go on with a copy of that session, which stays as it is.")
]
Implement = Annotated[
    str | None, typer.Option("--implement", metavar="RUN", help="Carry out the plan of this session.")
]
Clear = Annotated[bool, typer.Option("--clear", help="Carry it out in a new session, which the plan moves to.")]
SessionId = Annotated[str | None, typer.Option("--session-id", metavar="UUID", help="The id of the new session.")]
Ephemeral = Annotated[bool, typer.Option("--ephemeral", help="Leave nothing of the run on disk but what its tools do.")]
InputFormat = Annotated[
    Literal["text", "stream-json"],
    typer.Option("--input-format", help="stream-json: prompts and control come as JSON lines on stdin."),
]
Partial = Annotated[
    bool, typer.Option("--include-partial-messages", help="With stream-json: answers as they come.", show_default=False)
]
OutputFormat = Annotated[Format, typer.Option("--output-format", help="What stdout carries.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also what the model says between calls, and what each call came to.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr, only what went wrong.")]

MaxTurns = Annotated[str | None, _limit("turns", "N", "Model requests.")]
MaxSeconds = Annotated[str | None, _limit("seconds", "S", "Wall time in seconds.")]
MaxTokens = Annotated[str | None, _limit("tokens", "N", "Tokens, in and out.")]
MaxUsd = Annotated[str | None, _limit("usd", "X", "US dollars; needs the model's price.")]
MaxCalls = Annotated[str | None, _limit("calls", "N", "Tool calls.")]
MaxNetworkRequests = Annotated[str | None, _limit("network_requests", "N", "Requests of web tools.")]
MaxArtifactBytes = Annotated[str | None, _limit("artifact_bytes", "SIZE", "Size of one artifact, such as 1MiB.")]
MaxArtifactsTotalBytes = Annotated[
    str | None, _limit("artifacts_total_bytes", "SIZE", "Size of all artifacts together.")
]


def offer_flags(given: Mapping[str, Any]) -> RunFlags:
    """The flags that decide what a model gets, among the parameters of a command that only tells of it."""
    from remit.config.flags import RunFlags

    names = given["names"]
    return RunFlags(
        task=given["task"],
        model=given["model"],
        tools=None if names is None else tuple(names),
        profile=given["profile"],
        system_prompt=given.get("system_prompt"),
        system_prompt_file=given.get("system_prompt_file"),
        append_system_prompt=given.get("append_system_prompt"),
        allowed_tools=tuple(given["allowed_tools"] or ()),
        disallowed_tools=tuple(given["disallowed_tools"] or ()),
        allow=tuple(given["allow"] or ()),
        deny=tuple(given["deny"] or ()),
        policies=tuple(given["policy"] or ()),
        approvals=given["approvals"],
        workspace=given["workspace"],
        on_ask=given["on_ask"],
        mode=given["mode"],
    )

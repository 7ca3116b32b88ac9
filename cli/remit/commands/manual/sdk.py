"""remit-sdk(1): the entry point for programs written for Claude Code."""

from __future__ import annotations

from collections.abc import Iterator

from remit.commands.manual.page import Code, Item, Page, Para, Section, Span, bold, item

PYTHON = """\
import asyncio
from claude_agent_sdk import ClaudeAgentOptions, query

async def main():
    options = ClaudeAgentOptions(cli_path="/usr/local/bin/remit-sdk", allowed_tools=["Read"])
    async for message in query(prompt="What does main.py do?", options=options):
        print(message)

asyncio.run(main())
"""
TYPESCRIPT = """\
import { query } from "@anthropic-ai/claude-agent-sdk";

const options = { pathToClaudeCodeExecutable: "/usr/local/bin/remit-sdk", allowedTools: ["Read"] };
for await (const message of query({ prompt: "What does main.py do?", options })) console.log(message);
"""

EXITS = {
    "0": "The last result is no error, or SIGINT ended the session.",
    "1": "The last result is an error, or the session could not begin: standard error says why. So it ends where "
    "neither a prompt nor a control request came.",
    "129, 143": "SIGHUP or SIGTERM ended the session.",
}
ENVIRONMENT = {
    "ANTHROPIC_MODEL": "The model where `--model` names none.",
    "ANTHROPIC_API_KEY": "The key for models of Anthropic; those of other providers are found as for remit(1).",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "With `1` lines tell whether the session is idle, runs or waits.",
    "IS_SANDBOX": "With `1` root may set the mode bypassPermissions.",
}

UNSUPPORTED = {
    "Fields of agents": "Of an agent that a client defines, description, prompt, tools, disallowedTools, model and "
    "effort are taken; skills, memory, mcpServers, initialPrompt, maxTurns, background and permissionMode are passed "
    "over, which the stream tells. Tools of MCP servers are not for agents.",
    "skills, plugins, slash commands, output styles": "Those of a client are passed over, which the stream tells.",
    "MCP servers outside of the client": "Servers that are started or reached by an address are shown as failed. Those "
    "of the client are connected to once: they are neither reconnected nor switched off.",
    "Transcripts": "Sessions lie in run directories of remit: functions of the clients that list or read transcripts "
    "find none, and `--session-mirror` is refused.",
    "Checkpoints of files": "`rewind_files` is refused. `--resume-session-at` goes back in the conversation alone.",
    "Settings in files of the project": "Of `.claude/settings.json` and its like nothing is read.",
    "EnterPlanMode": "The model does not begin to plan by itself: `--permission-mode plan` and `set_permission_mode` "
    "do.",
    "Hooks": "PreToolUse with `defer` refuses the call. Answers that come later (`async`) are not heard; callbacks for "
    "steps that never come are named in the stream.",
    "Environment of commands": "Commands get a cleared environment, as in remit-run(1); variables that a client sets "
    "reach remit and no command.",
    "Blocks of messages": "Texts and base64 images are taken; a prompt with another block ends in an error.",
}
"""What such programs may expect and do not get, and what there is instead."""


def sdk_page() -> Page:
    """remit-sdk(1)."""
    return Page(
        "remit-sdk",
        1,
        "remit for programs that drive Claude Code's headless mode",
        (
            Section("SYNOPSIS", (Code("remit-sdk [options] [prompt]"),)),
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "The program takes the flags of Claude Code's headless mode, and speaks its stream-JSON on "
                        "standard input and output, so that the official clients in Python and TypeScript drive remit "
                        "where they are given its path. Rules, limits, sandbox and journal are those of remit-run(1), "
                        "and `remit.toml` holds for it too; `remit runs` lists its sessions."
                    ),
                    Para(
                        "Tools and their parameters bear the names that such programs know: Read, Write, Edit, Bash, "
                        "Glob, Grep, WebFetch, Agent, TodoWrite and so on, in messages, callbacks, hooks and lists of "
                        "allowed tools. Tools without such a name keep that of remit-tools(7). The model is offered "
                        "the tools under the names of remit; where a prompt, AGENTS.md or an agent has it call `Read` "
                        "or another name of Claude Code, with the parameters of that name, the call is taken as one of "
                        "the tool that does the same. What a list of tools names and remit does not have is told on "
                        "standard error, and passed over."
                    ),
                    Para(
                        "Permissions: tools that only read are allowed, all else is asked. With "
                        "`--permission-prompt-tool stdio`, which the clients pass where there is a callback, the "
                        "client is asked, questions of the model included (AskUserQuestion); without it such calls "
                        "are refused, and no question is offered."
                    ),
                    Para(
                        "In the mode plan the model hands its plan in by the call that is shown as ExitPlanMode, with "
                        "the text as `plan`. A client that answers permissions is asked about it: allowed, the plan is "
                        "kept and the mode is default from there on, or what the client sets along with its answer; "
                        "refused, planning goes on with what the client says. Without such a client the plan is kept "
                        "and the mode stays; `set_permission_mode` or `implement` go on."
                    ),
                    Para(
                        "A session begins with AGENTS.md, CLAUDE.md and their like, as remit-run(1) has them: with "
                        "those of the working directory and the directories above it where the setting sources have "
                        "`project`, and with the user's own where they have `user`. Clients that name no sources get "
                        "both, those that name none at all get neither. Settings files of that program "
                        "(.claude/settings.json, .claude/settings.local.json) are not read, which is told where one "
                        "is there: permissions and hooks come by `--settings` and from the client."
                    ),
                    Para(
                        "`--add-dir` names directories that the tools for files read, by absolute paths and under the "
                        "same rules; they are not written, and commands stay in the sandbox. Of MCP servers those "
                        "that live in the client are served; others are shown as failed. `--session-mirror` is "
                        "refused: there are no transcripts to be mirrored."
                    ),
                ),
            ),
            Section("OPTIONS", tuple(_options())),
            Section("NOT SUPPORTED", tuple(_unsupported())),
            Section("EXIT STATUS", tuple(item(code, text) for code, text in EXITS.items())),
            Section("ENVIRONMENT", tuple(item(name, text) for name, text in ENVIRONMENT.items())),
            Section("EXAMPLES", (Para("In Python:"), Code(PYTHON), Para("In TypeScript:"), Code(TYPESCRIPT))),
            Section("SEE ALSO", (Para("remit-run(1), remit-tools(7), remit-policy(5)"),)),
        ),
    )


def _options() -> Iterator[Item]:
    from remit.commands.sdk_flags import FLAGS, wish

    for flag in FLAGS:
        if flag.ignored == "told":
            continue
        term = bold(", ".join(flag.names)), *((Span(" "), Span(flag.metavar, "italic")) if flag.metavar else ())
        yield Item(term, (Para(wish(flag)),))


def _unsupported() -> Iterator[Item]:
    from remit.commands.sdk_flags import FLAGS, wish

    for name, text in UNSUPPORTED.items():
        yield item(name, text)
    for flag in FLAGS:
        if flag.ignored == "told":
            yield Item((bold(", ".join(flag.names)),), (Para(f"{wish(flag)} Without effect, which is told."),))

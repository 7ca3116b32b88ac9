"""The command line of `remit-sdk`: the flags of Claude Code's headless mode, as its SDKs pass them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

Kind = Literal["flag", "text", "list", "repeated", "number", "money"]


class Flag(msgspec.Struct, frozen=True):
    """One flag. names: its spellings. kind: `list` takes several words, each with commas; `repeated` comes several
    times. choices: all it takes, () for anything. metavar: "" where it takes none. ignored: it is taken and changes
    nothing, `moot` because there is nothing to change, `told` where a wish is not met, which is told, `refused` where
    it would leave less safe what the wish is to protect."""

    field: str
    names: tuple[str, ...]
    kind: Kind = "text"
    metavar: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    ignored: Literal["", "moot", "told", "refused"] = ""


FORMATS = ("text", "json", "stream-json")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
THINKING = ("adaptive", "enabled", "disabled")
MODES = ("acceptEdits", "bypassPermissions", "default", "dontAsk", "plan")

FLAGS: tuple[Flag, ...] = (
    Flag("print", ("-p", "--print"), "flag", help="Print and exit; always so here.", ignored="moot"),
    Flag("output_format", ("--output-format",), metavar="format", help="What stdout carries.", choices=FORMATS),
    Flag("input_format", ("--input-format",), metavar="format", help="What stdin carries.", choices=FORMATS[::2]),
    Flag("verbose", ("--verbose",), "flag", help="All messages; stream-json needs it."),
    Flag("system_prompt", ("--system-prompt",), metavar="prompt", help="The system prompt."),
    Flag("system_prompt_file", ("--system-prompt-file",), metavar="file", help="The same from a file."),
    Flag("append_system_prompt", ("--append-system-prompt",), metavar="prompt", help="Added to the system prompt."),
    Flag("append_system_prompt_file", ("--append-system-prompt-file",), metavar="file", help="The same from a file."),
    Flag("tools", ("--tools",), "list", "tools", 'The tools: names, "" for none, default for all.'),
    Flag("allowed", ("--allowedTools", "--allowed-tools"), "list", "tools", "Allowed, such as Bash(git diff *) Edit."),
    Flag("disallowed", ("--disallowedTools", "--disallowed-tools"), "list", "tools", "Refused, or not there at all."),
    Flag("max_turns", ("--max-turns",), "number", "turns", "Turns of the model at most; 0 for no limit."),
    Flag("max_usd", ("--max-budget-usd",), "money", "amount", "US dollars; needs the price of the model."),
    Flag("model", ("--model",), metavar="model", help="Of this session: NAME of Anthropic, or PROVIDER/NAME."),
    Flag("fallback_model", ("--fallback-model",), metavar="model", help="To go on with when the model is busy."),
    Flag("effort", ("--effort",), metavar="level", help="How much to think; xhigh is max.", choices=EFFORTS),
    Flag("thinking", ("--thinking",), metavar="mode", help="disabled: not at all.", choices=THINKING),
    Flag("max_thinking_tokens", ("--max-thinking-tokens",), "number", "tokens", "The same, from a number of tokens."),
    Flag("permission_mode", ("--permission-mode",), metavar="mode", help="What calls may do.", choices=MODES),
    Flag("bypass", ("--dangerously-skip-permissions",), "flag", help="As --permission-mode bypassPermissions."),
    Flag("may_bypass", ("--allow-dangerously-skip-permissions",), "flag", help="That mode may be set later."),
    Flag("permission_tool", ("--permission-prompt-tool",), metavar="tool", help="stdio: the client is asked."),
    Flag("resume", ("-r", "--resume"), metavar="session", help="Go on with this session."),
    Flag("continue_", ("-c", "--continue"), "flag", help="Go on with the last session of this directory."),
    Flag("fork", ("--fork-session",), "flag", help="Go on under a new id, and leave the old session as it is."),
    Flag("session_id", ("--session-id",), metavar="uuid", help="The id of the session."),
    Flag("mcp_config", ("--mcp-config",), "repeated", "configs", "MCP servers: JSON, or a file of it."),
    Flag("settings", ("--settings",), metavar="file-or-json", help="permissions and hooks are taken."),
    Flag("partial", ("--include-partial-messages",), "flag", help="Answers as they come."),
    Flag("replay", ("--replay-user-messages",), "flag", help="Messages of stdin come back on stdout."),
    Flag("json_schema", ("--json-schema",), metavar="schema", help="What the structured output has to fit."),
    Flag("add_dir", ("--add-dir",), "repeated", "directories", "Read these as well."),
    Flag("session_mirror", ("--session-mirror",), "flag", help="Refused: there are no transcripts to be mirrored."),
    Flag(
        "resume_at", ("--resume-session-at",), metavar="uuid", help="Go on from this message, and forget what follows."
    ),
    Flag(
        "resume_drops", ("--resume-drops-turn",), metavar="uuid", help="Refuse to forget more than this prompt's turn."
    ),
    Flag("no_persistence", ("--no-session-persistence",), "flag", help="Leave nothing behind that could be resumed."),
    Flag("strict_mcp", ("--strict-mcp-config",), "flag", help="Only servers given here; always so.", ignored="moot"),
    Flag("hook_events", ("--include-hook-events",), "flag", help="Lines tell of the hooks that run."),
    Flag(
        "setting_sources",
        ("--setting-sources",),
        metavar="sources",
        help="Of user, project and local those that AGENTS.md and its like are read of; all by default.",
    ),
    Flag("thinking_display", ("--thinking-display",), "text", "mode", "Thinking is shown as it comes.", ignored="moot"),
    Flag("debug", ("-d", "--debug"), "flag", help="The journal of the run tells all there is.", ignored="moot"),
    Flag("debug_file", ("--debug-file",), "text", "file", "The journal of the run tells all there is.", ignored="moot"),
    Flag(
        "permission_prompts",
        ("--permission-prompts",),
        "text",
        "mode",
        "As --permission-prompt-tool says.",
        ignored="moot",
    ),
    Flag("task_budget", ("--task-budget",), "text", "tokens", "Limits are those of turns and money.", ignored="told"),
    Flag("betas", ("--betas",), "list", "betas", "Beta features of the API are not asked for.", ignored="told"),
    Flag(
        "plugin_dir",
        ("--plugin-dir", "--plugin-dir-no-mcp"),
        "repeated",
        "directories",
        "There are no plugins.",
        ignored="told",
    ),
    Flag("agent", ("--agent",), "text", "agent", "The session is led by no agent.", ignored="told"),
    Flag("agents", ("--agents",), "text", "json", "Agents by name: description, prompt, tools, model."),
    Flag("debug_to_stderr", ("--debug-to-stderr",), "flag", "", "The journal tells all there is.", ignored="told"),
    Flag("bare", ("--bare",), "flag", "", "`--setting-sources=` leaves AGENTS.md out.", ignored="told"),
    Flag("name", ("-n", "--name"), "text", "name", "Sessions have no names but their ids.", ignored="told"),
    Flag("no_commands", ("--disable-slash-commands",), "flag", "", "There are no slash commands.", ignored="moot"),
    Flag("ide", ("--ide",), "flag", "", "No editor is connected to.", ignored="told"),
    Flag(
        "worktree",
        ("-w", "--worktree"),
        "flag",
        "",
        "Refused: no worktree is made, and the directory itself would be changed; begin the session in a worktree.",
        ignored="refused",
    ),
    Flag("managed_settings", ("--managed-settings",), "text", "json", "There are none.", ignored="told"),
)

_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}


class BadFlagError(Exception):
    """The command line cannot be read; the text is what stderr says."""


class SdkFlags(msgspec.Struct, kw_only=True):
    """The command line. None: not given. prompts: the words that are no flag. unmet: flags whose wish is not met."""

    prompts: list[str] = []
    unmet: list[str] = []
    output_format: Literal["text", "json", "stream-json"] = "text"
    input_format: Literal["text", "stream-json"] = "text"
    verbose: bool = False
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    tools: list[str] | None = None
    allowed: list[str] = []
    disallowed: list[str] = []
    max_turns: str | None = None
    max_usd: str | None = None
    model: str | None = None
    fallback_model: str | None = None
    effort: str | None = None
    thinking: str | None = None
    max_thinking_tokens: str | None = None
    permission_mode: str | None = None
    bypass: bool = False
    may_bypass: bool = False
    permission_tool: str | None = None
    resume: str | None = None
    continue_: bool = False
    fork: bool = False
    session_id: str | None = None
    mcp_config: list[str] = []
    settings: str | None = None
    partial: bool = False
    replay: bool = False
    json_schema: str | None = None
    no_persistence: bool = False
    add_dir: list[str] = []
    session_mirror: bool = False
    resume_at: str | None = None
    resume_drops: str | None = None
    hook_events: bool = False
    setting_sources: str | None = None
    agents: str | None = None


def parse_flags(argv: Sequence[str]) -> SdkFlags:
    """Raises BadFlagError."""
    found: dict[str, Any] = {"prompts": []}
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            found["prompts"] += words
            break
        if not word.startswith("-") or word == "-":
            found["prompts"].append(word)
            continue
        name, equals, value = word.partition("=")
        flag = _BY_NAME.get(name)
        if flag is None:
            raise BadFlagError(f"error: unknown option '{name}'")
        if flag.ignored == "refused":
            raise BadFlagError(f"error: option '{name}' is not supported: {flag.help.removeprefix('Refused: ')}")
        _take(flag, name, value if equals else None, words, found)
    _hold_formats(found)
    known = {name: value for name, value in found.items() if name in SdkFlags.__struct_fields__}
    known["unmet"] = [
        flag.names[-1] if len(flag.names[0]) == 2 else flag.names[0]
        for flag in FLAGS
        if flag.ignored == "told" and flag.field in found
    ]
    return SdkFlags(**known)


def _take(flag: Flag, name: str, value: str | None, words: list[str], found: dict[str, Any]) -> None:
    if flag.kind == "flag":
        found[flag.field] = True
        return
    if value is None:
        if not words or (flag.kind != "text" and words[0].startswith("--")):
            raise BadFlagError(f"error: option '{_shown(flag, name)}' argument missing")
        value = words.pop(0)
        if flag.kind == "list":
            while words and not words[0].startswith("-"):
                value += f",{words.pop(0)}"
    if flag.choices and value not in flag.choices:
        allowed = ", ".join(flag.choices)
        what = f"error: option '{_shown(flag, name)}' argument '{value}' is invalid. Allowed choices are {allowed}."
        raise BadFlagError(what)
    if flag.kind in ("number", "money"):
        _hold_number(flag, name, value)
    if flag.kind in ("list", "repeated"):
        found.setdefault(flag.field, []).extend(split_names(value) if flag.kind == "list" else [value])
    else:
        found[flag.field] = value


def _shown(flag: Flag, name: str) -> str:
    return f"{name} <{flag.metavar}>" if flag.metavar else name


def _hold_number(flag: Flag, name: str, value: str) -> None:
    try:
        fits = float(value) >= 0 and (flag.kind == "money" or float(value).is_integer())
    except (ValueError, OverflowError):
        fits = False
    if not fits:
        raise BadFlagError(f"error: option '{_shown(flag, name)}' argument '{value}' is invalid. must be a number")


def _hold_formats(found: dict[str, Any]) -> None:
    output, stream = found.get("output_format", "text"), found.get("input_format") == "stream-json"
    if stream and output != "stream-json":
        raise BadFlagError("Error: --input-format=stream-json requires output-format=stream-json.")
    if output == "stream-json" and not found.get("verbose"):
        raise BadFlagError("Error: When using --print, --output-format=stream-json requires --verbose")
    if found.get("partial") and output != "stream-json":
        raise BadFlagError("Error: --include-partial-messages requires --print and --output-format=stream-json.")


def split_names(text: str) -> list[str]:
    """Tool names with commas or blanks between them; what stands in parentheses belongs together, and so do the words
    of a name of an MCP server."""
    return [name for part in _names(text, ",\n") for name in _joined(list(_names(part, " \t")))]


def _joined(words: list[str]) -> list[str]:
    """With words that name no tool as part of the MCP name that they follow."""
    if len(words) < 2 or not any(word.startswith("mcp__") for word in words):
        return words
    from remit.base.claude_names import ours_for
    from remit.tools.registry import tool_effects

    joined: list[str] = []
    for word in words:
        named = word.startswith("mcp__") or ours_for(word.partition("(")[0], tool_effects())
        if joined and joined[-1].startswith("mcp__") and not named:
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined


def _names(text: str, separators: str) -> Iterator[str]:
    return filter(None, (name.strip() for name in _split(text, separators)))


def _split(text: str, separators: str) -> Iterator[str]:
    depth, name = 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth <= 0 and character in separators:
            yield name
            name = ""
        else:
            name += character
    yield name


def wish(flag: Flag) -> str:
    """What a flag is for, as help and manual say it."""
    choices = f"One of {', '.join(flag.choices)}." if flag.choices else ""
    return " ".join(filter(None, (flag.help, choices)))


def help_text() -> str:
    """`remit-sdk --help`."""
    return "\n".join(
        [
            "Usage: remit-sdk [options] [prompt]",
            "",
            "remit for programs that drive Claude Code's headless mode: its flags, its stream-JSON, its exit codes.",
            "`remit man sdk` tells the rest, and what is not supported.",
            "",
            "Options:",
            *_rows(flag for flag in FLAGS if flag.ignored != "told"),
            "",
            "Taken, and without effect, which is told on standard error:",
            *_rows(flag for flag in FLAGS if flag.ignored == "told"),
            "",
        ]
    )


def _rows(flags: Iterator[Flag]) -> Iterator[str]:
    for flag in flags:
        left = ", ".join(flag.names) + (f" <{flag.metavar}>" if flag.metavar else "")
        yield f"  {left:<44} {wish(flag)}"

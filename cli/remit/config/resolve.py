"""Task file, flags and settings made one: the spec of a run, or every fault of all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from remit.base.errors import Faults
from remit.base.messages import ImageBlock
from remit.base.spec import Expect, Goal, Hook, PolicySource, RunSpec
from remit.base.text import shorten
from remit.config.asked import Asked, StdinRead, StdinWish
from remit.config.findings import Findings
from remit.config.flags import RunFlags, text_faults
from remit.config.hooks import fitted, read_hooks
from remit.config.images import FitPicture, as_it_is, read_image
from remit.config.limits import limits_from, limits_from_flags
from remit.config.model_choice import choose_models
from remit.config.names import directory_fault
from remit.config.settings import Settings
from remit.config.system_words import SystemWords
from remit.config.task import ARTIFACT_TOOL, ARTIFACT_WRITERS, ModeWord, Task, ToolEffects, examine_task
from remit.config.tool_choice import ToolChoice

MAX_GOAL = 4000
GOAL_LIMIT, MAX_GOAL_LIMIT = 16, 100
"""Characters of a goal, and how often a model is sent on for it."""

POLICY_FILE = "policy.toml"
PROJECT_POLICY_FILE = os.path.join(".remit", POLICY_FILE)


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
        self._found = Findings(dict(settings.files))

    def spec(self, read_stdin: Callable[[StdinWish], StdinRead]) -> RunSpec:
        flags = self._flags
        self._found.faults += text_faults(flags)
        task = self._task()
        asked = Asked(flags, task, self._found)
        workspace = self._workspace(task)
        models = choose_models(flags, self._settings, task, self._found)
        tools = ToolChoice(flags, self._settings, task, self._effects, self._found)
        spec = RunSpec(
            name=task.name if task else "run",
            task=flags.task or "",
            prompt=asked.text or "",
            workspace=workspace,
            model=models.first,
            fallback_models=models.others,
            models=models.specs,
            effort=flags.effort or (task.effort if task else None),
            images=tuple(self._images()),
            compaction=self._settings.compaction,
            ticks=tools.ticks(),
            limits=limits_from({**(task.limit_values if task else {}), **self._flag_limits()}),
            memory_enabled=bool(task and task.memory.enabled),
            memory_proposals=bool(task and task.memory.proposals),
            expect=task.expect if task else Expect(),
            on_ask=flags.on_ask or (task.on_ask if task else "deny"),
            on_deny=flags.on_deny or (task.on_deny if task else "continue"),
            policies=tuple(self._policies(workspace)),
            allow=flags.allow,
            deny=flags.deny,
            approvals=self._found.source(flags.approvals, "-a") if flags.approvals is not None else None,
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
            files=self._found.files,
        )
        spec = msgspec.structs.replace(tools.narrowed(spec), goal=self._goal(models.judge))
        spec = SystemWords(flags, self._settings, self._tools, self._found).spoken(spec)
        if (
            flags.tools is not None
            and spec.expect.artifacts
            and not any(name in spec.ticks for name in ARTIFACT_WRITERS)
        ):
            hint = f"add {ARTIFACT_TOOL} to it"
            self._found.fault(f"the task promises artifacts, and this offers no {ARTIFACT_TOOL}", "--tools", hint)
        if self._found.faults:
            raise Faults(self._found.faults)
        return asked.in_full(spec, read_stdin)

    def _task(self) -> Task | None:
        if self._flags.task is None:
            return None
        task, faults = examine_task(self._flags.task, self._effects)
        self._found.faults += faults
        if task is not None:
            self._found.files |= task.files
        return task

    def _workspace(self, task: Task | None) -> str:
        given = self._flags.workspace
        if given is not None:
            path = os.path.normpath(os.path.join(self._cwd, given))
            message = directory_fault(path) if "\0" not in path else "not a directory"
            if message or not given:
                self._found.fault(f"{message or 'not a directory'}: {shorten(given)}", "--workspace", f"that is {path}")
        else:
            path = task.workspace if task and task.workspace else self._cwd
        if not _is_text(path):
            self._found.fault(f"the workspace's path is not UTF-8: {shorten(path)}", hint="rename the directory")
        return path

    def _images(self) -> Iterator[ImageBlock]:
        for path in self._flags.images:
            try:
                yield read_image(path, self._fit_picture)
            except Faults as problem:
                self._found.faults += problem.faults

    def _goal(self, judge: str) -> Goal | None:
        condition, limit = self._flags.goal, self._flags.goal_limit
        if condition is None:
            if limit is not None:
                self._found.fault("there is no goal", "--goal-limit", "add --goal CONDITION")
            return None
        if not condition.strip() or len(condition) > MAX_GOAL:
            seen = f"{len(condition):,} characters" if condition.strip() else "nothing"
            self._found.fault(f"expected a condition of at most {MAX_GOAL:,} characters, seen {seen}", "--goal")
        if limit is not None and not 1 <= limit <= MAX_GOAL_LIMIT:
            self._found.fault(f"expected 1 to {MAX_GOAL_LIMIT}, seen {limit}", "--goal-limit")
        return Goal(condition.strip(), limit or GOAL_LIMIT, judge)

    def _flag_limits(self) -> dict[str, object]:
        values, faults = limits_from_flags(self._flags.limits)
        self._found.faults += faults
        return values

    def _hooks(self, task: Task | None) -> tuple[Hook, ...]:
        hooks, faults = fitted(self._settings.hooks, self._tools)
        for path in self._flags.hooks:
            source = self._found.source(path, "--hooks")
            if source is not None:
                found, wrong = read_hooks(source.text, source.path)
                found, unfit = fitted(found, self._tools)
                hooks += found
                faults += wrong + unfit
        self._found.faults += faults
        return hooks + (task.hooks if task else ())

    def _policies(self, workspace: str) -> Iterator[PolicySource]:
        standing: tuple[tuple[Literal["user", "project"], str], ...] = (
            ("user", os.path.join(self._settings.config_dir, POLICY_FILE)),
            ("project", os.path.join(workspace, PROJECT_POLICY_FILE)),
        )
        for kind, path in standing:
            source = self._found.optional_source(path)
            if source is not None:
                yield PolicySource(kind, source.path, source.text)
        for path in self._flags.policies:
            source = self._found.source(path, "-p")
            if source is not None:
                yield PolicySource("policy", source.path, source.text)


def _is_text(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)

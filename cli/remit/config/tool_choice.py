"""The tools of a run: what is ticked, and what the lists of tools leave of that."""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from remit.base.calls import Decide
from remit.base.claude_names import ours_for
from remit.base.resources import Effect
from remit.base.spec import Disabled, RunSpec, Tick
from remit.base.text import shorten
from remit.config.findings import Findings
from remit.config.flags import RunFlags
from remit.config.settings import Settings
from remit.config.task import Task, ToolEffects, valid_tools

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

OUTPUT_TOOL = "tool_output"
"""Stays whatever the lists of tools say: results that were cut name it."""

_DECIDES: dict[str, Decide] = {"auto": "auto", "ask": "ask", "deny": "deny"}
_ACTING = frozenset({Effect.EXECUTE, Effect.MESSAGE, Effect.SPEND, Effect.AGENT})


class ToolChoice:
    """Of one run. Each method adds what is wrong to `found`."""

    def __init__(
        self, flags: RunFlags, settings: Settings, task: Task | None, effects: ToolEffects, found: Findings
    ) -> None:
        self._flags = flags
        self._settings = settings
        self._task = task
        self._effects = effects
        self._tools = frozenset(effects)
        self._found = found

    def ticks(self) -> dict[str, Tick]:
        """By the command line, else by the task, else those that read."""
        if self._flags.tools is not None:
            return self._flag_choice()
        if self._flags.task is not None:
            return self._task.ticks if self._task else {}
        return {name: Tick("auto", (), "default") for name in DEFAULT_TICKS if name in self._tools}

    def _flag_choice(self) -> dict[str, Tick]:
        ticks: dict[str, Tick] = {}
        for name, tick in self._flag_ticks():
            before = ticks.setdefault(name, tick)
            if before.decide != tick.decide:
                what = f"{name} is {tick.decide} here, and {before.decide} by {before.where}"
                self._found.fault(what, tick.where, "name it once")
        return ticks

    def _flag_ticks(self) -> Iterator[tuple[str, Tick]]:
        words = [word.strip() for item in self._flags.tools or () for word in item.split(",")]
        for word in filter(None, words):
            given, equals, decide = word.partition("=")
            where = f"--tools {shorten(word)}"
            name = next(iter(ours_for(given, self._tools)), "")
            if not name:
                self._found.fault(f"unknown tool {shorten(given)}", where, valid_tools(given, self._effects))
            elif not equals:
                yield name, self._plain_tick(name, where)
            elif decide not in ("auto", "ask", "deny"):
                self._found.fault(f"expected auto | ask | deny, seen {shorten(decide)}", where)
            else:
                yield name, Tick(_DECIDES[decide], self._hosts(name, decide), where)

    def _plain_tick(self, name: str, where: str) -> Tick:
        """A tool named without a word: as the task ticks it, else auto unless it acts in the world."""
        if self._task is not None and name in self._task.ticks:
            return self._task.ticks[name]
        acts = _ACTING.intersection(self._effects[name])
        return Tick("ask" if acts else "auto", (), where)

    def _hosts(self, name: str, decide: str) -> tuple[str, ...]:
        """`NAME=auto` keeps the hosts of the task: a flag does not widen them unsaid."""
        if self._task is None or name not in self._task.ticks or decide != "auto":
            return ()
        return self._task.ticks[name].hosts

    def narrowed(self, spec: RunSpec) -> RunSpec:
        """The spec with what the lists of tools say."""
        off = {name: Disabled(where, "it is disabled by the settings") for name, where in self._disabled()}
        for name in self._named(self._flags.disallowed_tools, "--disallowed-tools"):
            off[name] = Disabled("--disallowed-tools", "it is in --disallowed-tools")
        eager = tuple(self._named(self._flags.allowed_tools, "--allowed-tools", {*spec.ticks, OUTPUT_TOOL}))
        for name in eager:
            if name not in spec.ticks and name != OUTPUT_TOOL:
                self._found.fault(
                    f"{name} is not ticked", "--allowed-tools", f"tick it in the task, or with --tools {name}"
                )
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
                self._found.fault(f"`agent.disabled_tools`: unknown tool {shorten(name)}", where, hint)

    def _named(self, given: tuple[str, ...], flag: str, ticked: Container[str] = ()) -> Iterator[str]:
        """The tools that a flag names, once each. ticked: which of several are meant, where one word is for several."""
        words = (word.strip() for item in given for word in item.split(","))
        names: dict[str, None] = {}
        for word in filter(None, words):
            ours = ours_for(word, self._tools)
            if not ours:
                self._found.fault(f"unknown tool {shorten(word)}", flag, valid_tools(word, self._effects))
            meant = [name for name in ours if name in ticked] if ticked else ours
            names |= dict.fromkeys(meant or ours[:1])
        yield from names

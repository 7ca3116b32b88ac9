"""Progress and summary for people, on stderr: one line a step, then what came of it.

What a model, a file or a page wrote is shown with its control characters as escapes. A stderr that is
closed, or that nobody reads, never holds up the run.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from remit.base.events import (
    ApiRetry,
    ApprovalUsed,
    ArtifactPublished,
    Assistant,
    BackgroundTasks,
    CheckFinished,
    CompactBoundary,
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Event,
    GoalUpdated,
    HookResponse,
    HookStarted,
    HostReached,
    Init,
    ModelFallback,
    Notice,
    PermissionAsked,
    PermissionDenied,
    PlanUpdated,
    Result,
    SessionState,
    Status,
    StreamEvent,
    TaskNotification,
    TaskProgress,
    TaskStarted,
    TaskUpdated,
    TodosUpdated,
    User,
)
from remit.base.text import visible
from remit.stream.outcomes import came_to, failure
from remit.stream.progress import CLEAR, Standing, progress_line, terminal_width
from remit.stream.writer import POLLED_BYTES

MAX_LINE = 200
MAX_REFUSALS = 10
PATIENCE_SECONDS = 2.0

_SGR = {"good": "32", "bad": "31", "warn": "33", "faint": "2", "strong": "1"}
# These have a line of their own, with the rule, or with what was asked.
_TOLD_ALREADY = frozenset({"denied", "approval_required"})


def wants_color(environ: Mapping[str, str], terminal: bool) -> bool:
    """Whether to colour: only a terminal, and not with NO_COLOR or TERM=dumb."""
    return terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _nothing(event: Event) -> Iterator[str]:
    return iter(())


class Human:
    """Listens to a run and tells it on stderr. quiet: only what went wrong at the end. verbose: also what the model
    says between calls, and what each call came to. live: stderr is a terminal that lines can be drawn anew on."""

    def __init__(
        self, fd: int, *, quiet: bool = False, verbose: bool = False, color: bool = False, live: bool = False
    ) -> None:
        self._out = _Stderr(fd)
        self._fd = fd
        self._quiet = quiet
        self._verbose = verbose and not quiet
        self._color = color
        self.live = live and not quiet
        self._running: dict[str, str] = {}
        self._over = False
        self._answer: list[str] = []
        """Words that may be the answer, which stdout is for: told here only when they are not."""
        self._tools: dict[str, str] = {}
        self._refused: set[str] = set()
        """Calls whose refusal was told, with the rule: their results say the same."""
        self._approvals: list[str] = []
        self._tell: dict[type, Callable[[Any], Iterator[str]]] = {
            Init: self._init,
            Assistant: self._assistant,
            User: self._user,
            PermissionDenied: self._denied,
            PermissionAsked: self._asked,
            ApprovalUsed: self._approval,
            ApiRetry: self._retry,
            ModelFallback: self._fallback,
            Status: self._status,
            CompactBoundary: self._compacted,
            HookStarted: _nothing,
            HookResponse: self._hook,
            GoalUpdated: self._goal,
            HostReached: self._reached,
            ArtifactPublished: self._artifact,
            PlanUpdated: self._plan,
            TodosUpdated: self._todos,
            TaskStarted: self._task,
            TaskNotification: self._task_over,
            TaskProgress: _nothing,
            TaskUpdated: _nothing,
            BackgroundTasks: _nothing,
            CheckFinished: self._check,
            Notice: self._notice,
            Result: self._result,
            ControlRequest: self._question,
            # For the client, who sees them.
            SessionState: _nothing,
            StreamEvent: _nothing,
            ControlResponse: _nothing,
            ControlCancel: _nothing,
        }

    def on_event(self, event: Event, line: bytes) -> None:
        """Never raises for the sake of stderr."""
        # What comes after the result, on stdout as here, is not overtaken by the line that says where it stands.
        self._over = isinstance(event, Result) or (self._over and not isinstance(event, Init | Assistant | User))
        lines = list(self._tell[type(event)](event))
        if not self._quiet or (isinstance(event, Result) and event.is_error):
            self._out.write(lines)

    def show(self, standing: Standing) -> None:
        """Draw the line that says where the run stands; `clear` takes it away."""
        if self.live and not self._over:
            running = [visible(name) for name in self._running.values()]
            line = progress_line(standing, running, terminal_width(self._fd))
            self._out.draw(self._style("faint", line))

    def clear(self, *, wait: bool = True) -> None:
        """Take the line away that says where the run stands. wait: for a terminal that stands still just now."""
        self._out.clear(wait=wait)

    def _style(self, name: str, text: str) -> str:
        return f"\x1b[{_SGR[name]}m{text}\x1b[0m" if self._color else text

    # -- steps ---------------------------------------------------------------------------------

    def _init(self, event: Init) -> Iterator[str]:
        how = "resumed" if event.resumed else "run"
        model = f"{event.model} (scripted, no model is asked)" if event.scripted else event.model
        yield self._style("faint", _line(f"{how} {event.run_id} with {model} in {_near(event.run_dir)}"))
        for tool, why in event.withheld_tools.items():
            yield self._style("faint", _line(f"not offered: {tool}: {why}", 2000))

    def _assistant(self, event: Assistant) -> Iterator[str]:
        yield from self._answer
        self._answer = []
        for block in _blocks(event.message):
            if block.get("type") == "tool_use":
                name = str(block.get("name", ""))
                self._tools[str(block.get("id", ""))] = self._running[str(block.get("id", ""))] = name
                yield _line(f"{name} {_compact(block.get('input'))}")
            elif self._verbose and block.get("type") == "text":
                words = [self._style("faint", _line(f"| {each}")) for each in str(block.get("text", "")).splitlines()]
                if _is_answer(event):
                    self._answer += words
                else:
                    yield from words

    def _user(self, event: User) -> Iterator[str]:
        for block in _blocks(event.message):
            if block.get("type") == "tool_result":
                self._running.pop(str(block.get("tool_use_id", "")), None)
                if self._verbose and not block.get("is_error"):
                    yield self._style("faint", _line(f"  {self._came_to(event, block)}"))
            if block.get("type") == "tool_result" and block.get("is_error"):
                call = str(block.get("tool_use_id", ""))
                code, message = failure(event.tool_use_result, block.get("content"))
                if code not in _TOLD_ALREADY and call not in self._refused:
                    tool = self._tools.get(call, "call")
                    yield self._style("warn", _line(f"  {tool} failed: {code}: {message}"))

    def _came_to(self, event: User, block: Mapping[str, Any]) -> str:
        """A result in a few words."""
        facts = event.tool_result_meta[0] if event.tool_result_meta else {}
        tool = self._tools.get(str(block.get("tool_use_id", "")), str(facts.get("tool", "call")))
        size = len(str(block.get("content", "")).encode("utf-8", "replace"))
        return f"{tool}: {came_to(event.tool_use_result)}, {size:,} bytes, {facts.get('seconds', 0.0):.1f} s"

    def _denied(self, event: PermissionDenied) -> Iterator[str]:
        self._refused.add(event.tool_use_id)
        yield self._style("bad", _line(f"  refused {_call(event.tool_name, event.resource)}: {_why(event)}", 2000))

    def _asked(self, event: PermissionAsked) -> Iterator[str]:
        # Two calls alike need two entries: each is good for one use.
        self._approvals.append(event.approval)
        yield self._style(
            "warn", _line(f"  {_call(event.tool_name, event.resource)} needs an approval: {_why(event)}", 2000)
        )

    def _question(self, event: ControlRequest) -> Iterator[str]:
        name = event.request.get("tool_name")
        if name:
            yield _line(f"  the client is asked about {name}")

    def _approval(self, event: ApprovalUsed) -> Iterator[str]:
        word = "allowed" if event.allowed else "denied"
        yield _line(f"  {event.tool_name} {word} by {event.approval}: {event.why}")

    def _retry(self, event: ApiRetry) -> Iterator[str]:
        status = f" (HTTP {event.error_status})" if event.error_status else ""
        yield self._style(
            "warn",
            _line(
                f"  the model request failed{status}: {event.error}; try {event.attempt} of {event.max_retries}"
                f" in {event.retry_delay_ms / 1000:.1f} s"
            ),
        )

    def _fallback(self, event: ModelFallback) -> Iterator[str]:
        yield self._style("warn", _line(f"  {event.original_model} cannot be asked: {event.content}"))
        yield self._style("warn", _line(f"  going on with {event.fallback_model}"))

    def _status(self, event: Status) -> Iterator[str]:
        if event.status is not None:
            yield self._style("faint", _line(f"  {event.status}: the context window is nearly full"))

    def _compacted(self, event: CompactBoundary) -> Iterator[str]:
        facts = event.compact_metadata
        what = "old results were removed" if facts.get("done") == "pruned" else "earlier turns were summed up"
        before, after = facts.get("pre_tokens", 0), facts.get("post_tokens", 0)
        yield self._style("faint", _line(f"  {what}: about {before:,} tokens became {after:,}"))

    def _goal(self, event: GoalUpdated) -> Iterator[str]:
        if event.kind == "evaluation":
            yield self._style("faint", _line(f"  goal {event.verdict.replace('_', ' ')}: {event.reason}"))

    def _reached(self, event: HostReached) -> Iterator[str]:
        place = f"{event.host}:{event.port}"
        if event.allowed:
            yield self._style("faint", _line(f"  {event.tool_name} connects to {place}"))
        else:
            yield self._style("bad", _line(f"  refused {event.tool_name} {place}: {event.reason}"))

    def _hook(self, event: HookResponse) -> Iterator[str]:
        if event.outcome == "error":
            yield self._style("bad", _line(f"  hook {event.hook_name} ({event.where}) failed: {event.reason}"))
        elif event.decision:
            yield self._style("faint", _line(f"  hook {event.hook_name} ({event.where}): {event.decision}"))

    def _artifact(self, event: ArtifactPublished) -> Iterator[str]:
        yield self._style("good", _line(f"  artifact {event.name}, {event.bytes:,} bytes"))

    def _plan(self, event: PlanUpdated) -> Iterator[str]:
        done = sum(step.get("status") == "completed" for step in event.steps)
        now = next((step.get("step", "") for step in event.steps if step.get("status") == "in_progress"), "")
        yield self._style(
            "faint", _line(f"  plan: {done} of {len(event.steps)} done" + (f"; now: {now}" if now else ""))
        )

    def _todos(self, event: TodosUpdated) -> Iterator[str]:
        done = sum(item.get("status") in ("completed", "cancelled") for item in event.todos)
        now = next((item.get("content", "") for item in event.todos if item.get("status") == "in_progress"), "")
        yield self._style(
            "faint", _line(f"  todos: {done} of {len(event.todos)} done" + (f"; now: {now}" if now else ""))
        )

    def _task(self, event: TaskStarted) -> Iterator[str]:
        where = " in the background" if event.is_backgrounded else ""
        yield self._style("faint", _line(f"  {event.task_id} begins{where}: {event.description}"))

    def _task_over(self, event: TaskNotification) -> Iterator[str]:
        yield self._style("faint", _line(f"  {event.task_id} {event.status}"))

    def _check(self, event: CheckFinished) -> Iterator[str]:
        if event.ok:
            yield self._style("good", _line(f"check passed: {event.command}"))
        else:
            yield self._style("bad", _line(f"check failed: {event.command}: {event.detail}"))

    def _notice(self, event: Notice) -> Iterator[str]:
        yield self._style("warn", _line(f"note: {event.text}"))

    # -- summary -------------------------------------------------------------------------------

    def _result(self, event: Result) -> Iterator[str]:
        if event.is_error:
            yield from self._answer
        self._answer = []
        style = "bad" if event.is_error else "good"
        yield self._style(style, _line(f"{event.verdict} (exit {event.exit_code})")) + f" {_figures(event)}"
        for artifact in event.artifacts:
            path = os.path.join(event.run_dir, str(artifact.get("path", "")))
            if not artifact.get("path"):
                yield _line(f"artifact {artifact.get('name')}, which the recording holds no content of")
            elif os.path.isdir(event.run_dir) and not os.path.isfile(path):
                yield self._style("warn", _line(f"artifact {_near(path)} was written, and is gone"))
            else:
                size = artifact.get("bytes", 0)
                yield _line(f"artifact {_near(path)} ({size:,} {_plural('byte', size)})")
        yield from self._refusals(event)
        for problem in event.unmet:
            yield self._style("bad", _line(f"unmet: {problem}"))
        for problem in [] if event.unmet else event.errors:
            for part in problem.splitlines():
                yield self._style("bad", _line(f"error: {part}", 2000))
        if event.hint:
            yield _line(f"hint: {event.hint}", 2000)
        if event.resets_at:
            yield _line(f"the limit is lifted at {event.resets_at}: queue the run again then")
        yield from self._next(event)

    def _refusals(self, event: Result) -> Iterator[str]:
        # What waits for an answer is not refused yet, and was told as asked.
        waiting = {each.get("tool_use_id") for each in event.pending}
        refused = [each for each in event.permission_denials if each.get("tool_use_id") not in waiting]
        if not self._quiet:
            # Each was told when it was refused.
            if refused:
                yield _line(f"what was refused, and why: remit runs show {event.run_id}")
            return
        for denial in refused[:MAX_REFUSALS]:
            what = _call(str(denial.get("tool_name", "")), str(denial.get("resource", "")))
            yield self._style("bad", _line(f"refused {what}: {denial.get('why', '')} [{_rule(denial)}]", 2000))
        left = len(refused) - MAX_REFUSALS
        if left > 0:
            yield f"and {left} more refused; see `remit runs show {visible(event.run_id)}`"

    def _next(self, event: Result) -> Iterator[str]:
        if not event.resumable:
            return
        if not (event.pending and self._approvals):
            yield _line(f"next: remit resume {event.run_id}")
            return
        yield "to answer, keep this as approvals.toml (change allow to deny where you mean that):"
        yield ""
        yield "version = 1"
        for approval in self._approvals:
            yield ""
            yield visible(approval.strip("\n"), keep="\n")
        yield ""
        yield _line(f"next: remit resume {event.run_id} -a approvals.toml")


class _Stderr:
    """Writes lines while someone takes them; gives up quietly when nobody does."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._patience = PATIENCE_SECONDS
        self._left_out = 0
        self._gone = False
        self._drawn = ""

    def draw(self, line: str) -> None:
        """A line without an end, in the place of the last one that was drawn."""
        if line != self._drawn and not self._gone and self._ready(0.0) and self._put(CLEAR + line):
            self._drawn = line

    def clear(self, *, wait: bool = True) -> None:
        if self._drawn and (wait or self._ready(0.0)):
            self._drawn = ""
            self._put(CLEAR)

    def write(self, lines: list[str]) -> None:
        if lines:
            self.clear()
        for line in lines:
            if self._gone:
                return
            if self._left_out and self._ready(0.0):
                self._put(f"({self._left_out} lines left out: stderr was not read)\n")
                self._left_out = 0
            if not self._put(f"{line}\n"):
                self._left_out += 1

    def _put(self, text: str) -> bool:
        view = memoryview(text.encode("utf-8", "replace"))
        while view:
            if not self._ready(self._patience):
                self._patience = 0.0
                return False
            try:
                view = view[os.write(self._fd, view[:POLLED_BYTES]) :]
            except BlockingIOError:
                continue
            except OSError:
                self._gone = True
                return False
        return True

    def _ready(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        return bool(poll.poll(seconds * 1000))


def _line(text: str, width: int = MAX_LINE) -> str:
    """Untrusted text as one line of bounded width."""
    shown = visible(" ".join(text[: 4 * width].split("\n")))
    return shown if len(shown) <= width else shown[: width - 3] + "..."


def _near(path: str) -> str:
    """The path as a person here would type it."""
    try:
        short = os.path.relpath(path)
    except OSError:
        return path
    return path if short.startswith("..") else short


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_answer(event: Assistant) -> bool:
    """Whether what the run itself is told ends with this message: no call follows."""
    of_an_agent = event.parent_tool_use_id is not None
    return not of_an_agent and not any(block.get("type") == "tool_use" for block in _blocks(event.message))


def _compact(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return repr(value)


def _call(tool: str, resource: str) -> str:
    """A call by its tool and what it is about, if it is about anything."""
    return _line(f"{tool} {resource}".strip())


def _why(event: PermissionDenied | PermissionAsked) -> str:
    return f"{event.decision_reason} [{_rule({'source': event.source, 'rule': event.rule})}]"


def _rule(decision: Mapping[str, Any]) -> str:
    return " ".join(str(decision[key]) for key in ("source", "rule") if decision.get(key)) or "no rule"


def _figures(event: Result) -> str:
    counts = event.counts
    calls = counts.get("calls", 0)
    parts = [f"{event.num_turns} {_plural('turn', event.num_turns)}", f"{calls} {_plural('call', calls)}"]
    parts += [
        f"{counts[key]} {word}"
        for key, word in (("refusals", "refused"), ("failed_calls", "failed"), ("retry", "retried"))
        if counts.get(key)
    ]
    usage = event.usage
    into = sum(value for key, value in usage.items() if key.endswith("input_tokens"))
    if into or usage.get("output_tokens"):
        parts.append(f"{into:,} tokens in, {usage.get('output_tokens', 0):,} out")
    if event.total_cost_usd:
        parts.append(f"${event.total_cost_usd:.4f}" + ("" if event.cost_known else " or more"))
    elif not event.cost_known:
        parts.append("cost not known")
    return f"in {event.duration_ms / 1000:.1f} s: {', '.join(parts)}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"

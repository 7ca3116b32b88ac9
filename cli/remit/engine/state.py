"""The state of a run as a fold over its journal. Nothing is remembered that the journal does not hold,
so a resumed run and one that never stopped are in the same state."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatchmethod
from typing import Any

import msgspec

from remit.base.calls import Call, Outcome, Retained
from remit.base.clipping import again, where_kept
from remit.base.errors import ErrorCode
from remit.base.limits import Limits
from remit.base.messages import Cost, ImageBlock, Message, ResultBlock, TextBlock, Usage
from remit.base.records import (
    INSTRUCTIONS,
    MODE,
    REPORT,
    AgentAnswered,
    Answered,
    ArtifactRemoved,
    ArtifactWritten,
    CallChanged,
    CallChecked,
    CallExpanded,
    CallSettled,
    CallsPending,
    CallStarted,
    Compacted,
    GoalJudged,
    HookRan,
    JobEnded,
    JobKind,
    JobPromoted,
    JobStarted,
    JobStatus,
    Noted,
    OutputSubmitted,
    PlanMoved,
    PlanSet,
    PlanWritten,
    PromptEnded,
    Pruned,
    Reached,
    Record,
    Reported,
    RulesChanged,
    RunResumed,
    RunStarted,
    SessionForked,
    Spent,
    TodosSet,
    ToolsLoaded,
    TurnStarted,
    Unanswered,
    UserSaid,
)
from remit.base.spec import Environment
from remit.engine.budget import Ledger
from remit.engine.loops import HISTORY, Round, call_mark, circle

SEARCH = "tool_search"
"""Its results name the tools it loads."""

RECOVERIES = ("continue", "cut", "empty")
"""Why the harness puts in a word when an answer is no end; each is bounded by how often in a row."""


class Denial(msgspec.Struct):
    """A refused call, for the result line."""

    tool: str
    call_id: str
    arguments: str
    decide: str
    source: str
    rule: str
    why: str
    resource: str


class OpenCall(msgspec.Struct):
    """A call of the current turn that has no result yet. parts: of a call that is made of others, by key; they
    stay here when they are settled, until the whole is."""

    call: Call
    started: bool = False
    approval: str = ""
    settled: CallSettled | None = None
    parts: dict[str, OpenCall] = msgspec.field(default_factory=dict)


class JobFacts(msgspec.Struct):
    """What has a life of its own, as the journal knows it. key, call_id: of the call that began it. started, ended:
    Unix seconds. prompt: the first one. report: a message about its end is due. tokens, answers: of an agent, over all
    its life."""

    task_id: str
    kind: JobKind
    key: str
    call_id: str
    description: str
    started: float
    background: bool = False
    mode: str = ""
    profile: str = ""
    prompt: str = ""
    schema: dict[str, Any] | None = None
    status: JobStatus = "running"
    text: str = ""
    ended: float | None = None
    report: bool = False
    output: Retained | None = None
    tokens: int = 0
    answers: int = 0


MAX_PROMPTS = 8
"""Prompts that a summary of the transcript repeats: the first, and the last ones."""


class State:
    """All of it derives from records. limits: of the run; ledger: what is spent of them.

    Of the prompt under way are: final_text, stop, plan of checks, output, denials, counts, pending, ended, nags,
    repeats, and what is measured from `began`. The rest is the whole session's."""

    loaded: tuple[str, ...] = ()
    """Tools that were left out of requests at first, in the order in which they came in."""
    instructions: str = ""
    """What the files say about how to work, as the model was told."""
    environment: Environment | None = None
    """What the model knows of it."""
    goal: GoalJudged | None = None
    """The last verdict on the goal of this prompt."""
    wanted: frozenset[str] = frozenset()
    """Tools that were called or searched for, loaded or not."""

    rules: RulesChanged | None = None
    """The rule set that holds, None for the first one."""

    def __init__(self, limits: Limits, ledger: Ledger | None = None) -> None:
        self.messages: list[Message] = []
        self.turn = self.user_turns = self.output_attempts = 0
        self.elapsed = self.api_seconds = 0.0
        self.open: dict[str, OpenCall] = {}
        self.call_ids: set[str] = set()
        self.checks_begun: set[str] = set()
        self.checks_done: dict[str, Outcome] = {}
        self.stop: str | None = None
        self.final_text: str = ""
        self.artifacts: dict[str, ArtifactWritten] = {}
        self.plan: PlanSet | None = None
        self.todos: TodosSet | None = None
        self.output: OutputSubmitted | None = None
        self.denials: dict[str, Denial] = {}
        self.counts: Counter[str] = Counter()
        self.usage: Usage = Usage()
        self.model_usage: dict[str, ModelUsage] = {}
        self.pending: CallsPending | None = None
        self.ended: PromptEnded | None = None
        self.nags: Counter[str] = Counter()
        self.limits = limits
        self.plan_revision: int | None = None
        """Of the plan document; 0: nothing is written yet, None: the session has no plan."""
        self.mode = self.told_mode = "default"
        """What holds, and what the model was told of last."""
        self.ledger = ledger or Ledger(limits)
        self.began = Before()
        self.uuids: set[str] = set()
        """Names that the client gave to messages."""
        self.said: list[str] = []
        """Names that the client gave to the messages of this prompt."""
        self.prompts: list[str] = []
        self.pictures: list[ImageBlock] = []
        self.measured = self.measured_at = 0
        """Tokens of the transcript as the last answer's usage tells them, and how many messages that covers; 0: not
        told."""
        self.history: deque[Round] = deque(maxlen=HISTORY)
        self.outputs: dict[str, tuple[str, ...]] = {}
        """By id of the call, the handles of its result, or of its parts, where they are kept whole."""
        self.stamps: dict[str, str] = {}
        """By file, the state in which the model last read or wrote it."""
        self.repeats = 0
        """Turns in a row whose calls were all refused as repetitions."""
        self.jobs: dict[str, JobFacts] = {}
        """By task id, whatever was started that has a life of its own, in order of their starts."""
        self.origin = self.blocked = ""
        """What began the prompt, where that was no message of the user; why an agent said that it cannot go on."""
        self._agents_turns = self._repeated_in = 0
        self.estimated = self._cut = False
        self._calls: dict[str, Call] = {}
        self._results: dict[str, ResultBlock] = {}

    @singledispatchmethod
    def apply(self, record: Record) -> None:
        """Take one record into account."""
        raise TypeError(type(record).__name__)

    @apply.register(RunStarted)
    def _(self, record: RunStarted) -> None:
        self.ended = None
        self._enter(record.spec.get("mode", self.mode))

    @apply.register(RulesChanged)
    def _(self, record: RulesChanged) -> None:
        self.rules = record
        self._enter(record.mode)

    @apply.register(SessionForked)
    def _(self, record: SessionForked) -> None:
        self.messages += record.messages
        self.call_ids |= {call.id for message in record.messages for call in message.calls()}
        self.turn, self.user_turns = record.turn, record.user_turns
        self.began = Before(record.turn)
        self.prompts, self.stamps = list(record.prompts), dict(record.stamps)
        self.outputs = dict(record.outputs)
        self.instructions, self.environment = record.instructions, record.environment
        self.todos = TodosSet(record.todos) if record.todos else None

    @apply.register(RunResumed)
    def _(self, record: RunResumed) -> None:
        self.ended = None
        self.pending = None
        # Another process, another try: what came too often in the last one may have passed.
        self._forget_recoveries()
        self.repeats = 0
        if record.spec is not None:
            # Other rules, perhaps other checks: what was found by the old ones is no answer.
            self.checks_done.clear()

    @apply.register(UserSaid)
    def _(self, record: UserSaid) -> None:
        if not record.joined and (not record.synthetic or record.reason == REPORT):
            self._begin_prompt()
            self.origin = "task-notification" if record.synthetic else ""
        if record.task in self.jobs:
            self.jobs[record.task].report = False
        if record.synthetic:
            self.nags[record.reason] += 1
            self.instructions = record.text if record.reason == INSTRUCTIONS else self.instructions
            self.environment = record.environment or self.environment
            self.told_mode = self.mode if record.reason == MODE else self.told_mode
        else:
            self.user_turns += 1
            self.said += [record.uuid] if record.uuid else []
            self.uuids |= {record.uuid} - {""}
            if record.refused:
                return
            self.prompts = [*self.prompts[:1], *self.prompts[1:][2 - MAX_PROMPTS :], record.text]
            self.pictures += record.images
        self._add_user((*record.images, TextBlock(record.text)))

    @apply.register(TurnStarted)
    def _(self, record: TurnStarted) -> None:
        self.turn = record.turn
        self.elapsed = record.elapsed
        self.ledger.turns = record.turn - self.began.turn + self._agents_turns

    @apply.register(Answered)
    def _(self, record: Answered) -> None:
        self.messages.append(record.message)
        self.turn = record.turn
        self.elapsed += record.seconds
        self.stop = record.stop
        # An answer that goes on where the last one was cut is one answer with it.
        self.final_text = (self.final_text if self._cut else "") + record.message.text()
        self._cut = record.stop in ("max_tokens", "cut") and not record.message.calls()
        self.counts["cut"] += record.stop == "cut"
        self._book(record)
        self._forget_measure()
        if not record.estimated and record.usage.total():
            self.measured, self.measured_at = record.usage.total(), len(self.messages)
        if record.stop in ("end_turn", "tool_use") and (record.message.calls() or record.message.text().strip()):
            # A sound answer: the next trouble is a new one.
            self._forget_recoveries()
        self.wanted |= {block.tool for block in record.message.calls()}
        for index, block in enumerate(record.message.calls(), 1):
            call = Call(f"t{record.turn}.c{index}", block.id, block.tool, block.arguments)
            self._calls[call.key] = call
            self.open[call.key] = OpenCall(call)
            self.call_ids.add(block.id)

    @apply.register(Unanswered)
    def _(self, record: Unanswered) -> None:
        self._book(record)

    @apply.register(Compacted)
    def _(self, record: Compacted) -> None:
        self.messages[: len(self.messages) - record.kept] = [record.opening]
        self.elapsed += record.seconds
        self.counts["compactions"] += 1
        self.told_mode = "default"
        self._book(record)
        self._forget_measure()

    @apply.register(Pruned)
    def _(self, record: Pruned) -> None:
        gone = set(record.call_ids)
        tools = {call.id: call.tool for message in self.messages for call in message.calls() if call.id in gone}
        self.messages[:] = [_pruned(message, tools, self.outputs, record.keep_bytes) for message in self.messages]
        self.counts["pruned"] += len(gone)
        self._forget_measure()

    @apply.register(CallChanged)
    def _(self, record: CallChanged) -> None:
        opened = self.opened(record.key)
        if opened is not None:
            opened.call = msgspec.structs.replace(opened.call, arguments=record.arguments)
            if record.key in self._calls:
                self._calls[record.key] = opened.call

    @apply.register(CallChecked)
    def _(self, record: CallChecked) -> None:
        decision = record.decision
        opened = self.opened(record.key)
        if opened is not None:
            opened.approval = record.approval if record.allowed else ""
        # A call that waited and was checked again has one standing: the last.
        self.denials.pop(record.key, None)
        if record.allowed:
            return
        self.denials[record.key] = Denial(
            tool=record.tool,
            call_id=record.id,
            arguments=opened.call.arguments if opened else "{}",
            decide=decision.decide,
            source=decision.rule.source,
            rule=record.approval or decision.rule.where,
            why=decision.rule.why,
            resource=decision.resource.name if decision.resource else "",
        )

    @apply.register(CallExpanded)
    def _(self, record: CallExpanded) -> None:
        self.open[record.key].parts = {call.key: OpenCall(call) for call in record.calls}
        self.call_ids |= {call.id for call in record.calls}
        self.wanted |= {call.tool for call in record.calls}

    @apply.register(CallStarted)
    def _(self, record: CallStarted) -> None:
        opened = self.opened(record.key)
        if opened is not None:
            opened.started = True
        else:
            self.checks_begun.add(record.key)

    @apply.register(CallSettled)
    def _(self, record: CallSettled) -> None:
        self._count(record)
        self._stamp(record.outcome)
        if record.tool == SEARCH and record.outcome.ok:
            self.wanted |= set(record.outcome.data["loads"])
        opened = self.opened(record.key)
        if opened is None:
            self.checks_done[record.key] = record.outcome
            return
        self.ledger.calls += self.counts_call(record)
        if record.output is not None:
            shown_in = record.parent or record.id
            known = self.outputs.get(shown_in, ())
            self.outputs[shown_in] = tuple(dict.fromkeys((*known, record.output.handle)))
        if opened.call.parent:
            opened.settled = record
            return
        del self.open[record.key]
        self._remember(opened.call, record)
        self._results[record.key] = ResultBlock(
            record.id, record.content, is_error=not record.outcome.ok, images=record.outcome.images
        )
        if not self.open:
            ordered = tuple(self._results[key] for key in self._calls if key in self._results)
            self._calls.clear()
            self._results.clear()
            self._add_user(ordered)

    @apply.register(CallsPending)
    def _(self, record: CallsPending) -> None:
        self.pending = record

    @apply.register(Spent)
    def _(self, record: Spent) -> None:
        self._agents_turns += int(record.amount) if record.limit == "turns" else 0
        setattr(self.ledger, record.limit, getattr(self.ledger, record.limit) + record.amount)

    @apply.register(Reached)
    def _(self, record: Reached) -> None:
        self.counts["refused_hosts"] += bool(record.refused)

    @apply.register(ArtifactWritten)
    def _(self, record: ArtifactWritten) -> None:
        self.artifacts[record.name] = record

    @apply.register(ArtifactRemoved)
    def _(self, record: ArtifactRemoved) -> None:
        self.artifacts.pop(record.name, None)

    @apply.register(PlanSet)
    def _(self, record: PlanSet) -> None:
        self.plan = record

    @apply.register(PlanWritten)
    def _(self, record: PlanWritten) -> None:
        self.plan_revision = record.revision

    @apply.register(PlanMoved)
    def _(self, record: PlanMoved) -> None:
        self.plan_revision = None

    @apply.register(TodosSet)
    def _(self, record: TodosSet) -> None:
        self.todos = record

    @apply.register(GoalJudged)
    def _(self, record: GoalJudged) -> None:
        self.goal = record
        self.elapsed += record.seconds
        self._book(record)

    @apply.register(ToolsLoaded)
    def _(self, record: ToolsLoaded) -> None:
        self.loaded += record.tools

    @apply.register(OutputSubmitted)
    def _(self, record: OutputSubmitted) -> None:
        self.output_attempts += not record.valid
        if record.valid or self.output is None or not self.output.valid:
            self.output = record

    @apply.register(JobStarted)
    def _(self, record: JobStarted) -> None:
        known = self.jobs.pop(record.task_id, None)
        self.jobs[record.task_id] = JobFacts(
            record.task_id,
            record.kind,
            record.key,
            record.call_id,
            record.description,
            record.started,
            background=record.background,
            mode=record.mode,
            profile=record.profile,
            prompt=known.prompt if known else record.prompt,
            schema=record.schema,
            tokens=known.tokens if known else 0,
            answers=known.answers if known else 0,
        )

    @apply.register(JobPromoted)
    def _(self, record: JobPromoted) -> None:
        self.jobs[record.task_id].background = True

    @apply.register(JobEnded)
    def _(self, record: JobEnded) -> None:
        job = self.jobs[record.task_id]
        job.status, job.text, job.ended = record.status, record.text, record.ended
        job.report, job.output = record.report, record.output

    @apply.register(AgentAnswered)
    def _(self, record: AgentAnswered) -> None:
        self._spend(record)
        job = self.jobs.get(record.task_id)
        if job is not None:
            job.tokens += record.usage.total()
            job.answers += 1

    @apply.register(Reported)
    def _(self, record: Reported) -> None:
        if record.blocked:
            self.blocked = record.message

    @apply.register(Noted)
    def _(self, record: Noted) -> None:
        self.counts[record.kind] += 1

    @apply.register(HookRan)
    def _(self, record: HookRan) -> None:
        """What it said is told by what became of the step."""

    @apply.register(PromptEnded)
    def _(self, record: PromptEnded) -> None:
        self.ended = record
        seconds = record.result.get("spent", {}).get("seconds", 0.0)
        self.elapsed = max(self.elapsed, self.began.elapsed + seconds)

    def transcript(self, never: str) -> tuple[Message, ...]:
        """The messages, with a result for every call. never: what the model is told of a call that has none."""
        if not self.open:
            return tuple(self.messages)
        results = tuple(
            self._results.get(key) or ResultBlock(call.id, never, is_error=True) for key, call in self._calls.items()
        )
        return (*self.messages, Message("user", results))

    def turns(self) -> int:
        """Of this prompt."""
        return self.turn - self.began.turn

    def opened(self, key: str) -> OpenCall | None:
        """An open call of the turn, or a part of one."""
        whole = self.open.get(key.rpartition(".")[0])
        return self.open.get(key) or (whole.parts.get(key) if whole is not None else None)

    def unsettled(self) -> Iterator[OpenCall]:
        """The open calls without an outcome, the parts of a call before it."""
        for opened in self.open.values():
            yield from (part for part in opened.parts.values() if part.settled is None)
            yield opened

    def counts_call(self, settled: CallSettled) -> bool:
        """Whether this end of an open call counts against the limit of calls."""
        opened = self.opened(settled.key)
        return opened is not None and not _never_ran(opened, settled.outcome)

    def approved(self, key: str) -> str:
        """The approval (`file:line`) by which this open call was allowed before, or ""."""
        opened = self.opened(key)
        return opened.approval if opened is not None else ""

    def wants_answer(self) -> bool:
        """Whether it is the model's turn to speak."""
        return not self.open and bool(self.messages) and self.messages[-1].role == "user"

    def _enter(self, mode: str) -> None:
        self.mode = mode
        if mode == "plan" and self.plan_revision is None:
            self.plan_revision = 0

    def _begin_prompt(self) -> None:
        """Another prompt of the session: what was said of the last one is no longer true."""
        if not self.user_turns:
            return
        self.began = Before(self.turn, self.elapsed, self.api_seconds, self.usage)
        self.ledger.turns = self._agents_turns = 0
        self.ended = self.pending = self.stop = self.output = self.goal = None
        self.final_text, self.blocked, self._cut = "", "", False
        self.output_attempts = self.repeats = 0
        self.said, self.pictures = [], []
        for book in (self.denials, self.counts, self.nags, self.checks_done):
            book.clear()
        self.checks_begun.clear()
        self.history.clear()

    def _add_user(self, blocks: tuple[Any, ...]) -> None:
        # Two user messages in a row are an error to some providers: they become one.
        if self.messages and self.messages[-1].role == "user":
            blocks = self.messages.pop().content + blocks
        self.messages.append(Message("user", blocks))

    def _count(self, settled: CallSettled) -> None:
        self.counts["calls"] += 1
        if settled.outcome.ok:
            return
        self.counts["refusals" if settled.key in self.denials else "failed_calls"] += 1

    def _stamp(self, outcome: Outcome) -> None:
        """What an outcome says the model now knows of files; a removed one is known no more."""
        data = outcome.data if outcome.ok and isinstance(outcome.data, dict) else {}
        for stamp in (data.get("stamp"), *(data.get("stamps") or ())):
            match stamp:
                case {"path": str(path), "mark": ""}:
                    self.stamps.pop(path, None)
                case {"path": str(path), "mark": str(mark)}:
                    self.stamps[path] = mark

    def _remember(self, call: Call, settled: CallSettled) -> None:
        """For the guard against loops: what a repeated call was told is no new round."""
        if settled.outcome.error is not None and settled.outcome.error.code is ErrorCode.REPEATED_CALL:
            self.repeats += self._repeated_in != self.turn
            self._repeated_in = self.turn
            # As if it had been made once more: the next call of the circle is to be known too.
            length = circle(self.history, call)
            self.history.append(self.history[-length] if length else Round(call_mark(call), hash(settled.content)))
            return
        self.repeats = 0
        self.history.append(Round(call_mark(call), hash(settled.content)))

    def _forget_recoveries(self) -> None:
        for reason in RECOVERIES:
            del self.nags[reason]

    def _forget_measure(self) -> None:
        self.measured = self.measured_at = 0

    def _book(self, record: Answered | Compacted | GoalJudged | Unanswered) -> None:
        """Tokens and money, whatever the model was asked for."""
        self.api_seconds += record.seconds
        self.usage = self.usage + record.usage
        self._spend(record)

    def _spend(self, record: Answered | Compacted | GoalJudged | Unanswered | AgentAnswered) -> None:
        usage, cost = record.usage, record.cost
        self.ledger.answer(usage, None if cost is None else cost.total(), estimated=record.estimated)
        self.estimated = self.estimated or record.estimated
        entry = self.model_usage.setdefault(record.model, ModelUsage())
        entry.requests += 1
        entry.usage = entry.usage + usage
        entry.cost = entry.cost + (cost or Cost())
        entry.cost_known = entry.cost_known and not record.estimated and (cost is not None or not usage.total())


class Before(msgspec.Struct, frozen=True):
    """How the session stood when the prompt began. elapsed, api_seconds: seconds."""

    turn: int = 0
    elapsed: float = 0.0
    api_seconds: float = 0.0
    usage: Usage = Usage()


class ModelUsage(msgspec.Struct):
    """What one model was asked for, and what that cost."""

    requests: int = 0
    usage: Usage = Usage()
    cost: Cost = Cost()
    cost_known: bool = True


def _pruned(
    message: Message, tools: Mapping[str, str], outputs: Mapping[str, Sequence[str]], keep_bytes: int
) -> Message:
    if not any(isinstance(block, ResultBlock) and block.call_id in tools for block in message.content):
        return message
    blocks = (
        _shortened(block, tools[block.call_id], outputs.get(block.call_id, ()), keep_bytes)
        if isinstance(block, ResultBlock) and block.call_id in tools
        else block
        for block in message.content
    )
    return msgspec.structs.replace(message, content=tuple(blocks))


def _shortened(block: ResultBlock, tool: str, handles: Sequence[str], keep_bytes: int) -> ResultBlock:
    if keep_bytes:
        return ResultBlock(block.call_id, again(block.content, keep_bytes, handles), block.is_error)
    size, whole = len(block.content.encode()), where_kept(handles) or "call it again if it is needed"
    note = f"[this result of {tool}, {size} bytes, was removed to make room; {whole}]"
    return ResultBlock(block.call_id, note, block.is_error)


def _never_ran(opened: OpenCall, outcome: Outcome) -> bool:
    """Whether the budget was spent before it was this call's turn: then it has cost nothing itself."""
    return outcome.error is not None and outcome.error.code is ErrorCode.BUDGET_SPENT and not opened.started

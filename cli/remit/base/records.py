"""The journal's records: the only truth about a run. Everything else is a projection of these."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from remit.base.calls import Call, Decision, Outcome, Retained
from remit.base.messages import Cost, ImageBlock, Message, StopReason, Usage
from remit.base.resources import Resource
from remit.base.spec import Environment


class RunStarted(msgspec.Struct, frozen=True, tag="run_started"):
    """Always the first record. spec: the resolved task, rules, approvals and flags, self-contained.
    digest: sha256 of the spec, `started` Unix seconds."""

    run_id: str
    session_id: str
    version: str
    started: float
    digest: str
    spec: dict[str, Any]


class SessionForked(msgspec.Struct, frozen=True, tag="session_forked"):
    """The session began as a copy of another one, right behind the first record. messages: the transcript, complete:
    every call has a result. turn: how many there were. prompts, stamps, todos, instructions, environment: as in the
    state. outputs: by id of the call, its results that are kept whole, which were copied along."""

    run_id: str
    session_id: str
    messages: tuple[Message, ...]
    turn: int
    user_turns: int
    prompts: tuple[str, ...] = ()
    stamps: dict[str, str] = {}
    outputs: dict[str, tuple[str, ...]] = {}
    retained: tuple[Retained, ...] = ()
    todos: tuple[dict[str, str], ...] = ()
    instructions: str = ""
    environment: Environment | None = None


class RunResumed(msgspec.Struct, frozen=True, tag="run_resumed"):
    """A new process took the run up. spec: only with a reload or new approvals, else None."""

    started: float
    spec: dict[str, Any] | None = None
    digest: str = ""


REPORT = "report"
"""Reason of a message that tells what became of background work."""

INSTRUCTIONS = "instructions"
"""Reason of the message with the files that say how to work, before the first prompt."""

ENVIRONMENT = "environment"
"""Reason of a message that tells where and when the run works, before a prompt. It is no event."""

MODE = "mode"
"""Reason of a message that tells the model which mode holds from here on."""


class UserSaid(msgspec.Struct, frozen=True, tag="user_said"):
    """A user message. synthetic: put in by the harness, for this `reason` (one of a few words). A prompt begins with
    one that is not, or with a report of background work; those that are `joined` came while another was under way.
    uuid: the client's own name for it, or "". task: of a report, the job it tells the end of, or "". environment: what
    the model knows of it from here on, where the message tells that. refused: why the message cannot be taken, or "":
    one that cannot ends its prompt, and nothing of it reaches the model."""

    text: str
    synthetic: bool = False
    reason: str = ""
    images: tuple[ImageBlock, ...] = ()
    joined: bool = False
    uuid: str = ""
    task: str = ""
    environment: Environment | None = None
    refused: str = ""


class TurnStarted(msgspec.Struct, frozen=True, tag="turn_started"):
    """A model request is about to be sent. turn counts from 1 over the whole run; elapsed: seconds
    the run has taken so far, earlier processes included."""

    turn: int
    elapsed: float = 0.0


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """The model's answer, normalised (unique call ids). model: `provider/model`. cost None: the model has
    no price. estimated: the server told no usage, so that it is judged from the length of the texts."""

    turn: int
    model: str
    message: Message
    usage: Usage
    stop: StopReason
    seconds: float
    cost: Cost | None = None
    estimated: bool = False


class Unanswered(msgspec.Struct, frozen=True, tag="unanswered"):
    """A request of which no answer is kept, and what it took all the same: it broke off, was stopped, or
    brought nothing of use. Fields as in Answered."""

    model: str
    usage: Usage
    seconds: float = 0.0
    cost: Cost | None = None
    estimated: bool = False


class Compacted(msgspec.Struct, frozen=True, tag="compacted"):
    """The transcript was made shorter: `opening` (the prompt and a summary) stands for all but its last
    `kept` messages. model, usage, cost, seconds, estimated: of the request that wrote the summary.
    trigger `overflow`: the server refused the transcript as it was. pre_tokens, post_tokens: estimates of
    the transcript's tokens before and after."""

    opening: Message
    kept: int
    trigger: Literal["auto", "overflow"]
    model: str
    usage: Usage
    seconds: float
    cost: Cost | None = None
    estimated: bool = False
    pre_tokens: int = 0
    post_tokens: int = 0


class Pruned(msgspec.Struct, frozen=True, tag="pruned"):
    """The results of these calls left the transcript to make room; a note stands in their place, or with
    keep_bytes their first and last bytes, that many together. pre_tokens, post_tokens: as in Compacted."""

    call_ids: tuple[str, ...]
    pre_tokens: int = 0
    post_tokens: int = 0
    keep_bytes: int = 0


class RulesChanged(msgspec.Struct, frozen=True, tag="rules_changed"):
    """Another rule set for the calls after it. number: counts them, that of the first record is 1. mode: a permission
    mode. allow, deny, ask: all further rules of the session, as flags are written. who: changed it, `client` or
    `flag`."""

    number: int
    mode: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    who: str = "client"
    ask: tuple[str, ...] = ()


class CallChecked(msgspec.Struct, frozen=True, tag="call_checked"):
    """What the gate said of a call. approval: `file:line` of the entry that answered an ask, or "".
    allowed: whether it goes on to run."""

    key: str
    id: str
    tool: str
    allowed: bool
    decision: Decision
    resources: tuple[Resource, ...] = ()
    approval: str = ""


class CallExpanded(msgspec.Struct, frozen=True, tag="call_expanded"):
    """An allowed call is made of others, which are its parts: each is checked, run and settled as any call is."""

    key: str
    calls: tuple[Call, ...]


class CallChanged(msgspec.Struct, frozen=True, tag="call_changed"):
    """Another input was put in the place of the model's, by `who`: a client or a hook. It is checked as a new call
    would be."""

    key: str
    arguments: str
    who: str


class CallStarted(msgspec.Struct, frozen=True, tag="call_started"):
    """On disk before the effect begins."""

    key: str


class CallSettled(msgspec.Struct, frozen=True, tag="call_settled"):
    """The outcome, and the text the model is shown. parent: as in Call; of a part the model is shown what the
    whole makes of it. output: where the text is kept whole."""

    key: str
    id: str
    tool: str
    outcome: Outcome
    content: str
    seconds: float = 0.0
    parent: str = ""
    output: Retained | None = None


class CallsPending(msgspec.Struct, frozen=True, tag="calls_pending"):
    """`on_ask: stop`: these calls of the turn wait for an answer or were not started. approvals: for
    each asked call the entry that would allow it."""

    asked: tuple[str, ...]
    held: tuple[str, ...]
    approvals: tuple[str, ...] = ()


class Spent(msgspec.Struct, frozen=True, tag="spent"):
    """An amount charged outside of this journal's answers and calls: `network_requests`, `artifacts_total_bytes`, and
    of agents that work for this one `turns` and `calls`. agent: the task id of the one that spent it, "" where it was
    the run itself."""

    limit: str
    amount: float
    agent: str = ""


class Reached(msgspec.Struct, frozen=True, tag="reached"):
    """A command of a call asked to be connected to a host. refused: why it was not, or ""."""

    call: str
    tool: str
    host: str
    port: int
    refused: str = ""


class ArtifactWritten(msgspec.Struct, frozen=True, tag="artifact_written"):
    name: str
    bytes: int
    sha256: str
    media_type: str
    call: str
    path: str


class ArtifactRemoved(msgspec.Struct, frozen=True, tag="artifact_removed"):
    """A command of the call took it away, as one that gives it another name does."""

    name: str
    call: str


class PlanSet(msgspec.Struct, frozen=True, tag="plan_set"):
    steps: tuple[dict[str, str], ...]
    note: str


class PlanWritten(msgspec.Struct, frozen=True, tag="plan_written"):
    """The plan document of the session was replaced. revision: counts from 1. sha256: of its bytes."""

    revision: int
    bytes: int
    sha256: str


class PlanMoved(msgspec.Struct, frozen=True, tag="plan_moved"):
    """The plan document belongs to the session of that run from here on, and this one has none."""

    run_id: str


class TodosSet(msgspec.Struct, frozen=True, tag="todos_set"):
    """The whole todo list: content, status and priority of each item."""

    todos: tuple[dict[str, str], ...]


class ToolsLoaded(msgspec.Struct, frozen=True, tag="tools_loaded"):
    """Tools that requests left out are in them from here on."""

    tools: tuple[str, ...]


GoalVerdict = Literal["met", "not_met", "impossible"]


class GoalJudged(msgspec.Struct, frozen=True, tag="goal_judged"):
    """What the evaluator says of the goal after this turn. number: counts its verdicts of the prompt, from 1. Other
    fields as in Answered."""

    turn: int
    number: int
    verdict: GoalVerdict
    reason: str
    model: str
    usage: Usage
    seconds: float
    cost: Cost | None = None
    estimated: bool = False


class OutputSubmitted(msgspec.Struct, frozen=True, tag="output_submitted"):
    """Structured output. valid: whether it fits the schema; error: what did not."""

    value: Any
    valid: bool
    error: str = ""


JobKind = Literal["agent", "shell"]
JobStatus = Literal["running", "completed", "failed", "cancelled", "interrupted"]


class JobStarted(msgspec.Struct, frozen=True, tag="job_started"):
    """A call began, or took up again, what may outlive it: an agent (its own journal is
    `tasks/<task_id>/journal.jsonl`) or a command. key, call_id: of the call. profile, mode: of an agent, which keep
    for good. background: the call does not wait for it. started: Unix seconds."""

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


class JobPromoted(msgspec.Struct, frozen=True, tag="job_promoted"):
    """A job that a call waited for goes on in the background."""

    task_id: str


class JobEnded(msgspec.Struct, frozen=True, tag="job_ended"):
    """What became of a job. text: what the model is shown of it, `output` where it is kept whole. report: whether
    the model is to hear of it by a message of its own. ended: Unix seconds."""

    task_id: str
    status: JobStatus
    text: str
    ended: float
    report: bool = False
    output: Retained | None = None


class AgentAnswered(msgspec.Struct, frozen=True, tag="agent_answered"):
    """What an answer cost that was given to an agent working for this one. Fields as in Answered."""

    task_id: str
    model: str
    usage: Usage
    seconds: float = 0.0
    cost: Cost | None = None
    estimated: bool = False


class Reported(msgspec.Struct, frozen=True, tag="reported"):
    """An agent told the one it works for something before its end. blocked: it cannot go on, which ends it."""

    title: str
    message: str
    blocked: bool = False


class Noted(msgspec.Struct, frozen=True, tag="noted"):
    """Something worth keeping that is not a step: a traceback, a repair, a warning."""

    kind: Literal["traceback", "repair", "warning", "retry", "fallback", "loop", "renamed"]
    text: str


class HookRan(msgspec.Struct, frozen=True, tag="hook_ran"):
    """A command of the user heard of a step. call: id of the call, or "". where: of the hook. outcome: `failed` where
    it gave no answer, which refuses the step or ends the prompt; `reason` says why, or is its own word. exit_code None:
    it was not started, or killed. stdout, stderr: their beginning and end."""

    id: str
    event: str
    tool: str
    call: str
    where: str
    outcome: Literal["silent", "allow", "ask", "deny", "stop", "failed"]
    reason: str = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0


class PromptEnded(msgspec.Struct, frozen=True, tag="prompt_ended"):
    """The terminal record of a prompt, with its result line."""

    verdict: str
    exit_code: int
    resumable: bool
    result: dict[str, Any]


Record = (
    RunStarted
    | SessionForked
    | RunResumed
    | UserSaid
    | TurnStarted
    | Answered
    | Unanswered
    | Compacted
    | Pruned
    | CallChanged
    | CallChecked
    | CallExpanded
    | RulesChanged
    | CallStarted
    | CallSettled
    | CallsPending
    | Spent
    | Reached
    | ArtifactWritten
    | ArtifactRemoved
    | PlanSet
    | PlanWritten
    | PlanMoved
    | TodosSet
    | ToolsLoaded
    | GoalJudged
    | OutputSubmitted
    | JobStarted
    | JobPromoted
    | JobEnded
    | AgentAnswered
    | Reported
    | Noted
    | HookRan
    | PromptEnded
)

"""The published stream: one JSON object a line. Names follow the stream-JSON of Claude Code, so that
its clients read ours; what it lacks stands in new `system` subtypes and new fields.

`session_id` and `uuid` are stamped by the emitter, the same on no two lines for `uuid`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType


class _Line(msgspec.Struct, kw_only=True):
    """agent_id: of the agent that works for the main one and that the line tells of, absent for the main one."""

    session_id: str = ""
    uuid: str = ""
    agent_id: str | UnsetType = UNSET


class Init(_Line, kw_only=True, tag_field="type", tag="system"):
    """First line of a prompt: what the model gets and what holds it."""

    subtype: Literal["init"] = "init"
    cwd: str
    model: str
    tools: list[str]
    permissionMode: str = "default"
    apiKeySource: str = "none"
    mcp_servers: list[dict[str, str]] = msgspec.field(default_factory=list)
    slash_commands: list[str] = msgspec.field(default_factory=list)
    agents: list[str] = msgspec.field(default_factory=list)
    skills: list[str] = msgspec.field(default_factory=list)
    plugins: list[str] = msgspec.field(default_factory=list)
    output_style: str = "default"
    remit_version: str
    run_id: str
    run_dir: str
    provider: str
    scripted: bool = False
    stdin: Literal["none", "read", "skipped", "ignored"] = "none"
    resumed: bool = False
    limits: dict[str, Any] = msgspec.field(default_factory=dict)
    layers: dict[str, str] = msgspec.field(default_factory=dict)
    withheld_tools: dict[str, str] = msgspec.field(default_factory=dict)


class Assistant(_Line, kw_only=True, tag_field="type", tag="assistant"):
    """One finished block of an answer; blocks of one answer share `message.id`. With `parent_tool_use_id`: the
    calls that this call is made of, as a batch is, or the answer of the agent that this call started, whose
    profile and description then stand there too."""

    message: dict[str, Any]
    parent_tool_use_id: str | None = None
    timestamp: str = ""
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET


class User(_Line, kw_only=True, tag_field="type", tag="user"):
    """A tool result, or text that the harness put in (`isSynthetic`). `parent_tool_use_id`: the call that this
    one is a part of, or that started the agent it is said to."""

    message: dict[str, Any]
    parent_tool_use_id: str | None = None
    tool_use_result: Any = None
    tool_result_meta: list[dict[str, Any]] = msgspec.field(default_factory=list)
    isSynthetic: bool = False
    timestamp: str = ""
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET


class PermissionDenied(_Line, kw_only=True, tag_field="type", tag="system"):
    """A call was refused: by a rule, or because nobody answered an ask. answered_by: who said no to an ask, `client` or
    the entry of an approvals file."""

    subtype: Literal["permission_denied"] = "permission_denied"
    tool_name: str
    tool_use_id: str
    message: str
    decision_reason_type: str = "rule"
    decision_reason: str
    rule: str
    source: str
    resource: str
    answered_by: str = ""


class PermissionAsked(_Line, kw_only=True, tag_field="type", tag="system"):
    """`on_ask: stop`: this call waits for an answer. `approval` is the entry to paste."""

    subtype: Literal["permission_asked"] = "permission_asked"
    tool_name: str
    tool_use_id: str
    decision_reason: str
    rule: str
    source: str
    resource: str
    approval: str


class ApprovalUsed(_Line, kw_only=True, tag_field="type", tag="system"):
    """An entry of the approvals file answered an ask."""

    subtype: Literal["approval_used"] = "approval_used"
    tool_name: str
    tool_use_id: str
    allowed: bool
    approval: str
    why: str


class ApiRetry(_Line, kw_only=True, tag_field="type", tag="system"):
    """The model request failed and is tried again."""

    subtype: Literal["api_retry"] = "api_retry"
    attempt: int
    max_retries: int
    retry_delay_ms: int
    error_status: int | None
    error: str


class ModelFallback(_Line, kw_only=True, tag_field="type", tag="system"):
    """A model cannot be asked any more, so that the next one of `fallback_models` is, from here to the
    end of this process. trigger: why, one word; content: the failure. Models as `provider/model`."""

    subtype: Literal["model_fallback"] = "model_fallback"
    trigger: str
    original_model: str
    fallback_model: str
    content: str


class Status(_Line, kw_only=True, tag_field="type", tag="system"):
    """What takes a while. status: `compacting`, with partial messages `requesting`, null when it is over.
    permissionMode: the one that holds from here on, where a client changed it."""

    subtype: Literal["status"] = "status"
    status: str | None = None
    permissionMode: str = ""


class StreamEvent(_Line, kw_only=True, tag_field="type", tag="stream_event"):
    """With `--include-partial-messages`: an answer as it comes, in the events of the Messages API. api_message_id:
    `message.id` of its blocks."""

    event: dict[str, Any]
    parent_tool_use_id: str | None = None
    api_message_id: str = ""
    ttft_ms: int | None = None


class SessionState(_Line, kw_only=True, tag_field="type", tag="system"):
    """For a client that drives the session: `running` from its first prompt, `requires_action` while it is asked
    something, `idle` once nothing is left to do."""

    subtype: Literal["session_state_changed"] = "session_state_changed"
    state: Literal["running", "idle", "requires_action"]


class ControlRequest(_Line, kw_only=True, tag_field="type", tag="control_request"):
    """A question to the client. request: its `subtype` (can_use_tool, hook_callback, mcp_message) and fields."""

    request_id: str
    request: dict[str, Any]


class ControlResponse(_Line, kw_only=True, tag_field="type", tag="control_response"):
    """The answer to a control request of the client. response: `subtype` (success, error), `request_id`, and
    `response` or `error`."""

    response: dict[str, Any]


class ControlCancel(_Line, kw_only=True, tag_field="type", tag="control_cancel_request"):
    """No answer to this question is wanted any more."""

    request_id: str


class CompactBoundary(_Line, kw_only=True, tag_field="type", tag="system"):
    """The transcript was made shorter. compact_metadata: trigger (auto: before the context window ended;
    overflow: the server refused it), pre_tokens and post_tokens (estimates), duration_ms, and what was
    done: `summary` (earlier turns became a summary) or `pruned` (results that left)."""

    subtype: Literal["compact_boundary"] = "compact_boundary"
    compact_metadata: dict[str, Any]


class GoalUpdated(_Line, kw_only=True, tag_field="type", tag="system"):
    """What becomes of the goal of the run. kind: `evaluating`; `evaluation`, with the verdict (met, not_met,
    impossible) and its reason; `evaluation_failed`, with the reason; `deferred` while work goes on in the
    background; `loop_cap` when the model was sent on as often as it may be. evaluation: counts the verdicts of the
    prompt, from 1."""

    subtype: Literal["goal"] = "goal"
    kind: Literal["evaluating", "evaluation", "evaluation_failed", "deferred", "loop_cap"]
    condition: str
    evaluation: int = 0
    verdict: str = ""
    reason: str = ""
    model: str = ""
    cost_usd: float | None = None


class HostReached(_Line, kw_only=True, tag_field="type", tag="system"):
    """A command asked to be connected to a host, by the proxy of granted hosts. allowed: whether it was;
    reason: why not. A host that is refused again and again in one call is told once."""

    subtype: Literal["host_reached"] = "host_reached"
    tool_name: str
    tool_use_id: str
    host: str
    port: int
    allowed: bool
    reason: str = ""


class ArtifactPublished(_Line, kw_only=True, tag_field="type", tag="system"):
    subtype: Literal["artifact"] = "artifact"
    name: str
    bytes: int
    sha256: str
    media_type: str
    path: str
    tool_use_id: str = ""


class PlanUpdated(_Line, kw_only=True, tag_field="type", tag="system"):
    subtype: Literal["plan"] = "plan"
    steps: list[dict[str, str]]
    note: str = ""


class TodosUpdated(_Line, kw_only=True, tag_field="type", tag="system"):
    """The todo list of the model, whole: content, status and priority of each item."""

    subtype: Literal["todos"] = "todos"
    todos: list[dict[str, str]]


class TaskStarted(_Line, kw_only=True, tag_field="type", tag="system"):
    """An agent or a command began that has a life of its own. task_type: `local_agent` or `local_bash`.
    subagent_type: the profile of an agent."""

    subtype: Literal["task_started"] = "task_started"
    task_id: str
    run_id: str
    tool_use_id: str
    description: str
    task_type: Literal["local_agent", "local_bash"]
    is_backgrounded: bool
    subagent_type: str | UnsetType = UNSET
    spawn_depth: int | UnsetType = UNSET
    prompt: str | UnsetType = UNSET


class TaskProgress(_Line, kw_only=True, tag_field="type", tag="system"):
    """An agent answered with calls. usage: total_tokens, tool_uses, duration_ms, so far."""

    subtype: Literal["task_progress"] = "task_progress"
    task_id: str
    run_id: str
    tool_use_id: str
    description: str
    subagent_type: str
    usage: dict[str, int]
    last_tool_name: str


class TaskUpdated(_Line, kw_only=True, tag_field="type", tag="system"):
    """What changed of a task: `status` (completed, failed, killed) with `end_time` in Unix milliseconds, or
    `is_backgrounded`."""

    subtype: Literal["task_updated"] = "task_updated"
    task_id: str
    run_id: str
    patch: dict[str, Any]


class TaskNotification(_Line, kw_only=True, tag_field="type", tag="system"):
    """A task is over. status: completed, failed, stopped. output_file: where all of what it came to is kept, or "".
    summary: its beginning. usage: as in TaskProgress, of an agent."""

    subtype: Literal["task_notification"] = "task_notification"
    task_id: str
    run_id: str
    tool_use_id: str
    status: Literal["completed", "failed", "stopped"]
    output_file: str
    summary: str
    usage: dict[str, int] | UnsetType = UNSET


class BackgroundTasks(_Line, kw_only=True, tag_field="type", tag="system"):
    """The tasks that now run in the background: task_id, task_type, description each."""

    subtype: Literal["background_tasks_changed"] = "background_tasks_changed"
    tasks: list[dict[str, str]]


class CheckFinished(_Line, kw_only=True, tag_field="type", tag="system"):
    """One check of the task's `expect.checks`."""

    subtype: Literal["check"] = "check"
    command: str
    ok: bool
    detail: str = ""


class HookStarted(_Line, kw_only=True, tag_field="type", tag="system"):
    """A command of the user is told of a step. hook_name: the event, and the tool of the call. where: of the hook."""

    subtype: Literal["hook_started"] = "hook_started"
    hook_id: str
    hook_name: str
    hook_event: str
    where: str = ""


class HookResponse(_Line, kw_only=True, tag_field="type", tag="system"):
    """What it said. outcome: `error` where it gave no answer, which refuses the step or ends the prompt. decision: of
    the answer, "" for none; reason: its reason, or what went wrong. output: stdout and stderr. exit_code: null where it
    was not started, or killed."""

    subtype: Literal["hook_response"] = "hook_response"
    hook_id: str
    hook_name: str
    hook_event: str
    where: str = ""
    outcome: Literal["success", "error"]
    decision: str = ""
    reason: str = ""
    output: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    duration_ms: int = 0
    tool_use_id: str = ""


class Notice(_Line, kw_only=True, tag_field="type", tag="system"):
    """Something a reader of the stream should know: a repair, a skipped stdin, a recovery."""

    subtype: Literal["notice"] = "notice"
    kind: str
    text: str


Subtype = Literal[
    "success",
    "error_max_turns",
    "error_max_budget_usd",
    "error_max_structured_output_retries",
    "error_during_execution",
]


class Result(_Line, kw_only=True, tag_field="type", tag="result"):
    """The one terminal line of a prompt. `verdict` and `exit_code` come from one value."""

    subtype: Subtype
    is_error: bool
    verdict: str
    exit_code: int
    duration_ms: int
    duration_api_ms: int
    num_turns: int
    result: str | None = None
    structured_output: Any = None
    errors: list[str] = msgspec.field(default_factory=list)
    error_kind: str = ""
    hint: str = ""
    stop_reason: str | None = None
    terminal_reason: str = ""
    total_cost_usd: float = 0.0
    cost_known: bool = True
    usage: dict[str, int] = msgspec.field(default_factory=dict)
    modelUsage: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    permission_denials: list[dict[str, Any]] = msgspec.field(default_factory=list)
    pending: list[dict[str, Any]] = msgspec.field(default_factory=list)
    unmet: list[str] = msgspec.field(default_factory=list)
    artifacts: list[dict[str, Any]] = msgspec.field(default_factory=list)
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    spent: dict[str, float] = msgspec.field(default_factory=dict)
    run_id: str = ""
    run_dir: str = ""
    resumable: bool = False
    stdin: str = "none"
    layers: dict[str, str] = msgspec.field(default_factory=dict)
    resets_at: str = ""
    result_index: int = 0
    user_message_uuids: list[str] = msgspec.field(default_factory=list)
    origin: dict[str, str] | UnsetType = UNSET
    """What began the prompt where that was no message of the user: its `kind`, `task-notification`."""


Event = (
    Init
    | Assistant
    | User
    | PermissionDenied
    | PermissionAsked
    | ApprovalUsed
    | ApiRetry
    | ModelFallback
    | Status
    | StreamEvent
    | SessionState
    | ControlRequest
    | ControlResponse
    | ControlCancel
    | CompactBoundary
    | GoalUpdated
    | HostReached
    | ArtifactPublished
    | PlanUpdated
    | TodosUpdated
    | TaskStarted
    | TaskProgress
    | TaskUpdated
    | TaskNotification
    | BackgroundTasks
    | CheckFinished
    | HookStarted
    | HookResponse
    | Notice
    | Result
)
EVENT_TYPES: tuple[type[_Line], ...] = (
    Init,
    Assistant,
    User,
    PermissionDenied,
    PermissionAsked,
    ApprovalUsed,
    ApiRetry,
    ModelFallback,
    Status,
    StreamEvent,
    SessionState,
    ControlRequest,
    ControlResponse,
    ControlCancel,
    CompactBoundary,
    GoalUpdated,
    HostReached,
    ArtifactPublished,
    PlanUpdated,
    TodosUpdated,
    TaskStarted,
    TaskProgress,
    TaskUpdated,
    TaskNotification,
    BackgroundTasks,
    CheckFinished,
    HookStarted,
    HookResponse,
    Notice,
    Result,
)

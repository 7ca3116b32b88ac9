"""Events that tell of records, and those that a process which died did not get to tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.events import (
    ArtifactPublished,
    Assistant,
    CompactBoundary,
    Event,
    GoalUpdated,
    HookResponse,
    HostReached,
    Notice,
    PlanUpdated,
    Result,
    Status,
    TodosUpdated,
    User,
)
from remit.base.messages import CallBlock
from remit.base.records import (
    ENVIRONMENT,
    Answered,
    ArtifactWritten,
    CallExpanded,
    CallSettled,
    Compacted,
    GoalJudged,
    HookRan,
    PlanSet,
    PromptEnded,
    Pruned,
    Reached,
    Record,
    RulesChanged,
    TodosSet,
    ToolsLoaded,
    UserSaid,
)
from remit.engine.answer import wire_block


def tell_settled(settled: CallSettled, timestamp: str) -> User:
    """A tool result."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": settled.id, "content": settled.content}
    if not settled.outcome.ok:
        block["is_error"] = True
    return User(
        message={"role": "user", "content": [block]},
        parent_tool_use_id=settled.parent or None,
        tool_use_result=msgspec.to_builtins(settled.outcome.envelope()),
        tool_result_meta=[{"id": settled.id, "tool": settled.tool, "seconds": settled.seconds, **_kept(settled)}],
        timestamp=timestamp,
    )


def tell_expanded(expanded: CallExpanded, parent: str, timestamp: str) -> Assistant:
    """The calls that a call of the model is made of, as if it had made each by itself. parent: its id."""
    blocks = [wire_block(CallBlock(call.id, call.tool, call.arguments)) for call in expanded.calls]
    return Assistant(
        message={
            "id": f"msg_{expanded.key}",
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": blocks,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        },
        parent_tool_use_id=parent,
        timestamp=timestamp,
    )


def _kept(settled: CallSettled) -> dict[str, Any]:
    """Where the whole result is, if it is kept."""
    output = settled.output
    return {"output": {"id": output.handle, "bytes": output.bytes, "lines": output.lines}} if output else {}


def tell_said(said: UserSaid, timestamp: str) -> User:
    """Text that the harness put in."""
    content = [{"type": "text", "text": said.text}]
    return User(message={"role": "user", "content": content}, isSynthetic=True, timestamp=timestamp)


def tell_artifact(written: ArtifactWritten, call_id: str) -> ArtifactPublished:
    return ArtifactPublished(
        name=written.name,
        bytes=written.bytes,
        sha256=written.sha256,
        media_type=written.media_type,
        path=written.path,
        tool_use_id=call_id,
    )


def tell_reached(reached: Reached, call_id: str) -> HostReached:
    return HostReached(
        tool_name=reached.tool,
        tool_use_id=call_id,
        host=reached.host,
        port=reached.port,
        allowed=not reached.refused,
        reason=reached.refused,
    )


def hook_name(event: str, tool: str) -> str:
    return f"{event}:{tool}" if tool else event


def tell_hook(ran: HookRan) -> HookResponse:
    spoke = ran.outcome not in ("failed", "silent")
    return HookResponse(
        hook_id=ran.id,
        hook_name=hook_name(ran.event, ran.tool),
        hook_event=ran.event,
        where=ran.where,
        outcome="error" if ran.outcome == "failed" else "success",
        decision=ran.outcome if spoke else "",
        reason=ran.reason,
        output=ran.stdout + ran.stderr,
        stdout=ran.stdout,
        stderr=ran.stderr,
        exit_code=ran.exit_code,
        duration_ms=round(ran.seconds * 1000),
        tool_use_id=ran.call,
    )


def tell_plan(plan: PlanSet) -> PlanUpdated:
    return PlanUpdated(steps=list(plan.steps), note=plan.note)


def tell_todos(set_: TodosSet) -> TodosUpdated:
    return TodosUpdated(todos=list(set_.todos))


def tell_judged(judged: GoalJudged, condition: str) -> GoalUpdated:
    return GoalUpdated(
        kind="evaluation",
        condition=condition,
        evaluation=judged.number,
        verdict=judged.verdict,
        reason=judged.reason,
        model=judged.model,
        cost_usd=None if judged.cost is None else round(judged.cost.total(), 6),
    )


def tell_loaded(loaded: ToolsLoaded) -> Notice:
    names = ", ".join(loaded.tools)
    text = (
        f"requests have more tools from here on: {names}; the provider reads the conversation anew, without its cache"
    )
    return Notice(kind="tools_loaded", text=text)


def tell_rules(changed: RulesChanged) -> Status:
    return Status(permissionMode=changed.mode)


def tell_shortened(shortened: Compacted | Pruned) -> CompactBoundary:
    """The transcript was made shorter, by a summary or by taking results out."""
    facts = {"pre_tokens": shortened.pre_tokens, "post_tokens": shortened.post_tokens}
    if isinstance(shortened, Pruned):
        return CompactBoundary(compact_metadata={"trigger": "auto", "done": "pruned", **facts})
    milliseconds = round(shortened.seconds * 1000)
    done = {"trigger": shortened.trigger, "done": "summary", "duration_ms": milliseconds}
    return CompactBoundary(compact_metadata={**done, **facts})


def untold(records: Sequence[Record], log: Sequence[Mapping[str, Any]], timestamp: str) -> Iterator[Event]:
    """The events that `records` call for and the log of events does not hold, in the records' order.

    A record is written before its event is told, so that only the last ones can be missing; what is
    told before its record (blocks of an answer, refusals) is told again when the step is taken again.
    """
    # What agents said is in journals of their own.
    log = [event for event in log if not event.get("agent_id")]
    told = Counter(_mark(event) for event in log)
    ids: dict[str, str] = {}
    for record in records:
        if isinstance(record, Answered):
            calls = enumerate(record.message.calls(), 1)
            ids |= {f"t{record.turn}.c{index}": block.id for index, block in calls}
        if isinstance(record, CallExpanded):
            ids |= {call.key: call.id for call in record.calls}
        event = _event_of(record, ids, timestamp)
        if event is None:
            continue
        mark = _mark(msgspec.to_builtins(event))
        if told[mark] > 0:
            told[mark] -= 1
        else:
            yield event
    if records and isinstance(records[-1], PromptEnded) and not _ends_in_result(log):
        yield msgspec.convert(records[-1].result, Result)


def _ends_in_result(log: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last prompt of the log has its terminal line."""
    for event in reversed(log):
        if event.get("type") == "result" or event.get("subtype") == "init":
            return bool(event["type"] == "result")
    return False


def _event_of(record: Record, ids: Mapping[str, str], timestamp: str) -> Event | None:
    if isinstance(record, CallSettled):
        # A check of the task has no place in the transcript, and events of its own.
        return tell_settled(record, timestamp) if record.key in ids else None
    if isinstance(record, CallExpanded):
        return tell_expanded(record, ids[record.key], timestamp)
    if isinstance(record, ArtifactWritten):
        return tell_artifact(record, ids.get(record.call, ""))
    if isinstance(record, Reached):
        return tell_reached(record, ids.get(record.call, ""))
    if isinstance(record, HookRan):
        return tell_hook(record)
    if isinstance(record, PlanSet):
        return tell_plan(record)
    if isinstance(record, TodosSet):
        return tell_todos(record)
    if isinstance(record, Compacted | Pruned):
        return tell_shortened(record)
    if isinstance(record, RulesChanged):
        return tell_rules(record)
    if isinstance(record, ToolsLoaded):
        return tell_loaded(record)
    if isinstance(record, UserSaid) and record.synthetic and record.reason != ENVIRONMENT:
        return tell_said(record, timestamp)
    return None


def _mark(event: Mapping[str, Any]) -> tuple[str, str]:
    """What tells one event from another of its kind, whatever chance and clock put into it."""
    kind = str(event.get("subtype") if event.get("type") == "system" else event.get("type"))
    if kind == "assistant":
        return kind, str(event["parent_tool_use_id"] or "")
    if kind == "artifact":
        return kind, f"{event['tool_use_id']} {event['name']} {event['sha256']}"
    if kind == "compact_boundary":
        return kind, msgspec.json.encode(event["compact_metadata"], order="sorted").decode()
    if kind == "host_reached":
        return kind, f"{event['tool_use_id']} {event['host']} {event['port']} {event['reason']}"
    if kind == "hook_response":
        return kind, str(event["hook_id"])
    if kind == "plan":
        return kind, msgspec.json.encode([event["steps"], event["note"]]).decode()
    if kind == "todos":
        return kind, msgspec.json.encode(event["todos"]).decode()
    if kind == "notice":
        return kind, str(event["text"])
    if kind == "status":
        return kind, str(event.get("permissionMode", ""))
    if kind == "user":
        block = event["message"]["content"][0]
        return kind, str(block.get("tool_use_id") or block.get("text"))
    return kind, ""

"""The terminal line of a prompt, derived from the state and the one value that says how it ended."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.base.errors import BudgetSpent, ProviderBusy, RemitError, Verdict, exit_code
from remit.base.events import Init, Result, Subtype
from remit.base.spec import RunSpec
from remit.engine.answer import wire_input, wire_usage
from remit.engine.finish import Unmet
from remit.engine.state import Denial, ModelUsage, State

SUBTYPES: dict[str, Subtype] = {
    "turns": "error_max_turns",
    "usd": "error_max_budget_usd",
    "schema": "error_max_structured_output_retries",
}

TERMINAL_REASONS = {
    Verdict.DONE: "completed",
    Verdict.BUDGET: "budget_exhausted",
    Verdict.PROVIDER: "api_error",
    Verdict.BUSY: "api_error",
    Verdict.STOPPED: "aborted",
}

COUNTS = (
    "calls",
    "failed_calls",
    "refusals",
    "retry",
    "repair",
    "cut",
    "loop",
    "fallback",
    "compactions",
    "pruned",
    "traceback",
)

RESUMABLE = {
    Verdict.BUG,
    Verdict.REFUSED,
    Verdict.PROVIDER,
    Verdict.BUSY,
    Verdict.BUDGET,
    Verdict.ENVIRONMENT,
    Verdict.STOPPED,
}


def build_result(
    spec: RunSpec, state: State, error: RemitError | None, *, init: Init, seconds: float, index: int = 0
) -> Result:
    """error None: done. init: of this process. index: of this result in it. seconds: of this prompt, earlier processes
    included. Money, models and artifacts are told for the whole session so far, all else for this prompt."""
    usage = state.usage - state.began.usage
    verdict = error.verdict if error else Verdict.DONE
    output = state.output.value if state.output and state.output.valid else None
    return Result(
        subtype=_subtype(error),
        is_error=error is not None,
        verdict=verdict.value,
        exit_code=exit_code(error),
        duration_ms=round(seconds * 1000),
        duration_api_ms=round((state.api_seconds - state.began.api_seconds) * 1000),
        num_turns=state.turns(),
        result=_text(state, output),
        structured_output=output,
        errors=_errors(error),
        error_kind=error.kind if error else "",
        hint=error.hint if error else "",
        stop_reason=state.stop,
        terminal_reason="max_turns" if _limit(error) == "turns" else TERMINAL_REASONS.get(verdict, verdict.value),
        total_cost_usd=round(state.ledger.usd, 6),
        cost_known=state.ledger.usd_known,
        usage=wire_usage(usage),
        modelUsage={name: _model(used) for name, used in state.model_usage.items()},
        permission_denials=[_denial(denial) for denial in state.denials.values()],
        pending=_pending(state),
        unmet=error.unmet if isinstance(error, Unmet) else [],
        artifacts=[msgspec.to_builtins(artifact) for artifact in state.artifacts.values()],
        counts={key: state.counts[key] for key in COUNTS},
        spent={**state.ledger.spent(), "seconds": round(seconds, 3)},
        run_id=init.run_id,
        run_dir=init.run_dir,
        resumable=verdict in RESUMABLE and not spec.played,
        stdin=spec.stdin,
        layers=dict(init.layers),
        resets_at=error.reset_at if isinstance(error, ProviderBusy) else "",
        result_index=index,
        user_message_uuids=list(state.said),
        origin={"kind": state.origin} if state.origin else msgspec.UNSET,
    )


def _model(used: ModelUsage) -> dict[str, Any]:
    """costUSD: of all tokens; costs: by their kinds, the cached ones apart."""
    usage, cost = used.usage, used.cost
    return {
        "requests": used.requests,
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_write,
        "costUSD": round(cost.total(), 6),
        "costs": {name: round(value, 6) for name, value in msgspec.structs.asdict(cost).items()},
        "costKnown": used.cost_known,
    }


def _subtype(error: RemitError | None) -> Subtype:
    if error is None:
        return "success"
    return SUBTYPES.get(_limit(error) or error.kind, "error_during_execution")


def _limit(error: RemitError | None) -> str:
    return error.limit if isinstance(error, BudgetSpent) else ""


def _errors(error: RemitError | None) -> list[str]:
    if error is None:
        return []
    return list(error.unmet) if isinstance(error, Unmet) else [str(error).split("\nhint: ")[0]]


def _text(state: State, output: object) -> str | None:
    if output is not None:
        return msgspec.json.encode(output).decode()
    return state.final_text or None


def _denial(denial: Denial) -> dict[str, object]:
    return {
        "tool_name": denial.tool,
        "tool_use_id": denial.call_id,
        "tool_input": wire_input(denial.arguments),
        "decision": denial.decide,
        "rule": denial.rule,
        "source": denial.source,
        "why": denial.why,
        "resource": denial.resource,
    }


def _pending(state: State) -> list[dict[str, object]]:
    """The calls that wait for an answer, each with the approval entry that would allow it."""
    if state.pending is None:
        return []
    entries = dict(zip(state.pending.asked, state.pending.approvals, strict=False))
    return [
        {**_denial(state.denials[key]), "approval": entry} for key, entry in entries.items() if key in state.denials
    ]

"""What becomes of a call before it may run: its arguments read, the rules asked, an approval looked for."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from remit.base.calls import Call, Decision, Outcome, RuleRef, err
from remit.base.errors import BudgetSpent, ErrorCode, Failure, Refused
from remit.base.events import ApprovalUsed, PermissionAsked, PermissionDenied
from remit.base.ports import Approval, Approvals, HookWord, Policy, World
from remit.base.records import CallChecked, CallsPending, Noted
from remit.base.resources import Effect, Resource
from remit.engine.hooks import HOOK, SILENT
from remit.engine.order import QUIET_EFFECTS
from remit.engine.recorder import Recorder
from remit.tools.contract import Tool

FLOOR_REFUSALS = frozenset(
    {
        ErrorCode.PATH_REFUSED,
        ErrorCode.FILE_REFUSED,
        ErrorCode.URL_REFUSED,
        ErrorCode.PORT_REFUSED,
        ErrorCode.ADDRESS_REFUSED,
    }
)
"""What a tool itself refuses before any rule is asked, whatever the rules say."""


class Paste(Protocol):
    """Writes a pending ask as an entry of an approvals file."""

    def __call__(self, call: Call, resources: Sequence[Resource], rule: RuleRef) -> str: ...


class Checked(msgspec.Struct):
    """A call after the gate. `outcome` is set when it ends without running, `joined` when its outcome is made of
    those of its parts, which come before it. unanswered: why no entry of the approvals file answers what it asks."""

    call: Call
    tool: Tool | None = None
    params: Any = None
    resources: tuple[Resource, ...] = ()
    outcome: Outcome | None = None
    asked: Decision | None = None
    unanswered: str = ""
    approved: RuleRef | None = None
    refused: bool = False
    joined: bool = False
    spent: BudgetSpent | None = None

    @property
    def quiet(self) -> bool:
        return self.tool is None or self.tool.effects <= QUIET_EFFECTS


class Gate(msgspec.Struct):
    """What judges a call. asks: whether somebody may be asked what no approvals file answers."""

    policy: Policy
    approvals: Approvals | None
    world: World
    digest: Callable[[str], str]
    paste: Paste
    asks: bool = True


class Judge:
    """Judges calls one by one, before any of them runs. waits: whether an ask that no approvals file answers may
    wait for somebody."""

    def __init__(self, gate: Gate, recorder: Recorder, waits: Callable[[], bool]) -> None:
        self._gate = gate
        self._recorder = recorder
        self._waits = waits

    def judge(self, call: Call, tool: Tool, word: HookWord = SILENT) -> Checked:
        """word: what hooks said of it. A call that may run has no outcome yet; one that waits for an answer has what
        it asks."""
        try:
            params = tool.parse(call.arguments)
            resources = tuple(tool.resources(params, self._gate.world))
        except Failure as failure:
            return self._unfit(Checked(call, tool), failure)
        except Exception:
            # A tool that breaks before policy has spoken is refused, never let through.
            return Checked(call, tool, outcome=told_bug(self._recorder, call))
        checked = Checked(call, tool, params, resources)
        decision = self._decide(tool, resources)
        if word.decide == "deny" and decision.decide != "deny":
            self._hooked(checked, word)
            return checked
        if word.decide == "ask" and decision.decide != "deny":
            decision = Decision("ask", _hook_rule(word), decision.resource)
        if decision.decide == "auto":
            self.note(checked, True, decision)
        elif decision.decide == "deny":
            checked.outcome = self._denied(checked, decision, ErrorCode.DENIED)
        elif word.decide == "allow":
            checked.approved = decision.rule
            self.note(checked, True, decision, HOOK)
        else:
            self._answer(checked, decision)
        return checked

    def not_offered(self, call: Call, rule: RuleRef) -> Checked:
        """A ticked tool that the model was not offered, because its every call would be refused: so it is."""
        message = f"{call.tool} is not offered in this run: {rule.told()}; go on without it and say so"
        checked = Checked(call, outcome=err(ErrorCode.DENIED, message))
        self.refuse(checked, Decision("deny", rule), message)
        return checked

    def _unfit(self, checked: Checked, failure: Failure) -> Checked:
        """Arguments that no rule is asked about: they make no sense, or name what no tool may touch,
        which is a refusal of the floor."""
        checked.outcome = err(failure.code, failure.message)
        if failure.code in FLOOR_REFUSALS:
            rule = RuleRef("floor", "built in", failure.message)
            self.refuse(checked, Decision("deny", rule), failure.message)
        return checked

    def _decide(self, tool: Tool, resources: Sequence[Resource]) -> Decision:
        if not resources and tool.effects != {Effect.NONE}:
            rule = RuleRef("floor", "built in", "a call with an effect that names no resource is refused")
            return Decision("deny", rule)
        return self._gate.policy.decide(tool.name, tool.effects, resources)

    def _answer(self, checked: Checked, decision: Decision) -> None:
        """An ask: the approvals file answers, else it is refused or the run stops on it."""
        call = checked.call
        earlier = self._recorder.state.approved(call.key)
        if earlier:
            # Answered before the process died: the use is counted, the answer stands.
            checked.approved = decision.rule
            self.note(checked, True, decision, earlier)
            return
        approval = self._approval(checked)
        if approval is not None:
            self._approved(checked, decision, approval)
            return
        if self._gate.approvals is not None:
            asking = self._gate.policy.asked(call.tool, checked.resources)
            checked.unanswered = self._gate.approvals.why_not(call.tool, asking)
        if self._waits():
            checked.asked = decision
        else:
            checked.outcome = self._denied(checked, decision, ErrorCode.APPROVAL_REQUIRED)

    def _approval(self, checked: Checked) -> Approval | None:
        if self._gate.approvals is None:
            return None
        tool, digest = checked.call.tool, self._gate.digest(checked.call.arguments)
        return self._gate.approvals.answer(tool, digest, self._gate.policy.asked(tool, checked.resources))

    def _approved(self, checked: Checked, decision: Decision, approval: Approval) -> None:
        call = checked.call
        self._recorder.emit(
            ApprovalUsed(
                tool_name=call.tool,
                tool_use_id=call.id,
                allowed=approval.allow,
                approval=approval.where,
                why=approval.why,
            )
        )
        if approval.allow:
            checked.approved = decision.rule
            self.note(checked, True, decision, approval.where)
            return
        rule = RuleRef("approval", approval.where, approval.why)
        checked.outcome = self._denied(
            checked, Decision("deny", rule, decision.resource), ErrorCode.DENIED, approval.where
        )

    def note(self, checked: Checked, allowed: bool, decision: Decision, approval: str = "") -> None:
        call = checked.call
        record = CallChecked(call.key, call.id, call.tool, allowed, decision, checked.resources, approval)
        self._recorder.record(record, sync=not checked.quiet)

    def _denied(self, checked: Checked, decision: Decision, code: ErrorCode, approval: str = "") -> Outcome:
        call, rule = checked.call, decision.rule
        what = _subject(checked, decision)
        if code is ErrorCode.DENIED:
            message = f"{call.tool} {what} is denied: {rule.told()}"
        else:
            message = f"{call.tool} {what} needs an approval that nobody gave: {rule.told()}"
            message += f"; {checked.unanswered}" if checked.unanswered else ""
        if self._recorder.state.opened(call.key) is not None:
            # For the model: a check of the task is read by people.
            message += ". Do not repeat this call; go on without it and say so in your answer."
        self.refuse(checked, decision, message, approval)
        return err(code, message)

    def refuse(self, checked: Checked, decision: Decision, message: str, approval: str = "") -> None:
        """Write a refusal down and tell it."""
        checked.refused = True
        decision = _with_unanswered(checked, decision)
        self.note(checked, False, decision, approval)
        call, rule = checked.call, decision.rule
        self._recorder.emit(
            PermissionDenied(
                tool_name=call.tool,
                tool_use_id=call.id,
                message=message,
                decision_reason_type="asked" if decision.decide == "ask" else "rule",
                decision_reason=rule.why,
                rule=rule.where,
                source=rule.source,
                resource=decision.resource.name if decision.resource else "",
                answered_by=approval,
            )
        )

    def _hooked(self, checked: Checked, word: HookWord) -> None:
        """A hook refuses the call."""
        message = word.message or f"a hook refused {checked.call.tool}"
        rule = _hook_rule(word)
        self.refuse(checked, Decision("deny", rule), message)
        checked.outcome = err(ErrorCode.DENIED, message)

    def stop_on_ask(self, checked: Sequence[Checked]) -> None:
        """`on_ask: stop`: no further call of this turn runs; each ask is told with its entry to paste."""
        asked = [each for each in checked if each.asked is not None]
        if not asked:
            return
        entries = tuple(self._told_ask(each) for each in asked)
        held = tuple(each.call.key for each in checked if each.asked is None)
        self._recorder.record(CallsPending(tuple(each.call.key for each in asked), held, entries))
        names = ", ".join(sorted({each.call.tool for each in asked}))
        why = "".join(f"; {each}" for each in dict.fromkeys(each.unanswered for each in asked) if each)
        raise Refused(
            f"stopped: {len(asked)} call(s) wait for an approval ({names}){why}",
            hint="answer them in an approvals file and go on with `remit resume RUN -a FILE`",
            kind="asked",
        )

    def _told_ask(self, checked: Checked) -> str:
        """Tell that this call waits; the entry of an approvals file that would allow it."""
        call = checked.call
        assert checked.asked is not None
        entry = self._gate.paste(call, self._gate.policy.asked(call.tool, checked.resources), checked.asked.rule)
        decision = _with_unanswered(checked, checked.asked)
        self.note(checked, False, decision)
        self._recorder.emit(
            PermissionAsked(
                tool_name=call.tool,
                tool_use_id=call.id,
                decision_reason=decision.rule.why,
                rule=decision.rule.where,
                source=decision.rule.source,
                resource=decision.resource.name if decision.resource else call.tool,
                approval=entry,
            )
        )
        return entry


def _subject(checked: Checked, decision: Decision) -> str:
    """What of a call a decision is about."""
    resource = decision.resource
    if resource is None:
        return f"on {checked.call.tool}"
    if resource.kind == "path" and any(each.cwd == resource.name for each in checked.resources):
        return f"in the directory {resource.name}, where the command would start,"
    return f"on {resource.name}"


def _with_unanswered(checked: Checked, decision: Decision) -> Decision:
    """The decision as it is told to people: an ask says why the approvals file does not answer it."""
    if decision.decide != "ask" or not checked.unanswered:
        return decision
    rule = decision.rule
    why = f"{rule.why}; {checked.unanswered}"
    return Decision(decision.decide, RuleRef(rule.source, rule.where, why), decision.resource)


def _hook_rule(word: HookWord) -> RuleRef:
    return RuleRef(HOOK, word.who or HOOK, word.message or "a hook says so")


def told_bug(recorder: Recorder, call: Call) -> Outcome:
    """The outcome of a call that raised what no tool may raise; the journal gets the traceback."""
    recorder.record(Noted("traceback", f"{call.key} {call.tool}\n{traceback.format_exc()}"))
    return err(ErrorCode.INTERNAL, f"{call.tool} failed by a fault of remit itself; the journal holds the details")

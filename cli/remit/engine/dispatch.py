"""The one gate. Every call of every tool travels here: checked one by one in order, executed together,
settled in call order."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec

from remit.base.calls import Call, Decision, Outcome, RuleRef, err
from remit.base.errors import INTERRUPTED, SIGINT_EXIT, BudgetSpent, ErrorCode, Failure, Refused, RemitError, Stopped
from remit.base.events import ApprovalUsed, Notice, PermissionAsked, PermissionDenied
from remit.base.ports import Approval, Approvals, Client, ClientWord, HookWord, Outputs, Policy, World
from remit.base.records import (
    CallChanged,
    CallChecked,
    CallExpanded,
    CallSettled,
    CallsPending,
    CallStarted,
    Noted,
    UserSaid,
)
from remit.base.resources import Effect, Resource
from remit.base.spec import RunSpec
from remit.engine.context import CallContext
from remit.engine.hooks import HOOK, SILENT, HookList
from remit.engine.loops import Rounds
from remit.engine.order import QUIET_EFFECTS, Order
from remit.engine.recorder import Recorder
from remit.engine.showing import Clip
from remit.tools.contract import Part, Tool

MAX_PARALLEL = 8
CLIENT = "client"
"""Who answered an ask, in the journal."""

MIN_RESULT_BYTES = 1000
MAX_RESULT_BYTES = 1 << 30

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


class Hands(Protocol):
    """Builds the grants of one call from exactly the resources policy saw."""

    def context(
        self, call: Call, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None
    ) -> CallContext: ...


class Paste(Protocol):
    """Writes a pending ask as an entry of an approvals file."""

    def __call__(self, call: Call, resources: Sequence[Resource], rule: RuleRef) -> str: ...


class Checked(msgspec.Struct):
    """A call after the gate. `outcome` is set when it ends without running, `joined` when its outcome is made of
    those of its parts, which come before it."""

    call: Call
    tool: Tool | None = None
    params: Any = None
    resources: tuple[Resource, ...] = ()
    outcome: Outcome | None = None
    asked: Decision | None = None
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


class Dispatch:
    """Runs calls. tools: those the model is offered, harness tools included. withheld: ticked tools that
    it is not offered, and why. batch_bytes: what all results of one turn together may take of the
    model's context window, None where that is unknown. outputs: keeps what the model is not shown, None
    where it has no tool to read that."""

    def __init__(
        self,
        spec: RunSpec,
        tools: Mapping[str, Tool],
        withheld: Mapping[str, RuleRef],
        gate: Gate,
        hands: Hands,
        recorder: Recorder,
        *,
        batch_bytes: int | None = None,
        outputs: Outputs | None = None,
    ) -> None:
        self._spec = spec
        self._batch_bytes = batch_bytes
        self._clip = Clip(outputs, recorder.cleaned)
        self._tools = tools
        self._withheld = withheld
        self._gate = gate
        self._hands = hands
        self._recorder = recorder
        self._slots = asyncio.Semaphore(MAX_PARALLEL)
        self.client: Client | None = None
        """Who is asked where no approvals file answers."""
        self.hooks = HookList()
        self._told: list[str] = []
        self._halt: str | None = None

    async def perform(self, calls: Sequence[Call]) -> None:
        """Take the calls of one turn to their outcomes. Raises Refused when the run has to stop on
        one of them, BudgetSpent when there were more calls than the budget holds."""
        checked: list[Checked] = []
        rounds = Rounds(self._recorder.state.history)
        self._told, self._halt = [], None
        words = await self._hear(calls)
        for call, word in zip(calls, words, strict=True):
            checked += await self._take(call, rounds, len(checked), word)
        checked = await self._ask_client(checked)
        self._stop_on_ask(checked)
        self._stop_on_refusal(checked)
        await self._execute(checked)
        self._tell_hooks()
        for each in checked:
            if each.spent is not None:
                raise each.spent

    def _share(self, calls: int) -> int:
        """Bytes of each result where a turn has that many calls."""
        return max(MIN_RESULT_BYTES, self._batch_bytes // calls) if self._batch_bytes else MAX_RESULT_BYTES

    async def perform_one(self, tool: Tool, call: Call) -> Outcome:
        """A call of the harness itself (a check of the task): same gate, no transcript."""
        checked = self._judge(call, tool)
        self._stop_on_ask([checked])
        outcome, seconds = await self._run(checked)
        self._recorder.record(self._settled(checked, outcome, seconds, MAX_RESULT_BYTES))
        if checked.refused and self._spec.on_deny == "fail":
            raise _refused(outcome)
        return outcome

    # -- check ---------------------------------------------------------------------------------

    async def _take(self, call: Call, rounds: Rounds, ahead: int, word: HookWord) -> list[Checked]:
        """The call, after those of its parts that have no outcome. ahead: calls of the turn before it."""
        return await self._expand(self._afforded(call, ahead, lambda: self._check(call, rounds, word)), ahead)

    async def _expand(self, whole: Checked, ahead: int) -> list[Checked]:
        checked: list[Checked] = []
        if whole.tool is not None and whole.outcome is None and whole.asked is None:
            parts = whole.tool.expand(whole.params)
            whole.joined = bool(parts)
            opened = self._parts(whole.call, parts)
            words = await self._hear([each for each, _ in opened])
            for number, ((each, part), word) in enumerate(zip(opened, words, strict=True), 1):
                checked.append(self._afforded(each, ahead + number, partial(self._check_part, each, part, word)))
        return [*checked, whole]

    def _parts(self, call: Call, parts: Sequence[Part]) -> list[tuple[Call, Part]]:
        """The calls that a call is made of and that have no outcome yet."""
        opened = self._recorder.state.opened(call.key)
        assert opened is not None
        if parts and not opened.parts:
            calls = [
                Call(f"{call.key}.b{number}", f"{call.id}.b{number}", part.tool, part.arguments, call.id)
                for number, part in enumerate(parts, 1)
            ]
            self._recorder.expand(CallExpanded(call.key, tuple(calls)), call.id)
        return [
            (each.call, part) for each, part in zip(opened.parts.values(), parts, strict=True) if each.settled is None
        ]

    def _check_part(self, call: Call, part: Part, word: HookWord) -> Checked:
        if part.problem:
            return Checked(call, outcome=err(ErrorCode.INVALID_ARGUMENTS, part.problem))
        return self._find(call, word)

    def _afforded(self, call: Call, ahead: int, check: Callable[[], Checked]) -> Checked:
        """A call that is checked, if there is budget for it."""
        try:
            self._recorder.state.ledger.before_call(ahead)
        except BudgetSpent as spent:
            return Checked(call, outcome=err(ErrorCode.BUDGET_SPENT, spent.what), spent=spent)
        return check()

    def _check(self, call: Call, rounds: Rounds, word: HookWord) -> Checked:
        tool = self._tools.get(call.tool)
        length = rounds.circle(call)
        if length and not (tool is not None and tool.bounds_repeats):
            return self._repeated(call, length)
        return self._find(call, word)

    def _find(self, call: Call, word: HookWord) -> Checked:
        tool = self._tools.get(call.tool)
        if tool is None and call.tool in self._withheld:
            return self._not_offered(call, self._withheld[call.tool])
        if tool is None:
            return Checked(call, outcome=err(ErrorCode.UNKNOWN_TOOL, self._unknown(call.tool)))
        if word.arguments is not None:
            self._recorder.record(CallChanged(call.key, word.arguments, HOOK))
            call = msgspec.structs.replace(call, arguments=word.arguments)
        return self._judge(call, tool, word)

    def _repeated(self, call: Call, length: int) -> Checked:
        """A call that the model made twice in the same way, with the same result, is not made a third time."""
        what = "this very call was made twice" if length == 1 else f"the last {length} calls were made twice"
        message = f"{what} with the same result, so it is not made again: use the result, or try something else"
        self._recorder.record(Noted("loop", f"{call.key} {call.tool}: {what} with the same result"), sync=False)
        self._recorder.emit(Notice(kind="loop", text=f"{call.tool} ({call.key}) is not run: {what}, same result"))
        return Checked(call, outcome=err(ErrorCode.REPEATED_CALL, message))

    def _judge(self, call: Call, tool: Tool, word: HookWord = SILENT) -> Checked:
        try:
            params = tool.parse(call.arguments)
            resources = tuple(tool.resources(params, self._gate.world))
        except Failure as failure:
            return self._unfit(Checked(call, tool), failure)
        except Exception:
            # A tool that breaks before policy has spoken is refused, never let through.
            return Checked(call, tool, outcome=self._bug(call))
        checked = Checked(call, tool, params, resources)
        decision = self._decide(tool, resources)
        if word.decide == "deny" and decision.decide != "deny":
            self._hooked(checked, word)
            return checked
        if word.decide == "ask" and decision.decide == "auto":
            decision = Decision("ask", _hook_rule(word), decision.resource)
        if decision.decide == "auto":
            self._note_check(checked, True, decision)
        elif decision.decide == "deny":
            checked.outcome = self._denied(checked, decision, ErrorCode.DENIED)
        elif word.decide == "allow":
            checked.approved = decision.rule
            self._note_check(checked, True, decision, HOOK)
        else:
            self._answer(checked, decision)
        return checked

    def _not_offered(self, call: Call, rule: RuleRef) -> Checked:
        """A ticked tool that the model was not offered, because its every call would be refused: so it is."""
        message = f"{call.tool} is not offered in this run: {rule.why}; go on without it and say so"
        checked = Checked(call, outcome=err(ErrorCode.DENIED, message))
        self._refuse(checked, Decision("deny", rule), message)
        return checked

    def _unfit(self, checked: Checked, failure: Failure) -> Checked:
        """Arguments that no rule is asked about: they make no sense, or name what no tool may touch,
        which is a refusal of the floor."""
        checked.outcome = err(failure.code, failure.message)
        if failure.code in FLOOR_REFUSALS:
            rule = RuleRef("floor", "built in", failure.message)
            self._refuse(checked, Decision("deny", rule), failure.message)
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
            self._note_check(checked, True, decision, earlier)
            return
        approval = self._approval(checked)
        if approval is not None:
            self._approved(checked, decision, approval)
        elif self._gate.asks and (self.client is not None or self._spec.on_ask == "stop"):
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
            self._note_check(checked, True, decision, approval.where)
            return
        rule = RuleRef("approval", approval.where, approval.why)
        checked.outcome = self._denied(
            checked, Decision("deny", rule, decision.resource), ErrorCode.DENIED, approval.where
        )

    def _note_check(self, checked: Checked, allowed: bool, decision: Decision, approval: str = "") -> None:
        call = checked.call
        record = CallChecked(call.key, call.id, call.tool, allowed, decision, checked.resources, approval)
        self._recorder.record(record, sync=not checked.quiet)

    def _denied(self, checked: Checked, decision: Decision, code: ErrorCode, approval: str = "") -> Outcome:
        call, rule = checked.call, decision.rule
        what = decision.resource.name if decision.resource else call.tool
        if code is ErrorCode.DENIED:
            message = f"{call.tool} on {what} is denied: {rule.why} [{rule.source} {rule.where}]"
        else:
            approvals = self._gate.approvals
            missing = approvals.why_not(call.tool, checked.resources) if approvals else ""
            message = (
                f"{call.tool} on {what} needs an approval that nobody gave: {rule.why} [{rule.source} {rule.where}]"
            )
            message += f"; {missing}" if missing else ""
        if self._recorder.state.opened(call.key) is not None:
            # For the model: a check of the task is read by people.
            message += ". Do not repeat this call; go on without it and say so in your answer."
        self._refuse(checked, decision, message, approval)
        return err(code, message)

    def _refuse(self, checked: Checked, decision: Decision, message: str, approval: str = "") -> None:
        """Write a refusal down and tell it."""
        checked.refused = True
        self._note_check(checked, False, decision, approval)
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

    def _stop_on_ask(self, checked: Sequence[Checked]) -> None:
        """`on_ask: stop`: no further call of this turn runs; each ask is told with its entry to paste."""
        asked = [each for each in checked if each.asked is not None]
        if not asked:
            return
        entries = tuple(self._told_ask(each) for each in asked)
        held = tuple(each.call.key for each in checked if each.asked is None)
        self._recorder.record(CallsPending(tuple(each.call.key for each in asked), held, entries))
        names = ", ".join(sorted({each.call.tool for each in asked}))
        raise Refused(
            f"stopped: {len(asked)} call(s) wait for an approval ({names})",
            hint="answer them in an approvals file and go on with `remit resume RUN -a FILE`",
            kind="asked",
        )

    def _told_ask(self, checked: Checked) -> str:
        """Tell that this call waits; the entry of an approvals file that would allow it."""
        call, decision = checked.call, checked.asked
        assert decision is not None
        self._note_check(checked, False, decision)
        entry = self._gate.paste(call, self._gate.policy.asked(call.tool, checked.resources), decision.rule)
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

    def _stop_on_refusal(self, checked: Sequence[Checked]) -> None:
        """`on_deny: fail`: the first refusal ends the run before anything else of the turn runs."""
        if self._spec.on_deny != "fail":
            return
        for each in checked:
            if each.refused and each.outcome is not None:
                self._settle(each, each.outcome, 0.0, MAX_RESULT_BYTES)
                raise _refused(each.outcome)

    # -- the client ----------------------------------------------------------------------------

    async def _ask_client(self, checked: list[Checked]) -> list[Checked]:
        """Have the client answer what nobody else did, all its questions open at once; then those calls with their
        parts. Raises Stopped when it wants the prompt to end."""
        client = self.client
        asked = [each for each in checked if each.asked is not None]
        if client is None or not asked:
            return checked
        words = await asyncio.gather(*(client.may_use(each.call, each.asked) for each in asked if each.asked))
        for each, word in zip(asked, words, strict=True):
            self._heed(each, word)
        for each, word in zip(asked, words, strict=True):
            if word.interrupt and each.outcome is not None:
                self._settle(each, each.outcome, 0.0, MAX_RESULT_BYTES)
                raise Stopped("interrupted by the client", SIGINT_EXIT, kind=INTERRUPTED)
        settled = {id(each) for each in asked}
        expanded: list[Checked] = []
        for each in checked:
            expanded += await self._expand(each, len(checked)) if id(each) in settled else [each]
        return await self._ask_client(expanded)

    def _heed(self, checked: Checked, word: ClientWord) -> None:
        """Do as the client says. Changed arguments make another call, which the rules see again."""
        decision, checked.asked = checked.asked, None
        assert decision is not None
        if word.allow and word.arguments is not None and checked.tool is not None:
            self._recorder.record(CallChanged(checked.call.key, word.arguments, CLIENT))
            changed = msgspec.structs.replace(checked.call, arguments=word.arguments)
            again = self._judge(changed, checked.tool)
            for name in checked.__struct_fields__:
                setattr(checked, name, getattr(again, name))
            if checked.asked is None:
                return
            decision, checked.asked = checked.asked, None
        if word.allow:
            checked.approved = decision.rule
            self._note_check(checked, True, decision, CLIENT)
            return
        self._refuse(checked, decision, word.message, CLIENT)
        checked.outcome = err(ErrorCode.DENIED, word.message)

    # -- hooks ---------------------------------------------------------------------------------

    async def _hear(self, calls: Sequence[Call]) -> Sequence[HookWord]:
        """What hooks say of these calls, all asked at once. Of a tool that is not offered they hear nothing."""
        if not self.hooks:
            return [SILENT] * len(calls)
        words = await asyncio.gather(*(self._hear_one(call) for call in calls))
        for word in words:
            self._heed_hook(word)
        return words

    async def _hear_one(self, call: Call) -> HookWord:
        return await self.hooks.before_call(call) if call.tool in self._tools else SILENT

    def _heed_hook(self, word: HookWord) -> None:
        """Keep what is to be told to the model, or to end the prompt, once the turn is over."""
        self._told += [word.context] if word.context else []
        self._halt = word.stop if self._halt is None else self._halt

    def _hooked(self, checked: Checked, word: HookWord) -> None:
        """A hook refuses the call."""
        message = word.message or f"a hook refused {checked.call.tool}"
        rule = _hook_rule(word)
        self._refuse(checked, Decision("deny", rule), message)
        checked.outcome = err(ErrorCode.DENIED, message)

    async def _tell_after(self, checked: Checked, outcome: Outcome, seconds: float) -> None:
        if self.hooks:
            word = await self.hooks.after_call(checked.call, outcome, outcome.for_model(), seconds)
            self._heed_hook(word)
            self._told += [word.message] if word.decide == "deny" and word.message else []

    def _tell_hooks(self) -> None:
        """At the end of a turn: what hooks add for the model. Raises Refused when one of them ends the prompt."""
        if self._told:
            self._recorder.say(UserSaid("\n".join(self._told), True, HOOK, joined=True))
        stop, self._told, self._halt = self._halt, [], None
        if stop is not None:
            raise hook_stop(stop)

    # -- execute -------------------------------------------------------------------------------

    async def _execute(self, checked: Sequence[Checked]) -> None:
        """Readers share, writers are alone per resource; outcomes are settled in call order."""
        running: list[tuple[Checked, asyncio.Task[tuple[Outcome, float]] | None]] = []
        order = Order()
        share = self._share(max(1, sum(not each.call.parent for each in checked)))
        began = self._recorder.clock.monotonic()
        stop: RemitError | None = None
        try:
            for each in checked:
                running.append((each, None if each.joined else self._begin(each, order)))
            for each, task in running:
                if task is None:
                    self._settle_joined(each, self._recorder.clock.monotonic() - began, share)
                    continue
                try:
                    outcome, seconds = await task
                except RemitError as error:
                    # The limit or the disk ended this call and ends the run; its siblings finish first.
                    stop = stop or error
                    outcome, seconds = err(_code(error), self._why(each.call, error)), 0.0
                self._settle(each, outcome, seconds, MAX_RESULT_BYTES if each.call.parent else share)
        finally:
            await _cancel_all([task for _, task in running if task is not None])
        if stop is not None:
            raise stop

    def _why(self, call: Call, error: RemitError) -> str:
        """What the model reads of a call that ends the run: an agent it started can be taken up again."""
        jobs = self._recorder.state.jobs.values()
        return next((job.text for job in jobs if job.key == call.key and job.text), error.what)

    def _begin(self, checked: Checked, order: Order) -> asyncio.Task[tuple[Outcome, float]]:
        end = asyncio.Event()
        before = order.add(checked.resources if checked.outcome is None else (), end)
        return asyncio.create_task(self._in_order(checked, before, end))

    async def _in_order(
        self, checked: Checked, before: Sequence[asyncio.Event], end: asyncio.Event
    ) -> tuple[Outcome, float]:
        try:
            for other in before:
                await other.wait()
            if checked.outcome is not None:
                return checked.outcome, 0.0
            if checked.tool is not None and Effect.AGENT in checked.tool.effects:
                # Agents have a limit of their own, and would keep other calls waiting for long.
                return await self._run(checked)
            async with self._slots:
                return await self._run(checked)
        finally:
            end.set()

    async def _run(self, checked: Checked) -> tuple[Outcome, float]:
        """One call under its grants and bounds. Expected failures become outcomes; a bug becomes
        `internal` for the model and a traceback in the journal."""
        if checked.outcome is not None:
            return checked.outcome, 0.0
        call, tool = checked.call, checked.tool
        assert tool is not None
        self._recorder.record(CallStarted(call.key), sync=not checked.quiet)
        context = self._hands.context(call, tool, checked.resources, checked.approved)
        began = self._recorder.clock.monotonic()
        try:
            async with asyncio.timeout(tool.bounds.seconds):
                outcome = await tool.run(checked.params, context)
        except Failure as failure:
            outcome = err(failure.code, failure.message)
        except TimeoutError:
            outcome = err(ErrorCode.TIMEOUT, f"{tool.name} did not end within {tool.bounds.seconds:g} s")
        except RemitError:
            raise
        except OSError as problem:
            outcome = err(ErrorCode.IO_ERROR, f"{tool.name}: {problem.strerror or problem}")
        except Exception:
            outcome = self._bug(call)
        finally:
            context.cancel()
        seconds = self._recorder.clock.monotonic() - began
        await self._tell_after(checked, outcome, seconds)
        return outcome, seconds

    def _bug(self, call: Call) -> Outcome:
        self._recorder.record(Noted("traceback", f"{call.key} {call.tool}\n{traceback.format_exc()}"))
        return err(ErrorCode.INTERNAL, f"{call.tool} failed by a fault of remit itself; the journal holds the details")

    # -- settle --------------------------------------------------------------------------------

    def _settle(self, checked: Checked, outcome: Outcome, seconds: float, max_bytes: int) -> None:
        self._recorder.settle(self._settled(checked, outcome, seconds, max_bytes), sync=not checked.quiet)

    def _settle_joined(self, checked: Checked, seconds: float, max_bytes: int) -> None:
        """A call whose parts have their outcomes."""
        opened, tool = self._recorder.state.opened(checked.call.key), checked.tool
        assert opened is not None and tool is not None
        results = [part.settled for part in opened.parts.values() if part.settled is not None]
        outcome = tool.join(checked.params, results, min(tool.bounds.output_bytes, max_bytes))
        self._settle(checked, outcome, seconds, max_bytes)

    def _settled(self, checked: Checked, outcome: Outcome, seconds: float, max_bytes: int) -> CallSettled:
        """What is kept is what the model is sent: whole characters, within its bounds."""
        call, tool = checked.call, checked.tool
        producer = tool.producer(checked.params) if tool and checked.params is not None else call.tool
        shown = self._clip.show(call, tool, producer, outcome, max_bytes, sync=not checked.quiet)
        took = round(seconds, 6)
        return CallSettled(call.key, call.id, call.tool, shown.outcome, shown.content, took, call.parent, shown.output)

    def _unknown(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, list(self._tools), 1)
        guess = f"; did you mean {close[0]}?" if close else ""
        return f"there is no tool {name[:80]!r}; the tools are: {', '.join(sorted(self._tools)) or 'none'}{guess}"


def hook_stop(reason: str) -> Refused:
    """A hook ends the prompt."""
    return Refused(f"a hook ended the prompt: {reason or 'it gave no reason'}", kind="hook_stopped")


def _hook_rule(word: HookWord) -> RuleRef:
    return RuleRef(HOOK, word.who or HOOK, word.message or "a hook says so")


def _refused(outcome: Outcome) -> Refused:
    what = outcome.error.message if outcome.error else "a call was refused"
    return Refused(what, hint="on_deny is `fail`", kind="denied")


def _code(error: RemitError) -> ErrorCode:
    """Of a call that ends the run."""
    kinds = {BudgetSpent: ErrorCode.BUDGET_SPENT, Refused: ErrorCode.DENIED, Stopped: ErrorCode.CANCELLED}
    return next((code for kind, code in kinds.items() if isinstance(error, kind)), ErrorCode.IO_ERROR)


async def _cancel_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

"""The one gate. Every call of every tool travels here: checked one by one in order, executed together,
settled in call order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from remit.base.calls import Call, Outcome, RuleRef, err
from remit.base.errors import INTERRUPTED, SIGINT_EXIT, BudgetSpent, ErrorCode, Refused, Stopped
from remit.base.events import Notice
from remit.base.ports import Client, ClientWord, HookWord, Outputs
from remit.base.records import CallChanged, CallExpanded, Noted
from remit.base.spec import RunSpec
from remit.engine.execution import MAX_RESULT_BYTES, Execution, Hands
from remit.engine.heard import Heard
from remit.engine.hooks import HOOK, HookList
from remit.engine.judging import Checked, Gate, Judge
from remit.engine.loops import Rounds
from remit.engine.recorder import Recorder
from remit.tools.contract import Part, Tool

CLIENT = "client"
"""Who answered an ask, in the journal."""


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
        self._tools = tools
        self._withheld = withheld
        self._recorder = recorder
        self._heard = Heard(tools, recorder)
        self._judge = Judge(gate, recorder, lambda: gate.asks and (self.client is not None or spec.on_ask == "stop"))
        self._execution = Execution(hands, self._heard, recorder, batch_bytes, outputs)
        self.client: Client | None = None
        """Who is asked where no approvals file answers."""

    @property
    def hooks(self) -> HookList:
        return self._heard.hooks

    async def perform(self, calls: Sequence[Call]) -> None:
        """Take the calls of one turn to their outcomes. Raises Refused when the run has to stop on
        one of them, BudgetSpent when there were more calls than the budget holds."""
        checked: list[Checked] = []
        rounds = Rounds(self._recorder.state.history)
        self._heard.begin()
        words = await self._heard.hear(calls)
        for call, word in zip(calls, words, strict=True):
            checked += await self._take(call, rounds, len(checked), word)
        checked = await self._ask_client(checked)
        self._judge.stop_on_ask(checked)
        self._stop_on_refusal(checked)
        await self._execution.run_all(checked)
        self._heard.tell()
        for each in checked:
            if each.spent is not None:
                raise each.spent

    async def perform_one(self, tool: Tool, call: Call) -> Outcome:
        """A call of the harness itself (a check of the task): same gate, no transcript."""
        checked = self._judge.judge(call, tool)
        self._judge.stop_on_ask([checked])
        outcome, seconds = await self._execution.run(checked)
        self._recorder.record(self._execution.settled(checked, outcome, seconds, MAX_RESULT_BYTES))
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
            words = await self._heard.hear([each for each, _ in opened])
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
            return self._judge.not_offered(call, self._withheld[call.tool])
        if tool is None:
            return Checked(call, outcome=err(ErrorCode.UNKNOWN_TOOL, self._unknown(call.tool)))
        if word.arguments is not None:
            self._recorder.record(CallChanged(call.key, word.arguments, HOOK))
            call = msgspec.structs.replace(call, arguments=word.arguments)
        return self._judge.judge(call, tool, word)

    def _repeated(self, call: Call, length: int) -> Checked:
        """A call that the model made twice in the same way, with the same result, is not made a third time."""
        what = "this very call was made twice" if length == 1 else f"the last {length} calls were made twice"
        message = f"{what} with the same result, so it is not made again: use the result, or try something else"
        self._recorder.record(Noted("loop", f"{call.key} {call.tool}: {what} with the same result"), sync=False)
        self._recorder.emit(Notice(kind="loop", text=f"{call.tool} ({call.key}) is not run: {what}, same result"))
        return Checked(call, outcome=err(ErrorCode.REPEATED_CALL, message))

    def _stop_on_refusal(self, checked: Sequence[Checked]) -> None:
        """`on_deny: fail`: the first refusal ends the run before anything else of the turn runs."""
        if self._spec.on_deny != "fail":
            return
        for each in checked:
            if each.refused and each.outcome is not None:
                self._execution.settle(each, each.outcome, 0.0, MAX_RESULT_BYTES)
                raise _refused(each.outcome)

    # -- the client ----------------------------------------------------------------------------

    async def _ask_client(self, checked: list[Checked]) -> list[Checked]:
        """Have the client answer what nobody else did, all its questions open at once; then those calls with their
        parts. Raises Stopped when it wants the prompt to end."""
        client = self.client
        asked = [each for each in checked if each.asked is not None]
        if client is None or not asked:
            return checked
        await self._heard.asked([each.call for each in asked])
        words = await asyncio.gather(*(client.may_use(each.call, each.asked) for each in asked if each.asked))
        for each, word in zip(asked, words, strict=True):
            self._heed(each, word)
        for each, word in zip(asked, words, strict=True):
            if word.interrupt and each.outcome is not None:
                self._execution.settle(each, each.outcome, 0.0, MAX_RESULT_BYTES)
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
            again = self._judge.judge(changed, checked.tool)
            for name in checked.__struct_fields__:
                setattr(checked, name, getattr(again, name))
            if checked.asked is None:
                return
            decision, checked.asked = checked.asked, None
        if word.allow:
            checked.approved = decision.rule
            self._judge.note(checked, True, decision, CLIENT)
            return
        self._judge.refuse(checked, decision, word.message, CLIENT)
        checked.outcome = err(ErrorCode.DENIED, word.message)

    def _unknown(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, list(self._tools), 1)
        guess = f"; did you mean {close[0]}?" if close else ""
        return f"there is no tool {name[:80]!r}; the tools are: {', '.join(sorted(self._tools)) or 'none'}{guess}"


def _refused(outcome: Outcome) -> Refused:
    what = outcome.error.message if outcome.error else "a call was refused"
    return Refused(what, hint="on_deny is `fail`", kind="denied")

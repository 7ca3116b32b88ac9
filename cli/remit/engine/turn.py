"""One question to the model: its answer arrives as parts and leaves as one record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

import msgspec

from remit.base.errors import ProviderBusy, ProviderFault
from remit.base.events import ApiRetry, Assistant, ModelFallback, Notice, Status
from remit.base.messages import (
    BlockPart,
    Delta,
    Effort,
    Message,
    Part,
    Request,
    RetryPart,
    StopPart,
    Usage,
    UsagePart,
)
from remit.base.records import Answered, Noted, TurnStarted, Unanswered
from remit.engine.answer import Answer, AnswerBlock, wire_block, wire_usage
from remit.engine.foreign_calls import Taken, as_made
from remit.engine.models import Model
from remit.engine.partial import PartialAnswer
from remit.engine.recorder import Recorder
from remit.engine.shelf import Shelf
from remit.engine.sight import Sight

MAX_EMPTY_CUTS = 3
"""Answers in a row that broke off before anything worth keeping had come."""

_FALLBACK_KINDS = frozenset({"network", "quota", "cut"})
"""With every ProviderBusy: failures of this model that say nothing of the next one. A wrong key or name is
the user's to mend, and a request that is refused as it stands would be refused again."""


Heard = Callable[[AnswerBlock, Usage], None]
"""Told each block of an answer as it is finished, and the usage as far as it is known by then."""


class Asker:
    """Asks the first model that can be asked, with the transcript as it stands.

    models: the run's own, then those to fall back on. shelf: the tools of its requests. effort: how much it should
    think. cache_key: the same for all requests of the conversation. partial: answers are told as they come. ours: as in
    Answer."""

    def __init__(
        self,
        models: Sequence[Model],
        system: str,
        shelf: Shelf,
        recorder: Recorder,
        *,
        effort: Effort | None = None,
        cache_key: str = "",
        partial: bool = False,
        ours: Taken = as_made,
    ) -> None:
        self._models = list(models)
        self._system = system
        self._shelf = shelf
        self._recorder = recorder
        self.effort = effort
        self._ours = ours
        self._partial = partial
        self._telling: PartialAnswer | None = None
        self._cache_key = cache_key
        self._sight = Sight()
        self._coming = Answer(0, ())
        self._held: tuple[int, AnswerBlock, Usage, Heard] | None = None

    @property
    def model(self) -> Model:
        """The model that is asked next."""
        return self._models[0]

    @property
    def models(self) -> Sequence[Model]:
        """That model and those to fall back on."""
        return tuple(self._models)

    @property
    def overhead(self) -> int:
        """Bytes of a request beside its messages."""
        return len(self._system.encode("utf-8", "replace")) + self._shelf.size

    def use(self, models: Sequence[Model]) -> None:
        """From the next request on, these."""
        self._models = list(models)

    async def ask(self, elapsed: float) -> None:
        """One request and its answer. Raises BudgetSpent before it is sent, ProviderFault."""
        recorder, state = self._recorder, self._recorder.state
        state.ledger.before_request()
        self._shelf.fill()
        turn = state.turn + 1
        recorder.record(TurnStarted(turn, round(elapsed, 3)), sync=False)
        began = recorder.clock.monotonic()
        self._coming = Answer(turn, state.call_ids)
        try:
            self._keep(await self._answer(turn), turn, began)
        except asyncio.CancelledError:
            self._end_partial(self._coming)
            # Stopped by a signal or the deadline: what had come was paid for, and a resume goes on from it.
            if self._kept(self._coming, turn, "the run was stopped while the model answered"):
                self._keep(self._coming, turn, began)
            else:
                self.lose(state.messages, self._coming)
            raise
        for limit in state.ledger.overspent():
            text = f"the answer went over the limit {limit}; nothing more is asked"
            recorder.emit(Notice(kind="budget", text=text))

    def _keep(self, answer: Answer, turn: int, began: float) -> None:
        """Write an answer down."""
        assert answer.stop is not None
        usage, estimated = self.usage(self._recorder.state.messages, answer)
        self._recorder.record(
            Answered(
                turn=turn,
                model=self.model.id,
                message=answer.message(self.model.id),
                usage=usage,
                stop=answer.stop,
                seconds=round(self._recorder.clock.monotonic() - began, 3),
                cost=self.model.cost(usage),
                estimated=estimated,
            )
        )

    def lose(self, messages: Sequence[Message], answer: Answer) -> None:
        """Book what an answer took of which nothing is kept. messages: what was asked."""
        if not answer.began:
            return
        answer.cut()
        usage, estimated = self.usage(messages, answer)
        if usage.total():
            cost = self.model.cost(usage)
            self._recorder.record(Unanswered(self.model.id, usage, 0.0, cost, estimated), sync=False)

    async def complete(
        self,
        messages: Sequence[Message],
        answer: Answer,
        heard: Heard | None = None,
        *,
        tools: bool = True,
    ) -> None:
        """Ask with these messages and take the answer in; `heard` is told each block as it is finished.

        Raises ProviderFault, of kind `cut` when the answer has no end. Nothing is recorded but retries."""
        request = Request(
            self.model.provider.model,
            self._system,
            self._sight.seen_by(self.model.spec, messages),
            self._shelf.specs if tools else (),
            effort=self.effort,
            cache_key=self._cache_key,
        )
        try:
            async with aclosing(self.model.provider.stream(request)) as parts:  # type: ignore[type-var]
                async for part in parts:
                    if not isinstance(part, UsagePart):
                        self._let_go(answer.usage if isinstance(part, StopPart) else None)
                    self._take(part, messages, answer, heard)
        finally:
            self._let_go(answer.usage)
        if answer.stop is None:
            what = "the model's answer ended without saying why"
            raise ProviderFault(what, hint="the server closed the stream early", kind="cut")

    def usage(self, messages: Sequence[Message], answer: Answer) -> tuple[Usage, bool]:
        """The usage as told; where a server tells none, an estimate, so that a cap still caps. messages:
        what was asked."""
        if not self.model.metered or answer.usage.total():
            return answer.usage, False
        if not self._recorder.state.estimated:
            text = "the server tells no usage; tokens are estimated from the length of the texts, the cost is not known"
            self._recorder.emit(Notice(kind="usage", text=text))
        asked = sum(len(msgspec.json.encode(part)) for part in (self._system, messages, self._shelf.specs))
        return Usage(_tokens(asked), _tokens(len(msgspec.json.encode(answer.blocks)))), True

    # -- the answer ----------------------------------------------------------------------------

    async def _answer(self, turn: int) -> Answer:
        """An answer worth keeping, from the first model that gives one."""
        state, cuts = self._recorder.state, 0
        while True:
            self._coming = answer = Answer(turn, state.call_ids, self._ours)
            self._begin_partial(turn)
            try:
                await self.complete(state.messages, answer, lambda block, usage: self._tell_block(block, turn, usage))
                return answer
            except ProviderFault as fault:
                failed = fault
            finally:
                self._end_partial(answer)
            if failed.kind == "cut" and self._kept(answer, turn, failed.what):
                return answer
            self.lose(state.messages, answer)
            if failed.kind == "cut":
                cuts += 1
                if cuts < MAX_EMPTY_CUTS:
                    self._retry(RetryPart(cuts, MAX_EMPTY_CUTS - 1, 0.0, None, f"cut: {failed.what}"))
                    continue
            if not self._fall_back(failed):
                raise failed
            cuts = 0

    def _kept(self, answer: Answer, turn: int, why: str) -> bool:
        """Whether what came of an answer that broke off is worth keeping; then it is told."""
        added = answer.cut()
        if not answer.is_worth_keeping():
            return False
        for block in added:
            self._tell_block(block, turn, answer.usage)
        text = f"the answer broke off; what had come is kept, and the run goes on from there ({why})"
        self._recorder.record(Noted("repair", text), sync=False)
        self._recorder.emit(Notice(kind="cut", text=text))
        return True

    def _take(
        self,
        part: Part,
        messages: Sequence[Message],
        answer: Answer,
        heard: Heard | None,
    ) -> None:
        match part:
            case Delta():
                answer.grow(part)
                if self._telling is not None and heard is not None:
                    self._telling.grow(part)
            case BlockPart():
                block = answer.add(part)
                self._tell_repairs(answer)
                if heard is not None:
                    self._held = part.index, block, answer.usage, heard
            case UsagePart(usage=usage):
                answer.usage = usage
            case StopPart(reason=reason):
                answer.stop = reason
            case RetryPart():
                # What the failed attempt told of its usage was for that one alone.
                self.lose(messages, answer)
                answer.usage = Usage()
                if self._telling is not None and heard is not None:
                    self._telling.again()
                self._retry(part)

    def _let_go(self, usage: Usage | None) -> None:
        """Tell the block that waits: the usage of an answer often comes right behind its last block. usage: at the end
        of the answer, None before that."""
        if self._held is None:
            return
        (index, block, then, heard), self._held = self._held, None
        heard(block, then if usage is None else usage)
        if self._telling is not None:
            self._telling.end_block(index, block)

    def _tell_repairs(self, answer: Answer) -> None:
        while answer.renamed:
            self._recorder.record(Noted("renamed", answer.renamed.pop()), sync=False)
        while answer.repairs:
            text = answer.repairs.pop()
            self._recorder.record(Noted("repair", text), sync=False)
            self._recorder.emit(Notice(kind="repair", text=text))

    def _tell_block(self, block: AnswerBlock, turn: int, usage: Usage) -> None:
        line = Assistant(
            message={
                "id": f"msg_{turn}",
                "type": "message",
                "role": "assistant",
                "model": self.model.provider.model,
                "content": [wire_block(block)],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": wire_usage(usage),
            },
            timestamp=self._recorder.timestamp(),
        )
        self._recorder.emit(line)

    def _begin_partial(self, turn: int) -> None:
        if self._partial:
            self._recorder.emit(Status(status="requesting"))
            self._telling = PartialAnswer(self._recorder.emit, f"msg_{turn}", self.model.provider.model)

    def _end_partial(self, answer: Answer) -> None:
        if self._telling is not None:
            self._telling.end(answer.stop or "cut", answer.usage)
            self._telling = None

    # -- other ways ----------------------------------------------------------------------------

    def _fall_back(self, fault: ProviderFault) -> bool:
        """Go on with the next model, for the rest of this process, if there is one and it could help."""
        helps = isinstance(fault, ProviderBusy) or fault.kind in _FALLBACK_KINDS
        if not helps or len(self._models) == 1:
            return False
        lost = self._models.pop(0)
        text = f"{lost.id} cannot be asked ({fault.what}); {self.model.id} is asked from here on"
        self._recorder.record(Noted("fallback", text), sync=False)
        self._recorder.emit(
            ModelFallback(
                trigger=fault.kind, original_model=lost.id, fallback_model=self.model.id, content=str(fault.what)
            )
        )
        return True

    def _retry(self, part: RetryPart) -> None:
        self._recorder.record(Noted("retry", f"{part.status or ''} {part.error}".strip()), sync=False)
        self._recorder.emit(
            ApiRetry(
                attempt=part.attempt,
                max_retries=part.max_retries,
                retry_delay_ms=round(part.delay * 1000),
                error_status=part.status,
                error=part.error,
            )
        )


def _tokens(size: int) -> int:
    """Roughly the tokens of so many bytes of text: four to one is the usual ratio for English."""
    return max(1, size // 4)

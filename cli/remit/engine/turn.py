"""One question to the model: its answer arrives as parts and leaves as one record."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing

import msgspec

from remit.base.errors import ProviderFault
from remit.base.events import ApiRetry, Assistant, Notice
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Delta,
    Message,
    Part,
    Request,
    RetryPart,
    StopPart,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
    Usage,
    UsagePart,
)
from remit.base.model_json import decode_json
from remit.base.ports import Provider
from remit.base.records import Answered, Noted, TurnStarted
from remit.base.spec import Price
from remit.base.text import scrub
from remit.engine.recorder import Recorder

AnswerBlock = TextBlock | ThinkingBlock | CallBlock


class _Answer(msgspec.Struct):
    """What has arrived of an answer."""

    blocks: list[AnswerBlock] = msgspec.field(default_factory=list)
    call_ids: set[str] = msgspec.field(default_factory=set)
    usage: Usage = msgspec.field(default_factory=Usage)
    stop: StopReason | None = None


class Asker:
    """Asks the model with the transcript as it stands. metered: its tokens cost something somewhere."""

    def __init__(
        self,
        provider: Provider,
        system: str,
        tools: tuple[ToolSpec, ...],
        prices: Mapping[str, Price],
        recorder: Recorder,
        *,
        metered: bool = True,
    ) -> None:
        self._provider = provider
        self._system = system
        self._tools = tools
        self._price = prices.get(f"{provider.name}/{provider.model}")
        self._recorder = recorder
        self._metered = metered

    async def ask(self, elapsed: float) -> None:
        """One request and its answer. Raises BudgetSpent before it is sent, ProviderFault."""
        recorder, state = self._recorder, self._recorder.state
        state.ledger.before_request()
        turn = state.turn + 1
        recorder.record(TurnStarted(turn, round(elapsed, 3)), sync=False)
        request = Request(self._provider.model, self._system, tuple(state.messages), self._tools)
        began = recorder.clock.monotonic()
        answer = await self._listen(request, turn)
        if answer.stop is None:
            raise ProviderFault(
                "the model's answer ended without saying why",
                hint="the server closed the stream early; `remit resume` asks again",
                kind="cut",
            )
        usage, estimated = self._usage(request, answer)
        recorder.record(
            Answered(
                turn=turn,
                model=self._provider.model,
                # An answer without a block is still an answer: every API wants one.
                message=Message("assistant", tuple(answer.blocks) or (TextBlock(""),)),
                usage=usage,
                stop=answer.stop,
                seconds=round(recorder.clock.monotonic() - began, 3),
                usd=self._cost(usage),
                estimated=estimated,
            )
        )
        for limit in state.ledger.overspent():
            text = f"the answer went over the limit {limit}; nothing more is asked"
            recorder.emit(Notice(kind="budget", text=text))

    def _usage(self, request: Request, answer: _Answer) -> tuple[Usage, bool]:
        """The usage as told; where a server tells none, an estimate, so that a cap still caps."""
        if not self._metered or answer.usage.total():
            return answer.usage, False
        if not self._recorder.state.estimated:
            text = "the server tells no usage; tokens are estimated from the length of the texts, the cost is not known"
            self._recorder.emit(Notice(kind="usage", text=text))
        asked = sum(len(msgspec.json.encode(part)) for part in (request.system, request.messages, request.tools))
        return Usage(_tokens(asked), _tokens(len(msgspec.json.encode(answer.blocks)))), True

    async def _listen(self, request: Request, turn: int) -> _Answer:
        answer = _Answer()
        async with aclosing(self._provider.stream(request)) as parts:  # type: ignore[type-var]
            async for part in parts:
                self._take(part, answer, turn)
        return answer

    def _take(self, part: Part, answer: _Answer, turn: int) -> None:
        match part:
            case BlockPart(block=block):
                whole = self._whole(block, answer, turn)
                answer.blocks.append(whole)
                self._recorder.emit(self._line(whole, turn))
            case UsagePart(usage=usage):
                answer.usage = usage
            case StopPart(reason=reason):
                answer.stop = reason
            case RetryPart():
                self._retry(part)
            case Delta():
                pass

    def _whole(self, block: AnswerBlock, answer: _Answer, turn: int) -> AnswerBlock:
        """The block as it is kept: text that every API takes back, and a call id like no other."""
        if isinstance(block, TextBlock):
            return TextBlock(scrub(block.text))
        if isinstance(block, ThinkingBlock):
            return block
        call_id = scrub(block.id)
        if not call_id or call_id in answer.call_ids or call_id in self._recorder.state.call_ids:
            call_id = f"call_{turn}_{len(answer.blocks) + 1}"
        answer.call_ids.add(call_id)
        return CallBlock(call_id, scrub(block.tool), scrub(block.arguments))

    def _line(self, block: AnswerBlock, turn: int) -> Assistant:
        return Assistant(
            message={
                "id": f"msg_{turn}",
                "type": "message",
                "role": "assistant",
                "model": self._provider.model,
                "content": [wire_block(block)],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
            timestamp=self._recorder.timestamp(),
        )

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

    def _cost(self, usage: Usage) -> float | None:
        price = self._price
        if price is None:
            return None
        cached = price.input if price.cache_read is None else price.cache_read
        written = price.input if price.cache_write is None else price.cache_write
        millionths = (
            usage.input * price.input
            + usage.output * price.output
            + usage.cache_read * cached
            + usage.cache_write * written
        )
        return millionths / 1_000_000


def _tokens(size: int) -> int:
    """Roughly the tokens of so many bytes of text: four to one is the usual ratio for English."""
    return max(1, size // 4)


def wire_block(block: AnswerBlock) -> dict[str, object]:
    """A block in the stream's shape. Arguments that are no JSON object are shown as they came."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ThinkingBlock):
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return {"type": "tool_use", "id": block.id, "name": block.tool, "input": wire_input(block.arguments)}


def wire_input(arguments: str) -> dict[str, object]:
    """Arguments as an object; `__unparsedToolInput` holds what is none."""
    try:
        value = decode_json(arguments or "{}")
    except msgspec.DecodeError:
        value = None
    if isinstance(value, dict):
        return value
    return {"__unparsedToolInput": {"raw": arguments, "len": len(arguments)}}

"""Keeps the transcript within the model's context window: old results go first, then whole turns, for a summary."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

import msgspec

from remit.base.errors import ProviderFault
from remit.base.events import Status
from remit.base.messages import Block, CallBlock, ImageBlock, Message, ResultBlock, StopReason, TextBlock
from remit.base.records import Compacted, Pruned
from remit.base.spec import Compaction
from remit.base.text import clip
from remit.engine.answer import Answer
from remit.engine.prompt import COMPACT_PROMPT, OPENING_MARK
from remit.engine.recorder import Recorder
from remit.engine.surroundings import environment_text
from remit.engine.turn import Asker

RESERVE = 0.2
RESERVE_OUTPUT_OUTSIDE = 0.1
"""Shares of the window that stay free: where the answer counts against it, and where it does not."""

BYTES_PER_TOKEN = 3
"""On the safe side: English has four, code and other languages less."""

IMAGE_TOKENS = 1600
KEPT_TOKENS = 15_000
"""At most, of recent turns that stay as they are; and at most a quarter of the window."""

PRUNE_KEEPS_TOKENS = 40_000
PRUNE_MIN_TOKENS = 20_000
PRUNE_MIN_BYTES = 500
PRUNE_KEEPS_MESSAGES = 2
NEVER_PRUNED = frozenset({"tool_output", "skill"})

CUT_SUMMARY = "[the summary was cut here, at the model's output limit]"

MAX_OVERFLOWS = 4
"""Refusals of one transcript as too long that may be answered with a shorter one."""

LEARNED_SHARE = 0.75
"""Of a transcript that the server refused as too long: the window, where nobody told a smaller one."""


class Window:
    """Asks within the context window. compaction: whether and how early."""

    def __init__(self, asker: Asker, recorder: Recorder, compaction: Compaction) -> None:
        self._asker = asker
        self._recorder = recorder
        self._compaction = compaction
        self._learned: int | None = None
        self.may_compact: Callable[[], Awaitable[bool]] = _always
        """Whether the transcript may be summed up now."""

    async def ask(self, elapsed: float) -> None:
        """One request and its answer; room is made before the window ends, and once more when the
        server refuses the transcript as too long. Raises BudgetSpent, ProviderFault."""
        await self._make_room("auto")
        for attempt in range(MAX_OVERFLOWS + 1):
            try:
                await self._asker.ask(elapsed)
                return
            except ProviderFault as fault:
                if fault.kind != "context_overflow" or not self._compaction.enabled or attempt == MAX_OVERFLOWS:
                    raise
                overflow = fault
            self._learn()
            # Turns are summed up once; results can be cut again while nobody knows how small the window is.
            made = attempt == 0 and await self._make_room("overflow")
            if not made and not self._cut_last_results():
                raise overflow

    # -- how full it is ------------------------------------------------------------------------

    def tokens(self) -> int:
        """An estimate of the transcript's tokens: what the last usage told, and the length of what came since."""
        state = self._recorder.state
        known = state.measured or self._asker.overhead // BYTES_PER_TOKEN
        return known + sum(map(_tokens, state.messages[state.measured_at :]))

    def shares(self) -> tuple[int, int]:
        """`tokens` as they divide, by the lengths of both: system prompt and tools, and messages."""
        total, standing = self.tokens(), self._asker.overhead // BYTES_PER_TOKEN
        said = sum(map(_tokens, self._recorder.state.messages))
        first = total * standing // (standing + said) if standing + said else 0
        return first, total - first

    def _size(self) -> int | None:
        """Tokens of the window, None where nobody knows."""
        known = [size for size in (self._asker.model.spec.context_window, self._learned) if size]
        return min(known, default=None)

    def _limit(self, size: int) -> int:
        """Tokens the transcript may have when the model is asked."""
        reserve = self._compaction.reserve
        if reserve is None:
            reserve = RESERVE if self._asker.model.spec.output_in_window else RESERVE_OUTPUT_OUTSIDE
        return int(size * (1 - reserve)) if reserve < 1 else max(size - int(reserve), size // 4)

    def _learn(self) -> None:
        """The server's window is smaller than what it was just sent."""
        self._learned = max(1, int(self.tokens() * LEARNED_SHARE))

    # -- making room ---------------------------------------------------------------------------

    async def _make_room(self, trigger: str) -> bool:
        """Whether there was anything to do, and it was done."""
        size = self._size()
        if size is None or not self._compaction.enabled:
            return False
        limit, before = self._limit(size), self.tokens()
        if before <= limit and trigger == "auto":
            return False
        if self._prune(size, before) and self.tokens() <= limit:
            return True
        return await self._compact(size, trigger)

    def _prune(self, size: int, before: int) -> bool:
        """Take the results of long ago out of the transcript, where that frees enough to be worth it."""
        keep, least = min(PRUNE_KEEPS_TOKENS, size // 5), min(PRUNE_MIN_TOKENS, size // 5)
        old: list[ResultBlock] = []
        for block in self._results_backwards():
            keep -= _block_tokens(block)
            if keep < 0:
                old.append(block)
        freed = sum(map(_block_tokens, old))
        if not old or freed < least:
            return False
        call_ids = tuple(block.call_id for block in reversed(old))
        self._recorder.shorten(Pruned(call_ids, before, max(0, before - freed)))
        return True

    def _cut_last_results(self) -> bool:
        """Shorten the results of the last turn, which nothing else may touch, to half of the window. False
        when they are not what is too long."""
        size, last = self._size() or 0, self._recorder.state.messages[-1]
        results = [block for block in last.content if isinstance(block, ResultBlock)]
        keep = size * BYTES_PER_TOKEN // 2 // max(1, len(results))
        long = tuple(block.call_id for block in results if len(block.content.encode()) > keep)
        if not long or keep < PRUNE_MIN_BYTES:
            return False
        before = self.tokens()
        freed = sum(_block_tokens(block) - keep // BYTES_PER_TOKEN for block in results if block.call_id in long)
        self._recorder.shorten(Pruned(long, before, max(0, before - freed), keep))
        return True

    def _results_backwards(self) -> Iterator[ResultBlock]:
        """Results that may be pruned, the newest first."""
        messages = self._recorder.state.messages[:-PRUNE_KEEPS_MESSAGES]
        tools = {call.id: call.tool for message in messages for call in message.calls()}
        for message in reversed(messages):
            for block in reversed(message.content):
                if not isinstance(block, ResultBlock) or tools.get(block.call_id) in NEVER_PRUNED:
                    continue
                if len(block.content) >= PRUNE_MIN_BYTES or block.images:
                    yield block

    async def _compact(self, size: int, trigger: str) -> bool:
        """Let the model sum up the older turns. False when there are none to sum up."""
        state = self._recorder.state
        start = self._kept_from(size)
        if start <= 1 or not await self.may_compact():
            return False
        before, began = self.tokens(), self._recorder.clock.monotonic()
        self._recorder.emit(Status(status="compacting"))
        state.ledger.before_request(turns=False)
        asked = self._summary_request(state.messages[:start], size)
        answer = await self._summary(asked)
        usage, estimated = self._asker.usage(asked, answer)
        seconds = round(self._recorder.clock.monotonic() - began, 3)
        text = answer.message("").text().strip()
        opening = self._opening(f"{text}\n{CUT_SUMMARY}" if answer.stop == "max_tokens" else text, size)
        self._recorder.shorten(
            Compacted(
                opening=opening,
                kept=len(state.messages) - start,
                trigger="overflow" if trigger == "overflow" else "auto",
                model=self._asker.model.id,
                usage=usage,
                seconds=seconds,
                cost=self._asker.model.cost(usage),
                estimated=estimated,
                pre_tokens=before,
                post_tokens=_tokens(opening) + sum(map(_tokens, state.messages[start:])),
            )
        )
        self._recorder.emit(Status(status=None))
        return True

    def _kept_from(self, size: int) -> int:
        """Where the recent turns begin: always at an answer, so that no call is parted from its result."""
        messages, room = self._recorder.state.messages, min(KEPT_TOKENS, size // 4)
        start, used = len(messages), 0
        for index in range(len(messages) - 1, 0, -1):
            used += _tokens(messages[index])
            if messages[index].role != "assistant":
                continue
            if start < len(messages) and used > room:
                break
            start = index
        return start

    async def _summary(self, asked: Sequence[Message]) -> Answer:
        """The summary, by a model that was told not to call tools; without tools where it did all the same."""
        state = self._recorder.state
        last_stop: StopReason | None = None
        for tools in (True, False):
            answer = Answer(state.turn, state.call_ids)
            try:
                await self._asker.complete(asked, answer, tools=tools)
            except BaseException:
                self._asker.lose(asked, answer)
                raise
            cut_twice = answer.stop == last_stop == "max_tokens"
            if answer.message("").text().strip() and (answer.stop in ("end_turn", "tool_use") or cut_twice):
                return answer
            last_stop = answer.stop
            self._asker.lose(asked, answer)
        what = "the transcript is too long for the model, and the model gave no summary of it"
        raise ProviderFault(what, kind="context_overflow", hint="take a model with a larger context window")

    def _summary_request(self, messages: Sequence[Message], size: int) -> tuple[Message, ...]:
        """The older turns as they were sent before, which servers have in their caches, and the question."""
        room = int(size * 0.7) * BYTES_PER_TOKEN
        fitting = tuple(messages) if sum(map(_tokens, messages)) * BYTES_PER_TOKEN <= room else _fitted(messages, room)
        last = fitting[-1]
        return (*fitting[:-1], msgspec.structs.replace(last, content=(*last.content, TextBlock(COMPACT_PROMPT))))

    def _opening(self, summary: str, size: int) -> Message:
        """The prompt as it was given, and the summary."""
        state, quarter = self._recorder.state, size * BYTES_PER_TOKEN // 4
        prompt, _ = clip("\n\n".join(state.prompts), quarter)
        told, _ = clip(summary, quarter)
        texts = [TextBlock(state.instructions)] if state.instructions else []
        texts += [TextBlock(environment_text(state.environment))] if state.environment else []
        return Message("user", (*state.pictures, *texts, TextBlock(prompt), TextBlock(f"{OPENING_MARK}\n\n{told}")))


async def _always() -> bool:
    """Nobody has a word in it."""
    return True


def _fitted(messages: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The messages with their long texts cut, harder until they fit; then without those in the middle."""
    shorter = tuple(messages)
    for bound in (4000, 1000, 300):
        shorter = tuple(_cut(message, bound) for message in messages)
        if sum(map(_tokens, shorter)) * BYTES_PER_TOKEN <= room:
            return shorter
    first, used = shorter[0], _tokens(shorter[0]) * BYTES_PER_TOKEN
    rest: list[Message] = []
    for message in reversed(shorter[1:]):
        used += _tokens(message) * BYTES_PER_TOKEN
        if used > room and rest:
            break
        rest.append(message)
    while rest and rest[-1].role != "assistant":
        rest.pop()
    gap = TextBlock(f"[{len(shorter) - 1 - len(rest)} messages were left out here]")
    return (msgspec.structs.replace(first, content=(*first.content, gap)), *reversed(rest))


def _cut(message: Message, bound: int) -> Message:
    def cut(block: Block) -> Block:
        if isinstance(block, ResultBlock):
            return ResultBlock(block.call_id, clip(block.content, bound)[0], block.is_error)
        if isinstance(block, TextBlock):
            return msgspec.structs.replace(block, text=clip(block.text, 2 * bound)[0])
        return block

    return msgspec.structs.replace(message, content=tuple(map(cut, message.content)))


def _tokens(message: Message) -> int:
    return 4 + sum(map(_block_tokens, message.content))


def _block_tokens(block: Block) -> int:
    if isinstance(block, ImageBlock):
        return IMAGE_TOKENS
    if isinstance(block, ResultBlock):
        return _text_tokens(block.content) + IMAGE_TOKENS * len(block.images)
    if isinstance(block, CallBlock):
        return _text_tokens(block.arguments) + _text_tokens(block.tool)
    return _text_tokens(block.text) + _text_tokens(block.opaque)


def _text_tokens(text: str) -> int:
    return 2 + (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) // BYTES_PER_TOKEN

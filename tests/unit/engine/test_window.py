"""The context window: when room is made, what leaves the transcript, and what must never leave it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fakes.engine import USAGE, Desk, Talker, calls, model, says
from remit.base.calls import Call, Retained, done
from remit.base.errors import BudgetSpent, ProviderFault
from remit.base.events import CompactBoundary, Status
from remit.base.limits import Limits
from remit.base.messages import (
    CallBlock,
    Cost,
    ImageBlock,
    Message,
    Request,
    ResultBlock,
    TextBlock,
    Usage,
)
from remit.base.records import Answered, CallExpanded, CallSettled, Compacted, Pruned, Unanswered, UserSaid
from remit.base.spec import Compaction, Price
from remit.engine.prompt import COMPACT_PROMPT, OPENING_MARK
from remit.engine.turn import Asker
from remit.engine.window import CUT_SUMMARY, Window

SUMMARY = "# Objective\nCount the lamps."
OVERFLOW = ProviderFault("prompt is too long", kind="context_overflow")


def size(request: Request) -> int:
    """Tokens of a request as these tests count them: a token for every four characters of content."""
    return sum(len(str(block)) for message in request.messages for block in message.content) // 4


def is_summary(request: Request) -> bool:
    return request.messages[-1].text().endswith(COMPACT_PROMPT)


class Model:
    """Calls a tool every turn, sums up when it is asked to, and refuses what is larger than its window."""

    def __init__(self, window: int | None = None, *, tells: bool = True) -> None:
        self.window = window
        self.tells = tells
        self.turn = 0
        self.requests: list[Request] = []
        self.summaries = 0
        self.summary = SUMMARY

    def __call__(self, request: Request) -> Any:
        self.requests.append(request)
        if self.window is not None and size(request) > self.window:
            return [OVERFLOW]
        usage = Usage(size(request), 10) if self.tells else Usage()
        if is_summary(request):
            self.summaries += 1
            return says(self.summary, usage=usage)
        self.turn += 1
        return calls((f"c{self.turn}", "read", '{"path": "a"}'), usage=usage)


class Talk:
    """A run of turns: each is one question and the result of its call."""

    def __init__(
        self,
        answer: Callable[[Request], Any],
        *,
        compaction: Compaction | None = None,
        limits: Limits | None = None,
        **facts: Any,
    ) -> None:
        self.desk = Desk("Count the lamps in every file.", limits=limits or Limits(turns=None))
        self.talker = Talker(answer)
        price = facts.pop("price", None)
        asker = Asker(
            [model(self.talker, price, **facts)],
            "Be brief.",
            self.desk.shelf,
            self.desk.recorder,
        )
        self.window = Window(asker, self.desk.recorder, compaction or Compaction())

    def go(self, turns: int, result: str) -> None:
        async def run() -> None:
            for number in range(turns):
                await self.window.ask(0.0)
                self.desk.settle(f"{number} {result}")

        asyncio.run(run())

    @property
    def compacted(self) -> list[Compacted]:
        return [record for record in self.desk.book.records if isinstance(record, Compacted)]

    @property
    def pruned(self) -> list[Pruned]:
        return [record for record in self.desk.book.records if isinstance(record, Pruned)]


def is_sound(request: Request) -> None:
    """Roles take turns, and results answer the calls of the message before them, all of them."""
    messages = request.messages
    assert [m.role for m in messages] == ["user" if i % 2 == 0 else "assistant" for i in range(len(messages))]
    assert messages[-1].role == "user"
    for before, message in zip((Message("user", ()), *messages), messages, strict=False):
        results = [block.call_id for block in message.content if isinstance(block, ResultBlock)]
        assert results == [call.id for call in before.calls()]


@pytest.mark.parametrize("tells", [True, False], ids=["usage told", "usage estimated"])
def test_a_long_talk_stays_within_its_window_and_keeps_its_task(tells: bool) -> None:
    answer = Model(window=4000, tells=tells)
    talk = Talk(answer, context_window=4000)
    talk.go(100, "lamp " * 60)
    assert answer.turn == 100 and talk.compacted and all(size(each) <= 4000 for each in answer.requests)
    for request in answer.requests:
        is_sound(request)
        assert "Count the lamps in every file." in request.messages[0].text()
    assert talk.desk.book.read().messages == talk.desk.state.messages


def test_nothing_happens_while_there_is_room() -> None:
    answer = Model()
    talk = Talk(answer, context_window=1_000_000)
    talk.go(30, "lamp " * 100)
    assert not talk.compacted and not talk.pruned and answer.summaries == 0


def test_a_window_nobody_knows_is_never_made_room_in() -> None:
    talk = Talk(Model())
    talk.go(50, "lamp " * 1000)
    assert not talk.compacted and not talk.pruned


def test_room_can_be_switched_off() -> None:
    talk = Talk(Model(window=2000), compaction=Compaction(enabled=False), context_window=2000)
    with pytest.raises(ProviderFault) as caught:
        talk.go(50, "lamp " * 100)
    assert caught.value is OVERFLOW and not talk.compacted and not talk.pruned


@pytest.mark.parametrize(("reserve", "share"), [(None, 0.8), (0.5, 0.5), (1000.0, 0.75)])
def test_the_reserve_says_how_early(reserve: float | None, share: float) -> None:
    """The transcript is let grow up to its share of the window, and no further."""
    answer = Model()
    talk = Talk(answer, compaction=Compaction(reserve=reserve), context_window=4000)
    talk.go(60, "lamp " * 60)
    first = next(index for index, request in enumerate(answer.requests) if is_summary(request))
    before = size(answer.requests[first - 1])
    assert share * 4000 - 400 <= before <= share * 4000
    assert all(size(request) <= share * 4000 + 400 for request in answer.requests)


def test_an_answer_that_does_not_count_against_the_window_needs_less_reserve() -> None:
    inside, outside = Model(), Model()
    Talk(inside, context_window=4000).go(40, "lamp " * 60)
    Talk(outside, context_window=4000, output_in_window=False).go(40, "lamp " * 60)
    largest = [max(map(size, each.requests)) for each in (inside, outside)]
    assert largest[0] <= 3300 < largest[1] <= 3700


# -- the summary -------------------------------------------------------------------------------------


def test_a_summary_stands_for_the_older_turns_and_the_recent_ones_stay() -> None:
    answer = Model()
    talk = Talk(answer, context_window=4000, price=Price(1.0, 2.0))
    while not talk.compacted:
        talk.go(1, "lamp " * 60)
    [record] = talk.compacted
    at = next(index for index, request in enumerate(answer.requests) if is_summary(request))
    before, asked, after = answer.requests[at - 1 : at + 2]
    # What is summed up was sent before, word for word, so that the server has it in its cache.
    start = len(asked.messages) - 1
    assert asked.messages[:start] == before.messages[:start] and asked.tools == before.tools
    assert asked.messages[-1].content[:-1] == before.messages[start].content
    assert record.trigger == "auto" and record.kept == len(after.messages) - 1 > 1
    recent = before.messages[start + 1 :]
    assert after.messages[1 : 1 + len(recent)] == recent and len(recent) >= 1
    opening = after.messages[0]
    assert opening.content[0] == TextBlock("Count the lamps in every file.")
    assert opening.content[1].text == f"{OPENING_MARK}\n\n{SUMMARY}"
    assert after.messages[1].role == "assistant"
    assert [event.status for event in talk.desk.heard.of(Status)] == ["compacting", None]
    facts = talk.desk.heard.of(CompactBoundary)[-1].compact_metadata
    assert (facts["trigger"], facts["done"]) == ("auto", "summary") and facts["post_tokens"] < facts["pre_tokens"]
    # It is booked like an answer, and is no turn.
    assert record.usage.output == 10 and record.cost == Cost(record.usage.input / 1e6, 20 / 1e6)
    assert talk.desk.state.counts["compactions"] == 1 and talk.desk.state.turn == answer.turn
    assert talk.desk.state.model_usage["talker/m"].requests == answer.turn + 1


def test_a_second_summary_takes_the_first_one_in() -> None:
    answer = Model()
    talk = Talk(answer, context_window=4000)
    while len(talk.compacted) < 2:
        talk.go(1, "lamp " * 60)
    second = [request for request in answer.requests if is_summary(request)][1]
    assert SUMMARY in second.messages[0].text()
    opening = talk.desk.state.messages[0]
    assert opening.text().count("Count the lamps in every file.") == 1 and opening.text().count(OPENING_MARK) == 1


def test_pictures_of_the_prompt_stay() -> None:
    answer = Model()
    talk = Talk(answer, context_window=8000)
    talk.desk = Desk(limits=Limits(turns=None))
    picture = ImageBlock("image/png", "aGk=")
    talk.desk.recorder.record(UserSaid("What is in it?", images=(picture,)))
    asker = Asker(
        [model(talk.talker, context_window=8000)],
        "",
        talk.desk.shelf,
        talk.desk.recorder,
    )
    talk.window = Window(asker, talk.desk.recorder, Compaction())
    while not talk.compacted:
        talk.go(1, "lamp " * 60)
    assert talk.desk.state.messages[0].content[:2] == (picture, TextBlock("What is in it?"))


def test_a_model_that_calls_tools_instead_of_summing_up_is_asked_without_tools() -> None:
    answer, seen = Model(), []

    def stubborn(request: Request) -> Any:
        if is_summary(request):
            seen.append(request.tools)
            if len(seen) == 1:
                return calls(("x", "read", "{}"), usage=Usage(5, 5))
        return answer(request)

    talk = Talk(stubborn, context_window=4000)
    while not talk.compacted:
        talk.go(1, "lamp " * 60)
    assert len(seen) == 2 and seen[1] == () and SUMMARY in talk.desk.state.messages[0].text()
    assert not any(call.id == "x" for message in talk.desk.state.messages for call in message.calls())


@pytest.mark.parametrize("stop", ["refusal", "max_tokens"])
def test_half_a_summary_is_asked_for_again_and_a_refusal_is_none(stop: Any) -> None:
    answer, summaries = Model(), 0

    def odd(request: Request) -> Any:
        nonlocal summaries
        if is_summary(request):
            summaries += 1
            return says("no", usage=Usage(50, 5), stop=stop)
        return answer(request)

    talk = Talk(odd, context_window=4000)
    if stop == "refusal":
        with pytest.raises(ProviderFault, match="no summary"):
            talk.go(60, "lamp " * 60)
        assert not talk.compacted and summaries == 2
    else:
        while not talk.compacted:
            talk.go(1, "lamp " * 60)
        assert talk.desk.state.messages[0].text().endswith(f"no\n{CUT_SUMMARY}") and summaries == 2
    lost = [record for record in talk.desk.book.records if isinstance(record, Unanswered)]
    assert [record.usage for record in lost] == [Usage(50, 5)] * (2 if stop == "refusal" else 1)


def test_a_model_that_gives_no_summary_ends_the_run_and_says_so() -> None:
    answer = Model()
    answer.summary = "  "
    talk = Talk(answer, context_window=4000)
    with pytest.raises(ProviderFault) as caught:
        talk.go(60, "lamp " * 60)
    assert (
        caught.value.kind == "context_overflow" and "no summary" in caught.value.what and "larger" in caught.value.hint
    )


def test_a_summary_spends_of_the_same_ledger_and_is_held_by_its_caps() -> None:
    talk = Talk(Model(), context_window=4000, limits=Limits(turns=None, tokens=20_000))
    with pytest.raises(BudgetSpent) as caught:
        talk.go(60, "lamp " * 60)
    assert caught.value.limit == "tokens" and talk.desk.state.ledger.tokens >= 20_000


def test_a_huge_summary_is_cut_to_a_quarter_of_the_window() -> None:
    answer = Model()
    answer.summary = "\U0001f525" * 50_000
    talk = Talk(answer, context_window=4000)
    while not talk.compacted:
        talk.go(1, "lamp " * 60)
    told = talk.desk.state.messages[0].content[1].text
    assert len(told.encode()) <= 3200 and "left out" in told and "\ufffd" not in told


# -- overflow ----------------------------------------------------------------------------------------


def test_a_server_that_refuses_the_transcript_is_asked_once_more_with_less() -> None:
    answer = Model(window=3000)
    talk = Talk(answer)
    talk.go(60, "lamp " * 60)
    assert answer.turn == 60 and talk.compacted
    assert all(record.trigger == "overflow" for record in talk.compacted[:1])
    assert sum(size(request) > 3000 for request in answer.requests) <= 2, (
        "a window is learned, not found out every time"
    )


def test_a_window_that_is_smaller_than_told_is_learned() -> None:
    answer = Model(window=2000)
    talk = Talk(answer, context_window=100_000)
    talk.go(40, "lamp " * 60)
    assert answer.turn == 40 and talk.compacted[0].trigger == "overflow"


def test_a_prompt_that_is_too_long_by_itself_is_the_servers_refusal() -> None:
    talk = Talk(lambda request: [OVERFLOW], context_window=4000)
    with pytest.raises(ProviderFault) as caught:
        talk.go(1, "x")
    assert caught.value is OVERFLOW and len(talk.talker.asked) == 1


@pytest.mark.parametrize("many", [1, 2, 6])
def test_results_of_one_turn_that_are_larger_than_the_window_are_cut(many: int) -> None:
    """Nobody told the window, and the very first results overflow it: there is nothing older to make room with."""
    turn = 0

    def answer(request: Request) -> Any:
        nonlocal turn
        is_sound(request)
        if size(request) > 4000:
            return [OVERFLOW]
        turn += 1
        if turn == 2:
            return says("Done.", usage=Usage(size(request), 5))
        return calls(*((f"c{index}", "read", "{}") for index in range(many)), usage=Usage(size(request), 5))

    talk = Talk(answer)
    talk.go(1, "lamp " * (12_000 // many))
    talk.go(1, "")
    assert turn == 2 and not talk.compacted and talk.pruned[0].keep_bytes > 500
    results = [block for block in talk.desk.state.messages[2].content if isinstance(block, ResultBlock)]
    assert len(results) == many and all("left out" in block.content for block in results)
    assert talk.desk.book.read().messages == talk.desk.state.messages


def test_one_refusal_after_room_was_made_is_final() -> None:
    refused: list[Request] = []
    answer = Model()

    def refusing(request: Request) -> Any:
        if answer.turn >= 20 and not is_summary(request):
            refused.append(request)
            return [OVERFLOW]
        return answer(request)

    talk = Talk(refusing)
    with pytest.raises(ProviderFault):
        talk.go(60, "lamp " * 60)
    assert len(refused) == 2 and len(talk.compacted) == 1


# -- pruning -----------------------------------------------------------------------------------------


def test_old_results_go_before_turns_do() -> None:
    """A window that results fill: pruning alone makes the room, and no summary is asked for."""
    answer = Model()
    talk = Talk(answer, context_window=200_000)
    while not talk.pruned and answer.turn < 80:
        talk.go(1, "lamp " * 6000)
    [record] = talk.pruned
    assert not talk.compacted and record.call_ids[0] == "c1"
    contents = {
        block.call_id: block.content
        for message in talk.desk.state.messages
        for block in message.content
        if isinstance(block, ResultBlock)
    }
    gone = {name for name, content in contents.items() if "was removed to make room" in content}
    assert gone == set(record.call_ids) and "result of read, 3" in contents["c1"]
    kept = [name for name in contents if name not in gone]
    # The newest 40,000 tokens stay: by three bytes to a token four results of 30,000 bytes.
    assert [f"c{answer.turn - back}" for back in range(len(kept) - 1, -1, -1)] == kept and 4 <= len(kept) <= 6
    assert talk.desk.book.read().messages == talk.desk.state.messages
    is_sound(answer.requests[-1])
    facts = talk.desk.heard.of(CompactBoundary)[-1].compact_metadata
    assert facts["done"] == "pruned" and talk.desk.state.counts["pruned"] == len(record.call_ids)


def test_results_that_can_be_had_in_no_other_way_are_never_pruned() -> None:
    turn = 0

    def answer(request: Request) -> Any:
        nonlocal turn
        if is_summary(request):
            return says(SUMMARY, usage=Usage(size(request), 5))
        turn += 1
        return calls((f"c{turn}", "tool_output", "{}"), usage=Usage(size(request), 5))

    talk = Talk(answer, context_window=50_000)
    talk.go(60, "lamp " * 1000)
    assert talk.compacted and not talk.pruned


@pytest.mark.parametrize("keep", [0, 600])
@pytest.mark.parametrize("handles", [(), ("output-ls",), ("output-ls", "output-cat")])
def test_what_is_shortened_says_where_it_is_kept(handles: tuple[str, ...], keep: int) -> None:
    """A result whose parts, or which itself, the run keeps whole."""
    desk = Desk("go")
    desk.recorder.record(
        Answered(1, "m", Message("assistant", (CallBlock("c1", "batch", "{}"),)), USAGE, "tool_use", 0.1)
    )
    parts = tuple(Call(f"t1.c1.b{n}", f"c1.b{n}", "ls", "{}", "c1") for n, _ in enumerate(handles, 1))
    desk.recorder.record(CallExpanded("t1.c1", parts))
    for part, handle in zip(parts, handles, strict=True):
        output = Retained(handle, 9, 1, "")
        desk.recorder.record(CallSettled(part.key, part.id, "ls", done({}), "x", parent="c1", output=output))
    desk.recorder.record(CallSettled("t1.c1", "c1", "batch", done({}), "lamp " * 1000))
    desk.recorder.record(Pruned(("c1",), 2000, 100, keep))
    shown = desk.state.messages[-1].content[0]
    assert isinstance(shown, ResultBlock)
    where = {0: "", 1: "tool_output has it whole", 2: "tool_output has its longer parts whole"}[len(handles)]
    assert where in shown.content and all(handle in shown.content for handle in handles)
    assert ("call it again if it is needed" in shown.content) is (not handles and not keep)
    assert len(shown.content) <= (keep or 200)
    assert desk.book.read().messages == desk.state.messages


# -- the prefix --------------------------------------------------------------------------------------


def test_consecutive_requests_share_their_messages_as_they_are() -> None:
    answer = Model()
    talk = Talk(answer, context_window=4000)
    talk.go(60, "lamp " * 60)
    broken = 0
    for before, after in zip(answer.requests, answer.requests[1:], strict=False):
        shared = len(before.messages)
        if is_summary(before) or is_summary(after):
            continue
        same = all(one is other for one, other in zip(before.messages, after.messages, strict=False))
        broken += not (same and len(after.messages) == shared + 2)
        assert (before.system, before.tools) == (after.system, after.tools)
    assert broken == len(talk.pruned)


def test_a_call_and_its_result_are_never_parted() -> None:
    """Several calls a turn, of several sizes."""
    turn = 0

    def answer(request: Request) -> Any:
        nonlocal turn
        is_sound(request)
        if is_summary(request):
            return says(SUMMARY, usage=Usage(size(request), 5))
        turn += 1
        many = [(f"c{turn}.{index}", "read", '{"path": "a"}') for index in range(1 + turn % 3)]
        return calls(*many, usage=Usage(size(request), 5))

    talk = Talk(answer, context_window=6000)
    for round_ in range(12):
        talk.go(7, "lamp " * (20 + 30 * (round_ % 4)))
    assert len(talk.compacted) >= 3
    assert not any(isinstance(block, CallBlock) for block in talk.desk.state.messages[-1].content)


def test_turns_are_summed_up_only_where_that_may_be() -> None:
    asked: list[int] = []

    async def never() -> bool:
        asked.append(len(talk.desk.state.messages))
        return False

    answer = Model(window=2000)
    talk = Talk(answer, context_window=2000)
    talk.window.may_compact = never
    with pytest.raises(ProviderFault):
        talk.go(100, "lamp " * 60)
    assert asked and not talk.compacted and answer.summaries == 0

"""One question: what is kept of an answer, when it is asked again, and who is asked instead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from fakes.engine import Desk, Talker, calls, model, says
from remit.base.errors import ProviderBusy, ProviderFault
from remit.base.events import ApiRetry, Assistant, ModelFallback, Notice
from remit.base.messages import (
    BlockPart,
    CallBlock,
    Cost,
    Delta,
    ImageBlock,
    Message,
    Part,
    Request,
    ResultBlock,
    RetryPart,
    StopPart,
    TextBlock,
    ThinkingBlock,
    Usage,
    UsagePart,
)
from remit.base.records import Answered, Noted, Unanswered
from remit.base.spec import Price, PriceTier
from remit.engine.models import Model, cost_of
from remit.engine.sight import NOTE, Sight
from remit.engine.turn import MAX_EMPTY_CUTS, Asker

CUT = ProviderFault("broke off", kind="cut")
BUSY = ProviderBusy("come back later", kind="rate_limited", reset_at="2030-01-01T00:00:00Z")


def in_turn(*replies: Iterable[Any]) -> Any:
    left = iter(replies)
    return lambda request: next(left)


def asked(desk: Desk, *models: Model, times: int = 1, **keys: Any) -> Asker:
    asker = Asker(list(models), "Be brief.", desk.shelf, desk.recorder, **keys)

    async def ask() -> None:
        for _ in range(times):
            await asker.ask(0.0)

    asyncio.run(ask())
    return asker


def answers(desk: Desk) -> list[Answered]:
    return [record for record in desk.book.records if isinstance(record, Answered)]


def test_an_answer_is_booked_with_its_model_and_price() -> None:
    desk = Desk("hi")
    usage = Usage(1000, 200, 3000, 400)
    price = Price(3.0, 15.0, cache_read=0.3, cache_write=3.75)
    asked(desk, model(Talker(in_turn(says("Hello.", usage=usage))), price), effort="high", cache_key="k")
    [answer] = answers(desk)
    assert answer.model == "talker/m" and answer.message.origin == "talker/m"
    assert answer.cost == Cost(0.003, 0.003, 0.0009, 0.0015) and not answer.estimated
    assert desk.state.ledger.usd == pytest.approx(0.0084) and desk.state.ledger.usd_known
    used = desk.state.model_usage["talker/m"]
    assert (used.requests, used.usage, used.cost, used.cost_known) == (1, usage, answer.cost, True)


def test_a_model_without_a_price_makes_the_sum_unknown_and_counts_tokens() -> None:
    desk = Desk("hi")
    asked(desk, model(Talker(in_turn(says("Hello.")))))
    assert answers(desk)[0].cost is None and not desk.state.ledger.usd_known and desk.state.ledger.tokens == 15
    assert not desk.state.model_usage["talker/m"].cost_known


@pytest.mark.parametrize(("asked_tokens", "rate"), [(200_000, 1.0), (200_001, 2.0), (500_000, 2.0), (500_001, 4.0)])
def test_long_requests_have_their_own_price(asked_tokens: int, rate: float) -> None:
    tiers = (PriceTier(500_000, 4.0, 8.0), PriceTier(200_000, 2.0, 4.0, cache_read=0.2))
    price = Price(1.0, 2.0, cache_read=0.1, tiers=tiers)
    cost = cost_of(Usage(input=1000, output=1000, cache_read=asked_tokens - 1000), price)
    assert cost.input == pytest.approx(1000 * rate / 1e6) and cost.output == pytest.approx(2000 * rate / 1e6)
    assert cost.cache_read == pytest.approx((asked_tokens - 1000) * (0.1 * rate if rate < 4 else rate) / 1e6)


# -- answers that break off --------------------------------------------------------------------------


def test_the_text_of_an_answer_that_broke_off_is_kept_up_to_its_last_character() -> None:
    desk = Desk("hi")
    thought = [Delta(0, "thinking", "hm"), BlockPart(0, ThinkingBlock("hm", "sig"))]
    parts = [*thought, Delta(1, "text", "Hel"), Delta(1, "text", "lo"), CUT]
    asked(desk, model(Talker(in_turn(parts))))
    [answer] = answers(desk)
    assert answer.stop == "cut" and answer.message.content == (ThinkingBlock("hm", "sig"), TextBlock("Hello"))
    assert answer.estimated and desk.state.counts["cut"] == 1
    told = [event.message["content"][0] for event in desk.heard.of(Assistant)]
    assert [block["type"] for block in told] == ["thinking", "text"] and told[1]["text"] == "Hello"
    assert [event.kind for event in desk.heard.of(Notice)] == ["cut", "usage"]


def test_whole_calls_of_an_answer_that_broke_off_are_kept_and_half_ones_are_not() -> None:
    desk = Desk("hi")
    parts = [BlockPart(0, CallBlock("a", "t", "{}")), Delta(1, "call", '{"x":', "b", "t"), UsagePart(Usage(7, 3)), CUT]
    asked(desk, model(Talker(in_turn(parts))))
    assert answers(desk)[0].message.content == (CallBlock("a", "t", "{}"),)
    assert list(desk.state.open) == ["t1.c1"] and desk.state.usage == Usage(7, 3)


@pytest.mark.parametrize(
    "parts",
    [
        [CUT],
        [Delta(0, "text", " \n"), CUT],
        [BlockPart(0, ThinkingBlock("hm")), CUT],
        [Delta(0, "call", '{"x":', "b", "t"), CUT],
        [BlockPart(0, ThinkingBlock("hm"))],
    ],
)
def test_an_answer_of_which_nothing_came_is_asked_for_again(parts: list[Any]) -> None:
    desk = Desk("hi")
    talker = Talker(in_turn(parts, says("Hello.")))
    asked(desk, model(talker))
    assert answers(desk)[0].message.text() == "Hello." and len(talker.asked) == 2
    assert talker.asked[0] == talker.asked[1]
    [retry] = desk.heard.of(ApiRetry)
    assert (retry.attempt, retry.max_retries) == (1, MAX_EMPTY_CUTS - 1) and retry.error.startswith("cut: ")
    assert [record.kind for record in desk.book.records if isinstance(record, Noted)] == ["retry"]


def test_an_answer_that_never_comes_ends_the_question() -> None:
    desk = Desk("hi")
    talker = Talker(lambda request: [CUT])
    with pytest.raises(ProviderFault) as caught:
        asked(desk, model(talker))
    assert caught.value.kind == "cut" and len(talker.asked) == MAX_EMPTY_CUTS and not answers(desk)


# -- what was paid for nothing --------------------------------------------------------------------------


def booked(desk: Desk) -> list[Unanswered]:
    return [record for record in desk.book.records if isinstance(record, Unanswered)]


def test_what_a_lost_answer_took_is_booked() -> None:
    """Usage told before the cut counts; where none was told it is estimated, and the sum is said to be unknown."""
    desk = Desk("hi")
    told = [UsagePart(Usage(5000, 1)), Delta(0, "call", '{"x":', "b", "t"), CUT]
    price = Price(1.0, 1.0)
    asked(desk, model(Talker(in_turn(told, [Delta(0, "call", "{", "b", "t"), CUT], says("Hello."))), price))
    first, second = booked(desk)
    assert (first.usage, first.estimated, first.cost) == (Usage(5000, 1), False, Cost(0.005, 1e-6))
    assert second.estimated and second.usage.total() > 0
    used = desk.state.model_usage["talker/m"]
    assert used.requests == 3 and not used.cost_known and not desk.state.ledger.usd_known
    assert desk.state.ledger.tokens == 5001 + second.usage.total() + 15
    assert desk.book.read().ledger.tokens == desk.state.ledger.tokens


def test_what_an_attempt_told_before_a_retry_is_booked_for_itself() -> None:
    desk = Desk("hi")
    retried = [
        UsagePart(Usage(500, 1)),
        RetryPart(1, 7, 0.0, None, "network: gone"),
        *says("Hello.", usage=Usage(100, 20)),
    ]
    asked(desk, model(Talker(in_turn(retried)), Price(1.0, 1.0)))
    assert [record.usage for record in booked(desk)] == [Usage(500, 1)] and desk.state.usage == Usage(600, 21)
    assert desk.state.ledger.usd_known


def test_a_failure_that_brought_nothing_costs_nothing() -> None:
    desk = Desk("hi")
    with pytest.raises(ProviderFault):
        asked(desk, model(Talker(lambda request: [ProviderFault("no", kind="auth")]), Price(1.0, 1.0)))
    assert booked(desk) == [] and desk.state.ledger.usd_known


def test_an_answer_that_is_stopped_is_kept_as_far_as_it_came() -> None:
    desk = Desk("hi")

    class Slow(Talker):
        async def stream(self, request: Request) -> Any:
            self.asked.append(request)
            yield UsagePart(Usage(700, 1))
            yield Delta(0, "text", "Half an ans")
            await asyncio.sleep(3600)

    async def stop() -> None:
        asker = Asker(
            [model(Slow(lambda request: []), Price(1.0, 1.0))],
            "",
            desk.shelf,
            desk.recorder,
        )
        task = asyncio.create_task(asker.ask(0.0))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stop())
    [answer] = answers(desk)
    assert (answer.stop, answer.message.text(), answer.usage) == ("cut", "Half an ans", Usage(700, 1))
    assert booked(desk) == [] and desk.state.ledger.tokens == 701


# -- arguments that are mended -----------------------------------------------------------------------


def test_mended_arguments_are_told_and_kept_as_mended() -> None:
    desk = Desk("hi")
    wanted = calls(("a", "t", '{"x": [1, 2,],}'), ("b", "t", '{"x": [1'))
    asked(desk, model(Talker(in_turn(wanted))))
    first, second = answers(desk)[0].message.calls()
    assert (first.arguments, second.arguments) == ('{"x": [1, 2]}', '{"x": [1')
    [notice] = desk.heard.of(Notice)
    assert notice.kind == "repair" and "arguments of t" in notice.text and "[1, 2,],}" in notice.text
    shown = [event.message["content"][0]["input"] for event in desk.heard.of(Assistant)]
    assert shown[0] == {"x": [1, 2]} and shown[1]["__unparsedToolInput"]["raw"] == '{"x": [1'
    assert desk.state.counts["repair"] == 1


def test_opaque_data_stays_with_its_block() -> None:
    desk = Desk("hi")
    blocks = (TextBlock("a", "o1"), ThinkingBlock("b", "s", "o2"), CallBlock("c", "t", "{}", "o3"))
    parts: list[Part] = [*(BlockPart(index, block) for index, block in enumerate(blocks)), StopPart("tool_use")]
    asked(desk, model(Talker(in_turn(parts))))
    assert answers(desk)[0].message.content == blocks
    assert desk.book.read().messages[-1].content == blocks


# -- other models ------------------------------------------------------------------------------------


GONE, SPENT = ProviderFault("gone", kind="network"), ProviderFault("no credit", kind="quota")


@pytest.mark.parametrize("fault", [BUSY, GONE, SPENT, CUT])
def test_another_model_takes_over_from_one_that_cannot_be_asked(fault: ProviderFault) -> None:
    desk = Desk("hi")
    first, second = Talker(lambda request: [fault]), Talker(lambda request: says("Hello."), "other", "n")
    asked(desk, model(first, Price(1.0, 1.0)), model(second, Price(2.0, 2.0)))
    [answer] = answers(desk)
    assert answer.model == answer.message.origin == "other/n" and answer.cost == Cost(2e-5, 1e-5)
    [told] = desk.heard.of(ModelFallback)
    assert (told.trigger, told.original_model, told.fallback_model) == (fault.kind, "talker/m", "other/n")
    assert told.content == fault.what and desk.state.counts["fallback"] == 1
    assert second.asked[0].model == "n" and second.asked[0].messages == first.asked[0].messages


def test_the_one_that_took_over_stays_and_the_last_ones_failure_counts() -> None:
    desk = Desk("hi")
    first = Talker(lambda request: [BUSY])
    second = Talker(in_turn(calls(("a", "t", "{}")), [ProviderFault("down", kind="network")]), "other")
    asker = asked(desk, model(first), model(second))
    desk.settle()
    with pytest.raises(ProviderFault) as caught:
        asyncio.run(asker.ask(0.0))
    assert caught.value.what == "down" and len(first.asked) == 1 and len(second.asked) == 2


@pytest.mark.parametrize("kind", ["auth", "bad_request", "not_found", "context_overflow", "refused", "malformed"])
def test_what_another_model_would_not_mend_ends_the_question(kind: str) -> None:
    desk = Desk("hi")
    second = Talker(lambda request: says("Hello."), "other")
    with pytest.raises(ProviderFault) as caught:
        asked(desk, model(Talker(lambda request: [ProviderFault("no", kind=kind)])), model(second))
    assert caught.value.kind == kind and not second.asked and not desk.heard.of(ModelFallback)


# -- pictures ----------------------------------------------------------------------------------------


PICTURE = ImageBlock("image/png", "aGk=")
SEEN = (
    Message("user", (PICTURE, TextBlock("what is it?"))),
    Message("assistant", (CallBlock("a", "t", "{}"),)),
    Message("user", (ResultBlock("a", "shown", images=(PICTURE,)), ResultBlock("b", "", images=(PICTURE,)))),
)


def test_pictures_become_notes_for_a_model_that_cannot_see() -> None:
    spec = model(Talker(lambda request: []), vision=False).spec
    sight = Sight()
    told = sight.seen_by(spec, SEEN)
    assert told[0].content == (TextBlock(NOTE), TextBlock("what is it?")) and told[1] is SEEN[1]
    assert told[2].content == (ResultBlock("a", f"shown\n{NOTE}"), ResultBlock("b", NOTE))
    again = sight.seen_by(spec, SEEN)
    assert all(one is other for one, other in zip(told, again, strict=True))


@pytest.mark.parametrize("vision", [True, None])
def test_pictures_reach_a_model_that_sees_or_may(vision: bool | None) -> None:
    spec = model(Talker(lambda request: []), vision=vision).spec
    assert all(one is other for one, other in zip(Sight().seen_by(spec, SEEN), SEEN, strict=True))


def test_requests_carry_effort_and_key() -> None:
    talker = Talker(lambda request: says("x"))
    asked(Desk("hi"), model(talker), effort="low", cache_key="session")
    request: Request = talker.asked[0]
    assert (request.effort, request.cache_key, request.system) == ("low", "session", "Be brief.")

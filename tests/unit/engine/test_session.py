"""Prompt after prompt in one state, and the inbox they come through."""

from __future__ import annotations

import asyncio

from fakes.engine import USAGE, Desk
from remit.base.messages import Message, TextBlock
from remit.base.records import REPORT, Answered, PromptEnded, TurnStarted, UserSaid
from remit.engine.inbox import Inbox


def answer(desk: Desk, turn: int, text: str) -> None:
    desk.recorder.record(TurnStarted(turn))
    desk.recorder.record(Answered(turn, "p/m", Message("assistant", (TextBlock(text),)), USAGE, "end_turn", 1.0))


def test_a_second_prompt_begins_its_own_counts_and_goes_on_with_the_transcript() -> None:
    desk = Desk("first")
    answer(desk, 1, "one")
    desk.recorder.record(PromptEnded("done", 0, False, {"spent": {"seconds": 7.0}}))
    desk.recorder.record(UserSaid("second", uuid="u-2"))
    answer(desk, 2, "two")
    state = desk.state
    assert (state.turn, state.turns(), state.ledger.turns) == (2, 1, 1)
    assert (state.final_text, state.said, state.ended) == ("two", ["u-2"], None)
    assert state.usage - state.began.usage == USAGE
    assert state.began.elapsed == 7.0
    assert [message.role for message in state.messages] == ["user", "assistant", "user", "assistant"]


def test_what_joins_a_prompt_begins_none() -> None:
    desk = Desk("first")
    answer(desk, 1, "one")
    desk.recorder.record(UserSaid("more", joined=True, uuid="u-2"))
    desk.recorder.record(UserSaid("a report", synthetic=True, reason=REPORT, joined=True))
    assert (desk.state.turns(), desk.state.said, desk.state.user_turns) == (1, ["u-2"], 2)


def test_a_report_that_joins_nothing_begins_a_prompt() -> None:
    desk = Desk("first")
    answer(desk, 1, "one")
    desk.recorder.record(UserSaid("a report", synthetic=True, reason=REPORT))
    assert (desk.state.turns(), desk.state.user_turns) == (0, 1)


def test_the_state_that_is_read_back_is_the_same() -> None:
    desk = Desk("first")
    answer(desk, 1, "one")
    desk.recorder.record(UserSaid("second"))
    answer(desk, 2, "two")
    again = desk.book.read()
    assert (again.turn, again.turns(), again.final_text) == (2, 1, "two")
    assert again.messages == desk.state.messages


def test_prompts_that_a_summary_repeats_are_the_first_and_the_last_ones() -> None:
    desk = Desk(*(f"prompt {number}" for number in range(100)))
    assert desk.state.prompts == ["prompt 0", *(f"prompt {number}" for number in range(93, 100))]


def test_the_inbox_gives_prompts_in_order_and_ends_when_closed() -> None:
    async def serve() -> list[str | None]:
        inbox = Inbox()
        inbox.put(UserSaid("one"))
        inbox.put(UserSaid("two"))
        first = await inbox.next()
        waiting = asyncio.create_task(inbox.next())
        await asyncio.sleep(0)
        third = asyncio.create_task(inbox.next())
        await asyncio.sleep(0)
        inbox.close()
        return [each and each.text for each in (first, await waiting, await third)]

    assert asyncio.run(serve()) == ["one", "two", None]


def test_what_is_taken_joins_and_waits_no_more() -> None:
    inbox = Inbox()
    inbox.put(UserSaid("one", uuid="u"))
    assert inbox.take() == [UserSaid("one", joined=True, uuid="u")]
    assert not inbox.take()
    assert not len(inbox)

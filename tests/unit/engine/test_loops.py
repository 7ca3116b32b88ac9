from __future__ import annotations

from collections import deque

import pytest

from fakes.engine import Desk
from remit.base.calls import Call, err
from remit.base.errors import ErrorCode
from remit.base.records import CallSettled
from remit.engine.loops import HISTORY, Round, Rounds, call_mark, circle


def call(name: str, arguments: str = "{}") -> Call:
    return Call("t1.c1", "id", name, arguments)


def past(*rounds: str) -> deque[Round]:
    """Each round as `tool` or `tool=result`."""
    split = (each.partition("=") for each in rounds)
    return deque((Round(call_mark(call(tool)), hash(result)) for tool, _, result in split), HISTORY)


@pytest.mark.parametrize(
    ("history", "asked", "length"),
    [
        ([], "a", 0),
        (["a"], "a", 0),
        (["a", "a"], "a", 1),
        (["a", "a"], "b", 0),
        (["b", "a", "a"], "a", 1),
        (["a", "b", "a"], "a", 0),
        (["a", "b", "a", "b"], "a", 2),
        (["a", "b", "a", "b"], "b", 0),
        (["a", "b", "c", "a", "b", "c"], "a", 3),
        (["a", "b", "c", "d", "a", "b", "c", "d"], "a", 4),
        (["a", "b", "c", "d", "e", "a", "b", "c", "d", "e"], "a", 0),
        # What changes between two rounds is work.
        (["a=1", "a=2"], "a", 0),
        (["a=1", "a=2", "a=2"], "a", 1),
        (["a", "b=1", "a", "b=2"], "a", 0),
    ],
)
def test_two_equal_rounds_make_a_circle(history: list[str], asked: str, length: int) -> None:
    assert circle(past(*history), call(asked)) == length


def test_a_turn_that_goes_round_is_refused_as_a_whole() -> None:
    rounds = Rounds(past("a", "b", "a", "b"))
    assert [rounds.circle(call(name)) for name in ("a", "b", "c")] == [2, 2, 0]
    # Nobody knows yet what comes of the calls of a turn, so that they are no rounds among themselves.
    assert [Rounds(past()).circle(call("a")) for _ in range(3)] == [0, 0, 0]
    rounds = Rounds(past("a"))
    assert [rounds.circle(call("a")) for _ in range(3)] == [0, 0, 0]


def test_the_same_arguments_are_the_same_however_they_are_spelled() -> None:
    assert call_mark(call("t", '{"a":1,"b":[2]}')) == call_mark(call("t", '{ "b": [2], "a": 1 }'))
    assert call_mark(call("t", "")) == call_mark(call("t", "{}"))
    assert call_mark(call("t", '{"a":1}')) != call_mark(call("t", '{"a":2}'))
    assert call_mark(call("t")) != call_mark(call("u"))
    assert call_mark(call("t", "{broken")) == call_mark(call("t", "{broken"))


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_circle_over_several_turns_is_refused_from_its_third_round_on(length: int) -> None:
    """One call a turn. What was refused counts as a round, or every circle but the shortest would get away."""
    from remit.base.messages import CallBlock, Message, Usage
    from remit.base.records import Answered

    desk, refused = Desk("hi"), 0
    for number in range(1, 4 * length + 1):
        name = f"tool{number % length}"
        desk.recorder.record(
            Answered(
                number, "p/m", Message("assistant", (CallBlock(f"c{number}", name, "{}"),)), Usage(), "tool_use", 0.0
            )
        )
        open_call = desk.state.open[f"t{number}.c1"].call
        again = circle(desk.state.history, open_call) > 0
        refused += again
        outcome = err(ErrorCode.REPEATED_CALL if again else ErrorCode.NOT_FOUND, "no")
        content = "refused" if again else f"result of {name}"
        desk.recorder.record(CallSettled(f"t{number}.c1", f"c{number}", name, outcome, content))
    assert refused == 2 * length and desk.state.repeats == 2 * length


def test_turns_of_nothing_but_repetitions_are_counted() -> None:
    desk = Desk("hi")
    record = desk.recorder.record

    def turn(number: int, *codes: ErrorCode | None) -> None:
        from remit.base.messages import CallBlock, Message, Usage
        from remit.base.records import Answered

        blocks = tuple(CallBlock(f"{number}.{index}", "t", "{}") for index in range(len(codes)))
        record(Answered(number, "p/m", Message("assistant", blocks), Usage(), "tool_use", 0.0))
        for index, code in enumerate(codes, 1):
            outcome = err(code, "no") if code else err(ErrorCode.NOT_FOUND, "no")
            record(CallSettled(f"t{number}.c{index}", f"{number}.{index - 1}", "t", outcome, "no"))

    again = ErrorCode.REPEATED_CALL
    turn(1, None, None)
    turn(2, again, again, again)
    assert desk.state.repeats == 1 and len(desk.state.history) == 5
    turn(3, again)
    assert desk.state.repeats == 2
    turn(4, again, None)
    assert desk.state.repeats == 0

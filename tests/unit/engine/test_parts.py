"""Calls that are made of others, at the gate: each part is a call like any other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest

from fakes.engine import Desk
from remit.base.calls import Call, Decide, Decision, Outcome, RuleRef, done
from remit.base.errors import BudgetSpent, ErrorCode, Failure, Refused
from remit.base.events import Assistant, PermissionDenied, User
from remit.base.limits import Bounds, Limits
from remit.base.messages import CallBlock, Message, ResultBlock, Usage
from remit.base.ports import Policy, ToolContext, World
from remit.base.records import Answered, CallExpanded, CallSettled, CallsPending, CallStarted
from remit.base.resources import Effect, Resource
from remit.base.spec import RunSpec
from remit.engine.context import CallContext
from remit.engine.dispatch import Dispatch
from remit.engine.execution import MIN_RESULT_BYTES
from remit.engine.judging import Gate
from remit.tools.contract import Tool
from remit.tools.execution.batch import Batch


class NoteParams(msgspec.Struct, forbid_unknown_fields=True):
    what: str = ""
    fail: bool = False


class Note(Tool):
    """Notes what it was called with."""

    name = "note"
    toolset = "test"
    effects = frozenset({Effect.WRITE})
    Params = NoteParams

    def __init__(self) -> None:
        self.noted: list[str] = []

    def resources(self, params: NoteParams, world: World) -> Sequence[Resource]:
        return [Resource("path", params.what, Effect.WRITE)]

    async def run(self, params: NoteParams, ctx: ToolContext) -> Outcome:
        self.noted.append(params.what)
        if params.fail:
            raise Failure(ErrorCode.NOT_FOUND, f"no {params.what}")
        return done({"noted": params.what}, text=f"noted {params.what}")


class Meet(Note):
    """Ends once all who are expected are there."""

    name = "meet"

    def __init__(self, expected: int) -> None:
        super().__init__()
        self._all = asyncio.Barrier(expected)

    async def run(self, params: NoteParams, ctx: ToolContext) -> Outcome:
        await self._all.wait()
        return done(None, text="met")


class Long(Note):
    """Says much."""

    name = "long"
    bounds = Bounds(output_bytes=30_000)

    async def run(self, params: NoteParams, ctx: ToolContext) -> Outcome:
        return done(None, text=params.what * 100_000)


class Rules:
    """Decides by the name of a path: what begins with `deny` or `ask`."""

    def decide(self, tool: str, effects: frozenset[Effect], resources: Sequence[Resource]) -> Decision:
        rule = RuleRef("policy", "p.toml:1", "because")
        for each in resources:
            word = each.name.partition(" ")[0]
            if word in {"deny", "ask"}:
                return Decision(cast(Decide, word), rule, each)
        return Decision("auto", rule)

    def asked(self, tool: str, resources: Sequence[Resource]) -> Sequence[Resource]:
        return resources


class Hands:
    def context(self, call: Call, tool: Tool, resources: Any, approved: Any) -> CallContext:
        return CallContext(call.key, tool.name)


class Table:
    """A gate with these tools, and a turn of calls in front of it."""

    def __init__(self, *tools: Tool, limits: Limits | None = None, window: int | None = None, **spec: Any) -> None:
        self.desk = Desk("go", limits=limits)
        gate = Gate(cast(Policy, Rules()), None, cast(World, None), str, lambda call, resources, rule: call.key)
        run = RunSpec(**{"name": "t", "prompt": "go", "workspace": "/", "model": "m/m", **spec})
        offered = {tool.name: tool for tool in (*tools, Batch())}
        self.dispatch = Dispatch(run, offered, {}, gate, Hands(), self.desk.recorder, batch_bytes=window)

    def answer(self, *calls: tuple[str, dict[str, Any]]) -> None:
        blocks = tuple(CallBlock(f"id{at}", tool, json.dumps(args)) for at, (tool, args) in enumerate(calls, 1))
        turn = self.desk.state.turn + 1
        self.desk.recorder.record(Answered(turn, "m/m", Message("assistant", blocks), Usage(), "tool_use", 0.0))

    def perform(self, *calls: tuple[str, dict[str, Any]]) -> list[ResultBlock]:
        """What the model is shown."""
        self.answer(*calls)
        asyncio.run(self.go())
        return [block for block in self.desk.state.messages[-1].content if isinstance(block, ResultBlock)]

    async def go(self) -> None:
        await self.dispatch.perform([opened.call for opened in self.desk.state.open.values()])

    def settled(self) -> list[tuple[str, bool]]:
        return [(each.key, each.outcome.ok) for each in self.desk.book.records if isinstance(each, CallSettled)]


def batch(*entries: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "batch", {"tool_calls": list(entries)}


def note(what: str, **more: Any) -> dict[str, Any]:
    return {"tool": "note", "what": what, **more}


def test_parts_are_checked_run_and_settled_like_calls_of_the_turn() -> None:
    tool = Note()
    table = Table(tool)
    [shown] = table.perform(batch(note("a"), note("b", fail=True), {"tool": "nothing"}, note("c")))

    assert tool.noted == ["a", "b", "c"]
    sections = shown.content.split("\n\n")
    assert sections[0] == "## note\nnoted a" and sections[3] == "## note\nnoted c"
    assert sections[1] == '## note (error)\n{"ok":false,"error":{"code":"not_found","message":"no b"}}'
    assert sections[2].startswith('## nothing (error)\n{"ok":false,"error":{"code":"unknown_tool"')
    assert not shown.is_error
    keys = [("t1.c1.b1", True), ("t1.c1.b2", False), ("t1.c1.b3", False), ("t1.c1.b4", True), ("t1.c1", True)]
    assert table.settled() == keys
    assert table.desk.state.counts == {"calls": 5, "failed_calls": 2, "cut": 0}
    assert table.desk.state.ledger.calls == 5


def test_the_stream_tells_each_part_with_the_call_it_belongs_to() -> None:
    table = Table(Note())
    table.perform(batch(note("a"), note("deny b")))
    [asked] = table.desk.heard.of(Assistant)
    assert asked.parent_tool_use_id == "id1"
    assert [(each["id"], each["name"], each["input"]) for each in asked.message["content"]] == [
        ("id1.b1", "note", {"what": "a"}),
        ("id1.b2", "note", {"what": "deny b"}),
    ]
    told = [(each.message["content"][0]["tool_use_id"], each.parent_tool_use_id) for each in table.desk.heard.of(User)]
    assert told == [("id1.b1", "id1"), ("id1.b2", "id1"), ("id1", None)]
    [denied] = table.desk.heard.of(PermissionDenied)
    assert (denied.tool_use_id, denied.tool_name, denied.resource) == ("id1.b2", "note", "deny b")
    assert table.desk.heard.of(User)[0].tool_use_result == {"ok": True, "data": {"noted": "a"}}


def test_a_refused_part_stops_no_other() -> None:
    tool = Note()
    table = Table(tool)
    [shown] = table.perform(batch(note("deny a"), note("ask b"), note("c")))
    assert tool.noted == ["c"]
    assert '"code":"denied"' in shown.content and '"code":"approval_required"' in shown.content
    assert [each.call_id for each in table.desk.state.denials.values()] == ["id1.b1", "id1.b2"]
    assert next(json.loads(each.arguments) for each in table.desk.state.denials.values()) == {"what": "deny a"}


def test_a_refused_part_ends_a_run_that_fails_on_refusals() -> None:
    tool = Note()
    table = Table(tool, on_deny="fail")
    table.answer(batch(note("a"), note("deny b")))
    with pytest.raises(Refused, match="deny b is denied"):
        asyncio.run(table.go())
    assert tool.noted == [] and table.settled() == [("t1.c1.b2", False)]


def test_a_part_that_waits_for_an_answer_holds_the_whole_turn() -> None:
    tool = Note()
    table = Table(tool, on_ask="stop")
    table.answer(batch(note("a"), note("ask b")), ("note", {"what": "c"}))
    with pytest.raises(Refused, match="1 call"):
        asyncio.run(table.go())
    assert tool.noted == []
    [pending] = [each for each in table.desk.book.records if isinstance(each, CallsPending)]
    assert (pending.asked, pending.held) == (("t1.c1.b2",), ("t1.c1.b1", "t1.c1", "t1.c2"))


def test_parts_run_at_the_same_time() -> None:
    async def meet() -> Table:
        table = Table(Meet(3))
        table.answer(batch({"tool": "meet", "what": "a"}, {"tool": "meet", "what": "b"}), ("meet", {"what": "c"}))
        async with asyncio.timeout(10):
            await table.go()
        return table

    assert all(ok for _, ok in asyncio.run(meet()).settled())


@pytest.mark.parametrize(("calls", "ran"), [(1, []), (2, ["a"]), (3, ["a", "b"]), (4, ["a", "b"])])
def test_parts_count_as_calls_of_the_budget(calls: int, ran: list[str]) -> None:
    tool = Note()
    table = Table(tool, limits=Limits(calls=calls))
    table.answer(batch(note("a"), note("b")), ("note", {"what": "c"}) if calls < 4 else batch())
    if calls < 4:
        with pytest.raises(BudgetSpent):
            asyncio.run(table.go())
    else:
        asyncio.run(table.go())
    assert tool.noted == ran
    assert table.desk.state.ledger.calls == calls
    assert not table.desk.state.open


def test_a_batch_that_makes_no_sense_has_no_parts() -> None:
    table = Table(Note())
    [shown] = table.perform(("batch", {"tool_calls": []}))
    assert shown.is_error and "invalid_arguments" in shown.content
    assert not any(isinstance(each, CallExpanded) for each in table.desk.book.records)


def test_equal_batches_are_a_circle_and_equal_parts_are_none() -> None:
    tool = Note()
    table = Table(tool)
    for _ in range(2):
        table.perform(batch(note("a"), note("a"), note("a")))
    [third] = table.perform(batch(note("a"), note("a"), note("a")))
    assert third.is_error and "repeated_call" in third.content
    [other] = table.perform(batch(note("a"), note("b")))
    assert not other.is_error and tool.noted == ["a"] * 7 + ["b"]


def test_what_is_shown_is_bounded_for_the_whole_and_kept_for_each_part() -> None:
    table = Table(Long())
    [shown] = table.perform(batch(*[{"tool": "long", "what": letter} for letter in "abc"]))
    assert 50_000 < len(shown.content) <= 51_200
    assert all(16_000 < shown.content.count(letter * 10) * 10 < 17_067 for letter in "abc")
    parts = [each for each in table.desk.book.records if isinstance(each, CallSettled) and each.parent]
    assert [len(each.content) <= 30_000 and each.content.count("left out") for each in parts] == [1, 1, 1]

    table = Table(Long(), window=4 * MIN_RESULT_BYTES)
    one, two = table.perform(batch(*[{"tool": "long", "what": "a"}] * 4), batch(*[{"tool": "long", "what": "b"}] * 2))
    assert len(one.content) <= 2 * MIN_RESULT_BYTES and len(two.content) <= 2 * MIN_RESULT_BYTES
    assert one.content.count("## long") == 4


def test_a_part_that_had_begun_is_not_run_again() -> None:
    """Taken up by another process: what was settled stands, what had begun is unknown, the rest runs."""
    tool = Note()
    table = Table(tool)
    table.answer(batch(note("a"), note("b"), note("c")))
    calls = [
        Call(f"t1.c1.b{n}", f"id1.b{n}", "note", json.dumps({"what": what}), "id1") for n, what in enumerate("abc", 1)
    ]
    recorder = table.desk.recorder
    recorder.record(CallExpanded("t1.c1", tuple(calls)))
    recorder.record(CallStarted("t1.c1.b1"))
    recorder.record(CallSettled("t1.c1.b1", "id1.b1", "note", done({"noted": "a"}), "noted a", parent="id1"))
    recorder.record(CallStarted("t1.c1.b2"))

    state = table.desk.book.read()
    assert [each.call.key for each in state.unsettled()] == ["t1.c1.b2", "t1.c1.b3", "t1.c1"]
    assert [each.call.key for each in state.unsettled() if each.started] == ["t1.c1.b2"]
    recorder.record(CallSettled("t1.c1.b2", "id1.b2", "note", done(None), "unknown", parent="id1"))
    asyncio.run(table.go())
    assert tool.noted == ["c"]
    [shown] = [each for each in table.desk.state.messages[-1].content if isinstance(each, ResultBlock)]
    assert shown.content == "## note\nnoted a\n\n## note\nunknown\n\n## note\nnoted c"
    assert sum(isinstance(each, CallExpanded) for each in table.desk.book.records) == 1

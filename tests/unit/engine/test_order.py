from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from remit.base.resources import Effect, Resource
from remit.engine.order import QUIET_EFFECTS, Order

RESOURCES = st.one_of(
    st.builds(
        Resource,
        st.sampled_from(["path", "tree"]),
        st.sampled_from([".", "a", "a/b", "ab", "c"]),
        st.sampled_from([Effect.READ, Effect.WRITE]),
        st.sampled_from(["", "", "a", "c/d"]),
    ),
    st.builds(Resource, st.just("command"), st.sampled_from(["x", "y"]), st.just(Effect.EXECUTE)),
    st.builds(
        Resource,
        st.sampled_from(["artifact", "state"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from([Effect.STATE, Effect.WRITE]),
    ),
)
PLACES = {"path", "tree", "command"}


def conflict(one: list[Resource], other: list[Resource]) -> bool:
    """The rule, said of a pair of calls: they meet at a resource that one of them changes."""
    return any(not {a.effect, b.effect} <= QUIET_EFFECTS and same(a, b) for a in one for b in other)


def same(one: Resource, other: Resource) -> bool:
    if {one.kind, other.kind} <= PLACES:
        if "command" in {one.kind, other.kind}:
            return True
        return any(
            a == b or "." in {a, b} or a.startswith(f"{b}/") or b.startswith(f"{a}/")
            for a in one.names()
            for b in other.names()
        )
    return (one.kind, one.name) == (other.kind, other.name)


@given(st.lists(st.lists(RESOURCES, max_size=3), max_size=8))
def test_conflicting_calls_wait_and_no_others(calls: list[list[Resource]]) -> None:
    order = Order()
    ends = [asyncio.Event() for _ in calls]
    waits = [{ends.index(end) for end in order.add(resources, ends[i])} for i, resources in enumerate(calls)]
    after: list[set[int]] = []
    for direct in waits:
        after.append(direct | {earlier for index in direct for earlier in after[index]})
    for later, resources in enumerate(calls):
        conflicts = {earlier for earlier in range(later) if conflict(calls[earlier], resources)}
        # A wait may stand for others: whom the one waited for has waited for.
        assert conflicts <= after[later]
        assert waits[later] <= conflicts


def test_many_writers_of_one_name_wait_for_one_each() -> None:
    order = Order()
    artifact = [Resource("artifact", "a.md", Effect.WRITE)]
    waits = [order.add(artifact, asyncio.Event()) for _ in range(10_000)]
    assert sum(map(len, waits)) == 9_999


def test_many_readers_of_files_look_at_writers_only() -> None:
    order = Order()
    writer = asyncio.Event()
    order.add([Resource("path", "a/b.md", Effect.WRITE)], writer)
    reads = [Resource("tree", "a", Effect.READ), Resource("path", "c.md", Effect.READ)]
    waits = [order.add([reads[number % 2]], asyncio.Event()) for number in range(10_000)]
    assert waits == [[writer], []] * 5_000


def test_agents_of_one_kind_never_wait_for_one_another() -> None:
    order = Order()
    agent = Resource("agent", "builtin", Effect.AGENT)
    assert not order.add([agent], asyncio.Event())
    assert not order.add([agent], asyncio.Event())

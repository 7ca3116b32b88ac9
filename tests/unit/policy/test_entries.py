"""Entries of trees are judged as single calls on them are."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.calls import Decide, RuleRef
from remit.base.resources import Effect, Resource, ResourceKind
from remit.policy.decide import Layer, RuleSet, SourceName
from remit.policy.defaults import GitStore, default_rules, floor_rules
from remit.policy.patterns import HostPattern, PathPattern, Place
from remit.policy.rules import Rule
from remit.policy.selectors import HostSelector, PathSelector, Selector, Shape
from remit.policy.subjects import Coverage, Subject

PLACE = Place(("/ws", "/real/ws"), ("/home/u",))
GLOBS = (
    "a",
    "a/**",
    "**/b.py",
    "*.key",
    "a/*",
    "/ws/b/**",
    "/real/ws/a.d",
    "~/x",
    "/**",
    "a*/b",
    ".env",
    "**",
    "[ab]/?.py",
)
PARTS = ("a", "b", "b.py", "a.d", "x.KEY", ".env", ".aws", ".git", "config", "id_rsa.pub", "a.key. ", "ü")

names = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("/".join)
decides = st.sampled_from(get_args(Decide))
selectors: st.SearchStrategy[Selector | None] = st.one_of(
    st.none(),
    st.sampled_from(GLOBS).map(lambda glob: PathSelector(PathPattern.compile(glob, PLACE, follow=False))),
    st.sampled_from([Shape(), Shape(frozenset({"path"})), Shape(frozenset({"path"}), inside=True), GitStore()]),
    st.just(HostSelector((HostPattern.compile("example.org"),))),
)
rules = st.builds(
    Rule,
    decides,
    st.builds(RuleRef, st.just("x"), st.sampled_from("abcde"), st.just("why")),
    tools=st.sampled_from([None, frozenset({"t"}), frozenset({"u"})]),
    effects=st.sampled_from([None, frozenset({Effect.READ})]),
    selector=selectors,
)
sources: st.SearchStrategy[SourceName] = st.sampled_from(("user", "project", "flag", "policy", "task"))
layers = st.lists(st.builds(Layer, sources, st.lists(rules, max_size=3).map(tuple)), max_size=3)


@given(layers, st.lists(st.tuples(names, names, st.booleans()), min_size=1, max_size=6))
def test_an_entry_is_shown_where_a_call_on_it_would_pass(
    given_layers: list[Layer], paths: list[tuple[str, str, bool]]
) -> None:
    rule_set = RuleSet(
        [Layer("floor", floor_rules(PLACE, [], [])), *given_layers, Layer("default", default_rules())], PLACE
    )
    for name, real, inside in paths:
        entry = Resource("path", name, Effect.READ, real=real, inside=inside)
        decision = rule_set.decide("t", frozenset({Effect.READ}), [entry])
        assert rule_set.entry_allowed("t", Effect.READ, entry) == (decision.decide == "auto")


class Broken:
    """A selector that cannot be held against anything."""

    literal = False

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        raise ValueError("broken")

    def covers(self, kind: ResourceKind, inside: bool) -> Coverage:
        return "some"


@pytest.mark.parametrize("name", ["a", "b/c"])
def test_a_rule_that_breaks_withholds_every_entry(name: str) -> None:
    broken = Rule("auto", RuleRef("user", "here", "why"), selector=Broken())
    rule_set = RuleSet([Layer("user", (broken,)), Layer("default", default_rules())], PLACE)
    assert not rule_set.entry_allowed("t", Effect.READ, Resource("path", name, Effect.READ))

"""Edges in flat arrays."""

from __future__ import annotations

import pytest

from remit.code.edges import Edges
from remit.code.rank import UNIT, page_rank, weigh


def drawn() -> Edges:
    edges = Edges(4)
    edges.put(0, {1: 1, 2: 8})
    edges.put(3, {1: 4})
    return edges


def test_what_a_node_mentions() -> None:
    edges = drawn()
    assert {node: list(targets) for node, targets in edges.items()} == {0: [1, 2], 3: [1]}
    assert (list(edges.get(1)), edges.bits(1), len(edges)) == ([], b"", 3)
    assert edges.bits(0) == b"\x01\x08"
    assert [(edges.sources[entry], edges.how[entry]) for entry in edges.into(1)] == [(0, 1), (3, 4)]
    assert edges.leading_to([2, 1]) == [(0, 1), (0, 2), (3, 1)]


def test_what_was_put_before_is_gone() -> None:
    edges = drawn()
    assert len(edges.into(1)) == 2
    edges.put(0, {3: 2})
    edges.put(3, {})
    assert {node: list(targets) for node, targets in edges.items()} == {0: [3]}
    assert (len(edges), list(edges.into(1)), edges.leading_to([1, 3])) == (1, [], [(0, 3)])


def test_packed_and_back() -> None:
    edges = drawn()
    edges.put(0, {3: 2})
    again = Edges.unpack(4, edges.pack())
    assert [(node, list(targets)) for node, targets in again.items()] == [(0, [3]), (3, [1])]
    assert (len(again), again.leading_to([1, 3])) == (2, edges.leading_to([1, 3]))


@pytest.mark.parametrize("part", range(5))
def test_parts_of_different_lengths_are_refused(part: int) -> None:
    packed = list(drawn().pack())
    packed[part] = packed[part][:-4]
    with pytest.raises(ValueError, match=r"another graph|multiple"):
        Edges.unpack(4, packed)


# -- weights -----------------------------------------------------------------------------------


def circle() -> Edges:
    edges = Edges(5)
    for node, targets in {0: (1, 2), 1: (2,), 2: (0,), 3: (2, 1)}.items():
        edges.put(node, dict.fromkeys(targets, 1))
    return edges


def test_weights_are_ranks_in_another_unit() -> None:
    edges, starts = circle(), [1.0, 1.0, 0.05, 1.0, 0.0]
    weights = weigh(edges, starts)
    ranks = page_rank(5, dict(edges.items()), starts, tolerance=1e-12, max_rounds=500)
    total = sum(weights.exact)
    assert weights.converged
    assert [each / total for each in weights.exact] == pytest.approx(ranks.scores, abs=1e-5)
    assert list(weights.scores) == [int(each * UNIT + 0.5) for each in weights.exact]


def test_a_weight_that_changes_is_handed_on() -> None:
    edges = circle()
    weights = weigh(edges, [1.0] * 5)
    weights.spread(edges, {3: -1.0, 4: 1.0})
    assert list(weights.exact) == pytest.approx(list(weigh(edges, [1.0, 1.0, 1.0, 0.0, 2.0]).exact), abs=1e-4)

"""PageRank, held against small solutions and against what must hold of any."""

from __future__ import annotations

import random

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.code.rank import page_rank

DAMPING = 0.85


def solved(size: int, outs: dict[int, tuple[int, ...]], starts: list[float]) -> list[float]:
    """The same by elimination: rank = (1 - d) begin + d (links + dangling to begin) rank."""
    total = sum(starts)
    begin = [each / total for each in starts]
    rows = [[0.0] * size + [(1 - DAMPING) * begin[node]] for node in range(size)]
    for node in range(size):
        rows[node][node] += 1.0
        targets = outs.get(node, ())
        for target in targets:
            rows[target][node] -= DAMPING / len(targets)
        if not targets:
            for target in range(size):
                rows[target][node] -= DAMPING * begin[target]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(size):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [value - factor * other for value, other in zip(rows[row], rows[column], strict=True)]
    return [rows[node][-1] / rows[node][node] for node in range(size)]


CASES = {
    "nothing leads anywhere": (3, {}, [1.0, 1.0, 2.0]),
    "a chain": (3, {0: (1,), 1: (2,)}, [1.0, 1.0, 1.0]),
    "a circle": (3, {0: (1,), 1: (2,), 2: (0,)}, [1.0, 0.0, 0.0]),
    "a star": (5, {1: (0,), 2: (0,), 3: (0,), 4: (0, 1)}, [1.0] * 5),
    "to itself": (2, {0: (0, 1)}, [1.0, 1.0]),
    "from where nobody begins": (4, {0: (1,), 1: (2, 3), 3: (1,)}, [0.0, 1.0, 0.0, 1.0]),
}


@pytest.mark.parametrize("name", CASES)
def test_small_solutions(name: str) -> None:
    size, outs, starts = CASES[name]
    ranks = page_rank(size, outs, starts, tolerance=1e-12, max_rounds=500)
    assert ranks.converged
    assert ranks.scores == pytest.approx(solved(size, outs, starts), abs=1e-9)


def drawn(seed: int, size: int = 60) -> tuple[dict[int, tuple[int, ...]], list[float]]:
    draw = random.Random(seed)
    outs = {node: tuple(draw.sample(range(size), draw.randint(1, 5))) for node in range(size) if draw.random() < 0.7}
    return outs, [draw.random() for _ in range(size)]


@pytest.mark.parametrize("seed", range(5))
def test_the_ranks_are_one_together_and_solve_the_equation(seed: int) -> None:
    outs, starts = drawn(seed)
    ranks = page_rank(60, outs, starts, tolerance=1e-12, max_rounds=500)
    assert sum(ranks.scores) == pytest.approx(1.0)
    assert ranks.scores == pytest.approx(solved(60, outs, starts), abs=1e-9)
    assert sum(page_rank(60, outs, starts, max_rounds=3).scores) == pytest.approx(1.0)


def test_the_order_of_nodes_does_not_matter() -> None:
    outs, starts = drawn(9)
    order = list(range(60))
    random.Random(1).shuffle(order)
    moved = {order[node]: tuple(order[target] for target in targets) for node, targets in outs.items()}
    begin = [0.0] * 60
    for node, start in enumerate(starts):
        begin[order[node]] = start
    here, there = page_rank(60, outs, starts).scores, page_rank(60, moved, begin).scores
    assert [there[order[node]] for node in range(60)] == pytest.approx(here)


def test_rounds_that_do_not_suffice_are_told() -> None:
    outs = {0: (1,), 1: (0,)}
    short = page_rank(2, outs, [1.0, 0.0], tolerance=1e-9, max_rounds=4)
    assert (short.converged, short.rounds) == (False, 4)
    long = page_rank(2, outs, [1.0, 0.0], tolerance=1e-9, max_rounds=500)
    assert long.converged
    assert long.rounds < 500


def test_nothing_and_no_starts() -> None:
    assert page_rank(0, {}).scores == []
    assert page_rank(2, {}, [0.0, 0.0]).scores == [0.5, 0.5]
    assert page_rank(2, {}).scores == [0.5, 0.5]


def test_it_can_be_called_off() -> None:
    def check() -> None:
        raise Failure(ErrorCode.CANCELLED, "called off")

    with pytest.raises(Failure):
        page_rank(2, {0: (1,)}, check=check)

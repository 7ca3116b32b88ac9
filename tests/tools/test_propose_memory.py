from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Step, World
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.store.memory import MemoryProposals
from remit.tools.documents.propose_memory import ProposeMemory

NOWHERE = cast(World, None)
TOOL = ProposeMemory()


class RunState:
    """A run's state over the real store of proposals."""

    def __init__(self, state_dir: Path, key: str) -> None:
        self.store = MemoryProposals(str(state_dir))
        self._key = key

    def set_plan(self, steps: Sequence[Step], note: str) -> None:
        raise AssertionError

    def propose_memory(self, text: str, tags: Sequence[str], reason: str) -> str:
        return self.store.propose("run", self._key, task="weekly", text=text, tags=tags, reason=reason, created=1.0)

    def submit_output(self, value: Any) -> None:
        raise AssertionError


def call(state_dir: Path, arguments: Any, key: str = "t1.c1") -> Outcome:
    params = TOOL.parse(arguments if isinstance(arguments, str) else json.dumps(arguments))
    state = RunState(state_dir, key)
    return asyncio.run(TOOL.run(params, CallContext(key, TOOL.name, granted_state=state)))


def test_a_proposal_is_stored_inactive(tmp_path: Path) -> None:
    outcome = call(
        tmp_path, {"text": "Totals are in kEUR.", "tags": ["sales", "units"], "reason": "the header says so"}
    )

    (proposal,) = MemoryProposals(str(tmp_path)).read()
    assert outcome.envelope() == {"ok": True, "data": {"id": proposal.id, "status": "proposed", "active": False}}
    assert (proposal.status, proposal.text, proposal.tags, proposal.reason, proposal.task) == (
        "proposed",
        "Totals are in kEUR.",
        ("sales", "units"),
        "the header says so",
        "weekly",
    )


def test_three_proposals_of_a_task_are_accepted_and_no_fourth(tmp_path: Path) -> None:
    for number in range(3):
        assert call(tmp_path, {"text": f"fact {number}"}, key=f"t1.c{number}").ok

    with pytest.raises(Failure) as caught:
        call(tmp_path, {"text": "one too many"}, key="t2.c1")
    assert caught.value.code is ErrorCode.TOO_MANY_PROPOSALS
    assert "3" in caught.value.message
    assert len(MemoryProposals(str(tmp_path)).read()) == 3


@pytest.mark.parametrize(
    ("passes", "fails", "what"),
    [
        ({"text": "é" * 2048}, {"text": "é" * 2048 + "x"}, "the text has 4097 bytes, 4096 are allowed"),
        ({"text": "a", "reason": "x" * 1024}, {"text": "a", "reason": "x" * 1025}, "the reason has 1025 bytes, 1024"),
        ({"text": "a", "tags": ["t"] * 8}, {"text": "a", "tags": ["t"] * 9}, "tags"),
        ({"text": "a", "tags": ["é" * 40]}, {"text": "a", "tags": ["é" * 41]}, "tags"),
    ],
)
def test_the_limit_passes_and_one_more_is_refused(tmp_path: Path, passes: Any, fails: Any, what: str) -> None:
    assert call(tmp_path, passes).ok

    with pytest.raises(Failure) as caught:
        call(tmp_path, fails, key="t1.c2")
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert what in caught.value.message
    assert len(MemoryProposals(str(tmp_path)).read()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"text": ""},
        {"text": " \n\t"},
        {"text": "a", "tags": "b"},
        {"text": "a", "tags": [""]},
        {"text": "a", "tags": [" "]},
        {"text": "a", "active": True},
        "not json",
    ],
)
def test_what_is_no_proposal_is_refused(tmp_path: Path, arguments: Any) -> None:
    with pytest.raises(Failure) as caught:
        call(tmp_path, arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert list(tmp_path.iterdir()) == []


def test_it_touches_the_proposals_and_nothing_else() -> None:
    params = TOOL.parse('{"text": "a"}')

    assert TOOL.resources(params, NOWHERE) == [Resource("state", "memory_proposals", Effect.STATE)]
    assert (TOOL.effects, TOOL.harness, TOOL.repeatable) == ({Effect.STATE}, True, True)
    assert "three proposals per task" in " ".join(TOOL.spec().description.split())

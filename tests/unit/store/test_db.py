from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from remit.base.errors import EnvironmentFault, ErrorCode, Failure, UsageFault
from remit.store.db import FILE, MIGRATIONS, transaction
from remit.store.memory import MemoryProposals
from remit.store.uses import ApprovalUses

# The file


def test_the_file_and_its_companions_are_for_this_user_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    before = os.umask(0)
    try:
        with transaction(str(state)) as connection:
            connection.execute("INSERT INTO approval_uses VALUES ('e', 1)")
            modes = {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()}
    finally:
        os.umask(before)

    assert modes == dict.fromkeys(modes, 0o600)
    assert {FILE, f"{FILE}-wal"} <= set(modes)
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), transaction(str(tmp_path)) as connection:
        connection.execute("INSERT INTO approval_uses VALUES ('e', 1)")
        raise KeyError
    with transaction(str(tmp_path)) as connection:
        assert connection.execute("SELECT count(*) FROM approval_uses").fetchone() == (0,)


def test_the_version_counts_the_migrations(tmp_path: Path) -> None:
    for _ in range(2):
        with transaction(str(tmp_path)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()

    with pytest.raises(UsageFault, match="the state has version 2") as caught, transaction(str(tmp_path)):
        pass
    assert (caught.value.kind, caught.value.where) == ("state_newer", str(tmp_path / FILE))


@pytest.mark.parametrize("size", [10, 5000])
def test_a_file_that_is_no_database_is_said_to_be_damaged(tmp_path: Path, size: int) -> None:
    (tmp_path / FILE).write_bytes(b"garbage!" * size)

    with pytest.raises(EnvironmentFault, match="damaged") as caught:
        ApprovalUses(str(tmp_path)).take("e", 1)
    assert (caught.value.kind, caught.value.where) == ("state_damaged", str(tmp_path / FILE))
    assert "move the file away" in caught.value.hint


def test_a_damaged_page_is_said_to_be_damage(tmp_path: Path) -> None:
    uses = ApprovalUses(str(tmp_path))
    for number in range(500):
        with transaction(str(tmp_path)) as connection:
            connection.execute("INSERT INTO approval_uses VALUES (?, 1)", (f"entry-{number:04}" * 20,))
        if number % 100 == 0:
            assert uses.take("x", 100)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))

    with pytest.raises(EnvironmentFault) as caught:
        uses.take("y", 1)
    assert caught.value.kind == "state_damaged"


def test_a_link_at_the_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").touch()
    (tmp_path / FILE).symlink_to(tmp_path / "victim")

    with pytest.raises(EnvironmentFault):
        ApprovalUses(str(tmp_path)).take("e", 1)
    assert (tmp_path / "victim").read_bytes() == b""


def test_a_state_directory_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").touch()

    with pytest.raises(EnvironmentFault) as caught:
        ApprovalUses(str(tmp_path / "state")).take("e", 1)
    assert caught.value.where.startswith(str(tmp_path / "state"))


def test_a_full_disk_is_told(small_disk: Path) -> None:
    ApprovalUses(str(small_disk)).take("e", 1)
    with pytest.raises(OSError, match="No space"), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x")

    with pytest.raises(EnvironmentFault) as caught:
        for number in range(1000):
            ApprovalUses(str(small_disk)).take(f"entry {number}" * 50, 1)
    assert caught.value.kind in {"disk_full", "io_error"}


# Uses of approvals


def test_an_entry_is_used_as_often_as_it_says(tmp_path: Path) -> None:
    uses = ApprovalUses(str(tmp_path))

    assert [uses.take("e", 2) for _ in range(4)] == [True, True, False, False]
    assert [ApprovalUses(str(tmp_path)).take("e", limit) for limit in (2, 3, 3)] == [False, True, False]
    assert uses.take("other", 1)


@pytest.mark.parametrize("limit", [0, -1])
def test_an_entry_without_uses_is_never_used(tmp_path: Path, limit: int) -> None:
    assert not ApprovalUses(str(tmp_path)).take("e", limit)


TAKER = """
import sys
from remit.store.uses import ApprovalUses
uses = ApprovalUses(sys.argv[1])
sys.stdin.readline()
print(sum(uses.take("shared", 25) for _ in range(10)))
"""


def test_processes_that_start_together_never_use_an_entry_too_often(tmp_path: Path) -> None:
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(tmp_path / "new")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("go\n")
        taker.stdin.flush()
    counts = [int(taker.communicate(timeout=120)[0]) for taker in takers]

    assert [taker.returncode for taker in takers] == [0] * 6
    assert sum(counts) == 25


# Proposals


def propose(store: MemoryProposals, key: str, run: str = "run", text: str = "a fact", created: float = 1.0) -> str:
    return store.propose(run, key, task="weekly", text=text, tags=["a", "b"], reason="why", created=created)


@pytest.fixture
def store(tmp_path: Path) -> MemoryProposals:
    return MemoryProposals(str(tmp_path / "state"))


def test_nothing_is_made_by_looking(tmp_path: Path, store: MemoryProposals) -> None:
    assert store.read() == []
    assert list(tmp_path.iterdir()) == []


def test_proposals_come_oldest_first(store: MemoryProposals) -> None:
    late = propose(store, "t1.c1", created=5.0)
    early = propose(store, "t1.c2", created=2.0)

    assert [each.id for each in store.read()] == [early, late]


def test_the_same_call_proposes_once_and_its_last_word_counts(store: MemoryProposals) -> None:
    first = propose(store, "t1.c1", text="half")
    assert propose(store, "t1.c1", text="whole") == first

    assert [each.text for each in store.read()] == ["whole"]


def test_what_a_person_decided_is_not_changed_by_a_repeated_call(store: MemoryProposals) -> None:
    ident = propose(store, "t1.c1", text="seen")
    store.decide([ident], "accepted")
    propose(store, "t1.c1", text="other")

    assert [(each.text, each.status) for each in store.read(decided=True)] == [("seen", "accepted")]


def test_three_are_accepted_per_run_repeats_not_counted(store: MemoryProposals) -> None:
    for key in ("t1.c1", "t1.c2", "t1.c3", "t1.c3", "t1.c1"):
        propose(store, key)

    with pytest.raises(Failure) as caught:
        propose(store, "t1.c4")
    assert caught.value.code is ErrorCode.TOO_MANY_PROPOSALS
    propose(store, "t1.c1", run="another")
    assert len(store.read()) == 4


def test_decided_proposals_still_count_against_the_run(store: MemoryProposals) -> None:
    store.decide([propose(store, f"t1.c{number}") for number in range(3)], "rejected")

    with pytest.raises(Failure):
        propose(store, "t2.c1")


def test_a_decision_can_be_changed_and_takes_starts_of_ids(store: MemoryProposals) -> None:
    ident = propose(store, "t1.c1")

    assert [each.status for each in store.decide([ident[:6], ident], "rejected")] == ["rejected"]
    assert store.read() == []
    assert [each.status for each in store.decide([ident], "accepted")] == ["accepted"]


def test_a_decision_with_one_unknown_id_changes_nothing(store: MemoryProposals) -> None:
    ident = propose(store, "t1.c1")

    with pytest.raises(UsageFault, match="no memory proposal 'nope'"):
        store.decide([ident, "nope"], "accepted")
    assert [each.status for each in store.read()] == ["proposed"]


def test_an_id_nearly_right_is_suggested(store: MemoryProposals) -> None:
    ident = propose(store, "t1.c1")

    with pytest.raises(UsageFault) as caught:
        store.decide([ident[:-1] + "x"], "accepted")
    assert f"did you mean {ident}?" in caught.value.hint


@pytest.mark.parametrize("ref", ["", "%", "\x1b[31m"])
def test_odd_ids_are_unknown(store: MemoryProposals, ref: str) -> None:
    propose(store, "t1.c1")

    with pytest.raises(UsageFault, match="no memory proposal") as caught:
        store.decide([ref], "accepted")
    assert "\x1b" not in str(caught.value)


def test_an_ambiguous_start_lists_what_it_fits(store: MemoryProposals) -> None:
    idents = [propose(store, "t1.c1", run=f"run {number}") for number in range(20)]
    start = next(ident[0] for ident in idents if sum(other[0] == ident[0] for other in idents) > 1)

    with pytest.raises(UsageFault, match=r"is the start of \d+ proposals"):
        store.decide([start], "accepted")


def test_texts_are_kept_as_they_are_without_lone_surrogates(store: MemoryProposals) -> None:
    store.propose(
        "r", "k", task="t\ud800", text="'; DROP\0 \x1b🔥\udfff", tags=["\ud800"], reason="\udc00", created=1.0
    )

    (proposal,) = store.read()
    assert (proposal.text, proposal.tags, proposal.reason) == ("'; DROP\0 \x1b🔥\ufffd", ("\ufffd",), "\ufffd")

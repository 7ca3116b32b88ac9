from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.commands.entry import run_app
from remit.store.memory import MemoryProposals

EVIL = "a fact\x1b]0;pwned\x07\n\x9bsecond line\u202e"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryProposals:
    monkeypatch.setenv("REMIT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("REMIT_CONFIG_DIR", str(tmp_path / "config"))
    return MemoryProposals(str(tmp_path / "state"))


def propose(store: MemoryProposals, key: str, text: str = "Totals are in kEUR.") -> str:
    return store.propose(
        "20260101-000000-aaaaaa", key, task="weekly", text=text, tags=["sales"], reason="the header", created=86400.0
    )


def test_without_proposals_stdout_is_empty(store: MemoryProposals, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["memory", "proposals"]) == 0
    assert capsys.readouterr() == ("", "no memory proposals wait\n")
    assert run_app(["memory", "proposals", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_proposal_is_listed_with_all_that_a_decision_needs(
    store: MemoryProposals, capsys: pytest.CaptureFixture[str]
) -> None:
    ident = propose(store, "t1.c1")

    assert run_app(["memory", "proposals"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{ident}  proposed  1970-01-02 00:00 UTC  weekly #sales",
        "    Totals are in kEUR.",
        "    reason: the header",
    ]


def test_json_has_every_field(store: MemoryProposals, capsys: pytest.CaptureFixture[str]) -> None:
    ident = propose(store, "t1.c1", EVIL)

    assert run_app(["memory", "proposals", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out) == [
        {
            "id": ident,
            "status": "proposed",
            "text": EVIL,
            "tags": ["sales"],
            "reason": "the header",
            "run_id": "20260101-000000-aaaaaa",
            "task": "weekly",
            "created": 86400.0,
        }
    ]
    assert "\x9b" not in out and "\x1b" not in out


def test_what_a_model_wrote_cannot_move_the_cursor(store: MemoryProposals, capsys: pytest.CaptureFixture[str]) -> None:
    ident = propose(store, "t1.c1", EVIL)

    run_app(["memory", "proposals"])
    run_app(["memory", "accept", ident])
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() and "\u202e" not in line for line in lines)
    assert "    a fact\\x1b]0;pwned\\x07" in lines


def test_decided_proposals_are_listed_only_with_all(store: MemoryProposals, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (propose(store, f"t1.c{number}", f"fact {number}") for number in range(3))

    assert run_app(["memory", "accept", first, second]) == 0
    assert capsys.readouterr().out == f"accepted {first}: fact 0\naccepted {second}: fact 1\n"
    assert run_app(["memory", "reject", second[:7]]) == 0
    assert capsys.readouterr().out == f"rejected {second}, which was accepted: fact 1\n"
    run_app(["memory", "proposals"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[::3]] == [third]
    run_app(["memory", "proposals", "--all"])
    shown = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[::3]]
    assert shown == [[first, "accepted"], [second, "rejected"], [third, "proposed"]]


@pytest.mark.parametrize(
    ("before", "verb", "said"),
    [
        ("proposed", "accept", "accepted {}: fact"),
        ("accepted", "accept", "{} was accepted already: fact"),
        ("rejected", "accept", "accepted {}, which was rejected: fact"),
        ("proposed", "reject", "rejected {}: fact"),
        ("accepted", "reject", "rejected {}, which was accepted: fact"),
        ("rejected", "reject", "{} was rejected already: fact"),
    ],
)
def test_a_decision_tells_what_it_changed(
    store: MemoryProposals, capsys: pytest.CaptureFixture[str], before: str, verb: str, said: str
) -> None:
    ident = propose(store, "t1.c1", "fact")
    if before != "proposed":
        store.decide([ident], "accepted" if before == "accepted" else "rejected")
    assert run_app(["memory", verb, ident]) == 0
    assert capsys.readouterr().out == said.format(ident) + "\n"
    assert [each.status for each in store.read(decided=True)] == [f"{verb}ed"]


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_an_unknown_id_is_a_usage_error_and_nothing_is_decided(
    store: MemoryProposals, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    ident = propose(store, "t1.c1")

    assert run_app(["memory", verb, ident, "nope"]) == 2
    out, err = capsys.readouterr()
    assert (out, "there is no memory proposal 'nope'" in err, "hint: " in err) == ("", True, True)
    assert [each.status for each in store.read()] == ["proposed"]


def test_an_id_is_required(store: MemoryProposals, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["memory", "accept"]) == 2


def test_a_damaged_state_is_an_environment_error(
    store: MemoryProposals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.db").write_bytes(b"garbage " * 1000)

    assert run_app(["memory", "proposals"]) == 9
    assert "the state is damaged" in capsys.readouterr().err

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from remit.base.calls import Decision, RuleRef
from remit.base.errors import EnvironmentFault
from remit.base.records import CallChecked, CallStarted
from remit.base.resources import Effect, Resource
from remit.store.journal import FileJournal, read_journal
from remit.store.projections import DecisionLog, LineFile

URL = Resource("url", "https://example.org/", Effect.NETWORK)
REFUSED = CallChecked(
    "t1.c1", "c1", "fetch_url", False, Decision("ask", RuleRef("task", "task.yaml:7", "ask first"), URL), (URL,)
)
ALLOWED = CallChecked("t1.c2", "c2", "update_plan", True, Decision("auto", RuleRef("default", "", "its own plan")))


def test_decisions_follow_the_journal(tmp_path: Path) -> None:
    log = DecisionLog(str(tmp_path / "d"))
    journal = FileJournal(str(tmp_path / "j"), [log])
    for record in (REFUSED, CallStarted("t1.c2"), ALLOWED):
        journal.append(record)

    first, second = (msgspec.json.decode(line) for line in (tmp_path / "d").read_bytes().splitlines())
    assert first == {
        "call": "t1.c1",
        "id": "c1",
        "tool": "fetch_url",
        "allowed": False,
        "decide": "ask",
        "rule": {"source": "task", "where": "task.yaml:7", "why": "ask first"},
        "resource": msgspec.to_builtins(URL),
        "resources": [msgspec.to_builtins(URL)],
        "approval": "",
    }
    assert (second["tool"], second["allowed"], second["resource"]) == ("update_plan", True, None)


def test_decisions_can_be_made_anew_from_the_journal(tmp_path: Path) -> None:
    log = DecisionLog(str(tmp_path / "d"))
    journal = FileJournal(str(tmp_path / "j"), [log])
    for record in (REFUSED, ALLOWED):
        journal.append(record)
    log.close()
    whole = (tmp_path / "d").read_bytes()
    (tmp_path / "d").write_bytes(whole[:-30])

    log = DecisionLog(str(tmp_path / "d"))
    log.rebuild(read_journal(str(tmp_path / "j"))[0])
    assert (tmp_path / "d").read_bytes() == whole
    log(REFUSED)
    assert len((tmp_path / "d").read_bytes().splitlines()) == 3


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (b"", b""),
        (b"one\n", b"one\n"),
        (b"one\ntw", b"one\n"),
        (b"o", b""),
        (b"one\n" + b"x" * 200_000, b"one\n"),
        (b"x" * 200_000, b""),
        (b"x" * 65_535 + b"\n" + b"y" * 65_536, b"x" * 65_535 + b"\n"),
    ],
)
def test_a_line_cut_short_is_cut_off(tmp_path: Path, found: bytes, kept: bytes) -> None:
    (tmp_path / "f").write_bytes(found)

    file = LineFile(str(tmp_path / "f"))
    assert (tmp_path / "f").read_bytes() == kept
    file.append(b"next")
    assert (tmp_path / "f").read_bytes() == kept + b"next\n"
    file.close()
    file.close()


def test_a_link_at_the_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "f").symlink_to(tmp_path / "victim")

    with pytest.raises(EnvironmentFault):
        LineFile(str(tmp_path / "f"))
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_lone_surrogate_does_not_stop_a_decision(tmp_path: Path) -> None:
    odd = msgspec.structs.replace(ALLOWED, tool="a\ud800")
    DecisionLog(str(tmp_path / "d"))(odd)

    assert msgspec.json.decode((tmp_path / "d").read_bytes())["tool"] == "a\ufffd"


def test_a_full_disk_is_told(small_disk: Path) -> None:
    file = LineFile(str(small_disk / "f"))
    with pytest.raises(EnvironmentFault) as caught:
        for _ in range(1000):
            file.append(b"x" * 1000)
    assert caught.value.kind == "disk_full"
    file.close()

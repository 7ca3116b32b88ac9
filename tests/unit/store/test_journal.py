from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from math import inf, nan
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from remit.base.calls import Call, Decision, Retained, RuleRef, done, err
from remit.base.errors import EnvironmentFault, ErrorCode, UsageFault
from remit.base.messages import CallBlock, Cost, ImageBlock, Message, TextBlock, Usage
from remit.base.records import (
    AgentAnswered,
    Answered,
    ArtifactRemoved,
    ArtifactWritten,
    CallChanged,
    CallChecked,
    CallExpanded,
    CallSettled,
    CallsPending,
    CallStarted,
    Compacted,
    GoalJudged,
    HookRan,
    JobEnded,
    JobPromoted,
    JobStarted,
    Noted,
    OutputSubmitted,
    PlanMoved,
    PlanSet,
    PlanWritten,
    PromptEnded,
    Pruned,
    Reached,
    Record,
    Reported,
    RulesChanged,
    RunResumed,
    RunStarted,
    SessionForked,
    Spent,
    TodosSet,
    ToolsLoaded,
    TurnStarted,
    Unanswered,
    UserSaid,
)
from remit.base.resources import Effect, Resource
from remit.store.journal import FileJournal, encode_record, read_journal, repair_journal

READ = Resource("path", "a.txt", Effect.READ)
ALL: list[Record] = [
    RunStarted("20260101-000000-abcdef", "s", "0.1", 1.5, "d" * 64, {"prompt": "hi", "deep": {"a": [1, None]}}),
    RunResumed(2.0, {"x": 1}, "e"),
    UserSaid("line one\nline two \u2028 \x7f \U0001f525"),
    TurnStarted(1),
    Answered(
        1,
        "m",
        Message("assistant", (TextBlock("hi"), CallBlock("c1", "read_file", '{"path": "a.txt"}'))),
        Usage(1, 2),
        "tool_use",
        0.25,
        Cost(0.01, 0.02),
    ),
    Compacted(
        Message("user", (ImageBlock("image/png", "aGk="), TextBlock("in short", "kept"))),
        2,
        "auto",
        "p/m",
        Usage(9),
        1.5,
    ),
    Pruned(("c1", "c2")),
    Unanswered("p/m", Usage(9, 1), 0.5, Cost(0.01), True),
    CallChecked(
        "t1.c1", "c1", "read_file", True, Decision("auto", RuleRef("task", "task.yaml:3", "why"), READ), (READ,)
    ),
    CallExpanded("t1.c1", (Call("t1.c1.b1", "c1.b1", "read_file", "{}", "c1"),)),
    CallStarted("t1.c1"),
    CallSettled("t1.c1", "c1", "read_file", done({"text": "x"}), "{}", 0.5),
    CallSettled("t1.c2", "c2", "read_file", err(ErrorCode.NOT_FOUND, "no"), "{}"),
    CallsPending(("t1.c1",), ("t1.c2",)),
    Spent("network_requests", 1),
    Reached("t1.c1", "shell", "a.example", 443, "no"),
    ArtifactRemoved("r.md", "t2.c1"),
    ArtifactWritten("r.md", 3, "f" * 64, "text/markdown", "t1.c1", "artifacts/r.md"),
    PlanSet(({"step": "a", "status": "pending"},), "note"),
    JobStarted(
        "count-files", "agent", "t1.c1", "call_1", "count files", 1.0, mode="plan", profile="builtin", prompt="p"
    ),
    JobPromoted("count-files"),
    CallChanged("t1.c1", "{}", "client"),
    AgentAnswered("count-files", "p/m", Usage(1, 2), 0.5, Cost(0.1, 0.2)),
    Reported("found", "it is there", blocked=True),
    JobEnded("count-files", "completed", "three", 2.0, True, Retained("output-task", 5, 1, "00")),
    TodosSet(({"content": "a", "status": "pending", "priority": "high"},)),
    ToolsLoaded(("file_index", "code_map")),
    SessionForked("20261130-000000-abcdef", "s", (Message("user", (TextBlock("go"),)),), 2, 1, ("go",)),
    RulesChanged(2, "plan", ("shell:git log *",), (), "flag"),
    PlanWritten(1, 5, "f" * 64),
    PlanMoved("20261130-000000-abcdef"),
    HookRan("h1", "PreToolUse", "shell", "c1", "remit.toml:3", "deny", "no", 2, "", "no"),
    GoalJudged(1, 1, "not_met", "a file is missing", "p/m", Usage(9, 1), 0.5, Cost(0.01)),
    OutputSubmitted({"n": 2**70}, True),
    Noted("warning", "careful"),
    PromptEnded("done", 0, False, {"result": "ok"}),
]


def journal_of(path: Path, records: list[Record]) -> Path:
    journal = FileJournal(str(path))
    for record in records:
        journal.append(record, sync=False)
    journal.close()
    return path


def test_every_kind_of_record_is_in_the_round_trip() -> None:
    assert {type(record) for record in ALL} == set(get_args(Record))


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", ALL)

    assert read_journal(str(path)) == (ALL, False)
    assert len(path.read_bytes().splitlines()) == len(path.read_bytes().split(b"\n")) - 1


def test_appending_goes_on_after_the_records_that_are_there(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", ALL[:3])
    journal_of(path, ALL[3:])

    assert read_journal(str(path))[0] == ALL


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = str(tmp_path / "journal.jsonl")
    journal = FileJournal(path)
    for odd in (inf, -inf, nan):
        with pytest.raises(ValueError, match=f"{odd} at cost.input is no number"):
            journal.append(AgentAnswered("count", "m", Usage(), cost=Cost(odd)))
    journal.append(TurnStarted(1))
    journal.close()
    assert read_journal(path) == ([TurnStarted(1)], False)


def test_a_lone_surrogate_is_written_as_the_replacement_character(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", [UserSaid("a\ud83d"), Noted("warning", "\ud83d\udd25")])

    assert read_journal(str(path))[0] == [UserSaid("a\ufffd"), Noted("warning", "\U0001f525")]


@pytest.mark.parametrize("cut", range(1, len(encode_record(ALL[2])) + 1))
def test_a_torn_tail_is_left_out_and_cut_off_wherever_it_tore(tmp_path: Path, cut: int) -> None:
    path = journal_of(tmp_path / "j", ALL[:3])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    last = len(encode_record(ALL[2]))

    assert read_journal(str(path)) == (ALL[:2], cut != last)
    assert repair_journal(str(path)) == last - cut
    assert path.read_bytes() == whole[:-last]
    assert repair_journal(str(path)) == 0


@pytest.mark.parametrize("tail", [b"\0\0\0\0\0", b"\0\0\0\n", b"{\n", b'{"type": "user_said", "text": "\xff"}\n'])
def test_a_tail_of_garbage_is_torn_too(tmp_path: Path, tail: bytes) -> None:
    path = journal_of(tmp_path / "j", ALL[:2])
    with path.open("ab") as file:
        file.write(tail)

    assert read_journal(str(path)) == (ALL[:2], True)
    assert repair_journal(str(path)) == len(tail)
    assert read_journal(str(path)) == (ALL[:2], False)


def test_appending_to_a_torn_journal_is_refused_until_it_is_repaired(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", ALL[:1])
    with path.open("ab") as file:
        file.write(b'{"type": "call_st')

    with pytest.raises(UsageFault, match="in the middle of a record"):
        FileJournal(str(path))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"garbage", "it is not JSON, and more records follow it"),
        (b"", "it is not JSON, and more records follow it"),
        (b'{"type":"call_started"}', "missing required field `key`"),
        (b'{"key":"t1.c1"}', "missing required field `type`"),
        (b"[1]", "Expected `object`"),
        (b'["type":"call_started","key":"t1.c1"}', "it is not JSON"),
        (b'{"type":"call_started","key":1,', "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
    ],
)
def test_damage_in_the_middle_names_its_line_and_changes_nothing(tmp_path: Path, line: bytes, what: str) -> None:
    path = journal_of(tmp_path / "j", ALL[:3])
    lines = path.read_bytes().split(b"\n")
    lines[1] = line
    path.write_bytes(b"\n".join(lines))
    before = path.read_bytes()

    for read in (read_journal, repair_journal):
        with pytest.raises(UsageFault) as caught:
            read(str(path))
        assert caught.value.where == f"{path}:2"
        assert what in caught.value.what
        assert caught.value.kind == "journal_damaged"
    assert path.read_bytes() == before


def test_a_record_of_a_newer_version_is_said_to_be_one_even_at_the_end(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", ALL[:1])
    with path.open("ab") as file:
        file.write(b'{"type":"dreamt","of":"sheep"}\n')

    with pytest.raises(UsageFault, match="record type 'dreamt' is not known to this version") as caught:
        read_journal(str(path))
    assert caught.value.where == f"{path}:2"
    assert caught.value.kind == "journal_newer"


def test_fields_of_a_newer_version_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b'{"type":"call_started","key":"t1.c1","mood":"good"}\n')

    assert read_journal(str(path)) == ([CallStarted("t1.c1")], False)


def test_an_empty_journal_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "j").touch()

    assert read_journal(str(tmp_path / "j")) == ([], False)


def test_a_journal_that_is_missing_is_an_environment_fault_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        read_journal(str(tmp_path / "j"))
    assert caught.value.where == str(tmp_path / "j")


def test_a_link_at_the_journals_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "j").symlink_to(tmp_path / "victim")

    with pytest.raises(EnvironmentFault):
        FileJournal(str(tmp_path / "j"))
    assert (tmp_path / "victim").read_text() == "precious"


def test_threads_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = FileJournal(str(path))
    texts = [str(number) * 3000 for number in range(4)]

    def write(text: str) -> None:
        for _ in range(50):
            journal.append(UserSaid(text), sync=False)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    records, torn = read_journal(str(path))
    assert not torn
    said = [record.text for record in records if isinstance(record, UserSaid)]
    assert {text: said.count(text) for text in texts} == dict.fromkeys(texts, 50)


def test_followers_hear_each_record_after_it_is_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "j"
    heard: list[tuple[Any, int]] = []
    journal = FileJournal(str(path), [lambda record: heard.append((record, path.stat().st_size))])
    journal.append(ALL[0])
    journal.append(ALL[1])

    first = len(encode_record(ALL[0]))
    assert heard == [(ALL[0], first), (ALL[1], first + len(encode_record(ALL[1])))]


def test_a_closed_journal_takes_nothing(tmp_path: Path) -> None:
    journal = FileJournal(str(tmp_path / "j"))
    journal.close()
    journal.close()

    with pytest.raises(EnvironmentFault, match="closed"):
        journal.append(ALL[0])


FULL_DISK = """
import sys
from remit.base.errors import EnvironmentFault
from remit.base.records import Noted
from remit.store.journal import FileJournal
journal = FileJournal(sys.argv[1])
written = 0
for attempt in range(200):
    try:
        journal.append(Noted("warning", "x" * 100), sync=attempt % 2 == 0)
        written += 1
    except EnvironmentFault as fault:
        print(written, fault.kind, fault.where, "|", fault.hint)
        break
for _ in range(2):
    try:
        journal.append(Noted("warning", "y"))
        print("accepted")
    except EnvironmentFault as fault:
        print("refused", fault.kind)
journal.close()
"""


def test_when_the_disk_is_full_the_torn_line_goes_and_nothing_more_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "j"
    limit = 2_000

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    child = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)],
        preexec_fn=small_files,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    size = len(encode_record(Noted("warning", "x" * 100)))
    first, *rest = child.stdout.splitlines()
    assert first.startswith(f"{limit // size} disk_full {path} | ")
    assert "limit" in first
    assert rest == ["refused disk_full"] * 2
    records, torn = read_journal(str(path))
    assert (len(records), torn) == (limit // size, False)


def test_on_a_full_file_system_the_fault_says_so(small_disk: Path) -> None:
    journal = FileJournal(str(small_disk / "j"))
    with pytest.raises(EnvironmentFault) as caught:
        for _ in range(1000):
            journal.append(Noted("warning", "x" * 1000))
    assert caught.value.kind == "disk_full"
    assert "No space left on device" in caught.value.what
    assert "-o DIR" in caught.value.hint
    journal.close()
    records, torn = read_journal(str(small_disk / "j"))
    assert (len(records) > 30, torn) == (True, False)


def test_lines_are_json_that_any_reader_takes() -> None:
    for record in ALL:
        line = encode_record(record)
        assert line.count(b"\n") == 1
        assert msgspec.json.decode(line)["type"] == type(record).__struct_config__.tag


def test_the_journal_survives_a_reader_that_keeps_it_open(tmp_path: Path) -> None:
    path = journal_of(tmp_path / "j", ALL[:2])
    reader = os.open(path, os.O_RDONLY)
    journal_of(path, ALL[2:3])

    assert len(os.pread(reader, 1 << 20, 0).splitlines()) == 3
    os.close(reader)

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from remit.base.calls import Decision, RuleRef, done, err
from remit.base.errors import ErrorCode
from remit.base.messages import Cost, Message, TextBlock, Usage
from remit.base.records import (
    Answered,
    ArtifactWritten,
    CallChecked,
    CallSettled,
    CallsPending,
    PromptEnded,
    Record,
    RunResumed,
    RunStarted,
    Spent,
)
from remit.base.resources import Effect, Resource
from remit.commands.entry import run_app
from remit.commands.runs import table
from remit.store.journal import FileJournal
from remit.store.run_list import RunEntry
from remit.store.run_status import RunStatus
from remit.store.rundir import RunDir

ONE, TWO, THREE = "20260101-000000-aaaaaa", "20260102-000000-bbbbbb", "20260103-000000-cccccc"
EVIL = "x\x1b]0;pwned\x07\x9b\u202e\n"
URL = Resource("url", "https://example.org/", Effect.NETWORK)
SPEC = {"name": "weekly", "task": "task.yaml", "model": "scripted/demo", "workspace": "/data"}
ASK = Decision("ask", RuleRef("task", "task.yaml:7", "ask first"), URL)


def answered(turn: int, usd: float | None) -> Answered:
    return Answered(
        turn,
        "demo",
        Message("assistant", (TextBlock("x"),)),
        Usage(1000, 50, 200, 34),
        "end_turn",
        1.0,
        usd and Cost(usd),
    )


STORY: list[Record] = [
    RunStarted(ONE, "s", "0", 1000.0, "d", SPEC),
    answered(1, 0.25),
    CallChecked("t1.c1", "c1", "fetch_url", False, ASK, (URL,)),
    CallSettled("t1.c1", "c1", "fetch_url", err(ErrorCode.APPROVAL_REQUIRED, "no"), "{}"),
    CallChecked("t1.c2", "c2", "write_artifact", True, Decision("auto", RuleRef("default", "", "fine"))),
    Spent("artifacts_total_bytes", 1200),
    Spent("network_requests", 1),
    Spent("network_requests", 2),
    ArtifactWritten("a.md", 700, "0" * 64, "text/markdown", "t1.c2", "artifacts/a.md"),
    ArtifactWritten("a.md", 1200, "1" * 64, "text/markdown", "t1.c3", "artifacts/a.md"),
    CallSettled("t1.c2", "c2", "write_artifact", done({}), "{}"),
    answered(2, 0.5),
]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("REMIT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("REMIT_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "state")


def make(state: str, run_id: str, records: list[Record], path: str | None = None, **status: Any) -> RunDir:
    run = RunDir.create(path, state, run_id, started=1000.0)
    journal = FileJournal(run.journal_path)
    for record in records:
        journal.append(record, sync=False)
    journal.close()
    run.update(**status)
    run.close()
    return run


def show(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run_app(["runs", "show", *words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert isinstance(report, dict)
    return report


def test_without_runs_stdout_is_empty(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["runs", "list"]) == 0
    assert capsys.readouterr() == ("", "no runs yet\n")
    assert run_app(["runs", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_runs_are_listed_in_columns_newest_first(
    state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = "3d6f1a52-6a51-4f6e-9b5a-0d9c3f6f2a11"
    more = {"session_id": session, "workspace": "/work", "prompts": 2}
    make(state, ONE, [], status="done", ended=1003.25, model="scripted/demo", name="weekly", **more)
    make(state, TWO, [], str(tmp_path / "out"), ended=8661.0, status="unmet", model="m", name=EVIL)
    make(state, THREE, [], str(tmp_path / "gone"))
    (tmp_path / "gone").rename(tmp_path / "moved")

    assert run_app(["runs", "list", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.split(" {2,}", line) for line in lines] == [
        ["RUN", "STATUS", "STARTED (UTC)", "TOOK", "PROMPTS", "SESSION", "MODEL", "NAME", "DIRECTORY"],
        [THREE, "gone", "-", "-", "0", "-", "-", "-", f"{tmp_path}/gone"],
        [TWO, "unmet", "1970-01-01 00:16:40", "2:07:41", "0", "-", "m", "x\\x1b]0;pwned\\x07\\x9b\\u202e\\n"],
        [ONE, "done", "1970-01-01 00:16:40", "3.2 s", "2", "3d6f1a52", "scripted/demo", "weekly", "/work"],
    ]
    assert lines[3].index("weekly") == lines[0].index("NAME")


def test_runs_that_are_gone_are_hidden_and_counted(
    state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(7):
        run_id = f"20260101-00000{number}-{number:06x}"
        make(state, run_id, [], str(tmp_path / str(number)))
        if number in (1, 4, 5, 6):
            (tmp_path / str(number)).rename(tmp_path / f"moved{number}")

    def listed(*flags: str) -> tuple[list[int], str]:
        assert run_app(["runs", "list", "--json", *flags]) == 0
        out, err = capsys.readouterr()
        return [int(each["run_id"][-6:]) for each in json.loads(out)], err

    assert listed() == ([3, 2, 0], "4 runs whose directories are gone: not shown, --all does\n")
    assert listed("-n", "1") == ([3], "3 runs whose directories are gone: not shown, --all does\n")
    assert listed("-n", "3") == ([3, 2, 0], "4 runs whose directories are gone: not shown, --all does\n")
    assert listed("--all") == ([6, 5, 4, 3, 2, 1, 0], "")
    assert listed("--all", "-n", "4") == ([6, 5, 4, 3], "")
    (tmp_path / "moved6").rename(tmp_path / "6")
    assert listed("-n", "1") == ([6], "")


def test_only_gone_runs_are_said(state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(state, ONE, [], str(tmp_path / "gone"))
    (tmp_path / "gone").rename(tmp_path / "moved")
    assert run_app(["runs", "list"]) == 0
    assert capsys.readouterr() == ("", "1 run whose directory is gone: not shown, --all does\n")


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (None, "RUN STATUS STARTED TOOK PROMPTS SESSION MODEL NAME DIRECTORY"),
        (111, "RUN STATUS STARTED TOOK PROMPTS SESSION MODEL NAME DIRECTORY"),
        (110, "RUN STATUS STARTED TOOK PROMPTS MODEL NAME DIRECTORY"),
        (100, "RUN STATUS STARTED TOOK MODEL NAME DIRECTORY"),
        (80, "RUN STATUS STARTED TOOK NAME DIRECTORY"),
        (72, "RUN STATUS STARTED NAME DIRECTORY"),
    ],
)
def test_a_narrow_terminal_is_shown_fewer_columns(width: int | None, columns: str) -> None:
    told = {"status": "done", "model": "scripted/demo", "name": "weekly", "workspace": "/work/here"}
    status = RunStatus(run_id=ONE, started=1000.0, ended=1003.25, **told)
    lines = table([RunEntry(ONE, "/out", "done", status)], width)
    assert lines[0].replace("(UTC)", "").split() == columns.split()
    assert lines[1].endswith("/work/here") and (width is None or max(map(len, lines)) <= width)


def test_a_line_that_still_does_not_fit_is_cut() -> None:
    lines = table([RunEntry(ONE, "/" + "long/" * 30, "gone")], 80)
    assert [len(line) for line in lines][1] == 80 and lines[1].endswith("...")


def test_the_list_is_bounded(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(25):
        make(state, f"20260101-000000-{number:06x}", [])

    run_app(["runs", "list"])
    assert len(capsys.readouterr().out.splitlines()) == 21
    run_app(["runs", "list", "-n", "2"])
    assert [line[:22] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "20260101-000000-000018",
        "20260101-000000-000017",
    ]
    run_app(["runs", "list", "--json", "-n", "25"])
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) == 25
    assert {entry["state"] for entry in listed} == {"interrupted"}
    assert run_app(["runs", "list", "-n", "0"]) == 2


def test_a_run_is_shown_with_what_it_did_spent_and_was_refused(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    end = PromptEnded("done", 0, False, {"duration_ms": 12300, "errors": []})
    make(state, ONE, [*STORY, end], status="done", verdict="done", exit_code=0, ended=1020.0)

    assert run_app(["runs", "show", "last"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"run {ONE}",
        "  status     done (exit 0)",
        "  name       weekly",
        "  task       task.yaml",
        "  model      scripted/demo",
        "  workspace  /data",
        f"  directory  {state}/runs/{ONE}",
        "  started    1970-01-01 00:16:40 UTC",
        "  took       12.3 s",
        "  spent      2 turns, 2 calls (1 failed or refused), 2,468 tokens in, 100 out, $0.7500, "
        "3 network requests, 1,200 bytes of artifacts",
        "artifact a.md, 1,200 bytes, text/markdown, by t1.c3",
        "refused fetch_url https://example.org/: ask first [task task.yaml:7]",
    ]


def test_json_has_the_same_facts(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    make(state, ONE, STORY, status="done", ended=1020.0)

    report = show(capsys, ONE[:12])
    assert (report["turns"], report["calls"], report["failed_calls"], report["usd"]) == (2, 2, 1, 0.75)
    assert report["usage"] == {"input": 2000, "output": 100, "cache_read": 400, "cache_write": 68}
    assert (report["seconds"], report["next"], report["journal_fault"]) == (20.0, "", "")
    assert [each["sha256"] for each in report["artifacts"]] == ["1" * 64]
    assert report["denials"] == [
        {
            "call": "t1.c1",
            "tool": "fetch_url",
            "resource": "https://example.org/",
            "decide": "ask",
            "rule": {"source": "task", "where": "task.yaml:7", "why": "ask first"},
        }
    ]


def test_a_price_that_is_not_known_makes_the_sum_unknown(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    make(state, ONE, [*STORY, answered(3, None)])

    assert show(capsys, "last")["usd"] is None
    run_app(["runs", "show", "last"])
    assert "cost not known" in capsys.readouterr().out


def test_a_killed_run_can_be_resumed_if_it_had_begun(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    make(state, ONE, STORY[:2])
    make(state, TWO, [])

    assert (show(capsys, ONE)["status"], show(capsys, ONE)["next"]) == ("interrupted", f"remit resume {ONE}")
    assert show(capsys, TWO)["next"] == ""


def test_a_running_run_has_no_next_command(state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir.create(str(tmp_path / "out"), state, ONE, started=1000.0)
    FileJournal(run.journal_path).append(STORY[0])

    report = show(capsys, "out")
    assert (report["status"], report["next"]) == ("running", "")
    run.close()


def test_a_run_that_waits_for_answers_names_the_command_with_approvals(
    state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    end = PromptEnded("refused", 4, True, {"errors": ["one call waits"], "hint": "answer it", "duration_ms": 1})
    records = [*STORY[:3], CallsPending(("t1.c1",), ()), end]
    make(state, ONE, records, status="refused", exit_code=4, resumable=True)

    assert run_app(["runs", "show", ONE]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "error: one call waits",
        "hint: answer it",
        f"next: remit resume {ONE} -a approvals.toml",
    ]


def test_a_call_that_was_allowed_after_all_is_not_shown_as_refused(
    state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    later = [RunResumed(1.0), CallChecked("t1.c1", "c1", "fetch_url", True, ASK, (URL,), "a.toml:3")]
    make(state, ONE, [*STORY[:3], CallsPending(("t1.c1",), ()), *later])

    report = show(capsys, ONE)
    assert (report["denials"], report["pending"]) == ([], 0)


def test_unmet_promises_are_shown_instead_of_the_errors_that_repeat_them(
    state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    end = PromptEnded("unmet", 3, False, {"unmet": ["artifact b.md was not written"], "errors": ["the same"]})
    make(state, ONE, [*STORY, end], status="unmet", exit_code=3)

    assert show(capsys, ONE)["errors"] == ["artifact b.md was not written"]


def test_a_damaged_journal_is_said_and_the_rest_is_shown(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = make(state, ONE, STORY, status="done", exit_code=0, name="weekly", ended=1001.0)
    whole = Path(run.journal_path).read_bytes().split(b"\n")
    whole[1] = b"garbage"
    Path(run.journal_path).write_bytes(b"\n".join(whole))

    assert run_app(["runs", "show", ONE]) == 0
    out = capsys.readouterr().out
    assert "  status     done (exit 0)" in out
    assert "  name       weekly" in out
    assert f"journal: {run.journal_path}:2: the journal is damaged here" in out


def test_what_others_wrote_cannot_move_the_cursor(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    rule = RuleRef(EVIL, EVIL, EVIL)
    records: list[Record] = [
        RunStarted(ONE, "s", "0", 0.0, "d", dict.fromkeys(SPEC, EVIL)),
        CallChecked("t1.c1", EVIL, EVIL, False, Decision("deny", rule, Resource("path", EVIL, Effect.READ))),
        ArtifactWritten(EVIL, 1, "0", EVIL, EVIL, EVIL),
        PromptEnded("provider", 5, True, {"errors": [EVIL], "hint": EVIL}),
    ]
    make(state, ONE, records, status="provider", name=EVIL, model=EVIL)

    for words in (["show", ONE], ["list"], ["show", ONE, "--json"], ["list", "--json"]):
        assert run_app(["runs", *words]) == 0
        out = capsys.readouterr().out
        assert not {"\x1b", "\x07", "\x9b"} & set(out)
        assert "--json" in words or all(line.isprintable() for line in out.splitlines())


@pytest.mark.parametrize("ref", ["nope", "2027"])
def test_an_unknown_run_is_a_usage_error(state: str, capsys: pytest.CaptureFixture[str], ref: str) -> None:
    make(state, ONE, [])

    assert run_app(["runs", "show", ref]) == 2
    out, error = capsys.readouterr()
    assert (out, f"no run is called '{ref}'" in error, "hint: " in error) == ("", True, True)


def test_a_run_is_shown_by_its_directory(state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(state, ONE, STORY, str(tmp_path / "out"))

    assert show(capsys, "out")["run_id"] == ONE
    assert show(capsys, os.path.join(".", "out", ""))["directory"] == str(tmp_path / "out")

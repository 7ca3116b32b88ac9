from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from remit.base.errors import EnvironmentFault, RemitError, UsageFault
from remit.base.records import CallStarted, Noted, PromptEnded, RunResumed, RunStarted, UserSaid
from remit.store.journal import FileJournal, encode_record, read_journal
from remit.store.run_list import find_run, latest_session, list_runs
from remit.store.run_lock import in_use
from remit.store.run_status import RunStatus, is_run_id, new_run_id, read_status
from remit.store.rundir import PARTS, RunDir

ONE, TWO, THREE = "20260101-000000-aaaaaa", "20260102-000000-bbbbbb", "20260103-000000-cccccc"
SESSION = "0a1b2c3d-0000-4000-8000-00000000aaaa"


@dataclass
class FixedClock:
    moment: float

    def now(self) -> float:
        return self.moment

    def monotonic(self) -> float:
        return self.moment


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def fill(run: RunDir) -> None:
    """Give every part of a run something to hold."""
    journal = FileJournal(run.journal_path)
    journal.append(RunStarted(run.run_id, "s", "0", 0.0, "d", {}))
    journal.close()
    for part in PARTS:
        place = Path(run.path, part)
        if part in {"calls", "outputs", "artifacts"}:
            place.mkdir(exist_ok=True)
            (place / "inside").write_text(f"{run.run_id} {part}")
        elif not place.exists():
            place.write_text(f"{run.run_id} {part}")


def contents(place: Path) -> dict[str, str]:
    return {
        str(path.relative_to(place)): path.read_text()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def test_a_run_id_tells_the_time_in_utc_and_some_chance() -> None:
    run_id = new_run_id(FixedClock(1767225599.9), lambda size: bytes(range(0xA0, 0xA0 + size)))

    assert run_id == "20251231-235959-a0a1a2"
    assert is_run_id(run_id)


@pytest.mark.parametrize("text", ["", "last", "20251231-235959-A0A1A2", "20251231-235959-a0a1a", ONE + "\n", "x" + ONE])
def test_other_texts_are_no_run_ids(text: str) -> None:
    assert not is_run_id(text)


def test_a_new_directory_holds_a_running_status_and_an_empty_place_for_artifacts(tmp_path: Path, state: str) -> None:
    run = RunDir.create(str(tmp_path / "a" / "out"), state, ONE, started=12.5)

    assert run.path == str(tmp_path / "a" / "out")
    assert read_status(run.path) == RunStatus(run_id=ONE, status="running", started=12.5, pid=os.getpid())
    assert sorted(os.listdir(run.path)) == ["artifacts", "lock", "run.json"]
    assert (run.archived, run.repaired, run.unregistered) == ("", 0, "")


def test_a_relative_directory_is_taken_from_here(tmp_path: Path, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert RunDir.create("out", state, ONE).path == str(tmp_path / "out")


def test_without_a_directory_the_run_lies_in_the_private_state_directory(state: str) -> None:
    run = RunDir.create(None, state, ONE)

    assert run.path == os.path.join(state, "runs", ONE)
    for place in (state, os.path.join(state, "runs"), run.path):
        assert os.stat(place).st_mode & 0o777 == 0o700


def test_a_chosen_directory_has_the_mode_of_the_umask(tmp_path: Path, state: str) -> None:
    before = os.umask(0o027)
    try:
        run = RunDir.create(str(tmp_path / "out"), state, ONE)
    finally:
        os.umask(before)

    assert os.stat(run.path).st_mode & 0o777 == 0o750
    assert os.stat(os.path.join(run.path, "run.json")).st_mode & 0o777 == 0o640


def test_run_json_is_replaced_whole_and_readable_json(tmp_path: Path, state: str) -> None:
    run = RunDir.create(str(tmp_path / "out"), state, ONE)
    before = os.stat(os.path.join(run.path, "run.json")).st_ino
    run.update(status="unmet", verdict="unmet", exit_code=3, ended=99.0, counts={"turns": 2})

    status = read_status(run.path)
    assert status == run.status
    assert (status.status, status.exit_code, status.counts) == ("unmet", 3, {"turns": 2})  # type: ignore[union-attr]
    assert os.stat(os.path.join(run.path, "run.json")).st_ino != before
    assert not [name for name in os.listdir(run.path) if "tmp" in name]


def test_a_planted_link_at_run_json_or_its_temporary_is_replaced_and_not_followed(tmp_path: Path, state: str) -> None:
    run = RunDir.create(str(tmp_path / "out"), state, ONE)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("run.json", ".run.json.tmp"):
        place = Path(run.path, name)
        place.unlink(missing_ok=True)
        place.symlink_to(victim)
    run.update(status="done")

    assert victim.read_text() == "precious"
    assert not Path(run.path, "run.json").is_symlink()


# One owner


def test_a_directory_in_use_is_refused_with_the_process_that_has_it(tmp_path: Path, state: str) -> None:
    out = str(tmp_path / "out")
    run = RunDir.create(out, state, ONE)

    for take in (lambda: RunDir.create(out, state, TWO), lambda: RunDir.open(out)):
        with pytest.raises(UsageFault, match=f"in use by process {os.getpid()}") as caught:
            take()
        assert caught.value.where == out
        assert caught.value.kind == "in_use"
    # Only a new run may be made elsewhere.
    assert caught.value.hint == "wait for that run to end"
    assert in_use(out)
    run.close()
    assert not in_use(out)


HOLDER = """
import sys
from remit.store.rundir import RunDir
run = RunDir.create(sys.argv[1], sys.argv[2], sys.argv[3])
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_goes_with_its_process_even_when_it_is_killed(tmp_path: Path, state: str) -> None:
    out = str(tmp_path / "out")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, out, state, ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        with pytest.raises(UsageFault, match=f"in use by process {child.pid}"):
            RunDir.create(out, state, TWO)
        assert list_runs(state)[0].state == "running"
        child.kill()
        child.wait()

    assert list_runs(state)[0].state == "interrupted"
    assert RunDir.create(out, state, TWO).archived == ONE


def test_a_child_process_does_not_inherit_the_lock(tmp_path: Path, state: str) -> None:
    out = str(tmp_path / "out")
    run = RunDir.create(out, state, ONE)
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        run.close()
        assert not in_use(out)
        child.kill()


def test_someone_listing_runs_does_not_keep_a_run_from_starting(tmp_path: Path, state: str) -> None:
    out = str(tmp_path / "out")
    RunDir.create(out, state, ONE).close()
    looker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys\nfrom remit.store.run_lock import in_use\nprint(1, flush=True)\n"
            "while True: in_use(sys.argv[1])",
            out,
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert looker.stdout is not None and looker.stdout.readline()
        for number in range(50):
            RunDir.create(out, state, f"20260105-000000-{number:06x}").close()
    finally:
        looker.kill()
        looker.communicate()


# Earlier runs


def test_an_earlier_run_is_moved_whole_into_earlier(tmp_path: Path, state: str) -> None:
    out = tmp_path / "out"
    run = RunDir.create(str(out), state, ONE)
    fill(run)
    run.update(status="done")
    run.close()
    before = contents(out)
    (out / "README").write_text("of the user")

    second = RunDir.create(str(out), state, TWO)

    assert second.archived == ONE
    assert contents(out / "earlier" / ONE) == before
    assert sorted(os.listdir(out)) == ["README", "artifacts", "earlier", "lock", "run.json"]
    assert os.listdir(out / "artifacts") == []
    assert (out / "README").read_text() == "of the user"


def test_each_run_of_a_directory_is_kept(tmp_path: Path, state: str) -> None:
    for run_id in (ONE, TWO, THREE):
        run = RunDir.create(str(tmp_path / "out"), state, run_id)
        fill(run)
        run.close()

    assert sorted(os.listdir(tmp_path / "out" / "earlier")) == [ONE, TWO]
    for run_id in (ONE, TWO, THREE):
        assert find_run(state, run_id).status is not None
    assert find_run(state, ONE).path == str(tmp_path / "out" / "earlier" / ONE)
    assert find_run(state, THREE).path == str(tmp_path / "out")


def move_partly(out: Path, run_id: str, parts: int) -> None:
    """What a process leaves that died while it moved the run away."""
    target = out / "earlier" / run_id
    target.mkdir(parents=True)
    for part in PARTS[:parts]:
        (out / part).rename(target / part)


@pytest.mark.parametrize("parts", range(len(PARTS) + 1))
def test_a_move_cut_short_is_finished_by_the_next_run(tmp_path: Path, state: str, parts: int) -> None:
    out = tmp_path / "out"
    run = RunDir.create(str(out), state, ONE)
    fill(run)
    run.close()
    before = contents(out)
    move_partly(out, ONE, parts)

    RunDir.create(str(out), state, TWO)

    assert contents(out / "earlier" / ONE) == before


@pytest.mark.parametrize("parts", range(len(PARTS) + 1))
def test_a_move_cut_short_is_taken_back_by_a_resume(tmp_path: Path, state: str, parts: int) -> None:
    out = tmp_path / "out"
    run = RunDir.create(str(out), state, ONE)
    fill(run)
    run.close()
    before = contents(out)
    move_partly(out, ONE, parts)

    again = RunDir.open(find_run(state, ONE).path)

    assert again.path == str(out)
    assert contents(out) == before
    assert not (out / "earlier").exists()


def test_a_move_that_cannot_be_made_says_why_and_loses_nothing(tmp_path: Path, state: str) -> None:
    out = tmp_path / "out"
    run = RunDir.create(str(out), state, ONE)
    fill(run)
    run.close()
    before = contents(out)
    (out / "earlier").symlink_to(tmp_path)

    with pytest.raises(EnvironmentFault):
        RunDir.create(str(out), state, TWO)
    assert {name: text for name, text in contents(out).items() if not name.startswith("earlier")} == before


# Resuming


def test_opening_a_run_cuts_the_torn_tail_of_its_journal(tmp_path: Path, state: str) -> None:
    run = RunDir.create(str(tmp_path / "out"), state, ONE)
    fill(run)
    run.close()
    with open(run.journal_path, "ab") as file:
        file.write(b'{"type":"call_')

    again = RunDir.open(run.path)

    assert again.repaired == 14
    assert again.status.run_id == ONE
    FileJournal(again.journal_path).append(CallStarted("t1.c1"))
    assert len(read_journal(again.journal_path)[0]) == 2


def test_a_run_without_a_journal_has_nothing_to_resume(tmp_path: Path, state: str) -> None:
    RunDir.create(str(tmp_path / "out"), state, ONE).close()

    with pytest.raises(UsageFault, match="before its first record"):
        RunDir.open(str(tmp_path / "out"))
    assert not in_use(str(tmp_path / "out"))


@pytest.mark.parametrize("make", [lambda place: place.mkdir(), lambda place: place.write_text("x"), lambda place: None])
def test_what_holds_no_run_cannot_be_opened(tmp_path: Path, make: object) -> None:
    make(tmp_path / "out")  # type: ignore[operator]

    with pytest.raises(UsageFault, match="no run is here"):
        RunDir.open(str(tmp_path / "out"))


def test_damage_in_the_journal_keeps_a_run_from_opening_and_frees_the_lock(tmp_path: Path, state: str) -> None:
    run = RunDir.create(str(tmp_path / "out"), state, ONE)
    fill(run)
    run.close()
    with open(run.journal_path, "ab") as file:
        file.write(b"garbage\n" + b"{}\n")

    with pytest.raises(UsageFault, match="damaged"):
        RunDir.open(run.path)
    assert not in_use(run.path)


# Places that will not do


def loop(place: Path) -> None:
    place.symlink_to(place)


@pytest.mark.parametrize(
    ("make", "below", "what"),
    [
        (lambda place: place.write_text("x"), "", "not a directory"),
        (lambda place: place.write_text("x"), "deeper/still", "not a directory"),
        (os.mkfifo, "", "not a directory"),
        (lambda place: place.symlink_to("nowhere"), "", "a link that leads nowhere"),
        (lambda place: place.symlink_to("nowhere"), "deeper", "a link that leads nowhere"),
        (loop, "", "a link that leads nowhere"),
        (loop, "deeper", "a link that leads nowhere"),
    ],
)
def test_a_place_that_is_no_directory_is_refused_by_name(
    tmp_path: Path, state: str, make: object, below: str, what: str
) -> None:
    place = tmp_path / "out"
    make(place)  # type: ignore[operator]

    with pytest.raises(UsageFault) as caught:
        RunDir.create(str(place / below), state, ONE)
    assert caught.value.where == str(place)
    assert what in caught.value.what
    assert "-o DIR" in caught.value.hint


@pytest.mark.parametrize("place", ["/", "//", "home", "home/", "link", "home/../home/."])
def test_root_and_home_directory_are_no_place_for_a_run(
    tmp_path: Path, state: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageFault, match=r"a run does not put its files into (your home|the root)") as caught:
        RunDir.create(place, state, ONE)
    assert (caught.value.kind, "-o out" in caught.value.hint) == ("out_dir", True)
    assert not list(home.iterdir()) and not Path("/run.json").exists()
    RunDir.create("home/out", state, ONE).close()


def test_a_link_to_a_directory_is_followed(tmp_path: Path, state: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")

    run = RunDir.create(str(tmp_path / "out"), state, ONE)
    run.close()

    assert run.path == str(tmp_path / "real")
    assert (tmp_path / "real" / "run.json").exists()
    assert [entry.path for entry in list_runs(state)] == [run.path]
    assert [find_run(state, ref).path for ref in (ONE, str(tmp_path / "out"), f"{tmp_path}/out/")] == [run.path] * 3


def test_files_of_others_are_left_alone(tmp_path: Path, state: str) -> None:
    (tmp_path / "data.csv").write_text("a,b")
    (tmp_path / "sub").mkdir()

    RunDir.create(str(tmp_path), state, ONE)

    assert (tmp_path / "data.csv").read_text() == "a,b"


@pytest.mark.parametrize("name", [*PARTS, "run.json", "lock"])
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_files_of_others_under_our_names_are_a_reason_to_refuse(
    tmp_path: Path, state: str, name: str, kind: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    if kind == "file":
        (out / name).write_text('{"name": "theirs"}')
    else:
        (out / name).mkdir()

    with pytest.raises(UsageFault, match=f"'{re.escape(name)}' there does not belong to a run") as caught:
        RunDir.create(str(out), state, ONE)
    assert caught.value.where == str(out)
    assert os.listdir(out) == [name]
    if kind == "file":
        assert (out / name).read_text() == '{"name": "theirs"}'


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path, state: str) -> None:
    (tmp_path / "victim").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "lock").symlink_to(tmp_path / "victim")

    with pytest.raises(UsageFault, match="'lock'"):
        RunDir.create(str(tmp_path / "out"), state, ONE)
    assert (tmp_path / "victim").read_bytes() == b""


UNPRIVILEGED = """
import fcntl, os, sys
from remit.base.errors import RemitError
from remit.store.rundir import RunDir
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
path, state = sys.argv[1:3]
try:
    run = RunDir.create(path or None, state, "20260101-000000-aaaaaa")
    print("ok", run.unregistered)
except RemitError as fault:
    print(type(fault).__name__, fault.kind, fault.where, fault.hint, sep="|")
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that any user may enter."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        yield Path(place)


def as_nobody(path: str, state: str) -> str:
    child = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, path, state], capture_output=True, text=True, check=True, timeout=60
    )
    return child.stdout.strip()


@pytest.mark.parametrize("below", ["", "deeper", "deeper/still"])
def test_a_directory_that_cannot_be_written_is_an_environment_fault(shared: Path, below: str) -> None:
    locked, state = shared / "locked", shared / "state"
    locked.mkdir()
    state.mkdir()
    state.chmod(0o777)
    locked.chmod(0o555)

    kind, code, where, hint = as_nobody(str(locked / below), str(state)).split("|")

    assert (kind, code, where) == ("EnvironmentFault", "not_writable", str(locked / below))
    assert "-o DIR" in hint
    assert os.listdir(locked) == []
    locked.chmod(0o755)


def test_a_state_directory_that_cannot_be_written_stops_only_runs_that_lie_there(shared: Path) -> None:
    locked, out = shared / "locked", shared / "out"
    locked.mkdir()
    locked.chmod(0o555)
    out.mkdir()
    out.chmod(0o777)

    assert as_nobody("", str(locked / "remit")).startswith(f"EnvironmentFault|not_writable|{locked}/remit")
    assert as_nobody(str(out), str(locked / "remit")).startswith(f"ok {locked}/remit: cannot create the directory")
    locked.chmod(0o755)


# Finding runs


@pytest.fixture
def three(tmp_path: Path, state: str) -> str:
    """ONE in the state directory, done; TWO with a directory of its own, refused; THREE, killed."""
    for run_id, path, status in (
        (ONE, None, "done"),
        (TWO, str(tmp_path / "two"), "refused"),
        (THREE, str(tmp_path / "three"), "running"),
    ):
        run = RunDir.create(path, state, run_id)
        run.update(status=status)
        run.close()
    return state


def test_runs_are_listed_newest_first(tmp_path: Path, three: str) -> None:
    assert [(entry.run_id, entry.path, entry.state) for entry in list_runs(three)] == [
        (THREE, str(tmp_path / "three"), "interrupted"),
        (TWO, str(tmp_path / "two"), "refused"),
        (ONE, os.path.join(three, "runs", ONE), "done"),
    ]
    assert [entry.run_id for entry in list_runs(three, 1)] == [THREE]


def test_within_one_second_runs_are_listed_by_when_they_began(state: str) -> None:
    began = {
        f"20260101-000000-{chance}": moment for chance, moment in (("aaaaaa", 0.7), ("bbbbbb", 0.2), ("cccccc", 0.5))
    }
    for run_id, moment in began.items():
        run = RunDir.create(None, state, run_id, started=moment)
        run.update(session_id=SESSION, workspace="/w")
        run.close()

    assert [entry.run_id[-6:] for entry in list_runs(state)] == ["aaaaaa", "cccccc", "bbbbbb"]
    assert [entry.run_id[-6:] for entry in list_runs(state, 2)] == ["aaaaaa", "cccccc"]
    newest = [find_run(state, "last"), find_run(state, SESSION), latest_session(state, "/w")]
    assert [entry.run_id[-6:] for entry in newest if entry] == ["aaaaaa"] * 3


def test_what_vanished_is_listed_as_gone(tmp_path: Path, three: str) -> None:
    (tmp_path / "two").rename(tmp_path / "moved-2")
    (tmp_path / "three").rename(tmp_path / "moved")
    Path(three, "runs", ONE, "run.json").unlink()
    Path(three, "runs", "stray").write_text("x")
    Path(three, "runs", "20260104-000000-dddddd.json").write_text("not json")

    assert [entry.state for entry in list_runs(three)] == ["gone"] * 4
    with pytest.raises(UsageFault, match="is gone") as caught:
        find_run(three, TWO)
    assert caught.value.where == str(tmp_path / "two")


BROKEN = [b"", b"{", b"\xff", b"[]", b'{"run_id": "x"}', b"\0" * 400]


def started(run_id: str) -> RunStarted:
    spec = {"name": "n", "task": "t.yaml", "model": "m/x", "workspace": "/w"}
    return RunStarted(run_id, SESSION, "0", 5.0, "d", spec)


def ending(verdict: str, code: int) -> PromptEnded:
    return PromptEnded(verdict, code, code != 0, {"num_turns": 3, "counts": {"calls": 2}})


@pytest.mark.parametrize("content", BROKEN)
def test_a_run_whose_status_is_damaged_stands_as_its_journal_says(tmp_path: Path, three: str, content: bytes) -> None:
    place = tmp_path / "two"
    (place / "run.json").write_bytes(content)
    (place / "journal.jsonl").write_bytes(encode_record(started(TWO)))
    for entry in (find_run(three, TWO), find_run(three, str(place))):
        assert entry.status == RunStatus(
            run_id=TWO,
            session_id=SESSION,
            started=5.0,
            name="n",
            task="t.yaml",
            model="m/x",
            workspace="/w",
            resumable=True,
        )
        assert entry.state == "interrupted"
    with (place / "journal.jsonl").open("ab") as file:
        # One prompt, of which a second process made no more.
        for record in (UserSaid("go"), ending("budget", 3), RunResumed(6.0), ending("budget", 3)):
            file.write(encode_record(record))
    status = find_run(three, TWO).status
    assert status is not None
    assert (status.status, status.exit_code, status.prompts, status.counts) == (
        "budget",
        3,
        1,
        {"calls": 2, "turns": 3},
    )

    run = RunDir.open(str(place))
    run.update(name="other")
    run.close()
    assert msgspec.json.decode((place / "run.json").read_bytes())["run_id"] == TWO


def test_a_run_whose_status_is_damaged_makes_way_for_another(tmp_path: Path, three: str) -> None:
    place = tmp_path / "two"
    (place / "run.json").write_text("{")
    (place / "journal.jsonl").write_bytes(encode_record(started(TWO)))
    run = RunDir.create(str(place), three, "20260107-000000-eeeeee")
    run.close()
    assert run.archived == TWO and (place / "earlier" / TWO / "journal.jsonl").exists()
    assert find_run(three, TWO).path == str(place / "earlier" / TWO)


@pytest.mark.parametrize("journal", [b"", b"not json\n", encode_record(ending("done", 0))])
def test_a_run_of_which_nothing_can_be_read_is_damaged_and_not_gone(tmp_path: Path, three: str, journal: bytes) -> None:
    (tmp_path / "two" / "run.json").write_text("{")
    (tmp_path / "two" / "journal.jsonl").write_bytes(journal)
    assert {entry.run_id: entry.state for entry in list_runs(three)}[TWO] == "damaged"
    with pytest.raises(UsageFault, match=r"run.json of run .* cannot be read") as caught:
        find_run(three, TWO)
    assert (caught.value.where, caught.value.kind) == (str(tmp_path / "two"), "run_damaged")


def test_a_list_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path, three: str) -> None:
    state = tmp_path / "other"
    state.mkdir()
    (state / "runs").write_text("a file")
    for ask in (list_runs, lambda state_dir: find_run(state_dir, "last"), lambda state_dir: find_run(state_dir, TWO)):
        with pytest.raises(EnvironmentFault, match="cannot read the list of runs: Not a directory") as caught:
            ask(str(state))
        assert caught.value.where == str(state / "runs")
    # A directory is found without the list.
    assert find_run(str(state), str(tmp_path / "two")).run_id == TWO


def test_without_a_state_directory_there_are_no_runs(tmp_path: Path) -> None:
    assert list_runs(str(tmp_path / "none")) == []
    with pytest.raises(UsageFault, match="no run yet"):
        find_run(str(tmp_path / "none"), "last")


@pytest.mark.parametrize(("ref", "found"), [(ONE, ONE), (TWO[:8], TWO), (THREE[:-1], THREE), ("last", THREE)])
def test_a_run_is_found_by_id_start_or_last(three: str, ref: str, found: str) -> None:
    assert find_run(three, ref).run_id == found


def test_last_passes_over_runs_that_are_gone(tmp_path: Path, three: str) -> None:
    (tmp_path / "three").rename(tmp_path / "moved")

    assert find_run(three, "last").run_id == TWO


def test_a_run_is_found_by_its_directory_registered_or_not(
    tmp_path: Path, three: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert find_run(three, "two").run_id == TWO
    (tmp_path / "three").rename(tmp_path / "moved")
    assert find_run(three, "./moved/").path == str(tmp_path / "moved")


def test_an_ambiguous_start_lists_the_runs_it_fits(three: str) -> None:
    with pytest.raises(UsageFault) as caught:
        find_run(three, "2026")
    assert caught.value.what == f"'2026' is the start of 3 runs: {THREE}, {TWO}, {ONE}"


def test_a_long_ambiguous_list_is_cut_and_counted(state: str) -> None:
    for number in range(13):
        RunDir.create(None, state, f"20260101-000000-{number:06x}").close()

    with pytest.raises(UsageFault, match=r"13 runs: .* and 3 more"):
        find_run(state, "2026")


@pytest.mark.parametrize("ref", ["", "nope", "two-not-here", "..", "\x1b[31m"])
def test_an_unknown_run_is_refused(three: str, ref: str) -> None:
    with pytest.raises(UsageFault, match="no run is called") as caught:
        find_run(three, ref)
    assert "\x1b" not in str(caught.value)


def test_a_run_nearly_spelled_right_is_suggested(three: str) -> None:
    with pytest.raises(UsageFault) as caught:
        find_run(three, "20260101-000000-aaaaba")
    assert f"did you mean {ONE}" in caught.value.hint


def test_a_directory_without_a_run_says_so(tmp_path: Path, three: str) -> None:
    with pytest.raises(UsageFault, match="the directory of that name holds no run"):
        find_run(three, str(tmp_path))


def test_a_pointer_leads_only_to_the_run_it_names(tmp_path: Path, three: str) -> None:
    Path(three, "runs", f"{TWO}.json").write_bytes(msgspec.json.encode({"path": str(tmp_path / "three")}))

    assert {entry.run_id: entry.state for entry in list_runs(three)}[TWO] == "gone"


def test_on_a_full_disk_run_json_is_written_in_place_or_stays_whole(small_disk: Path, state: str) -> None:
    run = RunDir.create(str(small_disk / "out"), state, ONE)
    journal = FileJournal(run.journal_path)
    with pytest.raises(EnvironmentFault):
        while True:
            journal.append(Noted("warning", "x" * 500), sync=False)
    (small_disk / "filler").write_bytes(b"")
    with pytest.raises(OSError, match="No space"), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x")
    run.update(status="environment", exit_code=9, error="e" * 9000)
    status = read_status(run.path)
    assert status == run.status and status is not None
    assert (status.status, status.exit_code, status.error) == ("environment", 9, "e" * 500)
    # What takes more room than there is.
    with pytest.raises(EnvironmentFault) as caught:
        run.update(name="n" * 5000)
    assert (caught.value.kind, caught.value.where) == ("disk_full", run.path)
    assert read_status(run.path) == status == run.status
    with pytest.raises(RemitError):
        RunDir.create(str(small_disk / "other"), state, TWO)
    run.close()
    journal.close()


def test_a_run_whose_status_is_gone_stands_by_its_journal(tmp_path: Path, state: str) -> None:
    run = RunDir.create(str(tmp_path / "out"), state, ONE)
    journal = FileJournal(run.journal_path)
    journal.append(RunStarted(ONE, SESSION, "0", 1.0, "d", {"name": "weekly"}), sync=True)
    journal.close()
    run.close()
    (tmp_path / "out" / "run.json").unlink()
    entry = find_run(state, str(tmp_path / "out"))
    assert entry.status is not None and (entry.run_id, entry.state, entry.status.name) == (ONE, "interrupted", "weekly")
    RunDir.open(str(tmp_path / "out")).close()


def test_a_pipe_in_the_place_of_the_journal_is_not_waited_for(tmp_path: Path, state: str) -> None:
    run = RunDir.create(str(tmp_path / "out"), state, ONE)
    run.close()
    os.mkfifo(run.journal_path)
    with pytest.raises(EnvironmentFault, match="not a regular file"):
        read_journal(run.journal_path)
    (tmp_path / "out" / "run.json").unlink()
    with pytest.raises(UsageFault):
        find_run(state, str(tmp_path / "out"))

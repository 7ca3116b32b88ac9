from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from remit.base.calls import Retained, done
from remit.base.errors import EnvironmentFault, ErrorCode, Failure
from remit.base.records import CallSettled
from remit.store.outputs import KEPT_WHOLE_BYTES, OutputStore, plain_name


def keep(store: OutputStore, text: str, producer: str = "seq", *, cut: bool = True) -> Retained | None:
    return store.retain("t1.c1", producer, text, cut=cut, sync=False)


def kept(store: OutputStore, text: str, producer: str = "seq") -> str:
    retained = keep(store, text, producer)
    assert retained is not None
    return retained.handle


def settled(retained: Retained | None) -> CallSettled:
    return CallSettled("t1.c1", "c", "shell", done({}), "shown", output=retained)


def refusal(store: OutputStore, handle: str) -> str:
    with pytest.raises(Failure) as caught:
        store.read(handle)
    assert caught.value.code is ErrorCode.NOT_FOUND
    return caught.value.message


def test_a_result_is_kept_whole_and_private(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path))
    retained = keep(store, "Grüße\n\x00 1\n")
    place = tmp_path / "outputs" / "output-seq.txt"

    content = "Grüße\n\x00 1\n".encode()
    assert retained == Retained("output-seq", len(content), 2, hashlib.sha256(content).hexdigest())
    assert store.read("output-seq") == "Grüße\n\x00 1\n"
    assert place.read_bytes() == content
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert os.listdir(place.parent) == ["output-seq.txt"]


@pytest.mark.parametrize(("size", "is_kept"), [(KEPT_WHOLE_BYTES, False), (KEPT_WHOLE_BYTES + 1, True)])
def test_what_was_shown_whole_is_kept_when_it_is_long(tmp_path: Path, size: int, is_kept: bool) -> None:
    store = OutputStore(str(tmp_path))
    assert (keep(store, "x" * size, cut=False) is not None) is is_kept
    assert (tmp_path / "outputs").exists() is is_kept


def test_handles_are_counted_on_where_they_collide(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path))
    made = [("a", "ls"), ("b", "ls-2"), ("c", "ls"), ("d", "LS"), ("e", "cat")]
    names = [kept(store, text, producer) for text, producer in made]
    assert names == ["output-ls", "output-ls-2", "output-ls-3", "output-ls-4", "output-cat"]
    assert [store.read(name) for name in names] == ["a", "b", "c", "d", "e"]


def test_the_same_result_of_the_same_program_is_kept_once(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path))
    assert [kept(store, text) for text in ("a", "b", "a", "b")] == ["output-seq", "output-seq-2"] * 2
    assert kept(store, "a", "tac") == "output-tac"
    (tmp_path / "outputs" / "output-seq.txt").unlink()
    assert kept(store, "a") == "output-seq" and store.read("output-seq") == "a"


@pytest.mark.parametrize(
    ("producer", "name"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("a\nb\x00c", "a-b-c"),
        ("", "result"),
        ("💥", "result"),
        ("$(rm", "rm"),
        ("Git", "git"),
        ("x" * 500, "x" * 32),
        ("x" * 31 + "-y", "x" * 31),
        (".", "result"),
        ("file_read", "file_read"),
    ],
)
def test_hostile_names_become_plain_ones(tmp_path: Path, producer: str, name: str) -> None:
    store = OutputStore(str(tmp_path))
    assert plain_name(producer) == name
    assert kept(store, "it", producer) == f"output-{name}"
    assert os.listdir(tmp_path) == ["outputs"] and store.read(f"output-{name}") == "it"


@pytest.mark.parametrize("handle", ["output-tac", "../journal.jsonl", "/etc/passwd", "output-seq.txt", "", "\x00"])
def test_what_is_not_this_runs_looks_as_if_there_were_none(tmp_path: Path, handle: str) -> None:
    other, store = OutputStore(str(tmp_path)), OutputStore(str(tmp_path))
    kept(other, "secret of another", "tac")
    kept(store, "1\n2\n")
    said = refusal(store, handle)
    assert said.startswith("there is no output ") and said.endswith("of this run are: output-seq (2 lines)")


def test_without_outputs_that_is_said(tmp_path: Path) -> None:
    assert refusal(OutputStore(str(tmp_path)), "x").endswith("are: none; results that are not cut are not kept")


def test_the_newest_outputs_are_named(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path))
    for number in range(23):
        kept(store, f"{number}")
    said = refusal(store, "x")
    assert "are: output-seq-23 (1 lines), " in said and said.endswith("output-seq-4 (1 lines), and 3 older ones")


def test_the_oldest_go_when_there_is_too_much(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path), total=300)
    names = [kept(store, letter * 100) for letter in "abc"]
    assert [each.handle for each in store.held()] == names
    names.append(kept(store, "d"))
    assert [each.handle for each in store.held()] == names[1:]
    assert sorted(os.listdir(tmp_path / "outputs")) == sorted(f"{name}.txt" for name in names[1:])
    assert "no longer kept" in refusal(store, "output-seq")
    # Its name is not given again, and what is needed again is kept again.
    assert kept(store, "a" * 100) == "output-seq-5"


def test_one_result_is_kept_even_if_it_is_all_there_may_be(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path), total=10)
    assert store.read(kept(store, "x" * 100)) == "x" * 100


def test_of_a_huge_result_head_and_tail_are_kept(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path), max_bytes=1000)
    assert store.read(kept(store, "x" * 1000)) == "x" * 1000
    text = store.read(kept(store, "a" + "x" * 1000 + "z"))
    assert len(text) <= 1000 and text[0] == "a" and text[-1] == "z" and "bytes left out" in text


def test_the_journal_says_what_there_is(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path), total=300)
    records = [settled(keep(store, letter * 100)) for letter in "abcde"]
    again = OutputStore(str(tmp_path), total=300)
    again.rebuild([*records, settled(None), records[-1]])
    assert again.held() == store.held()
    assert again.read("output-seq-5") == "e" * 100
    assert "no longer kept" in refusal(again, "output-seq")
    assert kept(again, "f" * 100) == "output-seq-6"


def test_a_file_that_no_record_names_is_written_over(tmp_path: Path) -> None:
    store = OutputStore(str(tmp_path))
    first = settled(keep(store, "first"))
    keep(store, "of a call that died")
    again = OutputStore(str(tmp_path))
    again.rebuild([first])
    assert "there is no output" in refusal(again, "output-seq-2")
    assert kept(again, "the call again") == "output-seq-2" and again.read("output-seq-2") == "the call again"


@pytest.mark.parametrize("how", ["gone", "changed", "link", "pipe", "directory"])
def test_what_is_not_as_the_run_wrote_it_is_not_shown(tmp_path: Path, how: str) -> None:
    store = OutputStore(str(tmp_path))
    kept(store, "mine")
    place = tmp_path / "outputs" / "output-seq.txt"
    place.unlink()
    if how == "changed":
        place.write_text("not!")
    elif how == "link":
        (tmp_path / "elsewhere").write_text("mine")
        place.symlink_to(tmp_path / "elsewhere")
    elif how == "pipe":
        os.mkfifo(place)
    elif how == "directory":
        place.mkdir()
    said = refusal(store, "output-seq")
    assert said.endswith("since the run wrote it; make the call again")
    assert ("was changed" in said) is (how == "changed")


def test_a_link_in_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "outputs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentFault) as caught:
        keep(OutputStore(str(tmp_path)), "x")
    assert caught.value.where == str(tmp_path / "outputs")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_full_disk_is_told(small_disk: Path) -> None:
    store = OutputStore(str(small_disk))
    kept(store, "x" * 1000)
    with pytest.raises(EnvironmentFault) as caught:
        keep(store, "y" * 300_000)
    assert caught.value.kind == "disk_full"
    assert os.listdir(small_disk / "outputs") == ["output-seq.txt"] and store.read("output-seq") == "x" * 1000


WRITER = """
import sys
from remit.store.outputs import OutputStore

store = OutputStore(sys.argv[1])
store.retain("t1.c1", "seq", "first", cut=True, sync=True)
print("ready", flush=True)
number = 0
while True:
    number += 1
    store.retain("t1.c1", "cat", str(number % 10) * 3_000_000, cut=True, sync=False)
    store = OutputStore(sys.argv[1])
"""


def test_a_kill_in_the_middle_of_a_write_leaves_whole_files(tmp_path: Path) -> None:
    for pause in (0.0, 0.004, 0.009, 0.013):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=pause or 0.0001)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert (tmp_path / "outputs" / "output-seq.txt").read_text() == "first"
        rewritten = tmp_path / "outputs" / "output-cat.txt"
        if rewritten.exists():
            content = rewritten.read_bytes()
            assert len(content) == 3_000_000 and len(set(content)) == 1
    store = OutputStore(str(tmp_path))
    assert kept(store, "after", "cat") == "output-cat" and store.read("output-cat") == "after"

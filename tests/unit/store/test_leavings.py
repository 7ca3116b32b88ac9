from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.store.leavings import FOLDER, Leaving, Leavings, sweep

HOLDER = """
import sys
from remit.store.leavings import Leavings
leavings = Leavings(sys.argv[1])
leavings.note("private", sys.argv[2])
leavings.note("unfinished", sys.argv[2])
print("noted", flush=True)
sys.stdin.read()
"""


def swept(state: Path) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def remove(leaving: Leaving) -> None:
        found.append((leaving.kind, leaving.path))

    sweep(str(state), {"private": remove, "unfinished": remove})
    return found


def test_only_a_dead_process_has_left_something(tmp_path: Path) -> None:
    state, place = tmp_path / "state", tmp_path / "place"
    place.mkdir()
    argv = [sys.executable, "-c", HOLDER, str(state), str(place)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"noted\n"
        assert swept(state) == []
        holder.kill()
        holder.wait()
        assert swept(state) == [("private", str(place)), ("unfinished", str(place))]
    assert swept(state) == [] and not os.listdir(state / FOLDER)


def test_who_ends_leaves_no_word(tmp_path: Path) -> None:
    leavings = Leavings(str(tmp_path))
    leavings.close()
    assert not (tmp_path / FOLDER).exists()
    leavings.note("private", str(tmp_path))
    assert len(os.listdir(tmp_path / FOLDER)) == 1
    leavings.close()
    assert not os.listdir(tmp_path / FOLDER)


def test_what_was_replaced_since_is_not_touched(tmp_path: Path) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    place.mkdir()
    other.mkdir()
    leavings = Leavings(str(tmp_path))
    leavings.note("private", str(place))
    place.rmdir()
    other.rename(place)
    [note] = (tmp_path / FOLDER).iterdir()
    (tmp_path / FOLDER / "dead").write_bytes(note.read_bytes())
    assert swept(tmp_path) == [] and [each.name for each in (tmp_path / FOLDER).iterdir()] == [note.name]
    leavings.close()


def test_a_place_is_noted_once(tmp_path: Path) -> None:
    leavings = Leavings(str(tmp_path))
    for _ in range(3):
        leavings.note("unfinished", str(tmp_path))
    [note] = (tmp_path / FOLDER).iterdir()
    assert len(note.read_bytes().splitlines()) == 1
    leavings.close()


@pytest.mark.parametrize("content", [b"", b"\xff\n", b'["private"]\n', b'["other","/x",1,2]\n', b'["private","/x'])
def test_a_note_that_cannot_be_read_is_thrown_away(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "dead").write_bytes(content)
    assert swept(tmp_path) == [] and not os.listdir(tmp_path / FOLDER)


def test_where_nothing_can_be_noted_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    leavings = Leavings(str(tmp_path / "file"))
    leavings.note("private", str(tmp_path))
    leavings.close()
    assert swept(tmp_path / "file") == []

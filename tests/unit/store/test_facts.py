from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.unprivileged import unprivileged
from remit.store.facts import FILE, KeptFacts

VALUES = {b"one": b"1" * 5000, b"two": b"2" * 5000, b"three": b""}


def stored(folder: Path, values: dict[bytes, bytes] = VALUES) -> Path:
    with KeptFacts(str(folder)).opened() as kept:
        kept.keep(values)
    return folder / FILE


def known(folder: Path, keys: list[bytes] | None = None) -> dict[bytes, bytes]:
    with KeptFacts(str(folder)).opened() as kept:
        return kept.values(keys or list(VALUES))


def test_what_was_kept_is_known_to_the_next(tmp_path: Path) -> None:
    stored(tmp_path / "cache")
    assert known(tmp_path / "cache") == VALUES
    assert known(tmp_path / "cache", [b"two", b"four"]) == {b"two": VALUES[b"two"]}


def test_more_keys_than_one_statement_takes(tmp_path: Path) -> None:
    values = {number.to_bytes(4, "big"): b"x" for number in range(1201)}
    stored(tmp_path, values)
    assert known(tmp_path, list(values)) == values


def test_a_later_value_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    stored(tmp_path, {b"one": b"old"})
    stored(tmp_path, {b"one": b"new"})
    assert known(tmp_path, [b"one"]) == {b"one": b"new"}


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    file = stored(tmp_path / "above" / "cache")
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = stored(tmp_path)
    file.chmod(0o644)
    assert known(tmp_path) == VALUES
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_without_a_folder_nothing_is_kept() -> None:
    with KeptFacts("").opened() as kept:
        kept.keep(VALUES)
        assert kept.values(list(VALUES)) == {}


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 10_000])
def test_a_file_that_was_cut_off_is_made_anew(tmp_path: Path, size: int) -> None:
    file = stored(tmp_path)
    os.truncate(file, size)
    assert set(known(tmp_path).items()) <= set(VALUES.items())
    stored(tmp_path)
    assert known(tmp_path) == VALUES


@pytest.mark.parametrize("at", range(0, 20_000, 487))
def test_flipped_bytes_never_become_facts(tmp_path: Path, at: int) -> None:
    file = stored(tmp_path)
    content = bytearray(file.read_bytes())
    for byte in range(at, min(at + 16, len(content))):
        content[byte] ^= 0xFF
    file.write_bytes(content)
    assert set(known(tmp_path).items()) <= set(VALUES.items())
    stored(tmp_path)
    stored(tmp_path)
    assert known(tmp_path) == VALUES


def test_a_value_under_the_key_of_another_is_not_believed(tmp_path: Path) -> None:
    file = stored(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE kept SET value = (SELECT value FROM kept WHERE key = ?) WHERE key = ?", (b"one", b"two")
        )
    connection.close()
    assert known(tmp_path) == {}
    assert not file.exists()


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE kept (key BLOB, value BLOB)",
        "CREATE TABLE kept (key BLOB NOT NULL UNIQUE, value TEXT, used INT); INSERT INTO kept VALUES ('one', 'x', 1)",
        "CREATE VIEW kept AS SELECT 1 AS key, 2 AS value, 3 AS used",
    ],
)
def test_a_file_of_another_layout_is_made_anew(tmp_path: Path, script: str) -> None:
    connection = sqlite3.connect(tmp_path / FILE)
    connection.executescript(script)
    connection.close()
    assert known(tmp_path) == {}
    stored(tmp_path)
    assert known(tmp_path) == VALUES


def test_a_file_that_is_no_database_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"facts of all kinds\n" * 1000)
    assert known(tmp_path) == {}
    stored(tmp_path)
    assert known(tmp_path) == VALUES


def test_what_stands_in_its_place_is_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine\n")
    (tmp_path / FILE).symlink_to(elsewhere)
    stored(tmp_path)
    assert known(tmp_path) == {}
    assert elsewhere.read_text() == "mine\n"
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / FILE)
    assert known(tmp_path / "pipe") == {}


def test_a_folder_that_may_not_be_used(tmp_path: Path) -> None:
    stored(tmp_path)
    tmp_path.chmod(0o500)
    with unprivileged():
        assert set(known(tmp_path).items()) <= set(VALUES.items())
        stored(tmp_path, {b"four": b"4"})
        stored(tmp_path / "below")
    tmp_path.chmod(0o700)
    assert known(tmp_path, [b"one", b"four"]) == {b"one": VALUES[b"one"]}


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    stored(tmp_path / "cache")
    assert known(tmp_path / "cache") == {}


def test_a_full_disk_is_no_fault(tmp_path: Path) -> None:
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from remit.store.facts import KeptFacts\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "with KeptFacts(sys.argv[1]).opened() as kept:\n"
        "    kept.keep({b'large': bytes(100_000)})\n"
        "    print(kept.usable)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "False\n", "")
    stored(tmp_path)
    assert known(tmp_path) == VALUES


def test_while_another_process_writes_reading_goes_on(tmp_path: Path) -> None:
    file = stored(tmp_path)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM kept")
    with KeptFacts(str(tmp_path)).opened() as kept:
        assert kept.values(list(VALUES)) == VALUES
        kept.keep({b"four": b"4"})
        assert not kept.usable
    other.execute("ROLLBACK")
    other.close()
    assert known(tmp_path, [b"one", b"four"]) == {b"one": VALUES[b"one"]}


def test_processes_that_start_and_keep_at_once(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from remit.store.facts import KeptFacts\n"
        "print(flush=True); sys.stdin.readline()\n"
        "with KeptFacts(sys.argv[1]).opened() as kept:\n"
        "    kept.keep({b'%s %d' % (sys.argv[2].encode(), n): bytes(1000) for n in range(300)})\n"
        "    print(kept.usable)\n"
    )
    argv = [sys.executable, "-c", script, str(tmp_path)]
    processes = [
        subprocess.Popen([*argv, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    ended = [process.communicate("go\n")[0] for process in processes]
    assert ended == ["True\n"] * 3
    keys = [b"%c %d" % (name, number) for name in b"abc" for number in range(300)]
    assert len(known(tmp_path, keys)) == 900


def test_the_oldest_go_when_it_is_full(tmp_path: Path) -> None:
    limit = 2 << 20
    file = stored(tmp_path, {b"old %d" % number: bytes(1000) for number in range(600)})
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE kept SET used = used - 1")
        connection.execute("UPDATE kept SET used = used - 1 WHERE key = ?", (b"old 7",))
    connection.close()
    with KeptFacts(str(tmp_path), limit).opened() as kept:
        assert set(kept.values([b"old 7"])) == {b"old 7"}
        kept.keep({})
    for turn in range(6):
        with KeptFacts(str(tmp_path), limit).opened() as kept:
            kept.keep({b"%d %d" % (turn, number): bytes(1000) for number in range(500)})
            assert kept.usable
            assert len(kept.values([b"%d %d" % (turn, number) for number in range(500)])) == 500
        if turn == 0:
            # Of use today, and so younger than those beside it.
            assert set(known(tmp_path, [b"old 7"])) == {b"old 7"}
    assert known(tmp_path, [b"old 8"]) == {}
    assert file.stat().st_size <= limit * 1.1


def test_what_was_of_use_today_is_told_without_being_read(tmp_path: Path) -> None:
    file = stored(tmp_path, {b"one": b"1", b"two": b"2", b"three": b"3"})
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE kept SET used = used - 1")
    connection.close()
    with KeptFacts(str(tmp_path)).opened() as kept:
        assert not kept.stale
        kept.values([b"one"])
        assert kept.stale
        kept.touch([b"two", b"unknown"])
        assert not kept.stale
    with contextlib.closing(sqlite3.connect(file)) as connection:
        last = connection.execute("SELECT key FROM kept WHERE used = (SELECT max(used) FROM kept) ORDER BY key")
        assert last.fetchall() == [(b"one",), (b"two",)]


def test_more_than_there_is_room_for_is_kept_in_part(tmp_path: Path) -> None:
    with KeptFacts(str(tmp_path), 1 << 20).opened() as kept:
        kept.keep({b"%d" % number: bytes(10_000) for number in range(200)})
        assert 20 < len(kept.values([b"%d" % number for number in range(200)])) < 110
    assert (tmp_path / FILE).stat().st_size <= 1.1 * (1 << 20)

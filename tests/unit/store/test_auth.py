from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from remit.base.errors import EnvironmentFault, PreflightFault, UsageFault
from remit.store.auth import MAX_FILE_BYTES, AuthFile

KEY = "sk-secret-0123456789"
GOOD = f'version = 1\n[keys]\nopenai = "{KEY}"\n'


@pytest.fixture
def file(tmp_path: Path) -> AuthFile:
    return AuthFile(str(tmp_path / "config"))


def place(file: AuthFile, content: str | bytes, mode: int = 0o600) -> Path:
    path = Path(file.path)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def refused(file: AuthFile) -> PreflightFault:
    """The fault of every use of the file, which leaves it as it is and shows nothing of it."""
    path = Path(file.path)
    before = path.lstat()
    for use in (file.read, lambda: file.set("a", "b"), lambda: file.remove("openai")):
        with pytest.raises(PreflightFault) as caught:
            use()
        assert caught.value.kind == "auth_file" and KEY not in str(caught.value)
    after = path.lstat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)
    return caught.value


def test_without_a_file_there_are_no_keys_and_none_is_made(file: AuthFile) -> None:
    assert file.read() == {} and file.remove("openai") is False
    assert not Path(file.path).parent.exists()


def test_keys_are_stored_replaced_and_removed(file: AuthFile) -> None:
    file.set("openai", "one")
    file.set("mycorp", "two")
    file.set("openai", "three")
    assert file.read() == {"openai": "three", "mycorp": "two"}
    assert (file.remove("openai"), file.remove("openai")) == (True, False)
    assert AuthFile(str(Path(file.path).parent)).read() == {"mycorp": "two"}


def test_only_the_owner_can_reach_it(file: AuthFile) -> None:
    old = os.umask(0)
    try:
        file.set("openai", KEY)
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(file.path)).st_mode) == 0o700
    lock = os.path.join(os.path.dirname(file.path), ".auth.toml.lock")
    assert stat.S_IMODE(os.stat(lock).st_mode) == 0o600


@pytest.mark.parametrize("key", ['a"b', "a\\b", "\\", '"', "a\tb", "\x00\x1f\x7f", "a'b", "ä€😀", "]#=", " a "])
def test_every_key_of_one_line_comes_back(file: AuthFile, key: str) -> None:
    file.set("openai", key)
    file.set('my.corp "x"', key)
    assert file.read() == {"openai": key, 'my.corp "x"': key}
    assert tomli.loads(Path(file.path).read_text(encoding="utf-8"))["keys"]["openai"] == key


@pytest.mark.parametrize("key", ["", "a\nb", "a\n", "a\rb"])
def test_a_key_is_one_line(file: AuthFile, key: str) -> None:
    with pytest.raises(UsageFault, match="the key of openai is not one line of text"):
        file.set("openai", key)
    assert not os.path.exists(file.path)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_modes_that_are_allowed(file: AuthFile, mode: int) -> None:
    place(file, GOOD, mode)
    assert file.read() == {"openai": KEY}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o601, 0o610, 0o602])
def test_a_file_that_others_can_reach_is_refused(file: AuthFile, mode: int) -> None:
    path = place(file, GOOD, mode)
    fault = refused(file)
    assert f"mode {mode:04o}" in fault.what and fault.where == str(path) and fault.hint == f"chmod 600 {path}"


def test_a_file_of_another_owner_is_refused(file: AuthFile) -> None:
    path = place(file, GOOD)
    try:
        os.chown(path, 65534, -1)
    except PermissionError:
        pytest.skip("giving a file to another user needs root")
    fault = refused(file)
    assert "belongs to the user 65534" in fault.what and f"chmod 600 {path}" in fault.hint


@pytest.mark.parametrize("target", ["elsewhere", "gone"])
def test_a_link_is_refused(file: AuthFile, tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere").write_text(GOOD)
    (tmp_path / "elsewhere").chmod(0o600)
    Path(file.path).parent.mkdir()
    Path(file.path).symlink_to(tmp_path / target)
    assert "is a link" in refused(file).what
    assert (tmp_path / "elsewhere").read_text() == GOOD and not (tmp_path / "gone").exists()


def test_what_is_no_file_is_refused(file: AuthFile) -> None:
    Path(file.path).mkdir(parents=True)
    assert "not a regular file" in refused(file).what
    Path(file.path).rmdir()
    os.mkfifo(file.path, 0o600)
    assert "not a regular file" in refused(file).what


def test_a_directory_that_everybody_can_write_is_refused(file: AuthFile) -> None:
    path = place(file, GOOD)
    path.parent.chmod(0o703)
    fault = refused(file)
    assert "mode 0703" in fault.what and fault.where == str(path.parent) and fault.hint == f"chmod o-w {path.parent}"
    path.parent.chmod(0o775)
    assert file.read() == {"openai": KEY}


@pytest.mark.parametrize(
    ("content", "words", "line"),
    [
        ("", "it has no `version = 1`", ""),
        (f'[keys]\nopenai = "{KEY}"\n', "it has no `version = 1`", ""),
        (f'version = true\n[keys]\nopenai = "{KEY}"\n', "it has no `version = 1`", ""),
        ("version = 2\n", "version 2, newer than 1", ""),
        (f"version = 1\n[keys]\nopenai = {KEY}\n", "it is not valid TOML", ":3"),
        (f'version = 1\n[keys]\nopenai = "{KEY}\n', "it is not valid TOML", ":3"),
        ("version = 1\nx = " + "[" * 5000, "it is not valid TOML", ""),
        ("version = 1\nx = " + "9" * 5000, "it is not valid TOML", ""),
        (b"version = 1\n\xff", "it is not UTF-8", ""),
        (f'version = 1\nopenai = "{KEY}"\n', "something else than `[keys]`", ""),
        ("version = 1\n[keys]\nopenai = 3\n", "something else than `[keys]`", ""),
        ('version = 1\n[keys]\nopenai = ""\n', "something else than `[keys]`", ""),
        ("version = 1\nkeys = []\n", "something else than `[keys]`", ""),
        ("#" * (MAX_FILE_BYTES + 1), "larger than", ""),
    ],
)
def test_a_damaged_file_is_told_and_never_overwritten(
    file: AuthFile, content: str | bytes, words: str, line: str
) -> None:
    path = place(file, content)
    fault = refused(file)
    assert words in fault.what and fault.where == f"{path}{line}"
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)


def test_the_largest_file(file: AuthFile) -> None:
    place(file, GOOD + "#" * (MAX_FILE_BYTES - len(GOOD)))
    assert file.read() == {"openai": KEY}


def test_a_file_with_no_keys_left(file: AuthFile) -> None:
    file.set("openai", KEY)
    file.remove("openai")
    assert file.read() == {}
    place(file, "version = 1\n")
    assert file.read() == {}


def test_a_directory_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = AuthFile(str(tmp_path / "file"))
    assert file.read() == {}
    with pytest.raises(EnvironmentFault, match="cannot write the keys"):
        file.set("openai", KEY)


def test_a_full_disk_leaves_what_there_was(small_disk: Path) -> None:
    file = AuthFile(str(small_disk))
    small_disk.chmod(0o700)
    file.set("openai", KEY)
    with pytest.raises(EnvironmentFault) as caught:
        file.set("big", "k" * (512 * 1024))
    assert caught.value.kind == "disk_full" and "-o DIR" not in caught.value.hint
    assert file.read() == {"openai": KEY}
    assert sorted(os.listdir(small_disk)) == [".auth.toml.lock", "auth.toml"]


WRITER = """
import sys
from remit.store.auth import AuthFile
file, name = AuthFile(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    file.set(f"{name}-{number}", "k" * 200)
    print(number, flush=True)
"""


def writer(file: AuthFile, name: str, times: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, os.path.dirname(file.path), name, str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_of_what_many_processes_store_nothing_is_lost(file: AuthFile) -> None:
    writers = [writer(file, f"p{number}", 5) for number in range(8)]
    for each in writers:
        each.communicate(timeout=60)
    assert [each.returncode for each in writers] == [0] * 8
    assert file.read().keys() == {f"p{process}-{number}" for process in range(8) for number in range(5)}


def test_a_killed_process_leaves_a_whole_file_and_no_lock(file: AuthFile) -> None:
    file.set("openai", KEY)
    for attempt in range(6):
        process = writer(file, f"p{attempt}", 100_000)
        assert process.stdout is not None
        for _ in range(1 + attempt * 3):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        kept = file.read()
        assert kept["openai"] == KEY
        assert {f"p{attempt}-{number}" for number in range(1 + attempt * 3)} <= kept.keys()
    file.set("openai", "new")
    assert file.read()["openai"] == "new"
    assert sorted(os.listdir(os.path.dirname(file.path))) == [".auth.toml.lock", "auth.toml"]

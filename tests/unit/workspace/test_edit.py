from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.unprivileged import unprivileged
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Change
from remit.base.resources import Effect
from remit.workspace.edit import EditsGrant
from remit.workspace.publish import Publication
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld

OpenRoot = Callable[[Path], Root]
LIMIT = 1 << 20
RENAME_EXCHANGE = 2


@pytest.fixture
def root(workspace: Path) -> Iterator[Root]:
    with Root(workspace) as opened:
        yield opened


def grant(root: Root, *names: str) -> EditsGrant:
    world = WorkspaceWorld(root)
    return EditsGrant(root, [world.path(name, Effect.WRITE) for name in names])


def go() -> None:
    """The check of a call that goes on."""


def write(root: Root, name: str, content: bytes, mode: int | None = None) -> str:
    edits = grant(root, name)
    (mark,) = edits.publish([Change(edits.read(name, LIMIT), content, mode)], go)
    return mark


def refusal(action: Callable[[], object]) -> Failure:
    with pytest.raises(Failure) as caught:
        action()
    return caught.value


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a directory, the temporary ones too, and every empty directory."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {
        name: path.read_bytes() if path.is_file() else b"/"
        for name, path in found.items()
        if path.is_file() or (path.is_dir() and not any(path.iterdir()))
    }


# -- one file ----------------------------------------------------------------------------------


def test_a_file_is_replaced_and_keeps_its_mode(open_root: OpenRoot, workspace: Path) -> None:
    root = open_root(workspace)
    os.chmod(workspace / "a.txt", 0o754)
    edits = grant(root, "a.txt")
    original = edits.read("a.txt", LIMIT)
    info = os.stat(workspace / "a.txt")
    assert original.content == b"alpha"
    assert original.mark == f"{info.st_mtime_ns}:5:{info.st_ino}"
    assert original.mode == 0o754
    (mark,) = edits.publish([Change(original, b"other")], go)
    info = os.stat(workspace / "a.txt")
    assert tree(workspace) == {"a.txt": b"other", "docs/b.txt": b"beta"}
    assert stat.S_IMODE(info.st_mode) == 0o754
    assert mark == f"{info.st_mtime_ns}:5:{info.st_ino}" == grant(root, "a.txt").read("a.txt", LIMIT).mark


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(root: Root, workspace: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write(root, "new/deep/f", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(workspace / "new/deep/f").st_mode) == mode
    assert stat.S_IMODE(os.stat(workspace / "new/deep").st_mode) == 0o777 & ~mask


def test_a_new_file_may_be_given_a_mode(root: Root, workspace: Path) -> None:
    write(root, "run.sh", b"x", mode=0o755)
    assert stat.S_IMODE(os.stat(workspace / "run.sh").st_mode) == 0o755


@pytest.mark.parametrize("name", ["l", "d/b.txt"])
def test_a_link_stays_and_its_target_is_written(open_root: OpenRoot, workspace: Path, name: str) -> None:
    (workspace / "l").symlink_to("docs/b.txt")
    (workspace / "d").symlink_to("docs")
    root = open_root(workspace)
    edits = grant(root, name)
    original = edits.read(name, LIMIT)
    assert (original.name, original.real, original.linked) == (name, "docs/b.txt", name == "l")
    edits.publish([Change(original, b"new")], go)
    assert (workspace / "docs/b.txt").read_bytes() == b"new"
    assert (workspace / "l").is_symlink()
    assert (workspace / "d").is_symlink()


def test_a_link_to_nothing_inside_is_followed(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("docs/new.txt")
    root = open_root(workspace)
    write(root, "l", b"new")
    assert (workspace / "l").is_symlink()
    assert (workspace / "docs/new.txt").read_bytes() == b"new"


@pytest.mark.parametrize("target", ["../outside/new", "../outside", "../outside/secret.txt", "docs/../../outside/new"])
@pytest.mark.parametrize("name", ["l", "l/new", "new/../l"])
def test_nothing_leads_out(open_root: OpenRoot, workspace: Path, target: str, name: str) -> None:
    (workspace / "l").symlink_to(target)
    root = open_root(workspace)
    assert refusal(lambda: write(root, name, b"x")).code is ErrorCode.PATH_REFUSED
    assert tree(workspace.parent / "outside") == {"secret.txt": b"outside"}


def test_names_that_are_not_utf_8_are_reached_through_links(open_root: OpenRoot, workspace: Path) -> None:
    raw = os.fsencode(str(workspace)) + b"/od\xff\n"
    os.mkdir(raw)
    with open(raw + b"/f\xfe", "wb") as file:
        file.write(b"old")
    os.symlink(b"od\xff\n/f\xfe", os.fsencode(str(workspace)) + b"/l")
    root = open_root(workspace)
    write(root, "l", b"new")
    with open(raw + b"/f\xfe", "rb") as file:
        assert file.read() == b"new"


def test_a_hard_link_is_broken_and_said(root: Root, workspace: Path) -> None:
    os.link(workspace / "a.txt", workspace.parent / "outside/a")
    edits = grant(root, "a.txt")
    original = edits.read("a.txt", LIMIT)
    assert original.links == 2
    edits.publish([Change(original, b"new")], go)
    assert (workspace / "a.txt").read_bytes() == b"new"
    assert (workspace.parent / "outside/a").read_bytes() == b"alpha"


def test_what_is_no_file_is_refused(root: Root, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "null").symlink_to("/dev/null")
    assert refusal(lambda: write(root, "pipe", b"x")).code is ErrorCode.NOT_A_FILE
    assert refusal(lambda: write(root, "docs", b"x")).code is ErrorCode.NOT_A_FILE
    assert refusal(lambda: write(root, ".", b"x")).code is ErrorCode.NOT_A_FILE
    assert refusal(lambda: write(root, "null", b"x")).code is ErrorCode.PATH_REFUSED
    assert refusal(lambda: write(root, "a.txt/b", b"x")).code is ErrorCode.NOT_A_DIRECTORY
    assert refusal(lambda: write(root, "../a", b"x")).code is ErrorCode.PATH_REFUSED
    assert tree(workspace)["a.txt"] == b"alpha"


@pytest.mark.parametrize("name", ["proc/self/comm", "proc/self/environ", "sys/new", "dev/null"])
def test_a_workspace_that_is_all_of_the_disk_ends_where_the_system_begins(name: str) -> None:
    with Root("/") as root:
        failure = refusal(lambda: grant(root, name).read(name, LIMIT))
    assert failure.code in (ErrorCode.PATH_REFUSED, ErrorCode.NOT_A_FILE)


def test_a_large_file_is_refused_before_it_is_read(root: Root, workspace: Path) -> None:
    os.truncate(workspace / "a.txt", LIMIT)
    assert len(grant(root, "a.txt").read("a.txt", LIMIT).content or b"") == LIMIT
    for size in (LIMIT + 1, 10 << 30):
        os.truncate(workspace / "a.txt", size)
        failure = refusal(lambda: grant(root, "a.txt").read("a.txt", LIMIT))
        assert failure.code is ErrorCode.FILE_TOO_LARGE
        assert str(size) in failure.message


def test_a_read_only_file_is_refused(root: Root, workspace: Path) -> None:
    os.chmod(workspace, 0o777)
    os.chmod(workspace / "a.txt", 0o444)
    with unprivileged():
        failure = refusal(lambda: write(root, "a.txt", b"x"))
    assert failure.code is ErrorCode.IO_ERROR
    assert "read-only" in failure.message


def test_a_directory_that_may_not_be_written_is_an_error(root: Root, workspace: Path) -> None:
    os.chmod(workspace / "docs", 0o555)
    with unprivileged():
        failure = refusal(lambda: write(root, "docs/new", b"x"))
    assert failure.code is ErrorCode.IO_ERROR
    assert "nothing was changed" in failure.message


def test_attributes_stay(root: Root, workspace: Path) -> None:
    os.setxattr(workspace / "a.txt", "user.note", b"kept")
    write(root, "a.txt", b"new")
    assert os.getxattr(workspace / "a.txt", "user.note") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_stay(root: Root, workspace: Path) -> None:
    os.chown(workspace / "a.txt", 12, 34)
    os.chmod(workspace / "a.txt", 0o6755)
    write(root, "a.txt", b"new")
    info = os.stat(workspace / "a.txt")
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (12, 34, 0o6755)


def test_only_what_was_declared(root: Root, workspace: Path) -> None:
    edits = grant(root, "a.txt")
    assert refusal(lambda: edits.read("docs/b.txt", LIMIT)).code is ErrorCode.UNDECLARED
    other = grant(root, "docs/b.txt").read("docs/b.txt", LIMIT)
    assert refusal(lambda: edits.publish([Change(other, b"x")], go)).code is ErrorCode.UNDECLARED
    reads = EditsGrant(root, [WorkspaceWorld(root).path("a.txt", Effect.READ)])
    assert refusal(lambda: reads.read("a.txt", LIMIT)).code is ErrorCode.UNDECLARED
    absolute = str(workspace / "a.txt")
    assert edits.read(absolute, LIMIT).name == "a.txt"


# -- what changes meanwhile --------------------------------------------------------------------


def test_a_file_that_changed_since_it_was_read(root: Root, workspace: Path) -> None:
    edits = grant(root, "a.txt", "docs/b.txt")
    first, second = edits.read("a.txt", LIMIT), edits.read("docs/b.txt", LIMIT)
    (workspace / "docs/b.txt").write_bytes(b"BETA")
    failure = refusal(lambda: edits.publish([Change(first, b"x"), Change(second, b"y")], go))
    assert failure.code is ErrorCode.FILE_CHANGED
    assert "docs/b.txt" in failure.message
    assert tree(workspace) == {"a.txt": b"alpha", "docs/b.txt": b"BETA"}


def test_a_file_that_went_or_came_since(root: Root, workspace: Path) -> None:
    edits = grant(root, "a.txt", "new")
    old, new = edits.read("a.txt", LIMIT), edits.read("new", LIMIT)
    os.unlink(workspace / "a.txt")
    assert refusal(lambda: edits.publish([Change(old, b"x")], go)).code is ErrorCode.FILE_CHANGED
    (workspace / "new").write_bytes(b"theirs")
    assert refusal(lambda: edits.publish([Change(new, b"x")], go)).code is ErrorCode.ALREADY_EXISTS
    assert (workspace / "new").read_bytes() == b"theirs"


def test_a_name_that_leads_elsewhere_by_now(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("a.txt")
    root = open_root(workspace)
    edits = grant(root, "l")
    original = edits.read("l", LIMIT)
    (workspace / "l").unlink()
    (workspace / "l").symlink_to("docs/b.txt")
    assert refusal(lambda: edits.read("l", LIMIT)).code is ErrorCode.FILE_CHANGED
    assert refusal(lambda: edits.publish([Change(original, b"x")], go)).code is ErrorCode.FILE_CHANGED
    assert tree(workspace)["docs/b.txt"] == b"beta"


def test_a_call_that_is_over_touches_nothing(root: Root, workspace: Path) -> None:
    def cancelled() -> None:
        raise Failure(ErrorCode.CANCELLED, "it was cancelled")

    edits = grant(root, "a.txt", "n/f")
    changes = [Change(edits.read("a.txt", LIMIT), b"x"), Change(edits.read("n/f", LIMIT), b"y")]
    assert refusal(lambda: edits.publish(changes, cancelled)).code is ErrorCode.CANCELLED
    assert tree(workspace) == {"a.txt": b"alpha", "docs/b.txt": b"beta"}


@pytest.mark.parametrize("swap", ["link", "directory"])
def test_swapped_directories_never_lead_out(workspace: Path, swap: str) -> None:
    """Somebody swaps a directory for a link, and back, as fast as they can, while files in it are written."""
    outside = workspace.parent / "outside"
    over = threading.Event()
    if swap == "link":
        (workspace / "other").symlink_to(outside)
    else:
        (workspace / "other").mkdir()
    names = [os.fsencode(str(workspace / name)) for name in ("docs", "other")]

    def swapping() -> None:
        libc = ctypes.CDLL(None)
        draw = random.Random(5)
        while not over.wait(draw.random() * 0.02):
            assert libc.renameat2(-100, names[0], -100, names[1], RENAME_EXCHANGE) == 0

    thread = threading.Thread(target=swapping)
    thread.start()
    written = 0
    try:
        with Root(workspace) as root:
            for number in range(2000):
                if written >= 5 and number >= 60:
                    break
                try:
                    write(root, "docs/b.txt" if number % 2 else f"docs/new{number}", b"%d" % number)
                    written += 1
                except Failure as failure:
                    assert failure.code in {
                        ErrorCode.PATH_REFUSED,
                        ErrorCode.FILE_CHANGED,
                        ErrorCode.ALREADY_EXISTS,
                        ErrorCode.NOT_FOUND,
                        ErrorCode.IO_ERROR,
                    }, failure
    finally:
        over.set()
        thread.join()
    assert tree(outside) == {"secret.txt": b"outside"}
    assert written
    assert not [name for name in tree(workspace) if ".remit-" in name]


# -- several files -----------------------------------------------------------------------------


def plan(root: Root) -> list[Change]:
    """One change of each kind, in three directories."""
    edits = grant(root, "a.txt", "docs/b.txt", "gone.txt", "x/y/new.txt")
    contents = {"a.txt": b"ALPHA", "docs/b.txt": b"BETA", "gone.txt": None, "x/y/new.txt": b"new"}
    return [Change(edits.read(name, LIMIT), content) for name, content in contents.items()]


OLD = {"a.txt": b"alpha", "docs/b.txt": b"beta", "gone.txt": b"gone"}
NEW = {"a.txt": b"ALPHA", "docs/b.txt": b"BETA", "x/y/new.txt": b"new"}


@pytest.fixture
def three(workspace: Path) -> Path:
    (workspace / "gone.txt").write_bytes(b"gone")
    return workspace


def test_all_of_them(root: Root, three: Path) -> None:
    edits = grant(root, *(OLD | NEW))
    marks = edits.publish(plan(root), go)
    assert tree(three) == NEW
    assert [bool(mark) for mark in marks] == [True, True, False, True]


class Step:
    """Raises at the nth touch of the file system."""

    def __init__(self, number: int, error: BaseException) -> None:
        self._left = number
        self._error = error

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise self._error


def test_whatever_fails_all_is_as_before(root: Root, three: Path) -> None:
    for number in count(1):
        inodes = {name: os.stat(three / name).st_ino for name in OLD}
        try:
            Publication(root, plan(root), go, Step(number, OSError(errno.ENOSPC, "No space left on device"))).run()
        except Failure as failure:
            assert failure.code is ErrorCode.IO_ERROR
            assert "nothing was changed: No space left on device" in failure.message
        else:
            break
        assert tree(three) == OLD
        assert {name: os.stat(three / name).st_ino for name in OLD} == inodes
    assert number > 15
    assert tree(three) == NEW


KILLED = """
import os, signal, sys
from itertools import count
from remit.base.ports import Change
from remit.base.resources import Effect
from remit.workspace.edit import EditsGrant
from remit.workspace.publish import Publication
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld

numbers = count(1)
contents = {"a.txt": b"ALPHA", "docs/b.txt": b"BETA", "gone.txt": None, "x/y/new.txt": b"new"}

def step():
    if next(numbers) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

with Root(sys.argv[1]) as root:
    world = WorkspaceWorld(root)
    edits = EditsGrant(root, [world.path(name, Effect.WRITE) for name in contents])
    plan = [Change(edits.read(name, 1 << 20), content) for name, content in contents.items()]
    Publication(root, plan, lambda: None, step).run()
"""


def test_killed_at_any_step_each_file_is_whole(three: Path) -> None:
    """And what is left behind goes with the next publication there."""
    for number in count(1):
        for name, content in OLD.items():
            (three / name).write_bytes(content)
        code = subprocess.run([sys.executable, "-c", KILLED, str(three), str(number)], check=False).returncode
        if code == 0:
            break
        assert code == -signal.SIGKILL
        files = {name: content for name, content in tree(three).items() if ".remit-" not in name and content != b"/"}
        assert set(files) <= {*OLD, *NEW}
        for name in {*OLD, *NEW}:
            assert files.get(name) in (OLD.get(name), NEW.get(name)), (number, name)
        with Root(three) as root:
            for name in NEW:
                write(root, name, b"again%d" % number)
        assert not [name for name in tree(three) if ".remit-" in name]
        shutil.rmtree(three / "x", ignore_errors=True)
    assert number > 15
    assert tree(three) == NEW


def test_a_living_publication_is_not_cleared_away(root: Root, workspace: Path) -> None:
    """While one is under way another writes in the same directory, and takes none of its files."""
    edits = grant(root, "a.txt")
    original = edits.read("a.txt", LIMIT)

    def meanwhile() -> None:
        write(root, "beside.txt", b"x")

    edits.publish([Change(original, b"new")], meanwhile)
    assert tree(workspace) == {"a.txt": b"new", "beside.txt": b"x", "docs/b.txt": b"beta"}


def test_only_what_is_ours_is_cleared_away(root: Root, workspace: Path) -> None:
    kept = [".remit-0123456789abcdef.tmp.txt", ".remit-xyz.tmp", ".remit-0123456789abcdef.kept", "remit.tmp"]
    for name in kept:
        (workspace / name).write_bytes(b"x")
    (workspace / ".remit-0123456789abcdef.tmp").write_bytes(b"stray")
    (workspace / ".remit-0123456789abcdee.tmp").mkdir()
    write(root, "a.txt", b"new")
    assert {*kept, ".remit-0123456789abcdee.tmp", "a.txt", "docs"} == set(os.listdir(workspace))


def test_a_foreign_lock_on_the_directory_does_not_hold_it_up_for_ever(root: Root, workspace: Path) -> None:
    fd = os.open(workspace, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        write(root, "a.txt", b"new")
    finally:
        os.close(fd)
    assert (workspace / "a.txt").read_bytes() == b"new"


def test_what_cannot_be_put_back_is_kept_and_told(root: Root, three: Path) -> None:
    """After the first file is in place, its directory turns read-only and the second one fails."""
    os.chmod(three, 0o777)
    os.chmod(three / "docs", 0o777)
    for name in OLD:
        os.chmod(three / name, 0o666)
    steps = count()

    def sabotage() -> None:
        fd, _ = root.open_file("a.txt")
        with os.fdopen(fd, "rb") as file:
            changed = file.read() == b"ALPHA"
        if changed and next(steps) == 0:
            os.fchmod(root.fd, 0o555)
            raise OSError(errno.EIO, "Input/output error")

    if os.geteuid() == 0:
        os.chown(three, 65534, 65534)
        for name in OLD:
            os.chown(three / name, 65534, 65534)
    with unprivileged():
        failure = refusal(lambda: Publication(root, plan(root), go, sabotage).run())
    os.chmod(three, 0o755)
    assert failure.code is ErrorCode.IO_ERROR
    assert "not all could be put back: 'a.txt'" in failure.message
    (kept,) = three.glob(".remit-*.*")
    assert kept.read_bytes() == b"alpha"
    assert kept.name in failure.message


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.dictionaries(st.sampled_from(["a", "b", "d/c", "d/e", "f/g/h"]), st.binary(max_size=5), max_size=5),
    after=st.dictionaries(st.sampled_from(["a", "b", "d/c", "d/e", "f/g/h"]), st.binary(max_size=5), min_size=1),
    fail_at=st.integers(1, 60),
)
def test_all_old_or_all_new(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, bytes], after: dict[str, bytes], fail_at: int
) -> None:
    place = tmp_path_factory.mktemp("ws")
    for name, content in before.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    names = sorted({*before, *after})
    with Root(place) as root:
        edits = grant(root, *names)
        originals = {name: edits.read(name, LIMIT) for name in names}
        wanted = [Change(originals[name], after.get(name)) for name in names]
        try:
            Publication(root, wanted, go, Step(fail_at, OSError(errno.EIO, "Input/output error"))).run()
            expected = after
        except Failure:
            expected = before
    assert {name: content for name, content in tree(place).items() if content != b"/" or name in expected} == expected


def test_a_failure_that_is_no_error_of_the_system_undoes_too(root: Root, three: Path) -> None:
    for number in (3, 9, 14):
        with pytest.raises(KeyboardInterrupt):
            Publication(root, plan(root), go, Step(number, KeyboardInterrupt())).run()
        assert tree(three) == OLD

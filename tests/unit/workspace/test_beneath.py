"""The openers alone, without what the root checks once more after them."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.workspace.beneath import PATH_ONLY, KernelOpener, Opener, StepOpener

ROUNDS = 4000


@pytest.fixture(params=[KernelOpener, StepOpener])
def opener(request: pytest.FixtureRequest) -> Opener:
    made: Opener = request.param()
    return made


@contextmanager
def folder_of(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Does it over and over in a thread, until the block ends."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            act()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def content(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as file:
        return file.read()


def test_a_directory_that_keeps_becoming_a_link_out(opener: Opener, workspace: Path) -> None:
    folder, link, spare = workspace / "dir", workspace / "evil", workspace / "spare"
    folder.mkdir()
    (folder / "secret.txt").write_text("inside")
    link.symlink_to("../outside")

    def swap() -> None:
        folder.rename(spare)
        link.rename(folder)
        folder.rename(link)
        spare.rename(folder)

    seen: set[object] = set()
    with folder_of(workspace) as root, meanwhile(swap):
        for _ in range(ROUNDS):
            try:
                seen.add(content(opener.open(root, "dir/secret.txt", os.O_RDONLY)))
            except OSError as problem:
                seen.add(problem.errno)
    assert seen <= {b"inside", errno.ENOENT, errno.EXDEV}


@contextmanager
def right_after(function: Callable[..., object], act: Callable[[], object]) -> Iterator[None]:
    """Does something once, at the very instant the next call of a built-in function came back."""

    def watch(frame: object, event: str, called: object) -> None:
        if event in ("c_return", "c_exception") and called is function:
            sys.setprofile(None)
            act()

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("flags", [os.O_RDONLY, PATH_ONLY])
@pytest.mark.parametrize(("target", "leads"), [("docs/b.txt", True), ("../outside/secret.txt", False)])
def test_a_file_that_becomes_a_link_right_after_the_look(workspace: Path, target: str, leads: bool, flags: int) -> None:
    """The step opener has just seen that the name is no link."""

    def swap() -> None:
        (workspace / "a.txt").unlink()
        (workspace / "a.txt").symlink_to(target)

    with folder_of(workspace) as root, right_after(os.readlink, swap):
        if leads:
            fd = StepOpener().open(root, "a.txt", flags)
            assert os.path.samestat(os.fstat(fd), os.stat(workspace / target))
            os.close(fd)
            return
        with pytest.raises(OSError) as caught:
            StepOpener().open(root, "a.txt", flags)
        assert caught.value.errno == errno.EXDEV


@pytest.mark.parametrize(("target", "leads"), [("other", True), ("../outside", False)])
def test_a_directory_that_becomes_a_link_right_after_the_look(workspace: Path, target: str, leads: bool) -> None:
    (workspace / "other").mkdir()
    (workspace / "other/secret.txt").write_text("inside")

    def swap() -> None:
        (workspace / "docs").rename(workspace / "moved")
        (workspace / "docs").symlink_to(target)

    with folder_of(workspace) as root, right_after(os.readlink, swap):
        if leads:
            assert content(StepOpener().open(root, "docs/secret.txt", os.O_RDONLY)) == b"inside"
            return
        with pytest.raises(OSError) as caught:
            StepOpener().open(root, "docs/secret.txt", os.O_RDONLY)
        assert caught.value.errno == errno.EXDEV


def test_a_directory_that_becomes_a_file_right_after_the_look(workspace: Path) -> None:
    def swap() -> None:
        (workspace / "docs").rename(workspace / "moved")
        (workspace / "docs").write_text("")

    with folder_of(workspace) as root, right_after(os.readlink, swap), pytest.raises(OSError) as caught:
        StepOpener().open(root, "docs/b.txt", os.O_RDONLY)
    assert caught.value.errno == errno.ENOTDIR


@pytest.mark.parametrize(
    ("target", "code"),
    [("../outside/secret.txt", errno.EXDEV), ("/etc/passwd", errno.EXDEV), ("..", errno.EXDEV), ("l", errno.ELOOP)],
)
def test_links_that_leave(opener: Opener, workspace: Path, target: str, code: int) -> None:
    (workspace / "l").symlink_to(target)
    with folder_of(workspace) as root:
        for flags in (os.O_RDONLY, PATH_ONLY):
            with pytest.raises(OSError) as caught:
                opener.open(root, "l", flags)
            assert caught.value.errno == code


@pytest.mark.parametrize("name", ["..", "../outside/secret.txt", "docs/../../outside/secret.txt", "docs/../.."])
def test_names_that_climb_out(opener: Opener, workspace: Path, name: str) -> None:
    with folder_of(workspace) as root, pytest.raises(OSError) as caught:
        opener.open(root, name, os.O_RDONLY)
    assert caught.value.errno == errno.EXDEV


def test_an_absolute_name_is_not_taken_from_the_root_of_the_system(workspace: Path) -> None:
    with folder_of(workspace) as root:
        with pytest.raises(OSError) as caught:
            StepOpener().open(root, "/etc/passwd", os.O_RDONLY)
        assert caught.value.errno == errno.ENOENT
        with pytest.raises(OSError):
            KernelOpener().open(root, "/etc/passwd", os.O_RDONLY)


def test_names_that_climb_and_stay(opener: Opener, workspace: Path) -> None:
    with folder_of(workspace) as root:
        assert content(opener.open(root, "docs/../docs/./b.txt", os.O_RDONLY)) == b"beta"


def test_magic_links_are_refused_as_such() -> None:
    with folder_of(Path("/proc/self")) as root:
        for name in ("exe", "cwd", "root/etc/passwd"):
            with pytest.raises(OSError) as caught:
                KernelOpener().open(root, name, os.O_RDONLY)
            assert caught.value.errno == errno.ELOOP
            with pytest.raises(OSError) as caught:
                StepOpener().open(root, name, os.O_RDONLY)
            assert caught.value.errno == errno.EXDEV

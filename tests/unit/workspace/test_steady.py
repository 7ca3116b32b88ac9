from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect
from remit.workspace.root import Root
from remit.workspace.steady import mark_of, read_steady
from remit.workspace.world import WorkspaceWorld


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    fd = os.open(path, os.O_RDONLY)
    yield path, fd
    os.close(fd)


def test_a_file_in_one_state(file: tuple[Path, int]) -> None:
    path, fd = file
    original = read_steady(fd, "a", "real", 10)
    info = os.stat(path)
    assert (original.content, original.name, original.real) == (b"0123456789", "a", "real")
    assert (original.mark, original.links) == (mark_of(info), 1)
    assert original.mark == f"{info.st_mtime_ns}:10:{info.st_ino}"


def test_one_byte_too_many_is_seen_before_anything_is_read(file: tuple[Path, int]) -> None:
    def never(fd: int, size: int) -> bytes:
        raise AssertionError("it was read")

    with pytest.raises(Failure) as caught:
        read_steady(file[1], "a", "a", 9, never)
    assert caught.value.code is ErrorCode.FILE_TOO_LARGE


@pytest.mark.parametrize(
    "change",
    [
        lambda path: os.truncate(path, 14),
        lambda path: os.truncate(path, 4),
        lambda path: path.write_bytes(b"9876543210"),
        lambda path: os.utime(path, ns=(1, 1)),
    ],
    ids=["grown", "cut", "rewritten", "touched"],
)
def test_a_file_that_changes_while_it_is_read(file: tuple[Path, int], change: Callable[[Path], object]) -> None:
    path, fd = file
    os.utime(path, ns=(5, 5))

    def meanwhile(fd: int, size: int) -> bytes:
        piece = os.read(fd, min(size, 4))
        if os.stat(path).st_mtime_ns == 5:
            change(path)
        return piece

    with pytest.raises(Failure) as caught:
        read_steady(fd, "a", "a", 100, meanwhile)
    assert caught.value.code is ErrorCode.FILE_CHANGED


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("{ws}/docs/b", "docs/b"),
        ("{ws}//docs/", "docs"),
        ("{ws}", "."),
        ("{link}/a", "a"),
        ("docs/b", "docs/b"),
        ("", ""),
    ],
)
def test_absolute_paths_below_the_workspace(tmp_path: Path, spelled: str, name: str) -> None:
    """By the spelling the workspace was given, and by its real one."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "link").symlink_to("ws")
    with Root(tmp_path / "link") as root:
        assert root.relative(spelled.format(ws=tmp_path / "ws", link=tmp_path / "link")) == name


@pytest.mark.parametrize("spelled", ["/", "/etc", "{ws}2/a", "{ws}/../x/a"])
def test_absolute_paths_elsewhere(tmp_path: Path, spelled: str) -> None:
    (tmp_path / "ws").mkdir()
    with Root(tmp_path / "ws") as root:
        world = WorkspaceWorld(root)
        with pytest.raises(Failure) as caught:
            world.path(world.relative(spelled.format(ws=tmp_path / "ws")), Effect.READ)
    assert caught.value.code is ErrorCode.PATH_REFUSED


def test_a_directory_is_a_tree_and_all_else_a_path(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("")
    (tmp_path / "l").symlink_to("d")
    with Root(tmp_path) as root:
        kinds = [WorkspaceWorld(root).place(name, Effect.READ).kind for name in ("d", "l", ".", "f", "none")]
    assert kinds == ["tree", "tree", "tree", "path", "path"]

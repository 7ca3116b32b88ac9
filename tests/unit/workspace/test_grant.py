from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.context import allow_all
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Entry
from remit.base.resources import Effect, Resource
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld

OpenRoot = Callable[[Path], Root]


def grant(
    root: Root,
    *,
    paths: tuple[str, ...] = (),
    trees: tuple[str, ...] = (),
    effect: Effect = Effect.READ,
    allowed: Callable[[Resource], bool] = allow_all,
) -> FilesGrant:
    world = WorkspaceWorld(root)
    declared = [world.path(name, effect) for name in paths] + [world.tree(name, effect) for name in trees]
    return FilesGrant(root, declared, allowed)


def content(files: FilesGrant, name: str) -> bytes:
    with files.open(name) as file:
        return file.read()


def refused(act: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Failure) as caught:
        act()
    return caught.value.code


def test_declared_paths_and_nothing_else(open_root: OpenRoot, workspace: Path) -> None:
    files = grant(open_root(workspace), paths=("docs/b.txt",))
    assert content(files, "docs/b.txt") == b"beta"
    assert content(files, "./docs//b.txt") == b"beta"
    assert files.stat("docs/b.txt") == Entry("docs/b.txt", "file", 4)
    for name in ("a.txt", "docs", ".", "docs/b.txt/x", "docs/B.txt"):
        assert refused(lambda name=name: files.open(name)) is ErrorCode.UNDECLARED
        assert refused(lambda name=name: files.stat(name)) is ErrorCode.UNDECLARED
        assert refused(lambda name=name: files.walk(name)) is ErrorCode.UNDECLARED
    for name in ("../outside/secret.txt", "/etc/passwd"):
        assert refused(lambda name=name: files.open(name)) is ErrorCode.PATH_REFUSED


def test_nothing_declared_nothing_granted(open_root: OpenRoot, workspace: Path) -> None:
    files = FilesGrant(open_root(workspace), [], allow_all)
    assert refused(lambda: files.open("a.txt")) is ErrorCode.UNDECLARED
    assert refused(lambda: files.walk(".")) is ErrorCode.UNDECLARED


@pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.READ])
def test_only_what_is_declared_for_reading(open_root: OpenRoot, workspace: Path, effect: Effect) -> None:
    files = grant(open_root(workspace), paths=("a.txt",), trees=("docs",), effect=effect)
    assert refused(lambda: files.open("a.txt")) is ErrorCode.UNDECLARED
    assert refused(lambda: files.open("docs/b.txt")) is ErrorCode.UNDECLARED


def test_trees_give_what_they_hold(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "docs/sub").mkdir()
    (workspace / "docs/sub/x").write_text("x")
    (workspace / "docs-other").write_text("no")
    files = grant(open_root(workspace), trees=("docs",))
    assert [entry.name for entry in files.walk("docs")] == ["docs/b.txt", "docs/sub", "docs/sub/x"]
    assert [entry.name for entry in files.walk("docs", 1)] == ["docs/b.txt", "docs/sub"]
    assert [entry.name for entry in files.walk("docs/sub")] == ["docs/sub/x"]
    assert content(files, "docs/sub/x") == b"x"
    assert files.stat("docs") == Entry("docs", "directory")
    assert refused(lambda: files.open("a.txt")) is ErrorCode.UNDECLARED
    assert refused(lambda: files.open("docs-other")) is ErrorCode.UNDECLARED
    assert refused(lambda: files.open("docs/../a.txt")) is ErrorCode.PATH_REFUSED


def test_every_entry_that_a_walk_shows_as_a_file_can_be_opened(open_root: OpenRoot, workspace: Path) -> None:
    odd = [b"caf\xe9.txt", b"back\\slash.txt", b"new\nline.txt", b"nul.txt", b"C:x.txt", b" "]
    for raw in odd:
        Path(os.fsdecode(os.fsencode(workspace / "docs") + b"/" + raw)).write_text("odd")
    (workspace / "docs/l").symlink_to("../a.txt")
    files = grant(open_root(workspace), trees=(".",))
    entries = [entry for entry in files.walk(".") if entry.kind == "file"]
    assert len(entries) == len(odd) + 3
    for entry in entries:
        assert len(content(files, entry.name)) == entry.size == files.stat(entry.name).size


def test_a_tree_that_is_one_file(open_root: OpenRoot, workspace: Path) -> None:
    files = grant(open_root(workspace), trees=("a.txt",))
    assert files.stat("a.txt") == Entry("a.txt", "file", 5)
    assert content(files, "a.txt") == b"alpha"


def test_withheld_entries_are_not_opened_by_name(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "docs/way").symlink_to("b.txt")
    (workspace / "docs/sub").mkdir()
    files = grant(
        open_root(workspace),
        trees=("docs",),
        allowed=lambda entry: not any(name in ("docs/b.txt", "docs/sub") for name in entry.names()),
    )
    walk = files.walk("docs")
    assert list(walk) == []
    assert walk.withheld == 3
    for name in ("docs/b.txt", "docs/way"):
        assert refused(lambda name=name: files.open(name)) is ErrorCode.DENIED
        assert refused(lambda name=name: files.stat(name)) is ErrorCode.DENIED
    assert refused(lambda: files.walk("docs/sub")) is ErrorCode.DENIED


def test_a_path_that_leads_elsewhere_than_policy_saw(open_root: OpenRoot, workspace: Path) -> None:
    files = grant(open_root(workspace), paths=("a.txt",), trees=("docs",))
    (workspace / "a.txt").unlink()
    (workspace / "a.txt").symlink_to("moved/b.txt")
    (workspace / "docs").rename(workspace / "moved")
    (workspace / "docs").symlink_to("moved")
    for act in (lambda: files.stat("docs"), lambda: list(files.walk("docs")), lambda: files.open("a.txt")):
        assert refused(act) is ErrorCode.FILE_CHANGED


def test_a_link_retargeted_inside_the_workspace(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("a.txt")
    files = grant(open_root(workspace), paths=("l",))
    assert content(files, "l") == b"alpha"
    (workspace / "l").unlink()
    (workspace / "l").symlink_to("docs/b.txt")
    assert refused(lambda: files.open("l")) is ErrorCode.FILE_CHANGED
    assert refused(lambda: files.stat("l")) is ErrorCode.FILE_CHANGED


def test_a_link_retargeted_out_of_the_workspace(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("a.txt")
    files = grant(open_root(workspace), paths=("l",))
    (workspace / "l").unlink()
    (workspace / "l").symlink_to("../outside/secret.txt")
    assert refused(lambda: files.open("l")) is ErrorCode.PATH_REFUSED


def test_an_entry_that_became_a_link_is_judged_again(open_root: OpenRoot, workspace: Path) -> None:
    files = grant(open_root(workspace), trees=("docs",), allowed=lambda entry: entry.real != "a.txt")
    assert [entry.name for entry in files.walk("docs")] == ["docs/b.txt"]
    (workspace / "docs/b.txt").unlink()
    (workspace / "docs/b.txt").symlink_to("../a.txt")
    assert refused(lambda: files.open("docs/b.txt")) is ErrorCode.DENIED


def test_an_entry_that_vanished(open_root: OpenRoot, workspace: Path) -> None:
    files = grant(open_root(workspace), trees=("docs",))
    list(files.walk("docs"))
    (workspace / "docs/b.txt").unlink()
    assert refused(lambda: files.open("docs/b.txt")) is ErrorCode.NOT_FOUND


def test_a_file_that_came_after_it_was_declared(open_root: OpenRoot, workspace: Path) -> None:
    files = grant(open_root(workspace), paths=("new.txt",))
    assert refused(lambda: files.stat("new.txt")) is ErrorCode.NOT_FOUND
    (workspace / "new.txt").write_text("new")
    assert content(files, "new.txt") == b"new"


def test_refusals_leave_no_descriptor_open(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("a.txt")
    files = grant(open_root(workspace), paths=("l",))
    (workspace / "l").unlink()
    (workspace / "l").symlink_to("docs/b.txt")
    before = len(os.listdir("/proc/self/fd"))
    assert refused(lambda: files.open("l")) is ErrorCode.FILE_CHANGED
    assert len(os.listdir("/proc/self/fd")) == before

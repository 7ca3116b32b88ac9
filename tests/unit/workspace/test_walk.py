from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.context import allow_all
from fakes.unprivileged import unprivileged
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Entry
from remit.base.resources import Effect, Resource
from remit.workspace.root import Root
from remit.workspace.walk import TreeWalk

OpenRoot = Callable[[Path], Root]


def tree(name: str, real: str = "") -> Resource:
    return Resource("tree", name, Effect.READ, real or name)


def names(walk: TreeWalk) -> list[str]:
    return [entry.name for entry in walk]


def test_sorted_and_each_directory_before_what_it_holds(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "docs/sub").mkdir()
    (workspace / "docs/sub/x").write_text("12345")
    (workspace / "Z").write_text("")
    (workspace / "empty").mkdir()
    walk = TreeWalk(open_root(workspace), tree("."), allow_all)
    expected = [
        Entry("Z", "file", 0),
        Entry("a.txt", "file", 5),
        Entry("docs", "directory"),
        Entry("docs/b.txt", "file", 4),
        Entry("docs/sub", "directory"),
        Entry("docs/sub/x", "file", 5),
        Entry("empty", "directory"),
    ]
    assert list(walk) == expected
    assert list(walk) == expected
    assert (walk.withheld, walk.unreadable, walk.outside, walk.unfollowed, walk.overfull) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(("depth", "last"), [(1, "d"), (2, "d/d"), (6, "d/d/d/d/d/d"), (None, "/".join("d" * 8))])
def test_depth(open_root: OpenRoot, workspace: Path, depth: int | None, last: str) -> None:
    (workspace / "only" / "/".join("d" * 8)).mkdir(parents=True)
    found = names(TreeWalk(open_root(workspace), tree("only"), allow_all, max_depth=depth))
    assert found[-1] == f"only/{last}"
    assert len(found) == last.count("d")


def test_links(open_root: OpenRoot, workspace: Path) -> None:
    links = {
        "l1-file": "docs/b.txt",
        "l2-folder": "docs",
        "l3-self": ".",
        "l4-out": "../outside",
        "l5-out": "/etc/passwd",
        "l6-loop": "l6-loop",
        "l7-dangling": "none",
        "docs/up": "..",
    }
    for link, target in links.items():
        (workspace / link).symlink_to(target)
    walk = TreeWalk(open_root(workspace), tree("."), allow_all)
    assert list(walk) == [
        Entry("a.txt", "file", 5),
        Entry("docs", "directory"),
        Entry("docs/b.txt", "file", 4),
        Entry("docs/up", "directory", 0, link=True, real="."),
        Entry("l1-file", "file", 4, link=True, real="docs/b.txt"),
        Entry("l2-folder", "directory", 0, link=True, real="docs"),
        Entry("l3-self", "directory", 0, link=True, real="."),
        Entry("l4-out", "other", link=True),
        Entry("l5-out", "other", link=True),
        Entry("l6-loop", "other", link=True),
        Entry("l7-dangling", "other", link=True),
    ]
    assert walk.outside == 3
    assert walk.unfollowed == 3
    assert walk.unreadable == 0


def test_a_tree_behind_a_link_knows_its_real_names(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("docs")
    (workspace / "docs/sub").mkdir()
    (workspace / "docs/sub/x").write_text("")
    asked: list[tuple[str, str]] = []

    def allowed(entry: Resource) -> bool:
        asked.append((entry.name, entry.real))
        assert entry.kind == "path"
        assert entry.effect is Effect.READ
        assert entry.inside
        return True

    walk = TreeWalk(open_root(workspace), tree("l", "docs"), allowed)
    assert list(walk) == [
        Entry("l/b.txt", "file", 4, real="docs/b.txt"),
        Entry("l/sub", "directory", real="docs/sub"),
        Entry("l/sub/x", "file", real="docs/sub/x"),
    ]
    assert asked == [("l/b.txt", "docs/b.txt"), ("l/sub", "docs/sub"), ("l/sub/x", "docs/sub/x")]


def test_withheld_entries_are_counted_and_not_entered(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "docs/hidden.txt").write_text("")
    (workspace / "private").mkdir()
    (workspace / "private/x").write_text("")
    (workspace / "way").symlink_to("private/x")
    (workspace / "broken").symlink_to("nothing")

    def allowed(entry: Resource) -> bool:
        return not any("hidden" in name or name.startswith(("private", "broken")) for name in entry.names())

    walk = TreeWalk(open_root(workspace), tree("."), allowed)
    assert names(walk) == ["a.txt", "docs", "docs/b.txt"]
    assert walk.withheld == 4


def test_unreadable_directories_are_counted(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "docs").chmod(0)
    (workspace / "no-search").mkdir()
    (workspace / "no-search/x").write_text("")
    (workspace / "no-search").chmod(0o444)
    (workspace / "through").symlink_to("docs/b.txt")
    root = open_root(workspace)
    with unprivileged():
        walk = TreeWalk(root, tree("."), allow_all)
        found = list(walk)
    assert Entry("docs", "directory") in found
    assert Entry("no-search/x", "other") in found
    assert Entry("through", "other", link=True) in found
    assert Entry("a.txt", "file", 5) in found
    assert walk.unreadable == 3
    (workspace / "docs").chmod(0o755)


def test_a_tree_that_cannot_be_listed_fails(open_root: OpenRoot, workspace: Path) -> None:
    root = open_root(workspace)
    for name, code in [("none", ErrorCode.NOT_FOUND), ("a.txt", ErrorCode.NOT_A_DIRECTORY)]:
        with pytest.raises(Failure) as caught:
            list(TreeWalk(root, tree(name), allow_all))
        assert caught.value.code is code


def test_names_that_are_not_utf8(open_root: OpenRoot, workspace: Path) -> None:
    base = os.fsencode(workspace)
    os.mkdir(base + b"/d\xe9")
    for raw in (b"/d\xe9/x.txt", b"/caf\xe9.txt", b"/caf\xe8.txt", b"/one\xff.txt"):
        Path(os.fsdecode(base + raw)).write_text("odd")
    (workspace / "one\ufffd.txt").write_text("a true name")
    aliases: dict[str, str] = {}
    walk = TreeWalk(open_root(workspace), tree("."), allow_all, aliases=aliases)
    found = names(walk)
    assert found == [
        "a.txt",
        "caf\ufffd.txt",
        "docs",
        "docs/b.txt",
        "d\ufffd",
        "d\ufffd/x.txt",
        "one\ufffd.txt",
    ]
    assert walk.unreadable == 2
    assert aliases["d\ufffd/x.txt"] == "d\udce9/x.txt"
    assert aliases["caf\ufffd.txt"] in ("caf\udce9.txt", "caf\udce8.txt")
    assert "one\ufffd.txt" not in aliases


def test_other_kinds(open_root: OpenRoot, workspace: Path) -> None:
    os.mkfifo(workspace / "docs/pipe")
    assert list(TreeWalk(open_root(workspace), tree("docs"), allow_all)) == [
        Entry("docs/b.txt", "file", 4),
        Entry("docs/pipe", "other"),
    ]


def test_200_levels_with_few_descriptors(open_root: OpenRoot, workspace: Path) -> None:
    deep = workspace / "/".join("d" * 200)
    deep.mkdir(parents=True)
    (deep / "x").write_text("")
    root = open_root(workspace)
    before = len(os.listdir("/proc/self/fd"))
    most = 0
    for entry in TreeWalk(root, tree("d"), allow_all):
        most = max(most, len(os.listdir("/proc/self/fd")) - before)
        last = entry.name
    assert last == "/".join("d" * 200) + "/x"
    assert most == 0


def test_a_directory_replaced_while_it_is_walked_is_not_entered(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "other").mkdir()
    (workspace / "other/x").write_text("")
    walk = TreeWalk(open_root(workspace), tree("."), allow_all)
    found = []
    for entry in walk:
        found.append(entry.name)
        if entry.name == "docs":
            (workspace / "docs").rename(workspace / "moved")
            (workspace / "docs").symlink_to("other")
    assert found == ["a.txt", "docs", "other", "other/x"]
    assert walk.unreadable == 1


def test_the_tree_itself_must_be_what_policy_saw(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "l").symlink_to("docs")
    with pytest.raises(Failure) as caught:
        list(TreeWalk(open_root(workspace), tree("l", "elsewhere"), allow_all))
    assert caught.value.code is ErrorCode.FILE_CHANGED


def test_full_directories_are_listed_in_part(open_root: OpenRoot, workspace: Path) -> None:
    for number in range(5):
        (workspace / f"docs/f{number}").write_text("")
    root = open_root(workspace)
    exact = TreeWalk(root, tree("docs"), allow_all, max_entries=6)
    assert len(list(exact)) == 6
    assert exact.overfull == 0
    short = TreeWalk(root, tree("docs"), allow_all, max_entries=5)
    found = names(short)
    assert len(found) == 5
    assert found == sorted(found)
    assert short.overfull == 1

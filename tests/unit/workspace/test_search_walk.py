"""The walk of a search: its order, its ends, and what it holds open."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.context import allow_all
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import Ground
from remit.base.resources import Effect, Resource
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.search_glob import compile_glob
from remit.workspace.search_pick import Pick
from remit.workspace.search_scan import Wish
from remit.workspace.search_walk import MAX_HELD, Walk, closed_spellings, survey


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with Root(tmp_path) as root:
        files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], allow_all)
        with files.ground(".") as opened:
            yield opened


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def opened() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_closed_names_in_every_letter_case() -> None:
    spellings = closed_spellings()
    assert {".git", ".GIT", ".gIt", ".Ssh", ".remit", ".REMIT"} < set(spellings)
    assert len(spellings) == 8 + 8 + 32


def test_files_and_directories_in_one_order(ground: Ground, tmp_path: Path) -> None:
    put(tmp_path, "b", "a/z", "a b/c", "a-b/c", "a.txt", "a/b/c", "a/a", "c/d/e", "é", "Z")
    ordered = ["Z", "a/a", "a/b/c", "a/z", "a b/c", "a-b/c", "a.txt", "b", "c/d/e", "é"]
    assert survey(ground, Wish(), lambda: None).names == ordered
    for most in range(len(ordered)):
        found = survey(ground, Wish(), lambda: None, most)
        assert (found.names, found.number) == (ordered[:most], len(ordered))


def test_only_what_leads_to_the_pattern_is_entered(ground: Ground, tmp_path: Path) -> None:
    put(tmp_path, "src/a.py", "src/node_modules/b", "lib/node_modules/c", "lib/d.py")
    pattern = compile_glob("src/**/*.py")
    wanted = Pick(pattern, 10)
    walk = Walk(ground, lambda: None, [wanted], leads=pattern)
    walk.run()
    assert wanted.names == ["src/a.py"]
    assert walk.found.skipped == ["src/node_modules"]


@pytest.mark.parametrize(("entries", "stopped"), [(5, ""), (4, "entries")])
def test_so_many_entries(ground: Ground, tmp_path: Path, entries: int, stopped: str) -> None:
    put(tmp_path, "a/b", "a/c", "d", "e")
    wanted = Pick(None, None)
    walk = Walk(ground, lambda: None, [wanted], entries=entries)
    walk.run()
    assert walk.found.stopped == stopped
    assert wanted.names == ["a/b", "a/c", "d", "e"][: 4 if not stopped else 1]


def test_time_is_up(ground: Ground, tmp_path: Path) -> None:
    put(tmp_path, "a")
    found = survey(ground, Wish(seconds=-1), lambda: None)
    assert (found.names, found.stopped, found.sized) == ([], "time", False)


def test_it_ends_once_it_has_what_is_taken(ground: Ground, tmp_path: Path) -> None:
    put(tmp_path, "a/b", "c/d", "e/f")
    seen: list[None] = []
    wanted = Pick(None, 1)
    Walk(ground, lambda: seen.append(None), [wanted], until_full=True).run()
    assert wanted.names == ["a/b"]
    assert len(seen) == 2


def test_a_deep_tree_holds_few_directories_open(ground: Ground, tmp_path: Path) -> None:
    deep = "/".join("d" * 200)
    put(tmp_path, f"{deep}/a", "z")
    before, most = opened(), resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    found: list[str] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + MAX_HELD + 20, most[1]))
    try:
        found = survey(ground, Wish(), lambda: held.append(opened())).names
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    assert found == [f"{deep}/a", "z"]
    assert MAX_HELD <= max(held) - before <= MAX_HELD + 2
    assert opened() == before


def test_what_a_check_raises_leaves_nothing_open(ground: Ground, tmp_path: Path) -> None:
    put(tmp_path, "a/b/c/d/e", "a/x")
    before = opened()
    asked: list[None] = []

    def check() -> None:
        asked.append(None)
        if len(asked) == 5:
            raise Failure(ErrorCode.CANCELLED, "the call was cancelled")

    with pytest.raises(Failure):
        survey(ground, Wish(), check)
    assert opened() == before


def test_a_directory_that_became_a_link_is_not_entered(ground: Ground, tmp_path: Path) -> None:
    """Between being listed and being opened, at every depth."""
    put(tmp_path, "a/b/c/inside", "out/outside")
    target = tmp_path / "out"
    for name in ("a", "a/b", "a/b/c"):
        folder = tmp_path / name
        kept = tmp_path / "kept"

        def swap(entered: list[str], folder: Path = folder, kept: Path = kept, name: str = name) -> None:
            entered.append(name)
            if len(entered) == name.count("/") + 2:
                folder.rename(kept)
                folder.symlink_to(target)

        entered: list[str] = []
        found = survey(ground, Wish(), lambda entered=entered, swap=swap: swap(entered))  # type: ignore[misc]
        folder.unlink()
        kept.rename(folder)
        assert found.unreadable == [name]
        assert found.names == ["out/outside"]

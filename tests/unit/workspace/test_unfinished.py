"""Files that a killed publication left behind are shown by no walk and no search."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.base.resources import Effect, Resource
from remit.workspace.grant import FilesGrant
from remit.workspace.names import is_unfinished
from remit.workspace.root import Root
from remit.workspace.search_library import LibraryEngine
from remit.workspace.search_regex import read_pattern
from remit.workspace.search_ripgrep import RipgrepEngine, find_ripgrep
from remit.workspace.search_scan import Engine, Wish

STRAYS = [".remit-0123456789abcdef.tmp", "sub/.remit-fedcba9876543210.tmp"]
OTHERS = [
    ".remit-0123456789abcdef.kept",
    ".remit-0123456789abcdef.tmp.txt",
    ".remit-0123456789abcde.tmp",
    ".remit-0123456789ABCDEF.tmp",
    "sub/a",
    "x.remit-0123456789abcdef.tmp",
]
RIPGREP = find_ripgrep()
assert RIPGREP is not None


def test_which_names_they_have() -> None:
    assert [name for name in (*STRAYS, *OTHERS) if is_unfinished(name.rpartition("/")[2])] == STRAYS


@pytest.fixture
def files(tmp_path: Path) -> FilesGrant:
    (tmp_path / "sub").mkdir()
    for name in (*STRAYS, *OTHERS):
        (tmp_path / name).write_text("hit\n")
    tree = Resource("tree", ".", Effect.READ, real=".")
    return FilesGrant(Root(tmp_path), [tree], lambda _: True)


def test_no_walk_shows_them(files: FilesGrant) -> None:
    walk = files.walk(".")
    assert [entry.name for entry in walk if entry.kind == "file"] == sorted(OTHERS)
    assert (walk.withheld, walk.unreadable) == (0, 0)


@pytest.mark.parametrize("engine", [RipgrepEngine(RIPGREP), LibraryEngine()], ids=["ripgrep", "library"])
@pytest.mark.parametrize("everything", [False, True])
def test_no_search_finds_them(files: FilesGrant, engine: Engine, everything: bool) -> None:
    wish = Wish(everything=everything)
    with files.ground(".") as ground:
        counts = engine.count(ground, read_pattern("hit"), wish, lambda: None)
    found = counts.survey
    assert found.number == len(OTHERS)
    assert sorted(found.names) == sorted(counts.lines) == sorted(OTHERS)
    assert (found.skipped, found.ignored, found.special) == ([], [], [])

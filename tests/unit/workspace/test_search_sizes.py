"""Large files: ripgrep searches before it is known which are large, and yet none of them is ever shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.context import allow_all
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import MIB
from remit.base.ports import Ground
from remit.base.resources import Effect, Resource
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.search import LinesFound, find_lines
from remit.workspace.search_regex import read_pattern
from remit.workspace.search_ripgrep import RipgrepEngine, find_ripgrep
from remit.workspace.search_rows import Span
from remit.workspace.search_scan import MAX_FILE_BYTES, Wish
from remit.workspace.search_walk import survey

RIPGREP = find_ripgrep()
assert RIPGREP is not None


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with Root(tmp_path) as root:
        files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], allow_all)
        with files.ground(".") as opened:
            yield opened


def search(engine: RipgrepEngine, ground: Ground, pattern: str = "hit") -> LinesFound:
    return find_lines(engine, ground, read_pattern(pattern), None, 100, Span(), lambda: None)


def fill(folder: Path) -> None:
    """Two small files, one of them with a match, and one that is a byte too large and has a match."""
    (folder / "a").write_text("hit\n")
    (folder / "b").write_text("none\n")
    (folder / "z").write_bytes(b"hit\n" + b"x" * (MAX_FILE_BYTES - 3))


@pytest.mark.parametrize("sizes", [0, 1, 2, 3])
@pytest.mark.parametrize("patience", [-1, 1000])
def test_a_large_file_is_never_shown(ground: Ground, tmp_path: Path, sizes: int, patience: float) -> None:
    fill(tmp_path)
    found = search(RipgrepEngine(RIPGREP, sizes=sizes, patience=patience), ground)
    assert [row.file for row in found.rows] == ["a"]
    assert (found.total, found.files, found.searched, found.exact) == (1, 1, 2, True)
    assert found.left_out.too_large == 1


def test_a_large_binary_file_is_a_large_one(ground: Ground, tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "z").write_bytes(b"\0" * (MAX_FILE_BYTES + 1))
    found = search(RipgrepEngine(RIPGREP, sizes=0), ground)
    assert (found.searched, found.left_out.too_large, found.left_out.binary) == (2, 1, 0)


@pytest.mark.parametrize(("sizes", "searched", "too_large"), [(3, 2, 1), (2, 3, 0)])
def test_a_large_file_that_was_searched_in_vain_is_not_left_out(
    ground: Ground, tmp_path: Path, sizes: int, searched: int, too_large: int
) -> None:
    fill(tmp_path)
    found = search(RipgrepEngine(RIPGREP, sizes=sizes), ground, "none")
    assert (found.total, found.searched, found.left_out.too_large) == (1, searched, too_large)


def test_a_line_that_no_memory_holds(ground: Ground, tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "z").write_bytes(b"x" * (192 * MIB))
    found = search(RipgrepEngine(RIPGREP, sizes=0, memory=96 * MIB), ground)
    assert (found.total, found.searched, found.left_out.too_large) == (1, 2, 1)


def test_a_search_without_memory_is_an_error(ground: Ground, tmp_path: Path) -> None:
    fill(tmp_path)
    with pytest.raises(Failure) as caught:
        search(RipgrepEngine(RIPGREP, memory=1), ground)
    assert caught.value.code is ErrorCode.COMMAND_FAILED


@pytest.mark.parametrize(("sizes", "large", "sized"), [(2, [], False), (3, ["z"], True), (None, ["z"], True)])
def test_how_many_are_asked(ground: Ground, tmp_path: Path, sizes: int | None, large: list[str], sized: bool) -> None:
    fill(tmp_path)
    found = survey(ground, Wish(), lambda: None, sizes=sizes)
    assert (found.large, found.sized, found.number) == (large, sized, 3 - len(large))

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.workspace.edit import EditsGrant
from remit.workspace.grant import FilesGrant
from remit.workspace.hard_links import WithheldFiles
from remit.workspace.root import Root

OpenRoot = Callable[[Path], Root]


def no_private(entry: Resource) -> bool:
    return not entry.name.startswith("private/")


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    for name in ("private", "docs"):
        (tmp_path / name).mkdir()
    (tmp_path / "private/x.txt").write_text("secret")
    (tmp_path / "docs/y.txt").write_text("known")
    os.link(tmp_path / "private/x.txt", tmp_path / "hard.txt")
    os.link(tmp_path / "docs/y.txt", tmp_path / "other.txt")
    return tmp_path


def refusal(act: Callable[[], object]) -> Failure:
    with pytest.raises(Failure) as caught:
        act()
    return caught.value


def test_a_withheld_file_is_shown_under_no_name(linked: Path, open_root: OpenRoot) -> None:
    declared = [Resource("path", name, Effect.READ, real=name) for name in ("hard.txt", "other.txt")]
    files = FilesGrant(open_root(linked), declared, no_private)
    for act in (files.open, files.stat, lambda name: files.read(name, 100)):
        failure = refusal(lambda act=act: act("hard.txt"))
        assert failure.code is ErrorCode.DENIED
        assert failure.message == "'hard.txt' is a hard link to a file that a rule withholds under another name"
    assert files.read("other.txt", 100).content == b"known"


def test_a_search_shows_no_withheld_file(linked: Path, open_root: OpenRoot) -> None:
    files = FilesGrant(open_root(linked), [Resource("tree", ".", Effect.READ, real=".")], no_private)
    with files.ground(".") as ground:
        assert [name for name in ("docs/y.txt", "hard.txt", "other.txt", "gone.txt") if ground.shows(name)] == [
            *("docs/y.txt", "other.txt", "gone.txt")
        ]
        assert refusal(lambda: ground.open("hard.txt")).code is ErrorCode.DENIED
        with ground.open("other.txt") as file:
            assert file.read() == b"known"


def test_an_edit_shows_no_withheld_file(linked: Path, open_root: OpenRoot) -> None:
    root = open_root(linked)
    declared = [Resource("path", name, Effect.WRITE, real=name) for name in ("hard.txt", "other.txt")]
    edits = EditsGrant(root, declared, withheld=WithheldFiles(root.fd, no_private))
    assert refusal(lambda: edits.read("hard.txt", 100)).code is ErrorCode.DENIED
    assert edits.read("other.txt", 100).content == b"known"


def test_nothing_is_asked_about_files_of_one_name(linked: Path, open_root: OpenRoot) -> None:
    asked: list[str] = []

    def allowed(entry: Resource) -> bool:
        asked.append(entry.name)
        return True

    withheld = WithheldFiles(open_root(linked).fd, allowed)
    (linked / "alone.txt").write_text("")
    assert os.stat(linked / "alone.txt") not in withheld
    assert os.stat(linked / "private") not in withheld
    assert asked == []
    assert os.stat(linked / "hard.txt") not in withheld
    assert sorted(asked) == ["alone.txt", "docs/y.txt", "hard.txt", "other.txt", "private/x.txt"]


@pytest.mark.parametrize(("most", "found"), [(2, True), (1, False)])
def test_so_many_entries_are_asked_about(tmp_path: Path, open_root: OpenRoot, most: int, found: bool) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/x").write_text("secret")
    os.link(tmp_path / "private/x", tmp_path.parent / f"{tmp_path.name}.x")
    withheld = WithheldFiles(open_root(tmp_path).fd, no_private, most)
    assert (os.stat(tmp_path / "private/x") in withheld) is found

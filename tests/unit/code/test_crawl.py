from __future__ import annotations

import asyncio
import os
import shutil
import sysconfig
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from fakes.source import faulty_pool, reading
from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Resource
from remit.code.crawl import TreeBounds, told_by_content
from remit.code.languages import language_of
from remit.code.tree import SourceTree
from remit.store.facts import FILE

LONG_AGO = 1_000_000_000


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def names(tree: SourceTree) -> list[str]:
    return [file.path for file in tree.files]


def defined(tree: SourceTree) -> dict[str, list[str]]:
    return {file.path: [each.name for each in file.facts.definitions] for file in tree.files}


def read(work: Path, cache: Path | None = None, **wishes: object) -> SourceTree:
    with reading(work, cache) as reader:
        return reader.tree(**wishes)  # type: ignore[arg-type]


def settle(cache: Path, work: Path) -> None:
    """Read it until the state of each file is known: a state is worth a note once it is some seconds old."""
    deadline = time.monotonic() + 20
    while watched(cache, work)[1]:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def watched(cache: Path, work: Path) -> tuple[SourceTree, list[str]]:
    """A tree, and the files that were opened for it."""
    opened: list[str] = []
    with reading(work, cache) as reader, reader.ground(".") as ground:
        true_open = ground.open

        def open_and_tell(name: str) -> BinaryIO:
            opened.append(name)
            return true_open(name)

        ground.open = open_and_tell  # type: ignore[method-assign]
        return reader.tree_of(ground), opened


def test_the_files_of_known_languages_and_their_facts(work: Path) -> None:
    write(work, {"a.py": "def one(): pass\n", "b/c.py": "class Two: pass\n", "notes.txt": "hello\n", "b/x.bin": "x"})
    tree = read(work)
    assert defined(tree) == {"a.py": ["one"], "b/c.py": ["Two"]}
    assert [file.size for file in tree.files] == [16, 16]
    assert (tree.unknown, tree.parsed, tree.stopped) == (2, 2, "")


def test_a_directory_below_and_names_from_there(work: Path) -> None:
    write(work, {"tests/unit/a.py": "x = 1\n", "b.py": "y = 1\n"})
    with reading(work) as reader:
        tree = reader.tree("tests")
    assert names(tree) == ["unit/a.py"]
    assert tree.files[0].tests


def test_paths_tell_files_of_tests(work: Path) -> None:
    write(work, {"tests/helper.py": "", "src/test_a.py": "", "src/contest.py": ""})
    assert {file.path: file.tests for file in read(work).files} == {
        "src/contest.py": False,
        "src/test_a.py": True,
        "tests/helper.py": True,
    }


def test_what_a_search_leaves_out_is_left_out(work: Path) -> None:
    write(
        work,
        {
            ".gitignore": "made/\n*_pb2.py\n",
            "a.py": "",
            "made/b.py": "",
            "c_pb2.py": "",
            "node_modules/d.py": "",
            ".venv/e.py": "",
            "inner/.git/HEAD": "",
            "inner/f.py": "",
            ".hidden/g.py": "",
        },
    )
    (work / ".git").mkdir()
    with reading(work) as reader:
        assert names(reader.tree()) == [".hidden/g.py", "a.py"]


def test_what_rules_withhold_is_not_opened(work: Path) -> None:
    write(work, {"a.py": "", "secret/b.py": "", ".ssh/c.py": "", "secret/tool": "#!/usr/bin/python3\n"})

    def allowed(entry: Resource) -> bool:
        return not entry.name.startswith("secret")

    tree = read(work, allowed=allowed)
    assert names(tree) == ["a.py"]
    assert tree.skipped.withheld == 1


def test_links_are_not_followed(work: Path, tmp_path: Path) -> None:
    write(tmp_path, {"outside/a.py": "def out(): pass\n"})
    (work / "link.py").symlink_to(tmp_path / "outside" / "a.py")
    (work / "folder").symlink_to(tmp_path / "outside")
    assert names(read(work)) == []


def test_scripts_are_known_by_their_first_line(work: Path) -> None:
    write(
        work,
        {
            "run": "#!/usr/bin/env python3\ndef go(): pass\n",
            "other": "#!/usr/bin/perl\n",
            "README": "text\n",
            "empty": "",
            "blob": b"#!/usr/bin/python3\n\0\1\2",
        },
    )
    tree = read(work)
    assert defined(tree) == {"run": ["go"]}
    assert (tree.unknown, tree.skipped.binary) == (3, 1)


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("int one(void);\n#include <stdio.h>\nstruct class;\n", "C"),
        ('#ifdef __cplusplus\nextern "C" {\n#endif\nint one(void);\n', "C"),
        ("/* namespaces of\n   class names are kept */\nint one(void);\n", "C"),
        ("class Shape;\n", "C++"),
        ("class API Shape : public Base {\n};\n", "C++"),
        ("class Shape\n{\n};\n", "C++"),
        ("enum class Kind { A };\n", "C++"),
        ("namespace one {\n}\n", "C++"),
        ("inline namespace one::two\n{\n}\n", "C++"),
        ("  template <typename T>\nT one();\n", "C++"),
        ("std::string one();\n", "C++"),
        ("#include <vector>\n", "C++"),
        ("using namespace std;\n", "C++"),
        ("struct A {\n  public:\n};\n", "C++"),
        ("#import <Foundation/Foundation.h>\n@interface Shape : NSObject\n@end\n", "Objective-C"),
    ],
)
def test_headers_are_known_by_what_they_hold(source: str, language: str) -> None:
    told = told_by_content(language_of("include/a.h"), source.encode())
    assert told is not None
    assert told.name == language


def test_the_size_limit_and_binary_content(work: Path) -> None:
    write(work, {"fits.py": "#" * 100, "large.py": "#" * 101, "binary.py": b"x = 1\n\0"})
    tree = read(work, bounds=TreeBounds(file_bytes=100))
    assert names(tree) == ["fits.py"]
    assert (tree.skipped.too_large, tree.skipped.binary) == (1, 1)


@pytest.mark.parametrize(
    ("bounds", "stopped"),
    [
        (TreeBounds(files=3), ""),
        (TreeBounds(files=2), "files"),
        (TreeBounds(entries=4), ""),
        (TreeBounds(entries=3), "entries"),
        (TreeBounds(tree_bytes=30), ""),
        (TreeBounds(tree_bytes=29), "bytes"),
    ],
)
def test_bounds_of_a_tree_end_it_with_what_there_is(work: Path, bounds: TreeBounds, stopped: str) -> None:
    write(work, dict.fromkeys(("a.py", "b.py", "d.py"), "x = 1    \n") | {"c.txt": "x"})
    tree = read(work, bounds=bounds)
    assert tree.stopped == stopped
    assert names(tree) == ["a.py", "b.py", "d.py"][: 2 if stopped else 3]


def test_the_time_of_a_tree_is_bounded(work: Path) -> None:
    write(work, {"a.py": "x = 1\n"})
    tree = read(work, bounds=TreeBounds(seconds=0))
    assert (names(tree), tree.stopped) == ([], "time")


@pytest.mark.parametrize("step", ["open", "open_directory"])
def test_files_that_cannot_be_read_any_more_are_counted(work: Path, step: str) -> None:
    write(work, {"a/a.py": "x = 1\n", "b.py": "y = 1\n", "c.py": "z = 1\n"})
    with reading(work) as reader, reader.ground(".") as ground:
        true_step = getattr(ground, step)
        walked: list[str] = []

        def gone_by_then(name: str) -> object:
            if step == "open" or name in walked:
                (work / "b.py").unlink(missing_ok=True)
            walked.append(name)
            return true_step(name)

        setattr(ground, step, gone_by_then)
        tree = reader.tree_of(ground)
    assert (names(tree), tree.skipped.unreadable) == (["a/a.py", "c.py"], 1)


def test_a_directory_that_cannot_be_opened_any_more_is_counted(work: Path) -> None:
    write(work, {"a/a.py": "x = 1\n", "a/b.py": "x = 1\n", "c.py": "z = 1\n"})
    with reading(work) as reader, reader.ground(".") as ground:
        true_open = ground.open_directory
        walked: list[str] = []

        def gone_by_then(name: str) -> int:
            if name == "a" and name in walked:
                shutil.rmtree(work / "a")
            walked.append(name)
            return true_open(name)

        ground.open_directory = gone_by_then  # type: ignore[method-assign]
        tree = reader.tree_of(ground)
    assert (names(tree), tree.skipped.unreadable) == (["c.py"], 2)


def test_what_did_not_change_is_not_parsed_again(work: Path, tmp_path: Path) -> None:
    write(work, {"a.py": "def one(): pass\n", "b.py": "def two(): pass\n", "run": "#!/bin/python\n", "text": "x"})
    first = read(work, tmp_path / "cache")
    again = read(work, tmp_path / "cache")
    assert (first.parsed, again.parsed) == (3, 0)
    assert (defined(again), again.mark, again.unknown) == (defined(first), first.mark, 1)
    write(work, {"b.py": "def six(): pass\n"})
    third = read(work, tmp_path / "cache")
    assert third.parsed == 1
    assert defined(third)["b.py"] == ["six"]
    assert third.mark != first.mark


def test_without_a_cache_everything_is_parsed_each_time(work: Path) -> None:
    write(work, {"a.py": "def one(): pass\n"})
    with reading(work) as reader:
        assert [reader.tree().parsed, reader.tree().parsed] == [1, 1]


def test_a_file_in_a_known_state_is_not_opened(work: Path, tmp_path: Path) -> None:
    write(work, {"a.py": "def one(): pass\n", "run": "#!/bin/python\n", "blob.py": b"\0", "text": "x"})
    settle(tmp_path / "cache", work)
    tree, opened = watched(tmp_path / "cache", work)
    assert (opened, tree.parsed) == ([], 0)
    assert names(tree) == ["a.py", "run"]
    assert (tree.unknown, tree.skipped.binary) == (1, 1)
    write(work, {"moved.py": "def one(): pass\n"})
    tree, opened = watched(tmp_path / "cache", work)
    assert (opened, tree.parsed) == (["moved.py"], 0)


def test_a_change_within_the_same_tick_is_seen(work: Path, tmp_path: Path) -> None:
    file = work / "a.py"
    for number in range(10):
        file.write_text(f"def f{number}(): pass\n")
        os.utime(file, (LONG_AGO, LONG_AGO))
        assert defined(read(work, tmp_path / "cache")) == {"a.py": [f"f{number}"]}


def test_one_content_under_two_languages_is_known_as_both(work: Path, tmp_path: Path) -> None:
    write(work, {"a.py": "x = 1\n"})
    os.link(work / "a.py", work / "a.txt")
    os.link(work / "a.py", work / "b.py")
    settle(tmp_path / "cache", work)
    tree = read(work, tmp_path / "cache")
    assert names(tree) == ["a.py", "b.py"]
    assert (tree.unknown, tree.parsed) == (1, 0)


def test_the_same_content_is_parsed_once(work: Path) -> None:
    write(work, {f"{name}/__init__.py": "def one(): pass\n" for name in "abc"})
    with reading(work) as reader:
        tree = reader.tree()
    assert len(tree.files) == 3
    assert len({id(file._facts) for file in tree.files}) == 1


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove", "text"])
def test_a_damaged_cache_changes_nothing(work: Path, tmp_path: Path, damage: str) -> None:
    write(work, {f"{name}.py": f"def {name}(): pass\n" for name in "abc"})
    first = read(work, tmp_path / "cache")
    file = tmp_path / "cache" / FILE
    content = bytearray(file.read_bytes())
    if damage == "truncate":
        os.truncate(file, len(content) // 2)
    elif damage == "flip":
        file.write_bytes(bytes(byte ^ 0x55 if at % 97 == 0 and at > 100 else byte for at, byte in enumerate(content)))
    elif damage == "remove":
        shutil.rmtree(tmp_path / "cache")
    else:
        file.write_text("facts")
    for _ in range(3):
        again = read(work, tmp_path / "cache")
        assert (defined(again), again.mark) == (defined(first), first.mark)
    assert again.parsed == 0


def test_cancelling_ends_it(work: Path) -> None:
    write(work, {f"m{number}.py": "def one(): pass\n" for number in range(50)})

    def check() -> None:
        raise Failure(ErrorCode.CANCELLED, "the call was cancelled")

    with pytest.raises(Failure, match="cancelled"):
        read(work, check=check)


@pytest.mark.heavy
def test_a_file_that_comes_to_nothing_is_tried_once_in_a_run(work: Path) -> None:
    write(work, {"a.py": "def one(): pass\n", "b.py": "die", "c.py": "hurry"})
    with reading(work, pool=faulty_pool()) as reader:
        trees = [reader.tree() for _ in range(2)]
    assert [names(tree) for tree in trees] == [["a.py", "c.py"]] * 2
    assert [tree.skipped.failed for tree in trees] == [1, 1]
    assert [tree.parsed for tree in trees] == [2, 1]
    assert trees[0].mark == trees[1].mark


def test_the_loop_keeps_its_beat_while_a_tree_is_read(tmp_path: Path) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    work = tmp_path / "work"
    for package in ("asyncio", "email", "unittest", "json", "importlib", "http"):
        shutil.copytree(library / package, work / package)

    async def measure() -> tuple[SourceTree, list[float]]:
        gaps: list[float] = []
        reading_it = asyncio.ensure_future(asyncio.to_thread(read, work, tmp_path / "cache"))
        last = time.monotonic()
        while not reading_it.done():
            await asyncio.sleep(0.005)
            now = time.monotonic()
            gaps.append(now - last)
            last = now
        return await reading_it, gaps

    tree, gaps = asyncio.run(measure())
    assert tree.parsed > 80
    gaps.sort()
    assert len(gaps) > 10
    # Nine in ten on time, whatever else this machine does; and never as long as a file takes to parse.
    assert gaps[len(gaps) * 9 // 10] < 0.06
    assert gaps[-1] < 0.5

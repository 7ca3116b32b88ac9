from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fakes.context import call
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode
from remit.base.resources import Resource
from remit.code.reading import MAX_CROWDED
from remit.store.facts import KeptFacts
from remit.tools.files.file_index import MAX_SOURCE_BYTES, FileIndex
from remit.wiring.source import Source, SourceGrant
from remit.workspace.root import Root


def indexed(root: Root, path: str, **grants: Any) -> Outcome:
    return call(FileIndex(), {"path": path}, root, **grants)


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


# -- files -------------------------------------------------------------------------------------


def test_a_file_comes_as_its_outline(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x = 1\n\nbegin\n  more\n")
    outcome = indexed(root, "a.txt")
    assert outcome.for_model() == "lines [1-4]\n  x = 1 [1]\n  begin [3-4]\n"
    assert outcome.data == {
        "kind": "source",
        "path": "a.txt",
        "totalLines": 5,
        "recovered": False,
        "cut": False,
        "minified": False,
        "truncated": False,
        "lines": [
            {"outputLine": 1, "text": "lines [1-4]", "semantic": "section", "sourceRange": (1, 4)},
            {"outputLine": 2, "text": "  x = 1 [1]", "semantic": "item", "sourceRange": (1, 1)},
            {"outputLine": 3, "text": "  begin [3-4]", "semantic": "item", "sourceRange": (3, 4)},
        ],
    }


def read_as_source(root: Root, path: str) -> Outcome:
    source = Source(KeptFacts(""))
    try:
        return indexed(root, path, code=SourceGrant(source, None, lambda: None))
    finally:
        source.close()


def test_a_source_file_comes_by_what_it_defines(workspace: Path, root: Root) -> None:
    text = "\ufeffimport os\r\n\r\n\r\nclass One:\r\n    def two(self): ...\r\n"
    (workspace / "a.py").write_bytes(text.encode())
    outcome = read_as_source(root, "a.py")
    assert outcome.for_model() == ("imports [1]\n  os [1]\ntypes [4-5]\n  class One [4-5]\n    def two(self) [5]\n")


def test_a_source_file_that_does_not_fit_its_language(workspace: Path, root: Root) -> None:
    (workspace / "a.py").write_text("def one(:\n    pass\n\ndef two():\n    pass\n")
    outcome = read_as_source(root, "a.py")
    assert outcome.data["recovered"] is True
    assert "  def two() [4-5]\n" in outcome.for_model()
    assert outcome.for_model().endswith("[parts of the file do not fit its language and are left out]\n")


@pytest.mark.parametrize("name", ["a.txt", "a.py"])
def test_a_file_that_defines_nothing_comes_by_its_lines(workspace: Path, root: Root, name: str) -> None:
    (workspace / name).write_text("print(1)\n")
    assert read_as_source(root, name).for_model() == "lines [1]\n  print(1) [1]\n"


def test_a_script_is_told_by_its_first_line(workspace: Path, root: Root) -> None:
    (workspace / "run").write_text("#!/usr/bin/env python3\ndef one(): ...\n")
    assert read_as_source(root, "run").for_model() == "functions [2]\n  def one() [2]\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "[the file holds nothing]\n"),
        (b"\xef\xbb\xbfa\r\n\r\nb\r\n", "lines [1-3]\n  a [1]\n  b [3]\n"),
        (b"a\rb", "lines [1-2]\n  a [1-2]\n"),
    ],
    ids=["empty", "mark and CRLF", "CR"],
)
def test_lines_are_counted_as_file_read_does(workspace: Path, root: Root, content: bytes, text: str) -> None:
    (workspace / "a.txt").write_bytes(content)
    assert indexed(root, "a.txt").for_model() == text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"%PDF-1.7", ErrorCode.BINARY_CONTENT),
        (b"a\0b", ErrorCode.BINARY_CONTENT),
        ("é".encode("latin-1"), ErrorCode.INVALID_ENCODING),
        ("a".encode("utf-16"), ErrorCode.INVALID_ENCODING),
    ],
)
def test_what_is_no_utf8_text_is_an_error(workspace: Path, root: Root, content: bytes, expected: ErrorCode) -> None:
    (workspace / "a.py").write_bytes(content)
    assert code(indexed(root, "a.py")) is expected


@pytest.mark.parametrize(("size", "expected"), [(MAX_SOURCE_BYTES, None), (MAX_SOURCE_BYTES + 1, "file_too_large")])
def test_a_source_has_a_largest_size(workspace: Path, root: Root, size: int, expected: str | None) -> None:
    (workspace / "a.py").write_bytes(b"x" * size)
    assert code(indexed(root, "a.py")) == expected


def test_what_was_minified_is_told_in_short_and_said(workspace: Path, root: Root) -> None:
    functions = "".join(f"function f{number}(a,b){{return a+b}}" for number in range(3000))
    (workspace / "a.min.js").write_text(f'"use strict";{functions}\n')
    outcome = read_as_source(root, "a.min.js")
    assert outcome.data["minified"] is True
    assert len(outcome.data["lines"]) == 1 + MAX_CROWDED
    assert outcome.for_model().endswith(
        "[minified: many definitions share a line, and only the first of them are told; file_grep finds names]\n"
    )


def test_a_long_line_in_a_file_that_people_write_is_not_minified(workspace: Path, root: Root) -> None:
    functions = "".join(f"function f{number}() {{}}\n" for number in range(MAX_CROWDED))
    (workspace / "a.js").write_text(f"{functions}const DATA = '{'x' * 50_000}';\n")
    assert read_as_source(root, "a.js").data["minified"] is False
    (workspace / "few.js").write_text("function f(){}" * MAX_CROWDED)
    assert read_as_source(root, "few.js").data["minified"] is False


def test_an_outline_that_is_too_long_is_cut_and_says_so(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("".join(f"part {number}\n\n" for number in range(10_000)))
    outcome = indexed(root, "a.txt")
    text = outcome.for_model()
    assert len(text.encode()) <= 50 * 1024 and outcome.data["truncated"]
    assert text.endswith("[20001 lines; the outline goes on, and is cut here]\n")


# -- directories -------------------------------------------------------------------------------


def test_a_directory_comes_with_directories_first(workspace: Path, root: Root) -> None:
    for name in ("z", "a"):
        (workspace / name).mkdir()
    (workspace / "m.txt").write_text("1\n2\n")
    (workspace / "b.bin").write_bytes(b"\0" * 7)
    (workspace / "c").symlink_to("nowhere")
    outcome = indexed(root, ".")
    assert outcome.for_model() == "a/\nz/\nb.bin (7 bytes)\nc\nm.txt (3 lines)\n"
    assert outcome.data | {"lines": []} == {
        "kind": "directory",
        "path": ".",
        "totalCount": 5,
        "exact": True,
        "truncated": False,
        "withheld": 0,
        "lines": [],
    }
    assert [line["semantic"] for line in outcome.data["lines"]] == ["section", "section", "plain", "plain", "plain"]


def test_an_empty_directory_says_so(root: Root) -> None:
    assert indexed(root, ".").for_model() == "[the directory is empty]\n"


@pytest.mark.parametrize(("number", "shown"), [(1000, 1000), (1001, 1000)])
def test_a_directory_shows_its_first_thousand(workspace: Path, root: Root, number: int, shown: int) -> None:
    for index in range(number):
        (workspace / f"{index:05}").touch()
    outcome = indexed(root, ".")
    facts = {name: outcome.data[name] for name in ("totalCount", "exact", "truncated")}
    assert facts == {"totalCount": number, "exact": True, "truncated": number > shown}
    assert len(outcome.data["lines"]) == shown
    assert ("[1000 of 1001 entries" in outcome.for_model()) == (number > shown)


@pytest.mark.heavy
@pytest.mark.parametrize(("number", "exact"), [(10_000, True), (10_001, False)])
def test_a_directory_is_counted_up_to_ten_thousand(workspace: Path, root: Root, number: int, exact: bool) -> None:
    for index in range(number):
        os.mknod(workspace / f"{index:05}")
    data = indexed(root, ".").data
    assert (data["totalCount"], data["exact"]) == (10_000, exact)


def test_what_rules_withhold_is_counted(workspace: Path, root: Root) -> None:
    for name in ("a", "b"):
        (workspace / name).touch()

    def allowed(entry: Resource) -> bool:
        return entry.name != "b"

    outcome = indexed(root, ".", entry_allowed=allowed)
    assert outcome.for_model() == "a (1 line)\n[1 entry withheld by rules]\n"


# -- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "expected"), [(4096, "path_refused"), (4097, "invalid_arguments")])
def test_a_path_has_a_longest_length(root: Root, size: int, expected: str) -> None:
    assert code(indexed(root, "é/" * (size // 3) + "x" * (size % 3))) == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("gone", "not_found"), ("../x", "path_refused"), ("/etc", "path_refused")]
)
def test_other_names_are_refused(root: Root, path: str, expected: str) -> None:
    assert code(indexed(root, path)) == expected


def test_an_absolute_path_below_the_workspace_is_fine(workspace: Path, root: Root) -> None:
    (workspace / "a").write_text("x")
    assert indexed(root, str(workspace / "a")).ok and indexed(root, str(workspace)).ok

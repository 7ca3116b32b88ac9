from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fakes.context import call
from fakes.unprivileged import unprivileged
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode
from remit.base.resources import Effect, Resource
from remit.tools.files.file_glob import MAX_FILES, FileGlob
from remit.workspace.root import Root
from remit.workspace.search_scan import MAX_NAMES

TOOL = FileGlob()


def put(workspace: Path, *names: str) -> None:
    for name in names:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def found(outcome: Outcome) -> list[str]:
    assert outcome.ok, outcome
    files: list[str] = outcome.data["files"]
    return files


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def test_what_the_tool_says_of_itself() -> None:
    spec = FileGlob().spec()
    assert spec.name == "file_glob"
    assert list(spec.schema["properties"]) == ["pattern", "path"]
    assert spec.schema["required"] == ["pattern"]
    assert FileGlob.effects == {Effect.READ}


def test_names_and_paths(workspace: Path, root: Root) -> None:
    put(workspace, "b.py", "a.py", "src/c.py", "src/deep/d.py", "src/e.ts", ".github/f.py")
    outcome = call(TOOL, {"pattern": "*.py"}, root)
    assert found(outcome) == [".github/f.py", "a.py", "b.py", "src/c.py", "src/deep/d.py"]
    assert outcome.text == ".github/f.py\na.py\nb.py\nsrc/c.py\nsrc/deep/d.py"
    assert found(call(TOOL, {"pattern": "src/*.{py,ts}"}, root)) == ["src/c.py", "src/e.ts"]


def test_brackets_that_look_like_a_choice_are_told(workspace: Path, root: Root) -> None:
    put(workspace, "a.py", "[id].py")
    outcome = call(TOOL, {"pattern": "[ab].py"}, root)
    assert outcome.text == "No files found.\n[square brackets stand for themselves; a choice is {a,b}]"
    assert call(TOOL, {"pattern": "[id].py"}, root).text == "[id].py"


def test_names_are_relative_to_the_searched_directory(workspace: Path, root: Root) -> None:
    put(workspace, "src/deep/d.py", "d.py")
    outcome = call(TOOL, {"pattern": "**/*.py", "path": "src"}, root)
    assert found(outcome) == ["deep/d.py"]
    assert outcome.data["path"] == "src"


def test_sorted_part_by_part(workspace: Path, root: Root) -> None:
    put(workspace, "a/z", "a b/c", "a-b/c", "a.txt")
    assert found(call(TOOL, {"pattern": "**"}, root)) == ["a/z", "a b/c", "a-b/c", "a.txt"]


def test_a_hundred_are_shown_and_all_counted(workspace: Path, root: Root) -> None:
    put(workspace, *(f"f{number:03}.txt" for number in range(MAX_FILES)))
    outcome = call(TOOL, {"pattern": "*.txt"}, root)
    assert (len(found(outcome)), outcome.data["total"]) == (MAX_FILES, MAX_FILES)
    assert "[" not in outcome.text
    put(workspace, "g.txt")
    outcome = call(TOOL, {"pattern": "*.txt"}, root)
    assert (len(found(outcome)), outcome.data["total"], outcome.data["totalExact"]) == (100, 101, True)
    assert outcome.text.endswith("f099.txt\n[showing 100 of 101 files]")


def test_more_than_the_rules_are_asked_about(workspace: Path, root: Root) -> None:
    put(workspace, *(f"f{number:03}.txt" for number in range(MAX_NAMES)))
    assert call(TOOL, {"pattern": "*"}, root).data["totalExact"] is True
    put(workspace, "g.txt")
    outcome = call(TOOL, {"pattern": "*"}, root)
    assert (outcome.data["total"], outcome.data["totalExact"]) == (MAX_NAMES, False)
    assert "[showing 100 of at least 500 files]" in outcome.text


def test_what_is_left_out_is_told(workspace: Path, root: Root) -> None:
    put(workspace, "a.py", "build/b.py", "x.log", "node_modules/c.py", "sub/.git/HEAD", "sub/d.py", ".git/e.py")
    put(workspace, ".ssh/f.py", ".remit/g.py", ".env", "id_rsa", "deep/.ENV.local")
    (workspace / ".gitignore").write_text("build/\n*.log\n")
    (workspace / "link.py").symlink_to("a.py")
    outcome = call(TOOL, {"pattern": "**"}, root)
    assert found(outcome) == [".gitignore", "a.py"]
    assert outcome.data["leftOut"] == {
        "withheld": 3,
        "withheldOf": 5,
        "ignored": 2,
        "skippedFolders": ["node_modules"],
        "nestedRepositories": ["sub"],
        "special": 1,
        "tooLarge": 0,
        "binary": 0,
        "unreadable": 0,
    }
    assert outcome.text.splitlines()[2:] == [
        "[3 files withheld by rules]",
        "[2 entries ignored by .gitignore (reached by naming the path)]",
        "[1 directory skipped by default (reached by naming the path): node_modules]",
        "[1 nested repository not searched (reached by naming the path): sub]",
        "[1 link or special file not followed]",
    ]


@pytest.mark.parametrize("path", ["build", "node_modules", "sub"])
def test_a_left_out_directory_is_reached_by_its_name(workspace: Path, root: Root, path: str) -> None:
    put(workspace, "build/b.py", "node_modules/b.py", "sub/.git/HEAD", "sub/b.py", ".git/HEAD")
    (workspace / ".gitignore").write_text("build/\n")
    assert found(call(TOOL, {"pattern": "*.py", "path": path}, root)) == ["b.py"]


def test_nothing_found_but_among_what_is_ignored(workspace: Path, root: Root) -> None:
    put(workspace, "a.txt", "build/b.py", "build/private/c.py", "node_modules/x/c.py", ".git/d.py")
    (workspace / ".gitignore").write_text("build/\n")
    outcome = call(TOOL, {"pattern": "*.py"}, root, entry_allowed=lambda entry: "private" not in entry.name)
    assert found(outcome) == []
    assert outcome.data["elsewhere"] == {"files": 2, "examples": ["build/b.py", "node_modules/x/c.py"], "exact": True}
    lines = outcome.text.splitlines()
    assert lines[0] == "No files found."
    assert lines[1] == "[2 files match in what is ignored or skipped, such as build/b.py, node_modules/x/c.py]"


def test_what_rules_withhold_is_counted_whatever_is_looked_for(workspace: Path, root: Root) -> None:
    put(workspace, "private/key-a", "private/key-b", "open.txt")

    def allowed(entry: Resource) -> bool:
        return not entry.name.startswith("private/")

    for pattern in ("private/key-a", "private/key-z", "*", "nothing"):
        outcome = call(TOOL, {"pattern": pattern}, root, entry_allowed=allowed)
        assert "private" not in outcome.text
        assert outcome.data["leftOut"]["withheld"] == 2
        assert outcome.data["total"] == (pattern == "*")


def test_names_that_no_line_holds(workspace: Path, root: Root) -> None:
    put(workspace, "new\nline.py", "esc\x1b.py")
    Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9.py")).write_text("x")
    outcome = call(TOOL, {"pattern": "*.py"}, root)
    assert found(outcome) == ["caf\ufffd.py", "esc\x1b.py", "new\nline.py"]
    assert outcome.text == "caf\ufffd.py\nesc\\x1b.py\nnew\\nline.py"


def test_a_directory_that_cannot_be_listed(workspace: Path, root: Root) -> None:
    put(workspace, "closed/a.py", "b.py")
    (workspace / "closed").chmod(0)
    with unprivileged():
        outcome = call(TOOL, {"pattern": "*.py"}, root)
    (workspace / "closed").chmod(0o700)
    assert found(outcome) == ["b.py"]
    assert "[warning: 1 entry could not be read]" in outcome.text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": ""}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "../*"}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "{a,b"}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "[a"}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "*", "case": True}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "*", "path": "none"}, ErrorCode.NOT_FOUND),
        ({"pattern": "*", "path": "a.txt"}, ErrorCode.NOT_A_DIRECTORY),
        ({"pattern": "*", "path": "../x"}, ErrorCode.PATH_REFUSED),
        ({"pattern": "*", "path": "out"}, ErrorCode.PATH_REFUSED),
    ],
)
def test_refusals(workspace: Path, root: Root, arguments: dict[str, Any], expected: ErrorCode) -> None:
    put(workspace, "a.txt")
    (workspace / "out").symlink_to("..")
    assert code(call(TOOL, arguments, root)) is expected

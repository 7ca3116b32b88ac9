"""What `remit-sdk` tells of calls beside their text: objects by tool, and why one was not carried out."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.cli import Home
from fakes.sdk import STREAM, run

DONE = {"text": "Done."}
EDIT = ("--permission-mode", "acceptEdits")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments}]}


def told(home: Home, turn: dict[str, Any], *args: str) -> dict[str, Any]:
    """The line with the result of the one call."""
    ran = run(home, "go", *STREAM, "--model", home.script(turn, DONE), *args)
    [line] = [event for event in ran.events if event["type"] == "user"]
    return line


def test_an_edit_is_told_with_what_the_file_held_and_what_became_of_it(home: Home) -> None:
    home.write("a.txt", "one\ntwo\nthree")
    edit = call("file_edit", filePath="a.txt", oldString="two", newString="2\n2b")
    line = told(home, edit, *EDIT)
    assert line["tool_use_result"] == {
        "filePath": str(home.work / "a.txt"),
        "oldString": "two",
        "newString": "2\n2b",
        "originalFile": "one\ntwo\nthree",
        "structuredPatch": [
            {
                "oldStart": 1,
                "oldLines": 3,
                "newStart": 1,
                "newLines": 4,
                "lines": [" one", "-two", "+2", "+2b", " three", "\\ No newline at end of file"],
            }
        ],
        "userModified": False,
        "replaceAll": False,
    }
    assert "tool_result_meta" not in line


def test_a_new_file_and_one_that_is_written_again(home: Home) -> None:
    new = told(home, call("file_write", filePath="a.txt", content="A\n"), *EDIT)["tool_use_result"]
    assert (new["type"], new["originalFile"], new["structuredPatch"]) == ("create", None, [])
    again = told(home, call("file_write", filePath="a.txt", content="B\n"), *EDIT)["tool_use_result"]
    assert (again["type"], again["content"], again["originalFile"]) == ("update", "B\n", "A\n")
    assert again["structuredPatch"] == [
        {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-A", "+B"]}
    ]


@pytest.mark.parametrize(("size", "kept"), [(256 << 10, True), ((256 << 10) + 1, False)])
def test_what_a_file_held_is_told_up_to_a_size(home: Home, size: int, kept: bool) -> None:
    home.write("a.txt", "x" * size)
    result = told(home, call("file_write", filePath="a.txt", content="B"), *EDIT)["tool_use_result"]
    assert result["originalFile"] == ("x" * size if kept else None)


def test_hunks_that_a_long_diff_was_cut_in_are_left_out(home: Home) -> None:
    old = "".join(f"{number:04d} {'a' * 60}\n" for number in range(1000))
    home.write("a.txt", old)
    new = "".join(f"{line}{'b' * (number % 10 == 0)}\n" for number, line in enumerate(old.splitlines()))
    hunks = told(home, call("file_write", filePath="a.txt", content=new), *EDIT)["tool_use_result"]["structuredPatch"]
    assert 0 < len(hunks) < 100
    for hunk in hunks:
        marks = [line[0] for line in hunk["lines"]]
        assert (marks.count(" ") + marks.count("-"), marks.count(" ") + marks.count("+")) == (
            hunk["oldLines"],
            hunk["newLines"],
        )


def test_a_patch_of_several_files(home: Home) -> None:
    home.write("a.txt", "A\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-A\n+B\n*** Add File: b.txt\n+new\n*** End Patch\n"
    line = told(home, call("file_apply_patch", patchText=patch), *EDIT, "--tools", "file_apply_patch")
    result = line["tool_use_result"]
    assert (result["filePath"], result["originalFile"]) == (str(home.work / "a.txt"), "A\n")
    assert result["structuredPatch"][0]["lines"] == ["-A", "+B"]
    assert [file["type"] for file in result["files"]] == ["update", "add"]


@pytest.mark.parametrize(
    ("turn", "wish"),
    [
        (call("file_write", filePath="a.txt", content="A"), "write to {work}/a.txt"),
        (call("shell", command="touch x"), "use Bash"),
    ],
)
def test_a_call_that_nobody_allowed_is_told_in_their_words(home: Home, turn: dict[str, Any], wish: str) -> None:
    line = told(home, turn)
    [block] = line["message"]["content"]
    text = f"Claude requested permissions to {wish.format(work=home.work)}, but you haven't granted it yet."
    assert (block["content"], block["is_error"]) == (text, True)
    assert line["tool_use_result"] == f"Error: {text}"
    [meta] = line["tool_result_meta"]
    assert (meta["id"], meta["non_execution_kind"]) == (block["tool_use_id"], "permission-rule")
    assert meta["permission_decision"]["decision"] == "deny"


def test_a_call_that_a_rule_denies(home: Home) -> None:
    line = told(home, call("file_read", filePath="a.txt"), "--disallowedTools", "Read(a.txt)")
    [meta] = line["tool_result_meta"]
    assert meta["permission_decision"] == {"decision": "deny", "source": "config", "reason_type": "flag"}

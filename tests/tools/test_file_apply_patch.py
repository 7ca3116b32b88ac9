from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fakes.context import World, call
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect
from remit.tools.files._editor import EDITORS, editor_for
from remit.tools.files.file_apply_patch import FileApplyPatch
from remit.tools.registry import places
from remit.workspace.root import Root

TOOL = FileApplyPatch()


def text_of(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def run(root: Root, *lines: str, marks: dict[str, str] | None = None, **more: Any) -> Outcome:
    return call(TOOL, {"patchText": text_of(*lines)}, root, marks=marks, **more)


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def message(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.message


def files(workspace: Path) -> dict[str, bytes]:
    return {str(path.relative_to(workspace)): path.read_bytes() for path in workspace.rglob("*") if path.is_file()}


def test_what_the_tool_says_of_itself(root: Root) -> None:
    spec = TOOL.spec()
    assert spec.schema["required"] == ["patchText"] == list(spec.schema["properties"])
    assert all(word in spec.description for word in ("1 MiB", "100 sections", "5 MiB", "*** Move to: "))
    assert TOOL.effects == {Effect.READ, Effect.WRITE}
    params = TOOL.parse('{"patchText": "*** Begin Patch\\n*** Update File: a\\n*** Move to: b\\n*** End Patch"}')
    touched = [(each.kind, each.name, each.effect.value) for each in TOOL.resources(params, World(root))]
    assert touched == [("path", name, effect) for effect in ("read", "write") for name in ("a", "b")]


def test_everything_at_once(workspace: Path, root: Root) -> None:
    (workspace / "a.py").write_text("def f():\n    return 1\n")
    (workspace / "old.py").write_text("x\n")
    (workspace / "run.sh").write_text("#!/bin/sh\necho 1\n")
    os.chmod(workspace / "run.sh", 0o750)
    marks: dict[str, str] = {}
    outcome = run(
        root,
        "*** Update File: a.py",
        "@@ def f():",
        "-    return 1",
        "+    return 2",
        "*** Add File: docs/new.md",
        "+# New",
        "*** Delete File: old.py",
        "*** Update File: run.sh",
        "*** Move to: bin/run",
        "@@",
        "-echo 1",
        "+echo 2",
        marks=marks,
    )
    assert outcome.ok, outcome
    assert files(workspace) == {
        "a.py": b"def f():\n    return 2\n",
        "docs/new.md": b"# New\n",
        "bin/run": b"#!/bin/sh\necho 2\n",
    }
    assert stat.S_IMODE(os.stat(workspace / "bin/run").st_mode) == 0o750
    assert outcome.for_model() == (
        "updated a.py: +1 -1 lines\n"
        "added docs/new.md: +1 -0 lines\n"
        "deleted old.py: +0 -1 lines\n"
        "moved run.sh to bin/run: +1 -1 lines\n"
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
        "--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo 1\n+echo 2\n"
    )
    data = outcome.data
    assert [(each["path"], each["type"]) for each in data["files"]] == [
        ("a.py", "update"),
        ("docs/new.md", "add"),
        ("old.py", "delete"),
        ("run.sh", "move"),
    ]
    assert data["files"][3]["movePath"] == "bin/run"
    assert [(stamp["path"], bool(stamp["mark"])) for stamp in data["stamps"]] == [
        ("a.py", True),
        ("docs/new.md", True),
        ("old.py", False),
        ("bin/run", True),
        ("run.sh", False),
    ]
    assert marks["bin/run"]
    assert not marks["run.sh"]


@pytest.mark.parametrize(
    ("lines", "expected", "told"),
    [
        (["*** Add File: b.txt", "+x"], ErrorCode.ALREADY_EXISTS, "'b.txt' exists"),
        (["*** Add File: d", "+x"], ErrorCode.ALREADY_EXISTS, "'d' exists"),
        (["*** Delete File: none"], ErrorCode.NOT_FOUND, "'none' does not exist"),
        (["*** Update File: none", "+x"], ErrorCode.NOT_FOUND, "'none' does not exist"),
        (["*** Update File: b.txt", "*** Move to: c.txt", " b"], ErrorCode.ALREADY_EXISTS, "'c.txt' exists"),
        (["*** Update File: b.txt", "-nope"], ErrorCode.TEXT_NOT_FOUND, "line 6 of the patch"),
        (["*** Update File: bin", "-nope"], ErrorCode.BINARY_CONTENT, "'bin' holds binary"),
        (["*** Delete File: bin"], ErrorCode.BINARY_CONTENT, "'bin' holds binary"),
        (["*** Delete File: d"], ErrorCode.NOT_A_FILE, "'d' is a directory"),
        (["*** Delete File: l"], ErrorCode.PATH_REFUSED, "'l' is a link"),
        (["*** Update File: l", "*** Move to: m", " b"], ErrorCode.PATH_REFUSED, "'l' is a link"),
        (["*** Update File: l", " b", "*** Update File: b.txt", " b"], ErrorCode.PATCH_INVALID, "are one file"),
        (["*** Delete File: ./a.txt"], ErrorCode.PATCH_INVALID, "are one file"),
        (
            ["*** Add File: n", "*** Add File: ./n//x"],
            ErrorCode.PATCH_INVALID,
            "line 6 of the patch: 'n/x' lies below 'n'",
        ),
        (
            ["*** Add File: n/m/x", "*** Add File: n"],
            ErrorCode.PATCH_INVALID,
            "'n/m/x' lies below 'n', which is a file by line 6",
        ),
        (["*** Update File: b.txt", "*** Move to: new/x/y"], ErrorCode.PATCH_INVALID, "'new/x/y' lies below 'new/x'"),
        (["*** Add File: dl/n", "*** Add File: d/n/x"], ErrorCode.PATCH_INVALID, "'d/n/x' lies below 'dl/n'"),
        (["*** Delete File: ../x"], ErrorCode.PATH_REFUSED, "'..'"),
        (["*** Add File: /etc/x"], ErrorCode.PATH_REFUSED, "outside of the workspace"),
        (["*** Add File: b.txt/x", "+x"], ErrorCode.NOT_A_DIRECTORY, "not a directory"),
        (["*** Update File: wide", "-b", "+→"], ErrorCode.INVALID_ENCODING, "windows-1252"),
    ],
)
def test_one_bad_section_and_nothing_is_changed(
    workspace: Path, root: Root, lines: list[str], expected: ErrorCode, told: str
) -> None:
    for name in ("a", "b", "c"):
        (workspace / f"{name}.txt").write_text(f"{name}\n")
    (workspace / "bin").write_bytes(b"\0")
    (workspace / "wide").write_bytes(b"\xe9\nb\n")
    (workspace / "d").mkdir()
    (workspace / "l").symlink_to("b.txt")
    (workspace / "dl").symlink_to("d")
    before = files(workspace)
    outcome = run(root, "*** Add File: new/x", *(["+x", "*** Delete File: a.txt"]), *lines)
    assert (code(outcome), told in message(outcome)) == (expected, True), outcome
    assert files(workspace) == before
    assert not (workspace / "new").exists()


def test_a_failure_in_the_middle_of_the_swap_restores(workspace: Path, root: Root) -> None:
    """A file changes after it was read and before it is replaced."""
    for name in ("a", "b"):
        (workspace / name).write_text("old\n")

    class Meddling(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            if key == "b":
                (workspace / "a").write_text("theirs\n")
            return default

    outcome = run(root, "*** Update File: a", "-old", "+new", "*** Update File: b", "-old", "+new", marks=Meddling())
    assert code(outcome) is ErrorCode.FILE_CHANGED
    assert files(workspace) == {"a": b"theirs\n", "b": b"old\n"}


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        (b"a\r\nb\r\nc\r\n", [" a", "-b", "+B", "+BB"], b"a\r\nB\r\nBB\r\nc\r\n"),
        (b"a\r\nb", ["-b", "+B", "+BB"], b"a\r\nB\r\nBB"),
        (b"a\nb\r\nc\n", [" b", "+x"], b"a\nb\r\nx\r\nc\n"),
        (b"a\rb\r", ["-b", "+B"], b"a\rB\r"),
        (codecs.BOM_UTF8 + b"a\n", ["-a", "+b"], codecs.BOM_UTF8 + b"b\n"),
        (
            codecs.BOM_UTF16_LE + "a\r\nü\r\n".encode("utf-16-le"),
            ["-a", "+é"],
            codecs.BOM_UTF16_LE + "é\r\nü\r\n".encode("utf-16-le"),
        ),
        ("é→".encode() + b"\xff\na\n", [" é→\ufffd", "-a", "+b"], "é→".encode() + b"\xff\nb\n"),
        (b"\xe9 \n\ta\n", [" é", "-a", "+ü"], b"\xe9 \n\xfc\n"),
        (b"", ["+a"], b"a\n"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_bytes_beside_the_change_stay(
    workspace: Path, root: Root, before: bytes, lines: list[str], after: bytes, end: str
) -> None:
    (workspace / "f").write_bytes(before)
    text = text_of("*** Update File: f", "@@", *lines).replace("\n", end)
    outcome = call(TOOL, {"patchText": text}, root)
    assert outcome.ok, outcome
    assert (workspace / "f").read_bytes() == after


def test_a_patch_that_changes_nothing(workspace: Path, root: Root) -> None:
    (workspace / "f").write_text("a\n")
    before = os.stat(workspace / "f")
    outcome = run(root, "*** Update File: f", " a")
    assert outcome.for_model() == "updated f: +0 -0 lines, which had this content already\n"
    assert os.stat(workspace / "f") == before


def test_a_move_alone(workspace: Path, root: Root) -> None:
    (workspace / "f").write_text("a\n")
    outcome = run(root, "*** Update File: f", "*** Move to: d/g")
    assert outcome.for_model() == "moved f to d/g: +0 -0 lines\n"
    assert files(workspace) == {"d/g": b"a\n"}


def test_a_stale_file(workspace: Path, root: Root) -> None:
    marks: dict[str, str] = {}
    (workspace / "f").write_text("a\n")
    assert run(root, "*** Update File: f", "-a", "+b", marks=marks).ok
    assert run(root, "*** Update File: f", "-b", "+c", marks=marks).ok
    (workspace / "f").write_text("c\ntheirs\n")
    assert code(run(root, "*** Update File: f", "-c", "+d", marks=marks)) is ErrorCode.FILE_CHANGED
    assert code(run(root, "*** Delete File: f", marks=marks)) is ErrorCode.FILE_CHANGED


def test_large_files_and_plans(workspace: Path, root: Root) -> None:
    mib = 1024 * 1024
    for number in range(4):
        (workspace / f"f{number}").write_bytes(b"a\n" + (b"x" * 999 + b"\n") * (mib * 5 // 1000 - 1))
    sections = [line for number in range(4) for line in (f"*** Update File: f{number}", "-a", "+b")]
    outcome = run(root, *sections)
    assert code(outcome) is ErrorCode.FILE_TOO_LARGE
    assert f"{32 * mib} bytes of files" in message(outcome)
    assert (workspace / "f0").read_bytes()[:2] == b"a\n"
    assert run(root, *sections[:9]).ok
    os.truncate(workspace / "f3", 10 << 30)
    assert code(run(root, *sections[9:])) is ErrorCode.FILE_TOO_LARGE


def test_diffs_that_do_not_fit_are_left_out(workspace: Path, root: Root) -> None:
    for number in range(6):
        (workspace / f"f{number}").write_text("old\n" * 3000)
    sections = [
        line for number in range(6) for line in (f"*** Update File: f{number}", "-old", *["+a new line of it"] * 1000)
    ]
    outcome = run(root, *sections)
    shown = outcome.for_model()
    assert len(shown.encode()) <= TOOL.bounds.output_bytes
    assert shown.count("updated f") == 6
    assert "[the diff is cut at 16 KiB]" in shown
    assert shown.endswith("[further diffs are left out]\n")
    assert all(each["truncated"] for each in outcome.data["files"])


def test_what_is_no_patch_is_told_before_any_rule_is_asked(root: Root) -> None:
    params = TOOL.parse('{"patchText": "*** Begin Patch\\n*** Add File: a\\nx\\n*** End Patch"}')
    with pytest.raises(Failure) as caught:
        TOOL.resources(params, World(root))
    assert caught.value.code is ErrorCode.PATCH_INVALID


@pytest.mark.parametrize(
    ("model", "patches"),
    [
        ("gpt-5", True),
        ("openai/gpt-5.1-codex-max", True),
        ("GPT-5-mini", True),
        ("openrouter/openai/gpt-6:free", True),
        ("gpt-10-turbo", True),
        ("gpt5", True),
        ("o3", True),
        ("o4-mini-2025-04-16", True),
        ("codex-mini-latest", True),
        ("gpt-4.1", False),
        ("gpt-4o", False),
        ("gpt-oss-120b", False),
        ("chatgpt-4o-latest", False),
        ("o1", False),
        ("o30", False),
        ("gpt-50x", True),
        ("gpt-3.5-turbo", False),
        ("claude-sonnet-4-5", False),
        ("gemini-3-pro", False),
        ("scripted//tmp/gpt-5/script.yaml", False),
        ("", False),
    ],
)
def test_each_model_has_one_editor(model: str, patches: bool) -> None:
    assert editor_for(model) == ("file_apply_patch" if patches else "file_edit")


def test_the_editors_are_tools() -> None:
    assert set(EDITORS) <= set(places())

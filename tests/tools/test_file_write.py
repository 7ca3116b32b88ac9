from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fakes.context import World, call
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode
from remit.base.resources import Effect
from remit.tools.files.file_read import FileRead
from remit.tools.files.file_write import FileWrite
from remit.workspace.root import Root

TOOL = FileWrite()
MIB_5 = 5 * 1024 * 1024


def run(root: Root, path: str, content: str, marks: dict[str, str] | None = None, **more: Any) -> Outcome:
    return call(TOOL, {"filePath": path, "content": content}, root, marks=marks, **more)


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def test_what_the_tool_says_of_itself(root: Root) -> None:
    spec = TOOL.spec()
    assert set(spec.schema["properties"]) == {"filePath", "content"} == set(spec.schema["required"])
    assert "5 MiB" in spec.description
    assert TOOL.effects == {Effect.READ, Effect.WRITE}
    assert not TOOL.repeatable
    touched = TOOL.resources(TOOL.parse('{"filePath": "a/b", "content": ""}'), World(root))
    assert [(each.kind, each.name, each.effect) for each in touched] == [
        ("path", "a/b", Effect.READ),
        ("path", "a/b", Effect.WRITE),
    ]


def test_a_new_file(workspace: Path, root: Root) -> None:
    outcome = run(root, "docs/new/a.txt", "one\ntwo\n")
    info = os.stat(workspace / "docs/new/a.txt")
    assert (workspace / "docs/new/a.txt").read_bytes() == b"one\ntwo\n"
    assert outcome.for_model() == "made docs/new/a.txt: +2 -0 lines, 8 bytes\n"
    assert outcome.data == {
        "kind": "write",
        "path": "docs/new/a.txt",
        "existed": False,
        "applied": True,
        "encoding": "utf-8",
        "bom": False,
        "newline": "lf",
        "links": 0,
        "diff": {
            "file": "docs/new/a.txt",
            "patch": "--- /dev/null\n+++ b/docs/new/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n",
            "additions": 2,
            "deletions": 0,
            "truncated": False,
        },
        "stamp": {"path": "docs/new/a.txt", "mark": f"{info.st_mtime_ns}:8:{info.st_ino}"},
    }


def test_a_file_is_replaced(workspace: Path, root: Root) -> None:
    (workspace / "a.sh").write_text("a\nb\nc\n")
    os.chmod(workspace / "a.sh", 0o750)
    outcome = run(root, str(workspace / "a.sh"), "a\nB\nc\n")
    assert (workspace / "a.sh").read_text() == "a\nB\nc\n"
    assert stat.S_IMODE(os.stat(workspace / "a.sh").st_mode) == 0o750
    assert outcome.data["existed"]
    assert outcome.for_model() == ("wrote a.sh: +1 -1 lines\n--- a/a.sh\n+++ b/a.sh\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (codecs.BOM_UTF8 + b"a", "ü", codecs.BOM_UTF8 + "ü".encode()),
        (codecs.BOM_UTF8 + b"a", "\ufeffü", codecs.BOM_UTF8 + "ü".encode()),
        (codecs.BOM_UTF16_BE + "a".encode("utf-16-be"), "ü\n", codecs.BOM_UTF16_BE + "ü\n".encode("utf-16-be")),
        ("é".encode("cp1252"), "ü", "ü".encode("cp1252")),
        (b"# coding: big5\n\xa4\xa4", "# coding: big5\n文", b"# coding: big5\n\xa4\xe5"),
        (b"abc", "ü", "ü".encode()),
        (b"", "\ufeffa", codecs.BOM_UTF8 + b"a"),
        # Line ends are written as given.
        (b"a\r\nb\r\n", "a\nb\n", b"a\nb\n"),
        (b"a\n", "a\r\n", b"a\r\n"),
    ],
)
def test_the_encoding_stays_and_line_ends_are_as_given(
    workspace: Path, root: Root, before: bytes, content: str, after: bytes
) -> None:
    (workspace / "a.txt").write_bytes(before)
    assert run(root, "a.txt", content).ok
    assert (workspace / "a.txt").read_bytes() == after


def test_other_line_ends_than_before_are_said(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_bytes(b"a\r\nb\r\n")
    assert "[line ends were CRLF, now they are LF]\n" in run(root, "a.txt", "a\nb\n").for_model()


def test_what_the_encoding_does_not_have_is_refused(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_bytes(b"\xe9")
    outcome = run(root, "a.txt", "a\n→")
    assert code(outcome) is ErrorCode.INVALID_ENCODING
    assert "U+2192, line 2" in outcome.for_model()
    assert (workspace / "a.txt").read_bytes() == b"\xe9"


def test_the_same_content_is_not_written_again(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x")
    before = os.stat(workspace / "a.txt")
    outcome = run(root, "a.txt", "x")
    assert not outcome.data["applied"]
    assert "nothing was written" in outcome.for_model()
    assert os.stat(workspace / "a.txt") == before


def test_size(workspace: Path, root: Root) -> None:
    assert run(root, "a.txt", "x" * MIB_5).ok
    outcome = run(root, "b.txt", "é" * (MIB_5 // 2) + "x")
    assert code(outcome) is ErrorCode.FILE_TOO_LARGE
    assert not (workspace / "b.txt").exists()
    os.truncate(workspace / "a.txt", 10 << 30)
    assert code(run(root, "a.txt", "x")) is ErrorCode.FILE_TOO_LARGE


def test_a_large_diff_is_cut_and_counted_whole(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x" * 99 + "\n")
    outcome = run(root, "a.txt", ("y" * 99 + "\n") * 1000)
    assert outcome.data["diff"]["truncated"]
    assert outcome.data["diff"]["additions"] == 1000
    assert len(outcome.data["diff"]["patch"]) <= 16 * 1024
    assert outcome.for_model().endswith("[the diff is cut at 16 KiB]\n")


def test_what_is_no_text_file_is_not_overwritten(workspace: Path, root: Root) -> None:
    (workspace / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (workspace / "d").mkdir()
    os.mkfifo(workspace / "pipe")
    assert code(run(root, "a.png", "x")) is ErrorCode.BINARY_CONTENT
    for name, kind in (("d", "a directory"), ("pipe", "a named pipe")):
        outcome = run(root, name, "x")
        assert code(outcome) is ErrorCode.NOT_A_FILE
        assert outcome.error is not None
        assert outcome.error.message == f"'{name}' is {kind}; only regular files are changed"
    assert code(run(root, "d/../../x", "x")) is ErrorCode.PATH_REFUSED
    assert code(run(root, "/etc/x", "x")) is ErrorCode.PATH_REFUSED
    assert code(run(root, "a.png/x", "x")) is ErrorCode.NOT_A_DIRECTORY


def test_a_link_that_leads_out_is_never_written(workspace: Path, root: Root) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (workspace / "l").symlink_to(outside)
    (workspace / "f").symlink_to(outside / "new.txt")
    assert code(run(root, "l/a.txt", "x")) is ErrorCode.PATH_REFUSED
    assert code(run(root, "f", "x")) is ErrorCode.PATH_REFUSED
    assert list(outside.iterdir()) == []


def test_a_link_put_there_after_the_rules_were_asked(workspace: Path, root: Root) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()

    def swap() -> None:
        (workspace / "d").symlink_to(outside)

    outcome = run(root, "d/a.txt", "x", between=swap)
    assert code(outcome) is ErrorCode.PATH_REFUSED
    assert list(outside.iterdir()) == []


def test_hard_links_are_told(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("old\n")
    os.link(workspace / "a.txt", workspace / "b.txt")
    outcome = run(root, "a.txt", "new\n")
    assert outcome.data["links"] == 2
    assert "[it had 2 names by hard links; the others keep the former content]" in outcome.for_model()
    assert (workspace / "b.txt").read_text() == "old\n"


# -- stale files -------------------------------------------------------------------------------


def test_a_file_that_changed_since_it_was_seen(workspace: Path, root: Root) -> None:
    marks: dict[str, str] = {}
    (workspace / "a.txt").write_text("one")
    assert run(root, "a.txt", "two", marks).ok
    assert run(root, "a.txt", "three", marks).ok
    (workspace / "a.txt").write_text("theirs")
    outcome = run(root, "a.txt", "four", marks)
    assert code(outcome) is ErrorCode.FILE_CHANGED
    assert "Read it again" in outcome.for_model()
    assert (workspace / "a.txt").read_text() == "theirs"
    assert call(FileRead(), {"filePath": "a.txt"}, root, marks=marks).ok
    assert run(root, "a.txt", "four", marks).ok


def test_one_that_is_gone_may_be_written_again(workspace: Path, root: Root) -> None:
    marks: dict[str, str] = {}
    assert run(root, "a.txt", "one", marks).ok
    (workspace / "a.txt").unlink()
    assert run(root, "a.txt", "two", marks).ok

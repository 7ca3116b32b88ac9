from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fakes.context import call
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode
from remit.base.resources import Effect
from remit.tools.files.file_edit import FileEdit
from remit.tools.files.file_read import FileRead
from remit.workspace.root import Root

TOOL = FileEdit()


def run(root: Root, path: str, old: str, new: str, marks: dict[str, str] | None = None, **more: Any) -> Outcome:
    arguments = {"filePath": path, "oldString": old, "newString": new, **more}
    return call(TOOL, arguments, root, marks=marks)


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def message(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.message


def test_what_the_tool_says_of_itself() -> None:
    schema = TOOL.spec().schema
    assert set(schema["properties"]) == {"filePath", "oldString", "newString", "replaceAll"}
    assert schema["required"] == ["filePath", "oldString", "newString"]
    assert TOOL.effects == {Effect.READ, Effect.WRITE}
    assert not TOOL.repeatable


def test_one_replacement(workspace: Path, root: Root) -> None:
    (workspace / "a.py").write_text("a = 1\nb = 2\nc = 3\n")
    os.chmod(workspace / "a.py", 0o755)
    outcome = run(root, "a.py", "b = 2", "b = 20")
    assert (workspace / "a.py").read_text() == "a = 1\nb = 20\nc = 3\n"
    assert stat.S_IMODE(os.stat(workspace / "a.py").st_mode) == 0o755
    assert outcome.for_model() == (
        "edited a.py: +1 -1 lines\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 20\n c = 3\n"
    )
    info = os.stat(workspace / "a.py")
    data = outcome.data
    assert data["stamp"] == {"path": "a.py", "mark": f"{info.st_mtime_ns}:19:{info.st_ino}"}
    assert (data["existed"], data["applied"], data["replacements"], data["newline"]) == (True, True, 1, "lf")
    assert (data["diff"]["additions"], data["diff"]["deletions"]) == (1, 1)


def test_every_match(workspace: Path, root: Root) -> None:
    (workspace / "a.py").write_text("x\ny\nx\nxx\n")
    assert code(run(root, "a.py", "x", "z")) is ErrorCode.TEXT_AMBIGUOUS
    outcome = run(root, "a.py", "x", "z", replaceAll=True)
    assert outcome.data["replacements"] == 4
    assert ", 4 replacements" in outcome.for_model()
    assert (workspace / "a.py").read_text() == "z\ny\nz\nzz\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\n", "a\nb", "x\ny", b"x\r\ny\r\n"),
        (b"a\r\nb\nc", "b\nc", "B\nC", b"a\r\nB\nC"),
        (b"a\rb\r", "b", "B\nC", b"a\rB\rC\r"),
        (b"a\nb", "b", "B", b"a\nB"),
        (codecs.BOM_UTF8 + b"a\n", "a", "b", codecs.BOM_UTF8 + b"b\n"),
        (
            codecs.BOM_UTF16_LE + "a\r\nü".encode("utf-16-le"),
            "a",
            "é",
            codecs.BOM_UTF16_LE + "é\r\nü".encode("utf-16-le"),
        ),
        (codecs.BOM_UTF32_BE + "aü".encode("utf-32-be"), "a", "é", codecs.BOM_UTF32_BE + "éü".encode("utf-32-be")),
        ("é→".encode() + b"\xff a", "a", "b", "é→".encode() + b"\xff b"),
        (b"\xe9\x81 a", "a", "ü", b"\xe9\x81 \xfc"),
        (b"# coding: gbk\n\xd6\xd0 a", "a", "文", b"# coding: gbk\n\xd6\xd0 \xce\xc4"),
    ],
)
def test_what_is_beside_the_text_stays(
    workspace: Path, root: Root, before: bytes, old: str, new: str, after: bytes
) -> None:
    (workspace / "a.txt").write_bytes(before)
    outcome = run(root, "a.txt", old, new)
    assert outcome.ok, outcome
    assert (workspace / "a.txt").read_bytes() == after


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.binary(max_size=20), old=st.binary(min_size=1, max_size=3), after=st.binary(max_size=20))
def test_every_byte_beside_it_stays(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, old: bytes, after: bytes
) -> None:
    """Of whatever bytes, in the encoding the file is taken to be in; or it is refused and left alone."""
    place = tmp_path_factory.mktemp("ws")
    content = b"Zeile \xc3\xbc " + before + b"<<here>>" + after
    assume(not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)))
    (place / "f").write_bytes(content)
    with Root(place) as root:
        outcome = run(root, "f", "<<here>>", "there")
    now = (place / "f").read_bytes()
    assert now == (content.replace(b"<<here>>", b"there") if outcome.ok else content)
    assert outcome.ok or code(outcome) in (ErrorCode.BINARY_CONTENT, ErrorCode.TEXT_AMBIGUOUS)


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a", "", "x", ErrorCode.INVALID_ARGUMENTS),
        (b"a", "a", "a", ErrorCode.INVALID_ARGUMENTS),
        (b"a b", "a\u00a0b", "x", ErrorCode.TEXT_NOT_FOUND),
        (b"aaa", "aa", "x", ErrorCode.TEXT_AMBIGUOUS),
        (b"\0", "a", "x", ErrorCode.BINARY_CONTENT),
        (b"\xe9 a", "a", "→", ErrorCode.INVALID_ENCODING),
        (codecs.BOM_UTF16_LE + b"a\0b", "a", "x", ErrorCode.INVALID_ENCODING),
    ],
)
def test_refusals_leave_the_file_alone(
    workspace: Path, root: Root, content: bytes, old: str, new: str, expected: ErrorCode
) -> None:
    (workspace / "a.txt").write_bytes(content)
    outcome = run(root, "a.txt", old, new)
    assert code(outcome) is expected
    assert (workspace / "a.txt").read_bytes() == content
    assert os.listdir(workspace) == ["a.txt"]


def test_the_nearest_place_is_told(workspace: Path, root: Root) -> None:
    (workspace / "a.py").write_text("def f():\n\treturn 1\n")
    told = message(run(root, "a.py", "def f():\n    return 1", "x"))
    assert "line 2; the first difference is at its character 1: the file has U+0009 (tab), oldString has U+0020" in told


def test_what_is_not_there(workspace: Path, root: Root) -> None:
    (workspace / "d").mkdir()
    outcome = run(root, "none.py", "a", "b")
    assert code(outcome) is ErrorCode.NOT_FOUND
    assert "file_write" in message(outcome)
    assert code(run(root, "d", "a", "b")) is ErrorCode.NOT_A_FILE
    os.truncate(os.open(workspace / "big", os.O_CREAT | os.O_WRONLY), 5 * 1024 * 1024 + 1)
    assert code(run(root, "big", "a", "b")) is ErrorCode.FILE_TOO_LARGE


def test_a_file_may_grow_to_its_limit_and_no_further(workspace: Path, root: Root) -> None:
    (workspace / "a").write_bytes(b"x" * (5 * 1024 * 1024 - 1) + b"y")
    assert code(run(root, "a", "y", "zz")) is ErrorCode.FILE_TOO_LARGE
    assert run(root, "a", "y", "z").ok


def test_reading_editing_and_editing_again(workspace: Path, root: Root) -> None:
    marks: dict[str, str] = {}
    (workspace / "a.txt").write_text("one two\n")
    assert call(FileRead(), {"filePath": "a.txt"}, root, marks=marks).ok
    assert run(root, "a.txt", "one", "1", marks).ok
    assert run(root, "a.txt", "two", "2", marks).ok
    (workspace / "a.txt").write_text("1 2 3\n")
    outcome = run(root, "a.txt", "1", "one", marks)
    assert code(outcome) is ErrorCode.FILE_CHANGED
    assert call(FileRead(), {"filePath": "a.txt"}, root, marks=marks).ok
    assert run(root, "a.txt", "1", "one", marks).ok


def test_a_file_never_read_may_be_edited(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("one\n")
    assert run(root, "a.txt", "one", "1", {}).ok


@pytest.mark.heavy
def test_a_large_file_with_many_matches(workspace: Path, root: Root) -> None:
    text = "".join(f"line {n} x\r\n" for n in range(60_000))
    (workspace / "a.txt").write_bytes(text.encode())
    outcome = run(root, "a.txt", " x", " y", replaceAll=True)
    assert outcome.data["replacements"] == outcome.data["diff"]["additions"] == 60_000
    assert (workspace / "a.txt").read_bytes() == text.replace(" x", " y").encode()

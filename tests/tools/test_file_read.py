from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import Any

import pytest

from fakes.context import call
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode
from remit.base.resources import Effect, Resource
from remit.tools.files.file_read import MAX_ENTRIES, MAX_LINES, MAX_SHOWN_BYTES, FileRead
from remit.workspace.root import Root

TOOL = FileRead()
MIB_5 = 5 * 1024 * 1024


def run(root: Root, path: str, marks: dict[str, str] | None = None, **arguments: Any) -> Outcome:
    return call(TOOL, {"filePath": path, **arguments}, root, marks=marks)


def read(root: Root, path: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    outcome = run(root, path, **arguments)
    assert outcome.ok, outcome
    shown = outcome.for_model()
    assert len(shown.encode()) <= TOOL.bounds.output_bytes
    return shown, outcome.data


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def message(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.message


def test_what_the_tool_says_of_itself() -> None:
    spec = TOOL.spec()
    assert set(spec.schema["properties"]) == {"filePath", "offset", "limit"}
    assert spec.schema["required"] == ["filePath"]
    assert all(word in spec.description for word in ("2,000", "50 KiB", "5 MiB", "first 100"))
    assert TOOL.effects == {Effect.READ}
    assert TOOL.repeatable


def test_numbered_lines(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_bytes("Zürich\nend\n".encode())
    shown, data = read(root, "./a.txt")
    assert shown == "1: Zürich\n2: end\n3: \n"
    info = os.stat(workspace / "a.txt")
    assert data == {
        "kind": "file",
        "path": "a.txt",
        "text": "Zürich\nend\n",
        "lineStart": 1,
        "lineEnd": 3,
        "totalLines": 3,
        "truncated": False,
        "size": 12,
        "encoding": "utf-8",
        "bom": False,
        "newline": "lf",
        "replaced": 0,
        "stamp": {"path": "a.txt", "mark": f"{info.st_mtime_ns}:12:{info.st_ino}"},
    }


def test_an_absolute_path_and_the_root(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x")
    assert read(root, str(workspace / "a.txt"))[1]["path"] == "a.txt"
    assert read(root, f"{workspace}//a.txt")[1]["path"] == "a.txt"
    for path in ("", ".", str(workspace), f"{workspace}/"):
        assert read(root, path)[0] == "a.txt (1 line)\n"


@pytest.mark.parametrize("path", ["/etc/passwd", "/", "../a", "a/../../b", "a\nb", "~/a\\b"])
def test_paths_that_lead_out(root: Root, path: str) -> None:
    assert code(run(root, path)) is ErrorCode.PATH_REFUSED


def test_a_neighbour_whose_name_begins_alike(workspace: Path, root: Root) -> None:
    (workspace.parent / "ws2").mkdir()
    (workspace.parent / "ws2/a").write_text("x")
    assert code(run(root, f"{workspace}2/a")) is ErrorCode.PATH_REFUSED


def test_pages(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("".join(f"l{n}\n" for n in range(1, 2500)))
    shown, data = read(root, "a.txt")
    assert (data["lineStart"], data["lineEnd"], data["totalLines"], data["truncated"]) == (1, MAX_LINES, 2500, True)
    assert shown.endswith("2000: l2000\n[lines 1-2000 of 2500; offset 2001 goes on]\n")
    assert "stamp" not in data
    shown, data = read(root, "a.txt", offset=2001)
    assert (data["lineEnd"], data["truncated"]) == (2500, False)
    assert shown.startswith("2001: l2001\n")
    assert shown.endswith("2500: \n")
    shown, data = read(root, "a.txt", offset=3, limit=2)
    assert shown == "3: l3\n4: l4\n[lines 3-4 of 2500; offset 5 goes on]\n"
    assert data["text"] == "l3\nl4"


@pytest.mark.parametrize(
    ("arguments", "ok"),
    [
        ({"limit": 0}, True),
        ({"limit": 2000}, True),
        ({"limit": 2001}, False),
        ({"limit": -1}, False),
        ({"offset": 1}, True),
        ({"offset": 0}, False),
        ({"offset": None, "limit": None}, True),
        ({"offset": "1"}, False),
        ({"lines": 3}, False),
    ],
)
def test_bounds_of_arguments(workspace: Path, root: Root, arguments: dict[str, Any], ok: bool) -> None:
    (workspace / "a.txt").write_text("x")
    outcome = run(root, "a.txt", **arguments)
    assert outcome.ok == ok
    assert ok or code(outcome) is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize("arguments", [{"offset": 3}, {"limit": 0}, {"offset": 99}])
def test_no_lines(workspace: Path, root: Root, arguments: dict[str, int]) -> None:
    (workspace / "a.txt").write_text("x\n")
    shown, data = read(root, "a.txt", **arguments)
    asked = "limit 0 asks for no lines" if "limit" in arguments else f"no lines from {arguments['offset']} on"
    assert shown == f"[{asked}: the file has 2]\n"
    assert data["text"] == ""


def test_an_empty_file(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").touch()
    shown, data = read(root, "a.txt")
    assert (shown, data["totalLines"], data["newline"]) == ("1: \n", 1, "none")


def test_what_is_shown_has_a_bound_of_bytes(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text(("é" * 500 + "\n") * 200)
    shown, data = read(root, "a.txt")
    assert data["truncated"]
    assert MAX_SHOWN_BYTES - 2500 < len(shown.encode()) <= MAX_SHOWN_BYTES
    assert data["text"].count("\n") == data["lineEnd"] - 1
    rest, _ = read(root, "a.txt", offset=data["lineEnd"] + 1)
    assert rest.startswith(f"{data['lineEnd'] + 1}: é")


def test_long_lines_are_cut_at_whole_characters(workspace: Path, root: Root) -> None:
    long = "x" * 1999 + "e\u0301" + "y" * 10
    (workspace / "a.txt").write_text(f"{'a' * 2000}\n{long}\n{'b' * 2001}")
    shown, data = read(root, "a.txt")
    one, two, three = shown.splitlines()
    assert one == f"1: {'a' * 2000}"
    assert two == f"2: {'x' * 1999}... [line truncated: it has 2011 characters]"
    assert three == f"3: {'b' * 2000}... [line truncated: it has 2001 characters]"
    assert "stamp" not in data


@pytest.mark.parametrize(
    ("content", "encoding", "newline", "remark"),
    [
        (codecs.BOM_UTF8 + b"a\nb", "utf-8", "lf", "[with a byte order mark]\n"),
        (b"a\r\nb", "utf-8", "crlf", "[line ends CRLF]\n"),
        (b"a\rb", "utf-8", "cr", "[line ends CR]\n"),
        (b"a\r\nb\nc", "utf-8", "mixed", "[line ends mixed LF and CRLF]\n"),
        (
            codecs.BOM_UTF16_LE + "ä\nb".encode("utf-16-le"),
            "utf-16-le",
            "lf",
            "[stored as utf-16-le, with a byte order",
        ),
        ("Zürich\nb".encode("cp1252"), "windows-1252", "lf", "[stored as windows-1252]\n"),
        (b"# coding: big5\n" + "中文".encode("big5"), "big5", "lf", "[stored as big5]\n"),
        (b"Z\xc3\xbcrich \xc3\xa4\xff\nb", "utf-8", "lf", "[1 bytes are no text in it and show as U+FFFD]\n"),
    ],
)
def test_how_a_text_is_stored_is_said(
    workspace: Path, root: Root, content: bytes, encoding: str, newline: str, remark: str
) -> None:
    (workspace / "a.txt").write_bytes(content)
    shown, data = read(root, "a.txt")
    assert (data["encoding"], data["newline"]) == (encoding, newline)
    assert remark in shown
    assert "\r" not in shown
    assert shown.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.7\n",
        b"PK\x03\x04",
        b"\x89PNG\r\n\x1a\n",
        b"\x7fELF",
        b"text\0text",
        b"a" * 4095 + b"\0",
        b"\x01" * 31 + b"a" * 69,
    ],
)
def test_binary_content_is_refused_whatever_the_name(workspace: Path, root: Root, content: bytes) -> None:
    (workspace / "a.txt").write_bytes(content)
    assert code(run(root, "a.txt")) is ErrorCode.BINARY_CONTENT


@pytest.mark.parametrize("content", [b"<svg/>", b"-----BEGIN X-----", b"{\\rtf1}", b"\x01" * 30 + b"a" * 70])
def test_text_is_text_whatever_the_name(workspace: Path, root: Root, content: bytes) -> None:
    (workspace / "a.exe").write_bytes(content)
    assert run(root, "a.exe").ok


def test_size(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_bytes(b"x" * MIB_5)
    assert run(root, "a.txt").ok
    for size in (MIB_5 + 1, 10 << 30):
        os.truncate(workspace / "a.txt", size)
        outcome = run(root, "a.txt")
        assert code(outcome) is ErrorCode.FILE_TOO_LARGE
        assert f"{size} bytes" in message(outcome)


def test_what_is_not_there_or_no_file(workspace: Path, root: Root) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "out").symlink_to("/etc/passwd")
    (workspace / "null").symlink_to("/dev/null")
    assert code(run(root, "none")) is ErrorCode.NOT_FOUND
    assert code(run(root, "pipe")) is ErrorCode.NOT_A_FILE
    assert code(run(root, "out")) is ErrorCode.PATH_REFUSED
    assert code(run(root, "null")) is ErrorCode.PATH_REFUSED


def test_the_whole_disk_without_the_system() -> None:
    with Root("/") as root:
        assert code(run(root, "/proc/self/environ")) is ErrorCode.PATH_REFUSED


def test_a_file_that_becomes_a_directory_after_the_rules_were_asked(workspace: Path, root: Root) -> None:
    (workspace / "a").write_text("x")

    def swap() -> None:
        (workspace / "a").unlink()
        (workspace / "a").mkdir()
        (workspace / "a/secret").write_text("x")

    outcome = call(TOOL, {"filePath": "a"}, root, between=swap)
    assert code(outcome) is ErrorCode.UNDECLARED


def test_what_it_touches(workspace: Path, root: Root) -> None:
    from fakes.context import World

    (workspace / "d").mkdir()
    params = TOOL.parse('{"filePath": "d"}')
    assert [(r.kind, r.name, r.effect) for r in TOOL.resources(params, World(root))] == [("tree", "d", Effect.READ)]
    params = TOOL.parse('{"filePath": "d/none"}')
    assert [(r.kind, r.name) for r in TOOL.resources(params, World(root))] == [("path", "d/none")]


# -- what is remembered ------------------------------------------------------------------------


def test_a_part_of_a_file_seen_before_brings_the_mark_up_to_date(workspace: Path, root: Root) -> None:
    marks: dict[str, str] = {}
    (workspace / "a.txt").write_text("1\n2\n3\n")
    assert "stamp" not in run(root, "a.txt", marks, limit=1).data
    assert marks == {}
    first = run(root, "a.txt", marks).data["stamp"]["mark"]
    (workspace / "a.txt").write_text("1\n2\n3\n4\n")
    second = run(root, "a.txt", marks, limit=1).data["stamp"]["mark"]
    assert first != second == marks["a.txt"]


def test_a_link_is_remembered_as_the_file_it_leads_to(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x")
    (workspace / "l").symlink_to("a.txt")
    assert run(root, "l").data["stamp"]["path"] == "a.txt"


# -- directories -------------------------------------------------------------------------------


def test_a_directory(workspace: Path, root: Root) -> None:
    (workspace / "d/sub").mkdir(parents=True)
    (workspace / "d/b.txt").write_text("one\ntwo\n")
    (workspace / "d/a.bin").write_bytes(b"\0" * 10)
    (workspace / "d/big.txt").write_text("x" * 70_000)
    (workspace / "d/broken").symlink_to("nowhere")
    (workspace / "d/link").symlink_to("sub")
    (workspace / "d/new\nline").write_text("")
    (workspace / "d/.env").write_text("KEY=1")
    shown, data = read(root, "d")
    assert shown == (
        ".env (1 line)\na.bin (10 bytes)\nb.txt (3 lines)\nbig.txt (70000 bytes)\nbroken\nlink/\n"
        "new\\nline (1 line)\nsub/\n"
    )
    assert data["entries"][2] == {"name": "b.txt", "type": "file", "size": 8, "lines": 3}
    assert data["entries"][4] == {"name": "broken", "type": "file", "link": True}
    assert (data["total"], data["truncated"], data["kind"]) == (8, False, "directory")


def test_what_rules_withhold_is_counted(workspace: Path, root: Root) -> None:
    (workspace / "a").write_text("")
    (workspace / "b").write_text("")

    def not_b(entry: Resource) -> bool:
        return entry.name != "b"

    outcome = call(TOOL, {"filePath": "."}, root, entry_allowed=not_b)
    assert outcome.for_model() == "a (1 line)\n[1 entry withheld by rules]\n"


@pytest.mark.parametrize(("count", "cut"), [(MAX_ENTRIES, False), (MAX_ENTRIES + 1, True)])
def test_a_long_directory(workspace: Path, root: Root, count: int, cut: bool) -> None:
    for number in range(count):
        (workspace / f"{number:03}").write_bytes(b"")
    shown, data = read(root, ".")
    assert len(data["entries"]) == MAX_ENTRIES
    assert data["truncated"] == cut
    assert ("[the first 100 of 101 entries" in shown) == cut


@pytest.mark.heavy
def test_a_directory_beyond_counting(workspace: Path, root: Root) -> None:
    for number in range(10_001):
        os.close(os.open(workspace / str(number), os.O_CREAT))
    shown, data = read(root, ".")
    assert data["total"] == 10_000
    assert "at least 10000 entries" in shown


def test_an_empty_directory_and_pages_of_one(workspace: Path, root: Root) -> None:
    assert read(root, ".")[0] == "[the directory is empty]\n"
    assert code(run(root, ".", limit=1)) is ErrorCode.INVALID_ARGUMENTS

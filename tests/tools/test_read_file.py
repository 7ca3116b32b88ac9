from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.context import call
from fakes.unprivileged import unprivileged
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode
from remit.base.resources import Effect
from remit.tools.documents.read_file import ReadFile
from remit.workspace.beneath import KernelOpener
from remit.workspace.root import Root

TOOL = ReadFile()
MIB_2 = 2 * 1024 * 1024
SUPPORTED = [
    ".txt",
    ".md",
    ".markdown",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".xml",
    ".html",
    ".htm",
    ".log",
    ".ini",
    ".toml",
    ".rst",
    ".tex",
    ".sql",
    ".js",
    ".ts",
    ".py",
    ".css",
]


def read(root: Root, path: str, **arguments: Any) -> dict[str, Any]:
    outcome = call(TOOL, {"path": path, **arguments}, root)
    assert outcome.ok, outcome
    assert outcome.text == ""
    shown = outcome.for_model()
    assert len(shown.encode()) <= TOOL.bounds.output_bytes
    data = json.loads(shown)["data"]
    assert isinstance(data, dict)
    return data


def all_pages(root: Root, path: str, **arguments: Any) -> list[dict[str, Any]]:
    pages = [read(root, path, **arguments)]
    while "nextOffset" in pages[-1]:
        offset = pages[-1]["nextOffset"]
        assert offset == pages[-1]["offset"] + len(pages[-1]["content"]) > pages[-1]["offset"]
        pages.append(read(root, path, offset=offset, **arguments))
    return pages


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def message(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.message


def test_what_the_tool_says_of_itself() -> None:
    spec = TOOL.spec()
    assert spec.name == "read_file"
    assert "2 MiB" in spec.description
    assert all(extension in spec.description for extension in SUPPORTED)
    assert set(spec.schema["properties"]) == {"path", "offset", "limit"}
    assert spec.schema["required"] == ["path"]
    assert all("description" in part for part in spec.schema["properties"].values())
    assert TOOL.effects == {Effect.READ}
    assert TOOL.repeatable


def test_a_short_file(workspace: Path, root: Root) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs/a.txt").write_bytes("Zürich\r\nend".encode())
    assert read(root, "./docs/a.txt") == {
        "path": "docs/a.txt",
        "content": "Zürich\r\nend",
        "offset": 0,
        "characters": 11,
        "size": 12,
        "encoding": "utf-8",
    }


def test_an_empty_file(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").touch()
    data = read(root, "a.txt")
    assert data["content"] == ""
    assert data["characters"] == 0
    assert "nextOffset" not in data


@pytest.mark.parametrize("extension", [*SUPPORTED, ".TXT", ".Md"])
def test_supported_types(workspace: Path, root: Root, extension: str) -> None:
    (workspace / f"a{extension}").write_text("text")
    assert read(root, f"a{extension}")["content"] == "text"


@pytest.mark.parametrize(
    "name", ["a.pdf", "a.docx", "a.exe", "Makefile", ".md", "a.txt.bak", "a.tar.gz", "a.txt.", "txt"]
)
def test_other_types(workspace: Path, root: Root, name: str) -> None:
    (workspace / name).write_text("text")
    outcome = call(TOOL, {"path": name}, root)
    assert code(outcome) is ErrorCode.UNSUPPORTED_FORMAT
    assert all(extension in message(outcome) for extension in SUPPORTED)
    assert name in message(outcome)


@pytest.mark.parametrize(
    "content", [b"a\0b", b"%PDF-1.4 text", b"\x89PNG\r\n\x1a\n", b"\x01\x02\x03a", b"x" * 9000 + b"\0"]
)
def test_binary_content(workspace: Path, root: Root, content: bytes) -> None:
    (workspace / "a.txt").write_bytes(content)
    assert code(call(TOOL, {"path": "a.txt"}, root)) is ErrorCode.BINARY_CONTENT


@pytest.mark.parametrize(
    "name", [".env", ".ENV", ".env.local", "server.pem", "id_rsa", "docs/.npmrc", ".ssh/notes.txt", "credentials.json"]
)
@pytest.mark.parametrize("exists", [True, False])
def test_credential_files(workspace: Path, root: Root, name: str, exists: bool) -> None:
    if exists:
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("SECRET=1")
    outcome = call(TOOL, {"path": name}, root)
    assert code(outcome) is ErrorCode.FILE_REFUSED
    assert "credential" in message(outcome)
    assert "SECRET" not in outcome.for_model()


def test_credentials_say_nothing_of_size_kind_or_existence(workspace: Path, root: Root) -> None:
    (workspace / ".env").mkdir()
    (workspace / "id_rsa").write_bytes(b"\0" * (MIB_2 + 1))
    said = [message(call(TOOL, {"path": name}, root)).replace(name, "X") for name in (".env", "id_rsa", "none.pem")]
    assert len(set(said)) == 1


def test_credentials_behind_a_harmless_name(workspace: Path, root: Root) -> None:
    (workspace / ".env").write_text("SECRET=1")
    (workspace / ".ssh").mkdir()
    (workspace / ".ssh/notes.txt").write_text("SECRET=1")
    (workspace / "notes.txt").symlink_to(".env")
    (workspace / "dangling.txt").symlink_to("id_rsa")
    (workspace / "keys").symlink_to(".ssh")
    (workspace / ".env.txt").symlink_to("plain.txt")
    for path in ("notes.txt", "dangling.txt", "keys/notes.txt", ".env.txt"):
        assert code(call(TOOL, {"path": path}, root)) is ErrorCode.FILE_REFUSED


def test_a_file_that_becomes_a_link_to_credentials(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("plain")
    (workspace / ".env").write_text("SECRET=1")

    def swap() -> None:
        (workspace / "a.txt").unlink()
        (workspace / "a.txt").symlink_to(".env")

    assert code(call(TOOL, {"path": "a.txt"}, root, between=swap)) is ErrorCode.FILE_CHANGED


@pytest.mark.parametrize(("size", "fits"), [(MIB_2, True), (MIB_2 + 1, False)])
def test_at_most_2_mib(workspace: Path, root: Root, size: int, fits: bool) -> None:
    (workspace / "a.log").write_bytes(b"x" * size)
    outcome = call(TOOL, {"path": "a.log"}, root)
    if fits:
        assert outcome.data["size"] == size
        return
    assert code(outcome) is ErrorCode.FILE_TOO_LARGE
    assert "2097153" in message(outcome)
    assert "2097152" in message(outcome)


class Growing:
    """An opener that makes the file grow once it is open for reading, and keeps an eye on it."""

    def __init__(self, path: Path) -> None:
        self._opener = KernelOpener()
        self._path = path
        self.seen = -1

    def open(self, root: int, name: str, flags: int) -> int:
        fd = self._opener.open(root, name, flags)
        if flags & os.O_NONBLOCK:
            with self._path.open("ab") as file:
                file.write(b"x" * 2 * MIB_2)
            # Both descriptors share one position, which tells how far was read.
            self.seen = os.dup(fd)
        return fd


def test_a_file_that_grows_while_it_is_read_is_never_read_beyond(workspace: Path) -> None:
    (workspace / "a.log").write_bytes(b"x" * MIB_2)
    opener = Growing(workspace / "a.log")
    with Root(workspace, opener=opener) as root:
        outcome = call(TOOL, {"path": "a.log"}, root)
    assert code(outcome) is ErrorCode.FILE_TOO_LARGE
    assert "grew" in message(outcome)
    assert MIB_2 < os.lseek(opener.seen, 0, os.SEEK_CUR) <= MIB_2 + io.DEFAULT_BUFFER_SIZE
    os.close(opener.seen)


@pytest.mark.parametrize(
    ("text", "at_least"),
    [
        ("line of text\n" * 20_000, 2),
        ("no line end " * 20_000, 2),
        ("\x01" * 3 + "a" * 200_000, 2),
        ('"\\' * 60_000, 4),
        ("\t\n" * 60_000, 4),
        ("😀" * 60_000, 4),
        ("é\u0301" * 40_000, 3),
        ("\r\n" * 50_000, 4),
        ("\x1b" * 40_000, 4),
    ],
)
def test_pages_cover_every_character_exactly_once(workspace: Path, root: Root, text: str, at_least: int) -> None:
    (workspace / "a.txt").write_bytes(text.encode())
    pages = all_pages(root, "a.txt")
    assert "".join(page["content"] for page in pages) == text
    assert len(pages) >= at_least
    assert all(page["characters"] == len(text) for page in pages)


def test_a_page_is_nearly_as_large_as_a_result_may_be(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x" * 200_000)
    outcome = call(TOOL, {"path": "a.txt"}, root)
    assert TOOL.bounds.output_bytes - 64 < len(outcome.for_model().encode()) <= TOOL.bounds.output_bytes


def test_pages_of_a_file_with_the_longest_name(workspace: Path, root: Root) -> None:
    folder = "/".join(['"' * 250] * 15)
    (workspace / folder).mkdir(parents=True)
    (workspace / folder / "a.txt").write_text("x" * 100_000)
    assert "".join(page["content"] for page in all_pages(root, f"{folder}/a.txt")) == "x" * 100_000


def test_pages_end_at_line_ends(workspace: Path, root: Root) -> None:
    (workspace / "a.csv").write_text("".join(f"{number},value\n" for number in range(20_000)))
    pages = all_pages(root, "a.csv")
    assert len(pages) > 3
    assert all(page["content"].endswith("\n") for page in pages)


@pytest.mark.parametrize(
    ("offset", "limit", "content", "following"),
    [
        (0, 3, "aé😀", 3),
        (1, 1, "é", 2),
        (2, 1, "😀", 3),
        (3, 2, "\nz", None),
        (3, 1, "\n", 4),
        (4, 1, "z", None),
        (4, 100, "z", None),
        (0, 5, "aé😀\nz", None),
        (0, None, "aé😀\nz", None),
    ],
)
def test_offset_and_limit_count_characters(
    workspace: Path, root: Root, offset: int, limit: int | None, content: str, following: int | None
) -> None:
    (workspace / "a.txt").write_bytes("aé😀\nz".encode())
    data = read(root, "a.txt", offset=offset, limit=limit)
    assert (data["content"], data["offset"], data.get("nextOffset")) == (content, offset, following)


@pytest.mark.parametrize(("size", "offset"), [(0, 1), (5, 5), (5, 6), (5, 10**30)])
def test_an_offset_past_the_end(workspace: Path, root: Root, size: int, offset: int) -> None:
    (workspace / "a.txt").write_text("x" * size)
    outcome = call(TOOL, json.dumps({"path": "a.txt", "offset": offset}), root)
    if offset == 10**30:
        assert code(outcome) in (ErrorCode.OFFSET_PAST_END, ErrorCode.INVALID_ARGUMENTS)
        return
    assert code(outcome) is ErrorCode.OFFSET_PAST_END
    assert f"{size} characters" in message(outcome)


@settings(max_examples=40)
@given(
    st.text(alphabet=st.sampled_from('a\n\r"\\é😀\u0301') | st.characters(codec="utf-8"), max_size=80),
    st.integers(1, 20),
)
def test_any_text_in_pages_of_any_size(tmp_path_factory: pytest.TempPathFactory, text: str, limit: int) -> None:
    workspace = tmp_path_factory.mktemp("ws")
    data = b"\xef\xbb\xbf" + text.encode()
    (workspace / "a.txt").write_bytes(data)
    with Root(workspace) as root:
        outcome = call(TOOL, {"path": "a.txt"}, root)
        if code(outcome) is ErrorCode.BINARY_CONTENT:
            return
        pages = all_pages(root, "a.txt", limit=limit)
    assert "".join(page["content"] for page in pages) == text
    assert all(len(page["content"]) <= limit for page in pages)


@pytest.mark.parametrize(
    ("data", "text", "encoding", "replaced"),
    [
        (b"\xef\xbb\xbfhi", "hi", "utf-8", False),
        ("ü €".encode("cp1252"), "ü €", "windows-1252", False),
        (b"a\x81\xe9", "a\ufffdé", "windows-1252", True),
        (b"\xff\xfe" + "hé".encode("utf-16-le"), "hé", "utf-16-le", False),
        (b"\xfe\xff" + "hé".encode("utf-16-be"), "hé", "utf-16-be", False),
        (b"\xff\xfeh\0x", "h\ufffd", "utf-16-le", True),
    ],
)
def test_encodings_are_said(workspace: Path, root: Root, data: bytes, text: str, encoding: str, replaced: bool) -> None:
    (workspace / "a.txt").write_bytes(data)
    result = read(root, "a.txt")
    assert (result["content"], result["encoding"], result.get("replaced", False)) == (text, encoding, replaced)
    assert result["size"] == len(data)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("none.txt", ErrorCode.NOT_FOUND),
        ("docs", ErrorCode.NOT_A_FILE),
        (".", ErrorCode.NOT_A_FILE),
        ("pipe.txt", ErrorCode.NOT_A_FILE),
        ("a.txt/x.txt", ErrorCode.NOT_A_DIRECTORY),
        ("/etc/hosts.txt", ErrorCode.PATH_REFUSED),
        ("../x.txt", ErrorCode.PATH_REFUSED),
        ("docs/../a.txt", ErrorCode.PATH_REFUSED),
        ("C:/x.txt", ErrorCode.PATH_REFUSED),
        ("con.txt", ErrorCode.PATH_REFUSED),
        ("a\0.txt", ErrorCode.PATH_REFUSED),
        ("docs\\x.txt", ErrorCode.PATH_REFUSED),
        ("out.txt", ErrorCode.PATH_REFUSED),
        ("out/x.txt", ErrorCode.PATH_REFUSED),
        ("loop.txt", ErrorCode.PATH_REFUSED),
    ],
)
def test_refused(workspace: Path, root: Root, path: str, expected: ErrorCode) -> None:
    (workspace / "docs").mkdir()
    (workspace / "a.txt").write_text("")
    os.mkfifo(workspace / "pipe.txt")
    (workspace / "out.txt").symlink_to("/etc/passwd")
    (workspace / "out").symlink_to("..")
    (workspace / "loop.txt").symlink_to("loop.txt")
    assert code(call(TOOL, {"path": path}, root)) is expected


def test_no_permission(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x")
    (workspace / "a.txt").chmod(0)
    with unprivileged():
        outcome = call(TOOL, {"path": "a.txt"}, root)
    assert code(outcome) is ErrorCode.IO_ERROR
    assert "permission denied" in message(outcome)


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"path": 1}',
        '{"path": "a.txt", "offset": -1}',
        '{"path": "a.txt", "limit": 0}',
        '{"path": "a.txt", "offset": 1.5}',
        '{"path": "a.txt", "lines": 3}',
        '{"path": "a.txt"',
        '{"path": "\\ud83d.txt"}',
    ],
)
def test_bad_arguments(workspace: Path, root: Root, arguments: str) -> None:
    (workspace / "a.txt").write_text("text")
    assert code(call(TOOL, arguments, root)) is ErrorCode.INVALID_ARGUMENTS


def test_unicode_forms_of_a_name_are_two_files(workspace: Path, root: Root) -> None:
    (workspace / "caf\u00e9.txt").write_text("composed")
    assert read(root, "caf\u00e9.txt")["content"] == "composed"
    assert code(call(TOOL, {"path": "cafe\u0301.txt"}, root)) is ErrorCode.NOT_FOUND

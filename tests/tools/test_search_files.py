from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.context import Context, call
from fakes.unprivileged import unprivileged
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.tools.documents.read_file import ReadFile
from remit.tools.documents.search_files import SearchFiles, SearchFilesParams
from remit.workspace.beneath import KernelOpener
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld

TOOL = SearchFiles()
MIB_2 = 2 * 1024 * 1024
NOTHING_SKIPPED = {
    "tooLarge": 0,
    "unsupported": 0,
    "credential": 0,
    "binary": 0,
    "unreadable": 0,
    "withheld": 0,
    "outsideLinks": 0,
    "linkedFolders": 0,
    "overfullFolders": 0,
}


def search(root: Root, query: str, path: str = ".") -> dict[str, Any]:
    outcome = call(TOOL, {"query": query, "path": path}, root)
    assert outcome.ok, outcome
    assert outcome.text == ""
    shown = outcome.for_model()
    assert len(shown.encode()) <= TOOL.bounds.output_bytes
    data = json.loads(shown)["data"]
    assert isinstance(data, dict)
    return data


def hits(data: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(match["file"], match["line"], match["text"]) for match in data["matches"]]


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def test_what_the_tool_says_of_itself() -> None:
    spec = TOOL.spec()
    assert spec.name == "search_files"
    for said in ("2,000", "2 MiB", "200", "not a regular expression"):
        assert said in spec.description
    assert set(spec.schema["properties"]) == {"query", "path"}
    assert spec.schema["required"] == ["query"]
    assert TOOL.effects == {Effect.READ}
    assert TOOL.repeatable


def test_matches(workspace: Path, root: Root) -> None:
    (workspace / "docs").mkdir()
    (workspace / "b.txt").write_text("one\ntwo needle two needle\nthree\nneedle")
    (workspace / "docs/a.md").write_text("no\n\n  needle  \n")
    (workspace / "none.csv").write_text("nothing")
    assert search(root, "needle") == {
        "path": ".",
        "matches": [
            {"file": "b.txt", "line": 2, "text": "two needle two needle", "offset": 4},
            {"file": "b.txt", "line": 4, "text": "needle", "offset": 32},
            {"file": "docs/a.md", "line": 3, "text": "  needle  ", "offset": 4},
        ],
        "filesScanned": 3,
        "skipped": NOTHING_SKIPPED,
        "truncated": False,
    }


def test_one_folder_or_one_file(workspace: Path, root: Root) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs/a.txt").write_text("x")
    (workspace / "b.txt").write_text("x")
    (workspace / "way").symlink_to("docs")
    assert hits(search(root, "x", "docs")) == [("docs/a.txt", 1, "x")]
    assert hits(search(root, "x", "docs/a.txt")) == [("docs/a.txt", 1, "x")]
    assert hits(search(root, "x", "way")) == [("way/a.txt", 1, "x")]


@pytest.mark.parametrize(
    ("query", "text", "lines"),
    [
        (".*", "a\nb.*c\n", [2]),
        ("(", "(\n", [1]),
        ("[a]", "a\n[a]", [2]),
        ("\\d", "1\n\\d", [2]),
        ("Needle", "needle\nNEEDLE\nNeedle", [3]),
        (" ", "a\na b", [2]),
        ("a b", "a\nb", []),
        ("aa", "aaaa", [1]),
        ("é", "e\u0301\n\u00e9", [2]),
        ("😀", "x\n\n😀", [3]),
        ("\t", "a\n\tb", [2]),
        ("\u2028", "a\u2028b", [1]),
    ],
)
def test_the_phrase_is_literal_and_exact(workspace: Path, root: Root, query: str, text: str, lines: list[int]) -> None:
    (workspace / "a.txt").write_bytes(text.encode())
    assert [match["line"] for match in search(root, query)["matches"]] == lines


def test_line_ends_of_every_kind(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_bytes(b"x1\nx2\r\nx3\rx4\n\r\nx6\r\rx8")
    assert hits(search(root, "x")) == [("a.txt", number, f"x{number}") for number in (1, 2, 3, 4, 6, 8)]


def test_other_encodings(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_bytes("ü €".encode("cp1252"))
    (workspace / "b.txt").write_bytes(b"\xff\xfe" + "x\r\nü €".encode("utf-16-le"))
    (workspace / "c.txt").write_bytes(b"\xef\xbb\xbf" + "ü €".encode())
    assert hits(search(root, "ü €")) == [("a.txt", 1, "ü €"), ("b.txt", 2, "ü €"), ("c.txt", 1, "ü €")]
    assert search(root, "ü €")["matches"][2]["offset"] == 0


def test_the_offset_of_a_match_leads_read_file_there(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_bytes("é😀\r\n".encode() * 1000 + b"the needle\nnext")
    (match,) = search(root, "needle")["matches"]
    page = call(ReadFile(), {"path": match["file"], "offset": match["offset"], "limit": 10}, root)
    assert page.data["content"] == "the needle"


# lines


@pytest.mark.parametrize(("length", "clipped"), [(300, False), (301, True)])
def test_long_lines_are_clipped_and_say_so(workspace: Path, root: Root, length: int, clipped: bool) -> None:
    line = "x" * (length - 6) + "needle"
    (workspace / "a.txt").write_text(line)
    (match,) = search(root, "needle")["matches"]
    assert match.get("clipped", False) is clipped
    assert match["text"] == line[-300:]
    assert match.get("column") == (length - 5 if clipped else None)


@pytest.mark.parametrize("place", [0, 1, 500, 9_000, 9_993, 9_994])
def test_a_clipped_line_shows_the_phrase(workspace: Path, root: Root, place: int) -> None:
    line = "".join(chr(97 + number % 26) for number in range(10_000))
    line = line[:place] + "NEEDLE" + line[place + 6 :]
    (workspace / "a.txt").write_text(line)
    (match,) = search(root, "NEEDLE")["matches"]
    assert "NEEDLE" in match["text"]
    assert match["text"] in line
    assert len(match["text"]) == 300
    assert match["column"] == place + 1


def test_the_longest_phrase_is_shown_whole(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("y" * 50 + "x" * 1000 + "y" * 50)
    (match,) = search(root, "x" * 1000)["matches"]
    assert match["text"] == "x" * 1000


# limits


@pytest.mark.parametrize(("count", "cut"), [(199, False), (200, False), (201, True)])
def test_at_most_200_matches(workspace: Path, root: Root, count: int, cut: bool) -> None:
    (workspace / "a.txt").write_text("hit\n" * 100)
    (workspace / "b.txt").write_text("hit\n" * (count - 100))
    (workspace / "c.txt").write_text("no")
    data = search(root, "hit")
    assert len(data["matches"]) == min(count, 200)
    assert data["truncated"] is cut
    assert data.get("limit") == ("matches" if cut else None)


@pytest.mark.parametrize(("count", "cut"), [(2000, False), (2001, True)])
def test_at_most_2000_files(workspace: Path, root: Root, count: int, cut: bool) -> None:
    for number in range(count - 1):
        (workspace / f"{number:04}.txt").write_text("-")
    (workspace / "last.txt").write_text("hit")
    (workspace / "last.bin").write_text("hit")
    (workspace / "zz.bin").write_text("hit")
    data = search(root, "hit")
    assert data["filesScanned"] == 2000
    assert hits(data) == ([] if cut else [("last.txt", 1, "hit")])
    assert data["truncated"] is cut
    assert data.get("limit") == ("files" if cut else None)
    assert data["skipped"]["unsupported"] == (1 if cut else 2)


@pytest.mark.parametrize(("size", "searched"), [(MIB_2, True), (MIB_2 + 1, False)])
def test_files_of_at_most_2_mib(workspace: Path, root: Root, size: int, searched: bool) -> None:
    (workspace / "a.txt").write_bytes(b"x" * (size - 3) + b"hit")
    data = search(root, "hit")
    assert len(data["matches"]) == searched
    assert data["filesScanned"] == searched
    assert data["skipped"]["tooLarge"] == (not searched)


@pytest.mark.parametrize("filler", ["\U0001f600", '"', "\\", "\u20ac"])
def test_matches_too_long_for_the_result_are_cut_and_say_so(workspace: Path, root: Root, filler: str) -> None:
    folder = workspace / ('"' * 200)
    folder.mkdir()
    (folder / "a.txt").write_text(("hit" + filler * 297 + "\n") * 200)
    data = search(root, "hit")
    assert data["truncated"] is True
    assert data["limit"] == "output"
    assert 60 < len(data["matches"]) < 200


# what is skipped


def test_every_reason_is_counted(workspace: Path, root: Root) -> None:
    (workspace / "good.txt").write_text("hit")
    (workspace / "big.txt").write_bytes(b"hit\n" * (MIB_2 // 4 + 1))
    (workspace / "a.pdf").write_text("hit")
    (workspace / "README").write_text("hit")
    (workspace / ".env").write_text("hit")
    (workspace / "credentials.json").write_text("hit")
    (workspace / "harmless.txt").symlink_to(".env")
    (workspace / "binary.txt").write_bytes(b"hit\0")
    (workspace / "closed.txt").write_text("hit")
    (workspace / "closed.txt").chmod(0)
    (workspace / "closed").mkdir()
    (workspace / "closed").chmod(0)
    (workspace / "out.txt").symlink_to("/etc/passwd")
    (workspace / "dangling.txt").symlink_to("none.txt")
    (workspace / "docs").mkdir()
    (workspace / "docs/x.txt").write_text("hit")
    (workspace / "way").symlink_to("docs")
    os.mkfifo(workspace / "pipe.txt")
    with unprivileged():
        data = search(root, "hit")
    assert hits(data) == [("docs/x.txt", 1, "hit"), ("good.txt", 1, "hit")]
    assert data["filesScanned"] == 2
    assert data["skipped"] == NOTHING_SKIPPED | {
        "tooLarge": 1,
        "unsupported": 5,
        "credential": 3,
        "binary": 1,
        "unreadable": 2,
        "outsideLinks": 1,
        "linkedFolders": 1,
    }


def test_what_rules_withhold(workspace: Path, root: Root) -> None:
    (workspace / "private").mkdir()
    (workspace / "private/x.txt").write_text("hit")
    (workspace / "a.txt").write_text("hit")

    def allowed(entry: Resource) -> bool:
        return not entry.name.startswith("private")

    outcome = call(TOOL, {"query": "hit"}, root, entry_allowed=allowed)
    assert hits(outcome.data) == [("a.txt", 1, "hit")]
    assert outcome.data["skipped"]["withheld"] == 1


class Meddling:
    """An opener that lets something happen to a file before each open of its name."""

    def __init__(self, name: str, act: Any) -> None:
        self._opener = KernelOpener()
        self._name = name
        self._act = act

    def open(self, root: int, name: str, flags: int) -> int:
        if name == self._name:
            self._act()
        return self._opener.open(root, name, flags)


def test_a_file_that_vanishes_between_listing_and_reading(workspace: Path) -> None:
    (workspace / "a.txt").write_text("hit")
    (workspace / "b.txt").write_text("hit")
    gone = Meddling("a.txt", lambda: (workspace / "a.txt").unlink(missing_ok=True))
    with Root(workspace, opener=gone) as root:
        data = search(root, "hit")
    assert hits(data) == [("b.txt", 1, "hit")]
    assert data["skipped"] == NOTHING_SKIPPED | {"unreadable": 1}


def test_a_file_that_grows_between_listing_and_reading(workspace: Path) -> None:
    (workspace / "a.txt").write_text("hit")
    grown = Meddling("a.txt", lambda: (workspace / "a.txt").write_bytes(b"hit\n" * MIB_2))
    with Root(workspace, opener=grown) as root:
        data = search(root, "hit")
    assert data["matches"] == []
    assert data["skipped"] == NOTHING_SKIPPED | {"tooLarge": 1}


def test_a_file_that_becomes_a_link_to_what_is_withheld(workspace: Path) -> None:
    (workspace / "a.txt").write_text("plain")
    (workspace / "z.txt").write_text("hit")

    def swap() -> None:
        (workspace / "a.txt").unlink()
        (workspace / "a.txt").symlink_to("z.txt")

    with Root(workspace, opener=Meddling("a.txt", swap)) as root:
        outcome = call(TOOL, {"query": "hit"}, root, entry_allowed=lambda entry: entry.real != "z.txt")
    assert outcome.data["matches"] == []
    assert outcome.data["skipped"]["withheld"] == 2


def test_names_that_are_not_utf8(workspace: Path, root: Root) -> None:
    Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9.txt")).write_text("hit")
    assert hits(search(root, "hit")) == [("caf\ufffd.txt", 1, "hit")]


def test_200_levels_deep_and_around_loops(workspace: Path, root: Root) -> None:
    deep = "/".join("d" * 200)
    (workspace / deep).mkdir(parents=True)
    (workspace / deep / "x.txt").write_text("hit")
    (workspace / deep / "top").symlink_to("../" * 200)
    (workspace / "d/self").symlink_to(".")
    data = search(root, "hit")
    assert hits(data) == [(f"{deep}/x.txt", 1, "hit")]
    assert data["skipped"]["linkedFolders"] == 2


# refusals


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": "a\nb"},
        {"query": "a\rb"},
        {"query": "\n"},
        {"query": "x" * 1001},
        {"query": 1},
        {"query": "x", "regex": True},
    ],
)
def test_bad_arguments(root: Root, arguments: dict[str, Any]) -> None:
    outcome = call(TOOL, arguments, root)
    assert code(outcome) is ErrorCode.INVALID_ARGUMENTS


def test_a_line_break_is_named(root: Root) -> None:
    outcome = call(TOOL, {"query": "a\nb"}, root)
    assert outcome.error is not None
    assert "line break" in outcome.error.message


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("none", ErrorCode.NOT_FOUND),
        ("../x", ErrorCode.PATH_REFUSED),
        ("/etc", ErrorCode.PATH_REFUSED),
        ("out", ErrorCode.PATH_REFUSED),
        (".env", ErrorCode.FILE_REFUSED),
        ("harmless.txt", ErrorCode.FILE_REFUSED),
        ("a.pdf", ErrorCode.UNSUPPORTED_FORMAT),
        ("binary.txt", ErrorCode.BINARY_CONTENT),
        ("big.txt", ErrorCode.FILE_TOO_LARGE),
        ("pipe.txt", ErrorCode.NOT_A_FILE),
    ],
)
def test_a_path_that_cannot_be_searched_is_an_error(
    workspace: Path, root: Root, path: str, expected: ErrorCode
) -> None:
    (workspace / "out").symlink_to("..")
    (workspace / ".env").write_text("hit")
    (workspace / "harmless.txt").symlink_to(".env")
    (workspace / "a.pdf").write_text("hit")
    (workspace / "binary.txt").write_bytes(b"hit\0")
    (workspace / "big.txt").write_bytes(b"x" * (MIB_2 + 1))
    os.mkfifo(workspace / "pipe.txt")
    assert code(call(TOOL, {"query": "hit", "path": path}, root)) is expected


def test_a_cancelled_call_stops(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("x")
    params = SearchFilesParams(query="x")
    context = Context(files=FilesGrant(root, TOOL.resources(params, WorkspaceWorld(root)), lambda entry: True))
    context.cancel()
    with pytest.raises(Failure) as caught:
        asyncio.run(TOOL.run(params, context))
    assert caught.value.code is ErrorCode.CANCELLED


# against a plain reading of the contract


@settings(max_examples=60)
@given(
    st.text(alphabet=st.sampled_from("ab\r\n é"), max_size=60),
    st.text(alphabet=st.sampled_from("ab é"), min_size=1, max_size=3),
)
def test_matches_are_those_of_a_line_by_line_search(
    tmp_path_factory: pytest.TempPathFactory, text: str, query: str
) -> None:
    workspace = tmp_path_factory.mktemp("ws")
    (workspace / "a.txt").write_bytes(text.encode())
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    expected = [("a.txt", number, line) for number, line in enumerate(lines, 1) if query in line]
    with Root(workspace) as root:
        data = search(root, query)
    assert hits(data) == expected
    for match in data["matches"]:
        assert text[match["offset"] :].startswith(match["text"])

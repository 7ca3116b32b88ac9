from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from fakes.context import Context, call
from fakes.unprivileged import unprivileged
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.tools.files.file_grep import MAX_CONTEXT, MAX_MATCHES, FileGrep, FileGrepParams
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.search_library import LibraryEngine
from remit.workspace.search_ripgrep import RipgrepEngine, find_ripgrep
from remit.workspace.search_scan import MAX_FILE_BYTES, Engine

RIPGREP = find_ripgrep()
assert RIPGREP is not None


@pytest.fixture(params=[RipgrepEngine(RIPGREP), LibraryEngine()], ids=lambda engine: engine.name)
def tool(request: pytest.FixtureRequest) -> FileGrep:
    engine: Engine = request.param
    return FileGrep(engine)


def put(workspace: Path, **files: str) -> None:
    """Files by name; two underscores are a slash, one a dot."""
    for spelled, text in files.items():
        path = workspace / spelled.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def lines(outcome: Outcome) -> list[str]:
    assert outcome.ok, outcome
    return outcome.text.splitlines()


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def test_what_the_tool_says_of_itself() -> None:
    spec = FileGrep().spec()
    assert spec.name == "file_grep"
    assert list(spec.schema["properties"]) == ["pattern", "path", "include", "glob", "-A", "-B", "-C", "head_limit"]
    assert spec.schema["required"] == ["pattern"]
    assert FileGrep.effects == {Effect.READ}


def test_rows(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, b_txt="one\nhit two\n", a__c_txt="  hit\n", d_txt="none\n", _github__w_yml="hit")
    outcome = call(tool, {"pattern": "hit"}, root)
    assert lines(outcome) == [
        ".github/w.yml:1: hit",
        "a/c.txt:1:   hit",
        "b.txt:2: hit two",
        "[showing 3 of 3 matches in 3 of 4 files searched]",
    ]
    assert outcome.data["rows"][1] == {"file": "a/c.txt", "line": 1, "text": "  hit"}


def test_rows_are_relative_to_the_searched_directory(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, src__deep__a_py="hit", b_py="hit")
    outcome = call(tool, {"pattern": "hit", "path": "src"}, root)
    assert lines(outcome)[0] == "deep/a.py:1: hit"
    assert outcome.data["rows"][0]["file"] == "src/deep/a.py"


def test_one_file(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, src__a_py="no\nhit\r\n", _gitignore="src\n")
    outcome = call(tool, {"pattern": "hit$", "path": "src/a.py"}, root)
    assert lines(outcome) == ["a.py:2: hit", "[showing 1 of 1 match in 1 of 1 file searched]"]
    assert outcome.data["rows"] == [{"file": "src/a.py", "line": 2, "text": "hit"}]


NUMBERED = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ({}, ["5:", "8:"]),
        ({"-A": 1}, ["5:", "6-", "--", "8:", "9-"]),
        ({"-B": 1}, ["4-", "5:", "--", "7-", "8:"]),
        ({"-C": 1}, ["4-", "5:", "6-", "7-", "8:", "9-"]),
        ({"-C": 3, "-A": 0}, ["2-", "3-", "4-", "5:", "6-", "7-", "8:"]),
        ({"-C": 1, "-B": 0}, ["5:", "6-", "--", "8:", "9-"]),
        ({"-C": 50}, [f"{n}{':' if n in (5, 8) else '-'}" for n in range(1, 11)]),
        ({"-C": 4, "head_limit": 1}, ["1-", "2-", "3-", "4-", "5:", "6-", "7-", "8-", "9-"]),
    ],
)
def test_context(tool: FileGrep, workspace: Path, root: Root, arguments: dict[str, Any], rows: list[str]) -> None:
    put(workspace, a=NUMBERED)
    shown = lines(call(tool, {"pattern": "line [58]$", **arguments}, root))[:-1]
    assert [row if row == "--" else row.removeprefix("a")[1:].partition(" ")[0] for row in shown] == rows


def test_context_parts_files(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a="hit\n", b="hit\n")
    assert lines(call(tool, {"pattern": "hit", "-C": 1}, root))[:3] == ["a:1: hit", "--", "b:1: hit"]


@pytest.mark.parametrize("name", ["include", "glob"])
def test_include(tool: FileGrep, workspace: Path, root: Root, name: str) -> None:
    put(workspace, a_py="hit", src__b_ts="hit", src__c_py="hit", d_md="hit", build__e_py="hit", _gitignore="build\n")
    put(workspace, _git__HEAD="x")
    assert lines(call(tool, {"pattern": "hit", name: "*.{py,ts}"}, root)) == [
        "a.py:1: hit",
        "src/b.ts:1: hit",
        "src/c.py:1: hit",
        "[showing 3 of 3 matches in 3 of 3 files searched]",
        "[1 entry ignored by .gitignore (reached by naming the path)]",
    ]
    assert lines(call(tool, {"pattern": "hit", name: "src/*.py"}, root))[0] == "src/c.py:1: hit"
    none = call(tool, {"pattern": "hit", name: "[ac].py"}, root)
    assert "[warning: square brackets stand for themselves; a choice is {a,b}]" in lines(none)


def test_matches_beyond_the_limit_are_counted(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a="hit\n" * 60, b="hit\n" * 40)
    outcome = call(tool, {"pattern": "hit", "head_limit": 1000}, root)
    assert (outcome.data["shown"], outcome.data["total"]) == (MAX_MATCHES, 100)
    put(workspace, c="hit\n" * 7)
    assert lines(call(tool, {"pattern": "hit"}, root))[-2:] == [
        "b:40: hit",
        "[showing 100 of 107 matches in 3 of 3 files searched]",
    ]
    assert lines(call(tool, {"pattern": "hit", "head_limit": 61}, root))[-2:] == [
        "b:1: hit",
        "[showing 61 of 107 matches in 3 of 3 files searched]",
    ]


def test_long_lines_are_cut_at_whole_characters(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a="hit" + "é" * 1997, b="hit" + "é" * 1998, c="hit" + "x" * 1996 + "e\u0301")
    first, second, third, _ = lines(call(tool, {"pattern": "hit"}, root))
    assert first == "a:1: hit" + "é" * 1997
    assert second == "b:1: hit" + "é" * 1997 + " [line cut: 2001 characters]"
    assert third == "c:1: hit" + "x" * 1996 + " [line cut: 2001 characters]"


def test_encodings(tool: FileGrep, workspace: Path, root: Root) -> None:
    (workspace / "a").write_bytes("Straße hit\r\n".encode("utf-16"))
    (workspace / "b").write_bytes(b"\xff\xff hit\r\n")
    (workspace / "c").write_bytes("\ufeffhit".encode())
    assert lines(call(tool, {"pattern": "hit$"}, root))[:3] == ["a:1: Straße hit", "b:1: \ufffd\ufffd hit", "c:1: hit"]


def test_what_is_left_out_is_told(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a_txt="hit", b_txt="hit", build__c="hit", node_modules__d="hit", target__e="hit")
    put(workspace, sub___git__HEAD="x", sub__f="hit", _git__g="hit", _env="hit", deep__id__rsa="hit")
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules/d").write_text("hit")
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "binary").write_bytes(b"hit\n\0")
    (workspace / "large").write_bytes(b"hit\n" + b"x" * (MAX_FILE_BYTES - 3))
    (workspace / "closed").write_text("hit")
    (workspace / "closed").chmod(0)
    (workspace / "link").symlink_to("a.txt")
    os.mkfifo(workspace / "pipe")

    def allowed(entry: Resource) -> bool:
        return entry.name != "b.txt"

    with unprivileged():
        outcome = call(tool, {"pattern": "hit"}, root, entry_allowed=allowed)
    left = outcome.data["leftOut"]
    assert left["skippedFolders"] == ["node_modules", "target"]
    assert (left["withheld"], left["ignored"], left["nestedRepositories"], left["special"]) == (2, 1, ["sub"], 2)
    assert (left["tooLarge"], left["binary"], left["unreadable"]) == (1, 1, 1)
    assert "a.txt:1: hit" in lines(outcome)
    assert not [line for line in lines(outcome) if line.startswith(("b.txt", ".env", "binary", "large", "closed"))]
    assert lines(outcome)[-7:] == [
        "[1 entry ignored by .gitignore (reached by naming the path)]",
        "[2 directories skipped by default (reached by naming the path): node_modules, target]",
        "[1 nested repository not searched (reached by naming the path): sub]",
        "[1 binary file not searched]",
        "[1 file larger than 5 MiB not searched]",
        "[2 links or special files not followed]",
        "[warning: 1 entry could not be read]",
    ]


def test_no_match_but_among_what_is_left_out(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a="no", build__b="hit", build__private="hit", dist__c="hit", _git__d="hit", _gitignore="build/\n")
    outcome = call(tool, {"pattern": "hit"}, root, entry_allowed=lambda entry: "private" not in entry.name)
    assert lines(outcome)[:3] == [
        "No matches found.",
        "[showing 0 of 0 matches in 0 of 2 files searched]",
        "[2 files match in what is ignored or skipped, such as build/b, dist/c]",
    ]
    assert outcome.data["elsewhere"] == {"files": 2, "examples": ["build/b", "dist/c"], "exact": True}


def test_withheld_files_tell_nothing_of_their_content(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, secret="token-a\n", open="plain\n")
    told = [
        call(tool, {"pattern": pattern}, root, entry_allowed=lambda entry: entry.name != "secret")
        for pattern in ("token-a", "token-b")
    ]
    assert told[0] == told[1]
    assert "[1 file withheld by rules]" in told[0].text


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "unclosed group|missing \\)"),
        ("a)", "unopened group|unexpected \\)"),
        ("*a", "repetition|no argument"),
        (r"\p{Nonsense}", "property|character class range"),
        ("(?=a)", "look-around"),
        (r"(a)\1", "backreference"),
        ("(((a{1000}){1000}){1000})", "size|repetition"),
    ],
)
def test_an_invalid_expression_is_an_error(
    tool: FileGrep, workspace: Path, root: Root, pattern: str, words: str
) -> None:
    put(workspace, a="text")
    for path in (".", "a"):
        outcome = call(tool, {"pattern": pattern, "path": path}, root)
        assert code(outcome) is ErrorCode.INVALID_ARGUMENTS
        assert outcome.error is not None
        assert any(word.replace("\\", "") in outcome.error.message for word in words.split("|")), outcome.error.message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": ""}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x" * 1001}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "include": "a", "glob": "b"}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "include": ""}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "include": "*.{a,b"}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "glob": "[a"}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "include": "b", "path": "a"}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "head_limit": 0}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "-A": -1}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "-C": MAX_CONTEXT + 1}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "-i": True}, ErrorCode.INVALID_ARGUMENTS),
        ({"pattern": "x", "path": "none"}, ErrorCode.NOT_FOUND),
        ({"pattern": "x", "path": "../a"}, ErrorCode.PATH_REFUSED),
        ({"pattern": "x", "path": "pipe"}, ErrorCode.NOT_A_FILE),
        ({"pattern": "x", "path": "binary"}, ErrorCode.BINARY_CONTENT),
        ({"pattern": "x", "path": "large"}, ErrorCode.FILE_TOO_LARGE),
    ],
)
def test_refusals(tool: FileGrep, workspace: Path, root: Root, arguments: dict[str, Any], expected: ErrorCode) -> None:
    put(workspace, a="x")
    os.mkfifo(workspace / "pipe")
    (workspace / "binary").write_bytes(b"x\0")
    (workspace / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert code(call(tool, arguments, root)) is expected


def test_the_largest_file(tool: FileGrep, workspace: Path, root: Root) -> None:
    (workspace / "a").write_bytes(b"x" * (MAX_FILE_BYTES - 4) + b"\nhit")
    assert lines(call(tool, {"pattern": "hit"}, root))[0] == "a:2: hit"
    assert lines(call(tool, {"pattern": "hit", "path": "a"}, root))[0] == "a:2: hit"


def test_a_sparse_file_of_ten_gigabytes(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a="hit")
    with (workspace / "sparse").open("wb") as file:
        file.truncate(10 * 1024**3)
    outcome = call(tool, {"pattern": "hit"}, root)
    assert outcome.data["leftOut"]["tooLarge"] == 1
    assert lines(outcome)[0] == "a:1: hit"


def test_a_file_name_that_reads_like_a_report(tool: FileGrep, workspace: Path, root: Root) -> None:
    report = "x\nrg: DEBUG|ignore::walk|crates/ignore/src/walk.rs:1: ignoring ./src/.git: Ignore(IgnoreMatch(Override(x"
    put(workspace, src__a="hit")
    path = workspace / report
    path.parent.mkdir(parents=True)
    path.symlink_to("none")
    outcome = call(tool, {"pattern": "hit"}, root)
    assert outcome.data["leftOut"]["nestedRepositories"] == []
    assert lines(outcome)[0] == "src/a:1: hit"


def test_links_are_not_followed(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a__b="hit")
    (workspace / "way").symlink_to("a")
    (workspace / "out").symlink_to("/")
    (workspace / "a/up").symlink_to("..")
    assert lines(call(tool, {"pattern": "hit"}, root))[0] == "a/b:1: hit"
    assert call(tool, {"pattern": "hit"}, root).data["total"] == 1


def test_a_directory_that_is_swapped_for_a_link(tool: FileGrep, workspace: Path, root: Root, tmp_path: Path) -> None:
    """A loop of swaps while searches run: no line of the outside is ever shown."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("hit outside\n")
    put(workspace, real__f="hit inside\n")
    (workspace / "link").symlink_to(outside)
    ending = threading.Event()

    def swap() -> None:
        while not ending.is_set():
            for source in ("real", "link"):
                os.rename(workspace / source, workspace / "now")
                os.rename(workspace / "now", workspace / source)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(25):
            outcome = call(tool, {"pattern": "hit"}, root)
            assert "outside" not in outcome.text
    finally:
        ending.set()
        swapper.join()


def test_a_cancelled_call_stops(tool: FileGrep, workspace: Path, root: Root) -> None:
    put(workspace, a="x")
    context = Context(files=FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], lambda entry: True))
    context.cancel()
    with pytest.raises(Failure) as caught:
        asyncio.run(tool.run(FileGrepParams(pattern="x"), context))
    assert caught.value.code is ErrorCode.CANCELLED


def test_word_boundaries_of_the_library_are_told(workspace: Path, root: Root) -> None:
    put(workspace, a="hit")
    outcome = call(FileGrep(LibraryEngine()), {"pattern": r"\bhit\b"}, root)
    assert "[warning: ripgrep is not installed: \\b sees only ASCII letters as parts of words]" in lines(outcome)
    assert "warnings" not in call(FileGrep(LibraryEngine()), {"pattern": "hit"}, root).data

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from fakes.context import Context, call
from fakes.unprivileged import unprivileged
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.tools.documents.list_files import ListFiles, ListFilesParams
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld

TOOL = ListFiles()


def listed(root: Root, **arguments: Any) -> dict[str, Any]:
    outcome = call(TOOL, arguments, root)
    assert outcome.ok, outcome
    assert outcome.text == ""
    assert len(outcome.for_model().encode()) <= TOOL.bounds.output_bytes
    data = outcome.data
    assert isinstance(data, dict)
    return data


def paths(data: dict[str, Any]) -> list[str]:
    return [entry["path"] for entry in data["entries"]]


def code(outcome: Outcome) -> ErrorCode | None:
    return outcome.error.code if outcome.error else None


def test_what_the_tool_says_of_itself() -> None:
    spec = TOOL.spec()
    assert spec.name == "list_files"
    assert "six levels" in spec.description
    assert "1,000 entries" in spec.description
    assert set(spec.schema["properties"]) == {"path", "recursive"}
    assert spec.schema.get("required", []) == []
    assert TOOL.effects == {Effect.READ}
    assert TOOL.repeatable


def test_entries(workspace: Path, root: Root) -> None:
    (workspace / "b.txt").write_text("12345")
    (workspace / "a").mkdir()
    (workspace / "a/x.md").write_text("")
    (workspace / "link.txt").symlink_to("b.txt")
    os.mkfifo(workspace / "pipe")
    assert listed(root) == {
        "path": ".",
        "entries": [
            {"path": "a", "type": "directory"},
            {"path": "b.txt", "type": "file", "size": 5},
            {"path": "link.txt", "type": "file", "size": 5, "link": True},
            {"path": "pipe", "type": "other"},
        ],
        "truncated": False,
        "withheld": 0,
        "unreadable": 0,
        "notes": [],
    }
    assert paths(listed(root, path="a")) == ["a/x.md"]
    assert paths(listed(root, path="./a//")) == ["a/x.md"]
    assert paths(listed(root, path="")) == paths(listed(root))


def test_an_empty_workspace(root: Root) -> None:
    assert listed(root, recursive=True)["entries"] == []


@pytest.mark.parametrize("top", ["", "top/"])
def test_recursive_goes_six_levels_deep(workspace: Path, root: Root, top: str) -> None:
    deep = "1/2/3/4/5"
    (workspace / top / deep / "folder6").mkdir(parents=True)
    (workspace / top / deep / "file6").write_text("")
    (workspace / top / deep / "folder6/file7").write_text("")
    data = listed(root, path=top or ".", recursive=True)
    assert paths(data) == [
        *[top + deep[: 2 * level + 1] for level in range(5)],
        f"{top}{deep}/file6",
        f"{top}{deep}/folder6",
    ]
    assert data["truncated"] is False
    assert data["notes"] == ["1 folders at level 6 were not opened; list them to see what they hold"]


def test_a_tree_of_exactly_six_levels_needs_no_note(workspace: Path, root: Root) -> None:
    (workspace / "1/2/3/4/5").mkdir(parents=True)
    (workspace / "1/2/3/4/5/6.txt").write_text("")
    assert listed(root, recursive=True)["notes"] == []
    assert listed(root)["notes"] == []


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize(("count", "cut"), [(999, False), (1000, False), (1001, True)])
def test_at_most_1000_entries(workspace: Path, root: Root, count: int, cut: bool, recursive: bool) -> None:
    for number in range(count):
        (workspace / f"file-{number:04}.txt").touch()
    data = listed(root, recursive=recursive)
    assert paths(data) == [f"file-{number:04}.txt" for number in range(min(count, 1000))]
    assert data["truncated"] is cut
    assert data["notes"] == (["the first 1000 entries only; list a folder below to see more"] if cut else [])


def test_a_list_too_long_for_the_result_is_cut_and_says_so(workspace: Path, root: Root) -> None:
    for number in range(990):
        (workspace / (f"{number:04}" + '"' * 240)).touch()
    data = listed(root)
    assert 400 < len(data["entries"]) < 990
    assert data["truncated"] is True
    assert "more would not fit the result" in data["notes"][0]


def test_what_rules_withhold_is_counted(workspace: Path, root: Root) -> None:
    for name in ("a.txt", ".env", "private.txt"):
        (workspace / name).write_text("")

    def allowed(entry: Resource) -> bool:
        return entry.name == "a.txt"

    data = call(TOOL, {}, root, entry_allowed=allowed).data
    assert paths(data) == ["a.txt"]
    assert data["withheld"] == 2
    assert data["notes"] == ["2 entries are withheld by rules"]


def test_what_cannot_be_read_is_counted(workspace: Path, root: Root) -> None:
    (workspace / "closed").mkdir()
    (workspace / "closed").chmod(0)
    with unprivileged():
        data = listed(root, recursive=True)
        refused = call(TOOL, {"path": "closed"}, root)
    assert paths(data) == ["closed"]
    assert data["unreadable"] == 1
    assert data["notes"] == ["1 folders or entries could not be read"]
    assert code(refused) is ErrorCode.IO_ERROR


def test_links(workspace: Path, root: Root) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs/x.txt").write_text("")
    (workspace / "inner").symlink_to("docs")
    (workspace / "outer").symlink_to("..")
    (workspace / "loop").symlink_to("loop")
    (workspace / "docs/self").symlink_to(".")
    data = listed(root, recursive=True)
    assert data["entries"] == [
        {"path": "docs", "type": "directory"},
        {"path": "docs/self", "type": "directory", "link": True},
        {"path": "docs/x.txt", "type": "file", "size": 0},
        {"path": "inner", "type": "directory", "link": True},
        {"path": "loop", "type": "other", "link": True},
        {"path": "outer", "type": "other", "link": True},
    ]
    assert data["notes"] == [
        "2 links lead out of the workspace or in a circle and were not followed",
        "2 linked folders were not opened here; list them by their path",
    ]
    assert paths(listed(root, path="inner")) == ["inner/self", "inner/x.txt"]


def test_names_that_are_not_utf8_are_shown_as_text(workspace: Path, root: Root) -> None:
    Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9.txt")).write_text("x")
    assert paths(listed(root)) == ["caf\ufffd.txt"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("none", ErrorCode.NOT_FOUND),
        ("a.txt", ErrorCode.NOT_A_DIRECTORY),
        ("a.txt/x", ErrorCode.NOT_A_DIRECTORY),
        ("/", ErrorCode.PATH_REFUSED),
        ("..", ErrorCode.PATH_REFUSED),
        ("docs/..", ErrorCode.PATH_REFUSED),
        ("C:", ErrorCode.PATH_REFUSED),
        ("a\0", ErrorCode.PATH_REFUSED),
        ("nul", ErrorCode.PATH_REFUSED),
        ("out", ErrorCode.PATH_REFUSED),
    ],
)
def test_refused(workspace: Path, root: Root, path: str, expected: ErrorCode) -> None:
    (workspace / "a.txt").write_text("")
    (workspace / "out").symlink_to("..")
    assert code(call(TOOL, {"path": path}, root)) is expected


@pytest.mark.parametrize(
    "arguments", ['{"path": 1}', '{"recursive": "yes"}', '{"depth": 2}', '{"path": "a"', "[]", '{"path": null}']
)
def test_bad_arguments(root: Root, arguments: str) -> None:
    assert code(call(TOOL, arguments, root)) is ErrorCode.INVALID_ARGUMENTS


def test_no_arguments_at_all(root: Root) -> None:
    assert call(TOOL, "", root).ok


def test_a_folder_replaced_after_the_rules_were_asked(workspace: Path, root: Root) -> None:
    (workspace / "docs").mkdir()
    (workspace / "other").mkdir()

    def swap() -> None:
        (workspace / "docs").rmdir()
        (workspace / "docs").symlink_to("other")

    assert code(call(TOOL, {"path": "docs"}, root, between=swap)) is ErrorCode.FILE_CHANGED


def test_a_cancelled_call_stops(workspace: Path, root: Root) -> None:
    (workspace / "a.txt").write_text("")
    params = ListFilesParams()
    files = FilesGrant(root, TOOL.resources(params, WorkspaceWorld(root)), lambda entry: True)
    context = Context(files=files)
    context.cancel()
    with pytest.raises(Failure) as caught:
        asyncio.run(TOOL.run(params, context))
    assert caught.value.code is ErrorCode.CANCELLED


def test_without_a_grant_nothing_is_shown() -> None:
    with pytest.raises(Failure) as caught:
        asyncio.run(TOOL.run(ListFilesParams(), Context()))
    assert caught.value.code is ErrorCode.UNDECLARED


@pytest.mark.heavy
def test_a_folder_of_100_000_files(workspace: Path, root: Root) -> None:
    for number in range(100_000):
        os.close(os.open(f"{number:06}.txt", os.O_CREAT | os.O_WRONLY, dir_fd=root.fd))
    data = listed(root, recursive=True)
    assert paths(data) == [f"{number:06}.txt" for number in range(1000)]
    assert data["truncated"] is True
    files = FilesGrant(root, TOOL.resources(ListFilesParams(), WorkspaceWorld(root)), lambda entry: True)
    assert sum(1 for _ in files.walk(".")) == 100_000

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld

OpenRoot = Callable[[Path], Root]


@pytest.mark.parametrize(
    ("spelled", "name", "real"),
    [
        ("a.txt", "a.txt", "a.txt"),
        ("./docs//b.txt", "docs/b.txt", "docs/b.txt"),
        ("", ".", "."),
        ("l", "l", "docs"),
        ("l/b.txt", "l/b.txt", "docs/b.txt"),
        ("l/new/x.txt", "l/new/x.txt", "docs/new/x.txt"),
        ("none/x", "none/x", "none/x"),
    ],
)
def test_names(open_root: OpenRoot, workspace: Path, spelled: str, name: str, real: str) -> None:
    (workspace / "l").symlink_to("docs")
    world = WorkspaceWorld(open_root(workspace))
    assert world.path(spelled, Effect.READ) == Resource("path", name, Effect.READ, real, inside=True)
    assert world.tree(spelled, Effect.WRITE) == Resource("tree", name, Effect.WRITE, real, inside=True)


@pytest.mark.parametrize(
    "spelled", ["/etc/passwd", "../x", "C:/x", "nul", "a\0", "docs\\b.txt", "out", "out/secret.txt"]
)
def test_refused(open_root: OpenRoot, workspace: Path, spelled: str) -> None:
    (workspace / "out").symlink_to("../outside")
    world = WorkspaceWorld(open_root(workspace))
    for ask in (world.path, world.tree):
        with pytest.raises(Failure) as caught:
            ask(spelled, Effect.READ)
        assert caught.value.code is ErrorCode.PATH_REFUSED


def test_a_real_name_that_is_not_utf8_is_text_all_the_same(open_root: OpenRoot, workspace: Path) -> None:
    Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9.txt")).write_text("x")
    os.symlink(b"caf\xe9.txt", os.fsencode(workspace) + b"/l.txt")
    resource = WorkspaceWorld(open_root(workspace)).path("l.txt", Effect.READ)
    assert resource.real == "caf\ufffd.txt"


def test_a_file_that_would_be_a_device_elsewhere(open_root: OpenRoot, workspace: Path) -> None:
    (workspace / "aux.c").write_text("int x;")
    world = WorkspaceWorld(open_root(workspace))
    assert world.path("aux.c", Effect.WRITE).real == "aux.c"
    for spelled in ("nul.txt", "aux/new.c"):
        with pytest.raises(Failure, match="reserved device name") as caught:
            world.path(spelled, Effect.WRITE)
        assert caught.value.code is ErrorCode.PATH_REFUSED

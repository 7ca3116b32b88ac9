from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit.workspace.beneath import KernelOpener, StepOpener
from remit.workspace.root import Root

OpenRoot = Callable[[Path], Root]


def by_kernel(path: Path) -> Root:
    return Root(path, opener=KernelOpener())


def by_steps(path: Path) -> Root:
    return Root(path, opener=StepOpener())


def by_steps_after_refusal(path: Path) -> Root:
    return Root(path, opener=KernelOpener(openat2=lambda root, name, flags: -errno.EPERM))


def without_descriptor_paths(path: Path) -> Root:
    return Root(path, opener=StepOpener(lambda fd: None), path_of=lambda fd: None)


WAYS = [by_kernel, by_steps, by_steps_after_refusal, without_descriptor_paths]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def open_root(request: pytest.FixtureRequest) -> Iterator[OpenRoot]:
    """Opens a workspace in each of the ways names are found; all have to give the same answers."""
    opened: list[Root] = []

    def open_it(path: Path) -> Root:
        opened.append(request.param(path))
        return opened[-1]

    yield open_it
    for root in opened:
        root.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a neighbour that no test may ever see into."""
    inside, outside = tmp_path / "ws", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("outside")
    (inside / "a.txt").write_text("alpha")
    (inside / "docs").mkdir()
    (inside / "docs" / "b.txt").write_text("beta")
    return inside

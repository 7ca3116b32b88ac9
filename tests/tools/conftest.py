from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.workspace.root import Root


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def root(workspace: Path) -> Iterator[Root]:
    with Root(workspace) as opened:
        yield opened

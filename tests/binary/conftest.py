"""The one-file program: tested where REMIT_TEST_BINARY names one (made by `python cli/package/build.py`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.cli import Home

GIVEN = os.environ.get("REMIT_TEST_BINARY", "")
collect_ignore_glob = [] if GIVEN else ["test_*.py"]


@pytest.fixture(scope="session")
def program() -> Path:
    return Path(GIVEN).resolve()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)

"""Small projects of each ecosystem, and the edges that are found in them.

REMIT_TEST_UPDATE=1 pytest tests/unit/code/test_ecosystems.py     writes the edges anew
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.trees import edges, graph
from remit.code.languages import language_of

PROJECTS = Path(__file__).resolve().parents[2] / "code" / "graphs"
NAMES = sorted(folder.name for folder in PROJECTS.iterdir() if folder.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_the_edges_of_a_project(name: str) -> None:
    folder = PROJECTS / name
    paths = [file for file in folder.rglob("*") if file.is_file() and language_of(file.name)]
    files = {str(file.relative_to(folder)): file.read_text() for file in paths}
    found = graph(files)
    numbers = f"resolved {found.resolved}, unresolved {found.unresolved}, ambiguous {found.ambiguous}"
    told = "\n".join([*sorted(edges(found)), "", numbers, ""])
    golden = folder.with_suffix(".edges")
    if os.environ.get("REMIT_TEST_UPDATE"):
        golden.write_text(told)
    assert told == golden.read_text()

"""Each language has samples, and each sample a golden outline of the facts that are found in it.

REMIT_TEST_UPDATE=1 pytest tests/unit/code/test_samples.py     writes the outlines anew
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.outlines import outline
from remit.code.extract import extract
from remit.code.languages import by_name

SAMPLES = Path(__file__).resolve().parents[2] / "code" / "samples"
FILES = sorted(file for file in SAMPLES.rglob("*") if file.is_file() and file.suffix != ".outline")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SAMPLES)))
def test_the_outline_of_a_sample(file: Path) -> None:
    told = outline(extract(by_name(file.parent.name), file.read_bytes()))
    golden = file.with_name(f"{file.name}.outline")
    if os.environ.get("REMIT_TEST_UPDATE"):
        golden.write_text(told)
    assert told == golden.read_text()

"""Each language has samples, and each sample a golden outline of the facts that are found in it.

REMIT_TEST_UPDATE=1 pytest tests/unit/code/test_samples.py     writes the outlines anew
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.outlines import outline
from remit.code.extract import extract
from remit.code.languages import LANGUAGES, Language, by_name, language_of

SAMPLES = Path(__file__).resolve().parents[2] / "code" / "samples"
FILES = sorted(file for file in SAMPLES.rglob("*") if file.is_file() and file.suffix != ".outline")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SAMPLES)))
def test_the_outline_of_a_sample(file: Path) -> None:
    told = outline(extract(by_name(file.parent.name), file.read_bytes()))
    golden = file.with_name(f"{file.name}.outline")
    if os.environ.get("REMIT_TEST_UPDATE"):
        golden.write_text(told)
    assert told == golden.read_text()


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_every_language_has_samples_that_are_known_by_their_names(language: Language) -> None:
    assert [file for file in FILES if language_of(file.name) is language]

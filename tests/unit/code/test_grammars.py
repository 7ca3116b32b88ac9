from __future__ import annotations

from pathlib import Path

import pytest
from tree_sitter import Parser

from remit.code.grammars import FOLDER, grammar, missing_grammars, queries, version
from remit.code.languages import LANGUAGES, Language, by_name

GRAMMARS = sorted({each.grammar for each in LANGUAGES})


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_grammar_is_there_and_can_be_loaded(name: str) -> None:
    assert Parser(grammar(name)).parse(b"").root_node is not None


def test_every_grammar_says_where_it_comes_from() -> None:
    told = dict(line.split(": ", 1) for line in (FOLDER / "NOTICE").read_text().splitlines())
    assert set(told) == set(GRAMMARS)
    assert all("MIT" in origin for origin in told.values())


def test_grammars_that_are_missing_are_named(tmp_path: Path) -> None:
    assert missing_grammars() == ""
    for name in GRAMMARS[2:]:
        (tmp_path / f"{name}.xz").touch()
    said = missing_grammars(tmp_path)
    assert said.startswith(f"grammars are missing ({GRAMMARS[0]}, {GRAMMARS[1]}): install remit")


def test_what_is_kept_is_of_one_language_and_one_version_of_it() -> None:
    versions = {version(by_name(name)) for name in ("Python", "JavaScript", "TypeScript", "TSX")} | {version(None)}
    assert len(versions) == 5
    assert {len(each) for each in versions} == {32}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.name)
@pytest.mark.parametrize("mentions", [True, False])
def test_every_language_has_queries_that_fit_its_grammar(language: Language, mentions: bool) -> None:
    asked = queries(language, mentions)
    assert asked.top.pattern_count == asked.inner.pattern_count == len(asked.labels) > 0

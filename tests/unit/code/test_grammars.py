from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tree_sitter import Parser, Query

from remit.code.grammars import grammar, queries, query_text, split_patterns, version
from remit.code.installed import FOLDER, RECORD, missing_grammars
from remit.code.languages import LANGUAGES, Language, by_name

GRAMMARS = sorted({each.grammar for each in LANGUAGES})


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_grammar_is_there_and_can_be_loaded(name: str) -> None:
    assert Parser(grammar(name)).parse(b"").root_node is not None


def test_no_grammar_takes_the_place_of_a_module() -> None:
    """Some are called as modules of the standard library are: html, json, xml."""
    before = dict(sys.modules)
    grammar.cache_clear()
    for name in GRAMMARS:
        grammar(name)
    assert {name for name in sys.modules if sys.modules[name] is not before.get(name)} <= {
        f"remit.code._grammars.{name}" for name in [*GRAMMARS, "_binding"]
    }


def test_every_grammar_says_where_it_comes_from() -> None:
    told = dict(line.split(": ", 1) for line in (Path(FOLDER) / RECORD).read_text().splitlines())
    assert set(told) == set(GRAMMARS)
    assert all("MIT" in origin for origin in told.values())


def test_grammars_that_are_missing_are_named(tmp_path: Path) -> None:
    assert missing_grammars() == ""
    assert missing_grammars(str(tmp_path)).startswith("grammars are missing (all of them): install remit")
    (tmp_path / "NOTICE").write_text("".join(f"{name}: somewhere\n" for name in GRAMMARS))
    for name in GRAMMARS[2:]:
        (tmp_path / f"{name}.xz").touch()
    said = missing_grammars(str(tmp_path))
    assert said.startswith(f"grammars are missing ({GRAMMARS[0]}, {GRAMMARS[1]}): install remit")


def test_what_is_kept_is_of_one_language_and_one_version_of_it() -> None:
    versions = {version(by_name(name)) for name in ("Python", "JavaScript", "TypeScript", "TSX")} | {version(None)}
    assert len(versions) == 5
    assert {len(each) for each in versions} == {32}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.name)
@pytest.mark.parametrize("mentions", [True, False])
def test_every_language_has_queries_that_fit_its_grammar(language: Language, mentions: bool) -> None:
    asked = queries(language, mentions)
    assert [each.query.pattern_count for each in asked[:2]] == [len(each.numbers) for each in asked[:2]]
    numbers = sorted(asked.top.numbers + asked.inner.numbers)
    if mentions:
        assert numbers == list(range(len(asked.labels)))
    assert set(numbers) <= set(range(len(asked.labels)))


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.name)
def test_queries_are_split_where_their_patterns_end(language: Language) -> None:
    text = "\n".join(query_text(name) for name in language.queries)
    whole, source = Query(grammar(language.grammar), text), text.encode()
    begins = [whole.start_byte_for_pattern(number) for number in range(whole.pattern_count)]
    found = split_patterns(text)
    assert len(found) == len(begins) > 0
    assert all(source[begin:].startswith(each.encode()) for each, begin in zip(found, begins, strict=True))


def test_strings_and_comments_end_no_pattern() -> None:
    text = '; (not (a pattern\n((a "(" ; [\n) @b (#eq? @b "\\")"))\n[(c) "]"]+ @d @e\n"f" @g ; end'
    assert split_patterns(text) == ['((a "(" ; [\n) @b (#eq? @b "\\")"))', '[(c) "]"]+ @d @e', '"f" @g']
    assert split_patterns("; nothing") == []

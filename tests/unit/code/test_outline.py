from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.outline import Outline
from remit.code.extract import extract
from remit.code.facts import TEST, Definition, Facts, Import
from remit.code.languages import by_name
from remit.code.outline import outline_of_facts
from remit.workspace.outline import MAX_LINE_BYTES, shown


def lines(outline: Outline) -> list[str]:
    return [line.text for line in shown(outline).lines]


def imported(language: str, *imports: Import) -> list[str]:
    return lines(outline_of_facts(Facts(language, imports=list(imports))))


def test_a_module() -> None:
    source = dedent(
        '''
        """About parts."""

        import os
        from os import path

        LIMIT = 5

        class Part(Base):
            """One."""
            size: int
            name: str = ""

            def weigh(self, twice: bool) -> int:
                def inner(): ...
                return 1

        def main() -> None:
            helper = 1
        '''
    ).lstrip("\n")
    assert lines(outline_of_facts(extract(by_name("Python"), source.encode()))) == [
        "About parts.",
        "imports [3-4]",
        "  os.{self, path} [3-4]",
        "types [8-15]",
        "  class Part(Base) [8-15]",
        "    size: int [10]",
        '    name: str = "" [11]',
        "    def weigh(self, twice: bool) -> int [13-15]",
        "functions [17-18]",
        "  def main() -> None [17-18]",
        "constants [6]",
        "  LIMIT = 5 [6]",
    ]


@pytest.mark.parametrize(
    ("language", "imports", "text"),
    [
        ("Python", [Import("os", 1)], "os [1]"),
        ("Python", [Import("os.path", 1, "join"), Import("os.path", 3, "exists")], "os.path.{join, exists} [1-3]"),
        ("Python", [Import("a.b", 1, "x"), Import("a.c", 2, "y")], "a.{b.x, c.y} [1-2]"),
        ("Python", [Import("a", 1), Import("a", 2, "b", "c")], "a.{self, b as c} [1-2]"),
        ("Python", [Import(".", 1, "x"), Import(".", 2, "y")], ".{x, y} [1-2]"),
        ("Python", [Import("..a", 1, "x")], "..a.x [1]"),
        ("Python", [Import("numpy", 1, "", "np")], "numpy as np [1]"),
        ("Python", [Import("a", 1, "*")], "a.* [1]"),
        ("Rust", [Import("std::io", 1, "Read"), Import("std::fmt", 2)], "std::{io::Read, fmt} [1-2]"),
        ("C", [Import("sys/types.h", 1), Import("sys/stat.h", 2)], "sys/{types.h, stat.h} [1-2]"),
        ("Go", [Import("github.com/x/y", 1, "", "z")], "github.com/x/y as z [1]"),
        ("PHP", [Import("App\\Io", 1, "In"), Import("App\\Io", 2, "Out", "To")], "App\\Io\\{In, Out as To} [1-2]"),
        ("PHP", [Import("lib/all.php", 1)], "lib/all.php [1]"),
        ("TypeScript", [Import("./a", 1, "x"), Import("./a", 1, "y")], "./a {x, y} [1]"),
        ("TypeScript", [Import("m", 1, "default", "M"), Import("m", 2, "x", "y")], "m {default as M, x as y} [1-2]"),
        ("TypeScript", [Import("m", 1, "default", "M"), Import("m", 1, "", "ns")], "m as ns {default as M} [1]"),
        ("TSX", [Import("./a/b.css", 3)], "./a/b.css [3]"),
        ("JavaScript", [Import("./all", 1, "*")], "./all {*} [1]"),
        ("JavaScript", [Import("", 4, "", "x")], "as x [4]"),
        ("C", [Import("/usr/include/a.h", 1)], "/usr/include/a.h [1]"),
    ],
)
def test_imports_that_begin_alike_are_told_together(language: str, imports: list[Import], text: str) -> None:
    assert imported(language, *imports)[1:] == [f"  {text}"]


def test_what_a_script_lends_by_default_is_no_import() -> None:
    source = b"import a from './a'\nfunction run() {}\nexport default run\n"
    assert lines(outline_of_facts(extract(by_name("JavaScript"), source)))[:2] == [
        "imports [1]",
        "  ./a {default as a} [1]",
    ]


def test_methods_that_stand_apart_from_their_type_are_told_beneath_it() -> None:
    source = b"struct Error;\nimpl Error {\n    fn kind(&self) {}\n    fn made() {}\n}\n\nfn free() {}\n"
    source += b"impl Display for Other<T> {\n    fn fmt(&self) {}\n}\n"
    assert lines(outline_of_facts(extract(by_name("Rust"), source)))[2:] == [
        "functions [3-9]",
        "  impl Error [3-4]",
        "    fn kind(&self) [3]",
        "    fn made() [4]",
        "  fn free() [7]",
        "  impl Other [9]",
        "    fn fmt(&self) [9]",
    ]
    named = b"package a\n\nfunc (t *T) M() {}\n"
    assert lines(outline_of_facts(extract(by_name("Go"), named))) == ["functions [3]", "  func (t *T) M() [3]"]


def test_comments_are_no_part_of_a_signature() -> None:
    source = b"function f(a /* one */, /** two\n * lines */ b = '/**/', c = `/* */`) {}\n"
    assert lines(outline_of_facts(extract(by_name("JavaScript"), source)))[1] == (
        "  function f(a, b = '/**/', c = `/* */`) [1-2]"
    )


def test_each_module_of_a_script_is_told_by_itself() -> None:
    imports = [Import("./a/b", 1, "x"), Import("./a", 2), Import("./a/c", 3, "y")]
    assert imported("JavaScript", *imports) == ["imports [1-3]", "  ./a/b {x} [1]", "  ./a [2]", "  ./a/c {y} [3]"]


def test_the_name_of_a_module_may_have_any_number_of_parts() -> None:
    _, item = imported("Python", Import(".".join(["a"] * 5000), 1))
    assert item.startswith("  a.a.a.")
    assert item.endswith("a. [1]")
    assert len(item) <= MAX_LINE_BYTES


def test_tests_beside_other_things_are_only_counted() -> None:
    definitions = [
        Definition("one", "function", 1, 2, signature="fn one()"),
        Definition("two", "function", 3, 4, signature="fn two()"),
        Definition("tests", "module", 5, 20, flags=TEST),
        Definition("a", "function", 6, 9, parent=2, flags=TEST),
    ]
    facts = Facts("Rust", definitions=definitions)
    assert lines(outline_of_facts(facts)) == [
        "functions [1-4]",
        "  fn one() [1-2]",
        "  fn two() [3-4]",
        "tests (1) [5-20]",
    ]


def test_a_file_of_tests_tells_them() -> None:
    definitions = [Definition(name, "function", 1, 2, flags=TEST) for name in ("a", "b")]
    definitions.append(Definition("helper", "function", 3, 4))
    assert lines(outline_of_facts(Facts("Python", definitions=definitions))) == [
        "functions [1-4]",
        "  a [1-2]",
        "  b [1-2]",
        "  helper [3-4]",
    ]


def test_a_document_is_told_in_its_own_order() -> None:
    definitions = [
        Definition("Parts", "section", 1, 9),
        Definition("One", "section", 3, 5, parent=0),
        Definition("table", "table", 10, 11),
        Definition("More", "section", 12, 13),
    ]
    assert lines(outline_of_facts(Facts("Markdown", definitions=definitions))) == [
        "headings [1-9]",
        "  Parts [1-9]",
        "    One [3-5]",
        "tables [10-11]",
        "  table [10-11]",
        "headings [12-13]",
        "  More [12-13]",
    ]


def test_more_members_than_are_shown() -> None:
    definitions = [Definition("Kind", "enum", 1, 12)]
    definitions += [Definition(f"v{number}", "variant", number, number, parent=0) for number in range(2, 12)]
    told = lines(outline_of_facts(Facts("Rust", definitions=definitions)))
    assert told[1] == "  Kind [1-12]"
    assert told[2:] == [f"    v{number} [{number}]" for number in range(2, 10)] + ["    2 more truncated"]


def test_what_the_parser_could_not_do_is_told() -> None:
    outline = outline_of_facts(Facts("Python", broken=True, cut="nodes"))
    assert (outline.recovered, outline.cut, outline.sections) == (True, True, ())


KINDS = st.sampled_from(["class", "function", "field", "module", "section", "test", "something new"])


@given(st.lists(st.tuples(KINDS, st.integers(-1, 30), st.integers(0, 7)), max_size=40))
def test_any_facts_have_an_outline(parts: list[tuple[str, int, int]]) -> None:
    definitions = [
        Definition(f"d{at}", kind, at + 1, at + 2, parent=min(parent, at - 1), flags=flags)
        for at, (kind, parent, flags) in enumerate(parts)
    ]
    for language in ("Python", "Markdown", "a new one"):
        outline = outline_of_facts(Facts(language, definitions=definitions))
        assert bool(outline.sections) == bool(definitions)
        for section in outline.sections:
            for item in section.items:
                assert section.range[0] <= item.range[0]


def test_things_within_things_without_end() -> None:
    definitions = [Definition(f"C{at}", "class", at + 1, 9000, parent=at - 1) for at in range(3000)]
    assert len(lines(outline_of_facts(Facts("Python", definitions=definitions)))) == 1 + 13

"""What the reading of matches makes of them, whatever the language."""

from __future__ import annotations

import pytest

from remit.code.comments import first_line, is_notice
from remit.code.extract import extract
from remit.code.facts import DECLARED, TEST, Facts
from remit.code.languages import by_name
from remit.code.reading import MAX_NAME
from remit.code.signatures import EXPRESSION, MAX_QUALIFIER, MAX_SIGNATURE, qualifier_name, split_name


def facts_of(language: str, source: str) -> Facts:
    return extract(by_name(language), source.encode())


@pytest.mark.parametrize(
    ("written", "owner", "name"),
    [
        ("run", "", "run"),
        ("a::b::Type::run", "Type", "run"),
        ("Type<T, std::vector<U>>::run", "Type", "run"),
        ("Type::~Type", "Type", "~Type"),
        ("Type::operator==", "Type", "operator=="),
        ("operator()", "", "operator()"),
        ("Type::operator bool() const", "Type", "operator bool"),
        ("swap<int>", "", "swap"),
        ("operators::find", "operators", "find"),
    ],
)
def test_owners_that_are_part_of_a_written_name(written: str, owner: str, name: str) -> None:
    assert split_name(written, "::", "") == (owner, name)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("self", "self"),
        ("a.b", "a.b"),
        ("super()", "super()"),
        ("maybe!", "maybe"),
        ("new Made()", "Made()"),
        ("f(x)", EXPRESSION),
        ("f(x).g()", EXPRESSION),
        ("a +\n b", EXPRESSION),
        ("x" * MAX_QUALIFIER, "x" * MAX_QUALIFIER),
        ("x" * (MAX_QUALIFIER + 1), EXPRESSION),
    ],
)
def test_qualifiers_are_names_or_an_expression(text: str, told: str) -> None:
    source = text.encode()
    assert qualifier_name(b"x" + source + b"x", 1, 1 + len(source)) == told


def test_names_and_signatures_have_an_end() -> None:
    for length in (MAX_NAME, MAX_NAME + 1):
        (defined,) = facts_of("Python", f"def {'n' * length}(): pass\n").definitions
        assert len(defined.name) == MAX_NAME
    (defined,) = facts_of("Python", f"def f({'p' * MAX_SIGNATURE}): pass\n").definitions
    assert len(defined.signature) == MAX_SIGNATURE


def test_what_lies_in_a_test_is_of_the_tests() -> None:
    facts = facts_of("Rust", "#[cfg(test)]\nmod tests {\n    fn made() {}\n}\nfn outside() {}\n")
    assert [(each.name, bool(each.flags & TEST)) for each in facts.definitions] == [
        ("tests", True),
        ("made", True),
        ("outside", False),
    ]


def test_a_receiver_is_self() -> None:
    facts = facts_of("Go", "package p\n\nfunc (s *T) a() { s.b(); s.c.d(); t.e() }\n\nfunc f(s T) { s.b() }\n")
    assert [(each.qualifier, each.name) for each in facts.references if each.kind == "call"] == [
        ("self", "b"),
        ("self.c", "d"),
        ("t", "e"),
        ("s", "b"),
    ]


def test_prototypes_are_declared() -> None:
    facts = facts_of("C", "int a(void);\nint a(void) { return 1; }\n")
    assert [bool(each.flags & DECLARED) for each in facts.definitions] == [True, False]


def test_what_a_function_keeps_for_itself_is_no_definition_and_hides_names() -> None:
    facts = facts_of("C", "int f(int hook) { static int kept = 1; hook(kept); other(1); return kept; }\n")
    assert [each.name for each in facts.definitions] == ["f"]
    assert [each.name for each in facts.references] == ["other"]


def test_names_that_share_a_declaration_stand_side_by_side() -> None:
    facts = facts_of("Java", "class A { static final int B = c(), D = 2; }")
    assert [(each.name, each.parent) for each in facts.definitions] == [("A", -1), ("B", 0), ("D", 0)]


def test_what_a_parser_makes_up_has_no_name() -> None:
    facts = facts_of("Rust", "fn f(a: ) {}\nfn () {}\n")
    assert facts.broken
    assert all(each.name for each in facts.definitions)
    assert all(each.name for each in facts.references)


def test_a_module_alone_is_an_import_where_nothing_is_named() -> None:
    facts = facts_of(
        "JavaScript", "import './a.js'\nimport b from './b.js'\nconst { c } = require('./c')\nrequire('./d')\n"
    )
    assert [(each.module, each.name, each.alias) for each in facts.imports] == [
        ("./a.js", "", ""),
        ("./b.js", "default", "b"),
        ("./c", "c", ""),
        ("./d", "", ""),
    ]


def test_calls_in_macros_are_names_right_before_parentheses() -> None:
    facts = facts_of("Rust", "fn f() { assert!(g(1), h, (2), T::default()); }\n")
    assert [each.name for each in facts.references] == ["assert", "g", "T"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/// <summary>Says it.</summary>", "Says it."),
        ("/**\n * @brief Says it.\n */", "Says it."),
        ("/**\n * @param a what\n * Says it.\n */", "Says it."),
    ],
)
def test_first_lines_say_something(text: str, told: str) -> None:
    assert first_line(text) == told


def test_notices_are_no_documentation() -> None:
    assert is_notice("// Copyright 2024")
    assert is_notice("/* SPDX-License-Identifier: MIT */")
    assert not is_notice("// Writes what was read.")


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("C", "A" * 300_000),
        ("C", "API" * 100_000),
        ("C", "CALL" * 75_000 + " "),
        ("C", "class " + "a" * 300_000 + ";"),
        ("C++", "struct " + "A" * 300_000),
        ("Objective-C", "typedef NS_ENUM(" + "a " * 150_000),
        ("Rust", "use a" + " " * 300_000 + "x;"),
        ("C#", "using a" + " " * 300_000 + ". b;"),
        ("Java", "import a" + " " * 300_000 + "x;"),
        ("JavaScript", "a" + ".b()" * 3_000),
        ("Python", "def f(" + "a, " * 50_000 + "): pass"),
    ],
)
def test_words_and_chains_without_end_are_read_all_the_same(language: str, source: str) -> None:
    assert extract(by_name(language), source.encode(), 20.0).lines == 1


def test_lines_of_a_file_may_end_in_a_carriage_return_alone() -> None:
    facts = extract(
        by_name("Python"), b"import os\r\rdef here():\r    # Where.\r    return name()\r\rdef name(): ...\r"
    )
    assert (facts.lines, facts.broken) == (7, False)
    assert [(each.name, each.start, each.end) for each in facts.definitions] == [("here", 3, 5), ("name", 7, 7)]
    assert [(each.name, each.line) for each in facts.references] == [("name", 5)]


@pytest.mark.parametrize("group", ["const ( A = 1 )", "const (A, B = 1, 2)", 'var (\n\tA = ")"; B = f(2))'])
def test_a_group_of_go_may_close_on_the_line_of_its_last_name(group: str) -> None:
    facts = extract(by_name("Go"), f"package p\n\n{group}\n\nfunc after() {{}}\n".encode())
    assert not facts.broken
    assert [each.name for each in facts.definitions if each.name != "B"] == ["A", "after"]


def test_what_is_given_another_value_is_no_other_variable() -> None:
    facts = facts_of("Python", "x = 1\nx = x + f()\nif x:\n    x = 2\nX, Y = 1, 2\n\ndef x_of(): ...\n")
    assert [(each.name, each.start) for each in facts.definitions] == [("x", 1), ("X", 5), ("Y", 5), ("x_of", 7)]
    declared = facts_of("C", "extern int total;\nint total = 1;\n")
    assert [(each.name, each.start) for each in declared.definitions] == [("total", 1), ("total", 2)]

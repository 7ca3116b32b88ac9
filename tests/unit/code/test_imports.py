"""Imports that are read by their text."""

from __future__ import annotations

import pytest

from remit.code.imports import MAX_NAMES, read_java_import, read_use, read_using


def told(found: list) -> list[tuple[str, str, str]]:
    return [(each.module, each.name, each.alias) for each in found]


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("use a;", [("", "a", "")]),
        ("use a::b;", [("a", "b", "")]),
        ("pub(crate) use crate::a::b as c;", [("crate::a", "b", "c")]),
        (
            "use a::{b, c::{self, d as e}, f::*};",
            [("a", "b", ""), ("a::c", "", ""), ("a::c", "d", "e"), ("a::f", "*", "")],
        ),
        ("use {a::b, c};", [("a", "b", ""), ("", "c", "")]),
        ("use a::{self as b,};", [("a", "", "b")]),
        ("use super::\n    r#type::{\n    };", []),
        ("no import", []),
    ],
)
def test_use_trees_of_rust(text: str, imports: list[tuple[str, str, str]]) -> None:
    assert told(read_use(text, 1)) == imports


def test_a_use_tree_has_an_end() -> None:
    def many(count: int) -> str:
        return f"use a::{{{', '.join(f'b{i}' for i in range(count))}}};"

    assert len(read_use(many(MAX_NAMES), 1)) == MAX_NAMES
    assert len(read_use(many(MAX_NAMES + 1), 1)) == MAX_NAMES
    assert read_use("use a" + "}" * 50 + ";", 1) != []


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("import a.b.C;", [("a.b", "C", "")]),
        ("import a.b.*;", [("a.b", "*", "")]),
        ("import static a.B.c;", [("a.B", "c", "")]),
        ("import a.\n  b.C ;", [("a.b", "C", "")]),
        ("import ;", []),
    ],
)
def test_imports_of_java(text: str, imports: list[tuple[str, str, str]]) -> None:
    assert told(read_java_import(text, 1)) == imports


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("using A.B;", [("A.B", "*", "")]),
        ("global using static A.B;", [("A.B", "*", "")]),
        ("using X = A.B<int, C.D>;", [("A", "B", "X")]),
        ("using ;", []),
    ],
)
def test_using_of_csharp(text: str, imports: list[tuple[str, str, str]]) -> None:
    assert told(read_using(text, 1)) == imports

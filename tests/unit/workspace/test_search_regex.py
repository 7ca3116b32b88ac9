from __future__ import annotations

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.workspace.search_library import compile_lines
from remit.workspace.search_regex import MAX_PATTERN, read_pattern


def refused(pattern: str) -> str:
    with pytest.raises(Failure) as caught:
        read_pattern(pattern)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    return caught.value.message


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("", "is empty"),
        ("a(?=b)", "look-around"),
        ("a(?!b)", "look-around"),
        ("(?<=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "backreference"),
        (r"(?P<n>a)(?P=n)", "backreference"),
        (r"(?P<n>a)\k<n>", "backreference"),
        ("(?>a)", "not supported"),
        ("(?x) a", "not supported"),
        ("(?-m)a", "not supported"),
        ("(?-u)a", "not supported"),
        ("(?)a", "not supported"),
        ("a\nb", "within one line"),
        (r"a\nb", "within one line"),
        (r"\Aa", "line"),
        (r"a\z", "line"),
        (r"\Qa\E", "unknown escape"),
        (r"\é", "unknown escape"),
        ("a\\", "backslash"),
        (r"\x{110000}", "does not exist"),
        (r"\x{d800}", "surrogate"),
        ("a{1001}", "more than 1000"),
        ("a{1,1001}", "more than 1000"),
        ("a{,3}", "{0,n}"),
        ("a**", "repetition"),
        ("a++", "repetition"),
        ("a{2}{3}", "repetition"),
        ("[a", "not closed"),
        ("[]", "not closed"),
        ("[", "not closed"),
        (r"[a-\d]", "range"),
        (r"\b{start}a", "not supported"),
        ("x" * (MAX_PATTERN + 1), "longer"),
        ("\U0001f600" * (MAX_PATTERN // 2) + "x", "longer"),
    ],
)
def test_what_is_not_of_the_dialect(pattern: str, word: str) -> None:
    assert word in refused(pattern)


@pytest.mark.parametrize("pattern", ["x" * MAX_PATTERN, "\U0001f600" * (MAX_PATTERN // 2), "a{1000}", "a{1000,}"])
def test_the_largest(pattern: str) -> None:
    assert read_pattern(pattern).text == pattern


def test_where_a_fault_is() -> None:
    assert "(at character 3)" in refused("ab(?=c)")


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("b", {2}),
        ("^a$", {1, 3}),
        ("a$", {1, 3}),
        (r"^\s*$", {4}),
        (r"\w\W\w", {5, 6}),
        ("[[]", {6}),
        ("[]]", {6}),
        ("[^]a-z\\r]", {5, 6, 7}),
        ("x[0]", set()),
        (r"x\[0\] {", {6}),
        ("{", {6}),
        ("(?i)É", {7}),
        (r"\u00e9", {7}),
        ("[a-c&&b]", {1, 2, 3}),
        (r"[\x{e9}]", {7}),
        (r"\<a\>", {1, 3}),
        (r"[^\W]", {1, 2, 3, 5, 6, 7}),
    ],
)
def test_what_matches(pattern: str, lines: set[int]) -> None:
    data = "a\nb\na\r\n\nx y\nx[0] {\né\n".encode()
    assert set(compile_lines(read_pattern(pattern)).numbers(data)) == lines


@pytest.mark.parametrize(("data", "numbers"), [(b"", []), (b"\n", [1]), (b"\n\n", [1, 2]), (b"a", [1]), (b"a\n", [1])])
def test_which_lines_there_are(data: bytes, numbers: list[int]) -> None:
    assert list(compile_lines(read_pattern("^")).numbers(data)) == numbers


def test_the_library_refuses_in_its_own_words() -> None:
    with pytest.raises(Failure) as caught:
        compile_lines(read_pattern("(a"))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert "missing )" in caught.value.message

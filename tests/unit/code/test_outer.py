"""The outline of a large file, of which not all is looked at, beside what looking at all of it tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.base.outline import Outline
from remit.code.extract import extract
from remit.code.languages import by_name, language_of
from remit.code.outer import MAX_LINE, MIN_BYTES
from remit.code.outline import outline_of_facts

SAMPLES = Path(__file__).parent.parent.parent / "code" / "samples"
LANGUAGES = "Python JavaScript TypeScript TSX C C++ CUDA Go Java Kotlin Scala Swift C# PHP Ruby".split()  # noqa: SIM905
FUNCTION = "def f{0}(value):\n    def inner(): ...\n    return value + {0}\n\n"


def told(language: str, source: bytes) -> Outline:
    return outline_of_facts(extract(by_name(language), source, seconds=30, mentions=False))


def told_in_full(language: str, source: bytes) -> Outline:
    return outline_of_facts(extract(by_name(language), source, seconds=30))


def many(piece: str, size: int = MIN_BYTES) -> str:
    return "".join(piece.format(number) for number in range(2 * size // len(piece)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_samples_one_after_the_other(language: str) -> None:
    files = [file for file in sorted((SAMPLES / language).iterdir()) if language_of(file.name) is not None]
    source = b"\n".join(file.read_bytes() for file in files)
    source *= MIN_BYTES // len(source) + 1
    assert told(language, source) == told_in_full(language, source)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("Python", many("class A{0}:\n    def m(self): ...\n    class B:\n        def n(self):\n            x = 1\n")),
        ("Python", many("if A{0}:\n    class C{0}:\n        if B:\n            def m(self): ...\n        x = 1\n")),
        ("Python", many("def f{0}():\n    import m{0}\n    from n import a, b as c\n    return m{0}\n")),
        ("Python", many("def f{0}():\n    '''Important.'''\n") + "class Z:\n    a = 1\n    def b(self): ...\n"),
        ("Python", "class A:\n" + many("    @p\n    def m{0}(self):\n        def inner(): ...\n\n") + "x = [1]\n"),
        ("Python", many("NAME_{0} = {0}\nother_{0} = [{0}]\n")),
        ("Python", "x = (\n" + many("    1 +\n") + "    2)\ndef f(): ...\n"),
        ("TypeScript", many("export class A{0} {{\n  m() {{ const f = () => 1; return f; }}\n}}\n")),
        ("TypeScript", many("export function f{0}() {{ return import('m{0}'); }}\nexport const g{0} = () => {{}};\n")),
        (
            "C++",
            "namespace a { namespace b {\n" + many("struct S{0} {{ void m() {{ using std::swap; }} }};\n") + "}}\n",
        ),
        ("C", "#ifdef A\n" + many("enum {{ A{0}, B{0} }};\nint f{0}(void)\n{{\n    return 1;\n}}\n") + "#endif\n"),
        ("Go", many("func (r *R) M{0}() {{\n\tf := func() {{}}\n\tf()\n}}\n\ntype T{0} struct {{\n\tA int\n}}\n")),
    ],
)
def test_what_lies_in_what(language: str, source: str) -> None:
    assert told(language, source.encode()) == told_in_full(language, source.encode())


def test_what_lies_in_functions_is_not_looked_at() -> None:
    large, small = many(FUNCTION), many(FUNCTION, MIN_BYTES // 4)
    assert not any(
        each.name == "inner" for each in extract(by_name("Python"), large.encode(), mentions=False).definitions
    )
    assert any(each.name == "inner" for each in extract(by_name("Python"), small.encode(), mentions=False).definitions)


def test_of_long_lines_all_is_looked_at() -> None:
    source = many("def f{0}():\n    def inner(): ...\n    return '" + "x" * 3 * MAX_LINE + "'\n").encode()
    assert any(each.name == "inner" for each in extract(by_name("Python"), source, mentions=False).definitions)

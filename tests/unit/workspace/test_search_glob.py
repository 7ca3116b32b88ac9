from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.workspace.base_names import MAX_TAILS
from remit.workspace.search_glob import MAX_ALTERNATIVES, MAX_PATTERN_BYTES, compile_glob


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("a.py", "src/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/*.py", "x/src/a.py", False),
        ("./src//*.py", "src/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("**/a.py", "a.py", True),
        ("**/b/**/a", "b/a", True),
        ("**/b/**/a", "x/b/y/b/z/a", True),
        ("**/b/**/a", "x/bb/a", False),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("src/", "src/x/y", True),
        ("**", "x/y", True),
        ("*", "x/y", True),
        ("**.py", "x/a.py", True),
        ("?.py", "é.py", True),
        ("?.py", "/.py", False),
        ("??.py", "a.py", False),
        ("*.{py,ts}", "a.ts", True),
        ("{src,lib}/**/{a,b}.py", "lib/x/b.py", True),
        ("{a,{b,c}}.py", "c.py", True),
        ("a{,.py}", "a", True),
        ("a{b}c", "a{b}c", True),
        ("[id].tsx", "app/[id].tsx", True),
        ("[id].tsx", "i.tsx", False),
        ("a*b*c", "axxbxxc", True),
        ("a*b*c", "axxcxxb", False),
        ("*", ".hidden", True),
        ("new\nline", "new\nline", True),
        ("*", "new\nline", True),
        ("A.py", "a.py", False),
    ],
)
def test_what_fits(pattern: str, path: str, fits: bool) -> None:
    compiled = compile_glob(pattern)
    assert compiled.matches(path) is fits
    lead, slash, base = path.rpartition("/")
    assert compiled.among(lead + slash, [base]) == [base][:fits]
    assert compiled.leads_to(lead) or not (lead and fits)


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("", "nothing"),
        ("/", "nothing"),
        (".", "nothing"),
        ("a\0", "nothing"),
        ("/etc/*", "absolute"),
        ("../x", "'..'"),
        ("a/../x", "'..'"),
        ("{a,..}/x", "'..'"),
        ("x" * (MAX_PATTERN_BYTES + 1), "longer"),
        ("{a,b}" * 9, "more than"),
        ("{" + ",".join("a" * 2 for _ in range(MAX_ALTERNATIVES + 1)) + "}", "more than"),
        ("x" * 249 + "{a,b}" * 8, "more than"),
        ("{a," * 9 + "b" + "}" * 9, "deep"),
        ("{a,b", "does not close the `{` at character 1"),
        ("x/{a,{b,c}", "does not close the `{` at character 3"),
        ("a,b}", "closes a `}` at character 4 that is not open"),
        ("[a", "does not close the `[` at character 1"),
        ("a[b].c]", "closes a `]` at character 7 that is not open"),
    ],
)
def test_what_is_refused(pattern: str, word: str) -> None:
    with pytest.raises(Failure) as caught:
        compile_glob(pattern)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert word in caught.value.message


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("{a,b}" * 8, 256),
        ("{" + ",".join(f"a{number}" for number in range(MAX_ALTERNATIVES)) + "}", 256),
        ("{a," * 8 + "b" + "}" * 8, 2),
        ("x" * MAX_PATTERN_BYTES, 1),
        ("x" * 248 + "{a,b}" * 8, 256),
    ],
)
def test_the_largest(pattern: str, number: int) -> None:
    assert len(compile_glob(pattern).alternatives) == number


@pytest.mark.parametrize(
    "pattern",
    ["*.py", "*.{py,ts}", "*.{gz,tar.gz}", "*", "a*", "a.py", "*{y,.py}", "?.py", "{*.py,a*}", "**", "a/*.py"],
)
@pytest.mark.parametrize(
    "bases", [[], ["a.py"], ["a.py", "b.py", "c.ts", "py", ".py"], ["x.tar.gz", "y.gz", "yy", "é.py"]]
)
def test_as_many_as_fit(pattern: str, bases: list[str]) -> None:
    compiled = compile_glob(pattern)
    assert compiled.number("a/", bases) == len(compiled.among("a/", bases))


@pytest.mark.parametrize("number", [MAX_TAILS, MAX_TAILS + 1])
def test_as_many_as_fit_of_many_endings(number: int) -> None:
    endings = ",".join(f"x{each:03}" for each in range(number))
    compiled = compile_glob("*.{" + endings + "}")
    assert bool(compiled.names.tails) == (number <= MAX_TAILS)
    assert compiled.number("", ["a.x000", "b.x003", "c.y"]) == 2


def test_no_pattern_takes_long() -> None:
    began = time.process_time()
    for pattern in ("*a" * 60 + "b", "**/a/" * 60 + "b", "?*" * 100 + "b", "{*a,*b}" * 8 + "c"):
        compiled = compile_glob(pattern)
        assert not compiled.matches("a" * 250 + "/" + "a/" * 1000 + "a")
        assert not compiled.matches("a" * 255)
    assert time.process_time() - began < 2


@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "**", "a*"]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=4),
)
def test_against_a_plain_reading(parts: list[str], path: list[str]) -> None:
    def fits(pattern: list[str], names: list[str]) -> bool:
        if not pattern:
            return not names
        if pattern == ["**"]:
            return bool(names)
        if pattern[0] == "**":
            return any(fits(pattern[1:], names[skip:]) for skip in range(len(names) + 1))
        return bool(names) and within(pattern[0], names[0]) and fits(pattern[1:], names[1:])

    def within(pattern: str, name: str) -> bool:
        if not pattern:
            return not name
        if pattern[0] == "*":
            return any(within(pattern[1:], name[skip:]) for skip in range(len(name) + 1))
        return bool(name) and pattern[0] in ("?", name[0]) and within(pattern[1:], name[1:])

    expected = fits(parts, path) or (len(parts) == 1 and fits(parts, path[-1:]))
    compiled = compile_glob("/".join(parts))
    assert compiled.matches("/".join(path)) is expected
    if expected:
        assert all(compiled.leads_to("/".join(path[:depth])) for depth in range(1, len(path)))


@pytest.mark.parametrize(
    ("pattern", "folder", "leads"),
    [
        ("src/**/*.py", "src", True),
        ("src/**/*.py", "src/deep", True),
        ("src/**/*.py", "lib", False),
        ("src/**/*.py", "srcs", False),
        ("src/a/*.py", "src/b", False),
        ("src/a*/b.py", "src/b", True),
        ("{src,lib}/*.py", "lib", True),
        ("{src/,}*.py", "docs", True),
        ("a.py", "docs", True),
    ],
)
def test_directories_that_lead_nowhere(pattern: str, folder: str, leads: bool) -> None:
    assert compile_glob(pattern).leads_to(folder) is leads


@given(st.text(alphabet="ab*?{},/.[]", max_size=20), st.text(alphabet="ab./", min_size=1, max_size=12))
def test_base_names_fit_their_last_parts(pattern: str, path: str) -> None:
    try:
        compiled = compile_glob(pattern)
    except Failure:
        return
    if compiled.matches(path) and compiled.last_parts is not None:
        base = path.rpartition("/")[2]
        spelled = [".*".join(map(re.escape, part.split("*"))) for part in compiled.last_parts]
        assert any(re.fullmatch(part, base, re.DOTALL) for part in spelled)

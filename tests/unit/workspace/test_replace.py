from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.workspace.difference import compare
from remit.workspace.newlines import unify
from remit.workspace.replace import Replaced, replace

TEXT = st.text(alphabet="ab\n", max_size=30)


def edit(text: str, old: str, new: str, everywhere: bool = False) -> str:
    return replace(unify(text), old, new, "f", everywhere=everywhere).text


def refusal(text: str, old: str, new: str = "new", everywhere: bool = False) -> Failure:
    with pytest.raises(Failure) as caught:
        replace(unify(text), old, new, "f.py", everywhere=everywhere)
    return caught.value


@given(TEXT, st.text(alphabet="ab\n", min_size=1, max_size=3), st.text(alphabet="abc\n", max_size=3))
def test_everywhere_is_what_str_replace_does(text: str, old: str, new: str) -> None:
    assume(old in text and old != new)
    done = replace(unify(text), old, new, "f", everywhere=True)
    assert done.text == done.unified == text.replace(old, new)
    assert done.times == text.count(old)
    check_regions(text, done)


@given(TEXT, st.data())
def test_once_is_what_str_replace_does(text: str, data: st.DataObject) -> None:
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    new = data.draw(st.text(alphabet="xy\n", max_size=3))
    assume(new != old and text.find(old) == text.rfind(old))
    done = replace(unify(text), old, new, "f")
    assert done.text == text.replace(old, new)
    check_regions(text, done)


def check_regions(text: str, done: Replaced) -> None:
    """The regions are what differs, so the diff made of them is that of the whole texts."""
    told = compare(text, done.unified, "f", done.regions)
    assert told == compare(text, done.unified, "f", [*done.regions])
    whole = compare(text, done.unified, "f")
    assert told.additions - told.deletions == whole.additions - whole.deletions
    old, new = text, done.unified
    for a, b, c, d in reversed(done.regions):
        assert old[b:] == new[d:]
        assert a == 0 or text[a - 1] == "\n"
        old, new = old[:a], new[:c]
    assert old == new


@given(st.text(alphabet="ab\r\n", max_size=20), st.sampled_from(["a", "b", "ab"]), st.sampled_from(["", "xy"]))
def test_line_ends_stay(text: str, old: str, new: str) -> None:
    assume(old in unify(text).text)
    assert edit(text, old, new, everywhere=True) == text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x\r\ny\nz", "x\r\ny\r\nz\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\rb\r", "a\nb", "x\ny\nz", "x\ry\rz\r"),
        ("a\nb", "b", "b\n", "a\nb\n"),
        ("a\n", "\n", "", "a"),
        ("\udcffa", "a", "b", "\udcffb"),
    ],
)
def test_line_ends_fit(text: str, old: str, new: str, result: str) -> None:
    assert edit(text, old, new) == result


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("a", "a"), ("a\r\nb", "a\nb")])
def test_what_makes_no_sense(old: str, new: str) -> None:
    assert refusal("a\nb\n", old, new).code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("text", "old", "lines"),
    [
        ("a\nb\na\n", "a", "2 times in 'f.py', at lines 1, 3;"),
        # Overlapping ones count: which of them is meant cannot be told.
        ("aaa", "aa", "2 times in 'f.py', at lines 1, 1;"),
        ("x\n" * 12, "x", "12 times in 'f.py', at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more;"),
    ],
)
def test_several_matches(text: str, old: str, lines: str) -> None:
    failure = refusal(text, old)
    assert failure.code is ErrorCode.TEXT_AMBIGUOUS
    assert lines in failure.message


FILE = "import os\n\ndef main():\n\treturn os.getcwd()\n\nprint('done')  # end\n"


@pytest.mark.parametrize(
    ("text", "old", "told"),
    [
        (
            "a\u00a0b = 1\n",
            "a b = 1",
            "line 1; the first difference is at its character 2: the file has U+00A0 (no-break",
        ),
        (
            FILE,
            "def main():\n    return os.getcwd()",
            "line 4; the first difference is at its character 1: the file has U+0009",
        ),
        (
            FILE,
            "print(\u2018done\u2019)",
            'line 6; the first difference is at its character 7: the file has U+0027 "\'"',
        ),
        (FILE, "def main() :", "line 3; the first difference is at its character 11: the file has U+003A ':'"),
        (FILE, "def main():\n\n", "line 4; the first difference is at its character 1: the file has U+0009 (tab)"),
        (FILE, "print('done')  # end\nmore", "nearest text is at line 7; the first difference is at its character 1"),
        (FILE, "print('done')  # end of it", "the file has the end of the line, oldString has U+0020 (space)"),
        (FILE, "IMPORT OS", "line 1; the first difference is at its character 1: the file has U+0069 'i'"),
        (
            "caf\udce9 au lait\n",
            "caf\u00e9 au lait",
            "the file has the byte 0xE9, which is no text, oldString has U+00E9",
        ),
        ("a = 1\rb = 2\n", "a = 1\nb = 2", "the file has U+000D (carriage return)"),
        ("résumé of it\n", "re\u0301sume\u0301 of it", "the file has U+00E9 'é'"),
    ],
)
def test_a_missing_text_is_told_by_its_nearest_place(text: str, old: str, told: str) -> None:
    failure = refusal(text, old)
    assert failure.code is ErrorCode.TEXT_NOT_FOUND
    assert failure.message.startswith("oldString is not in 'f.py'; nothing was changed.")
    assert told in failure.message, failure.message


@pytest.mark.parametrize("old", ["zzzzzz", " ", "\n\n\n", "q"])
def test_a_text_like_none_of_the_file(old: str) -> None:
    assert "No line of the file is like it" in refusal(FILE.replace(" ", "_").replace("\n\n", "\n"), old).message


@given(TEXT, st.text(alphabet="ab\u00a0\t\n", min_size=1, max_size=6))
def test_something_is_always_told(text: str, old: str) -> None:
    assume(old not in text)
    failure = refusal(text, old)
    assert failure.code is ErrorCode.TEXT_NOT_FOUND
    assert "\n" not in failure.message


@pytest.mark.heavy
def test_the_nearest_place_of_a_large_file_takes_no_time_to_speak_of() -> None:
    text = "".join(f"    value_{n} = compute({n}, 'some words')\n" for n in range(110_000))
    began = time.process_time()
    assert "line 90001;" in refusal(text, "    value_90000 = compute(90000, 'some  words')").message
    assert time.process_time() - began < 5

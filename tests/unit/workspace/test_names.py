from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.workspace.names import (
    MAX_PART_BYTES,
    MAX_PATH_BYTES,
    below,
    device_refused,
    is_clean,
    is_device,
    join,
    normalise,
)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("", "."),
        (".", "."),
        ("./", "."),
        ("././.", "."),
        ("a.txt", "a.txt"),
        ("./a.txt", "a.txt"),
        ("docs//b.txt", "docs/b.txt"),
        ("docs/./b.txt", "docs/b.txt"),
        ("docs/", "docs"),
        ("a..b.txt", "a..b.txt"),
        ("...", "..."),
        ("..a", "..a"),
        ("~/x", "~/x"),
        ("with blank .txt", "with blank .txt"),
        ("console.log", "console.log"),
        ("com.txt", "com.txt"),
        ("com0", "com0"),
        ("com10.txt", "com10.txt"),
        ("null", "null"),
        ("auxiliary/con-fig", "auxiliary/con-fig"),
        ("10:30 notes.txt", "10:30 notes.txt"),
        ("caf\u00e9", "caf\u00e9"),
        ("cafe\u0301", "cafe\u0301"),
        ("😀.txt", "😀.txt"),
        ("x" * MAX_PART_BYTES, "x" * MAX_PART_BYTES),
        ("é" * 127 + "x", "é" * 127 + "x"),
    ],
)
def test_accepted(spelled: str, name: str) -> None:
    assert normalise(spelled) == name


@pytest.mark.parametrize(
    ("spelled", "why"),
    [
        ("/", "is absolute"),
        ("/etc/passwd", "is absolute"),
        ("//host/share", "is absolute"),
        ("..", "contains '..'"),
        ("../x", "contains '..'"),
        ("docs/../a.txt", "contains '..'"),
        ("docs/..", "contains '..'"),
        ("./../x", "contains '..'"),
        ("C:", "drive letter 'C:'"),
        ("c:/x", "drive letter 'c:'"),
        ("docs/D:x", "drive letter 'D:'"),
        ("a\0b", "NUL byte at character 1"),
        ("\0", "NUL byte at character 0"),
        ("docs\\b.txt", "backslash; write '/'"),
        ("\\\\host\\share", "backslash"),
        ("..\\x", "backslash"),
        ("a\nb", "control character U+000A at character 1"),
        ("a\tb", "control character U+0009"),
        ("\x1b[31m", "control character U+001B at character 0"),
        ("a\x7f", "control character U+007F"),
        ("a\x9b", "control character U+009B"),
        ("\ud83d.txt", "lone surrogate at character 0"),
        ("a\udce9", "lone surrogate at character 1"),
        ("x" * (MAX_PART_BYTES + 1), "longer than 255 bytes"),
        ("é" * 128, "longer than 255 bytes"),
    ],
)
def test_refused(spelled: str, why: str) -> None:
    with pytest.raises(Failure) as caught:
        normalise(spelled)
    assert caught.value.code is ErrorCode.PATH_REFUSED
    assert why in caught.value.message
    assert "relative to the workspace" in caught.value.message
    caught.value.message.encode()


@pytest.mark.parametrize(
    "name",
    [
        "CON",
        "con",
        "docs/nul.txt",
        "aux/x.txt",
        "PRN .txt",
        "nul:stream",
        "com1",
        "COM9.tar.gz",
        "lpt1.txt",
        "LPT9",
        "com\u00b9",
        "CONOUT$",
    ],
)
def test_devices(name: str) -> None:
    assert normalise(name) == name
    assert is_device(name)
    assert device_refused(name).code is ErrorCode.PATH_REFUSED


@pytest.mark.parametrize("name", ["console.md", "com10.md", "nul1.txt", "docs/auxiliary.c", "x.nul"])
def test_no_devices(name: str) -> None:
    assert not is_device(name)


def test_the_longest_path_passes_and_one_byte_more_is_refused() -> None:
    longest = "/".join(["x" * 255] * 15 + ["x" * 255])
    assert len(longest) == MAX_PATH_BYTES
    assert normalise(longest) == longest
    with pytest.raises(Failure, match="longer than 4095 bytes"):
        normalise(longest[:-1] + "/x")


@given(st.text(alphabet=st.sampled_from("ab./\\:~ \0\n\ud800é") | st.characters(), max_size=40))
def test_what_passes_is_a_plain_name_below_the_workspace(spelled: str) -> None:
    try:
        name = normalise(spelled)
    except Failure as failure:
        assert failure.code is ErrorCode.PATH_REFUSED
        return
    assert normalise(name) == name
    name.encode()
    assert not name.startswith("/")
    assert "\\" not in name
    if name != ".":
        assert is_clean(name)
        assert all(part not in ("", ".", "..") for part in name.split("/"))
    assert not any(unicodedata.category(letter) == "Cc" for letter in name)


@given(st.lists(st.text(alphabet="abcé. ", min_size=1, max_size=8), min_size=1, max_size=6))
def test_slashes_and_dots_change_nothing(parts: list[str]) -> None:
    if any(part in (".", "..") for part in parts):
        return
    assert normalise("/".join(parts)) == "/".join(parts) == normalise("./" + "//".join(parts) + "/./")


@pytest.mark.parametrize(
    ("name", "clean"),
    [("a", True), ("a/b\\c\n", True), ("", False), (".", False), ("a/../b", False), ("/a", False), ("a\0", False)],
)
def test_clean(name: str, clean: bool) -> None:
    assert is_clean(name) is clean


@pytest.mark.parametrize(
    ("folder", "name", "inside"),
    [(".", "a", True), ("a", "a", True), ("a", "a/b", True), ("a", "ab", False), ("a/b", "a", False)],
)
def test_below(folder: str, name: str, inside: bool) -> None:
    assert below(folder, name) is inside


def test_join() -> None:
    assert join(".", "a") == "a"
    assert join("a/b", "c") == "a/b/c"

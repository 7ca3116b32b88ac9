from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.pages import json_bytes, page_end

AWKWARD = st.text(
    alphabet=st.sampled_from('a\n\r"\\\x01é€😀\u0301\u200d👩🏽') | st.characters(codec="utf-8"), max_size=300
)


def pages(text: str, limit: int, room: int) -> list[str]:
    cut, start = [], 0
    while start < len(text):
        end = page_end(text, start, limit, room)
        assert start < end <= len(text)
        cut.append(text[start:end])
        start = end
    return cut


@given(AWKWARD, st.integers(1, 400), st.integers(6, 400))
def test_pages_cover_every_character_once_and_fit(text: str, limit: int, room: int) -> None:
    cut = pages(text, limit, room)
    assert "".join(cut) == text
    for page in cut:
        assert len(page) <= limit
        assert json_bytes(page) - 2 <= room


def test_the_whole_text_in_one_page() -> None:
    assert pages("abc", 3, 3) == ["abc"]
    assert pages("abc", 100, 100) == ["abc"]
    assert pages("", 1, 1) == []


@pytest.mark.parametrize(
    ("text", "room", "first"),
    [
        ("a" * 10, 9, "a" * 9),
        ("\x01" * 10, 12, "\x01" * 2),
        ("\x01" * 10, 17, "\x01" * 2),
        ('"' * 10, 9, '"' * 4),
        ("€" * 10, 8, "€€"),
        ("😀" * 10, 11, "😀😀"),
    ],
)
def test_escapes_and_bytes_are_counted(text: str, room: int, first: str) -> None:
    assert pages(text, 100, room)[0] == first


@pytest.mark.parametrize(
    ("text", "room", "first"),
    [
        ("aaaaaa\nbbbbbb", 12, "aaaaaa\n"),
        ("a\nbbbbbbbbbbbbbbb", 12, "a\nbbbbbbbbb"),
        ("aaaaaaaaaa\r\nbb", 12, "aaaaaaaaaa"),
        ("aaaa\r\nbbbbbbbbbb", 10, "aaaa\r\n"),
    ],
)
def test_pages_end_at_line_ends_where_they_can(text: str, room: int, first: str) -> None:
    assert pages(text, 100, room)[0] == first


def test_a_limit_is_kept_to_the_character() -> None:
    assert pages("ab\ncdef", 5, 100) == ["ab\ncd", "ef"]


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("ae\u0301b", 2, ["a", "e\u0301", "b"]),
        ("a\r\nb", 2, ["a", "\r\n", "b"]),
        ("\r\n", 1, ["\r", "\n"]),
        ("e\u0301\u0301\u0301", 2, ["e\u0301", "\u0301\u0301"]),
        ("a👩🏽b", 2, ["a", "👩🏽", "b"]),
    ],
)
def test_composed_characters_stay_whole_unless_they_fill_the_page(text: str, limit: int, cut: list[str]) -> None:
    assert pages(text, limit, 100) == cut

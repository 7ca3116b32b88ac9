from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.clipping import NOTICE_BYTES, again, gap, joined, line_count, told

LONGEST = "output-" + "x" * 32 + "-99999999"
PLACE = re.compile(r"lines (\d+)-(\d+) of (\d+), (\d+) bytes, left out here; read on with tool_output (\{.*?\}), or")


def clipped(text: str, max_bytes: int, max_lines: int, handle: str = LONGEST) -> str:
    left_out = gap(text, max_bytes, max_lines)
    return text if left_out is None else joined(text, left_out, told(text, left_out, handle))


def hint(shown: str) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The figures of a notice, and the call it names."""
    found = PLACE.search(shown)
    assert found is not None
    return tuple(map(int, found.groups()[:4])), json.loads(found[5])


CHARACTERS = st.sampled_from(["a", "b", "\n", "\r", "é", "\u0301", "👍", "🏽", "\u200d", "\t"])
TEXTS = st.one_of(
    st.lists(CHARACTERS, max_size=3000).map("".join),
    st.lists(st.sampled_from(["", "short", "x" * 70, "ü" * 300, "👨\u200d👩\u200d👧" * 9]), max_size=400).map(
        "\n".join
    ),
)


@given(TEXTS, st.integers(NOTICE_BYTES + 30, 3000), st.integers(2, 300), st.booleans())
def test_head_and_tail_of_the_text_in_whole_characters_within_the_bounds(
    text: str, max_bytes: int, max_lines: int, kept: bool
) -> None:
    left_out = gap(text, max_bytes, max_lines)
    fits = len(text.encode()) <= max_bytes and line_count(text) <= max_lines
    assert (left_out is None) is fits
    if left_out is None:
        return
    start, end = left_out
    notice = told(text, left_out, LONGEST if kept else "")
    shown = joined(text, left_out, notice)
    assert 0 <= start < end <= len(text)
    assert len(shown.encode()) <= max_bytes and line_count(shown) <= max_lines
    assert shown.startswith(text[:start]) and shown.endswith(text[end:])
    assert shown.count(notice) == 1 and "\n" not in notice
    for cut in {start, end} - {0, len(text)}:
        assert text[cut] not in "\u0301\u200d🏽" or cut == start == 0


@given(TEXTS, st.integers(NOTICE_BYTES + 30, 3000), st.integers(2, 300))
def test_the_notice_names_the_place_where_the_gap_begins(text: str, max_bytes: int, max_lines: int) -> None:
    left_out = gap(text, max_bytes, max_lines)
    if left_out is None:
        return
    (first, last, total, size), call = hint(told(text, left_out, LONGEST))
    lines = text.split("\n")
    before = "\n".join([*lines[: first - 1], ""]).encode() + lines[first - 1].encode()[: call.get("byte_offset", 0)]
    assert before == text[: left_out.start].encode()
    assert (call["output_id"], call["offset"]) == (LONGEST, first)
    assert (total, size) == (line_count(text), len(text[left_out.start : left_out.end].encode()))
    assert first <= last <= max(first, total)


@pytest.mark.parametrize(("lines", "cut"), [(2000, False), (2001, True)])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_the_bound_of_lines_is_exact(lines: int, cut: bool, ending: str) -> None:
    text = "\n".join(map(str, range(1, lines + 1))) + ending
    assert (gap(text, 51_200, 2000) is not None) is cut


@pytest.mark.parametrize(("size", "cut"), [(51_200, False), (51_201, True)])
@pytest.mark.parametrize("character", ["x", "é"])
def test_the_bound_of_bytes_is_exact(size: int, cut: bool, character: str) -> None:
    text = character * (size // len(character.encode())) + "x" * (size % len(character.encode()))
    assert len(text.encode()) == size
    assert (gap(text, 51_200, 2000) is not None) is cut


def test_lines_stay_whole_where_they_are_not_too_long() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 5001))
    shown = clipped(text, 10_000, 2000, "output-seq")
    lines = shown.splitlines()
    [at] = [index for index, line in enumerate(lines) if line.startswith("[...")]
    (first, last, total, _), call = hint(shown)
    assert lines[at - 1] == f"line {first - 1}" and lines[at + 1] == f"line {last + 1}"
    assert lines[-1] == "line 5000" and total == 5000
    assert call == {"output_id": "output-seq", "offset": first}
    assert 0.55 < at / len(lines) < 0.75


def test_one_long_line_is_cut_in_whole_characters_and_read_on_by_bytes() -> None:
    text = "é" * 50_000
    shown = clipped(text, 10_000, 2000, "output-cat")
    first, notice, last = shown.split("\n")
    assert set(first) == set(last) == {"é"}
    assert hint(notice)[1] == {"output_id": "output-cat", "offset": 1, "byte_offset": len(first.encode())}
    assert len(shown.encode()) > 9_600


def test_what_is_not_kept_is_said_to_be_left_out() -> None:
    shown = clipped("a\n" * 3000, 51_200, 2000, "")
    assert "\n[... lines 1333-2334 of 3000, 2004 bytes, left out here ...]\n" in shown


def test_within_the_room_of_the_notice_nothing_else_is_left() -> None:
    assert clipped("x" * 1000, 100, 10, "").strip() == "[... lines 1-1 of 1, 1000 bytes, left out here ...]"


@given(TEXTS, st.integers(300, 3000), st.sampled_from([(), ("output-ls",), ("output-ls", "output-seq-2")]))
def test_what_is_cut_again_keeps_within_its_bound(text: str, max_bytes: int, handles: tuple[str, ...]) -> None:
    shown = again(text, max_bytes, handles)
    assert len(shown.encode()) <= max_bytes
    if len(text.encode()) <= max_bytes:
        assert shown == text
        return
    found = re.search(r"\n\[\.\.\. (\d+) bytes left out(.*) \.\.\.\]\n", shown)
    assert found is not None
    first, last = shown[: found.start()], shown[found.end() :]
    assert text.startswith(first) and text.endswith(last)
    assert int(found[1]) == len(text.encode()) - len(first.encode()) - len(last.encode())
    assert all(handle in found[2] for handle in handles)

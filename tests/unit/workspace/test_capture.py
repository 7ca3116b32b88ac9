"""What is drawn of a long stream: the same start and end as of one that is drawn whole."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.terminal_streams import STREAMS, chunked
from remit.workspace.capture import BLOCK_BYTES, Capture
from remit.workspace.scrollback import COUNTED_BYTES
from remit.workspace.terminal import REACH, Rendered, Screen

LINE = b"\x1b[32mPASS\x1b[0m src/store/part_%06d.py: a line of text in colour\n"
BAR = b"\r%s%06d of 999999 [=========>         ]"


def captured(*chunks: bytes, max_bytes: int, reach: int = REACH, whole: int = 0, block: int = BLOCK_BYTES) -> Rendered:
    capture = Capture(max_bytes, reach=reach, whole=whole, block_bytes=block)
    for chunk in chunks:
        capture.feed(chunk)
    return capture.finish()


def drawn(stream: bytes, max_bytes: int, reach: int = REACH) -> Rendered:
    screen = Screen(max_bytes, reach)
    screen.feed(stream)
    return screen.finish()


def without_amounts(text: str) -> str:
    """Text in which the notice of what is left out says no amount, which counts colours where they were not drawn."""
    return re.sub(r"\[\.\.\. [\d a-z,]+ left out \.\.\.\]", "[... left out ...]", text)


@settings(max_examples=150, deadline=None)
@given(STREAMS, st.sampled_from([30, 500, 1 << 20]), st.sampled_from([40, REACH]), st.integers(1, 300))
def test_a_stream_within_the_limit_is_drawn_whole(stream: bytes, most: int, reach: int, block: int) -> None:
    seen = captured(stream, max_bytes=most, reach=reach, whole=len(stream), block=block)
    assert seen == drawn(stream, most, reach)


@settings(max_examples=200, deadline=None)
@given(
    STREAMS,
    st.lists(st.integers(1, 400), min_size=1, max_size=20),
    st.sampled_from([30, 500]),
    st.sampled_from([40, 200]),
    st.integers(1, 300),
)
def test_any_chunks_of_a_longer_stream_show_the_same(
    stream: bytes, sizes: list[int], most: int, reach: int, block: int
) -> None:
    once = captured(stream, max_bytes=most, reach=reach, block=block)
    assert captured(*chunked(stream, sizes), max_bytes=most, reach=reach, block=block) == once
    assert once.total_bytes == len(stream)
    assert not set(once.text) & set("\x00\r\b\x1b\x07\x7f")
    assert len(once.text.encode()) <= most + 80


WORDS = st.text("ab9 /.[];m\u00e9\u4e16", max_size=30).map(str.encode)
PLAIN_LINES = st.lists(WORDS, min_size=1, max_size=30).map(lambda words: b"\n".join(words) + b"\n")
CRLF_LINES = PLAIN_LINES.map(lambda lines: lines.replace(b"\n", b"\r\n"))
COLOURED_LINES = st.builds(
    lambda words, colour: b"".join(b"%s: \x1b[%smin colour\x1b[0m, a text\x1b[K\n" % (word, colour) for word in words),
    st.lists(WORDS, min_size=1, max_size=30),
    st.sampled_from([b"32", b"1;31", b"38;5;12", b""]),
)
BARS = st.builds(
    lambda start, count, end: b"".join(b"%s%03d%% [===>  ]" % (start, part) for part in range(count)) + end,
    st.sampled_from([b"\r", b"\r\x1b[K", b"\r\x1b[2K\x1b[36m"]),
    st.integers(1, 60),
    st.sampled_from([b"\n", b"\r\n", b"\r\x1b[K", b"\x1b[m\n"]),
)
ORDINARY = st.lists(
    st.tuples(st.one_of(PLAIN_LINES, CRLF_LINES, COLOURED_LINES, BARS), st.sampled_from([1, 1, 3, 20])).map(
        lambda repeated: repeated[0] * repeated[1]
    ),
    max_size=12,
).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(ORDINARY, st.sampled_from([60, 500, 3000]), st.sampled_from([40, 200]), st.integers(64, 2000))
def test_of_lines_colours_and_bars_the_start_and_the_end_are_as_drawn(
    stream: bytes, most: int, reach: int, block: int
) -> None:
    seen = captured(stream, max_bytes=most, reach=reach, block=block)
    assert without_amounts(seen.text) == without_amounts(drawn(stream, most, reach).text)


@pytest.mark.parametrize(
    "end", [b"\r|\x1b[Ktext", b"\r|text", b"\r\x1b[|Ktext", b"\r\x1b|[Ktext\n", b"\x1b[A|\x1b[Jx", b"\r|\nx"]
)
@pytest.mark.parametrize("before", [b"", b"\rframe 2"])
def test_what_turns_back_is_seen_across_the_border_of_two_blocks(before: bytes, end: bytes) -> None:
    first, _, second = end.partition(b"|")
    lines = b"a line\n" * 100 + b"a longer line" + before + first
    lines = b"x" * (-len(lines) % 256) + lines
    seen = captured(lines + second, max_bytes=60, reach=40, block=256)
    assert without_amounts(seen.text) == without_amounts(drawn(lines + second, 60, 40).text)


def test_line_ends_of_two_bytes_are_no_text() -> None:
    stream = b"\r\n" * 200_000
    assert without_amounts(captured(stream, max_bytes=90_000, whole=0).text) == without_amounts(
        drawn(stream, 90_000).text
    )


@pytest.mark.parametrize("start", [b"", b"\x1b[K", b"\x1b[2K\x1b[36m"])
def test_the_frames_of_a_bar_are_skimmed_and_what_was_printed_before_it_stays(start: bytes) -> None:
    before = b"".join(b"line %d\n" % number for number in range(50_000))
    bar = b"".join(BAR % (start, number) for number in range(60_000))
    stream = before + bar + b"\ndone\n"
    seen = captured(stream, max_bytes=COUNTED_BYTES)
    assert seen.text == before.decode() + "059999 of 999999 [=========>         ]\ndone\n"
    assert (seen.left_out_bytes, seen.total_bytes) == (0, len(stream))
    assert 0 < seen.frames < 30_000
    assert len(bar) // 2 < seen.skimmed < len(bar)


def test_a_bar_is_counted_up_to_the_limit() -> None:
    bar = b"".join(BAR % (b"", number) for number in range(5000))
    seen = captured(bar, max_bytes=1000, whole=len(bar))
    assert (seen.frames, seen.skimmed) == (4999, 0)


@pytest.mark.parametrize("most", [24 * 1024, COUNTED_BYTES - 256])
def test_of_20_mb_in_colour_the_first_and_the_last_lines_are_kept(most: int) -> None:
    stream = b"".join(LINE % number for number in range(300_000))
    seen = captured(*chunked(stream, [65_536]), max_bytes=most)
    whole = drawn(stream, most)
    assert without_amounts(seen.text) == without_amounts(whole.text)
    assert seen.lines is whole.lines is None
    assert whole.left_out_bytes < seen.left_out_bytes < len(stream)
    assert f"\n[... {seen.left_out_bytes} bytes left out ...]\n" in seen.text


def test_lines_that_are_colours_for_the_most_part_leave_whole_lines() -> None:
    stream = b"".join(b"\x1b[38;2;255;255;255m" * 20 + b"%06d\n" % number for number in range(20_000))
    seen = captured(stream, max_bytes=30_000)
    first, last = seen.text.split(f"[... {seen.left_out_bytes} bytes left out ...]\n")
    assert first.startswith("000000\n000001\n")
    assert re.fullmatch(r"(?:\d{6}\n)+", last)
    assert last.endswith("019999\n")


def test_a_line_without_end_is_cut_between_characters() -> None:
    seen = captured("\u4e16".encode() * 400_000, max_bytes=100)
    first, notice, last = seen.text.split("\n")
    assert (first, last) == ("\u4e16" * 22, "\u4e16" * 11)
    assert notice == f"[... {1_200_000 - 33 * 3} bytes left out ...]"
    assert seen.undecodable == 0


def test_what_moves_the_cursor_is_drawn_to_the_end() -> None:
    """Two rows, each drawn anew by way of the other, as several downloads at once are shown."""
    up = b"\x1b[A\x1b[2K\r"
    stream = b"first\n" + b"a: start\nb: start\n"
    stream += b"".join(up + up + b"a: %06d\nb: %06d\n" % (number, number) for number in range(60_000))
    seen = captured(stream, max_bytes=COUNTED_BYTES)
    assert len(stream) > COUNTED_BYTES
    assert seen.text == "first\na: 059999\nb: 059999\n"
    assert seen.skimmed == 0


def test_what_was_drawn_on_the_alternate_screen_is_not_shown_however_long() -> None:
    hidden = b"hidden\n" * 300_000
    seen = captured(b"before\n\x1b[?1049h" + hidden + b"\x1b[?1049l" + b"after\n", max_bytes=2000)
    assert seen.text == "before\nafter\n"
    assert seen.hidden == len(hidden)


@pytest.mark.parametrize(
    "chunk",
    [
        b"x" * 65_536,
        b"line of text\n" * 5000,
        b"\x1b[31mred\x1b[m\n" * 5000,
        b"\r 12%" * 10_000,
        b"\r 12%\n" * 10_000,
        b"\xff" * 65_536,
        b"\x1b[9A\x1b[Jnew\n\n\n" * 500,
    ],
)
def test_memory_is_bounded(chunk: bytes) -> None:
    capture = Capture(64_000, whole=64_000)
    tracemalloc.start()
    for _ in range(60):
        capture.feed(chunk)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_500_000
    assert len(capture.finish().text.encode()) <= 64_100

"""A stream of bytes as a terminal would show it, in bounded memory, however it comes in chunks."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fakes.terminal_streams import STREAMS, chunked
from remit.workspace.rows import WIDTH, cells_of, is_narrow, width
from remit.workspace.scrollback import COUNTED_BYTES
from remit.workspace.terminal import REACH, Rendered, Screen

PLENTY = 1 << 20


def shown(*chunks: bytes, max_bytes: int = PLENTY, reach: int = REACH) -> Rendered:
    screen = Screen(max_bytes, reach)
    for chunk in chunks:
        screen.feed(chunk)
    return screen.finish()


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (b"", ""),
        (b"plain\ntext\n", "plain\ntext\n"),
        (b"no end of line", "no end of line"),
        (b"\n\nblank\n\n", "\n\nblank\n\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"one\r\r\ntwo", "one\ntwo"),
        (b"10%\r20%\r100%\n", "100%\n"),
        (b"a long row\rshort\n", "shortg row\n"),
        (b"a long row\r\x1b[Kshort\n", "short\n"),
        (b"a long row\x1b[2K\rshort\n", "short\n"),
        (b"one\x1b[K\n\x1b[32mtwo\x1b[m\x1b[0K\nthree\x1b[0J\n", "one\ntwo\nthree\n"),
        (b"10%\r\x1b[K20%\r\x1b[2Kall done\r\x1b[Kok\n", "ok\n"),
        (b"a long row\rshort\r\x1b[Kab\rc", "cb"),
        ("\u4e16\u754c\r\x1b[Kab\r\x1b[2K\u4e16\n".encode(), "\u4e16\n"),
        (b"abc\x1b[1Kd", "   d"),
        (b"abcdef\x1b[3D\x1b[1Kx", "   xef"),
        (b"abc\b\bX", "aXc"),
        (b"\b\bX", "X"),
        (b"|\b/\b-\b\\\bdone\n", "done\n"),
        (b"abc\x1b[GX", "Xbc"),
        (b"abc\x1b[2GX", "aXc"),
        (b"abc\x1b[2DX\x1b[CY", "aXcY"),
        (b"abc\x1b[3CX", "abc   X"),
        (b"one\ntwo\n\x1b[2AONE\n\x1b[BX", "ONE\ntwo\nX"),
        (b"one\ntwo\n\x1b[A\x1b[2Kthree\n", "one\nthree\n"),
        (b"one\ntwo\nthree\n\x1b[2A\x1b[J", "one\n"),
        (b"one\ntwo\x1b[99Aone and\x1b[99B again", "oneone and\ntwo        again"),
        (b"one\ntwo\x1b[F1\x1b[E2", "1ne\n2wo"),
        (b"\x1b[31mred\x1b[0m \x1b[1;38;5;12mblue\x1b[m\n", "red blue\n"),
        (b"\x1b]0;title\x07text \x1b]8;;http://h/\x1b\\link\x1b]8;;\x1b\\\n", "text link\n"),
        (b"\x1bPpicture\x1b\\after", "after"),
        (b"\x1b]0;title without end\nnext", "\nnext"),
        (b"\x1b(B\x1b)0\x1b=\x1b>text", "text"),
        (b"\x1b[?25lhidden cursor\x1b[?25h", "hidden cursor"),
        (b"before\x1b[?1049hdrawn\x1b[3;3Hall over\x1b[?1049l\nafter", "before\nafter"),
        (b"before\x1b[?47hnever left", "before"),
        (b"kept\n\x1b[H\x1b[2Jfirst\n\x1b[H\x1b[2Jsecond\n", "kept\nsecond\n"),
        (b"kept\n\x1b[2J\x1b[Hfirst\n\x1b[2J\x1b[Hsecond\n", "kept\nsecond\n"),
        (b"kept\x1bcfirst\x1bcsecond", "kept\nsecond"),
        (b"\x1b[Hfirst\nrow\n\x1b[HF\x1b[2;3HW", "First\nroW"),
        (b"\x1b[3;2Hx", "\n\n x"),
        (b"\x1b[Hab\ncd\n\x1b[1dX\x1b[2;2H\x1b[1JY", "\n Y"),
        (b"a\tb\n", "a\tb\n"),
        (b"a\tb\rX\n", "X\tb\n"),
        (b"a\tb\r\x1b[3CX\n", "a  X    b\n"),
        (b"abcdefghijk\r\tX", "abcdefghXjk"),
        (b"abc\r\t\tX", "abc             X"),
        ("世界\r-".encode(), "- 界"),
        ("世界\r\x1b[C-".encode(), " -界"),
        ("abcd\r\x1b[C世".encode(), "a世d"),
        ("ab\r\x1b[C世c".encode(), "a世c"),
        ("世界\r\x1b[3C\x1b[K!".encode(), "世 !"),
        ("e\u0301a\rX".encode(), "Xa"),
        ("xe\u0301\rX".encode(), "Xe\u0301"),
        ("ab\r\u0301c\u0301".encode(), "c\u0301b"),
        ("█░░\r██░\r███ ✓\n".encode(), "███ ✓\n"),
        (b"bell\x07 and \x0e\x0f null\x00byte\x7f", "bell and  null byte"),
        (b"caf\xc3\xa9 \xff\xfe!", "café \ufffd\ufffd!"),
        (b"cut \xe4\xb8", "cut \ufffd"),
        (b"ends in a control \x1b[12", "ends in a control "),
        (b"no control \x1b[" + b"1" * 65, "no control " + "1" * 65),
        (b"row\r\x1b[99999999CX", "row" + " " * (WIDTH - 3) + "X"),
        (b"row\x1b[1;2;xQ!", "rowQ!"),
    ],
)
def test_shown(stream: bytes, text: str) -> None:
    assert shown(stream).text == text
    assert shown(*(stream[index : index + 1] for index in range(len(stream)))).text == text


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"plain\r\ntext\r\n", 0),
        (b"1%\r2%\r3%\n", 2),
        (b"1%\r\x1b[K2%\x1b[2K\r3%\r\n", 2),
        (b"1%\r2%\r\x1b[K3%\r\x1b[2K\r\x1b[K4%\r5%\n", 4),
        (b"\r\x1b[K1%\r\x1b[K", 1),
        (b"long row\rlo\x1b[K", 1),
        (b"|\b/\b-", 2),
        (b"a\nb\n\x1b[2AA\nB\n", 1),
        (b"a\nb\n\x1b[2A\x1b[JA\nB\n", 1),
        (b"\x1b[H\x1b[2Jone\n\x1b[H\x1b[2Jtwo\n", 1),
        (b"\x1b[31mcolour\x1b[m\n", 0),
    ],
)
def test_frames_are_counted(stream: bytes, frames: int) -> None:
    assert shown(stream).frames == frames


def test_counts() -> None:
    stream = b"a\nb \xff\xfe\xe4\xb8\nlast \x1b[?1049hhidden\x1b[?1049l"
    seen = shown(stream)
    assert (seen.total_bytes, seen.lines, seen.undecodable, seen.hidden) == (len(stream), 3, 4, 6)
    assert (seen.left_out_bytes, seen.left_out_lines) == (0, 0)
    assert shown(b"").lines == 0
    assert shown("\ufffd is a character\n".encode()).undecodable == 0


def test_a_row_goes_on_in_the_next_when_it_is_drawn_beyond_its_width() -> None:
    seen = shown(b"a\nb\nc\x1b[2A\r" + b"x" * (WIDTH + 1) + b"\x1b[K")
    assert seen.text == "x" * WIDTH + "\nx\nc"


def test_bytes_within_the_bound_are_all_kept_and_one_more_is_not() -> None:
    text = b"".join(b"line %3d\n" % index for index in range(100))
    assert shown(text, max_bytes=len(text)) == shown(text)
    seen = shown(text + b"\n", max_bytes=len(text))
    assert seen.left_out_bytes > 0
    assert seen.text.startswith("line   0\n")
    assert seen.text.endswith("line  99\n\n")


def test_of_a_long_text_the_first_and_the_last_lines_are_kept() -> None:
    lines = [f"line {index}\n" for index in range(90_000)]
    stream = "".join(lines).encode()
    seen = shown(*(stream[at : at + 65_536] for at in range(0, len(stream), 65_536)), max_bytes=3000)
    first, last = seen.text.split(f"[... {seen.left_out_lines} lines, {seen.left_out_bytes} bytes left out ...]\n")
    count = first.count("\n")
    assert first == "".join(lines[:count])
    assert last == "".join(lines[-last.count("\n") :])
    assert 1900 < len(first) <= 2000
    assert 900 < len(last) <= 1000
    assert seen.left_out_lines is not None
    assert seen.lines == 90_000 == count + last.count("\n") + seen.left_out_lines
    assert len(first) + len(last) + seen.left_out_bytes == len(stream)


@pytest.mark.parametrize("size", [1000, 100_000])
def test_lines_are_counted_up_to_a_length(size: int) -> None:
    text = b"x" * 63 + b"\n"
    counted = shown(*chunked(text * (COUNTED_BYTES // 64), [size]), max_bytes=6400)
    assert (counted.lines, counted.left_out_lines) == (COUNTED_BYTES // 64, COUNTED_BYTES // 64 - 99)
    beyond = shown(*chunked(text * (COUNTED_BYTES // 64) + b"x", [size]), max_bytes=6400)
    assert (beyond.lines, beyond.left_out_lines) == (None, None)
    assert f"\n[... {beyond.left_out_bytes} bytes left out ...]\n" in beyond.text


def test_a_line_longer_than_the_bound_is_cut_between_characters() -> None:
    seen = shown("世".encode() * 10_000, max_bytes=100)
    first, notice, last = seen.text.split("\n")
    assert (first, last) == ("世" * 22, "世" * 11)
    assert notice == f"[... 0 lines, {30_000 - 33 * 3} bytes left out ...]"


def test_the_cursor_does_not_go_above_what_has_scrolled_away() -> None:
    rows = b"".join(b"row %4d\n" % index for index in range(REACH // 9 + 100))
    seen = shown(rows + b"\x1b[9999A\x1b[JX")
    assert seen.text.startswith("row    0\n")
    assert seen.text.endswith("X")
    assert len(rows) - REACH <= len(seen.text) - 1 < len(rows) - REACH + 9
    assert shown(rows + b"\x1b[9999A\x1b[J" * 50 + b"X").text == seen.text


@pytest.mark.parametrize(
    "chunk",
    [
        b"x" * 65_536,
        b"line of text\n" * 5000,
        b"\r 12%" * 10_000,
        b"\x1b[31mred\x1b[m\n" * 5000,
        b"\x1b[9A\x1b[Jnew\n\n\n" * 500,
        b"\x1b]0;" + b"title" * 10_000,
        b"\xff" * 65_536,
        "e\u0301\u0301\r".encode() * 600,
        b"\x1b[?1049h" + b"hidden " * 9000,
        b"ab\n\x1b[A\r" + "\u0301".encode() * 3000,
        b"\x1b[99;99Hx" * 200,
    ],
)
def test_memory_is_bounded(chunk: bytes) -> None:
    screen = Screen(64_000)
    screen.feed(chunk)
    tracemalloc.start()
    for _ in range(20):
        screen.feed(chunk)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_500_000
    assert len(screen.finish().text.encode()) <= 64_100


@settings(max_examples=300, deadline=None)
@given(
    STREAMS,
    st.lists(st.integers(1, 400), min_size=1, max_size=20),
    st.sampled_from([30, 500, PLENTY]),
    st.sampled_from([40, 200, REACH]),
)
@example(b"x" * 199 + b"\r\x81\r(", [200], 30, 40)
@example(b"\xc2\x1b[A", [4], 30, REACH)
def test_any_chunks_of_a_stream_show_the_same(stream: bytes, sizes: list[int], most: int, reach: int) -> None:
    whole = shown(stream, max_bytes=most, reach=reach)
    assert shown(*chunked(stream, sizes), max_bytes=most, reach=reach) == whole
    assert shown(*chunked(stream, [1]), max_bytes=most, reach=reach) == whole
    whole.text.encode()
    assert not set(whole.text) & set("\x00\r\b\x1b\x07\x7f")
    assert len(whole.text.encode()) <= most + 80


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="\r\b\x1b", exclude_categories=["Cs", "Cc"]), max_size=60))
def test_a_row_of_cells_is_its_text(row: str) -> None:
    assert "".join(cells_of(row)) == row
    assert shown(row.encode() + b"\r\x1b[A").text == row


def test_narrow_characters_are_one_column_wide() -> None:
    narrow = [chr(code) for code in range(0x10000) if is_narrow(chr(code))]
    assert len(narrow) > 2000
    assert {width(char) for char in narrow} == {1}


def test_rendering_midway_changes_nothing() -> None:
    screen = Screen(PLENTY)
    for piece in (b"10%", b"\r20", b"%\r", b"3", b"0%\n", b"done"):
        screen.feed(piece)
        screen.render()
    assert screen.render().text == "30%\ndone"
    assert screen.render().frames == 2

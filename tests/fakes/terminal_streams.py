"""What programs print, with and without sense: bytes, controls, halves of both."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

PIECES = st.sampled_from(
    [
        *(b"\r", b"\n", b"\r\n", b"\b", b"\t", b"\x00", b"\x07", b"\x1b", b"a", b"bc", b" ", b"[", b"]", b"7", b";"),
        *(b"\x1b[A", b"\x1b[3A", b"\x1b[2B", b"\x1b[C", b"\x1b[9C", b"\x1b[2D", b"\x1b[G", b"\x1b[4G", b"\x1b[m"),
        *(
            b"\r\x1b[K",
            b"\r\x1b[2K",
            b"\x1b[0J",
            b"\x1b[K",
            b"\x1b[1K",
            b"\x1b[2K",
            b"\x1b[J",
            b"\x1b[1J",
            b"\x1b[2J",
            b"\x1b[H",
            b"\x1b[2;3H",
            b"\x1b[3d",
        ),
        *(b"\x1b]0;", b"\x1b\\", b"\x1bP", b"\x1bc", b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[", b"\x1b[1;", b"\x1b("),
        *("世".encode(), "é".encode(), "e\u0301".encode(), "\u200d".encode(), "\ufffd".encode(), b"\xff", b"\xe4\xb8"),
        *(b"\xf0\x9f", b"\x9f\x98", b"x" * 600, b"long line of text\n" * 50, "宽\n".encode() * 30, b"a\tb\tc"),
    ]
)
STREAMS = st.lists(st.one_of(PIECES, st.binary(max_size=8)), max_size=40).map(b"".join)


def chunked(stream: bytes, sizes: list[int]) -> list[bytes]:
    chunks, at = [], 0
    for size in itertools.cycle(sizes):
        if at >= len(stream):
            return chunks
        chunks.append(stream[at : at + size])
        at += size
    return chunks

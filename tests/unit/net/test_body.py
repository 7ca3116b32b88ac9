from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.net.body import body_of

URL = "http://example.org/"


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    " GZIP ": gzip.compress,
    "deflate": zlib.compress,
    "deflate ": raw_deflate,
}


def read(encoding: str, data: bytes, *, cap: int = 1 << 20, step: int = 1 << 16) -> bytes:
    body = body_of(URL, encoding, cap)
    for start in range(0, len(data), step):
        body.feed(data[start : start + step])
    return body.finish()


def failure(encoding: str, data: bytes, *, cap: int = 1 << 20) -> Failure:
    with pytest.raises(Failure) as caught:
        read(encoding, data, cap=cap)
    return caught.value


@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_bodies_in_every_encoding_and_any_pieces(encoding: str, step: int) -> None:
    data = b"some text \xff\x00 " * 50
    assert read(encoding, PACKERS[encoding](data), step=step) == data


@pytest.mark.parametrize("encoding", PACKERS)
def test_cap_on_what_is_decoded_is_exact(encoding: str) -> None:
    pack = PACKERS[encoding]
    assert read(encoding, pack(b"x" * 1000), cap=1000) == b"x" * 1000
    assert failure(encoding, pack(b"x" * 1001), cap=1000).code is ErrorCode.RESPONSE_TOO_LARGE


def test_cap_holds_for_what_is_sent_too() -> None:
    # Empty members decode to nothing, and still there is an end to them.
    member = gzip.compress(b"")
    assert read("gzip", member * 50, cap=len(member) * 50) == b""
    assert failure("gzip", member * 51, cap=len(member) * 50).code is ErrorCode.RESPONSE_TOO_LARGE


def test_members_of_a_gzip_body_follow_one_another() -> None:
    data = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 9
    assert read("gzip", data) == b"one two"
    assert read("gzip", data, step=1) == b"one two"


def test_an_empty_body_needs_no_compression() -> None:
    assert read("gzip", b"") == b""


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_cut_short_or_damaged_is_refused(encoding: str) -> None:
    whole = PACKERS[encoding](bytes(range(256)) * 20)
    for broken in (whole[:-1], whole[:20], whole[:1], b"not compressed at all", whole[:30] + b"\xff" * 300):
        assert failure(encoding, broken).code is ErrorCode.RESPONSE_INVALID


def test_a_second_member_cut_short_is_refused() -> None:
    assert failure("gzip", gzip.compress(b"one") + gzip.compress(b"two")[:-3]).code is ErrorCode.RESPONSE_INVALID


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
def test_encodings_that_were_not_asked_for_are_refused(encoding: str) -> None:
    refused = failure(encoding, b"x")
    assert refused.code is ErrorCode.RESPONSE_INVALID
    assert encoding in refused.message


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate"]), st.integers(1, 50))
def test_garbage_never_raises_anything_else(data: bytes, encoding: str, step: int) -> None:
    try:
        read(encoding, data, step=step, cap=1000)
    except Failure as refused:
        assert refused.code in {ErrorCode.RESPONSE_INVALID, ErrorCode.RESPONSE_TOO_LARGE}

from __future__ import annotations

import struct
import sys
import time
import zlib
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fakes.pictures import FORMATS, animation, noise, opened, picture, turned
from remit.base.errors import ErrorCode, Failure
from remit.base.picture_ends import ends
from remit.base.pictures import MAX_BYTES, MAX_EDGE, MAX_PIXELS, check_plain, read_header
from remit.workspace import pictures
from remit.workspace.pictures import Fitted, fit_picture


def refused(data: bytes) -> Failure:
    with pytest.raises(Failure) as caught:
        fit_picture(data)
    return caught.value


@pytest.mark.parametrize("format", FORMATS)
def test_a_small_picture_is_sent_as_it_is(format: str) -> None:
    data = picture(format)
    fitted = fit_picture(data)
    assert (fitted.data, fitted.done) == (data, ())
    assert fitted.header == (fitted.media_type, 40, 30) == (f"image/{format.lower()}", fitted.width, fitted.height)


@pytest.mark.parametrize(("edge", "changed"), [(MAX_EDGE, False), (MAX_EDGE + 1, True)])
@pytest.mark.parametrize("upright", [False, True])
def test_the_long_edge_decides(edge: int, changed: bool, upright: bool) -> None:
    data = picture("PNG", (10, edge) if upright else (edge, 10))
    fitted = fit_picture(data)
    assert max(fitted.width, fitted.height) == MAX_EDGE
    assert (fitted.data != data, bool(fitted.done)) == (changed, changed)


@pytest.mark.parametrize(
    ("format", "sent"), [("PNG", "PNG"), ("JPEG", "JPEG"), ("GIF", "PNG"), ("WEBP", "PNG")], ids=FORMATS
)
def test_a_large_picture_is_made_smaller(format: str, sent: str) -> None:
    fitted = fit_picture(picture(format, (3136, 1568)))
    image = opened(fitted.data)
    assert (image.size, image.format) == ((1568, 784), sent) == ((fitted.width, fitted.height), sent)
    assert fitted.done == ("made smaller from 3136x1568",)
    red, blue = image.convert("RGB").getpixel((100, 100)), image.convert("RGB").getpixel((1500, 100))
    assert isinstance(red, tuple) and isinstance(blue, tuple) and red[0] > 150 > blue[0] and blue[2] > 150 > red[2]


def padded(data: bytes, size: int) -> bytes:
    """A PNG with a chunk that says nothing, so that it has that many bytes."""
    body = bytes(size - len(data) - 12)
    chunk = struct.pack(">I", len(body)) + b"prVt" + body + struct.pack(">I", zlib.crc32(b"prVt" + body))
    return data[:-12] + chunk + data[-12:]


def test_the_size_in_bytes_decides() -> None:
    small = picture("PNG")
    fits, over = padded(small, MAX_BYTES), padded(small, MAX_BYTES + 1)
    assert (len(fits), len(over)) == (MAX_BYTES, MAX_BYTES + 1)
    assert fit_picture(fits).data == fits
    fitted = fit_picture(over)
    assert len(fitted.data) < 1000 and fitted.done == ("stored anew",)


def test_a_png_that_stays_large_becomes_a_jpeg() -> None:
    fitted = fit_picture(noise("PNG", (1400, 1400)))
    assert (fitted.media_type, opened(fitted.data).format) == ("image/jpeg", "JPEG") and len(fitted.data) <= MAX_BYTES


def test_what_shines_through_is_white_as_a_jpeg() -> None:
    image = Image.frombytes("RGBA", (1400, 1400), bytes(noise_with_holes()))
    out = BytesIO()
    image.save(out, "PNG", compress_level=0)
    fitted = fit_picture(out.getvalue())
    corner = opened(fitted.data).getpixel((2, 2))
    assert fitted.media_type == "image/jpeg" and isinstance(corner, tuple) and min(corner) > 240


def noise_with_holes() -> bytearray:
    import os

    data = bytearray(os.urandom(1400 * 1400 * 4))
    data[: 1400 * 4 * 16] = bytes(1400 * 4 * 16)
    return data


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
def test_an_animation_is_its_first_frame(format: str) -> None:
    fitted = fit_picture(animation(format))
    image = opened(fitted.data)
    pixel = image.convert("RGB").getpixel((5, 5))
    assert getattr(image, "n_frames", 1) == 1 and image.format == "PNG"
    assert isinstance(pixel, tuple) and pixel[0] > 150 > max(pixel[1:])
    assert fitted.done == ("the first frame of an animation",)


@pytest.mark.parametrize("size", [(40, 30), (4000, 3000)])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_turned_picture_is_put_upright_and_its_metadata_dropped(size: tuple[int, int], orientation: int) -> None:
    data = turned(size, orientation)
    fitted = fit_picture(data)
    width, height = (min(size[0], MAX_EDGE), min(size[1], 1176))
    assert (fitted.width, fitted.height) == ((height, width) if orientation > 4 else (width, height))
    if fitted.data == data:
        assert orientation == 1 and size == (40, 30)
    else:
        assert b"said in confidence" not in fitted.data and not opened(fitted.data).getexif()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_every_kind_of_colour_is_shown(mode: str) -> None:
    image = Image.new("L" if mode == "I;16" else "RGB", (2000, 20), 128 if mode == "I;16" else (128, 128, 128))
    if mode == "I;16":
        image = Image.frombytes("I;16", (2000, 20), struct.pack("<H", 128 * 257) * 40_000)
    else:
        image = image.convert(mode)
    out = BytesIO()
    image.save(out, {"CMYK": "JPEG", "P": "GIF"}.get(mode, "PNG"))
    fitted = fit_picture(out.getvalue())
    shown = opened(fitted.data).convert("L").resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
    assert isinstance(shown, int | float) and 110 < shown < 146, shown


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_cut_picture_is_an_error(format: str, share: float) -> None:
    data = noise(format, (200, 200))
    failure = refused(data[: int(len(data) * share)])
    assert failure.code is ErrorCode.PICTURE_INVALID and "200x200" in failure.message


WHOLE = {
    **{name: picture(name) for name in FORMATS},
    "progressive": noise("JPEG", (60, 60), progressive=True),
    "restarts": noise("JPEG", (60, 60), restart_marker_rows=1),
    "thumbnail": picture("JPEG", (60, 60), exif=b"Exif\0\0" + picture("JPEG")),
    "turned": turned((60, 40), 6),
    "animated GIF": animation("GIF"),
    "animated WebP": animation("WEBP"),
    "animated PNG": animation("PNG"),
    "gray": picture("GIF", mode="L"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_every_cut_is_told_and_what_follows_the_end_is_left_alone(name: str) -> None:
    whole = WHOLE[name]
    header = read_header(whole)
    assert ends(header.media_type, whole) and ends(header.media_type, whole + b"\0\xff\xd9 more")
    assert not [size for size in range(12, len(whole)) if ends(header.media_type, whole[:size])]
    for size in (len(whole) - 1, len(whole) - 2):
        assert "stops before its end" in refused(whole[:size]).message


@pytest.mark.parametrize("format", FORMATS)
def test_a_picture_cut_in_its_header_is_an_error(format: str) -> None:
    data = picture(format)
    for end in range(12, 20):
        assert refused(data[:end]).code is ErrorCode.PICTURE_INVALID


@pytest.mark.parametrize("data", [b"", b"hello", b"%PDF-1.4", b"<svg/>", b"RIFF\0\0\0\0WAVE", b"BM" + bytes(60)])
def test_other_content_is_no_picture(data: bytes) -> None:
    assert refused(data).code is ErrorCode.UNSUPPORTED_FORMAT


def sized_png(width: int, height: int) -> bytes:
    """A tiny file that claims that size and holds one row."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(min(width, 10_000) + 1))), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_the_pixels_decide_before_anything_is_decoded() -> None:
    assert read_header(sized_png(10_000, 5000)) == ("image/png", 10_000, 5000)
    failure = refused(sized_png(10_000, 5001))
    assert failure.code is ErrorCode.PICTURE_TOO_LARGE and "50010000" in failure.message


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_an_absurd_size_is_refused(size: tuple[int, int]) -> None:
    assert refused(sized_png(*size)).code in (ErrorCode.PICTURE_INVALID, ErrorCode.PICTURE_TOO_LARGE)


def test_a_frame_larger_than_it_was_told_is_refused() -> None:
    data = bytearray(picture("GIF"))
    at = data.index(b"\x2c", 13)
    data[at + 5 : at + 9] = struct.pack("<HH", 65535, 65535)
    assert refused(bytes(data)).code is ErrorCode.PICTURE_INVALID


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("PNG", {"compress_level": 1}),
        ("JPEG", {"progressive": True, "quality": 30}),
        ("WEBP", {"method": 0}),
        ("GIF", {}),
    ],
    ids=FORMATS,
)
def test_the_largest_pictures_are_decoded_in_bounded_memory(format: str, options: dict[str, Any]) -> None:
    image = Image.new("RGB", (10_000, 5000), (200, 30, 30))
    out = BytesIO()
    image.save(out, format, **options)
    fitted = fit_picture(out.getvalue())
    assert (fitted.width, fitted.height) == (1568, 784)


def test_a_picture_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(pictures, "_POLL_SECONDS", 0.001)
    assert refused(noise("PNG", (1500, 1500))).code is ErrorCode.TIMEOUT


def test_a_call_that_is_called_off_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def check() -> None:
        asked.append(time.monotonic())
        if len(asked) == 2:
            raise Failure(ErrorCode.CANCELLED, "called off")

    monkeypatch.setattr(pictures, "_POLL_SECONDS", 0.001)
    with pytest.raises(Failure, match="called off"):
        fit_picture(picture("PNG", (7000, 7000)), check)
    assert time.monotonic() - asked[-1] < 1 and len(asked) == 2


# -- without the decoder -----------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_a_whole_picture_is_told_from_a_cut_one_without_decoding(format: str) -> None:
    data = noise(format, (100, 100))
    assert check_plain(data).width == 100
    with pytest.raises(Failure, match="stops before its end"):
        check_plain(data[: len(data) // 2])


@pytest.mark.parametrize(("edge", "fits"), [(8000, True), (8001, False)])
def test_a_picture_sent_as_it_is_has_a_longest_edge(edge: int, fits: bool) -> None:
    data = sized_png(edge, 1)
    if fits:
        assert check_plain(data).width == edge
    else:
        with pytest.raises(Failure, match="8000 pixels an edge"):
            check_plain(data)


@settings(max_examples=300)
@given(data=st.data())
def test_no_bytes_break_the_reading_of_a_header(data: st.DataObject) -> None:
    whole = bytearray(picture(data.draw(st.sampled_from(FORMATS))))
    for _ in range(data.draw(st.integers(0, 6))):
        whole[data.draw(st.integers(0, min(60, len(whole) - 1)))] = data.draw(st.integers(0, 255))
    del whole[data.draw(st.integers(0, len(whole))) :]
    try:
        header = read_header(bytes(whole))
    except Failure as failure:
        assert failure.code in (
            ErrorCode.UNSUPPORTED_FORMAT,
            ErrorCode.PICTURE_INVALID,
            ErrorCode.PICTURE_TOO_LARGE,
        )
    else:
        assert 0 < header.width * header.height <= MAX_PIXELS


@settings(max_examples=25)
@given(data=st.data())
def test_whatever_a_file_holds_the_answer_is_a_picture_or_a_failure(data: st.DataObject) -> None:
    whole = bytearray(picture(data.draw(st.sampled_from(FORMATS))))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        fitted: Fitted = fit_picture(bytes(whole))
    except Failure:
        return
    assert max(fitted.width, fitted.height) <= MAX_EDGE and len(fitted.data) <= MAX_BYTES


@pytest.fixture
def no_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)


def test_without_the_library_a_small_picture_is_sent_undecoded(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = picture("JPEG"), padded(picture("PNG"), MAX_BYTES + 1)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert fit_picture(small).data == small
    assert refused(small[:-30]).code is ErrorCode.PICTURE_INVALID
    failure = refused(large)
    assert failure.code is ErrorCode.PICTURE_TOO_LARGE and "pip install '.[images]'" in failure.message


@pytest.mark.usefixtures("no_pillow")
def test_without_the_library_the_reason_has_the_way_to_install_it() -> None:
    assert (
        pictures.missing_pictures()
        == "pictures cannot be decoded without Pillow: in remit's checkout, pip install '.[images]'"
    )


def test_with_the_library_nothing_is_missing() -> None:
    assert pictures.missing_pictures() == ""

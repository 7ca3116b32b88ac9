from __future__ import annotations

import pytest

from remit.providers.sse import EventTooLarge, SseEvent, SseReader


def read(*chunks: bytes, max_bytes: int = 1000) -> list[SseEvent]:
    reader = SseReader(max_bytes)
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    assert reader.rest() == []
    return events


def data(*chunks: bytes) -> list[bytes]:
    return [event.data for event in read(*chunks)]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\r\n\ndata: b\n\r\n", [b"a", b"b"]),
        (b"data: one\ndata: two\ndata:\ndata:three\n\n", [b"one\ntwo\n\nthree"]),
        (b"data\n\n", [b""]),
        (b"data:  two spaces\n\n", [b" two spaces"]),
        (b"data :a\ndatas: b\n data: c\ndata: d\n\n", [b"d"]),
        (b"data:a\r\n: comment\n\rdata: b\n\r\n", [b"a", b"b"]),
        (b": comment\n\n:\n\ndata: a\n: inside\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"id: 1\nretry: 5\nunknown: x\ndata: a\n\n", [b"a"]),
        (b"\n\n\n", []),
        (b"event: ping\n\ndata: a\n\n", [b"a"]),
        (b"data: whole\n\ndata: unterminated", [b"whole"]),
        (b"data: whole\n\ndata: line ends, event does not\n", [b"whole"]),
        (b"", []),
        ("data: caf\u00e9 \U0001f525\n\n".encode(), ["caf\u00e9 \U0001f525".encode()]),
    ],
)
def test_events_are_the_same_however_the_bytes_arrive(raw: bytes, expected: list[bytes]) -> None:
    assert data(raw) == expected
    assert data(*(raw[i : i + 1] for i in range(len(raw)))) == expected
    for cut in range(len(raw)):
        assert data(raw[:cut], raw[cut:]) == expected


def test_an_event_is_given_out_with_the_cr_that_ends_it() -> None:
    assert SseReader().feed(b"data: a\r\r") == [SseEvent("", b"a")]


def test_the_name_belongs_to_its_event_alone() -> None:
    assert read(b"event: error\ndata: a\n\ndata: b\n\n") == [SseEvent("error", b"a"), SseEvent("", b"b")]


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (b"event:tight\ndata: a\n\n", "tight"),
        (b"data: a\nevent: behind\n\n", "behind"),
        (b"event: one\nevent: two\ndata: a\n\n", "two"),
        (b"event: one\nevent\ndata: a\n\n", ""),
        (b"event: of nothing\n\ndata: a\n\n", ""),
        (b"events: no\nevent : no\ndata: a\n\n", ""),
        ("event: \u00fc\ndata: a\n\n".encode(), "\u00fc"),
        (b"event: \xff\ndata: a\n\n", "\ufffd"),
    ],
)
def test_the_name_is_what_the_last_event_field_says(lines: bytes, name: str) -> None:
    assert read(lines) == [SseEvent(name, b"a")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_chunk_that_is_whole_events_gives_them_at_once(end: bytes) -> None:
    reader = SseReader(20)
    for number in range(50):
        data = b"%015d" % number
        chunk = b"event: delta" + end + b"data: " + data + end + end
        assert reader.feed(chunk) == [SseEvent("delta", data)]
        assert reader.feed(chunk * 2) == [SseEvent("delta", data)] * 2


def test_a_line_that_is_whole_does_not_end_its_event() -> None:
    reader = SseReader()
    assert reader.feed(b"data: a\n") == []
    assert reader.feed(b"data: b\n") == []
    assert reader.feed(b"\n") == [SseEvent("", b"a\nb")]


@pytest.mark.parametrize("chunked", [True, False])
def test_an_event_may_be_as_large_as_the_cap_and_no_larger(chunked: bool) -> None:
    def feed(size: int) -> list[SseEvent]:
        line = b"data: " + b"x" * (size - 6)
        pieces = [line[i : i + 10] for i in range(0, len(line), 10)] if chunked else [line]
        return read(*pieces, b"\n\n", max_bytes=100)

    assert len(feed(100)[0].data) == 94
    with pytest.raises(EventTooLarge):
        feed(101)


def test_many_small_lines_of_one_event_count_together() -> None:
    reader = SseReader(100)
    with pytest.raises(EventTooLarge):
        for _ in range(30):
            reader.feed(b"data: 12345\n")


def test_lines_of_nothing_count_too() -> None:
    reader = SseReader(100)
    assert reader.feed(b"data:\n" * 100) == []
    with pytest.raises(EventTooLarge):
        reader.feed(b"data:\n")


def test_an_event_that_was_given_out_does_not_count_any_more() -> None:
    reader = SseReader(100)
    for _ in range(3):
        assert reader.feed(b"data: " + b"x" * 60 + b"\n") == []
        assert reader.feed(b"\ndata: y\n\ndata: z\n") == [SseEvent("", b"x" * 60), SseEvent("", b"y")]
        assert reader.feed(b"\n") == [SseEvent("", b"z")]


def test_an_event_of_many_lines_takes_linear_time() -> None:
    reader = SseReader()
    for _ in range(20_000):
        assert reader.feed(b"data: x\n" * 20) == []
    (event,) = reader.feed(b"\n")
    assert event.data == b"\n".join([b"x"] * 400_000)


def test_a_long_line_in_small_chunks_takes_linear_time() -> None:
    reader = SseReader()
    for _ in range(20_000):
        assert reader.feed(b"x" * 1000) == []
    assert reader.feed(b"\n\n") == []

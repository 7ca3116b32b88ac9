from __future__ import annotations

import gzip
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.decode import decode_text, looks_binary

TEXT = "Zürich \u2013 5 €\r\n\u0437\u0438\u043c\u0430\n"


@pytest.mark.parametrize(
    ("data", "text", "encoding", "replaced"),
    [
        (b"", "", "utf-8", False),
        (b"plain", "plain", "utf-8", False),
        (TEXT.encode(), TEXT, "utf-8", False),
        (b"\xef\xbb\xbf" + TEXT.encode(), TEXT, "utf-8", False),
        (b"\xef\xbb\xbf", "", "utf-8", False),
        (b"\xef\xbb\xbfa\xff", "a\ufffd", "utf-8", True),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), TEXT, "utf-16-le", False),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), TEXT, "utf-16-be", False),
        (b"\xff\xfea\0b", "a\ufffd", "utf-16-le", True),
        (b"\xff\xfe\x3d\xd8a\0", "\ufffda", "utf-16-le", True),
        (b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"), TEXT, "utf-32-le", False),
        (b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"), TEXT, "utf-32-be", False),
        ("Zürich 5 €".encode("cp1252"), "Zürich 5 €", "windows-1252", False),
        (b"\x81\xe9", "\ufffdé", "windows-1252", True),
        (b"\xed\xa0\xbd", "í\xa0½", "windows-1252", False),
        ("é".encode() + b"\xff", "Ã©ÿ", "windows-1252", False),
    ],
)
def test_without_a_label(data: bytes, text: str, encoding: str, replaced: bool) -> None:
    assert decode_text(data) == (text, encoding, replaced)


@pytest.mark.parametrize(
    ("data", "label", "text", "encoding", "replaced"),
    [
        (b"\xe9\x80", "latin1", "é€", "windows-1252", False),
        (b"\xe9\x80", "ISO-8859-1", "é€", "windows-1252", False),
        (b"\xe9", "us-ascii", "é", "windows-1252", False),
        (b"\xc4\xe3\x81\x30\x81\x30", "gb18030", "你\x80", "gb18030", False),
        (b"\xc4\xe3", "gb2312", "你", "gbk", False),
        (b"\x82\xa0", "x-sjis", "あ", "shift_jis", False),
        ("\u0437\u0438\u043c\u0430".encode("koi8-r"), " KOI8-R ", "\u0437\u0438\u043c\u0430", "koi8-r", False),
        (b"a\0", "utf-16", "a", "utf-16le", False),
        (b"\xff", "utf-8", "\ufffd", "utf-8", True),
        (b"a\x80", "x-user-defined", "a\uf780", "x-user-defined", False),
        (b"\xef\xbb\xbf\xc3\xa9", "latin1", "é", "utf-8", False),
        ("é".encode(), "utf-7", "é", "utf-8", False),
        ("é".encode(), "hz-gb-2312", "é", "utf-8", False),
        ("é".encode(), "no such thing", "é", "utf-8", False),
        (b"\xe9", "no such thing", "é", "windows-1252", False),
    ],
)
def test_with_a_label(data: bytes, label: str, text: str, encoding: str, replaced: bool) -> None:
    assert decode_text(data, label) == (text, encoding, replaced)


@given(st.binary(max_size=200))
def test_any_bytes_become_whole_text(data: bytes) -> None:
    decoded = decode_text(data)
    decoded.text.encode()
    assert "\ufffd" in decoded.text or not decoded.replaced


@given(st.text())
def test_utf8_comes_back_as_it_was(text: str) -> None:
    data = text.encode()
    if data[:3] == b"\xef\xbb\xbf":
        assert decode_text(data).text == text[1:]
    else:
        assert decode_text(data) == (text, "utf-8", False)


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), "hello")
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n%text",
        zipped(),
        b"\x89PNG\r\n\x1a\n....",
        b"GIF89a....",
        b"\xff\xd8\xff\xe0 jpeg",
        b"\x7fELF\x02\x01\x01",
        gzip.compress(b"x", mtime=0),
        b"BZh91AY&SYxx",
        b"\xfd7zXZ\0",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"SQLite format 3\0",
        b"ID3\x03xx",
        b"a\0b",
        b"text" * 1000 + b"\0",
        b"\x01" * 31 + b"a" * 69,
        b"\x7f\x7f",
        b"\xff\xfea\0\0\0",
        b"\xff\xfe" + b"\x01\0" * 31 + b"a\0" * 69,
    ],
)
def test_binary(data: bytes) -> None:
    assert looks_binary(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text\r\n\tindented\x0c",
        TEXT.encode(),
        TEXT.encode("cp1251", "replace"),
        b"\x1b[31mred\x1b[0m",
        b"\x01" * 30 + b"a" * 70,
        b"\xff\xfe" + TEXT.encode("utf-16-le"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"),
        b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"),
        b"\xff\xfe" + b"\x01\0" * 30 + b"a\0" * 70,
        b"\xef\xbb\xbftext",
        b"BZh is a prefix",
        b"ID3 tags explained",
        b"PK means primary key",
        bytes(range(0x80, 0x100)),
    ],
)
def test_text(data: bytes) -> None:
    assert not looks_binary(data)

from __future__ import annotations

import pytest

from remit.net.charset import META_BYTES, declared_charset


@pytest.mark.parametrize(
    ("page", "label"),
    [
        (b"", ""),
        (b"<p>charset=latin1", ""),
        (b"<meta charset=latin1>", "latin1"),
        (b'<META CharSet = "ISO-8859-2" />', "iso-8859-2"),
        (b"<meta charset='koi8-r'>", "koi8-r"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">', "shift_jis"),
        (b"<metadata charset=x>", ""),
        (b"<!-- <meta charset=latin1> --><meta charset=gbk>", "gbk"),
        (b"<!-- <meta charset=latin1>", ""),
        (b'<?xml version="1.0" encoding="windows-1251"?><html/>', "windows-1251"),
        (b' <?xml version="1.0" encoding="windows-1251"?>', ""),
        (b"<meta charset=utf-16le>", "utf-8"),
        (b"<meta charset=\xff\xfe>", "\ufffd\ufffd"),
    ],
)
def test_label_that_a_page_declares(page: bytes, label: str) -> None:
    assert declared_charset(page) == label


def test_a_declaration_stands_at_the_start() -> None:
    meta = b"<meta charset=latin1>"
    assert declared_charset(b" " * (META_BYTES - len(meta)) + meta) == "latin1"
    assert declared_charset(b" " * META_BYTES + meta) == ""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.workspace.coded import UTF_8, Coding, read_coded, refuse_surrogates, write_coded


@pytest.mark.parametrize(
    ("data", "encoding", "text", "strays"),
    [
        (b"", "utf-8", "", 0),
        ("Zürich".encode(), "utf-8", "Zürich", 0),
        (codecs.BOM_UTF8 + "Zürich".encode(), "utf-8", "Zürich", 0),
        (codecs.BOM_UTF16_LE + "Zürich".encode("utf-16-le"), "utf-16-le", "Zürich", 0),
        (codecs.BOM_UTF16_BE + "Zürich".encode("utf-16-be"), "utf-16-be", "Zürich", 0),
        (codecs.BOM_UTF32_LE + "Zürich".encode("utf-32-le"), "utf-32-le", "Zürich", 0),
        (codecs.BOM_UTF32_BE + "Zürich".encode("utf-32-be"), "utf-32-be", "Zürich", 0),
        ("Zürich".encode("cp1252"), "windows-1252", "Zürich", 0),
        (b"\x81\xfc", "windows-1252", "\udc81ü", 1),
        ("Zürich, Genève, Bern".encode() + b"\xff", "utf-8", "Zürich, Genève, Bern\udcff", 1),
        ("# -*- coding: big5 -*-\n中文".encode("big5"), "big5", "# -*- coding: big5 -*-\n中文", 0),
        ("<?xml version='1.0' encoding='gbk'?><a>中文</a>".encode("gbk"), "gbk", None, 0),
        ("<html><meta charset=shift_jis>日本".encode("shift_jis"), "shift_jis", None, 0),
        ("\n# vim: set fileencoding=latin1 :\nx = 'é'".encode("latin-1"), "windows-1252", None, 0),
        (
            b'@charset "iso-8859-2";\na { content: "\xb1" }',
            "iso-8859-2",
            '@charset "iso-8859-2";\na { content: "ą" }',
            0,
        ),
        # A declaration is not believed against the bytes, nor one that means nothing.
        ("# coding: latin1\nZürich".encode(), "utf-8", "# coding: latin1\nZürich", 0),
        (b"# coding: nonsense\nabc", "utf-8", "# coding: nonsense\nabc", 0),
        (b"# coding: utf-16\nabc", "utf-8", "# coding: utf-16\nabc", 0),
        (b"# coding: big5\n\xff\xff", "utf-8", "# coding: big5\n\udcff\udcff", 2),
        # Damage, not another encoding: as many characters as stray bytes, or only bytes that are no letters.
        ("caf\u00e9 ".encode() + b"\xe9", "utf-8", "café \udce9", 1),
        ("caf\u00e9 ".encode() + b"\xe9\xe9", "windows-1252", "cafÃ© éé", 0),
        (b"plain \xff text", "utf-8", "plain \udcff text", 1),
        (b"plain \x81\xfe text", "utf-8", "plain \udc81\udcfe text", 2),
        (b"plain \xff t\xeaxt", "windows-1252", "plain ÿ têxt", 0),
        # Plain ASCII that declares what it will hold.
        (b"# coding: latin1\nabc", "windows-1252", "# coding: latin1\nabc", 0),
    ],
)
def test_how_a_file_is_read(data: bytes, encoding: str, text: str | None, strays: int) -> None:
    coded = read_coded(data)
    assert (coded.coding.encoding, coded.strays, coded.exact) == (encoding, strays, True)
    if text is not None:
        assert coded.text == text
    assert write_coded(coded.text, coded.coding, "a") == data


@pytest.mark.parametrize("data", [codecs.BOM_UTF16_LE + b"a\x00b", codecs.BOM_UTF16_LE + b"\x00\xd8a\x00"])
def test_what_cannot_be_carried_along_is_said(data: bytes) -> None:
    coded = read_coded(data)
    assert not coded.exact
    assert "\ufffd" in coded.text
    assert coded.strays == 1


@given(st.binary(max_size=60))
def test_what_is_exact_comes_back_byte_for_byte(data: bytes) -> None:
    coded = read_coded(data)
    if coded.exact:
        assert write_coded(coded.text, coded.coding, "a") == data


@pytest.mark.parametrize(
    ("coding", "text"), [(Coding("windows-1252", "cp1252"), "a\nb→"), (Coding("big5", "big5"), "a\n😀")]
)
def test_a_character_that_does_not_fit_is_named(coding: Coding, text: str) -> None:
    with pytest.raises(Failure) as caught:
        write_coded(text, coding, "a.txt")
    assert caught.value.code is ErrorCode.INVALID_ENCODING
    assert f"U+{ord(text[-1]):04X}, line 2" in caught.value.message
    assert coding.encoding in caught.value.message


def test_given_text_must_not_smuggle_bytes_in() -> None:
    refuse_surrogates("Zürich 😀", "it")
    with pytest.raises(Failure) as caught:
        refuse_surrogates("a\udcff", "the content")
    assert caught.value.code is ErrorCode.INVALID_ENCODING
    assert write_coded("\udcff", UTF_8, "a") == b"\xff"

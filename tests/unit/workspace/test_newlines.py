from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.newlines import Span, restored, style_of, unify


@pytest.mark.parametrize(
    ("text", "style", "unified"),
    [
        ("", "none", ""),
        ("a", "none", "a"),
        ("a\nb\n", "lf", "a\nb\n"),
        ("a\r\nb\r\n", "crlf", "a\nb\n"),
        ("a\rb", "cr", "a\nb"),
        ("a\r\nb\n", "mixed", "a\nb\n"),
        ("a\rb\n", "lf", "a\rb\n"),
        ("a\rb\r\n", "crlf", "a\rb\n"),
        ("a\r\r\n", "crlf", "a\r\n"),
    ],
)
def test_styles(text: str, style: str, unified: str) -> None:
    found = unify(text)
    assert (found.style, found.text) == (style, unified)
    assert style_of(text) == style
    assert found.replaced([], "") == text
    if style != "mixed":
        assert restored(found.text, found.style) == text


@pytest.mark.parametrize(
    ("text", "given_text", "fits"),
    [("a\n", "x\r\ny", "x\ny"), ("a\r\n", "x\ny", "x\ny"), ("a\rb", "x\ry\r\nz", "x\ny\nz"), ("a\n", "x\ry", "x\ry")],
)
def test_a_given_text_is_put_in_terms_of_the_file(text: str, given_text: str, fits: str) -> None:
    assert unify(text).fit(given_text) == fits


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        # Each line keeps its own end; further lines end as the last replaced one.
        ("a\r\nb\nc\r\n", "b\n", "x\n", "a\r\nx\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb", "x\ny", "x\r\ny\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\nc\r\n"),
        ("a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"),
        ("a\r\nb\nc", "c", "x\ny", "a\r\nb\nx\ny"),
        ("a\nb\r\nc\n", "a\nb\n", "", "c\n"),
    ],
)
def test_lines_of_a_mixed_text_keep_their_ends(text: str, old: str, new: str, result: str) -> None:
    unified = unify(text)
    at = unified.text.index(old)
    assert unified.style == "mixed"
    assert unified.replaced([Span(at, at + len(old))], new) == result


@given(st.text(alphabet="ab\r\n", max_size=12), st.data())
def test_nothing_beside_the_spans_changes(text: str, data: st.DataObject) -> None:
    unified = unify(text)
    marks = sorted(data.draw(st.lists(st.integers(0, len(unified.text)), max_size=6)))
    spans = [Span(a, b) for a, b in zip(marks[::2], marks[1::2], strict=False)]
    # Putting in what is there gives back the text, whatever ends its lines.
    for span in spans:
        assert unified.replaced([span], unified.text[span.start : span.end]) == text
    removed = unified.replaced(spans, "")
    assert unify(removed).text.count("a") + sum(
        unified.text[span.start : span.end].count("a") for span in spans
    ) == text.count("a")

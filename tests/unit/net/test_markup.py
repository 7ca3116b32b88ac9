from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from remit.net.markup import MAX_ATTRIBUTES, MAX_DEPTH, tame


def never() -> bool:
    return False


def rewritten(html: str) -> str:
    return tame(html, never)[0]


def depth(html: str) -> int:
    """Levels of the tree that the parser builds."""
    node: LexborNode | None = LexborHTMLParser(html).body
    level = deepest = 0
    while node is not None:
        if node.first_child is not None:
            node, level = node.first_child, level + 1
            deepest = max(deepest, level)
            continue
        while node is not None and node.next is None and level:
            node, level = node.parent, level - 1
        node = node.next if level and node is not None else None
    return deepest


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("a<p>b<p>c", "a<p>b</p><p>c"),
        ("<ul><li>a<li>b</ul>c", "<ul><li>a</li><li>b</li></ul>c"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
        ("<p>a<div>b</div>c</p>", "<p>a</p><div>b</div>c"),
        ("<p>a<x-y>b</x-y></p>", "<p>a<x-y>b</x-y></p>"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", None),
        ("<h1>a</h2>b", "<h1>a</h1>b"),
        ("<h1>a<h2>b</h2>", "<h1>a</h1><h2>b</h2>"),
        ("<div>a</span></x></p>b</div>", "<div>ab</div>"),
        ("<b>a<p>b</b>c</p>d", "a<p>bc</p>d"),
        ("<code>a</code><tt>b</tt><samp>c</samp>", "<samp>a</samp>b<samp>c</samp>"),
        ("<span hidden>a<b>b</b>c</span>d", "<span hidden>abc</span>d"),
        ("<a href=x>1<a href=y>2</a></a>", "<a href=x>1</a><a href=y>2</a>"),
        ("<a href=x><div>1<a href=y>2</a></div></a>", None),
        ("<div><table><tr><td></div>a</td></table>b</div>", "<div><table><tr><td>a</td></tr></table>b</div>"),
        ("a<!-- <p> -->b<!-->c<!--->d<!-- x --!>e", "abcde"),
        ("a<?php x ?>b<!doctype html>c</ x>d<![CDATA[y]]>e", "abcde"),
        ("<script>if (a<b) '</p>'</script>a<style><p></style>b", "ab"),
        ("<SCRIPT>x</Script >a", "a"),
        ("<script>never closed", ""),
        ("<textarea><p>x</textarea>a<iframe><p>y</iframe>b<noscript><p>z</noscript>c", "abc"),
        ("<svg><g><text>x</text></g></svg>a<svg/>b<svg>c", "abc"),
        ("<select><option>x</select>a<object><p>y<object>z</object></object>b<video>c", "abc"),
        ("<form><input><label>a</label><button>b</button></form>", "a<button>b</button>"),
        ("a < b <3 <", "a &lt; b &lt;3 &lt;"),
        ("a<p title='x>y' x=\"1>2\" z=>b", "a<p title='x>y' x=\"1>2\" z=>b"),
        ("<<p>a", "&lt;<p>a"),
        ("<<!-- -->p>a", "&lt;p>a"),
        ("a<p class='never closed", "a"),
        ("a<br>b<BR/>c</br>d<hr class=x>e", "a<br>b<br>cd<hr>e"),
    ],
)
def test_what_is_written(html: str, expected: str | None) -> None:
    out = rewritten(html)
    if expected is not None:
        assert re.sub(r"(?:</[a-z]+>)+$", "", out) == re.sub(r"(?:</[a-z]+>)+$", "", expected)
    # Done once or twice, it comes to the same page.
    assert LexborHTMLParser(rewritten(out)).html == LexborHTMLParser(out).html


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>a &amp; b</title>", "a &amp; b"),
        ("<TITLE lang=en>a<b></Title>x<title>second</title>", "a<b>"),
        ("<svg><title>icon</title></svg><title>page</title>", "page"),
        ("<script>'<title>no</title>'</script>", ""),
        ("no title", ""),
    ],
)
def test_title(html: str, title: str) -> None:
    assert tame(html, never)[1] == title


def test_attributes_are_limited() -> None:
    exactly = "<p " + " ".join(f"a{number}=1" for number in range(MAX_ATTRIBUTES)) + ">x"
    assert rewritten(exactly) == exactly
    assert rewritten(exactly.replace(">", " one=more two>")) == exactly


HOSTILE = [
    "<div>",
    "<div hidden><p>",
    "<span hidden>",
    "<span hidden><p></span></p>",
    "<div><table><td></div></td></table>",
    "<table><tr><td>x",
    "<table>x<div>",
    "<ul><li>",
    "<li>x",
    "<p>x",
    "<h1>",
    "<a href=x>",
    "<a href=x><div>",
    "<b><p>",
    "<font color=x><div>",
    "<svg><td>",
    "<svg><title><div>",
    "<math><mi><div>",
    "<select><div>",
    "<template><div>",
    "<button><div>",
    "<ruby><rt>",
    "<x-y>",
    "<x>",
    "<dl><dd>",
    "<blockquote>",
    "<object><p>",
    "<caption>",
    "<table><caption>",
    "<frameset>",
    "<plaintext>",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_depth_is_bounded(pattern: str) -> None:
    # A parser adds up to three levels of its own to a table.
    assert depth(rewritten(pattern * 4 * MAX_DEPTH)) <= 4 * MAX_DEPTH


@pytest.mark.parametrize("pattern", ["<div>", "<ul>", "<blockquote>", "<x-y>"])
def test_text_below_the_depth_limit_is_kept(pattern: str) -> None:
    out = rewritten(pattern * (MAX_DEPTH + 5) + "deep")
    assert out.count("<") == MAX_DEPTH
    assert out.endswith("deep")


def test_it_ends_when_time_is_up() -> None:
    out, _ = tame("<p>x</p>" * 10_000, lambda: True)
    assert 0 < len(out) < 8 * 1024


_NAMES = (
    "div p span a b li ul ol td th tr table tbody caption h1 h2 section main code q x-y ruby rt marquee details dl dd"
    " dt hr br center article label blockquote pre"
)
_TAGS = st.builds("<{}{}>".format, st.sampled_from(["", "", "/"]), st.sampled_from(_NAMES.split()))
_SOUP = st.lists(_TAGS | st.just("w"), max_size=40)


def numbered(pieces: list[str]) -> tuple[str, list[str]]:
    """The soup with a word of its own for each `w`."""
    words = [f"w{index}w" for index, piece in enumerate(pieces) if piece == "w"]
    return "".join(f"w{index}w" if piece == "w" else piece for index, piece in enumerate(pieces)), words


@given(_SOUP)
def test_no_text_is_lost(pieces: list[str]) -> None:
    html, words = numbered(pieces)
    out = rewritten(html)
    assert re.findall(r"w\d+w", out) == words


@given(_SOUP)
def test_what_is_written_is_well_formed(pieces: list[str]) -> None:
    opened: list[str] = []
    for end, name in re.findall(r"<(/?)([a-z0-9-]+)[^>]*>", rewritten("".join(pieces))):
        if name in {"br", "hr"}:
            continue
        if end:
            assert opened.pop() == name
        else:
            opened.append(name)


@settings(max_examples=50)
@given(st.lists(_TAGS, min_size=1, max_size=6), st.lists(_TAGS, max_size=3))
def test_no_repetition_gets_deep(pattern: list[str], start: list[str]) -> None:
    html = "".join(start) + "".join(pattern) * 600
    assert depth(rewritten(html)) <= 4 * MAX_DEPTH


@given(st.text(alphabet="<>/!-=\"' abp\n\x00", max_size=80))
def test_any_characters_are_rewritten(html: str) -> None:
    out = rewritten(html)
    # What the parser takes for a tag is what was written as one: no token appears that was not seen.
    assert rewritten(out).count("<") == out.count("<")
